"""What a model saw: its views, how wide, how full, how often absent."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coview.report.reader import Reader
from coview.views.views import Views

__all__ = ["about_data"]


def about_data(reader: Reader, views: Views | None = None, n_objects: int | None = None) -> dict[str, Any]:
    """Return the section on the data: one row for each view, from the data given or from what the model remembers.

    Parameters
    ----------
    reader : Reader
        The model.
    views : Views, optional
        The objects, or a sample of them.
    n_objects : int, optional
        How many there were before sampling.

    Examples
    --------
    >>> from coview import PLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=50, random_state=0).views
    >>> found = about_data(Reader(PLSA(4, random_state=7).fit(X)), X)
    >>> found["n_objects"], found["views"][0]["n_features"]
    (50, 500)
    """
    core = reader.core
    widths = dict(getattr(core, "n_features_by_view_", {}) or {})
    if views is None:
        training = reader.training()
        known = next((len(part) for part in (training.scores, training.codes) if part is not None), None)
        rows = [{"name": name, "n_features": width} for name, width in widths.items()]
        return {"given": False, "n_objects": known, "sampled": None, "views": rows}
    total = len(views) if n_objects is None else n_objects
    rows = [_row(name, matrix, views.present[:, v]) for v, (name, matrix) in enumerate(views.items())]
    absent = [name for name in reader.view_names if name not in views]
    return {
        "given": True,
        "n_objects": total,
        "sampled": len(views) if len(views) < total else None,
        "views": rows,
        "complete": float(views.present.all(axis=1).mean()) if len(views) else 1.0,
        "absent": absent,
    }


def _row(name: str, matrix: Any, present: np.ndarray) -> dict[str, Any]:
    n, width = matrix.shape
    if sparse.issparse(matrix):
        stored = int(matrix.count_nonzero())
        per_object = np.asarray((matrix != 0).sum(axis=1)).reshape(-1)[present]
    else:
        per_object = np.count_nonzero(matrix, axis=1)[present]
        stored = int(np.count_nonzero(matrix))
    return {
        "name": name,
        "n_features": int(width),
        "kind": "sparse" if sparse.issparse(matrix) else "dense",
        "dtype": str(matrix.dtype),
        "nonzeros": stored,
        "density": stored / max(n * width, 1),
        "per_object": float(np.median(per_object)) if per_object.size else 0.0,
        "missing": float(1 - present.mean()) if n else 0.0,
        "empty": float((per_object == 0).mean()) if per_object.size else 0.0,
    }
