"""A map of objects by UMAP, where it is installed; a stand-in says what UMAP is asked for."""

from __future__ import annotations

import sys
import types
from importlib.machinery import ModuleSpec

import numpy as np
import pytest

from coview.report.objects import place_objects
from coview.report.reader import Reading

asked = []


class StandIn:
    def __init__(self, **settings):
        asked.append(settings)

    def fit_transform(self, matrix):
        return matrix[:, :2].astype(np.float32)


def reading(n):
    shares = np.random.default_rng(0).dirichlet(np.ones(4), size=n)
    return [Reading(shares, shares.argmax(axis=1))]


@pytest.fixture
def umap(monkeypatch):
    module = types.ModuleType("umap")
    module.UMAP, module.__spec__ = StandIn, ModuleSpec("umap", None)
    monkeypatch.setitem(sys.modules, "umap", module)
    asked.clear()


@pytest.mark.parametrize(("n", "neighbors"), [(5, 4), (16, 15), (60, 15)])
@pytest.mark.parametrize("method", ["umap", "auto"])
def test_umap_is_asked_for_what_it_can_do_without_a_warning(umap, method, n, neighbors):
    places, said = place_objects(reading(n), method=method, seed=3)
    assert places.shape == (n, 2) and places.dtype == np.float64 and said.startswith("UMAP")
    assert asked == [{"n_neighbors": neighbors, "n_jobs": 1, "random_state": 3}]


def test_too_few_objects_for_umap_are_placed_by_principal_components(umap):
    places, said = place_objects(reading(4), method="umap")
    assert places.shape == (4, 2) and said.startswith("PCA") and not asked


def test_where_umap_is_absent_a_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(ValueError, match="pip install umap-learn"):
        place_objects(reading(9), method="umap")
    assert place_objects(reading(9), method="auto")[1].startswith("PCA")
