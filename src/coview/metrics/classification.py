"""F1 of labels that stand in a hierarchy: a label stands for itself and all its ancestors.

With T_i and P_i the true and predicted labels of object i, each with all ancestors added:

    F1 = 2 sum_i |T_i & P_i| / sum_i (|T_i| + |P_i|)

A wrong leaf under the right parent so earns part of the credit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from coview.validation import is_gap

__all__ = ["check_acyclic", "hierarchical_f1"]

_SETS = (set, frozenset, list, tuple, np.ndarray)


def hierarchical_f1(Y_true: Any, Y_pred: Any, ontology: Any) -> float:
    """Compute the F1 score of hierarchical labels, where every label includes its ancestors.

    Parameters
    ----------
    Y_true : array-like
        True labels: one label per object; or a collection of labels per object; or, for an `Ontology`, 0/1 indicators
        of its labels (n_objects, n_labels). None, NaN and "" stand for no label.
    Y_pred : array-like
        Predicted labels, in any of these forms.
    ontology : Ontology or mapping
        An `Ontology`, or ``{child: parent}`` or ``{child: [parents]}``. Labels that it does not name have no ancestors.

    Returns
    -------
    float
        Between 0 and 1. Where nothing is true and nothing predicted, the score is 1.

    Examples
    --------
    >>> from coview.metrics import hierarchical_f1
    >>> ontology = {"cat": "animal", "dog": "animal", "oak": "plant"}
    >>> hierarchical_f1(["cat", "oak"], ["dog", "oak"], ontology)
    0.75
    """
    parents = check_acyclic(_list_pairs(ontology))
    closed: dict[Any, set[Any]] = {}
    for label in TopologicalSorter(parents).static_order():  # parents come first
        closed[label] = {label}.union(*(closed[parent] for parent in parents.get(label, ())))
    true, pred = (
        [set().union(*(closed.get(label, {label}) for label in labels)) for labels in _list_labels(Y, ontology)]
        for Y in (Y_true, Y_pred)
    )
    if len(true) != len(pred):
        raise ValueError(f"Y_true and Y_pred must have the same number of objects, got {len(true)} and {len(pred)}.")
    # micro-averaged: objects with many labels count more, as in the hierarchical F of Kiritchenko et al. (2005)
    total = sum(map(len, true)) + sum(map(len, pred))
    return 2 * sum(len(one & other) for one, other in zip(true, pred)) / total if total else 1.0


def check_acyclic(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """Return the parents of each label by (child, parent) pairs, or refuse pairs by which a label is above itself."""
    parents: dict[Any, list[Any]] = {}
    for child, parent in pairs:
        parents.setdefault(child, []).append(parent)
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        names = [str(label) for label in error.args[1][:-1]]
        # the same cycle is told in the same words, wherever the sorter found its way into it
        first = names.index(min(names))
        shown = " > ".join([*names[first:], *names[: first + 1]])
        raise ValueError(
            f"Ontology has a cycle: {shown}. Subset relations must form a directed acyclic graph."
        ) from None
    return parents


def _list_pairs(ontology: Any) -> list[tuple[Any, Any]]:
    """Return the (child, parent) pairs of an ontology."""
    if not isinstance(ontology, Mapping):
        return list(ontology.subset)
    above = {child: found if isinstance(found, _SETS) else [found] for child, found in ontology.items()}
    return [(child, parent) for child, found in above.items() for parent in found]


def _list_labels(Y: Any, ontology: Any) -> list[list[Any]]:
    """Return the labels of each object."""
    if isinstance(Y, np.ndarray) and Y.ndim == 2 and Y.dtype.kind in "biuf":
        return [[ontology.labels[j] for j in np.flatnonzero(row)] for row in Y]
    rows = [row if isinstance(row, _SETS) else (row,) for row in Y]
    return [[label for label in row if not is_gap(label)] for row in rows]
