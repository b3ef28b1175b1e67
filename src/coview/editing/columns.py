"""Edits on numbers: which columns of which model make a group, and the memberships and features that follow.

Models are numbered: 0 is the one inside, s > 0 the one of the s-th split, S_s its shares of the parts. A group is a set
of columns (s, j); with M the memberships of the model inside and the sizes n the sums over the objects,

    membership of (0, j)    M_j
    membership of (s, j)    S_sj times that of the group that was split
    group                   the sum over its columns; features are means by n, and by p(view | group) where a group is
                            one distribution over all views

    merge, reduce           the columns of several groups in one; all parts of a split are the group again
    split                   a column of the new model for each part
    drop                    its columns are gone from their models, which are asked again as if they never had them
    names, noise            nothing: noise is taken out at the end, so that no other object moves

So rows sum to what they did before, less noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coview.editing.log import Record

__all__ = ["Columns", "leading_groups", "merged_variance"]

Column = tuple[int, int]  # of a model: 0 is the one inside, those of splits follow


@dataclass
class Columns:
    """The groups after some edits by the columns that they are made of.

    Attributes
    ----------
    groups : dict of lists
        Columns of each group, by its number, noise among them.
    divided : list of lists
        By model, the columns of the group that was split; none for the model inside.
    widths : list of int
        By model, the number of its columns.
    dropped : list of sets
        By model, the columns that are gone.

    Examples
    --------
    >>> columns = Columns.of([0, 1, 2], [{"edit": "merge", "groups": [0, 2], "name": None}])
    >>> columns.groups
    {0: [(0, 0), (0, 2)], 1: [(0, 1)]}
    >>> memberships = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    >>> columns.memberships([memberships]).tolist()
    [[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]]
    >>> columns.rows([np.array([[4.0], [1.0], [0.0]])], columns.sizes([memberships])).tolist()
    [[1.0], [1.0]]
    """

    groups: dict[int, list[Column]]
    divided: list[list[Column]] = field(default_factory=lambda: [[]])
    widths: list[int] = field(default_factory=list)
    dropped: list[set[int]] = field(default_factory=lambda: [set()])

    @classmethod
    def of(cls, numbers: Sequence[int], records: Sequence[Record]) -> Columns:
        """Return the columns of a model whose groups have these numbers, after some edits."""
        columns = cls({number: [(0, j)] for j, number in enumerate(numbers)}, widths=[len(numbers)])
        for record in records:
            columns._apply(record)
        columns.groups = dict(sorted(columns.groups.items()))
        return columns

    def _apply(self, record: Record) -> None:
        kind, groups = record["edit"], self.groups
        if kind == "split":
            self.divided.append(groups[record["group"]])
            self.widths.append(len(record["into"]))
            self.dropped.append(set())
            groups.update({number: [(len(self.divided) - 1, j)] for j, number in enumerate(record["into"])})
        elif kind == "drop":
            for model, j in groups.pop(record["group"]):
                self.dropped[model].add(j)
        for merged in {"merge": [record.get("groups", ())], "reduce": record.get("groups", ())}.get(kind, ()):
            groups[min(merged)] = [column for number in sorted(merged) for column in groups.pop(number)]
        for model in range(len(self.divided) - 1, 0, -1):  # a group that holds all parts is the one that was split
            left = {(model, j) for j in range(self.widths[model]) if j not in self.dropped[model]}
            for number, columns in groups.items():
                if left <= set(columns):
                    groups[number] = [column for column in columns if column not in left] + self.divided[model]

    @property
    def whole(self) -> bool:
        """Whether all groups are those of the model inside, or some of these merged: none is split or dropped."""
        return not self.dropped[0] and all(model == 0 for columns in self.groups.values() for model, _ in columns)

    def memberships(self, answers: Sequence[Any]) -> np.ndarray:
        """Return objects x groups by what each model says, objects x columns, which is 0 in those that are dropped."""
        shared: dict[int, np.ndarray] = {}

        def together(columns: Sequence[Column]) -> np.ndarray:
            total = answers[0][:, [j for model, j in columns if model == 0]].sum(axis=1)
            for model, j in columns:
                if model:
                    if model not in shared:
                        shared[model] = together(self.divided[model])
                    total = total + shared[model] * answers[model][:, j]
            return total

        return np.column_stack([together(columns) for columns in self.groups.values()])

    def sizes(self, answers: Sequence[Any] | None) -> list[np.ndarray]:
        """Return the sizes of the columns of each model; even ones where nothing is known."""
        if answers is None:
            sizes = [np.ones(self.widths[0])]
            for columns, width in zip(self.divided[1:], self.widths[1:]):
                sizes.append(np.full(width, sum(sizes[model][j] for model, j in columns) / width))
            return sizes
        every = [(model, j) for model, width in enumerate(self.widths) for j in range(width)]
        apart = Columns({at: [column] for at, column in enumerate(every)}, self.divided)
        return np.split(apart.memberships(answers).sum(axis=0, dtype=np.float64), np.cumsum(self.widths)[:-1])

    def rows(self, values: Sequence[Any], sizes: Sequence[np.ndarray]) -> np.ndarray:
        """Return groups x anything, by the rows of each model (columns x anything): means, weighted by sizes."""
        rows = []
        for columns in self.groups.values():
            own = [np.asarray(values[model])[j] for model, j in columns]
            weights = np.array([sizes[model][j] for model, j in columns])
            weights = weights if weights.sum() > 0 else np.ones(len(columns))
            rows.append(own[0] if len(own) == 1 else np.average(own, axis=0, weights=weights))
        return np.stack(rows).astype(np.asarray(values[0]).dtype, copy=False)


def leading_groups(memberships: np.ndarray) -> np.ndarray:
    """Return the column of the largest membership of each object; -1 of one without any."""
    return np.where(memberships.max(axis=1, initial=0.0) > 0, memberships.argmax(axis=1), -1)


def merged_variance(
    explained: np.ndarray, before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Share of the variance of a view that each group explains after a merge.

    Parameters
    ----------
    explained : ndarray
        The shares before.
    before, after : pairs of ndarrays
        Memberships (objects x groups), and means of the vectors of the groups' objects (groups x features).

    Notes
    -----
    With memberships T, their sums n, C = n (means - mean of all) = T' (X - mean of all), the mixtures of the vectors
    that fit best explain trace(C' (T' T)^-1 C). It is divided among the groups as that of a model is.

    Examples
    --------
    >>> groups, means = np.eye(3)[[0, 0, 1, 2]], np.array([[1.0], [3.0], [5.0]])
    >>> merged_variance(np.array([0.4, 0.1, 0.5]), (groups, means), (np.ones((4, 1)), np.array([[2.5]])))
    array([0.])
    """
    fitted, parts = [], np.zeros(0)
    for memberships, means in (before, after):
        memberships = memberships.astype(np.float64)
        sizes = memberships.sum(axis=0)
        moved = np.asarray(means, dtype=np.float64) - sizes @ means / sizes.sum()
        sums = sizes[:, None] * moved
        fitted.append(np.vdot(sums, np.linalg.lstsq(memberships.T @ memberships, sums, rcond=None)[0]))
        parts = sizes * (moved**2).sum(axis=1)
    share = explained.sum() * fitted[1] / max(fitted[0], 1e-300)
    return share * parts / max(float(parts.sum()), 1e-300)
