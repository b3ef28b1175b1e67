"""How well a model did: curves of its fit, and measures against labels.

Classes are compared as they are. Clusters and topics have no names of their own: they are matched to the labels one to
one, best match first (accuracy), or compared as partitions (normalized mutual information, pairs).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.neighbors import NearestNeighbors

from coview.metrics import clustering_accuracy, normalized_mutual_info, pairwise_f1
from coview.report.reader import Reader, Reading, sample_rows
from coview.utils.jsonable import plain
from coview.validation import LabeledScoreMixin, encode_labels, minus_one_is_unlabeled
from coview.views.views import Views

__all__ = ["confusion", "fit_curves", "held_out_score", "main_measure", "measures", "neighbor_share"]

NEIGHBORS = 10
NEIGHBOR_OBJECTS = 3_000
HELD_OUT_SHARE = 0.25
HELD_OUT_SECONDS = 3.0  # a fit that took longer is not repeated unasked
HELD_OUT_OBJECTS = 5_000  # the same for models that do not tell how long their fit took

_CURVES = {
    "objective": "Objective",
    "flips": "Labels changed in a sweep",
    "held_out": "Agreement with labels held out",
    "difference": "Difference between the views' margins",
    "updates": "Share of rounds that moved the weights",
}


def fit_curves(core: Any) -> list[dict[str, Any]]:
    """Return the curves that a fit left behind, as lists of numbers.

    Examples
    --------
    >>> from coview import PLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=50, random_state=0).views
    >>> curve, = fit_curves(PLSA(4, max_iter=5, tol=0, random_state=0).fit(X))
    >>> curve["title"], len(curve["values"])
    ('Objective', 6)
    """
    history = getattr(core, "history_", None) or {}
    seconds = history.get("seconds")
    curves = []
    for key, values in history.items():
        numbers = np.asarray(values, dtype=np.float64).reshape(-1) if len(values) else np.zeros(0)
        if key == "seconds" or numbers.size < 2 or not np.isfinite(numbers).any():
            continue
        title = _CURVES.get(key, str(key).replace("_", " ").capitalize())
        curve = {"key": key, "title": title, "x": "pass" if hasattr(core, "t_") else "sweep", "values": plain(numbers)}
        if seconds is not None and len(seconds) == len(numbers):
            curve["seconds"] = plain(seconds)
        curves.append(curve)
    correlations = getattr(core, "correlations_", None)
    if correlations is not None and len(correlations) > 1:
        values = plain(np.asarray(correlations))
        curves.append({"key": "correlations", "title": "Correlation of the views", "x": "component", "values": values})
    return curves


def measures(reader: Reader, reading: Reading, y: np.ndarray, classes: np.ndarray) -> list[dict[str, Any]]:
    """Return measures of a reading against labels given as codes (-1: no label), the main one first."""
    known = y >= 0
    if reading.codes is None:
        if reading.scores is None:
            return []
        value = neighbor_share(reading.scores[known], y[known])
        return [_measure("same label among neighbors", value, f"of the {NEIGHBORS} nearest objects")]
    truth, found = classes[y[known]].astype(str), np.array([*reader.names, "none"])[reading.codes[known]]
    if reader.noun == "class":
        return [
            _measure("accuracy", np.mean(truth == found), "share of objects that get their label"),
            _measure("macro F1", f1_score(truth, found, average="macro", zero_division=0), "mean over the classes"),
        ]
    codes = reading.codes[known]
    return [
        _measure("NMI", normalized_mutual_info(truth, codes), "normalized mutual information with the labels"),
        _measure("accuracy", clustering_accuracy(truth, codes), f"each {reader.noun} matched to one label"),
        _measure("pairwise F1", pairwise_f1(truth, codes), "pairs of objects that belong together"),
    ]


def main_measure(reader: Reader, reading: Reading, y: np.ndarray, classes: np.ndarray) -> float | None:
    """Return the first of `measures` alone, for comparing views; None where there is no label."""
    known = y >= 0
    if not known.any():
        return None
    if reading.codes is None:
        return None if reading.scores is None else neighbor_share(reading.scores[known], y[known])
    if reader.noun == "class":
        found = np.array([*reader.names, "none"])[reading.codes[known]]
        return float(np.mean(classes[y[known]].astype(str) == found))
    return float(normalized_mutual_info(y[known], reading.codes[known]))


def neighbor_share(scores: np.ndarray, y: np.ndarray, k: int = NEIGHBORS, seed: int = 0) -> float:
    """Share of the k nearest other objects (by cosine) that have an object's own label, on a sample of objects.

    Examples
    --------
    >>> import numpy as np
    >>> neighbor_share(np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1]]), np.array([0, 0, 1, 1]), k=1)
    1.0
    """
    rows = sample_rows(len(scores), NEIGHBOR_OBJECTS, seed)
    places, labels = scores[rows], y[rows]
    k = min(k, len(rows) - 1)
    if k < 1:
        return float("nan")
    near = NearestNeighbors(n_neighbors=k, metric="cosine").fit(places).kneighbors(return_distance=False)
    return float(np.mean(labels[near] == labels[:, None]))


def confusion(
    reader: Reader,
    codes: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray,
    most: int = 20,
    like: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return counts of objects by label (rows) and group (columns), at most `most` of each, the largest.

    Clusters and topics stand in the order in which they match the labels; or rows and columns as in `like`, what
    this function returned for another reading.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import MultiViewPLSA
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=60, n_clusters=3, random_state=0)
    >>> reader = Reader(MultiViewPLSA(3, 4, random_state=0).fit(data.views))
    >>> found = confusion(reader, reader.training().codes, data.target, np.array(["a", "b", "c"]))
    >>> found["rows"], sum(map(sum, found["counts"]))
    (['a', 'b', 'c'], 60)
    """
    used = (y >= 0) & (codes >= 0)
    counts = np.zeros((len(classes), len(reader.names)), dtype=np.int64)
    np.add.at(counts, (y[used], codes[used]), 1)
    if like is not None:
        texts = [str(label) for label in classes.tolist()]
        rows = np.array([texts.index(name) for name in like["rows"]])
        columns = np.array([reader.names.index(name) for name in like["columns"]])
    else:
        rows = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:most])
        columns = _column_order(counts, matched=reader.noun != "class", most=most)
    return {
        "rows": [str(label) for label in classes[rows].tolist()],
        "columns": [reader.names[j] for j in columns],
        "counts": counts[np.ix_(rows, columns)].tolist(),
        "left_out": int(counts.sum() - counts[np.ix_(rows, columns)].sum()),
    }


def _column_order(counts: np.ndarray, *, matched: bool, most: int) -> np.ndarray:
    sizes = counts.sum(axis=0)
    if not matched:
        return np.sort(np.argsort(-sizes, kind="stable")[:most])
    labels, groups = linear_sum_assignment(-counts)
    first = groups[np.argsort(labels)].tolist()
    rest = [j for j in np.argsort(-sizes, kind="stable").tolist() if j not in set(first)]
    return np.array([*first, *rest][:most], dtype=np.int64)


def held_out_score(
    reader: Reader, views: Views, labels: Any, wanted: bool | str = "auto", y_fit: Any = None
) -> dict[str, Any] | None:
    """Score a classifier on labels that it was not fitted with.

    With `y_fit`, the labels it was fitted with, these are all others. Without, a copy is fitted with a quarter of the
    labels hidden; the objects themselves stay in the data, as they would in use. With `wanted="auto"` that is not done
    where a fit takes long, or where the model plainly saw fewer labels than these; a sentence says so.
    """
    if reader.noun != "class" or wanted is False:
        return None
    semi_supervised = minus_one_is_unlabeled(reader.core)
    codes, classes = encode_labels(labels, len(views), semi_supervised=semi_supervised)
    if y_fit is not None:
        seen, _ = encode_labels(y_fit, len(views), classes, semi_supervised=semi_supervised)
        unseen = np.flatnonzero((codes >= 0) & (seen < 0))
        if not len(unseen):
            return {"note": "Every label was used in the fit."}
        found = reader.read(views[unseen])
        told = measures(reader, found, codes[unseen], classes)
        return {"n_hidden": len(unseen), "n_shown": int((seen >= 0).sum()), "refitted": False, "measures": told}
    known = np.flatnonzero(codes >= 0)
    hidden = np.random.default_rng(0).permutation(known)[: max(int(HELD_OUT_SHARE * len(known)), 1)]
    shown = np.setdiff1d(known, hidden)
    if len(hidden) < 2 or set(codes[hidden]) - set(codes[shown]):
        return {"note": "too few labels to hide some of them."}
    if wanted == "auto" and (reason := _why_not(reader, codes, len(views))):
        return {"note": reason}
    target = np.array(labels, dtype=object)
    target[hidden] = None
    model = clone(reader.core)
    if "verbose" in model.get_params(deep=False):
        model.set_params(verbose=0)
    if isinstance(model, LabeledScoreMixin):
        again = Reader(model.fit(views, target))
    else:  # it knows no objects without a label
        again = Reader(model.fit(views[shown], np.array(target[shown].tolist())))
    told = measures(again, again.read(views[hidden]), codes[hidden], classes)
    return {"n_hidden": len(hidden), "n_shown": len(shown), "refitted": True, "measures": told}


def _why_not(reader: Reader, codes: np.ndarray, n_objects: int) -> str | None:
    """Why a copy with some labels hidden would say nothing of this model, or take long; None where it is worth it."""
    training = reader.training().codes
    known = codes >= 0
    if training is not None and len(training) == len(codes):
        # models that remember their objects leave labeled ones with their labels
        fewer = bool((training[known] != codes[known]).any())
    else:
        counts = getattr(reader.core, "class_count_", None)
        fewer = counts is not None and float(np.sum(counts)) < known.sum() - 0.5
    if fewer:
        return "the model was fitted with fewer labels than these; name those with y_fit (--fitted-labels)."
    seconds = (getattr(reader.core, "history_", None) or {}).get("seconds") or [None]
    quick = seconds[-1] < HELD_OUT_SECONDS if seconds[-1] is not None else n_objects <= HELD_OUT_OBJECTS
    return None if quick else "not measured, since it needs another fit; ask for it with held_out=True (--held-out)."


def _measure(name: str, value: Any, about: str) -> dict[str, Any]:
    return {"name": name, "value": plain(float(value)), "about": about}
