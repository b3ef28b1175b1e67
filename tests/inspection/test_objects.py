"""Maps of objects, typical and disputed objects."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial import cKDTree
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from coview import ConcatenatedViews, Views
from coview.inspection import Reading, inspect
from coview.inspection.by_view import ViewReadings
from coview.inspection.known import objects_by_view
from coview.inspection.objects import disputed_objects, place, typical_objects
from coview.inspection.reading import read_groups


def shares(n):
    return [np.random.default_rng(0).dirichlet(np.ones(4), size=n)]


def test_the_surest_dispute_comes_first():
    rng = np.random.default_rng(1)
    a, c = rng.dirichlet(np.ones(3), size=60), rng.dirichlet(np.ones(3) / 9, size=60)  # c is sure of other things
    b = np.where(np.arange(60)[:, None] % 3 > 0, a, rng.dirichlet(np.ones(3), size=60))
    a[3], b[3] = [1, 0, 0], [0, 1, 0]  # both views are certain, of different classes
    X = Views(a=a, b=b, c=c)
    alone = {name: Reading(part, part.argmax(axis=1)) for name, part in X.items()}
    found = disputed_objects(ViewReadings(X, alone["a"], alone, {}, objects_by_view(X)), n=60)
    assert found[0] == {"row": 3, "strength": 1, "codes": {"a": 0, "b": 1}}  # c agrees no more than chance
    sure = (a.max(axis=1) >= 0.5) & (b.max(axis=1) >= 0.5)
    differ = a.argmax(axis=1) != b.argmax(axis=1)
    assert {item["row"] for item in found} == set(np.flatnonzero(differ & sure).tolist()) and (differ & ~sure).any()
    strengths = [item["strength"] for item in found]
    assert strengths == sorted(strengths, reverse=True)
    assert disputed_objects(ViewReadings(X, alone["a"], alone, {}, objects_by_view(X)), noise=["b"]) == []


def test_objects_without_memberships_are_placed_by_t_sne_of_their_features():
    X = Views(a=np.random.default_rng(0).normal(size=(60, 6)))
    assert place([], X, "tsne")[1] == "t-SNE of features" and place([], X[:20], "tsne")[1] == "PCA of features"
    assert place([]) is None


def test_typical_objects_of_k_means_are_near_their_center_and_far_from_others(data):
    X, _ = data
    model = ConcatenatedViews(KMeans(3, n_init=1, random_state=0)).fit(X)
    reading, distances = read_groups(inspect(model), X), model.transform(X)
    assert_array_equal(reading.codes, model.predict(X))
    assert_array_equal(np.argsort(-reading.memberships, axis=1), np.argsort(distances, axis=1))
    unit = [normalize(X[view]) for view in X.names]
    for group, (row,) in enumerate(typical_objects(reading, 3, X, n=1)):
        ratios = distances / distances[:, [group]]  # fuzzy k-means: the share of d ** -12
        own = reading.codes == group
        means = [normalize(np.asarray(part[own].mean(axis=0)).reshape(1, -1))[0] for part in unit]
        cosines = np.mean([part @ mean for part, mean in zip(unit, means)], axis=0)
        assert row == np.argmax(np.where(own, cosines / (ratios**-12.0).sum(axis=1), -1))


def test_typical_objects_differ_and_are_no_outliers():
    rng = np.random.default_rng(0)
    words = 5.0 * np.repeat(np.eye(3), 4, axis=1)[np.arange(60) % 3] + rng.poisson(0.5, size=(60, 12))
    words[:30] = words[0]  # half of the objects are the same one
    words[59] = np.eye(12)[11]  # an object of another kind that was put here
    reading = Reading(np.full((60, 1), 0.9), np.zeros(60, dtype=int))
    (chosen,) = typical_objects(reading, 1, Views(words=words))
    assert len({tuple(words[row]) for row in chosen}) == 3 and 59 not in chosen


def test_t_sne_keeps_neighbors_and_places_objects_beyond_its_sample(monkeypatch):
    rng = np.random.default_rng(0)
    codes = np.arange(800) % 8
    parts = [rng.dirichlet(0.2 + 4.0 * np.eye(8)[codes[i]]) for i in range(800)]
    positions, method = place([np.array(parts)], method="tsne")
    assert method == "t-SNE of memberships" and positions.shape == (800, 2) and np.isfinite(positions).all()
    own, shares_alike = np.array(parts).argmax(axis=1), {}
    for name, placed in (("tsne", positions), ("pca", place([np.array(parts)])[0])):
        near = cKDTree(placed).query(placed, 6)[1][:, 1:]
        shares_alike[name] = np.mean(own[near] == own[:, None])
    assert shares_alike["tsne"] > 0.6 > shares_alike["pca"] + 0.2
    monkeypatch.setattr("coview.inspection.objects.LANDMARKS", 100)
    assert_array_equal(*(place([np.array(parts[:150])], method="tsne")[0] for _ in range(2)))
    assert place([np.array(parts[:20])], method="tsne")[1] == "PCA of memberships"


def sharp(n: int = 600, groups: int = 6) -> np.ndarray:
    """Memberships without any doubt: as many rows as groups that differ."""
    return np.where(np.eye(groups)[np.arange(n) % groups] > 0, 1 - (groups - 1) * 1e-6, 1e-6)


def test_a_view_that_says_nothing_leaves_an_object_where_all_views_put_it():
    part = shares(60)[0]
    silent = part.copy()
    silent[::2] = 0
    positions, words = place([part, silent])
    assert words == "PCA of memberships"
    assert_array_equal(positions, place([part, part])[0])
    mute = np.zeros_like(part)  # of any object
    positions, words = place([part, part, mute])
    assert words == "PCA of memberships"
    assert_array_equal(positions, place([part, part, part])[0])


@pytest.mark.parametrize(("method", "with_views"), [("pca", False), ("pca", True)])
def test_objects_of_certain_groups_do_not_stand_on_each_other(method, with_views):
    part, codes = sharp(), np.arange(600) % 6
    rng = np.random.default_rng(0)
    X = Views(words=rng.poisson(np.where(np.eye(6)[codes].repeat(5, axis=1), 3.0, 0.2)).astype(float))
    positions, words = place([part, part], X if with_views else None, method)
    extent = np.ptp(positions, axis=0)
    assert len(np.unique(positions, axis=0)) == 600
    if method == "tsne":
        near = cKDTree(positions / extent).query(positions / extent, 6)[1][:, 1:]
        assert np.mean(codes[near] == codes[:, None]) > 0.95
    assert_array_equal(positions, place([part, part], X if with_views else None, method)[0])
    assert ("features" in words) == (with_views and method == "tsne")


def test_a_map_is_that_of_the_principal_components_but_for_a_little():
    part = shares(50)[0]
    logs = np.log(part + 1e-3)
    expected = PCA(2, random_state=0).fit_transform(logs - logs.mean(axis=1, keepdims=True))
    assert (np.abs(place([part])[0] - expected) <= 0.005 * np.ptp(expected, axis=0)).all()
