"""Leading right singular vectors on a torch device, by a randomized range finder (Halko, Martinsson and Tropp 2011).

    Q = orth(M ... M' M W),     M' Q = P R,  R = A S B',     right vectors P A, left ones Q B

W is drawn by NumPy from the seed, as scikit-learn's `randomized_svd` draws it, and a wide matrix is worked on by its
transpose as there, so that both find the same vectors but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

__all__ = ["right_vectors"]

MORE = 10  # columns beyond those that are asked for
ROUNDS = 4  # of products with M' M

Product = Callable[[Any], Any]


def right_vectors(forward: Product, backward: Product, shape: tuple[int, int], count: int, seed: int, like: Any) -> Any:
    """Right singular vectors (count x columns) of M, largest first; `forward` is M @ Q, `backward` M.T @ Q."""
    wide = shape[0] < shape[1]
    there, back = (backward, forward) if wide else (forward, backward)
    drawn = np.random.RandomState(seed).normal(size=(min(shape) if wide else shape[1], count + MORE))
    Q = torch.from_numpy(drawn).to(like)
    for _ in range(ROUNDS):
        Q = torch.linalg.qr(there(Q))[0]
        Q = torch.linalg.qr(back(Q))[0]
    Q = torch.linalg.qr(there(Q))[0]
    P, R = torch.linalg.qr(back(Q))
    A, _, Bt = torch.linalg.svd(R.double())
    inner, outer = P @ A.to(like), Q @ Bt.T.to(like)
    right, left = (outer, inner) if wide else (inner, outer)
    right, left = right[:, :count], left[:, :count]
    largest = left.gather(0, left.abs().argmax(dim=0, keepdim=True))
    return (right * torch.where(largest < 0, -1.0, 1.0).to(like)).T.contiguous()
