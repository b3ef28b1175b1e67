"""Views of vectors and measurements: explained by objects, by deviations, and by the words of other views."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering

from coview import (
    AutoClustering,
    ConcatenatedViews,
    CoPLSA,
    LinkPLSA,
    MultiViewPLSA,
    SphericalKMeans,
    Views,
    inspect,
    load,
    read_views,
    save,
    write_views,
)
from coview.datasets import make_topic_views
from coview.exceptions import ViewsError
from coview.inspection.features import (
    described_features,
    features_by_view,
    features_of_means,
    holds_vectors,
    summarize_groups,
    top_features,
)
from coview.inspection.reading import read_groups
from coview.inspection.vectors import nearest_rows

N, K = 90, 3
DATA = make_topic_views(N, {"words": 40}, n_clusters=K, n_components=K, random_state=0)
CODES = np.unique(DATA.target, return_inverse=True)[1]
_RNG = np.random.default_rng(0)
VECTORS = (_RNG.normal(size=(K, 6))[CODES] + 0.3 * _RNG.normal(size=(N, 6))).astype(np.float32)
PERSON = np.column_stack([20.5 + 30 * (CODES == 0), 5000.5 + 900 * (CODES == 1)]) + _RNG.normal(size=(N, 2))
NAMES = {"words": [f"word{j}" for j in range(40)], "person": ["age", "price"]}
HAVE = np.arange(N) % 5 > 0  # a vector
X = Views(
    {"words": DATA.views["words"], "vector": np.where(HAVE[:, None], VECTORS, 0), "person": PERSON},
    ids=[f"o{i}" for i in range(N)],
    present={"vector": HAVE},
    feature_names=NAMES,
)
MODEL = LinkPLSA(K, max_iter=20, random_state=0).fit(X)


def deviating(values, codes, n_groups):
    means, frequencies, moments = summarize_groups(Views(x=values), codes, n_groups)
    return features_of_means(means["x"], frequencies["x"], moments["x"], "group")


@settings(max_examples=30, deadline=None)
@given(arrays(np.float64, (12, 2), elements=st.integers(-5, 5)), arrays(np.int64, 12, elements=st.integers(-1, 2)))
def test_nearest_rows_are_those_of_a_loop(points, codes):
    for means in (None, np.array([[0.0, 0.0], [3.0, -1.0], [-2.0, 2.0]])):
        for group, rows in enumerate(nearest_rows(points, codes, 3, 4, means)):
            own = [i for i in range(12) if codes[i] == group]
            if not own:
                assert rows == []
                continue
            center = np.mean([points[i] for i in own], axis=0) if means is None else means[group]
            wanted = sorted(own, key=lambda i: (round(float(np.linalg.norm(points[i] - center) ** 2), 9), i))
            far = [round(float(np.linalg.norm(points[i] - center) ** 2), 6) for i in rows]
            assert far == [round(float(np.linalg.norm(points[i] - center) ** 2), 6) for i in wanted[:4]]


@pytest.mark.parametrize("given", [True, False])
def test_nearest_rows_of_many_objects_are_found_without_a_copy_of_them(given):
    vectors = np.random.default_rng(0).normal(size=(20_000, 64)).astype(np.float32)
    codes, means = np.zeros(len(vectors), dtype=int), vectors.mean(axis=0, keepdims=True) if given else None
    tracemalloc.start()
    nearest = nearest_rows(vectors, codes, 1, 3, means)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < vectors.nbytes / 2
    right = ((vectors - vectors.mean(axis=0)) ** 2).sum(axis=1).argsort()[:3]
    assert nearest == [right.tolist()]


def test_nearest_rows_may_be_sparse():
    points = _RNG.normal(size=(20, 3))
    codes = np.arange(20) % 2
    assert nearest_rows(sparse.csr_array(points), codes, 2, 3) == nearest_rows(points, codes, 2, 3)


def test_nearest_objects_have_the_view_and_the_group_and_lie_next_to_its_mean():
    inspection = inspect(MODEL)
    codes = read_groups(inspection, X).codes
    for group, found in enumerate(inspection.explain(X, n_objects=4)):
        rows = [int(key[1:]) for key in found.nearest["vector"]]
        own = np.flatnonzero(HAVE & (codes == group))
        distances = np.linalg.norm(VECTORS[own] - MODEL.group_means_["vector"][group], axis=1)
        assert_array_equal(rows, own[np.argsort(distances)[:4]])
    with pytest.raises(ViewsError, match=r"has no view 'image'; its views are 'words', 'vector', 'person'"):
        inspection.features("image")


@pytest.mark.parametrize(
    "model", [SphericalKMeans(K, random_state=0), AutoClustering(K, time_budget=2, random_state=0)]
)
def test_models_without_mean_vectors_take_those_of_the_objects(model):
    inspection = inspect(model.fit(X))
    codes = read_groups(inspection, X).codes
    for group, found in enumerate(inspection.explain(X, n_objects=2)):
        rows = [int(key[1:]) for key in found.nearest["vector"]]
        own = np.flatnonzero(HAVE & (codes == group))
        distances = np.linalg.norm(VECTORS[own] - VECTORS[own].mean(axis=0), axis=1)
        assert set(rows) == set(own[np.argsort(distances)[:2]])


@settings(max_examples=30, deadline=None)
@given(arrays(np.float64, (10, 3), elements=st.integers(-50, 50)), arrays(np.int64, 10, elements=st.integers(-1, 1)))
def test_deviations_are_gaps_of_means_in_standard_deviations(values, codes):
    found = deviating(values + 0.5, codes, 2)  # whole numbers are counts
    for group in range(2):
        own = values[codes == group]
        for j in range(3):
            spread = values[:, j].std()
            wanted = (own[:, j].mean() - values[:, j].mean()) / spread if len(own) and spread else 0.0
            assert found.deviations[group, j] == pytest.approx(wanted, abs=1e-9)


def test_the_unit_of_a_measurement_does_not_matter():
    before = top_features(deviating(PERSON, CODES, K), ["age", "price"])
    after = top_features(deviating(PERSON * [1000, 0.01] + [-7, 3], CODES, K), ["age", "price"])
    for one, other in zip(before, after):
        assert [name for name, _, _ in one] == [name for name, _, _ in other]
        assert_allclose([line[1] for line in one], [line[1] for line in other])


def test_measurements_far_below_the_mean_come_first_too():
    (low, *_), (high, *_) = top_features(
        deviating(np.array([[1.0, 5.0], [1.1, 4.0], [9.0, 4.5]]), np.array([0, 0, 1]), 2), ["age", "price"]
    )
    assert low[0] == high[0] == "age" and low[1] < 0 < high[1]
    assert low[2] == pytest.approx(1.05)  # the mean itself


def test_a_spread_is_told_from_rounding():
    """Seconds since 1970 spread by half a second are nearly constant, a column of tenths is."""
    codes = np.arange(5000) % 2
    found = deviating(np.column_stack([1.7e9 + codes, np.full(5000, 0.1)]), codes, 2)
    assert_allclose(found.deviations, [[-1, 0], [1, 0]], atol=1e-6)


def test_a_gaussian_view_deviates_by_the_means_of_the_objects():
    features = described_features(inspect(MODEL), "person")
    means = np.array([np.average(PERSON, axis=0, weights=column) for column in MODEL.memberships_.T])
    assert_allclose(features.weights, means, rtol=1e-6)
    wanted = (means - PERSON.mean(axis=0)) / PERSON.std(axis=0)
    assert_allclose(features.deviations, wanted, rtol=1e-6)
    by_topic = {max(row, key=lambda line: line[1])[0] for row in MODEL.top_features("person")}
    assert by_topic == {"age", "price"}
    assert MODEL.top_features("person", 1)[0][0][1] == pytest.approx(wanted[0][np.abs(wanted[0]).argmax()])


def test_a_clusterer_without_predict_does_not_guess_whose_clusters_it_knows():
    """It keeps the clusters of its objects by their order, and other objects may be as many."""
    dense = Views(vector=VECTORS, person=PERSON)
    inspection = inspect(ConcatenatedViews(AgglomerativeClustering(K)).fit(dense))
    for objects in (dense[::-1], dense):
        with pytest.raises(ViewsError, match=r"has no predict, .* Pass no objects, or use a clusterer"):
            inspection.explain(objects)
    assert len(inspection.explain()) == K


@pytest.mark.parametrize("number", [-1, 2.5])
def test_numbers_of_features_and_objects_are_checked(number):
    inspection = inspect(MODEL)
    with pytest.raises(ValueError, match=r"n_features.* must be an int in the range"):
        inspection.explain(X, n_features=number)
    with pytest.raises(ValueError, match=r"n_objects.* must be an int in the range"):
        inspection.explain(X, n_objects=number)


def test_vectors_are_no_words():
    explained = inspect(MODEL).explain(X, n_features=2, n_objects=3)
    ids = {f"o{i}" for i in np.flatnonzero(HAVE)}
    for group in explained:
        assert list(group.features) == ["words", "person"] and list(group.nearest) == ["vector"]
        assert len(group.features["words"]) == 2 and len(group.nearest["vector"]) == 3
        assert set(group.nearest["vector"]) <= ids
    assert [group.key for group in explained] == ["0", "1", "2"]
    assert all(group.nearest == {} for group in inspect(MODEL).explain())
    with pytest.raises(ViewsError, match="View 'vector' holds vectors, and its columns have no names"):
        MODEL.top_features("vector")


def test_counts_without_names_keep_their_numbers():
    bare = Views(words=DATA.views["words"], vector=VECTORS)
    inspection = inspect(SphericalKMeans(K, random_state=0).fit(bare))
    for objects in (None, bare):
        assert [view for view in bare.names if holds_vectors(inspection, view, objects)] == ["vector"]
    assert list(features_by_view(inspection, bare, inspection.training.codes)) == ["words"]


def test_words_name_a_group_before_measurements_do():
    assert all(word.startswith("word") for name in inspect(MODEL).group_names for word in name.split(", "))
    alone = inspect(LinkPLSA(K, max_iter=20, random_state=0).fit(X.select("person")))
    assert {name.split()[0] for names in alone.group_names for name in names.split(", ")} <= {"high", "low"}
    assert {name.split()[1] for names in alone.group_names for name in names.split(", ")} == {"age", "price"}


def test_inspect_says_what_a_view_was_taken_for():
    inspection = inspect(MODEL)
    assert inspection.structure.likelihoods == {"words": "multinomial", "vector": "gaussian", "person": "gaussian"}
    assert "view 'vector': 6 features, gaussian" in repr(inspection)
    assert inspect(SphericalKMeans(K, random_state=0).fit(X)).structure.likelihoods == {}


def test_a_saved_model_explains_itself_as_before(tmp_path):
    save(MODEL, tmp_path / "model.coview")
    assert inspect(load(tmp_path / "model.coview")).explain(X) == inspect(MODEL).explain(X)


@pytest.mark.parametrize("name", ["lazy", "batches"])
def test_moments_are_of_the_objects_that_have_the_view(name, tmp_path):
    model = MultiViewPLSA(K, 4, max_iter=2, random_state=0)
    if name == "lazy":
        write_views(X, tmp_path / "views", rows_per_shard=40)
        model.fit(read_views(tmp_path / "views", lazy=True))
    else:
        model.partial_fit(X)
    vectors = VECTORS[HAVE].astype(float)
    assert_allclose(model.column_moments_["vector"], [vectors.mean(axis=0), vectors.std(axis=0)], rtol=1e-5)
    assert list(model.column_moments_) == ["vector", "person"]


def test_each_view_of_co_plsa_has_its_own_means():
    model = CoPLSA(K, max_iter=5, random_state=0).fit(X)
    found = [group.nearest["vector"] for group in inspect(model).explain(X, n_objects=1)]
    assert len(found) == K and all(HAVE[int(key[1:])] for own in found for key in own)


def test_columns_in_another_order_keep_their_names():
    order = np.random.default_rng(0).permutation(40)
    names = {**NAMES, "words": np.array(NAMES["words"])[order], "person": ["price", "age"]}
    arrays = {"words": X["words"][:, order], "vector": X["vector"], "person": X["person"][:, ::-1]}
    other = Views(arrays, ids=X.ids, present={"vector": HAVE}, feature_names=names)
    for model in (MODEL, SphericalKMeans(K, random_state=0).fit(X)):
        inspection = inspect(model)
        with pytest.warns(UserWarning, match="its columns in another order"):
            assert inspection.explain(other) == inspection.explain(X)
