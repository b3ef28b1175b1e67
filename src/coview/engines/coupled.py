"""Mixtures of several views that pull at each other, solved view by view on the processor; see `kernels/simplex.py`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coview.engines.threads import Team

__all__ = ["coupled_rows"]

_ROWS = 4096  # rows per chunk of the solver


def coupled_rows(
    team: Team,
    divergence: str,
    counts: Sequence[np.ndarray] | np.ndarray,
    table: np.ndarray,
    couplings: np.ndarray,
    have: np.ndarray,
    order: Sequence[int],
    floor: float,
    moving: np.ndarray | None = None,
) -> np.ndarray:
    """Solve the views that objects have one after the other, then those that they lack; see `Engine.coupled_shares`.

    `moving` (objects x views) says which of the former are solved; all of them, if it is not given.
    """
    from coview.kernels import simplex  # numba, only when it is needed

    solver = {"skl": simplex.skl_rows, "l2": simplex.l2_rows, "l1": simplex.l1_rows}[divergence]
    new = np.array(table)
    chunks = [(i, min(i + _ROWS, len(new))) for i in range(0, len(new), _ROWS)]

    def solve(v: int, q: np.ndarray, mask: np.ndarray, absent: bool) -> None:
        team.map(lambda i, j: solver(q, new, v, couplings[v], mask, absent, floor, i, j), chunks)

    moving = have if moving is None else moving
    if moving.any():
        for v in order:
            solve(v, np.ascontiguousarray(counts[v]), moving, False)
    if not have.all():
        nothing = np.zeros_like(counts[0])
        for v in order:
            solve(v, nothing, have, True)
    return new
