"""Which views say nothing of the classes: the weights of `view_weights="auto"`.

Whether views share anything can be told without labels (`coview.clustering.relations`). Where some do, a view that
could share something with them and does not is noise, or rows in another order. It has the weight 0, unless
held-out labels can be told from it alone by more than chance allows:

    kappa(labels, prediction without them) > 2 / sqrt(m)        m labeled objects held out, kappa Cohen's

All other views have the weight 1: opinions from few labels are poor, and no reason to leave a view out.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline

from coview.clustering.relations import relate_views
from coview.engines.loop import NO_DEADLINE, Deadline
from coview.preprocessing.weighting import weigh_counts
from coview.utils.remembered import remembered
from coview.utils.sampling import sample_positions
from coview.views.arrays import for_sklearn, looks_counted, unit_rows
from coview.views.views import n_present

__all__ = ["LEARNED", "held_out_agreement", "learn_view_weights", "strange_views"]

LEARNED = "auto"  # what asks for weights of this kind
STRANGERS = ("alone", "noise")  # verdicts on views that share nothing, though they could
MOST_OBJECTS = 2000  # objects that are looked at: a bound on the time, more change no verdict


def learn_view_weights(
    views: Any,
    codes: np.ndarray,
    n_classes: int,
    seed: int,
    deadline: Deadline = NO_DEADLINE,
    gaussian: Collection[str] = (),
) -> dict[str, float]:
    """Return the weight of each view, 0 or 1, by objects in memory or lazy with some labels (code not -1).

    Views named in `gaussian` are vectors, whatever their signs are.

    Examples
    --------
    >>> from coview import Views
    >>> rng = np.random.default_rng(0)
    >>> classes = np.arange(200) % 2
    >>> words, tags = (rng.poisson(0.2 + 3 * np.eye(2)[classes]) for _ in range(2))
    >>> noise = rng.poisson(1.0, (200, 5))
    >>> codes = np.where(np.arange(200) < 4, classes, -1)
    >>> learn_view_weights(Views(words=words, tags=tags, noise=noise), codes, 2, seed=0)
    {'words': 1.0, 'tags': 1.0, 'noise': 0.0}
    """
    weights = dict.fromkeys(views.names, 1.0)
    if len(weights) == 1 or deadline.is_over():
        return weights
    some = views[sample_positions(len(views), MOST_OBJECTS)]
    having = n_present(some)
    counted = [name for name in some.names if name not in gaussian and looks_counted(some[name], having[name])]

    def relate() -> list[str]:
        weighted = make_pipeline(*weigh_counts(some, counted)).fit_transform(some) if counted else some
        return relate_views(weighted)["verdict"]

    verdicts = remembered(("verdicts", *counted, *some.names, *some.values(), some.present), relate)
    unrelated = [name for name, verdict in zip(views.names, verdicts) if verdict in STRANGERS]
    if unrelated and "shares" in verdicts:
        weights.update(dict.fromkeys(strange_views(views.select(*unrelated), codes, n_classes, seed), 0.0))
    return weights


def strange_views(views: Any, codes: np.ndarray, n_classes: int, seed: int) -> list[str]:
    """Return those of some views from which held-out labels cannot be told.

    A view of less than four columns is none: two halves of it are too little to tell its structure by.

    Examples
    --------
    >>> from coview import Views
    >>> rng, classes = np.random.default_rng(0), np.arange(90) % 3
    >>> X = Views(means=np.eye(3)[classes].repeat(2, axis=1) + rng.normal(size=(90, 6)), noise=rng.normal(size=(90, 6)))
    >>> strange_views(X, np.where(np.arange(90) < 45, classes, -1), 3, seed=0)
    ['noise']
    """
    doubtful = [name for name, width in views.n_features.items() if width >= 4]
    kappas, n_held = held_out_agreement(views.select(*doubtful), codes, n_classes, seed) if doubtful else ({}, 0)
    return [name for name, kappa in kappas.items() if not n_held or kappa <= 2 / np.sqrt(n_held)]


def held_out_agreement(views: Any, codes: np.ndarray, n_classes: int, seed: int) -> tuple[dict[str, float], int]:
    """Return Cohen's kappa of held-out labels and their prediction by each view alone; and how many were held out.

    Predicted is the class of the nearest mean, of rows of length 1 where no value is negative. A class of a single
    label is left out.

    Examples
    --------
    >>> from coview import Views
    >>> classes = np.arange(90) % 3
    >>> X = Views(means=9 * np.eye(3)[classes], noise=np.random.default_rng(0).poisson(1.0, (90, 6)))
    >>> kappas, n_held_out = held_out_agreement(X, np.where(np.arange(90) < 45, classes, -1), 3, seed=0)
    >>> round(kappas["means"], 2), kappas["noise"] < 0.2, n_held_out
    (1.0, True, 45)
    """
    sizes = np.bincount(codes[codes >= 0], minlength=n_classes)
    labeled = np.flatnonzero((codes >= 0) & (sizes[codes] > 1))
    labeled = labeled[sample_positions(len(labeled), MOST_OBJECTS, seed)]
    known = codes[labeled]
    counts = np.unique(known, return_counts=True)[1]
    if len(counts) < 2 or counts.min() < 2:
        return dict.fromkeys(views.names, 0.0), 0
    folds = StratifiedKFold(min(3, int(counts.min())), shuffle=True, random_state=seed)
    kappas = {}
    for name in views.names:
        rows = for_sklearn(views.select(name)[labeled][name])
        rows = unit_rows(rows) if rows.min() >= 0 else rows
        with warnings.catch_warnings(action="ignore"):  # of features that are the same within all classes
            found = cross_val_predict(NearestCentroid(), rows, known, cv=folds)
        kappas[name] = float(cohen_kappa_score(known, found))
    return kappas, len(labeled)
