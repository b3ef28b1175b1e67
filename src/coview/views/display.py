"""How views show themselves: a title and a line per view, as text and as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence

__all__ = ["html_table", "text_table"]


def text_table(title: str, rows: Sequence[Sequence[str]], aligned: int) -> str:
    """Return a title and a line per row, the first columns aligned; empty cells at the end are left out.

    Examples
    --------
    >>> print(text_table("Two", [("a", "1", ""), ("bcd", "2", "x")], aligned=2))
    Two
      a    1
      bcd  2  x
    """
    widths = [max(len(row[c]) for row in rows) for c in range(aligned)]
    lines = [
        "  " + "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths)), *(c for c in row[aligned:] if c)])
        for row in rows
    ]
    return "\n".join([title, *lines])


def html_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the same as an HTML table; cells are text, not markup."""
    top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    caption = f"<caption>{html.escape(title)}</caption>"
    return f"<table>{caption}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
