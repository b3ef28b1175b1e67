"""The table of candidates: a dict that prints as a table."""

from __future__ import annotations

import math

import numpy as np
import pandas
import pytest
from numpy.testing import assert_equal

from coview import load, save
from coview.auto.table import CandidateTable
from coview.datasets import make_topic_views

TABLE = CandidateTable(
    name=["a", "long <name>"], weight=[0.25, 0.0], accuracy=[float("nan"), 0.987], log_loss=[float("nan")] * 2,
    dropped=[None, "x" * 100],
)  # fmt: skip


def test_a_row_for_each_candidate_and_no_column_in_which_nothing_is_known():
    lines = repr(TABLE).split("\n")
    assert [line.split() for line in lines[:3]] == [
        ["2", "candidates"],
        ["name", "weight", "accuracy", "dropped"],
        ["a", "0.25"],
    ]
    assert lines[3].startswith("  long <name>  0.00    0.99      xxx") and len(lines[3]) < 100


def test_html_is_escaped_and_whole():
    page = TABLE._repr_html_()
    assert "long &lt;name&gt;" in page and "x" * 100 in page and "log_loss" not in page


def test_it_is_the_dict_of_its_columns():
    assert_equal(dict(TABLE), {key: TABLE[key] for key in TABLE})
    frame = pandas.DataFrame(TABLE)
    assert frame.columns.tolist() == list(TABLE) and frame["weight"].tolist() == [0.25, 0.0]


def test_nothing_tried():
    assert repr(CandidateTable()) == "0 candidates"


def test_a_loaded_table_equals_the_one_that_was_saved(tmp_path, fit_auto):
    data = make_topic_views(n_objects=40, n_clusters=2, random_state=0)
    model = fit_auto(["latent", "centers"], data.views, data.target, cv=2)
    n_rows = len(model.candidates_["name"])
    model.candidates_["log_loss"] = [math.nan] * n_rows
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m").candidates_
    assert loaded == model.candidates_ and (loaded != model.candidates_) is False
    assert loaded != {**model.candidates_, "weight": [0.5] * n_rows} and loaded != {"name": loaded["name"]}


@pytest.mark.parametrize(
    ("ours", "theirs", "equal"),
    [
        ({"a": [1], "b": ["x"]}, {"b": ["x"], "a": [1]}, True),
        ({"a": [1]}, {"a": [1], "b": [2]}, False),
        ({"a": [1]}, {"a": [1, 1]}, False),
        ({"a": [1]}, {"a": None}, False),
        ({"a": [math.nan]}, {"a": [None]}, False),
        ({"a": [math.nan]}, {"a": [0.0]}, False),
        ({"a": [np.float32("nan")]}, {"a": [math.nan]}, True),
        ({"a": [1]}, [("a", [1])], False),
    ],
)
def test_tables_are_equal_as_dicts_are_but_for_what_is_not_known(ours, theirs, equal):
    table = CandidateTable(ours)
    assert [table == theirs, theirs == table] == [equal, equal]
    assert [table != theirs, theirs != table] == [not equal, not equal]


def test_what_is_no_dict_may_decide_whether_it_equals_a_table():
    class Anything:
        def __eq__(self, other):
            return True

    assert CandidateTable(a=[1]) == Anything()
