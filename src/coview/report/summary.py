"""A fitted model, with or without objects and labels, as one plain dict: what a report says, before it has a form.

The dict holds numbers, texts, lists and dicts only, so that `json.dumps` takes it. Sections that do not apply to a
model, or that need data which is not given, are absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor

from coview.report.about import about_model, how_to_reproduce
from coview.report.contributions import ViewReadings, contributions, read_by_view
from coview.report.groups import about_groups, about_ontology
from coview.report.measures import confusion, fit_curves, held_out_score, measures
from coview.report.objects import disputed_objects, place_objects, typical_objects, words_of_objects
from coview.report.reader import Reader, Reading, sample_rows
from coview.report.regression import about_regression, true_numbers
from coview.report.searches import is_retriever, searches
from coview.report.seen import about_data
from coview.utils.jsonable import plain
from coview.utils.missing import is_gap
from coview.validation import check_count, encode_labels, minus_one_is_unlabeled
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["summarize"]

MOST_OBJECTS, MOST_NONZEROS = 20_000, 1_000_000  # read for the measures; of more a sample
VIEW_OBJECTS, VIEW_NONZEROS = 3_000, 300_000  # of these, read once more from each view alone and without each
LEAST_OBJECTS = 1_000  # however full they are
MAP_OBJECTS = 3_000
FORMAT = 1


@dataclass(frozen=True)
class _Given:
    """The objects of a report, their labels as codes, and what the model says of them."""

    views: Views | None
    n_objects: int | None
    labels: Any
    codes: np.ndarray | None
    classes: np.ndarray | None
    reading: Reading
    ids: np.ndarray | None
    rows: np.ndarray


def summarize(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    y_fit: Any = None,
    held_out: bool | str = "auto",
    max_objects: int | None = None,
    map_method: str = "pca",
    title: str | None = None,
    model_path: str | None = None,
    data: Any = None,
    labels: str | None = None,
    table: str | None = None,
    saved_with: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Return what a report says of a fitted model, as a plain dict.

    Parameters
    ----------
    model : estimator
        A fitted estimator of coview, or a scikit-learn Pipeline or search that ends in one.
    X : Views or what becomes Views, optional
        Objects to describe it with: those it was fitted on, or new ones. For a Pipeline, what it takes.
    y : array-like, optional
        Labels of those objects, -1, None or NaN for none; of a regressor the true numbers.
    y_fit : array-like, optional
        Labels that a classifier was fitted with, where they are fewer than `y`: it is then scored on the others.
    held_out : bool or "auto", default="auto"
        Without `y_fit`: fit a copy of a classifier with a quarter of the labels hidden and score it on them. "auto"
        does so where the fit took less than 3 seconds.
    max_objects : int, optional
        Most objects that are read; of more a random sample. By default 20,000, or as many as have a million values that
        are not zero, so that a report takes seconds.
    map_method : {"pca", "umap", "auto"}, default="pca"
        How objects are placed in the plane.
    title : str, optional
        Heading of the report.
    model_path, data, labels, table : optional
        Where the model, the views (a folder, or ``{view: file}``), the labels or a raw table are, for the commands that
        repeat it.
    saved_with : dict, optional
        Versions that the model was saved with.

    Returns
    -------
    dict

    Examples
    --------
    >>> import json
    >>> from coview import MultiViewPLSA
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=90, n_clusters=3, random_state=0)
    >>> found = summarize(MultiViewPLSA(3, 4, random_state=0).fit(data.views), data.views, data.target)
    >>> sorted(found)[:6]
    ['created', 'curves', 'data', 'examples', 'format', 'groups']
    >>> len(json.dumps(found)) > 1000
    True
    """
    reader = Reader(model)
    if X is None and y is not None and getattr(reader.training().codes, "shape", (0,))[0] != len(y):
        raise ValueError("Labels need the objects that they belong to: pass X (or --data, --view) too.")
    truth = true_numbers(reader, y)
    given = _given(reader, X, None if is_regressor(reader.core) else y, max_objects)
    if truth is not None and given.n_objects is not None and len(truth) != given.n_objects:
        raise ValueError(f"y must hold one number per object: {len(truth)} numbers for {given.n_objects} objects.")
    found: dict[str, Any] = {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "title": title or f"{type(reader.core).__name__} report",
        "noun": "number" if is_regressor(reader.core) else reader.noun,
        "model": about_model(reader),
        "data": about_data(reader, given.views, given.n_objects),
        "curves": fit_curves(reader.core),
        "reproduce": how_to_reproduce(reader, model_path=model_path, data=data, labels=labels, table=table),
    }
    found["model"]["saved_with"] = dict(saved_with or {})
    found.update(_scores(reader, given, held_out, y_fit))
    found.update(about_groups(reader, given.views, given.reading, given.codes, given.classes))
    found.update(about_ontology(reader, given.views))
    if is_retriever(reader.core):
        found["search"] = searches(reader.core, given.views, given.codes)
    found.update(_by_view(reader, given, map_method))
    if truth is not None and given.views is not None:
        found.update(about_regression(reader, given.views, truth[given.rows], given.ids, held_out))
    return plain(found)


def _given(reader: Reader, X: Any, y: Any, max_objects: int | None) -> _Given:
    if X is None:
        reading = reader.training()
        n = next((len(part) for part in (reading.codes, reading.scores) if part is not None), None)
        codes, classes = (None, None) if y is None or _without_labels(y) else _coded(reader, y, n)
        return _Given(None, n, y, codes, classes, reading, None, np.arange(n or 0))
    n = len(X) if isinstance(X, LazyViews) else None
    most = MOST_OBJECTS if max_objects is None else check_count("max_objects", max_objects)
    rows = None if n is None else sample_rows(n, most)
    views = reader.views(X if rows is None else X[rows])  # of what is on disk, no more is read than is needed
    n, rows = (len(views), np.arange(len(views))) if n is None or rows is None else (n, rows)
    chosen = sample_rows(len(views), most if max_objects else min(most, _affordable(views, MOST_NONZEROS)))
    views, rows = (views, rows) if len(chosen) == len(views) else (views[chosen], rows[chosen])
    codes, classes = None, None
    if y is not None and not _without_labels(y):
        codes, classes = _coded(reader, y, n)
        codes = codes[rows]
        y = _as_objects(y)[rows]
    ids = rows if views.ids is None else np.asarray(views.ids)
    reading, kept = reader.read(views), reader.training()
    if reading.codes is None and kept.codes is not None and len(kept.codes) == n:
        reading = kept.take(rows)  # a clusterer that cannot place new objects still knows those of its fit
    return _Given(views, n, y, codes, classes, reading, ids, rows)


def _coded(reader: Reader, y: Any, n: int | None) -> tuple[np.ndarray, np.ndarray]:
    return encode_labels(y, n, semi_supervised=minus_one_is_unlabeled(reader.core))


def _without_labels(y: Any) -> bool:
    return all(is_gap(label) or (not isinstance(label, str) and label == -1) for label in _as_objects(y))


def _affordable(views: Views, nonzeros: int) -> int:
    """How many of these objects have so many values that are not zero, together and in all views."""
    matrices: list[Any] = list(views.values())
    stored = sum(int(matrix.nnz if sparse.issparse(matrix) else matrix.size) for matrix in matrices)
    return max(int(nonzeros * len(views) / max(stored, 1)), LEAST_OBJECTS)


def _as_objects(y: Any) -> np.ndarray:
    found = np.empty(len(y), dtype=object)
    found[:] = y.tolist() if hasattr(y, "tolist") else list(y)
    return found


def _scores(reader: Reader, given: _Given, held_out: bool | str, y_fit: Any) -> dict[str, Any]:
    if given.codes is None or given.classes is None or not (given.codes >= 0).any():
        return {}
    told = measures(reader, given.reading, given.codes, given.classes)
    if not told:
        return {}
    scores: dict[str, Any] = {
        "n_labeled": int((given.codes >= 0).sum()),
        "n_objects": len(given.codes),
        "measures": told,
    }
    if given.reading.codes is not None:
        scores["confusion"] = confusion(reader, given.reading.codes, given.codes, given.classes)
    if given.views is not None:
        seen = None if y_fit is None else _as_objects(y_fit)[given.rows]
        scores["held_out"] = held_out_score(reader, given.views, given.labels, held_out, seen)
    return {"scores": scores}


def _by_view(reader: Reader, given: _Given, map_method: str) -> dict[str, Any]:
    """Sections that need the objects read from each view: contributions, map, examples."""
    found: dict[str, Any] = {}
    if given.views is None:
        rows = sample_rows(given.n_objects or 0, MAP_OBJECTS)
        reading = given.reading.take(rows)
        codes = None if given.codes is None else given.codes[rows]
        return _map(reader, [reading], None, rows, reading, codes, given, map_method)
    rows = sample_rows(len(given.views), min(VIEW_OBJECTS, MAP_OBJECTS, _affordable(given.views, VIEW_NONZEROS)))
    part = given.views[rows]
    readings = read_by_view(reader, part, given.reading.take(rows))
    codes = None if given.codes is None else given.codes[rows]
    if any(reading.codes is not None or reading.scores is not None for reading in readings.alone.values()):
        found["views"] = contributions(reader, readings, codes, given.classes)
        found["views"]["sampled"] = len(rows) if len(rows) < len(given.views) else None
    found.update(
        _map(reader, [readings.whole, *readings.alone.values()], part, rows, readings.whole, codes, given, map_method)
    )
    found.update(_examples(reader, given, readings, rows))
    return found


def _map(
    reader: Reader,
    readings: list[Reading],
    part: Views | None,
    rows: np.ndarray,
    reading: Reading,
    codes: np.ndarray | None,
    given: _Given,
    method: str,
) -> dict[str, Any]:
    placed = place_objects(readings, part, method)
    if placed is None:
        return {}
    places, how = placed
    low, high = places.min(axis=0), places.max(axis=0)
    scaled = (places - low) / np.where(high > low, high - low, 1)
    groups = reading.codes if reading.codes is not None else codes
    names = reader.names if reading.codes is not None else _texts(given.classes)
    margins = reading.margins() if reading.shares else None
    return {
        "map": {
            "method": how,
            "x": np.round(scaled[:, 0], 4),
            "y": np.round(scaled[:, 1], 4),
            "group": np.zeros(len(rows), dtype=int) if groups is None else groups,
            "names": names if groups is not None else ["objects"],
            "noun": reader.noun if reading.codes is not None else "label",
            "ids": rows if given.ids is None else given.ids[rows],
            "label": None if codes is None or given.classes is None else codes,
            "labels": _texts(given.classes),
            "margin": None if margins is None else np.round(margins, 3),
            "n_objects": given.n_objects,
        }
    }


def _texts(classes: np.ndarray | None) -> list[str]:
    return [] if classes is None else [str(label) for label in classes.tolist()]


def _examples(reader: Reader, given: _Given, readings: ViewReadings, rows: np.ndarray) -> dict[str, Any]:
    """Most typical objects of each group, of all; most disputed ones, of those that were read by view."""
    views = given.views
    if views is None or not reader.names:
        return {}
    n_groups = len(reader.names)
    typical = typical_objects(given.reading, n_groups, n=3 if n_groups <= 5 else 2 if n_groups <= 12 else 1)
    disputed = disputed_objects(readings)
    chosen = [row for group in typical for row in group] + [int(rows[item["row"]]) for item in disputed]
    if not chosen:
        return {}
    feature_names = {**getattr(reader.core, "feature_names_by_view_", {}), **views.feature_names}
    words = dict(zip(chosen, words_of_objects(views, chosen, feature_names)))

    def about(row: int) -> dict[str, Any]:
        code = -1 if given.codes is None else int(given.codes[row])
        label = None if code < 0 or given.classes is None else str(given.classes[code])
        key = row if given.ids is None else given.ids[row]
        return {"id": key, "label": label, "words": words[row]}

    found: dict[str, Any] = {
        "typical": [
            {
                "group": name,
                "objects": [
                    {**about(row), "score": None if given.reading.scores is None else given.reading.scores[row, g]}
                    for row in typical[g]
                ],
            }
            for g, name in enumerate(reader.names)
            if typical[g]
        ],
        "shares": given.reading.shares,
    }
    whole = readings.whole.codes
    found["disputed"] = [
        {
            **about(int(rows[item["row"]])),
            "strength": item["strength"],
            "by_view": {view: _name(reader, code) for view, code in item["by_view"].items()},
            "all": None if whole is None else _name(reader, int(whole[item["row"]])),
        }
        for item in disputed
    ]
    return {"examples": found}


def _name(reader: Reader, code: int) -> str:
    return reader.names[code] if 0 <= code < len(reader.names) else "none"
