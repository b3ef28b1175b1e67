"""What a model takes for one view: its width, the names of its features, and how raw text becomes a row of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["ViewInput"]


@dataclass(frozen=True)
class ViewInput:
    """What a model takes for one view.

    Attributes
    ----------
    name : str
        The view.
    n_features : int
        Number of its features; 0 where that is not known.
    feature_names : ndarray or None
        Their names.
    vectorizer : object or None
        A fitted vectorizer that turns raw text into rows of the view.
    hashed : bool
        Whether names of features become columns by a hash, as in streams.
    """

    name: str
    n_features: int
    feature_names: np.ndarray | None = None
    vectorizer: Any = None
    hashed: bool = False
