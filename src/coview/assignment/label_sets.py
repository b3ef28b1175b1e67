"""Labels of objects as sets: read from a target, compared under an ontology, made consistent, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coview.assignment.ontology import Ontology
from coview.exceptions import ParameterError
from coview.utils import fitted_state as rules
from coview.validation import encode_labels

__all__ = [
    "LabelTargets",
    "agrees",
    "check_ontology",
    "label_array",
    "make_consistent",
    "named_labels",
    "read_labels",
]


@dataclass(frozen=True)
class LabelTargets:
    """What a target says: the classes, the labels given to each object, and the most specific of them."""

    classes: np.ndarray
    given: np.ndarray  # bool (n_objects, n_classes); with an ontology all that is above is on too
    codes: np.ndarray  # position of the most specific label given, -1 without label


def read_labels(y: Any, n_rows: int, ontology: Ontology | None) -> LabelTargets:
    """Read a target: one label per object, or with an ontology a label, a set of labels, or indicators.

    Examples
    --------
    >>> targets = read_labels(["Dog", None], 2, Ontology.from_tree({"Animal": ["Dog", "Cat"]}))
    >>> targets.given.astype(int).tolist(), targets.codes.tolist()
    ([[1, 1, 0], [0, 0, 0]], [1, -1])
    """
    if ontology is None:
        codes, classes = encode_labels(y, n_rows)
        given = np.zeros((n_rows, len(classes)), dtype=bool)
        known = np.flatnonzero(codes >= 0)
        given[known, codes[known]] = True
        return LabelTargets(classes, given, codes)
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype.kind in "bui":
        given = _read_indicators(y, ontology)
    else:
        given = ontology.indicators(y)
    if len(given) != n_rows:
        raise ParameterError(
            f"must hold one label or set per object: {len(given)} for {n_rows} objects.", parameter="y"
        )
    if not given.any():
        raise ParameterError(
            f"has no label: all {n_rows} objects are unlabeled. Label some objects of each class.", parameter="y"
        )
    specific = ontology.most_specific(given)
    codes = np.where(given.any(axis=1), specific.argmax(axis=1), -1)
    return LabelTargets(label_array(ontology), given, codes)


def label_array(ontology: Ontology) -> np.ndarray:
    """Labels of an ontology as an array: of texts or numbers where all are, else of objects."""
    kinds = {str if isinstance(label, str) else type(label) for label in ontology.labels}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        return np.array(ontology.labels)
    array = np.empty(len(ontology), dtype=object)
    array[:] = ontology.labels
    return array


def named_labels(codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Classes of codes; -1, or None beside other labels than numbers, where the set is empty.

    Examples
    --------
    >>> named_labels(np.array([1, -1]), np.array(["Dog", "Cat"])).tolist()
    ['Cat', None]
    """
    labels = classes[codes]
    if (codes >= 0).all():
        return np.asarray(labels)
    number = labels.dtype.kind in "iuf"
    if labels.dtype.kind not in "if":
        labels = labels.astype(np.int64 if number else object)  # unsigned numbers have no room for -1
    labels[codes < 0] = -1 if number else None
    return np.asarray(labels)


def check_ontology(checker: rules.Checker, value: Any, where: str) -> None:
    """Hold an ontology of a model file against the number of classes: compiled code finds its labels among them."""
    if not isinstance(value, Ontology):
        checker.refuse(where, f"is of type {type(value).__name__}, but must be an Ontology")
    checker.size("classes", len(value.labels), where)


def agrees(found: np.ndarray, truth: np.ndarray, ontology: Ontology | None) -> np.ndarray:
    """Whether labels found, as positions, are the true ones, or more specific than them: "Dog" where "Animal" is known.

    Examples
    --------
    >>> import numpy as np
    >>> tree = Ontology.from_tree({"Animal": ["Dog"], "Plant": []})
    >>> agrees(np.array([1, 0, 1, -1]), np.array([0, 1, 2, 0]), tree).tolist()
    [True, False, False, False]
    """
    if ontology is None:
        return np.asarray(found == truth)
    return np.asarray((found >= 0) & ontology.reach[found, truth])


def make_consistent(labels: np.ndarray, scores: np.ndarray, ontology: Ontology | None) -> np.ndarray:
    """Labels (n_objects, n_labels) that break nothing, from those that are on in any view.

    The most specific ones come in, with all above them, from the highest score down, unless they exclude one that
    already is in.
    """
    on = np.asarray(labels.any(axis=1))
    if ontology is None:
        return on
    specific = ontology.most_specific(on)
    reach = ontology.reach
    sets = np.zeros(on.shape, dtype=bool)
    single = specific.sum(axis=1) == 1
    sets[single] = reach[specific[single].argmax(axis=1)]
    excluded = np.zeros((len(ontology), len(ontology)), dtype=bool)
    a, b = ontology.mutex_codes.T
    excluded[a, b] = excluded[b, a] = True
    for row in np.flatnonzero(~single):
        mine = np.flatnonzero(specific[row])
        for code in mine[np.argsort(-scores[row, mine], kind="stable")]:
            if not (excluded[sets[row]] & reach[code]).any():
                sets[row] |= reach[code]
    return sets


def _read_indicators(y: np.ndarray, ontology: Ontology) -> np.ndarray:
    if y.shape[1] != len(ontology):
        raise ParameterError(f"has {y.shape[1]} columns, but the ontology has {len(ontology)} labels.", parameter="y")
    if not np.isin(y, (0, 1)).all():
        raise ParameterError(
            "has two dimensions, so it must hold indicators, 0 or 1, one column per label.", parameter="y"
        )
    return ontology.indicators([[ontology.labels[j] for j in np.flatnonzero(row)] for row in y])
