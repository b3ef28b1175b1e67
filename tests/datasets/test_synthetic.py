"""The made-up views follow the parameters they report."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chisquare
from sklearn.naive_bayes import MultinomialNB

from coview.datasets.synthetic import make_blobs_views, make_topic_views
from coview.metrics import view_agreement
from coview.views.views import Views

MAKERS = [make_topic_views, make_blobs_views]


def test_shapes_and_types_of_topic_views():
    data = make_topic_views(30, {"words": 40, "links": 20}, 4, n_components={"words": 7, "links": 5}, random_state=0)
    assert isinstance(data.views, Views)
    assert data.views.n_features == {"words": 40, "links": 20}
    assert all(sparse.issparse(matrix) and matrix.format == "csr" for matrix in data.views.values())
    assert (data.target.shape, data.target.dtype.kind) == ((30,), "i")
    assert data.memberships.shape == (30, 4)
    assert all((matrix.data % 1 == 0).all() and matrix.data.min() >= 1 for matrix in data.views.values())
    assert {name: b.shape for name, b in data.cluster_topic.items()} == {"words": (4, 7), "links": (4, 5)}
    assert {name: f.shape for name, f in data.topic_feature.items()} == {"words": (7, 40), "links": (5, 20)}


@settings(deadline=None, max_examples=30)
@given(
    st.integers(0, 1000),
    st.integers(1, 5),
    st.integers(1, 6),
    st.integers(1, 30),
    st.sampled_from([1e-3, 0.1, 5.0]),
    st.floats(0, 1),
)
def test_parameters_are_distributions(seed, n_clusters, n_components, n_features, concentration, share):
    data = make_topic_views(
        12,
        2,
        n_clusters,
        n_components=n_components,
        n_features=n_features,
        concentration=concentration,
        quality=share,
        overlap=share,
        mixing=share,
        random_state=seed,
    )
    for rows in (data.memberships, *data.cluster_topic.values(), *data.topic_feature.values()):
        assert rows.min() >= 0
        np.testing.assert_allclose(rows.sum(axis=1), 1)
    assert all(matrix.sum(axis=1).min() >= 1 for matrix in data.views.values())


@pytest.mark.parametrize("agreement", [1.0, 0.5])
def test_frequencies_follow_the_parameters(agreement):
    data = make_topic_views(300, [12, 9], 3, length=[300, 200], quality=0.7, agreement=agreement, random_state=0)
    for name, matrix in data.views.items():
        expected = data.cluster_topic[name] @ data.topic_feature[name]
        for cluster in range(3):
            counts = matrix[data.view_cluster[name] == cluster].sum(axis=0)
            frequent = expected[cluster] * counts.sum() >= 5
            observed = np.append(counts[frequent], counts[~frequent].sum())
            share = np.append(expected[cluster][frequent], expected[cluster][~frequent].sum())
            keep = share * counts.sum() >= 5
            observed, share = observed[keep], share[keep]
            assert chisquare(observed, share / share.sum() * observed.sum()).pvalue > 1e-3


def test_frequencies_follow_mixed_memberships():
    data = make_topic_views(400, [15], 3, length=200, mixing=0.6, random_state=1)
    matrix = data.views["view0"]
    expected = data.memberships @ data.cluster_topic["view0"] @ data.topic_feature["view0"]
    totals = (expected * matrix.sum(axis=1)[:, None]).sum(axis=0)
    deviation = (matrix.sum(axis=0) - totals) / np.sqrt(totals)
    assert np.abs(deviation).max() < 4
    rows = matrix.toarray() / matrix.sum(axis=1)[:, None]  # object by object, not only in total
    assert np.corrcoef((rows - rows.mean(axis=0)).ravel(), (expected - expected.mean(axis=0)).ravel())[0, 1] > 0.8


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("agreement", [0.0, 0.6, 1.0])
def test_the_rest_draws_its_clusters_independently(maker, agreement):
    data = maker(4000, [2, 2], 4, agreement=agreement, random_state=0)
    expected = agreement + (1 - agreement) / 4
    assert view_agreement(*data.view_cluster.values()) == pytest.approx(expected, abs=0.03)
    assert np.bincount(data.target).tolist() == [1000] * 4


@pytest.mark.parametrize("maker", MAKERS)
@settings(deadline=None, max_examples=40)
@given(case=st.tuples(st.integers(0, 1000), st.integers(1, 25), st.lists(st.floats(0, 1), min_size=1, max_size=4)))
def test_missing_shares_are_met_and_every_object_keeps_a_view(maker, case):
    seed, n_objects, shares = case
    absences = [round(share * n_objects) for share in shares]
    arguments = {"n_objects": n_objects, "n_views": [3] * len(shares), "missing": shares, "random_state": seed}
    if sum(absences) > n_objects * (len(shares) - 1):
        with pytest.raises(ValueError, match="without any view"):
            maker(**arguments)
        return
    views = maker(**arguments).views
    assert (~views.present).sum(axis=0).tolist() == absences
    assert views.present.any(axis=1).all()
    for v, matrix in enumerate(views.values()):
        filled = np.asarray(abs(matrix).sum(axis=1)).ravel() > 0
        np.testing.assert_array_equal(filled, views.present[:, v])


def test_quality_zero_says_nothing():
    data = make_topic_views(600, 2, 3, quality={"view0": 1.0, "view1": 0.0}, length=80, random_state=0)
    background = data.topic_feature["view1"]
    np.testing.assert_allclose(background, np.broadcast_to(background[0], background.shape))
    scores = {}
    for name, matrix in data.views.items():
        model = MultinomialNB().fit(matrix[:300], data.target[:300])
        scores[name] = model.score(matrix[300:], data.target[300:])
    assert scores["view0"] > 0.95
    assert scores["view1"] < 0.42


@pytest.mark.parametrize("maker", MAKERS)
def test_a_seed_repeats_and_another_differs(maker):
    first, again, other = (maker(40, 2, missing=0.2, agreement=0.8, random_state=seed) for seed in (3, 3, 4))
    assert first.views == again.views
    np.testing.assert_array_equal(first.target, again.target)
    assert first.views != other.views


def test_blobs_have_the_reported_centers_and_spread():
    data = make_blobs_views(6000, 2, 3, n_features=4, std={"view0": 0.5, "view1": 3.0}, random_state=0)
    for name, std in (("view0", 0.5), ("view1", 3.0)):
        values = data.views[name]
        assert isinstance(values, np.ndarray)
        for cluster in range(3):
            blob = values[data.target == cluster]
            np.testing.assert_allclose(blob.mean(axis=0), data.centers[name][cluster], atol=5 * std / np.sqrt(2000))
            np.testing.assert_allclose(blob.std(axis=0), std, rtol=0.1)
