"""Edits made again after a new fit: which group is which of the old ones, and what is left of an edit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from coview.editing.log import Ledger, Record
from coview.inspection import Inspection, one_hot
from coview.utils.warn import unwarned

__all__ = ["left_of", "matched_numbers", "read_anew", "training_memberships"]


def training_memberships(inner: Inspection) -> np.ndarray | None:
    """Return memberships of the training objects, or their groups as such; None where nothing is kept."""
    if inner.training.memberships is not None:
        return inner.training.memberships
    return None if inner.training.codes is None else one_hot(inner.training.codes, len(inner.groups))


def read_anew(inner: Inspection, X: Any, before: Inspection | None = None) -> np.ndarray | None:
    """Return what a model says of any objects, prepared by the steps of `before`; None where it cannot tell.

    The groups of its training objects are no answer: they say nothing of other objects, nor of the same in other order.
    """
    try:
        with unwarned():
            objects = X if before is None else before.prepare(X)
            return inner.memberships(objects, prepared=before is not None)
    except ValueError:  # other views
        return None


def matched_numbers(
    before: np.ndarray | None, after: np.ndarray | None, numbers: np.ndarray, following: int
) -> np.ndarray:
    """Numbers of new groups: those of the old ones that share most members, one to one; new ones from `following` on.

    Examples
    --------
    >>> matched_numbers(np.eye(3)[[0, 0, 1, 2]], np.eye(3)[[2, 2, 0, 1]], np.array([4, 5, 6]), 9)
    array([5, 6, 4])
    """
    if after is None:
        return numbers
    given = np.full(after.shape[1], -1)
    if before is not None and len(before) == len(after):
        shared = np.asarray(before, dtype=np.float64).T @ np.asarray(after, dtype=np.float64)
        for old, new in zip(*linear_sum_assignment(shared, maximize=True)):
            if shared[old, new] > 0:
                given[new] = numbers[old]
    else:
        kept = min(len(numbers), len(given))
        given[:kept] = numbers[:kept]
    given[given < 0] = following + np.arange((given < 0).sum())
    return given


def left_of(record: Record, ledger: Ledger) -> Record | None:
    """What can be made of an edit with the groups that there are; None if nothing."""
    known = set(ledger.numbers)
    if record["edit"] == "merge":
        groups = [number for number in record["groups"] if number in known]
        return {**record, "groups": groups} if len(groups) > 1 else None
    if record["edit"] == "reduce":
        parts = [[number for number in part if number in known] for part in record["groups"]]
        parts = [part for part in parts if len(part) > 1]
        left = len(ledger.shown) - sum(len(part) - 1 for part in parts)
        return {**record, "groups": parts, "n": left} if parts or not record["groups"] else None
    if record["edit"] == "names":
        names = {number: name for number, name in record["names"].items() if int(number) in known}
        return {**record, "names": names} if names or not record["names"] else None
    return record if record["group"] in known else None
