"""Pieces of HTML: templates whose values are escaped unless they are HTML already, and numbers as people read them."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from string import Template
from typing import Any

__all__ = ["Markup", "breakable", "count", "fill", "join", "number", "percent", "plural", "signed", "table"]


class Markup(str):
    """Text that is HTML already: only `fill` and `join` make it, from templates that stand in the code."""

    __slots__ = ()


EMPTY = Markup("")


def fill(template: str, **values: Any) -> Markup:
    """Put values into a template, ``$name`` by ``$name``; everything that is not Markup is escaped.

    Examples
    --------
    >>> fill("<b>$name</b>", name="<script>")
    '<b>&lt;script&gt;</b>'
    >>> fill("<p>$inside</p>", inside=fill("<i>$x</i>", x=1))
    '<p><i>1</i></p>'
    """
    safe = {k: v if isinstance(v, Markup) else html.escape(str(v), quote=True) for k, v in values.items()}
    return Markup(Template(template).substitute(safe))


def join(parts: Iterable[Any], between: str = "") -> Markup:
    """Put pieces together, escaping those that are not Markup.

    Examples
    --------
    >>> join(["a<b", fill("<i></i>")], " ")
    'a&lt;b <i></i>'
    """
    return Markup(between.join(p if isinstance(p, Markup) else html.escape(str(p), quote=True) for p in parts))


def breakable(text: Any) -> Markup:
    """Return text that may be broken after its points, slashes and underscores, where a line has no room for it.

    Examples
    --------
    >>> breakable("a.b<c")
    'a.<wbr>b&lt;c'
    """
    safe = html.escape(str(text), quote=True)
    return Markup("".join(f"{sign}<wbr>" if sign in "./_\\" else sign for sign in safe))


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
    if noun.endswith("y"):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith("s") else "s")


def signed(value: Any, digits: int = 3) -> str:
    """Return a difference with its sign.

    Examples
    --------
    >>> signed(0.0371), signed(-0.5), signed(None)
    ('+0.037', '−0.500', '–')
    >>> signed(-0.00001)
    '±0.000'
    """
    if value is None:
        return "–"
    if round(value, digits) == 0:
        return f"±{0:.{digits}f}"
    return f"{value:+.{digits}f}".replace("-", "−")


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
    top = join(
        fill(
            '<th class="$kind" scope="col">$inside</th>',
            kind=kind,
            inside=title if kind == "wide" else fill('<button type="button">$title</button>', title=title),
        )
        for title, kind in head
    )
    stacked = any(kind == "wide" for _, kind in head)  # on a phone each row becomes a block of lines
    body = []
    for row in rows:
        cells = []
        for (title, kind), cell in zip(head, row):
            key, shown = cell if isinstance(cell, tuple) else (cell, cell)
            if stacked and kind == "text" and not isinstance(shown, Markup):
                shown = breakable(shown)
            key = "" if key is None or isinstance(key, Markup) else key
            cells.append(
                fill(
                    '<td class="$kind" data-v="$key"$label>$shown</td>',
                    kind=kind,
                    key=key,
                    label=fill(' data-label="$title"', title=title) if stacked else EMPTY,
                    shown=fill("<div>$shown</div>", shown=shown) if stacked else shown,
                )
            )
        body.append(fill("<tr>$cells</tr>", cells=join(cells)))
    return fill(
        '<div class="scroll"><table class="sort$stack" aria-label="$label"><thead><tr>$top</tr></thead>'
        "<tbody>$body</tbody></table></div>",
        stack=" stack" if stacked else "",
        label=label,
        top=top,
        body=join(body),
    )
