"""The nearest neighbors of rows: the one place where graphs, label spreading and maps look for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.engines.loop import select_engine
from coview.engines.protocol import Engine
from coview.exceptions import ParameterError

__all__ = ["find_neighbors"]


def find_neighbors(
    rows: Any, n_neighbors: int, among: Any = None, *, ops: Engine | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Euclidean distances and positions (rows x n_neighbors) of the nearest rows, nearest first.

    They are exact. Of rows of length 1, the nearest are those of the largest cosines.

    Parameters
    ----------
    rows : ndarray or csr_array
        The rows whose neighbors are asked for.
    n_neighbors : int
        How many, at most as many as there are rows to choose from.
    among : ndarray or csr_array, optional
        The rows to choose from; by default the other `rows`, so that no row is its own neighbor.
    ops : Engine, optional
        The engine that looks for them; by default that of the processor.

    Examples
    --------
    >>> distances, positions = find_neighbors(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> distances.ravel().tolist(), positions.ravel().tolist()
    ([1.0, 1.0, 2.0], [1, 0, 1])
    """
    most = rows.shape[0] - 1 if among is None else among.shape[0]
    if not 1 <= n_neighbors <= most:
        raise ParameterError(
            f"must be from 1 to {most:,}, the rows to choose from, got {n_neighbors}.", parameter="n_neighbors"
        )
    ops = ops or select_engine("cpu")
    return ops.nearest_rows(ops.prepare(rows), None if among is None else ops.prepare(among), n_neighbors)
