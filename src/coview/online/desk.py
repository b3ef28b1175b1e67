"""Learning from single objects without the cost of a batch: all that a kernel needs is laid out once.

A batch of one object takes a hundred times longer to prepare than to learn. Here the row is written into arrays whose
addresses the kernel knows already, so that a call is a copy of the row and the round itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from coview.kernels import passive_aggressive as kernels
from coview.kernels.memory import addresses
from coview.kernels.rounds import ROWS
from coview.online.weights import Memory
from coview.validation import UNLABELED

__all__ = ["Desk"]

_ROOM = 256  # features of a view that there is room for at first


class Desk:
    """A model's arrays, ready to learn single rows.

    Parameters
    ----------
    memory : dict
        What the model remembers, with dense weights; its arrays are changed by learning.
    labels : list
        The classes, sorted.
    costs, options : ndarray
        As the kernels take them.

    Attributes
    ----------
    codes : dict
        Position of each class.
    code : ndarray (1,)
        That of the object learned last.

    Examples
    --------
    >>> import numpy as np
    >>> from coview.online.options import kernel_options
    >>> from coview.online.weights import new_weights
    >>> memory = {**new_weights({"words": 3}, 2, np.float64, averages=False), "dtype": np.dtype(np.float64)}
    >>> options = kernel_options(1, "pa1", "exact", True, False, False, None, 1.0, 0.5, 0.1, 0.001)
    >>> desk = Desk(memory, ["ham", "spam"], np.ones(2), options)
    >>> desk.learn([(np.array([0, 2]), np.array([1.0, 1.0]))], 1).tolist()
    [0.0]
    >>> memory["weights"]["words"].tolist()
    [0.5, 0.0, 0.5]
    """

    def __init__(self, memory: Memory, labels: list[Any], costs: np.ndarray, options: np.ndarray) -> None:
        self.memory, self.labels = memory, labels
        self.codes = {label: code for code, label in enumerate(labels)}
        self.weights: list[np.ndarray] = list(memory["weights"].values())
        self.code = np.zeros(1, dtype=np.int64)
        self._fixed = costs, memory["shares"], options
        self._said = np.zeros(1 if len(labels) <= 2 else (1, len(labels))), np.zeros(1), np.zeros(1)
        self._order = np.zeros(1, dtype=np.int64)
        self._laid: Any = None  # the row that lies there: it is mostly scored, then learned
        self._learn: Any = kernels.learn_binary if len(labels) == 2 else kernels.learn_classes
        self._lay_out(_ROOM)

    def learn(self, rows: Sequence[tuple[np.ndarray, np.ndarray] | None], code: int) -> np.ndarray:
        """Learn one object, columns and values by view; return its scores from before (until the next call)."""
        self.memory["seen"] += 1
        self.code[0] = code
        return self._round(rows)

    def score(self, rows: Sequence[tuple[np.ndarray, np.ndarray] | None]) -> np.ndarray:
        """Return the scores of one object by the weights as they are (until the next call)."""
        self.code[0] = UNLABELED
        return self._round(rows)

    def _round(self, rows: Sequence[tuple[np.ndarray, np.ndarray] | None]) -> np.ndarray:
        if len(self.labels) < 2:  # no rival yet
            return self._said[0]
        if rows is not self._laid:
            self._lay(rows)
        costs, shares, options = self._fixed
        state = (self.memory["bias"], self.code, self._order, costs, shares, options, self.memory["seen"] - 1)
        self._learn(self._places, *self._like, *self._scratch, *state, *self._said)
        return self._said[0]

    def _lay(self, rows: Sequence[tuple[np.ndarray, np.ndarray] | None]) -> None:
        """Write a row to where the kernel reads it."""
        longest = max((len(row[0]) for row in rows if row is not None), default=0)
        if longest > self._indices.shape[1]:
            self._lay_out(2 * longest)
        for v, row in enumerate(rows):
            size = 0 if row is None else len(row[0])
            self._ends[v, 1] = size
            if row is not None:
                self._indices[v, :size], self._values[v, :size] = row
        self._laid = rows

    def _lay_out(self, room: int) -> None:
        """Arrays for rows of so many features in each view, and where they are."""
        n, dtype = len(self.weights), self.memory["dtype"]
        self._ends = np.zeros((n, 2), dtype=np.int32)
        self._indices = np.zeros((n, room), dtype=np.int32)
        self._values = np.zeros((n, room), dtype=dtype)
        self._scratch = np.empty((ROWS, n)), np.empty((3, n), dtype=np.int64)
        self._like = np.empty(0, dtype=np.int32), np.empty(0, dtype=dtype)
        lags = self.weights if self.memory["lags"] is None else list(self.memory["lags"].values())
        found = addresses([*self._ends, *self._indices, *self._values, *self.weights, *lags])
        self._places = found.reshape(5, n)
