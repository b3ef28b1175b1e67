"""Which column of a raw table tells its objects in a line: a title, else a text, and lists such as tags only where
there is nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from coview.preprocessing.vectorizer import are_lists

__all__ = ["LONGEST_LINE", "LOOKED_AT", "caption_column"]

LOOKED_AT = 500  # objects by which the column is chosen
LONGEST_LINE = 90  # characters, at the median
MOST_ALIKE = 0.2  # share of the texts that may be alike, or have no letters
LEAST_WORDS = 3  # of a line that no model reads, at the median: fewer are addresses of mail and pages, and names
# "job_title", "jobTitle" and "JOB TITLE", but no "subtitle"
_TITLE = re.compile(r"((?:^|[^a-zA-Z])(?i:title|headline|subject|caption)|[a-z](?:Title|Headline|Subject|Caption))$")
_BETWEEN = re.compile(r"[\s,;|]+")
_SUMMARY = re.compile(r"((?:^|[^a-zA-Z])(?i:summary)|[a-z]Summary)$")  # a title where it is as short as one


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
    ranks: dict[Any, tuple[Any, ...]] = {}
    known = {str(key) for key in ids}
    for name, values in columns.items():
        own = [value for value in values[:LOOKED_AT] if isinstance(value, str)]
        if len(own) < 2 or _are_ids(own, known):
            continue
        lettered = sum(any(map(str.isalpha, text)) for text in own)
        if min(len(set(own)), lettered) <= (1 - MOST_ALIKE) * len(own):
            continue
        length, words = (float(np.median(list(map(size, own)))) for size in (len, lambda text: len(text.split())))
        read, short = name in texts, length <= LONGEST_LINE
        titled = bool(_TITLE.search(str(name)) or (short and _SUMMARY.search(str(name))))
        line = short and (read or titled or words >= LEAST_WORDS)
        is_list = name in lists or (not read and are_lists(own))
        octave = round(np.log2(length + 1))  # lines of about the same length: the first column
        ranks[name] = (not is_list, titled, line, read, octave if short else -octave)
    return max(ranks, key=lambda name: ranks[name], default=None)


def _are_ids(texts: list[str], known: Collection[str]) -> bool:
    """Tell whether texts are names of objects, one or several each."""
    parts = [part for text in texts for part in _BETWEEN.split(text) if part]
    return all(text in known for text in texts) or 2 * sum(part in known for part in parts) > len(parts)
