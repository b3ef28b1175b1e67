"""Views of vectors and measurements: explained by objects, by deviations, and by the words of other views."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import AgglomerativeClustering

from coview import ConcatenatedViews, LinkPLSA, SphericalKMeans, Views, inspect, read_views, write_views
from coview.datasets import make_topic_views
from coview.exceptions import ViewsError
from coview.inspection.features import (
    described_features,
    features_by_view,
    features_of_means,
    summarize_groups,
    top_features,
)
from coview.inspection.reading import read_groups
from coview.inspection.vectors import nearest_in_groups, rank_nearest_rows

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
        for group, rows in enumerate(rank_nearest_rows(points, codes, 3, 4, means)):
            own = [i for i in range(12) if codes[i] == group]
            if not own:
                assert rows == []
                continue
            center = np.mean([points[i] for i in own], axis=0) if means is None else means[group]
            wanted = sorted(own, key=lambda i: (round(float(np.linalg.norm(points[i] - center) ** 2), 9), i))
            far = [round(float(np.linalg.norm(points[i] - center) ** 2), 6) for i in rows]
            assert far == [round(float(np.linalg.norm(points[i] - center) ** 2), 6) for i in wanted[:4]]


def test_nearest_objects_have_the_view_and_the_group_and_lie_next_to_its_mean():
    inspection = inspect(MODEL)
    codes = read_groups(inspection, X).codes
    for group, rows in enumerate(nearest_in_groups(inspection, X, codes, "vector", 4)):
        own = np.flatnonzero(HAVE & (codes == group))
        distances = np.linalg.norm(VECTORS[own] - MODEL.group_means_["vector"][group], axis=1)
        assert_array_equal(rows, own[np.argsort(distances)[:4]])
    with pytest.raises(ViewsError, match=r"has no view 'image'; its views are 'words', 'vector', 'person'"):
        inspection.features("image")


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
    with pytest.raises(ViewsError, match=r"has no predict, .* Pass no objects, or use a clusterer"):
        inspection.quality(dense[:5])


def test_vectors_are_no_words():
    inspection = inspect(MODEL)
    codes = read_groups(inspection, X).codes
    assert list(features_by_view(inspection, X, codes)) == ["words", "person"]
    found = nearest_in_groups(inspection, X, codes, "vector", 3)
    assert list(map(len, found)) == [3] * K and HAVE[np.concatenate(found)].all()
    with pytest.raises(ViewsError, match="View 'vector' holds vectors, and its columns have no names"):
        MODEL.top_features("vector")


@pytest.mark.parametrize("name", ["lazy", "batches"])
def test_moments_are_of_the_objects_that_have_the_view(name, tmp_path):
    model = LinkPLSA(K, max_iter=2, random_state=0)
    if name == "lazy":
        write_views(X, tmp_path / "views", rows_per_shard=40)
        model.fit(read_views(tmp_path / "views", lazy=True))
    else:
        model.partial_fit(X)
    vectors = VECTORS[HAVE].astype(float)
    assert_allclose(model.column_moments_["vector"], [vectors.mean(axis=0), vectors.std(axis=0)], rtol=1e-5)
    assert list(model.column_moments_) == ["vector", "person"]


def test_columns_in_another_order_keep_their_names():
    order = np.random.default_rng(0).permutation(40)
    names = {**NAMES, "words": np.array(NAMES["words"])[order], "person": ["price", "age"]}
    arrays = {"words": X["words"][:, order], "vector": X["vector"], "person": X["person"][:, ::-1]}
    other = Views(arrays, ids=X.ids, present={"vector": HAVE}, feature_names=names)
    for model in (MODEL, SphericalKMeans(K, random_state=0).fit(X)):
        inspection = inspect(model)
        with pytest.warns(UserWarning, match="its columns in another order"):
            assert inspection.quality(other) == inspection.quality(X)
