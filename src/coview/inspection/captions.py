"""Objects of a raw table in a line each: by a title, else a text, and by lists such as tags only where there is nothing
else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from coview.preprocessing.columns import Table
from coview.preprocessing.vectorizer import are_lists, read_noted_list

__all__ = ["caption_column", "caption_rows"]

LOOKED_AT = 500  # objects by which the column is chosen
LONGEST_LINE = 90  # characters, at the median
MOST_ALIKE = 0.2  # share of the texts that may be alike, or have no letters
CAPTION_LETTERS = 110
LEAST_WORDS = 3  # of a line that no model reads, at the median: fewer are addresses of mail and pages, and names
TITLES_ALIKE = 0.5  # the same of a column that is called a title: two things may have one name
# "job_title", "jobTitle" and "JOB TITLE", but no "subtitle"
_TITLE = re.compile(
    r"(?:(?:^|[^a-zA-Z])(?i:title|titel|titre|name|headline|subject|betreff|caption)"
    r"|[a-z](?:Title|Name|Headline|Subject|Caption))$"
)
_BETWEEN = re.compile(r"[\s,;|]+")
_SUMMARY = re.compile(r"((?:^|[^a-zA-Z])(?i:summary)|[a-z]Summary)$")  # a title where it is as short as one


def caption_rows(
    table: Table,
    ids: Sequence[Any],
    texts: Collection[Any],
    lists: Mapping[Any, Callable[[str], list[str]]],
    rows: Iterable[int] | None = None,
) -> list[str] | None:
    """Return a line on some rows of a table, all by default; None where no column tells them.

    Texts that are much alike are better than none, where a model reads them. See `caption_column` for the parameters.

    Examples
    --------
    >>> table = Table({"tags": ['["red", "old"]', ["new"], None], "weight": [1, 2, 3]}, 3)
    >>> caption_rows(table, range(3), [], {})
    ['red, old', 'new', '']
    """

    def read(part: Table, name: Any) -> list[str | None]:
        return [_as_line(cell, lists.get(name, read_noted_list)) for cell in part.cells(name)]

    first = table.head(LOOKED_AT)
    ranked = _rank_columns({name: read(first, name) for name in first.names}, ids, texts, lists)
    ranked = ranked or [name for name in table.names if name in texts][:1]
    if not ranked:
        return None
    part = table if rows is None else table.take(np.fromiter(rows, dtype=int))
    lines = [""] * part.n_rows
    for name in ranked[:2]:  # the second one where the first is blank
        if not all(lines):
            lines = [line or _shortened(other or "") for line, other in zip(lines, read(part, name))]
    return lines


def _as_line(cell: Any, split: Callable[[str], list[str] | None]) -> str | None:
    """A text, or the items of a list with commas between them; None of all else."""
    items = split(cell) if isinstance(cell, str) else cell
    if isinstance(items, (list, tuple)) and all(isinstance(item, str) for item in items):
        cell = ", ".join(items)
    return cell if isinstance(cell, str) else None


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= CAPTION_LETTERS else f"{line[:CAPTION_LETTERS].rsplit(' ', 1)[0]} …"


def caption_column(
    columns: Mapping[Any, Sequence[Any]], ids: Sequence[Any], texts: Collection[Any] = (), lists: Collection[Any] = ()
) -> Any:
    """Return the column whose texts tell an object in a line; None where there is none.

    Nearly all of its texts differ and have letters, unlike dates. A column that is called a title comes first, then
    those of a line, those that the model reads before others and long lines before short ones. Where all texts are
    longer, the shortest of them are cut. Lists come last, whether the model reads them as such or not.

    Parameters
    ----------
    columns : mapping of column to values
        The table; the first values are looked at.
    ids : sequence
        Names of the objects: a column of them, or of links to them, tells nothing.
    texts, lists : collection of columns, optional
        Columns that the model reads as texts, and as lists.

    Examples
    --------
    >>> table = {"tags": ["red;old", "red;new", "old"], "text": ["a red fox runs", "a red car", "an old car"]}
    >>> caption_column(table, range(3))
    'text'
    """
    return next(iter(_rank_columns(columns, ids, texts, lists)), None)


def _rank_columns(
    columns: Mapping[Any, Sequence[Any]], ids: Sequence[Any], texts: Collection[Any], lists: Collection[Any]
) -> list[Any]:
    """The columns whose texts tell an object in a line, the best first."""
    ranks: dict[Any, tuple[Any, ...]] = {}
    known = {str(key) for key in ids}
    for name, values in columns.items():
        own = [value for value in values[:LOOKED_AT] if isinstance(value, str) and value.strip()]
        if len(own) < 2 or _are_ids(own, known):
            continue
        titled = bool(_TITLE.search(str(name)))
        lettered = sum(any(map(str.isalpha, text)) for text in own)
        if min(len(set(own)), lettered) <= (1 - (TITLES_ALIKE if titled else MOST_ALIKE)) * len(own):
            continue
        length, words = (float(np.median(list(map(size, own)))) for size in (len, lambda text: len(text.split())))
        read, short = name in texts, length <= LONGEST_LINE
        titled |= bool(short and _SUMMARY.search(str(name)))
        line = short and (read or titled or words >= LEAST_WORDS)
        is_list = name in lists or (not read and are_lists(own))
        octave = round(np.log2(length + 1))  # lines of about the same length: the first column
        filled = 2 * len(own) >= len(values[:LOOKED_AT])
        ranks[name] = (filled, not is_list, titled, line, read, octave if short else -octave)
    return sorted(ranks, key=lambda name: ranks[name], reverse=True)


def _are_ids(texts: list[str], known: Collection[str]) -> bool:
    """Tell whether texts are names of objects, one or several each."""
    parts = [part for text in texts for part in _BETWEEN.split(text) if part]
    return all(text in known for text in texts) or 2 * sum(part in known for part in parts) > len(parts)
