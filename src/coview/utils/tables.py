"""Tables for people: a title and rows as text and as HTML, and a dict of columns that prints as such a table.

A dict of lists is what `pandas.DataFrame` and `polars.DataFrame` take. Empty columns and cells are not shown, and
numbers are rounded only where they are shown.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from coview.utils.messages import cut, printable

__all__ = ["ColumnTable", "ResultTable", "format_html_table", "format_text_table"]

WIDEST = 60  # letters of a cell as text; of the last one in a line more, where the terminal is wide
FLOATING = (float, np.floating)


def format_text_table(title: str, rows: Sequence[Sequence[str]], aligned: int) -> str:
    """Return a title and a line per row, the first columns aligned; empty cells at the end are left out."""
    # names of views and features come from files, and could hold codes that a terminal obeys
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[c]) for row in rows) for c in range(aligned)]
    lines = [
        "  " + "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths)), *(c for c in row[aligned:] if c)])
        for row in rows
    ]
    return "\n".join([title, *lines])


def format_html_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the same as an HTML table; cells are text, not markup."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    caption = f"<caption>{escape(title)}</caption>"
    return f"<table>{caption}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


class ColumnTable(dict[str, list[Any]]):
    """One list per column, all of the same length; `noun` is what a row is.

    Examples
    --------
    >>> table = ColumnTable(name=["words", "links"], share=[0.25, 0.75], note=[None, None])
    >>> table
    2 rows
      name   share
      words  0.25
      links  0.75
    >>> table["share"]
    [0.25, 0.75]
    """

    noun: ClassVar[str] = "row"
    wraps: ClassVar[bool] = False  # whether the last column goes on in the next line, or is cut

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
        short = [[cut(cell, WIDEST) for cell in row[:-1]] for row in [head, *rows]]
        # the last column, such as a sentence, has what is left of the line
        taken = sum(2 + max(map(len, column)) for column in zip(*short)) + 2
        room = max(WIDEST, shutil.get_terminal_size().columns - taken)
        last = [wrap(row[-1], room) or [""] if self.wraps else [cut(row[-1], room)] for row in [head, *rows]]
        blank = [""] * (len(head) - 1)
        short = [[*(blank if i else cells), part] for cells, parts in zip(short, last) for i, part in enumerate(parts)]
        return "\n".join(line.rstrip() for line in format_text_table(self._title(), short, len(head)).split("\n"))

    def _repr_html_(self) -> str:
        return format_html_table(self._title(), *self._shown())

    def _title(self) -> str:
        count = len(next(iter(self.values()), []))
        return f"{count} {self.noun}{'' if count == 1 else 's'}"

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        """Return the names of the columns that are not empty, and their cells by row."""
        cells = {name: [_cell(value) for value in column] for name, column in self.items()}
        shown = {name: column for name, column in cells.items() if any(column)}
        return list(shown), [list(row) for row in zip(*shown.values())]


class ResultTable(ColumnTable):
    """Columns with a title, and facts about the whole as attributes.

    Parameters
    ----------
    columns : dict of lists
        The columns.
    title : str
        Title of the printed table.
    shown : tuple of (names of columns, rows of texts), optional
        What is printed; by default the columns.
    **facts
        Attributes.

    Examples
    --------
    >>> table = ResultTable({"group": ["0", "1"]}, "2 groups", n_objects=5)
    >>> table.n_objects
    5
    """

    def __init__(
        self,
        columns: dict[str, list[Any]],
        title: str,
        shown: tuple[list[str], list[list[str]]] | None = None,
        **facts: Any,
    ) -> None:
        super().__init__(columns)
        vars(self).update(facts, title=title, shown=shown)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def _title(self) -> str:
        return self.title

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        return super()._shown() if self.shown is None else self.shown


def _same(ours: Any, theirs: Any) -> bool:
    """Whether two columns, or two cells, are equal or both not a number."""
    ours, theirs = (each.tolist() if isinstance(each, np.ndarray) else each for each in (ours, theirs))
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    return bool(ours == theirs) or all(isinstance(one, FLOATING) and math.isnan(one) for one in (ours, theirs))


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, FLOATING) and math.isnan(value)):
        return ""
    return f"{value:.2f}" if isinstance(value, FLOATING) else str(value)
