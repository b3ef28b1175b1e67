"""Mixtures of several views that pull at each other, on the processor; see `kernels/simplex.py`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coview.engines.threads import Team

__all__ = ["DAMPING", "coupled_rows"]

DAMPING = 0.01  # share of its mass that L1's row step adds to a view where it is
_ROWS = 4096  # rows per chunk of the solver


def coupled_rows(
    team: Team,
    divergence: str,
    counts: Sequence[np.ndarray],
    table: np.ndarray,
    couplings: np.ndarray,
    have: np.ndarray,
    order: Sequence[int],
    floor: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Solve the views that objects have, jointly (L1) or one after the other, then those that they lack.

    Returns the new table and the shares of mass added, as `Engine.coupled_shares` does.
    """
    from coview.kernels import simplex, simplex_l1_joint  # numba, only when it is needed

    solver = {"skl": simplex.skl_rows, "l2": simplex.l2_rows, "l1": simplex.l1_rows}[divergence]
    new, added, moving = np.array(table), np.zeros(len(table)), have
    chunks = [(i, min(i + _ROWS, len(new))) for i in range(0, len(new), _ROWS)]
    counts = [np.ascontiguousarray(part) for part in counts]

    def solve(v: int, q: np.ndarray, mask: np.ndarray, absent: bool) -> None:
        team.map(lambda i, j: solver(q, new, v, couplings[v], mask, absent, floor, i, j), chunks)

    if divergence == "l1":
        joint, every = simplex_l1_joint.l1_joint_rows, np.stack(counts)
        team.map(lambda i, j: joint(every, new, couplings, have, DAMPING, floor, added, i, j), chunks)
        moving = have & np.isinf(added)[:, None]  # next to none; view by view they do not fall, but may stick
    if moving.any():
        for v in order:
            solve(v, counts[v], moving, False)
    if not have.all():
        nothing = np.zeros_like(counts[0])
        for v in order:
            solve(v, nothing, have, True)
    return new, added
