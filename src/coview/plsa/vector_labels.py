"""Whether labels bear out that a Gaussian view counts: what it predicts of labels that were held out.

What clusters of vectors say (`vector_weight.py`) was found without labels: vectors may have groups that are not the
classes. Where there are labels, they decide. Each labeled object is held out once, and its class is predicted by the
nearest class mean of the vectors and by naive Bayes on the counts, both learned from the other labels:

    above chance    (hits of the vectors - hits by chance) / standard error, chance from what is and what is predicted
    above counts    sum d / sqrt(sum d^2),   d = hit of the vector - hit of the counts  (McNemar)

With fewer labels than five of each class, or 20, vectors are not refuted by hits near chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from coview.classification.naive_bayes import NaiveBayesStart
from coview.plsa.vector_start import vectors_of_classes
from coview.views.views import Views

__all__ = ["LabelEvidence", "label_evidence", "labeled_sample"]

FOLDS = 5
OF_EACH, LEAST = 5, 20  # labels of each class on average, and in all, from which hits near chance are told from others
CLEAR = 2.0  # standard errors


@dataclass(frozen=True)
class LabelEvidence:
    """What the labels say of one Gaussian view; the default is what no labels say."""

    enough: bool = False
    above_chance: float = 0.0
    above_counts: float = 0.0

    def allows_weight(self) -> bool:
        """Whether a vector may count as more than one token: its view predicts labels, or there are too few to tell."""
        return self.above_chance > CLEAR or not self.enough

    def allows_lead(self) -> bool:
        """Whether objects may start from the vectors alone: the counts do not predict labels clearly better."""
        return self.allows_weight() and self.above_counts > -CLEAR


def labeled_sample(views: Any, codes: np.ndarray, most: int, seed: int) -> tuple[Views, np.ndarray]:
    """At most so many of the labeled objects (code not -1), and their codes."""
    rows = np.flatnonzero(codes >= 0)
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
    return views[rows], codes[rows]


def label_evidence(
    views: Views, name: str, counts: Iterable[str], codes: np.ndarray, n_classes: int, seed: int
) -> LabelEvidence:
    """Ask the labels of some objects (all of which have one) about the Gaussian view `name` beside views of counts.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> codes = np.arange(60) % 3
    >>> X = Views(words=rng.poisson(1.0, (60, 9)), good=4 * np.eye(3)[codes] + rng.normal(size=(60, 3)))
    >>> label_evidence(X, "good", ["words"], codes, 3, 0).allows_lead()
    True
    >>> label_evidence(X, "good", ["words"], rng.permutation(codes), 3, 0).allows_lead()
    False
    """
    there = np.flatnonzero(views.present[:, views.names.index(name)])
    codes = codes[there]
    tested, fold = _folds(codes, n_classes, seed)
    if not len(tested):
        return LabelEvidence()
    vectors, words = views.select(name)[there], views.select(*counts)[there]

    def by_vectors(known: np.ndarray) -> Callable[[Views], np.ndarray]:
        return vectors_of_classes(vectors, known, n_classes, seed)

    def by_counts(known: np.ndarray) -> Callable[[Views], np.ndarray]:
        return NaiveBayesStart.learned(words, known, n_classes)

    true = codes[tested]
    said = _held_out(by_vectors, vectors, codes, fold)[tested]
    hits = said == true
    shares = (np.bincount(part, minlength=n_classes) / len(tested) for part in (true, said))
    chance = float(np.dot(*shares))
    error = np.sqrt(chance * (1 - chance) / len(tested))
    differences = hits.astype(float) - (_held_out(by_counts, words, codes, fold)[tested] == true)
    return LabelEvidence(
        enough=len(tested) >= max(LEAST, OF_EACH * n_classes),
        above_chance=float((hits.mean() - chance) / error) if error > 0 else 0.0,
        above_counts=float(differences.sum() / max(np.sqrt((differences**2).sum()), 1.0)),
    )


def _folds(codes: np.ndarray, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Objects that are held out, of classes with more than one, and the fold of each object; -1 is in none."""
    order = np.random.default_rng(seed).permutation(len(codes))
    fold = np.full(len(codes), -1)
    for label in range(n_classes):
        members = order[codes[order] == label]
        if len(members) > 1:
            fold[members] = np.arange(len(members)) % FOLDS
    return np.flatnonzero(fold >= 0), fold


def _held_out(
    learn: Callable[[np.ndarray], Callable[[Views], np.ndarray]], views: Views, codes: np.ndarray, fold: np.ndarray
) -> np.ndarray:
    """Class of each object by what is learned from the other folds; -1 where it is in none."""
    said = np.full(len(codes), -1)
    for number in range(FOLDS):
        hidden = np.flatnonzero(fold == number)
        if len(hidden):
            said[hidden] = learn(np.where(fold == number, -1, codes))(views[hidden]).argmax(axis=1)
    return said
