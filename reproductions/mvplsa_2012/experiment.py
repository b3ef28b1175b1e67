"""The experiments of the 2012 paper: one function per method, one run per call.

A run returns ``{metric: {row: value}}`` in percent; a method that gives several rows of a table (one per view, all
views) gives them all in one run. Settings come from the cell, options of the data set from `paper.toml`.
"""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

import numpy as np
from corpora import load_newsgroups_views, load_webkb
from sklearn.utils import Bunch

from coview import (
    ConsensusClustering,
    CoTrainingClassifier,
    DualPLSAClassifier,
    MultiViewNaiveBayes,
    MultiViewPLSA,
    MultiViewPLSAClassifier,
    UnitRows,
    Views,
)
from coview.metrics import normalized_mutual_info, pairwise_f1

# the paper's algorithm: all factors from the same expectations, T = 150 sweeps; and its starts
PUBLISHED = {"algorithm": "published", "max_iter": 150, "tol": 0}
CLASSIFIER = {**PUBLISHED, "init": "naive_bayes", "unit_mass": False}
CLUSTERER = {**PUBLISHED, "init": "consensus"}
FLOOR = 1e-3  # share of a start that is spread evenly: an exact 0 or 1 could never change
OURS = {"max_iter": 150}  # coview's defaults

Values = dict[str, dict[str, float]]


def load(data: str, options: dict[str, Any]) -> Bunch:
    """Views and target of a data set, weighted as `paper.toml` says; kept in memory."""
    return _load(options["loader"], options.get("university", options.get("variant")), options["weighting"])


def run(cell: Any, options: dict[str, Any]) -> Values:
    """Make one run."""
    options = {**options, **dict(cell.setting)}  # an experiment may vary topics, weighting or rounds
    data = load(cell.data, options)
    if cell.experiment == "cluster":
        return CLUSTERERS[cell.method](data.views, data.target, cell.seed, options)
    labels = draw_labels(data.target, cell["rate"], cell.seed)
    if cell.experiment == "split":
        return SPLIT[cell.method](data.views, data.target, labels, cell.seed, options)
    return CLASSIFIERS[cell.method](data.views, data.target, labels, cell.seed, options)


def draw_labels(target: np.ndarray, rate: float, seed: int) -> np.ndarray:
    """Target with all but ceil(rate n_k) objects of each class k set to -1; a higher rate adds to a lower one's."""
    rng = np.random.default_rng(seed)
    labels = np.full(len(target), -1)
    for label in np.unique(target):
        members = rng.permutation(np.flatnonzero(target == label))
        # 0.07 * 100 is 7.000000000000001, and must not become 8
        labels[members[: math.ceil(round(rate * len(members), 6))]] = label
    return labels


@cache
def _load(loader: str, name: str, weighting: str) -> Bunch:
    if loader == "newsgroups":
        return load_newsgroups_views(name, weighting=weighting, random_state=0)
    corpus = load_webkb(name, links="symmetric", task="binary")
    if weighting == "l2":
        corpus.views = UnitRows().fit_transform(corpus.views)
    return corpus


# -- classification: accuracy of the objects without label


def _naive_bayes(views: Views, target: np.ndarray, labels: np.ndarray, seed: int, options: dict[str, Any]) -> Values:
    model = MultiViewNaiveBayes().fit(views[labels >= 0], labels[labels >= 0])
    rows = {f"NBC_V{v}": found for v, found in enumerate(_by_view(model, views), start=1)}
    return _accuracies({**rows, "NBC_E": model.predict(views)}, target, labels)


def _co_training(views: Views, target: np.ndarray, labels: np.ndarray, seed: int, options: dict[str, Any]) -> Values:
    tuned = options["cotraining"]
    rows = {}
    for pool, counts in itertools.product(tuned["pools"], tuned["per_class"]):
        model = CoTrainingClassifier(
            pool_size=None if pool == "all" else pool,
            n_per_class=dict(enumerate(counts)),
            max_iter=options.get("rounds", tuned["rounds"]),
            random_state=seed,
        ).fit(views, labels)
        variant = f"u={pool},n={':'.join(map(str, counts))}"
        rows[f"CoTr_E|{variant}"] = model.predict(views)
        for v, found in enumerate(_by_view(model, views), start=1):
            rows[f"CoTr_V{v}|{variant}"] = found
    return _accuracies(rows, target, labels)


def _dual_plsa(views: Views, target: np.ndarray, labels: np.ndarray, seed: int, options: dict[str, Any]) -> Values:
    """As published: every view, and all features, start from the ensemble of all views."""
    known = labels >= 0
    posterior = MultiViewNaiveBayes().fit(views[known], labels[known]).predict_proba(views)
    start = {"memberships": (1 - FLOOR) * posterior + FLOOR / posterior.shape[1]}
    return _accuracies(_dual("DPLSA", views, labels, seed, options, **{**CLASSIFIER, "init": start}), target, labels)


def _dual_alone(views: Views, target: np.ndarray, labels: np.ndarray, seed: int, options: dict[str, Any]) -> Values:
    """The same but for the start: each view from its own naive Bayes."""
    found = _dual("DPLSA", views, labels, seed, options, **CLASSIFIER)
    del found["DPLSA"]  # all features: the same start
    return _accuracies({f"{row}, own start": y for row, y in found.items()}, target, labels)


def _coview_dual(views: Views, target: np.ndarray, labels: np.ndarray, seed: int, options: dict[str, Any]) -> Values:
    return _accuracies(_dual("coview DualPLSA", views, labels, seed, options, **OURS), target, labels)


def _dual(
    name: str, views: Views, labels: np.ndarray, seed: int, options: dict[str, Any], **settings: Any
) -> dict[str, np.ndarray]:
    """Dual PLSA on each view, and on all of them side by side."""
    parts = {f"{name}_V{v}": views.select(view) for v, view in enumerate(views.names, start=1)}
    return {
        row: DualPLSAClassifier(options["topics"], random_state=seed, n_jobs=1, **settings)
        .fit(part, labels)
        .transduction_
        for row, part in {**parts, name: views}.items()
    }


def _multi_view_plsa(
    views: Views, target: np.ndarray, labels: np.ndarray, seed: int, options: dict[str, Any]
) -> Values:
    model = MultiViewPLSAClassifier(options["topics"], random_state=seed, n_jobs=1, **CLASSIFIER)
    return _accuracies({"MVPLSA": model.fit(views, labels).transduction_}, target, labels)


def _coview_multi_view(
    views: Views, target: np.ndarray, labels: np.ndarray, seed: int, options: dict[str, Any]
) -> Values:
    model = MultiViewPLSAClassifier(options["topics"], random_state=seed, n_jobs=1, **OURS)
    return _accuracies({"coview MultiViewPLSA": model.fit(views, labels).transduction_}, target, labels)


def _by_view(model: Any, views: Views) -> list[np.ndarray]:
    return [model.classes_[posterior.argmax(axis=1)] for posterior in model.predict_proba_by_view(views).values()]


def _accuracies(found: dict[str, np.ndarray], target: np.ndarray, labels: np.ndarray) -> Values:
    hidden = labels == -1
    return {"accuracy": {row: 100 * float(np.mean(y[hidden] == target[hidden])) for row, y in found.items()}}


# -- one view, its features split at random into several (section 4.5)


def _split_naive_bayes(
    views: Views, target: np.ndarray, labels: np.ndarray, seed: int, options: dict[str, Any]
) -> Values:
    whole = views.select(options["view"])
    model = MultiViewNaiveBayes().fit(whole[labels >= 0], labels[labels >= 0])
    return _accuracies({"NBC": model.predict(whole)}, target, labels)


def _split_plsa(views: Views, target: np.ndarray, labels: np.ndarray, seed: int, options: dict[str, Any]) -> Values:
    return _multi_view_plsa(_parts(views, seed, options), target, labels, seed, options)


def _coview_split(views: Views, target: np.ndarray, labels: np.ndarray, seed: int, options: dict[str, Any]) -> Values:
    return _coview_multi_view(_parts(views, seed, options), target, labels, seed, options)


def _parts(views: Views, seed: int, options: dict[str, Any]) -> Views:
    """One view as several, its features dealt out at random."""
    whole = views[options["view"]]
    order = np.random.RandomState(seed).permutation(whole.shape[1])
    parts = [np.sort(columns) for columns in np.array_split(order, options["parts"])]
    return Views({f"part{i}": whole[:, columns] for i, columns in enumerate(parts)}, ids=views.ids)


# -- clustering


def _consensus(views: Views, target: np.ndarray, seed: int, options: dict[str, Any]) -> Values:
    """MVC, and the k-means of each view that it is made of."""
    model = ConsensusClustering(len(np.unique(target)), random_state=seed).fit(views)
    values = _agreement({**model.labels_by_view_, "MVC": model.labels_}, target)
    for metric, rows in values.items():
        each = [rows[name] for name in views.names]
        values[metric] = {"Kmeans_Best": max(each), "Kmeans_Avg": float(np.mean(each)), "MVC": rows["MVC"]}
    return values


def _multi_view_clusters(views: Views, target: np.ndarray, seed: int, options: dict[str, Any]) -> Values:
    model = MultiViewPLSA(len(np.unique(target)), options["topics"], random_state=seed, n_jobs=1, **CLUSTERER)
    return _agreement({"MVPLSA": model.fit(views).labels_}, target)


def _coview_clusters(views: Views, target: np.ndarray, seed: int, options: dict[str, Any]) -> Values:
    model = MultiViewPLSA(len(np.unique(target)), options["topics"], random_state=seed, n_jobs=1, **OURS)
    return _agreement({"coview MultiViewPLSA": model.fit(views).labels_}, target)


def _agreement(found: dict[str, np.ndarray], target: np.ndarray) -> Values:
    return {
        "NMI": {row: 100 * normalized_mutual_info(target, labels) for row, labels in found.items()},
        "PF": {row: 100 * pairwise_f1(target, labels) for row, labels in found.items()},
    }


CLASSIFIERS = {
    "NBC": _naive_bayes,
    "CoTr": _co_training,
    "DPLSA": _dual_plsa,
    "DPLSA, own start": _dual_alone,
    "MVPLSA": _multi_view_plsa,
    "coview DualPLSA": _coview_dual,
    "coview MultiViewPLSA": _coview_multi_view,
}
SPLIT = {"NBC": _split_naive_bayes, "MVPLSA": _split_plsa, "coview MultiViewPLSA": _coview_split}
CLUSTERERS = {"MVC": _consensus, "MVPLSA": _multi_view_clusters, "coview MultiViewPLSA": _coview_clusters}
