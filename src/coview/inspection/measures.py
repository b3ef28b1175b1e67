"""How well a model did: readings of objects against labels, and the curves that a fit left behind.

Classes are compared as they are. Clusters and topics have no names of their own: they are matched to the labels one to
one, best match first (accuracy), or compared as partitions (normalized mutual information, pairs).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import f1_score
from sklearn.neighbors import NearestNeighbors

from coview.inspection.contract import Inspection, Reading
from coview.metrics import clustering_accuracy, normalized_mutual_info, pairwise_f1
from coview.utils.jsonable import plain
from coview.utils.sampling import sample_positions

__all__ = ["confusion", "fit_curves", "label_measures", "main_measure", "measure", "neighbor_share"]

NEIGHBORS = 10
NEIGHBOR_OBJECTS = 3_000

_TITLES = {
    "objective": "Objective",
    "flips": "Labels changed per sweep",
    "held_out": "Agreement with held-out labels",
    "difference": "Difference between the views' margins",
    "updates": "Share of rounds that changed the weights",
    "correlations": "Correlation of the views",
}


def fit_curves(inspection: Inspection) -> list[dict[str, Any]]:
    """Return the curves that a fit left behind, as lists of numbers.

    Returns
    -------
    list of dict
        With "key", "title", "x" (what is counted), "values" and, where it is known, "seconds".
    """
    seconds = inspection.history.get("seconds")
    curves = []
    for key, values in inspection.history.items():
        numbers = np.asarray(values, dtype=np.float64).reshape(-1) if len(values) else np.zeros(0)
        if key == "seconds" or numbers.size < 2 or not np.isfinite(numbers).any():
            continue
        unit = "component" if key == "correlations" else "sweep" if inspection.n_rounds is None else "pass"
        title = _TITLES.get(key, str(key).replace("_", " ").capitalize())
        curve = {"key": key, "title": title, "x": unit, "values": plain(numbers)}
        if seconds is not None and len(seconds) == len(numbers):
            curve["seconds"] = plain(seconds)
        curves.append(curve)
    return curves


def measure(name: str, value: Any, about: str) -> dict[str, Any]:
    """Return a measure with its name and a few words on it."""
    return {"name": name, "value": plain(float(value)), "about": about}


def label_measures(
    inspection: Inspection, reading: Reading, y: np.ndarray, classes: np.ndarray
) -> Iterator[dict[str, Any]]:
    """Yield measures of a reading against labels (positions in `classes`, -1 for none), the main one first."""
    known = y >= 0
    if reading.codes is None:
        if reading.memberships is not None:
            value = neighbor_share(reading.memberships[known], y[known])
            yield measure("same label among neighbors", value, f"share of the {NEIGHBORS} nearest objects")
        return
    truth, codes = classes[y[known]].astype(str), reading.codes[known]
    if inspection.kind == "class":
        predicted = np.array([*inspection.groups, "none"])[codes]
        yield measure("accuracy", np.mean(truth == predicted), "share of objects whose label is predicted")
        yield measure("macro F1", f1_score(truth, predicted, average="macro", zero_division=0), "mean over the classes")
        return
    yield measure("NMI", normalized_mutual_info(truth, codes), "normalized mutual information with the labels")
    yield measure("accuracy", clustering_accuracy(truth, codes), f"each {inspection.kind} matched to one label")
    yield measure("pairwise F1", pairwise_f1(truth, codes), "pairs of objects that belong together")


def main_measure(inspection: Inspection, reading: Reading, y: np.ndarray, classes: np.ndarray) -> float | None:
    """Return the first of `label_measures` alone, to compare views; None where there is no label."""
    first = next(label_measures(inspection, reading, y, classes), None) if (y >= 0).any() else None
    return None if first is None else first["value"]


def neighbor_share(positions: np.ndarray, y: np.ndarray, k: int = NEIGHBORS, seed: int = 0) -> float:
    """Return the share of the k nearest other objects (by cosine) that have an object's own label, on a sample."""
    rows = sample_positions(len(positions), NEIGHBOR_OBJECTS, seed)
    k = min(k, len(rows) - 1)
    if k < 1:
        return float("nan")
    some, labels = positions[rows], y[rows]
    near = NearestNeighbors(n_neighbors=k, metric="cosine").fit(some).kneighbors(return_distance=False)
    return float(np.mean(labels[near] == labels[:, None]))


def confusion(
    inspection: Inspection,
    codes: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray,
    most: int = 20,
    like: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return counts of objects by label (rows) and group (columns), the largest of each.

    With `like`, what this function returned for another reading, rows and columns are the same. By default clusters and
    topics stand in the order in which they match the labels.

    Returns
    -------
    dict
        With "rows", "columns", "counts" and "left_out".
    """
    used = (y >= 0) & (codes >= 0)
    counts = np.zeros((len(classes), len(inspection.groups)), dtype=np.int64)
    np.add.at(counts, (y[used], codes[used]), 1)
    labels = [str(label) for label in classes.tolist()]
    if like is not None:
        rows = np.array([labels.index(name) for name in like["rows"]])
        columns = np.array([inspection.groups.index(name) for name in like["columns"]])
    else:
        rows = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:most])
        columns = _column_order(counts, matched=inspection.kind != "class", most=most)
    shown = counts[np.ix_(rows, columns)]
    return {
        "rows": [labels[i] for i in rows],
        "columns": [inspection.groups[j] for j in columns],
        "counts": shown.tolist(),
        "left_out": int(counts.sum() - shown.sum()),
    }


def _column_order(counts: np.ndarray, *, matched: bool, most: int) -> np.ndarray:
    by_size = np.argsort(-counts.sum(axis=0), kind="stable")
    if not matched:
        return np.sort(by_size[:most])
    labels, groups = linear_sum_assignment(-counts)
    first = groups[np.argsort(labels)].tolist()
    rest = [j for j in by_size.tolist() if j not in set(first)]
    return np.array([*first, *rest][:most], dtype=np.int64)
