"""Which objects an edit moves: from which group to which, before it is made."""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.utils.messages import quantity
from coview.utils.tables import ColumnTable

__all__ = ["NO_GROUP", "Moves", "find_moves"]

NO_GROUP = -1  # as scikit-learn's clusterers label noise


class Moves(ColumnTable):
    """The objects that an edit moves, one row each, as a dict of lists that prints as a table of their numbers.

    Parameters
    ----------
    columns : dict of lists
        "row" (position of the object), "id", "before" and "after": numbers of groups, -1 for none.
    edit : str
        The edit, in words.
    n_objects : int
        How many objects were looked at.

    Attributes
    ----------
    edit, n_objects
        The same.
    sentence : str
        The edit, and how many objects move.
    counts : ColumnTable
        How many objects go from which group to which: "before", "after", "n_objects", the largest number first.

    Examples
    --------
    >>> find_moves("drop 1", np.array([0, 1, 1, 2]), np.array([0, 0, 2, 2]))
    drop 1: 2 of 4 objects move
      before  after  n_objects
      1       0      1
      1       2      1
    """

    def __init__(self, columns: dict[str, list[Any]], edit: str, n_objects: int) -> None:
        super().__init__(columns)
        self.edit, self.n_objects = edit, n_objects

    @property
    def counts(self) -> ColumnTable:
        """How many objects go from which group to which, the largest number first."""
        # the reshape gives two rows where nothing moves, too
        pairs = np.array([self["before"], self["after"]], dtype=np.int64).reshape(2, -1)
        kinds, n = np.unique(pairs, axis=1, return_counts=True)
        order = np.argsort(-n, kind="stable")
        before, after = kinds[:, order].tolist()
        return ColumnTable(before=before, after=after, n_objects=n[order].tolist())

    @property
    def sentence(self) -> str:
        """The edit, and how many objects move."""
        n = len(self["row"])
        return f"{self.edit}: {n:,} of {quantity(self.n_objects, 'object')} {'moves' if n == 1 else 'move'}"

    def _title(self) -> str:
        return self.sentence

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        counts = ColumnTable({name: [*column] for name, column in self.counts.items()})
        for name in ("before", "after"):
            counts[name] = ["no group" if number == NO_GROUP else number for number in counts[name]]
        return counts._shown()


def find_moves(edit: str, before: np.ndarray, after: np.ndarray, ids: Any = None) -> Moves:
    """Return the objects whose group changes."""
    rows = np.flatnonzero(before != after)
    names = rows if ids is None else np.asarray(ids)[rows]
    parts = {"row": rows, "id": names, "before": before[rows], "after": after[rows]}
    return Moves({name: part.tolist() for name, part in parts.items()}, edit, len(before))
