"""The table of candidates that an automatic choice was made from: a dict of columns that prints as a table.

It is a dict of lists, as `pandas.DataFrame` and `polars.DataFrame` take it. Columns in which nothing is known are not
shown, nor are empty cells; the numbers are rounded for the eye alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from coview.utils import fitted_state as rules
from coview.utils.messages import cut
from coview.views.base import html_table, text_table

__all__ = ["CandidateTable", "candidate_table", "left_out"]

WIDEST = 60  # letters of a cell as text
FLOATING = (float, np.floating)


class CandidateTable(dict[str, list[Any]]):
    """One list per column, all of the same length: a row for each candidate.

    Examples
    --------
    >>> CandidateTable(name=["graphs", "topics"], weight=[1.0, 0.0], without=[None] * 2, dropped=[None, "less stable"])
    2 candidates
      name    weight  dropped
      graphs  1.00
      topics  0.00    less stable
    >>> CandidateTable(stability=[math.nan]) == CandidateTable(stability=[float("nan")])
    True
    """

    def __eq__(self, other: object) -> bool:
        """Tell whether two dicts are equal, where what is not known (NaN) equals itself, as after loading."""
        if not isinstance(other, dict):
            return NotImplemented
        return self.keys() == other.keys() and all(_same(column, other[name]) for name, column in self.items())

    def __ne__(self, other: object) -> bool:  # a dict has one of its own
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = None  # as of any dict

    def __repr__(self) -> str:
        head, rows = self._shown()
        if not rows:
            return self._title()
        short = [[cut(cell, WIDEST) for cell in row] for row in [head, *rows]]
        return "\n".join(line.rstrip() for line in text_table(self._title(), short, len(head)).split("\n"))

    def _repr_html_(self) -> str:
        return html_table(self._title(), *self._shown())

    def _title(self) -> str:
        count = len(next(iter(self.values()), []))
        return f"{count} candidate{'' if count == 1 else 's'}"

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        """Names of the columns that say something, and their cells by row."""
        cells = {name: [_cell(value) for value in column] for name, column in self.items()}
        told = {name: column for name, column in cells.items() if any(column)}
        return list(told), [list(row) for row in zip(*told.values())]


def _same(ours: Any, theirs: Any) -> bool:
    """Whether two columns, or two cells, are equal or both not a number."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    return bool(ours == theirs) or all(isinstance(one, FLOATING) and math.isnan(one) for one in (ours, theirs))


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def left_out(
    views: Iterable[str], seen: Iterable[str], why: str | None = None, noise: Iterable[str] = ()
) -> str | None:
    """Names of the views that a candidate does not see, and why, in one text; None where it sees all.

    Examples
    --------
    >>> left_out(["words", "image"], ["words"], "no counts"), left_out(["words"], ["words"])
    ('image (no counts)', None)
    >>> left_out(["words", "image", "size"], ["words"], "no counts", ["size"])
    'image (no counts), size (noise)'
    """
    seen, noise = set(seen), set(noise)
    missing = [name for name in views if name not in seen]
    parts = [(", ".join(name for name in missing if name not in noise), why)]
    parts.append((", ".join(name for name in missing if name in noise), "noise"))
    return ", ".join(f"{names} ({reason})" if reason else names for names, reason in parts if names) or None


def candidate_table(*figures: str) -> rules.Rule:
    """Rule for `candidates_`, a table with one row per candidate: who it is, these figures, and why it was dropped."""
    columns = {
        "name": rules.text(),
        "method": rules.or_none(rules.text()),
        "weight": rules.weight(),
        **dict.fromkeys(figures, rules.number(nan=True)),
        "without": rules.or_none(rules.text()),
        "dropped": rules.or_none(rules.text()),
    }
    return rules.record(**{name: rules.sequence(rule, "candidates") for name, rule in columns.items()})
