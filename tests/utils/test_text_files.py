"""Text files row by row: rows as they are written, and one sentence that names the line where a file is broken."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coview.exceptions import DataFileError
from coview.utils.text_files import csv_rows, json_rows

cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(cells, cells), max_size=5), st.sampled_from([",", "\t"]))
def test_what_the_csv_module_writes_is_read(rows, delimiter):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter).writerows([("a", "b"), *((f"x{a}", f"x{b}") for a, b in rows)])
    text.seek(0)
    assert list(csv_rows(text, "t.csv")) == [{"a": f"x{a}", "b": f"x{b}"} for a, b in rows]


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_the_header_tells_the_separator(sign):
    lines = [f'key{sign}"a,b;c|d"{sign}year\n', "\n", f'p1{sign}"x{sign}y"{sign}1999\n']
    assert list(csv_rows(lines, "t.csv")) == [{"key": "p1", "a,b;c|d": f"x{sign}y", "year": "1999"}]


def test_a_cell_may_be_a_whole_book():
    long = "word " * 40_000
    assert list(csv_rows(["a,b\n", f"{long},1\n"], "t.csv")) == [{"a": long, "b": "1"}]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "t.csv has no header row"),
        ([" , \n"], "t.csv has no header row"),
        (["a,b\n", "1,2,3\n"], "t.csv has too many cells in line 2"),
        (["a\n", '"open\n'], "t.csv is broken in line"),
    ],
)
def test_a_broken_table_is_told_with_its_line(lines, sentence):
    with pytest.raises(DataFileError, match=sentence):
        list(csv_rows(lines, "t.csv"))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.dictionaries(cells, st.integers() | st.text()), max_size=4))
def test_objects_come_back(rows):
    assert list(json_rows([json.dumps(row) + "\n" for row in rows], "t.jsonl")) == rows


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["{}\n", "{a}\n"], r"t.jsonl has no JSON object in line 2 \(Expecting"),
        (["{}\n", "\n", "[1]\n"], "t.jsonl has no JSON object in line 3, but list."),
    ],
)
def test_a_line_that_is_no_object_is_told(lines, sentence):
    with pytest.raises(DataFileError, match=sentence):
        list(json_rows(lines, "t.jsonl"))
