"""Agreement and imbalance of views: the paper's examples, and laws for more views."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coview.exceptions import ViewsError
from coview.metrics import view_agreement, view_imbalance

label_tables = st.tuples(st.integers(0, 10_000), st.integers(1, 20), st.integers(2, 4))


def table_of(seed_and_shape, n_labels=3):
    seed, n_objects, n_views = seed_and_shape
    return np.random.default_rng(seed).integers(n_labels, size=(n_objects, n_views))


def test_the_papers_examples():
    words, links = np.zeros(1000, dtype=int), np.repeat([0, 1], 500)
    assert view_agreement(words, links) == 0.5
    assert view_imbalance(55.0, 42.7) == pytest.approx(12.3)


@settings(deadline=None, max_examples=40)
@given(label_tables)
def test_pairs_are_averaged(case):
    table = table_of(case)
    expected = np.mean([np.mean(table[:, v] == table[:, w]) for v, w in combinations(range(table.shape[1]), 2)])
    assert view_agreement(table) == pytest.approx(expected)


@settings(deadline=None, max_examples=40)
@given(label_tables)
def test_all_means_every_view(case):
    table = table_of(case)
    assert view_agreement(table, over="all") == pytest.approx(np.mean([len(set(row)) == 1 for row in table.tolist()]))
    assert view_agreement(table, over="all") <= view_agreement(table) + 1e-12


@pytest.mark.parametrize("over", ["pairs", "all"])
def test_bounds_are_reached(over):
    same = np.array([0, 1, 2, 1])
    assert view_agreement(same, same, same, over=over) == 1.0
    assert view_agreement(same, same + 3, same + 6, over=over) == 0.0


@pytest.mark.parametrize("over", ["pairs", "all"])
def test_every_form_of_labels_is_the_same(over):
    table = np.random.default_rng(0).choice(["a", "b"], size=(30, 3))
    columns = dict(zip(("x", "y", "z"), table.T))
    forms = [
        (table,),
        (columns,),
        (list(table.T),),
        tuple(table.T),
        (pd.DataFrame(columns),),
        (pl.DataFrame(columns),),
        (table[:, :, None] == np.array(["a", "b"]),),
    ]
    assert len({view_agreement(*form, over=over) for form in forms}) == 1


def test_label_sets_agree_only_when_equal():
    sets = np.array([[[1, 1, 0], [1, 1, 0]], [[1, 1, 0], [1, 0, 0]], [[0, 0, 0], [0, 0, 0]]], dtype=bool)
    assert view_agreement(sets) == pytest.approx(2 / 3)


def test_numbers_and_strings_do_not_agree():
    assert view_agreement([0, 1], ["0", "1"]) == 0.0


@pytest.mark.parametrize("over", ["pairs", "all"])
def test_absent_views_do_not_count(over):
    labels = np.array([[0, 0], [0, 1], [1, 0]])
    present = np.array([[True, True], [True, False], [True, True]])
    assert view_agreement(labels, present=present, over=over) == 0.5


def test_absent_views_leave_the_others_of_the_object():
    labels = np.array([[0, 9, 0], [0, 1, 1]])
    present = np.array([[True, False, True], [False, True, True]])
    assert view_agreement(labels, present=present, over="all") == 1.0
    assert view_agreement(labels, present=present) == 1.0  # the pair without common objects is left out


def test_imbalance_of_three_views():
    scores = {"words": 60, "links": 50, "image": 45}
    assert view_imbalance(scores) == pytest.approx((10 + 15 + 5) / 3)
    assert view_imbalance(scores, over="all") == 15


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(0, 100), min_size=2, max_size=5), st.sampled_from(["pairs", "all"]))
def test_imbalance_ignores_order_and_shift(scores, over):
    value = view_imbalance(scores, over=over)
    assert 0 <= value <= 100
    assert view_imbalance(*reversed(scores), over=over) == pytest.approx(value)
    assert view_imbalance([score + 7 for score in scores], over=over) == pytest.approx(value, abs=1e-9)


def test_equal_scores_are_balanced():
    assert view_imbalance(3.0, 3.0, 3.0) == 0.0


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: view_agreement({"words": [0, 1]}), ViewsError, "at least 2 views, got 1"),
        (lambda: view_agreement(), ViewsError, "at least 2 views, got 0"),
        (lambda: view_agreement([0, 1], [0]), ViewsError, "0 has 2, 1 has 1"),
        (lambda: view_agreement([0, 1], [0, None]), ValueError, "view 1 has 1 unlabeled"),
        (lambda: view_agreement(np.zeros(3)), ValueError, "shape \\(n_objects, n_views\\)"),
        (lambda: view_agreement(np.zeros((2, 2, 2))), ValueError, "must be boolean"),
        (lambda: view_agreement([0], [0], present=[[True]]), ViewsError, "present must be boolean of shape"),
        (lambda: view_agreement([0], [0], present=[[True, False]]), ViewsError, "No object has two views"),
        (lambda: view_agreement([0], [0], over="any"), ValueError, "over must be"),
        (lambda: view_imbalance(1.0), ViewsError, "at least 2 views, got 1"),
        (lambda: view_imbalance(1.0, np.nan), ValueError, "finite"),
        (lambda: view_imbalance([[1.0, 2.0]]), ValueError, "one score per view"),
    ],
)
def test_bad_input_is_refused(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()
