"""The same program as a mixed integer program for HiGHS: the general case, and the yardstick for all other solvers.

maximize   a1 sum s y - a2 sum d - a3 sum (z + e)
subject to d >= |y_v - y_w|;   with an ontology  z >= y_child - y_parent,  e >= y_a + y_b - 1  in each view;
           without  sum_i y_i <= 1 + e,  sum_i y_i >= 1 - z  in each view;   y in {0, 1}, the others >= 0
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np
from scipy import optimize, sparse

__all__ = ["solve_milp"]

Pairs = tuple[tuple[int, int], ...]
_SCALE = 1e3  # HiGHS stops within 1e-6 of the optimum; of a larger objective that is a smaller part


def solve_milp(scores: np.ndarray, alpha: tuple[float, float, float], pairs: tuple[Pairs, Pairs] | None) -> np.ndarray:
    """Labels (n_objects, n_views, n_labels) by one call of HiGHS per object.

    `pairs` are the subset and the mutex pairs of an ontology, None without one.

    Examples
    --------
    >>> import numpy as np
    >>> solve_milp(np.array([[[0.9, 0.1], [0.2, 0.3]]]), (0.5, 0.1, 1.0), None).astype(int).tolist()
    [[[1, 0], [1, 0]]]
    """
    n, n_views, n_labels = scores.shape
    matrix, upper, n_apart, n_slack = _constraints(n_views, n_labels, pairs)
    integer = np.zeros(matrix.shape[1])
    integer[: n_views * n_labels] = 1
    bounds = optimize.Bounds(0, np.where(integer > 0, 1.0, np.inf))
    rule = optimize.LinearConstraint(matrix, -np.inf, upper)
    a1, a2, a3 = alpha
    costs = np.concatenate([np.zeros(n_views * n_labels), np.full(n_apart, a2), np.full(n_slack, a3)])
    labels = np.zeros(scores.shape, dtype=bool)
    for i in range(n):
        costs[: n_views * n_labels] = -a1 * scores[i].ravel()
        scale = _SCALE / max(float(np.abs(costs).max()), 1e-300)
        found = optimize.milp(
            costs * scale, integrality=integer, bounds=bounds, constraints=rule, options={"mip_rel_gap": 0.0}
        )
        if found.x is None:
            raise RuntimeError(f"HiGHS found no labels for object {i}: {found.message}")
        labels[i] = found.x[: n_views * n_labels].reshape(n_views, n_labels) > 0.5
    return labels


@lru_cache(maxsize=32)
def _constraints(n_views: int, n_labels: int, pairs: tuple[Pairs, Pairs] | None) -> tuple:
    """Rows matrix @ x <= upper; x = labels, differences, slacks."""
    size = n_views * n_labels
    y = np.arange(size).reshape(n_views, n_labels)
    rows: list[dict[int, float]] = []
    upper: list[float] = []
    column = size
    for v, w in combinations(range(n_views), 2):
        for i in range(n_labels):
            rows += [{y[v, i]: 1, y[w, i]: -1, column: -1}, {y[v, i]: -1, y[w, i]: 1, column: -1}]
            upper += [0, 0]
            column += 1
    n_apart = column - size
    for v in range(n_views):
        if pairs is None:
            rows += [{**dict.fromkeys(y[v], 1.0), column: -1}, {**dict.fromkeys(y[v], -1.0), column + 1: -1}]
            upper += [1, -1]
            column += 2
            continue
        for child, parent in pairs[0]:
            rows.append({y[v, child]: 1, y[v, parent]: -1, column: -1})
            upper.append(0)
            column += 1
        for a, b in pairs[1]:
            rows.append({y[v, a]: 1, y[v, b]: 1, column: -1})
            upper.append(1)
            column += 1
    entries = [(r, int(c), value) for r, row in enumerate(rows) for c, value in row.items()]
    r, c, values = zip(*entries) if entries else ((), (), ())
    matrix = sparse.coo_array((values, (r, c)), shape=(len(rows), column)).tocsr()
    return matrix, np.array(upper, dtype=float), n_apart, column - size - n_apart
