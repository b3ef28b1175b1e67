"""Maps of objects (a stand-in says what UMAP is asked for), typical and disputed objects."""

from __future__ import annotations

import sys
import types
from importlib.machinery import ModuleSpec

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans

from coview import ConcatenatedViews, Views
from coview.inspection import Reading, inspect
from coview.inspection.by_view import ViewReadings
from coview.inspection.objects import disputed_objects, place, typical_objects
from coview.utils.sampling import sample_positions

asked = []


class StandIn:
    def __init__(self, **settings):
        asked.append(settings)

    def fit_transform(self, matrix):
        return matrix[:, :2].astype(np.float32)


def shares(n):
    return [np.random.default_rng(0).dirichlet(np.ones(4), size=n)]


@pytest.fixture
def umap(monkeypatch):
    module = types.ModuleType("umap")
    module.UMAP, module.__spec__ = StandIn, ModuleSpec("umap", None)
    monkeypatch.setitem(sys.modules, "umap", module)
    asked.clear()


@pytest.mark.parametrize(("n", "neighbors"), [(5, 4), (16, 15), (60, 15)])
@pytest.mark.parametrize("method", ["umap", "auto"])
def test_umap_is_asked_for_what_it_can_do_without_a_warning(umap, method, n, neighbors):
    positions, words = place(shares(n), method=method, seed=3)
    assert positions.shape == (n, 2) and positions.dtype == np.float64 and words.startswith("UMAP")
    assert asked == [{"n_neighbors": neighbors, "n_jobs": 1, "random_state": 3}]


def test_too_few_objects_for_umap_are_placed_by_principal_components(umap):
    positions, method = place(shares(4), method="umap")
    assert positions.shape == (4, 2) and method.startswith("PCA") and not asked


def test_where_umap_is_absent_a_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(ValueError, match="pip install umap-learn"):
        place(shares(9), method="umap")
    assert place(shares(9), method="auto")[1].startswith("PCA")


def test_the_surest_dispute_comes_first():
    rng = np.random.default_rng(1)
    a, b = rng.dirichlet(np.ones(3), size=20), rng.dirichlet(np.ones(3), size=20)
    a[4], b[4] = [1, 0, 0], [0, 1, 0]  # both views are certain, of different classes
    X = Views(a=a, b=b)
    alone = {name: Reading(part, part.argmax(axis=1)) for name, part in (("a", a), ("b", b))}
    found = disputed_objects(ViewReadings(X, alone["a"], alone, {}), n=20)
    assert found[0]["row"] == 4 and found[0]["strength"] == 1
    assert {item["row"] for item in found} == set(np.flatnonzero(a.argmax(axis=1) != b.argmax(axis=1)).tolist())
    strengths = [item["strength"] for item in found]
    assert strengths == sorted(strengths, reverse=True)


def test_typical_objects_of_k_means_are_near_their_center_and_far_from_others(data):
    X, _ = data
    model = ConcatenatedViews(KMeans(3, n_init=1, random_state=0)).fit(X)
    reading, distances = inspect(model).read(X), model.transform(X)
    assert_array_equal(reading.codes, model.predict(X))
    assert_array_equal(np.argsort(-reading.memberships, axis=1), np.argsort(distances, axis=1))
    for group, (row,) in enumerate(typical_objects(reading, 3, n=1)):
        ratios = distances / distances[:, [group]]  # fuzzy k-means: the share of d ** -12
        assert row == np.argmax(np.where(reading.codes == group, 1 / (ratios**-12.0).sum(axis=1), -1))


def test_samples_are_the_same_each_time_and_without_repeats():
    rows = sample_positions(1000, 50)
    assert_array_equal(rows, sample_positions(1000, 50))
    assert len(set(rows.tolist())) == 50 and (np.diff(rows) > 0).all()
