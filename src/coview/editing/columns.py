"""Edits on numbers: memberships (objects x groups) and features (groups x features) before and after each of them.

With T (groups before x groups after) 1 where a group goes into another, memberships M and sizes n of the groups,

    merge, reduce   M <- M T,                            features <- weighted means by n
    drop            M <- M T, rows brought to their sums before; of an object that had no other group, 0
    split           M <- (M T) * S, S the shares of the parts that the split found, 1 elsewhere
    names, noise    nothing: noise is taken out at the end, so that marking a group moves none of the other objects

So rows sum to what they did before, less noise, and p(feature | object) of a mixture does not change by a merge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coview.editing.log import Ledger, Record

__all__ = ["Step", "edited_memberships", "edited_rows", "edited_sizes", "leading_groups", "steps_of"]


@dataclass(frozen=True)
class Step:
    """One edit that changes columns: which groups go into which, and the columns of the parts of a split."""

    transfer: np.ndarray  # groups before x groups after, 0 or 1
    parts: list[int] | None = None  # columns after, one for each part
    dropped: bool = False


def steps_of(numbers: Sequence[int], records: Sequence[Record]) -> list[Step]:
    """Return what the records do to columns; the first ones are in ascending order of their numbers."""
    ledger, steps = Ledger.of(numbers), []
    for record in records:
        before = list(ledger.numbers)
        ledger.apply(record)
        if record["edit"] in ("rename", "names", "noise"):
            continue
        after = {number: at for at, number in enumerate(ledger.numbers)}
        transfer = np.zeros((len(before), len(after)))
        goes_to = {number: [number] for number in before if number in after}
        parts = None
        if record["edit"] == "split":
            goes_to[record["group"]] = record["into"]
            parts = [after[number] for number in record["into"]]
        for merged in {"merge": [record.get("groups", ())], "reduce": record.get("groups", ())}.get(record["edit"], ()):
            goes_to.update({number: [min(merged)] for number in merged})
        for row, number in enumerate(before):
            transfer[row, [after[target] for target in goes_to.get(number, ())]] = 1.0
        steps.append(Step(transfer, parts, record["edit"] == "drop"))
    return steps


def edited_memberships(
    memberships: np.ndarray, numbers: Sequence[int], steps: Sequence[Step], shares: Sequence[np.ndarray]
) -> Iterator[np.ndarray]:
    """Yield memberships, their columns in ascending order of the numbers, before the first step and after each.

    `shares` are those of the parts of each split, objects x parts.
    """
    order = np.argsort(numbers)
    current = memberships if (np.diff(order) == 1).all() else memberships[:, order]
    yield current
    waiting = iter(shares)
    for step in steps:
        before, current = current, current @ step.transfer.astype(current.dtype)
        if step.parts is not None:
            current[:, step.parts] *= next(waiting)
        if step.dropped:
            total, left = before.sum(axis=1), current.sum(axis=1)
            current *= np.divide(total, left, out=np.ones_like(left), where=left > 0)[:, None]
        yield current


def edited_sizes(
    memberships: np.ndarray | None, numbers: Sequence[int], steps: Sequence[Step], shares: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Return the sizes of the groups before the first step and after each; equal ones where nothing is known."""
    if memberships is not None:
        return [part.sum(axis=0, dtype=np.float64) for part in edited_memberships(memberships, numbers, steps, shares)]
    sizes = [np.ones(len(numbers))]
    for step in steps:
        sizes.append((sizes[-1] / step.transfer.sum(axis=1).clip(min=1.0)) @ step.transfer)
    return sizes


def edited_rows(
    rows: Any, numbers: Sequence[int], steps: Sequence[Step], sizes: Sequence[np.ndarray], parts: Sequence[Any]
) -> np.ndarray:
    """Return rows of groups (groups x anything) after all steps: weighted means of merged ones, `parts` of split ones.

    Examples
    --------
    >>> records = [{"edit": "merge", "groups": [0, 2], "name": None}]
    >>> steps = steps_of([0, 1, 2], records)
    >>> sizes = edited_sizes(np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]), [0, 1, 2], steps, [])
    >>> edited_rows([[4.0], [1.0], [0.0]], [0, 1, 2], steps, sizes, []).tolist()
    [[1.0], [1.0]]
    """
    current, waiting = np.asarray(rows)[np.argsort(numbers)], iter(parts)
    for step, size in zip(steps, sizes):
        weights = step.transfer * size[:, None]
        weights = np.where(weights.sum(axis=0) > 0, weights, step.transfer)
        current = ((weights / weights.sum(axis=0)).T @ current).astype(current.dtype, copy=False)
        if step.parts is not None:
            current[step.parts] = next(waiting)
    return current


def leading_groups(memberships: np.ndarray) -> np.ndarray:
    """Return the column of the largest membership of each object; -1 of one without any."""
    return np.where(memberships.max(axis=1, initial=0.0) > 0, memberships.argmax(axis=1), -1)
