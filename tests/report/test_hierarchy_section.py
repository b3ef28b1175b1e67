"""The section of a report on the tree of topics or clusters."""

from __future__ import annotations

import numpy as np
import pytest

from coview import LinkPLSA, MultiViewNaiveBayes, Views, inspect, make_report
from coview.datasets import make_topic_views

DATA = make_topic_views(n_objects=120, n_clusters=4, random_state=0)
MODEL = LinkPLSA(4, random_state=0).fit(DATA.views)
QUICK = {"held_out": False, "map_method": "pca"}


def test_nodes_are_those_of_the_tree_that_inspect_finds():
    page = make_report(MODEL, DATA.views, **QUICK)
    tree, shown = inspect(MODEL).hierarchy(DATA.views), page.summary["hierarchy"]
    assert len(shown["lines"]) == 7 and shown["lines"][0]["size"] == 120
    for (node, level), line in zip(tree.walk(), shown["lines"]):
        assert line["level"] == level and line["groups"] == [tree.keys[g] for g in sorted(node.pre_order())]
        if node.id >= 4:
            assert line["distance"] == pytest.approx(tree.linkage[node.id - 4, 2])
            assert f"joined at {line['distance']:.2f}" in page.html


def test_many_groups_are_shown_in_parts():
    X = Views(words=np.random.default_rng(0).poisson(1.0, size=(200, 30)) + 1.0)
    page = make_report(LinkPLSA(80, max_iter=2, random_state=0).fit(X), X, **QUICK)
    lines = page.summary["hierarchy"]["lines"]
    assert len(lines) == 119 and "The 80 topics are shown in 60 parts." in page.html
    below = [line for line, after in zip(lines, [*lines[1:], lines[0]]) if after["level"] <= line["level"]]
    assert sorted(int(key) for line in below for key in line["groups"]) == list(range(80))


def test_classes_have_no_tree():
    classifier = MultiViewNaiveBayes().fit(DATA.views, DATA.target)
    assert "hierarchy" not in make_report(classifier, DATA.views, DATA.target, **QUICK).summary
