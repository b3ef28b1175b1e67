"""Measures of a report against independent ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

from coview import inspect
from coview.inspection.measures import confusion, fit_curves, neighbor_share


def test_neighbors_are_the_nearest_by_cosine():
    rng = np.random.default_rng(0)
    places, y = rng.normal(size=(40, 5)), rng.integers(3, size=40)
    apart = cdist(places, places, "cosine")
    np.fill_diagonal(apart, np.inf)
    near = np.argsort(apart, axis=1)[:, :10]
    assert neighbor_share(places, y) == pytest.approx(np.mean(y[near] == y[:, None]))


def test_clusters_stand_where_they_match_the_labels(make):
    found = inspect(make("MultiViewPLSA"))
    codes = np.array([2] * 10 + [0] * 8 + [1] * 6 + [2] * 2)
    y = np.array([0] * 10 + [1] * 8 + [2] * 6 + [1] * 2)
    counted = confusion(found, codes, y, np.array(["a", "b", "c"]))
    assert counted["columns"] == ["2", "0", "1"]
    assert counted["counts"] == [[10, 0, 0], [2, 8, 0], [0, 0, 6]] and counted["left_out"] == 0


def test_more_than_fit_are_counted(make):
    found = inspect(make("MultiViewPLSA"))
    codes, y = np.arange(30) % 3, np.arange(30) % 10
    counted = confusion(found, codes, y, np.arange(10), most=4)
    assert len(counted["rows"]) == 4 and np.sum(counted["counts"]) + counted["left_out"] == 30


def test_unknown_groups_and_labels_are_left_out(make):
    counted = confusion(inspect(make("MultiViewPLSA")), np.array([0, -1, 1]), np.array([0, 0, -1]), np.array(["a"]))
    assert np.sum(counted["counts"]) == 1


def test_curves_are_the_history(make):
    model = make("MultiViewPLSA")
    (curve,) = fit_curves(inspect(model))
    assert_array_equal(curve["values"], model.history_["objective"])
    assert_array_equal(curve["seconds"], model.history_["seconds"])


def test_a_model_without_history_has_no_curves(make):
    assert fit_curves(inspect(make("MultiViewNaiveBayes"))) == []
