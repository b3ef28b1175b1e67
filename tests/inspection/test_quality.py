"""Quality of groups: good topics beside shuffled ones, every kind of model, and views that cannot be read."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import confusion_matrix

from coview import LinkPLSA, MultiViewNaiveBayes, MultiViewPLSA, SeededKMeansClassifier, SphericalKMeans, Views, inspect
from coview.datasets import make_topic_views
from coview.inspection import Selection
from coview.inspection.choice import describe_selection
from coview.inspection.measures import confusion, main_measure
from coview.inspection.reading import read_groups
from coview.metrics import topic_coherence, topic_diversity, topic_exclusivity

DATA = make_topic_views(n_objects=150, n_clusters=3, random_state=0)
MODEL = LinkPLSA(3, random_state=0).fit(DATA.views)


def test_numbers_are_those_of_the_metrics():
    table = inspect(MODEL).quality(DATA.views, n_features=7)
    for view in DATA.views.names:
        rows = [i for i, name in enumerate(table["view"]) if name == view]
        topics, X = MODEL.topic_feature_[view], DATA.views[view]
        assert [table["npmi"][i] for i in rows] == topic_coherence(topics, X, n_features=7).tolist()
        assert [table["c_v"][i] for i in rows] == topic_coherence(topics, X, measure="c_v", n_features=7).tolist()
        assert [table["exclusivity"][i] for i in rows] == topic_exclusivity(topics, n_features=7).tolist()
        assert table.means[view]["diversity"] == topic_diversity(topics, n_features=7)
        assert table.means[view]["npmi"] == pytest.approx(np.mean([table["npmi"][i] for i in rows]))
    assert table["group"] == ["0", "1", "2"] * 2
    assert "mean NPMI view0" in repr(table)


@pytest.mark.parametrize(
    "model", [MultiViewPLSA(3, random_state=0), SphericalKMeans(3, random_state=0), SeededKMeansClassifier()]
)
def test_clusters_and_classes_have_quality(model):
    table = inspect(model.fit(DATA.views, DATA.target)).quality(DATA.views)
    assert set(table["view"]) == set(DATA.views.names)
    assert np.isfinite(table["npmi"]).all()


def test_vectors_have_nothing_to_read_and_objects_without_a_view_do_not_count():
    words, vectors = DATA.views["view0"].tolil(), np.random.default_rng(0).normal(size=(150, 4))
    words[100:] = 0
    words = words.tocsr()
    present = np.ones((150, 2), dtype=bool)
    present[100:, 0] = False
    X = Views({"words": words, "vector": vectors}, present=present)
    table = inspect(LinkPLSA(3, random_state=0).fit(X)).quality(X)
    assert set(table["view"]) == {"words"}
    model = LinkPLSA(3, random_state=0).fit(X)
    assert table["npmi"] == topic_coherence(model.topic_feature_["words"], words[:100]).tolist()


# -- Measures of a report against independent ones


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


def test_labels_are_matched_to_classes_by_value():
    X, y = make_topic_views(60, n_clusters=3, random_state=0).views, np.arange(60) % 3
    model = inspect(MultiViewNaiveBayes().fit(X, y))
    reading, found = read_groups(model, X), []
    for given in (y, y.astype(float), y.astype(str), y.astype(object)):
        classes, codes = np.unique(given, return_inverse=True)
        assert confusion(model, reading.codes, codes, classes)["rows"] == ["0", "1", "2"]
        found.append(main_measure(model, reading, codes, classes))
    assert len(set(found)) == 1 and found[0] > 0.2


# -- What a model was chosen from, in lines


def test_votes_and_what_the_views_share_are_told():
    votes = {"clusterings": 20, "share": 0.9, "by_cluster": [0.9, 0.9]}
    relations = {"view": ["a", "b"], "verdict": ["shares", "noise"]}
    votes_line, views_line = describe_selection(Selection(votes=votes, relations=relations))
    assert votes_line.startswith("20 clusterings of the objects voted: ") and "90 % of them agree" in votes_line
    assert views_line.startswith("No clear structure was found in 'b'")
    assert describe_selection(Selection()) == []


def test_candidates_are_named_by_weight_and_those_without_are_counted():
    def told(*names, weights):
        (line,) = describe_selection(Selection(candidates={"name": list(names), "weight": weights}))
        return line.removeprefix("candidates by weight: ")

    assert told("graphs", "sphere", "c", weights=[0.25, 0.75, 0.0]) == "sphere 0.75, graphs 0.25; 1 without weight"
    assert told("a\n", "level 1: b", weights=[1.0, 1.0]) == "a\\n 1.00"
    many = told(*map(str, range(20)), weights=[0.05] * 20)
    assert many.startswith("0 0.05, 1 0.05") and many.endswith("9 0.05, ...")
