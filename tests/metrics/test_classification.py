"""Hierarchical F1 against scikit-learn on label sets that were closed by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from coview.metrics import hierarchical_f1

TREE = {"cat": "mammal", "dog": "mammal", "mammal": "animal", "hen": "animal", "oak": "plant"}


def closed(labels, parents):
    """Labels with all ancestors, one step at a time."""
    result = set(labels)
    while True:
        more = result | {parent for label in result for parent in parents.get(label, ())}
        if more == result:
            return result
        result = more


@st.composite
def cases(draw):
    """A random directed acyclic graph (parents have larger numbers) and two non-empty label sets per object."""
    n_labels, n_objects = draw(st.integers(1, 7)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    parents = {i: [j for j in range(i + 1, n_labels) if rng.random() < 0.4] for i in range(n_labels)}
    sets = [[set(rng.integers(n_labels, size=rng.integers(1, 4)).tolist()) for _ in range(n_objects)] for _ in "tp"]
    return parents, sets[0], sets[1]


@settings(deadline=None, max_examples=40)
@given(case=cases())
def test_equals_scikit_learn_on_closed_sets(case):
    parents, truth, found = case
    true_sets, pred_sets = ([closed(labels, parents) for labels in sets] for sets in (truth, found))
    names = sorted(set().union(*true_sets, *pred_sets))
    assume(len(names) > 1)  # scikit-learn takes one column for a binary problem
    indicators = [np.array([[name in labels for name in names] for labels in sets]) for sets in (true_sets, pred_sets)]
    assert hierarchical_f1(truth, found, parents) == pytest.approx(f1_score(*indicators, average="micro"))
    assert hierarchical_f1(found, truth, parents) == hierarchical_f1(truth, found, parents)
    assert hierarchical_f1(truth, truth, parents) == 1.0
    assert hierarchical_f1(true_sets, found, parents) == hierarchical_f1(truth, found, parents)


def test_every_form_of_ontology_is_the_same():
    pairs = list(TREE.items())
    forms = [TREE, {child: [parent] for child, parent in pairs}, SimpleNamespace(subset=pairs)]
    assert {hierarchical_f1(["cat", "oak", "hen"], ["dog", "oak", "oak"], form) for form in forms} == {8 / 14}


def test_every_form_of_labels_is_the_same():
    names = ["cat", "dog", "oak", "hen"]
    truth, found = [{"cat"}, {"oak", "hen"}, set()], [{"dog"}, {"oak"}, {"hen"}]
    expected = hierarchical_f1(truth, found, TREE)
    true_flags, pred_flags = (np.array([[name in labels for name in names] for labels in s]) for s in (truth, found))
    assert hierarchical_f1([["cat"], ("oak", "hen"), []], ["dog", "oak", "hen"], TREE) == expected
    levels = np.array([["cat", ""], ["oak", "hen"], ["", ""]])
    assert hierarchical_f1(levels, np.array(["dog", "oak", "hen"]), TREE) == expected
    ontology = SimpleNamespace(subset=list(TREE.items()), labels=names)
    assert hierarchical_f1(true_flags, pred_flags.astype(int), ontology) == expected


def test_gaps_are_empty_sets():
    found = ["cat", None, float("nan")]
    assert hierarchical_f1(["cat", "cat", "oak"], found, TREE) == hierarchical_f1(
        [{"cat"}, {"cat"}, {"oak"}], [{"cat"}, set(), set()], TREE
    )


def test_deep_hierarchies():
    chain = {i: i + 1 for i in range(1500)}
    assert hierarchical_f1([0], [1], chain) == pytest.approx(3000 / 3001)


@pytest.mark.parametrize(
    ("ontology", "cycle"),
    [
        ({"Dog": "Animal", "Animal": "Dog"}, r"(Animal > Dog > Animal|Dog > Animal > Dog)\."),
        ({"Dog": "Dog"}, r"Dog > Dog\."),
        ({"x": "a", "a": "b", "b": "c", "c": "a", "c2": "x"}, r"cycle: (a > c > b > a|b > a > c > b|c > b > a > c)\."),
    ],
)
def test_cycles_are_refused_and_shown(ontology, cycle):
    with pytest.raises(ValueError, match=cycle):
        hierarchical_f1(["Dog"], ["Dog"], ontology)


def test_sets_of_other_objects_are_refused():
    with pytest.raises(ValueError, match="same number of objects, got 1 and 2"):
        hierarchical_f1(["cat"], ["cat", "dog"], TREE)
