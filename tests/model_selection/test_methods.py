"""Who takes part: everything of the catalog that fits the task, the baselines, and what users name."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.cluster import KMeans

from coview import MultiViewNaiveBayes, NeighborViews, Views
from coview.catalog import ESTIMATORS
from coview.exceptions import ViewsError
from coview.model_selection.methods import list_applicable_methods, select_methods, set_seed

X = Views(words=np.eye(6), links=np.eye(6)[::-1])


def names(found):
    return [method.name for method in found]


@pytest.mark.parametrize("classify", [True, False])
def test_every_method_of_the_catalog_takes_part(classify):
    kinds = ("classifier" if classify else "clusterer", "transformer")
    found = names(list_applicable_methods(classify, X, 3))
    for entry in ESTIMATORS.values():
        if entry.kind in kinds:
            assert any(name.split(" ")[0] == entry.name for name in found), entry.name


def test_clusterers_are_told_the_number():
    for method in list_applicable_methods(False, X, 4):
        sizes = {
            value
            for key, value in method.estimator.get_params().items()
            if key.endswith(("n_clusters", "n_components"))
        }
        assert 4 in sizes, method.name


def test_baselines_are_concatenated_best_and_each_view():
    found = [c.name for c in list_applicable_methods(True, X, 3) if c.group == "baseline"]
    assert "concatenated LogisticRegression" in found and "best view MultinomialNB" in found
    assert [name for name in found if name.startswith(("words", "links"))] == [
        "words LogisticRegression",
        "links LogisticRegression",
    ]
    alone = names(list_applicable_methods(True, X.select("words"), 3))
    assert "LogisticRegression" in alone and not [name for name in alone if name.startswith("best")]


def test_links_put_every_method_behind_neighbors():
    found = list_applicable_methods(True, X, 3, {"links": "links", "hops": 1})
    assert len(set(names(found))) == len(found) and all(is_classifier(method.estimator) for method in found)
    near = [c for c in found if c.group == "links"]
    assert len(near) == 1 + sum(c.group == "method" for c in found)
    assert all(isinstance(c.estimator[0], NeighborViews) and c.estimator[0].hops == 1 for c in near)


def test_names_patterns_and_groups_choose():
    found = list_applicable_methods(True, X, 3, "links")
    assert names(select_methods("MultiViewNaiveBayes", found)) == ["MultiViewNaiveBayes"]
    assert names(select_methods(["SeededKMeansClassifier"], found)) == [
        "SeededKMeansClassifier",
        "SeededKMeansClassifier (max_agree)",
    ]
    assert names(select_methods(["best view *"], found)) == [
        name for name in names(found) if name.startswith("best view")
    ]
    assert {c.group for c in select_methods(["baselines"], found)} == {"baseline"}
    assert names(select_methods(["PLSA"], found)) == ["PLSA + LogisticRegression"]


def test_what_is_no_method_is_refused():
    with pytest.raises(ValueError, match="no method 'Nothing' for this task"):
        select_methods(["Nothing"], list_applicable_methods(True, X, 3))
    with pytest.raises(TypeError, match="methods must hold names"):
        select_methods([MultiViewNaiveBayes], [])
    with pytest.raises(ValueError, match="methods is empty"):
        select_methods([], [])
    with pytest.raises(ViewsError, match="no view of links 'cites'"):
        list_applicable_methods(True, X, 3, "cites")


def test_every_seed_inside_is_set():
    for method in list_applicable_methods(False, X, 3):
        params = set_seed(method.estimator, 11).get_params()
        assert all(value == 11 for key, value in params.items() if key.endswith("random_state"))
    assert KMeans(3).random_state is None
