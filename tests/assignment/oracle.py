"""HiGHS as an independent judge: the program written out once more, many objects in one call."""

from itertools import combinations

import numpy as np
from scipy import optimize, sparse

from coview.assignment.label_program import Costs
from coview.assignment.ontology import Ontology


def highs_optimum(scores: np.ndarray, costs: Costs, ontology: Ontology | None) -> np.ndarray:
    """Optimum of each object (they share nothing, so that their sum is maximized where each is)."""
    n, n_views, n_labels = scores.shape
    rows, upper, extra = [], [], []
    size = n_views * n_labels

    def y(v: int, i: int) -> int:
        return v * n_labels + i

    def rule(terms: dict[int, float], limit: float, cost: float, slack: int) -> None:
        rows.append({**terms, size + slack: -1.0})
        upper.append(limit)
        if slack == len(extra):
            extra.append(cost)

    for v, w in combinations(range(n_views), 2):
        for i in range(n_labels):
            slack = len(extra)
            rule({y(v, i): 1, y(w, i): -1}, 0, costs.disagreement, slack)
            rule({y(w, i): 1, y(v, i): -1}, 0, costs.disagreement, slack)
    for v in range(n_views):
        if ontology is None:
            rule({y(v, i): 1 for i in range(n_labels)}, 1, costs.mutex, len(extra))
            rule({y(v, i): -1 for i in range(n_labels)}, -1, costs.mutex, len(extra))
            continue
        for child, parent in ontology.subset_codes:
            rule({y(v, int(child)): 1, y(v, int(parent)): -1}, 0, costs.subset, len(extra))
        for a, b in ontology.mutex_codes:
            rule({y(v, int(a)): 1, y(v, int(b)): 1}, 1, costs.mutex, len(extra))
    one = np.zeros((len(rows), size + len(extra)))
    for r, terms in enumerate(rows):
        for c, value in terms.items():
            one[r, c] = value
    weights = np.hstack([-scores.reshape(n, size), np.tile(extra, (n, 1))])
    integer = np.tile(np.r_[np.ones(size), np.zeros(len(extra))], n)
    found = optimize.milp(
        1e4 * weights.ravel(),  # HiGHS stops within 1e-6, of which this leaves 1e-10
        integrality=integer,
        bounds=optimize.Bounds(0, np.where(integer > 0, 1, np.inf)),
        constraints=optimize.LinearConstraint(
            sparse.block_diag([one] * n, format="csr") if len(rows) else sparse.csr_array((0, n * one.shape[1])),
            -np.inf,
            np.tile(upper, n),
        ),
        options={"mip_rel_gap": 0.0},
    )
    assert found.status == 0, found.message
    x = found.x.reshape(n, -1)
    x[:, :size] = np.round(x[:, :size])
    slacks = np.zeros((n, len(extra)))
    for terms, limit in zip(rows, upper):  # exact slacks of the rounded labels
        over = sum(value * x[:, c] for c, value in terms.items() if c < size) - limit
        where = next(c for c in terms if c >= size) - size
        slacks[:, where] = np.maximum(slacks[:, where], over)
    return -(weights[:, :size] * x[:, :size]).sum(axis=1) - slacks @ np.array(extra)
