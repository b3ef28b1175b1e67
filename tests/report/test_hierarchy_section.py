"""The section of a report on the tree of topics or clusters, and the classes that its nodes match."""

from __future__ import annotations

import numpy as np
import pytest

from coview import LinkPLSA, MultiViewNaiveBayes, Ontology, Views, inspect, make_report
from coview.datasets import make_topic_views
from coview.exceptions import ParameterError, ViewsError

DATA = make_topic_views(n_objects=120, n_clusters=4, random_state=0)
MODEL = LinkPLSA(4, random_state=0).fit(DATA.views)
NAMES = np.array(["<red>", "blue", "sea", "sky"])[DATA.target]
COLORS = Ontology(["color", "<red>", "blue", "sea", "sky"], subset=[("<red>", "color"), ("blue", "color")])
QUICK = {"held_out": False, "map_method": "pca"}


def test_nodes_have_the_classes_that_inspect_finds():
    page = make_report(MODEL, DATA.views, NAMES, **QUICK)
    tree, shown = inspect(MODEL).hierarchy(DATA.views, classes=NAMES), page.summary["hierarchy"]
    assert shown["matched"] and not shown["ontology"] and len(shown["lines"]) == 7
    for (node, level), line in zip(tree.walk(), shown["lines"]):
        assert line["level"] == level and line["groups"] == [tree.keys[g] for g in sorted(tree.members[node])]
        assert line["class"] == tree.matches["class"][node]
        assert line["f1"] == pytest.approx(tree.matches["f1"][node])
        assert line["size"] == tree.matches["n_objects"][node]
        assert f"F1 {line['f1']:.2f}" in page.html
    assert "Tree of the topics" in page.html and "<b>&lt;red&gt;</b>" in page.html and "<red>" not in page.html


def test_classes_above_the_labels_count_with_an_ontology(tmp_path):
    COLORS.write(tmp_path / "colors.json")
    page = make_report(MODEL, DATA.views, NAMES, ontology=tmp_path / "colors.json", **QUICK)
    expected = inspect(MODEL).hierarchy(DATA.views, classes=NAMES, ontology=COLORS).matches
    lines = page.summary["hierarchy"]["lines"]
    assert sorted(line["class"] for line in lines) == sorted(expected["class"])
    assert any(line["class"] == "color" for line in lines)
    assert page.summary == {
        **page.summary,
        "hierarchy": make_report(MODEL, DATA.views, NAMES, ontology=COLORS, **QUICK).summary["hierarchy"],
    }


def test_without_labels_there_is_the_tree_alone_and_objects_of_the_fit_have_classes_too():
    plain = make_report(MODEL, DATA.views, **QUICK)
    assert not plain.summary["hierarchy"]["matched"] and "F1" not in plain.html
    kept = make_report(MODEL, None, NAMES, **QUICK).summary["hierarchy"]
    assert kept["matched"] and kept["lines"][0]["size"] == 120


def test_many_groups_are_shown_in_parts():
    X = Views(words=np.random.default_rng(0).poisson(1.0, size=(200, 30)) + 1.0)
    page = make_report(LinkPLSA(80, max_iter=2, random_state=0).fit(X), X, ["a", "b"] * 100, **QUICK)
    lines = page.summary["hierarchy"]["lines"]
    best = {name: max(line["f1"] for line in lines if line["class"] == name) for name in "ab"}
    assert all(f"{name} (F1 {f1:.2f})" in page.html for name, f1 in best.items())  # it is folded
    assert len(lines) == 119 and "The 80 topics are shown in 60 parts." in page.html
    below = [line for line, after in zip(lines, [*lines[1:], lines[0]]) if after["level"] <= line["level"]]
    assert sorted(int(key) for line in below for key in line["groups"]) == list(range(80))


def test_there_is_none_of_classes_and_an_ontology_that_does_not_fit_is_refused():
    classifier = MultiViewNaiveBayes().fit(DATA.views, NAMES)
    assert "hierarchy" not in make_report(classifier, DATA.views, NAMES, **QUICK).summary
    with pytest.raises(ViewsError, match="MultiViewNaiveBayes finds neither"):
        make_report(classifier, DATA.views, NAMES, ontology=COLORS, **QUICK)
    with pytest.raises(ViewsError, match=r"ontology needs y \(--labels\)"):
        make_report(MODEL, DATA.views, ontology=COLORS, **QUICK)
    with pytest.raises(ViewsError, match="'grey', which is no label of the ontology"):
        make_report(MODEL, DATA.views, ["grey"] * 120, ontology=COLORS, **QUICK)
    with pytest.raises(ParameterError, match="must be an Ontology or the path of one"):
        make_report(MODEL, DATA.views, NAMES, ontology=3, **QUICK)
