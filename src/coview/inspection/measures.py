"""How well a model did: readings of objects against labels.

Classes are compared as they are. Clusters and topics have no names of their own: they are matched to the labels one to
one, best match first (accuracy), or compared as partitions (normalized mutual information, pairs).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import f1_score

from coview.inspection.contract import Inspection
from coview.inspection.memberships import label_codes
from coview.inspection.records import Reading
from coview.metrics import clustering_accuracy, normalized_mutual_info, pairwise_f1
from coview.utils.jsonable import to_jsonable

__all__ = ["confusion", "label_measures", "main_measure", "measure"]


def measure(name: str, value: Any, about: str) -> dict[str, Any]:
    """Return a measure with its name and a few words on it."""
    return {"name": name, "value": to_jsonable(float(value)), "about": about}


def label_measures(
    inspection: Inspection, reading: Reading, y: np.ndarray, classes: np.ndarray
) -> Iterator[dict[str, Any]]:
    """Yield measures of a reading against labels (positions in `classes`, -1 for none), the main one first."""
    known = y >= 0
    if reading.codes is None:  # positions in a space are no groups
        return
    truth, codes = y[known], reading.codes[known]
    if inspection.kind == "class":
        groups = groups_of(classes, inspection)
        truth = np.where(groups < 0, len(inspection.groups) + np.arange(len(classes)), groups)[truth]
        yield measure("accuracy", np.mean(truth == codes), "share of objects whose label is predicted")
        yield measure("macro F1", f1_score(truth, codes, average="macro", zero_division=0), "mean over the classes")
        return
    yield measure("NMI", normalized_mutual_info(truth, codes), "normalized mutual information with the labels")
    yield measure("accuracy", clustering_accuracy(truth, codes), f"each {inspection.kind} matched to one label")
    yield measure("pairwise F1", pairwise_f1(truth, codes), "pairs of objects that belong together")


def groups_of(classes: np.ndarray, inspection: Inspection) -> np.ndarray:
    """Return the position of each label among a model's classes, -1 for none: 1.0 and "1" are the class 1."""
    by_text = label_codes(classes.astype(str), list(inspection.groups))
    by_value = label_codes(classes, inspection.labels)
    return np.where(by_value < 0, by_text, by_value)


def main_measure(inspection: Inspection, reading: Reading, y: np.ndarray, classes: np.ndarray) -> float | None:
    """Return the first of `label_measures` alone, to compare views; None where there is no label, and no group."""
    first = next(label_measures(inspection, reading, y, classes), None) if (y >= 0).any() else None
    return None if first is None else first["value"]


def confusion(
    inspection: Inspection,
    codes: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray,
    most: int = 16,
) -> dict[str, Any]:
    """Return counts of objects by label (rows) and group (columns), the largest first, and the rest summed.

    Of classes, rows and columns are the same, so that hits are on the diagonal. Clusters and topics stand in the order
    in which they match the labels.

    Parameters
    ----------
    inspection : Inspection
        The model.
    codes : ndarray
        Positions of the groups; -1 for none.
    y : ndarray
        Labels as positions in `classes`; objects with -1 do not count.
    classes : ndarray
        The labels.
    most : int, default=16
        Most rows and columns, that of the rest included.

    Returns
    -------
    dict
        With "rows", "columns" and "counts", which sum to the number of objects with a label. Where there are more than
        `most`, the last row or column is "other (n)"; objects without a group are in a last column, "none".
    """
    known = y >= 0
    truth, found = y[known], codes[known]
    labels, groups, same = (
        [str(label) for label in classes.tolist()],
        list(inspection.groups),
        inspection.kind == "class",
    )
    if same:
        labels = [groups[at] if at >= 0 else label for label, at in zip(labels, groups_of(classes, inspection))]
        labels = groups = [*labels, *(name for name in groups if name not in set(labels))]
        found = np.append([groups.index(name) for name in inspection.groups], -1)[found]
    counts = np.zeros((len(labels), len(groups) + 1), dtype=np.int64)
    np.add.at(counts, (truth, found), 1)  # the last column is of objects without a group
    rows = columns = np.argsort(-counts.sum(axis=1), kind="stable").tolist()
    if not same:
        _, matched = linear_sum_assignment(-counts[_shown(rows, most), :-1])
        largest = np.argsort(-counts[:, :-1].sum(axis=0), kind="stable").tolist()
        columns = list(dict.fromkeys([*matched.tolist(), *largest]))
    row_names, counts = _sum_rest(labels, rows, counts, most)
    column_names, shown = _sum_rest(groups, columns, counts[:, :-1].T, most)
    if counts[:, -1].any():
        column_names, shown = [*column_names, "none"], np.vstack([shown, counts[:, -1]])
    return {"rows": row_names, "columns": column_names, "counts": shown.T.tolist()}


def _shown(order: list[int], most: int) -> list[int]:
    """The rows that are shown as they are: all, or one less than the most, since the rest needs one."""
    return order if len(order) <= most else order[: max(most - 1, 1)]


def _sum_rest(names: list[str], order: list[int], counts: np.ndarray, most: int) -> tuple[list[str], np.ndarray]:
    """Names and counts of the first rows in an order, and of the sum of the others where there are any."""
    shown = _shown(order, most)
    kept, rest = [names[i] for i in shown], order[len(shown) :]
    if not rest:
        return kept, counts[shown]
    return [*kept, f"other ({len(rest)})"], np.vstack([counts[shown], counts[rest].sum(axis=0)])
