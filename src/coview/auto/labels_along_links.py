"""Whether linked objects have the same labels (homophily): where features do not say if links help, labels may.

Features judge links first (`links.py`). If linked objects are no more alike in any view than others, either the links
mean nothing for the classes, or the features do. Held-out labels tell these apart: those of the other objects are
spread over the links (`spread`, in both directions), each class brought to the same sum, and the largest share is the
guess. Guesses are compared with the m held-out labels by Cohen's kappa; one that no label comes to is a wrong guess. If
q is the agreement expected by chance, the standard deviation of kappa would be

    sqrt(q / ((1 - q) m))

were guesses independent of each other and of the labels. They are not quite: on graphs with communities that have
nothing to do with the classes it is up to half as large again. Labels speak for the links where there are `FEWEST` of
them, kappa is at least `CLEARLY` of these and at least `LEAST`, and more than any other view says of held-out labels
(`held_out_agreement`). Then features are smoothed over the links, and held-out labels give the candidates that do so
their weights, as always. On web pages of four universities, whose links mislead, labels speak for them in 1 of 800
draws of labels, and without the last condition in 9.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from coview.auto.cross_validation import CLEARLY, deal_folds
from coview.auto.links import links_among
from coview.auto.pipelines import comparable
from coview.classification.label_spreading import spread
from coview.classification.view_evidence import held_out_agreement
from coview.engines.loop import NO_DEADLINE, Deadline
from coview.views.views import Views

__all__ = ["LabelsAlongLinks", "labels_along_links"]

FOLDS = 4
HOPS, RESTART = 10, 0.12
WORK = 2e9  # products of a link, or an object, and a class; of more, fewer hops
SPEED, SHARE = 1e8, 0.05  # products in a second, and share of the time that is left for them
CELLS = 20_000_000  # objects times classes that are spread at a time
FEWEST, LEAST = 15, 0.1  # held-out labels, and kappa


@dataclass(frozen=True)
class LabelsAlongLinks:
    """What labels spread over links say of held-out ones: Cohen's kappa, of how many, and whether that is enough."""

    kappa: float
    n_held_out: int
    agree: bool
    why: str


def labels_along_links(
    views: Views, links: str, codes: np.ndarray, n_classes: int, seed: int, deadline: Deadline = NO_DEADLINE
) -> LabelsAlongLinks:
    """Spread labels (code -1 for none) over links among the objects, and compare them with held-out ones.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(300) % 3
    >>> noise = rng.poisson(1.0, (300, 20))
    >>> within, anywhere = (0.02 * (y == y[:, None]), np.full((300, 300), 0.01))
    >>> codes = np.where(np.arange(300) < 30, y, -1)
    >>> for chance in (within, anywhere):
    ...     upper = np.triu(rng.uniform(size=(300, 300)) < chance, 1).astype(float)
    ...     print(labels_along_links(Views(words=noise, links=upper + upper.T), "links", codes, 3, seed=0).agree)
    True
    False
    """
    folds = deal_folds(codes, FOLDS, seed)
    asked = np.flatnonzero(folds >= 0)
    if len(asked) < FEWEST:
        return LabelsAlongLinks(0.0, len(asked), False, f"labels are too few to tell ({len(asked)} can be held out)")
    table = links_among(views, links)
    table = sparse.csr_array(table.maximum(table.T), dtype=np.float32)
    allowed = WORK if deadline == NO_DEADLINE else min(WORK, SPEED * SHARE * deadline.left())
    hops = min(int(allowed / ((table.nnz + len(codes)) * n_classes * FOLDS)), HOPS)
    if hops < 2:
        return LabelsAlongLinks(0.0, len(asked), False, "labels were not asked, which would take long")
    guesses = _guesses(table, codes, folds, n_classes, hops)[asked]
    real, guessed = (np.bincount(part[part >= 0], minlength=n_classes) / len(asked) for part in (codes[asked], guesses))
    chance = float(real @ guessed)
    if chance == 1:
        return LabelsAlongLinks(0.0, len(asked), False, "all labels are of one class")
    kappa = (float(np.mean(codes[asked] == guesses)) - chance) / (1 - chance)
    said = f"{len(asked)} held-out labels are found over links with a kappa of {kappa:.2f}"
    if kappa < max(CLEARLY * np.sqrt(chance / ((1 - chance) * len(asked))), LEAST):
        return LabelsAlongLinks(kappa, len(asked), False, f"{said}, which is not clearly more than chance")
    others = comparable(views.select(*(name for name in views.names if name != links)))
    found, _ = held_out_agreement(others, codes, n_classes, seed)
    best = max(found, key=lambda name: found[name])
    agree = found[best] < kappa
    verdict = "clearly more" if agree else "not clearly more"
    return LabelsAlongLinks(kappa, len(asked), bool(agree), f"{said}, {verdict} than from view {best!r}")


def _guesses(table: sparse.csr_array, codes: np.ndarray, folds: np.ndarray, n_classes: int, hops: int) -> np.ndarray:
    """Class of each object that is held out in a fold, by the labels of the others; -1 where none comes to it."""
    guesses, best = np.full(len(codes), -1), np.zeros(len(codes), dtype=np.float32)
    block = max(CELLS // len(codes), 1)
    for number in np.unique(folds[folds >= 0]):
        hidden = np.flatnonzero(folds == number)
        for first in range(0, n_classes, block):
            shown = np.flatnonzero((codes >= first) & (codes < first + block) & (folds != number))
            labels = np.zeros((len(codes), min(block, n_classes - first)), dtype=np.float32)
            labels[shown, codes[shown] - first] = 1
            found = spread(table, labels, hops, RESTART)
            shares = found[hidden] / np.maximum(found.sum(axis=0), np.finfo(np.float32).tiny)
            likeliest = shares.argmax(axis=1)
            most = shares[np.arange(len(hidden)), likeliest]
            ahead = most > best[hidden]
            guesses[hidden[ahead]], best[hidden[ahead]] = likeliest[ahead] + first, most[ahead]
    return guesses
