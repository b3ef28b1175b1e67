"""When a fit has to end: one moment that is handed down to its start, to fits inside it and to the loop.

A time budget is made a deadline where `fit` begins, so that everything after that counts. A stage that is handed a
deadline gives the best that it has by then; a stage whose pieces take long asks before each whether there is time for
it, and knows how long one takes from the one before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

__all__ = ["NO_DEADLINE", "START_SHARE", "Deadline", "largest_in_time"]

START_SHARE = 0.4  # of a time budget, for what comes before the first sweep
GROWTH = 4  # from one sample to the next
T = TypeVar("T")


@dataclass(frozen=True)
class Deadline:
    """A moment of the monotonic clock; the default never comes.

    Examples
    --------
    >>> Deadline.after(60).is_over(), Deadline.after(None).seconds() is None
    (False, True)
    >>> Deadline.after(60).share(0.5).left() <= 30
    True
    """

    moment: float = math.inf

    @classmethod
    def after(cls, time_budget: float | None) -> Deadline:
        """Return the moment when a budget of so many seconds is spent, or never."""
        if time_budget is None:
            return NO_DEADLINE
        return cls(time.monotonic() + float(time_budget))

    def left(self) -> float:
        """Seconds that are left, below 0 where the moment has passed."""
        return self.moment - time.monotonic()

    def seconds(self) -> float | None:
        """Return the seconds left for a fit inside this one; never 0, since each sweeps once."""
        return None if math.isinf(self.moment) else max(self.left(), 1e-9)

    def is_over(self) -> bool:
        """Tell whether the moment has passed."""
        return self.left() <= 0

    def share(self, part: float) -> Deadline:
        """Return the moment when this part of the time that is left is spent."""
        return self if math.isinf(self.moment) else Deadline(self.moment - (1 - part) * max(self.left(), 0.0))


NO_DEADLINE = Deadline()


def largest_in_time(
    make: Callable[[np.ndarray], T], n_rows: int, first: int, seed: int, deadline: Deadline
) -> tuple[T, np.ndarray]:
    """Return what `make` gives of all rows, or of the largest sample that there is time for, and which rows these are.

    Samples of `first` rows and more are gone through, each four times as large as the one before, as long as the last
    ones say that the next will be ready: the time grows with a power of the rows, from 1 to 2, that the last two tell.
    What is given of all rows does not depend on them: a deadline that is far off changes nothing.
    """
    order = np.random.default_rng(seed).permutation(n_rows)
    size = n_rows if deadline == NO_DEADLINE else min(first, n_rows)
    power, before = 1.0, (0, 0.0)  # rows and seconds of the last sample
    while True:
        rows = np.sort(order[:size])
        began = time.monotonic()
        result = make(rows)
        took, larger = time.monotonic() - began, min(GROWTH * size, n_rows)
        if before[1] > 0 and took > 0:
            power = float(np.clip(np.log(took / before[1]) / np.log(size / before[0]), 1.0, 2.0))
        if size == n_rows or deadline.left() < took * (larger / size) ** power:
            return result, rows
        before, size = (size, took), larger
