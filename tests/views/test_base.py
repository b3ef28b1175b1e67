"""Views as text and as HTML: columns line up, and names are never markup."""

from __future__ import annotations

from coview.views.base import html_table, text_table


def test_columns_line_up_and_empty_cells_are_left_out():
    assert text_table("T", [("a", "1 x 2", "dense", ""), ("bcd", "1 x 10", "", "note")], aligned=2).splitlines() == [
        "T",
        "  a    1 x 2   dense",
        "  bcd  1 x 10  note",
    ]


def test_cells_and_title_are_escaped():
    found = html_table("<i>", ["<b>"], [("<u>",)])
    assert all(tag not in found for tag in ("<i>", "<b>", "<u>")) and "&lt;u&gt;" in found
