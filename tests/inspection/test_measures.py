"""Measures of a report against independent ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.metrics import confusion_matrix

from coview import MultiViewNaiveBayes, inspect
from coview.datasets import make_topic_views
from coview.inspection.measures import confusion, fit_curves, main_measure, neighbor_share
from coview.inspection.reading import read_groups


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
    assert counted["counts"] == [[10, 0, 0], [2, 8, 0], [0, 0, 6]]


def test_classes_stand_in_one_order_and_the_rest_is_summed(make):
    rng = np.random.default_rng(0)
    found = replace(inspect(make("MultiViewNaiveBayes")), groups=[f"c{k}" for k in range(12)])
    classes = np.array([f"c{k}" for k in range(1, 13)])  # the model knows c0, which is no label, and not c12
    sizes = np.array([3, 40, 7, 25, 1, 2, 30, 1, 9, 4, 1, 2])
    y = rng.permutation(np.repeat(np.arange(12), sizes))
    codes = rng.integers(0, 12, size=len(y))
    counted = confusion(found, codes, y, classes, most=5)
    largest = ["c2", "c7", "c4", "c9"]
    assert counted["rows"] == counted["columns"] == [*largest, "other (9)"]
    merged = [
        [name if name in largest else "z" for name in names] for names in (classes[y], np.array(found.groups)[codes])
    ]
    assert_array_equal(counted["counts"], confusion_matrix(*merged, labels=[*largest, "z"]))


def test_clusters_that_do_not_fit_are_summed(make):
    found = replace(inspect(make("MultiViewPLSA")), groups=[str(k) for k in range(6)])
    codes, y = np.arange(60) % 6, np.arange(60) % 10
    counted = confusion(found, codes, y, np.arange(10), most=4)
    assert len(counted["rows"]) == len(counted["columns"]) == 4 and np.sum(counted["counts"]) == 60
    assert counted["rows"][-1] == "other (7)" and counted["columns"][-1] == "other (3)"


def test_curves_are_the_history(make):
    model = make("MultiViewPLSA")
    (curve,) = fit_curves(inspect(model))
    assert_array_equal(curve["values"], model.history_["objective"])
    assert_array_equal(curve["seconds"], model.history_["seconds"])


def test_labels_are_matched_to_classes_by_value():
    X, y = make_topic_views(60, n_clusters=3, random_state=0).views, np.arange(60) % 3
    model = inspect(MultiViewNaiveBayes().fit(X, y))
    reading, found = read_groups(model, X), []
    for given in (y, y.astype(float), y.astype(str), y.astype(object)):
        classes, codes = np.unique(given, return_inverse=True)
        assert confusion(model, reading.codes, codes, classes)["rows"] == ["0", "1", "2"]
        found.append(main_measure(model, reading, codes, classes))
    assert len(set(found)) == 1 and found[0] > 0.2
