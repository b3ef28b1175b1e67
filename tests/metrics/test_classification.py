"""Hierarchical F1 against scikit-learn on label sets that were closed by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import f1_score, precision_recall_fscore_support

from coview.metrics import hierarchical_f1, hierarchical_precision_recall_f1

TREE = {"cat": "mammal", "dog": "mammal", "mammal": "animal", "hen": "animal", "oak": "plant"}
AVERAGES = ["micro", "macro", "samples"]


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


@pytest.mark.parametrize("average", AVERAGES)
@settings(deadline=None, max_examples=40)
@given(case=cases())
def test_equals_scikit_learn_on_closed_sets(average, case):
    parents, truth, found = case
    true_sets, pred_sets = ([closed(labels, parents) for labels in sets] for sets in (truth, found))
    names = sorted(set().union(*true_sets, *pred_sets))
    assume(len(names) > 1)  # scikit-learn takes one column for a binary problem
    indicators = [np.array([[name in labels for name in names] for labels in sets]) for sets in (true_sets, pred_sets)]
    expected = precision_recall_fscore_support(*indicators, average=average, zero_division=0)[:3]
    np.testing.assert_allclose(hierarchical_precision_recall_f1(truth, found, parents, average=average), expected)


@pytest.mark.parametrize("average", AVERAGES)
@settings(deadline=None, max_examples=30)
@given(case=cases())
def test_bounds_perfection_and_symmetry(average, case):
    parents, truth, found = case
    precision, recall, f1 = hierarchical_precision_recall_f1(truth, found, parents, average=average)
    swapped = hierarchical_precision_recall_f1(found, truth, parents, average=average)
    assert all(0 <= value <= 1 for value in (precision, recall, f1))
    assert swapped == pytest.approx((recall, precision, f1))
    assert hierarchical_f1(truth, truth, parents, average=average) == 1.0


@settings(deadline=None, max_examples=30)
@given(case=cases())
def test_naming_ancestors_explicitly_changes_nothing(case):
    parents, truth, found = case
    explicit = [closed(labels, parents) for labels in truth]
    assert hierarchical_f1(explicit, found, parents) == hierarchical_f1(truth, found, parents)


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_without_a_hierarchy_it_is_the_flat_f1(average):
    rng = np.random.default_rng(0)
    truth, found = rng.choice(["a", "b", "c"], size=40), rng.choice(["a", "b", "c"], size=40)
    assert hierarchical_f1(truth, found, {}, average=average) == pytest.approx(f1_score(truth, found, average=average))


def test_a_near_miss_beats_a_far_miss():
    near, far = (hierarchical_f1(["cat"], [found], TREE) for found in ("dog", "oak"))
    assert (near, far) == (pytest.approx(2 / 3), 0.0)


def test_every_form_of_ontology_is_the_same():
    pairs = list(TREE.items())
    forms = [
        TREE,
        {child: [parent] for child, parent in pairs} | {"plant": None},
        pairs,
        SimpleNamespace(subset=pairs),
        SimpleNamespace(subset=TREE),
    ]
    assert {hierarchical_f1(["cat", "oak", "hen"], ["dog", "oak", "oak"], form) for form in forms} == {8 / 14}


def test_every_form_of_labels_is_the_same():
    names = ["cat", "dog", "oak", "hen"]
    truth, found = [{"cat"}, {"oak", "hen"}, set()], [{"dog"}, {"oak"}, {"hen"}]
    expected = hierarchical_f1(truth, found, TREE)
    true_flags, pred_flags = (np.array([[name in labels for name in names] for labels in s]) for s in (truth, found))
    assert hierarchical_f1([["cat"], ("oak", "hen"), []], ["dog", "oak", "hen"], TREE) == expected
    levels = np.array([["cat", ""], ["oak", "hen"], ["", ""]])
    assert hierarchical_f1(levels, np.array(["dog", "oak", "hen"]), TREE) == expected
    assert hierarchical_f1(true_flags, pred_flags.astype(int), TREE, labels=names) == expected
    assert hierarchical_f1(sparse.csr_array(true_flags), found, TREE, labels=names) == expected
    assert hierarchical_f1(pd.DataFrame(true_flags, columns=names), found, TREE) == expected
    ontology = SimpleNamespace(subset=TREE, labels=names)
    assert hierarchical_f1(true_flags, pred_flags, ontology) == expected
    assert hierarchical_f1(pd.DataFrame(true_flags[:, ::-1], columns=names[::-1]), found, ontology) == expected


def test_gaps_are_empty_sets():
    found = ["cat", None, float("nan")]
    assert hierarchical_f1(["cat", "cat", "oak"], found, TREE) == hierarchical_f1(
        [{"cat"}, {"cat"}, {"oak"}], [{"cat"}, set(), set()], TREE
    )


def test_nothing_true_and_nothing_found_is_right():
    assert [hierarchical_f1([set()], [set()], TREE, average=average) for average in AVERAGES] == [1.0, 1.0, 1.0]
    assert hierarchical_f1([set(), {"oak"}], [set(), {"cat"}], TREE, average="samples") == 0.5


def test_the_root_is_left_out():
    rooted = TREE | {"animal": "thing", "plant": "thing"}
    assert hierarchical_f1(["cat"], ["oak"], rooted) > 0
    assert hierarchical_f1(["cat"], ["oak"], rooted, root="thing") == 0.0


def test_a_label_with_two_parents_counts_both():
    assert hierarchical_f1(["bat"], ["bird"], {"bat": ["mammal", "flyer"], "bird": "flyer"}) == pytest.approx(2 / 5)


def test_deep_hierarchies():
    chain = {i: i + 1 for i in range(1500)}
    assert hierarchical_precision_recall_f1([0], [1], chain) == pytest.approx((1.0, 1500 / 1501, 3000 / 3001))


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


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ((["cat"], ["cat", "dog"], TREE), ValueError, "same number of objects, got 1 and 2"),
        (([], [], TREE), ValueError, "Y_true is empty"),
        ((np.eye(2), np.eye(2), TREE), ValueError, "name its 2 columns"),
        ((np.full((1, 2), 3), ["cat"], TREE), ValueError, "indicators, 0 or 1"),
        ((["cat"], ["cat"], "tree"), TypeError, "got str"),
        ((["cat"], ["cat"], 3), TypeError, "got int"),
        ((["cat"], ["cat"], [("a", "b", "c")]), ValueError, r"\(child, parent\)"),
        ((["cat"], ["cat"], ["ab"]), ValueError, r"\(child, parent\)"),
    ],
)
def test_bad_input_is_refused(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        hierarchical_f1(*arguments)


def test_wrong_options_are_refused():
    with pytest.raises(ValueError, match="average must be"):
        hierarchical_f1(["cat"], ["cat"], TREE, average="weighted")
    with pytest.raises(ValueError, match="2 columns, but there are 3 labels"):
        hierarchical_f1(np.eye(2), np.eye(2), TREE, labels=["a", "b", "c"])
