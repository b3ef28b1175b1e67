"""Precision, recall and F1 of labels that stand in a hierarchy: a label stands for itself and all its ancestors.

With T_i and P_i the true and predicted labels of object i, each with all ancestors added:

    precision = |T & P| / |P|,   recall = |T & P| / |T|,   F1 = 2 |T & P| / (|T| + |P|)

with the sizes summed over everything ("micro"), per label and then averaged ("macro"), or per object and then
averaged ("samples"). A wrong leaf under the right parent so earns part of the credit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from scipy import sparse

from coview.utils.docs import parameters_of
from coview.utils.missing import is_gap
from coview.views.arrays import is_frame

__all__ = ["hierarchical_f1", "hierarchical_precision_recall_f1"]

_SETS = (set, frozenset, list, tuple, np.ndarray)


def hierarchical_f1(
    Y_true: Any, Y_pred: Any, ontology: Any, *, average: str = "micro", labels: Any = None, root: Any = None
) -> float:
    """Compute the F1 score of hierarchical labels, where every label includes its ancestors.

    Parameters
    ----------
    Y_true : array-like
        True labels: one label per object; or a collection of labels per object; or 0/1 indicators of shape
        (n_objects, n_labels), as a NumPy array, a sparse matrix or a frame. None, NaN and "" stand for no label.
    Y_pred : array-like
        Predicted labels, in any of these forms.
    ontology : mapping, sequence of pairs, or Ontology
        ``{child: parent}`` or ``{child: [parents]}``; pairs ``(child, parent)``; or any object whose ``subset`` holds
        such pairs. A label may have several parents. Labels that it does not name have no ancestors.
    average : {"micro", "macro", "samples"}, default="micro"
        Sum over everything; mean over the labels that occur, ancestors among them; or mean over the objects. The
        names are scikit-learn's; what hiclass calls macro is "samples" here.
    labels : sequence, optional
        Names of the columns of indicators; by default those of the frame, or ``ontology.labels``.
    root : label, optional
        A label that stands above all others and says nothing: left out of every set.

    Returns
    -------
    float
        Between 0 and 1. Where nothing is true and nothing predicted, the score is 1.

    See Also
    --------
    hierarchical_precision_recall_f1 : all three values.

    Examples
    --------
    >>> from coview.metrics import hierarchical_f1
    >>> ontology = {"cat": "animal", "dog": "animal", "oak": "plant"}
    >>> hierarchical_f1(["cat", "oak"], ["dog", "oak"], ontology)
    0.75
    >>> hierarchical_f1([{"cat"}, {"oak", "dog"}], [{"cat"}, {"oak"}], ontology, average="samples")
    0.8333333333333333
    """
    return hierarchical_precision_recall_f1(Y_true, Y_pred, ontology, average=average, labels=labels, root=root)[2]


@parameters_of(hierarchical_f1)
def hierarchical_precision_recall_f1(
    Y_true: Any, Y_pred: Any, ontology: Any, *, average: str = "micro", labels: Any = None, root: Any = None
) -> tuple[float, float, float]:
    """Compute precision, recall and F1 of hierarchical labels, where every label includes its ancestors.

    Parameters
    ----------
    <same: Y_true, Y_pred, ontology, average, labels, root>

    Returns
    -------
    tuple of float
        Precision, recall and F1, between 0 and 1. Where nothing is true and nothing predicted, they are 1.

    See Also
    --------
    hierarchical_f1 : the last of them.

    Examples
    --------
    >>> from coview.metrics import hierarchical_precision_recall_f1
    >>> hierarchical_precision_recall_f1(["cat", "oak"], ["animal", "oak"], {"cat": "animal"})
    (1.0, 0.6666666666666666, 0.8)
    """
    if average not in ("micro", "macro", "samples"):
        raise ValueError(f"average must be 'micro', 'macro' or 'samples', got {average!r}.")
    n_true, true_rows, true_names = _label_entries("Y_true", Y_true, labels, ontology)
    n_pred, pred_rows, pred_names = _label_entries("Y_pred", Y_pred, labels, ontology)
    if n_true != n_pred:
        raise ValueError(f"Y_true and Y_pred must have the same number of objects, got {n_true} and {n_pred}.")
    pairs = _subset_pairs(ontology)
    book: dict[Any, int] = {}
    for label in (*(label for pair in pairs for label in pair), *true_names, *pred_names):
        book.setdefault(label, len(book))
    reach = _ancestors(pairs, book)
    if root is not None and root in book:
        reach = reach[:, np.arange(len(book)) != book[root]]
    true_sets = _closed(n_true, true_rows, [book[label] for label in true_names], reach)
    pred_sets = _closed(n_pred, pred_rows, [book[label] for label in pred_names], reach)
    axis = {"micro": None, "macro": 0, "samples": 1}[average]
    both = np.atleast_1d(true_sets.multiply(pred_sets).sum(axis=axis))
    true, pred = np.atleast_1d(true_sets.sum(axis=axis)), np.atleast_1d(pred_sets.sum(axis=axis))
    if average == "macro":
        occurs = true + pred > 0
        both, true, pred = both[occurs], true[occurs], pred[occurs]
    empty = true + pred == 0
    return _mean_ratio(both, pred, empty), _mean_ratio(both, true, empty), _mean_ratio(2 * both, true + pred, empty)


def _mean_ratio(part: np.ndarray, whole: np.ndarray, empty: np.ndarray) -> float:
    """Mean of part / whole: 0 where whole is 0, but 1 where there was nothing to find and nothing was found."""
    if not part.size:
        return 1.0
    return float(np.where(empty, 1.0, part / np.maximum(whole, 1)).mean())


def _label_entries(name: str, Y: Any, labels: Any, ontology: Any) -> tuple[int, np.ndarray, list[Any]]:
    """Number of objects, and the (object, label) entries of label sets in any of the accepted forms."""
    if is_frame(Y):
        return _indicator_entries(name, Y.to_numpy(), list(Y.columns) if labels is None else labels)
    if sparse.issparse(Y) or (isinstance(Y, np.ndarray) and Y.ndim == 2 and Y.dtype.kind in "biuf"):
        return _indicator_entries(name, Y, getattr(ontology, "labels", None) if labels is None else labels)
    listed = Y.tolist() if isinstance(Y, np.ndarray) else list(Y)
    rows: list[int] = []
    names: list[Any] = []
    for i, entry in enumerate(listed):
        for label in entry if isinstance(entry, _SETS) else (entry,):
            if not is_gap(label):
                rows.append(i)
                names.append(label)
    if not listed:
        raise ValueError(f"{name} is empty. Pass the labels of at least one object.")
    return len(listed), np.array(rows, dtype=np.intp), names


def _indicator_entries(name: str, Y: Any, columns: Any) -> tuple[int, np.ndarray, list[Any]]:
    matrix = sparse.coo_array(Y)
    n_objects, n_labels = matrix.shape
    if not np.isin(matrix.data, (0, 1)).all():
        raise ValueError(f"{name} has two dimensions, so it must hold indicators, 0 or 1, one column per label.")
    if columns is None:
        raise ValueError(f"{name} holds indicators: name its {n_labels} columns with labels=[...].")
    named = list(columns)
    if len(named) != n_labels:
        raise ValueError(f"{name} has {n_labels} columns, but there are {len(named)} labels.")
    rows, positions = matrix.coords
    on = matrix.data != 0
    return n_objects, rows[on], [named[j] for j in positions[on]]


def _subset_pairs(ontology: Any) -> list[tuple[Any, Any]]:
    """(child, parent) pairs from any of the accepted forms."""
    subset = getattr(ontology, "subset", ontology)
    if isinstance(subset, Mapping):
        return [
            (child, parent)
            for child, parents in subset.items()
            for parent in (parents if isinstance(parents, _SETS) else (parents,))
            if parent is not None
        ]
    if isinstance(subset, str) or not isinstance(subset, Iterable):
        raise TypeError(
            f"ontology must be {{child: parent}}, pairs (child, parent) or an Ontology, got {type(subset).__name__}."
        )
    pairs = [tuple(pair) if isinstance(pair, _SETS) else (pair,) for pair in subset]
    for pair in pairs:
        if len(pair) != 2:
            raise ValueError(f"Each pair of the ontology must be (child, parent), got {pair!r}.")
    return [(child, parent) for child, parent in pairs]


def _ancestors(pairs: list[tuple[Any, Any]], book: dict[Any, int]) -> sparse.csr_array:
    """Boolean matrix: row = label, columns = the label itself and every ancestor."""
    check_acyclic(pairs)
    n = len(book)
    children = np.array([book[child] for child, _ in pairs], dtype=np.intp)
    parents = np.array([book[parent] for _, parent in pairs], dtype=np.intp)
    edges = sparse.coo_array((np.ones(len(pairs), dtype=bool), (children, parents)), shape=(n, n)).tocsr()
    labels, reached = [np.arange(n)], [np.arange(n)]
    step = edges.tocoo()
    while step.nnz:  # one generation after the other; without cycles they end
        labels.append(step.coords[0])
        reached.append(step.coords[1])
        step = (step.tocsr() @ edges).tocoo()
    entries = np.concatenate(labels), np.concatenate(reached)
    return sparse.coo_array((np.ones(len(entries[0]), dtype=bool), entries), shape=(n, n)).tocsr()


def check_acyclic(pairs: Iterable[tuple[Any, Any]]) -> None:
    """Refuse (child, parent) pairs by which a label stands above itself."""
    parents: dict[Any, list[Any]] = {}
    for child, parent in pairs:
        parents.setdefault(child, []).append(parent)
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        names = [str(label) for label in error.args[1][:-1]]
        first = names.index(min(names))
        shown = " > ".join([*names[first:], *names[: first + 1]])
        raise ValueError(
            f"Ontology has a cycle: {shown}. Subset relations must form a directed acyclic graph."
        ) from None


def _closed(n_objects: int, rows: np.ndarray, codes: list[int], reach: sparse.csr_array) -> sparse.csr_array:
    """0/1 matrix of the label sets with all ancestors added."""
    shape = (n_objects, reach.shape[0])
    sets = sparse.coo_array((np.ones(len(codes), dtype=np.int64), (rows, np.array(codes, dtype=np.intp))), shape)
    closed = sets.tocsr() @ reach.astype(np.int64)
    closed.data[:] = 1
    return closed
