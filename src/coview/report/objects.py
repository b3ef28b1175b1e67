"""The objects that a report is on, no more of them than it takes seconds to read, and what the model says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from coview.inspection import Inspection, Reading
from coview.inspection.by_view import read_as_fitted, read_objects
from coview.inspection.reading import read_training
from coview.utils.sampling import sample_positions
from coview.validation import check_count, encode_labels, is_gap, minus_one_is_unlabeled
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["ReadObjects", "affordable", "as_objects", "read"]

MOST_OBJECTS, MOST_NONZEROS = 5_000, 500_000  # read for the measures; of more a sample
LEAST_OBJECTS = 1_000  # however full they are
MOST_TEXTS = 3_000  # objects of a raw table, whose texts take longer to read than all else


@dataclass(frozen=True)
class ReadObjects:
    """Objects, their labels as codes, and what a model says of them.

    Attributes
    ----------
    reading : Reading
        What the model says of them.
    rows : ndarray
        Where they stand among all objects.
    n_objects : int or None
        How many objects there are, before sampling.
    views : Views or None
        The objects as the model takes them.
    ids : ndarray or None
        Their identifiers.
    texts : list of str or None
        What a person would call them by, of raw tables.
    labels, codes, classes : ndarray
        Their labels, the same as positions among the classes (-1 for none), and the classes.
    as_fitted : bool
        Whether they are taken for the objects of the fit: there are as many, and the model places no others.
    """

    reading: Reading
    rows: np.ndarray
    n_objects: int | None
    views: Views | None
    ids: np.ndarray | None
    texts: list[Any] | None
    labels: np.ndarray
    codes: np.ndarray
    classes: np.ndarray
    as_fitted: bool = False

    @property
    def labeled(self) -> bool:
        """Whether any object has a label."""
        return bool((self.codes >= 0).any())

    def label(self, row: int) -> str | None:
        """Label of an object as text."""
        return None if self.codes[row] < 0 else str(self.classes[self.codes[row]])


def read(
    inspection: Inspection, X: Any, y: Any, max_objects: int | None, reading: Reading | None = None
) -> ReadObjects:
    """Return the objects that a report is on, at most so many of them, and what the model says of them."""
    if X is None:
        reading = read_training(inspection)
        n = next(
            (len(part) for part in (reading.codes, reading.memberships) if part is not None),
            inspection.training.n_objects,
        )
        rows = np.arange(n or 0)
        return ReadObjects(reading, rows, n, None, inspection.training.ids, None, *_labels(inspection, y, n, rows))
    most = MOST_OBJECTS if max_objects is None else check_count("max_objects", max_objects)
    raw = inspection.preparation.raw_table(X)
    if isinstance(X, LazyViews):  # no more is read from disk than is needed
        n, rows = len(X), sample_positions(len(X), most)
        views = inspection.preparation.prepare_views(X[rows])
    elif raw is not None and raw.n_rows > (few := most if max_objects else MOST_TEXTS):
        n, rows = raw.n_rows, sample_positions(raw.n_rows, few)
        views = inspection.preparation.prepare_views(raw.take(rows))
    else:
        views = inspection.preparation.prepare_views(X)
        n, rows = len(views), np.arange(len(views))
    chosen = sample_positions(len(views), most if max_objects else min(most, affordable(views, MOST_NONZEROS)))
    if len(chosen) < len(views):
        views, rows = views[chosen], rows[chosen]
    labels, codes, classes = _labels(inspection, y, n, rows)
    reading = read_objects(inspection, views) if reading is None else reading
    kept = read_as_fitted(inspection, n) if reading.codes is None else None
    if kept is not None:
        reading = kept.take(rows)
    ids = rows if views.ids is None else np.asarray(views.ids)
    texts = inspection.preparation.captions(X, rows.tolist())
    return ReadObjects(reading, rows, n, views, ids, texts, labels, codes, classes, kept is not None)


def _labels(inspection: Inspection, y: Any, n: int | None, rows: np.ndarray) -> tuple[Any, ...]:
    """Labels of some rows, the same as codes, and the classes."""
    if y is None or all(is_gap(label) or (not isinstance(label, str) and label == -1) for label in as_objects(y)):
        return np.full(len(rows), None), np.full(len(rows), -1), np.array([])
    codes, classes = encode_labels(y, n, semi_supervised=minus_one_is_unlabeled(inspection.estimator))
    return as_objects(y)[rows], codes[rows], classes


def affordable(views: Views, nonzeros: int) -> int:
    """Return how many of these objects have so many values that are not zero, together and in all views."""
    matrices: list[Any] = list(views.values())
    stored = sum(int(matrix.nnz if sparse.issparse(matrix) else matrix.size) for matrix in matrices)
    return max(int(nonzeros * len(views) / max(stored, 1)), LEAST_OBJECTS)


def as_objects(y: Any) -> np.ndarray:
    """Return labels or values as an array of objects, whatever they are."""
    return np.fromiter(np.asarray(y, dtype=object).tolist(), dtype=object, count=len(y))
