"""Numbers, words and tables of the page: values as people read them, and HTML in which every text is escaped.

HTML is made of `markupsafe.Markup` templates: ``Markup("<b>{name}</b>").format(name=...)`` escapes what is not HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup, escape

__all__ = ["EMPTY", "breakable", "count", "notes", "number", "percent", "plural", "signed", "table"]

EMPTY = Markup("")


def breakable(text: Any) -> Markup:
    """Return text that may be broken after its points, slashes and underscores, where a line has no room for it.

    Examples
    --------
    >>> str(breakable("a.b<c"))
    'a.<wbr>b&lt;c'
    """
    return Markup(re.sub(r"([./_\\])", r"\1<wbr>", str(escape(text))))


def count(value: Any) -> str:
    """Return a whole number with commas.

    Examples
    --------
    >>> count(20000), count(None)
    ('20,000', '–')
    """
    return "–" if value is None else f"{int(value):,}"


def number(value: Any, digits: int = 3) -> str:
    """Return a number with so many digits behind the point, or in all where it is large or tiny.

    Examples
    --------
    >>> number(0.5), number(-1234567.8), number(0.00001234), number(None)
    ('0.500', '−1,234,568', '1.23e−05', '–')
    """
    if value is None or value != value:
        return "–"
    size = abs(value)
    if size >= 10_000:
        text = f"{value:,.0f}"
    elif 0 < size < 10**-digits:
        text = f"{value:.2e}"
    else:
        text = f"{value:,.{digits}f}"
    return text.replace("-", "−")


def percent(value: Any, digits: int = 1) -> str:
    """Return a share in percent.

    Examples
    --------
    >>> percent(0.1234), percent(None), percent(0.0004)
    ('12.3 %', '–', '<0.1 %')
    """
    if value is None:
        return "–"
    if 0 < value < 10**-digits / 100:
        return f"<{10**-digits:.{digits}f} %"
    return f"{100 * value:.{digits}f} %"


def plural(noun: str, n: int | None = None) -> str:
    """Return the noun for so many things.

    Examples
    --------
    >>> plural("class"), plural("cluster", 1), plural("topic", 2)
    ('classes', 'cluster', 'topics')
    """
    if n == 1:
        return noun
    return noun + ("es" if noun.endswith("s") else "s")


def signed(value: Any, digits: int = 3) -> str:
    """Return a difference with its sign, or zero without one.

    Examples
    --------
    >>> signed(0.0371), signed(-0.5), signed(None)
    ('+0.037', '−0.500', '–')
    >>> signed(-0.00001)
    '0.000'
    """
    if value is None:
        return "–"
    if round(value, digits) == 0:
        return f"{0:.{digits}f}"
    return f"{value:+.{digits}f}".replace("-", "−")


def notes(sentences: Iterable[str]) -> Markup:
    """Return sentences in small print, or nothing where there are none."""
    text = " ".join(sentence for sentence in sentences if sentence)
    return Markup('<p class="note">{}</p>').format(text) if text else EMPTY


def table(head: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]], label: str) -> Markup:
    """Return a table that sorts by its columns.

    Parameters
    ----------
    head : list of (title, kind)
        Kind "num" for numbers, on the right, "text", or "wide" for long cells, by which it does not sort.
    rows : lists of cells
        A cell is what is shown, or a pair (what is sorted by, what is shown). HTML is only shown.
    label : str
        What the table is of, for those who do not see it.

    Examples
    --------
    >>> text = table([("view", "text"), ("features", "num")], [("a", (1200, "1,200"))], "Views")
    >>> '<td class="num" data-v="1200">1,200</td>' in text
    True
    """
    stacked = any(kind == "wide" for _, kind in head)  # on a phone each row becomes a block of lines
    top = EMPTY.join(
        Markup('<th class="{}" scope="col">{}</th>').format(
            kind, title if kind == "wide" else Markup('<button type="button">{}</button>').format(title)
        )
        for title, kind in head
    )
    body = EMPTY.join(
        Markup("<tr>{}</tr>").format(
            EMPTY.join(_cell(cell, title, kind, stacked) for (title, kind), cell in zip(head, row))
        )
        for row in rows
    )
    return Markup(
        '<div class="scroll"><table class="sort{stack}" aria-label="{label}"><thead><tr>{top}</tr></thead>'
        "<tbody>{body}</tbody></table></div>"
    ).format(stack=" stack" if stacked else "", label=label, top=top, body=body)


def _cell(cell: Any, title: str, kind: str, stacked: bool) -> Markup:
    key, shown = cell if isinstance(cell, tuple) else (cell, cell)
    key = "" if key is None or isinstance(key, Markup) else key
    if not stacked:
        return Markup('<td class="{}" data-v="{}">{}</td>').format(kind, key, shown)
    if kind == "text" and not isinstance(shown, Markup):
        shown = breakable(shown)
    return Markup('<td class="{}" data-v="{}" data-label="{}"><div>{}</div></td>').format(kind, key, title, shown)
