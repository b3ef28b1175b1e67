"""Text files row by row: rows as they are written, and one sentence that names the line where a file is broken."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coview.exceptions import DataFileError
from coview.utils.jsonable import read_json_rows

cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.dictionaries(cells, st.integers() | st.text()), max_size=4))
def test_objects_come_back(rows):
    assert list(read_json_rows([json.dumps(row) + "\n" for row in rows], "t.jsonl")) == rows


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["{}\n", "{a}\n"], r"t.jsonl has no JSON object in line 2 \(Expecting"),
        (["{}\n", "\n", "[1]\n"], "t.jsonl has no JSON object in line 3, but list."),
    ],
)
def test_a_line_that_is_no_object_is_told(lines, sentence):
    with pytest.raises(DataFileError, match=sentence):
        list(read_json_rows(lines, "t.jsonl"))
