"""Which topic of one view is which of another: the one-to-one matching under which mixtures agree most.

For views u, v with mixtures P_u, P_v (objects x topics), O_uv = P_u^T P_v says how much of topic k of u lies with topic
l of v. The orders maximize sum_(u<v) sum_k O_uv[order_u[k], order_v[k]]: exactly for two views (one assignment
problem), for more of them one view at a time against all others, as long as that helps.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from coview.views.arrays import from_tensor, is_tensor

__all__ = ["align_topics", "topic_overlap"]

_ROUNDS = 20


def topic_overlap(rows: dict[str, np.ndarray]) -> np.ndarray:
    """Products of all columns of a block's table of mixtures, the views side by side: all O_uv in one matrix."""
    table = rows["mixture"]
    table = np.asarray(from_tensor(table) if is_tensor(table) else table, dtype=np.float64)
    return table.T @ table


def align_topics(overlap: np.ndarray, width: int) -> np.ndarray:
    """Orders of the topics of each view (views x topics); the first view keeps its own.

    Parameters
    ----------
    overlap : ndarray (n_views * width, n_views * width)
        All O_uv, as `topic_overlap` gives them.
    width : int
        Topics of each view.

    Returns
    -------
    ndarray of int (n_views, width)
        Entry v, k: the topic of view v that goes with topic k of the first view.
    """
    views = len(overlap) // width
    parts = overlap.reshape(views, width, views, width)
    orders = np.tile(np.arange(width), (views, 1))
    for v in range(1, views):
        orders[v] = _best(sum(parts[u, orders[u], v] for u in range(v)))
    for _ in range(_ROUNDS if views > 2 else 0):
        before = orders.copy()
        for v in range(1, views):
            orders[v] = _best(sum(parts[u, orders[u], v] for u in range(views) if u != v))
        if (orders == before).all():
            break
    return orders


def _best(shared: np.ndarray) -> np.ndarray:
    return linear_sum_assignment(shared, maximize=True)[1]
