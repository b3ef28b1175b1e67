"""Tables for people: as text, as HTML, and as a dict of columns."""

from __future__ import annotations

import numpy as np

from coview.utils.tables import ColumnTable, format_html_table, format_text_table


def test_columns_line_up_and_empty_cells_are_left_out():
    assert format_text_table(
        "T", [("a", "1 x 2", "dense", ""), ("bcd", "1 x 10", "", "note")], aligned=2
    ).splitlines() == ["T", "  a    1 x 2   dense", "  bcd  1 x 10  note"]


def test_cells_and_title_are_escaped():
    found = format_html_table("<i>", ["<b>"], [("<u>",)])
    assert all(tag not in found for tag in ("<i>", "<b>", "<u>")) and "&lt;u&gt;" in found


def test_floats_of_any_kind_are_rounded_and_what_is_not_known_is_left_out():
    table = ColumnTable(name=["a", "b"], share=[np.float32(0.123456), np.float32("nan")], note=[None, None])
    assert repr(table).splitlines() == ["2 rows", "  name  share", "  a     0.12", "  b"]
    assert table == ColumnTable(name=["a", "b"], share=[np.float32(0.123456), np.float32("nan")], note=[None, None])


def test_columns_may_be_arrays_of_numbers_and_of_what_is_not_known():
    table = ColumnTable(share=np.array([0.5, np.nan]), at=[np.array([1, 2])])
    assert table == ColumnTable(share=np.array([0.5, np.nan]), at=[np.array([1, 2])])
    assert table != ColumnTable(share=np.array([0.5, 0.5]), at=[np.array([1, 2])])
