"""HTML of the page, in which every text is escaped: boxes, templates that repeat, tables that sort by their columns.

It is made of `markupsafe.Markup` templates: ``Markup("<b>{name}</b>").format(name=...)`` escapes what is not HTML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from coview.report.words import number

__all__ = ["EMPTY", "TableColumn", "breakable", "div", "each", "notes", "numbers", "table", "texts"]

EMPTY = Markup("")
MOST_COLUMNS = 3  # of a table that a phone has room for


def breakable(text: Any) -> Markup:
    """Return text that may be broken after its points, slashes and underscores, where a line has no room for it.

    Examples
    --------
    >>> str(breakable("a.b<c"))
    'a.<wbr>b&lt;c'
    """
    return Markup(re.sub(r"([./_\\])", r"\1<wbr>", str(escape(text))))


def div(kind: str, *parts: Any) -> Markup:
    """Return parts in a box of a class of the style sheet.

    Examples
    --------
    >>> str(div("note", "a<b", Markup("<br>")))
    '<div class="note">a&lt;b<br></div>'
    """
    return Markup('<div class="{}">{}</div>').format(kind, EMPTY.join(parts))


def each(template: str, items: Iterable[Sequence[Any]]) -> Markup:
    """Return a template once for each item, with the parts of the item in its gaps.

    Examples
    --------
    >>> str(each("<b>{}</b>{}", [("a", 1), ("b", 2)]))
    '<b>a</b>1<b>b</b>2'
    """
    markup = Markup(template)
    return EMPTY.join(markup.format(*item) for item in items)


def notes(sentences: Iterable[str]) -> Markup:
    """Return sentences in small print, or nothing where there are none."""
    text = " ".join(sentence for sentence in sentences if sentence)
    return Markup('<p class="note">{}</p>').format(text) if text else EMPTY


class TableColumn(NamedTuple):
    """A column of a table."""

    title: str
    kind: str  # "num" for numbers, on the right; "text"; "wide" for long cells, by which a table does not sort
    cells: Sequence[Any]  # what is shown, or a pair (what is sorted by, what is shown); HTML is only shown


def texts(title: str, rows: Iterable[Mapping[str, Any]], key: str) -> TableColumn:
    """Return a column of texts: one value of each row."""
    return TableColumn(title, "text", [row[key] for row in rows])


def numbers(
    title: str, rows: Iterable[Mapping[str, Any]], key: str, write: Callable[[Any], str] = number
) -> TableColumn:
    """Return a column of numbers: one value of each row, and how it is written."""
    return TableColumn(title, "num", [(row[key], write(row[key])) for row in rows])


def table(label: str, columns: Sequence[TableColumn]) -> Markup:
    """Return a table that sorts by its columns; the label says what it is of, for those who do not see it.

    Examples
    --------
    >>> rows = [{"name": "a", "share": 0.5}]
    >>> text = table("Views", [texts("view", rows, "name"), numbers("share", rows, "share")])
    >>> '<td class="num" data-v="0.5">0.500</td>' in text
    True
    """
    # on a phone each row becomes a block of lines
    stacked = len(columns) > MOST_COLUMNS or any(column.kind == "wide" for column in columns)
    top = EMPTY.join(
        Markup('<th class="{}" scope="col">{}</th>').format(
            kind, title if kind == "wide" else Markup('<button type="button">{}</button>').format(title)
        )
        for title, kind, _ in columns
    )
    rows = zip(*(column.cells for column in columns))
    body = each("<tr>{}</tr>", ([EMPTY.join(map(_cell, row, columns, repeat(stacked)))] for row in rows))
    return Markup(
        '<div class="scroll"><table class="sort{stack}" aria-label="{label}"><thead><tr>{top}</tr></thead>'
        "<tbody>{body}</tbody></table></div>"
    ).format(stack=" stack" if stacked else "", label=label, top=top, body=body)


def _cell(cell: Any, column: TableColumn, stacked: bool) -> Markup:
    key, shown = cell if isinstance(cell, tuple) else (cell, cell)
    key = "" if key is None or isinstance(key, Markup) else key
    if not stacked:
        return Markup('<td class="{}" data-v="{}">{}</td>').format(column.kind, key, shown)
    if column.kind == "text" and not isinstance(shown, Markup):
        shown = breakable(shown)
    return Markup('<td class="{}" data-v="{}" data-label="{}"><div>{}</div></td>').format(
        column.kind, key, column.title, shown
    )
