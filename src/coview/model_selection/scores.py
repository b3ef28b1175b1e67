"""One method on one task: fitted and asked on every split, one dict of figures for each."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import adjusted_rand_score, get_scorer
from sklearn.pipeline import Pipeline

from coview.inspection import inspect
from coview.metrics import clustering_accuracy, normalized_mutual_info, pairwise_f1
from coview.model_selection.methods import Method, set_seed
from coview.validation import LabeledScoreMixin, minus_one_is_unlabeled
from coview.views.views import Views

__all__ = ["CLUSTER_SCORES", "Task", "check_scoring", "cluster_labels", "evaluate"]

CLUSTER_SCORES: dict[str, Callable[[Any, Any], float]] = {
    "nmi": normalized_mutual_info,
    "accuracy": clustering_accuracy,
    "pairwise_f1": pairwise_f1,
    "ari": adjusted_rand_score,
}
Part = dict[str, Any]  # figures of one split


@dataclass(frozen=True)
class Task:
    """What every method has to do."""

    kind: str  # "classification", "few_labels" or "clustering"
    target: np.ndarray  # classes of the objects; of those without label, anything
    known: np.ndarray  # which of them have a label
    hidden: np.ndarray  # as `target`, in the type that holds -1 for "no label"
    splits: list[tuple[np.ndarray, np.ndarray]]
    scorers: Mapping[str, Any]
    seed: int = 0


def evaluate(call: Callable[..., Any], job: tuple[str, int, Method]) -> Iterator[Part]:
    """Yield the figures of each split, a job of `run_jobs` whose workers share the task and the views."""
    kind, n_splits, method = job
    for r in range(n_splits):
        yield call(_cluster if kind == "clustering" else _classify, method, r)


def _classify(shared: tuple[Task, Views], method: Method, r: int) -> Part:
    task, views = shared
    train, test = task.splits[r]
    if not is_classifier(method.estimator):
        raise TypeError(f"{method.name} is not a classifier, but the task is classification")
    model = set_seed(method.estimator, task.seed)
    X, labels = views[train], task.target[train]
    if task.kind == "few_labels":
        X, labels = _with_few_labels(views, task, train, model)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, labels)
        seconds = time.perf_counter() - start
        scores = {name: float(score(model, views[test], task.target[test])) for name, score in task.scorers.items()}
    return {**scores, "fit_seconds": seconds}


def _with_few_labels(views: Views, task: Task, train: np.ndarray, model: Any) -> tuple[Views, np.ndarray]:
    """All objects, with the labels of some as the model wants them: -1 or None for the others, or these left out."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    semi_supervised = minus_one_is_unlabeled(last)
    if not semi_supervised and not isinstance(last, LabeledScoreMixin):
        return views[train], task.target[train]  # a classifier of scikit-learn, which knows no gap
    none: Any = -1 if semi_supervised else None
    labels = np.full(len(views), none, dtype=task.hidden.dtype if semi_supervised else object)
    labels[train] = task.hidden[train]
    return views, labels


def _cluster(shared: tuple[Task, Views], method: Method, r: int) -> Part:
    """Clusters of all objects from another seed, against the classes."""
    task, views = shared
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = cluster_labels(set_seed(method.estimator, task.seed + r), views)
    seconds = time.perf_counter() - start
    target, found = task.target[task.known], labels[task.known]
    scores: Part = {name: float(score(target, found)) for name, score in task.scorers.items()}
    return {**scores, "fit_seconds": seconds, "clusters": len(np.unique(labels))}


def cluster_labels(estimator: Any, X: Views) -> np.ndarray:
    """Fit, and return the cluster of each object: of a mixture, the largest part."""
    fitted = inspect(estimator.fit(X))
    if fitted.training.codes is not None:
        return fitted.training.codes
    memberships = fitted.memberships(X)
    if memberships is None:
        raise TypeError(f"{fitted.name} does not assign objects to clusters")
    return memberships.argmax(axis=1)


def check_scoring(scoring: Any, clusters: bool) -> dict[str, Any]:
    """Return scores by name, from a name, a list of names, or ``{name: function}``."""
    if scoring is None:
        scoring = ("nmi", "accuracy", "pairwise_f1") if clusters else ("accuracy", "f1_macro")
    if isinstance(scoring, Mapping):
        return dict(scoring)
    names = [scoring] if isinstance(scoring, str) else list(scoring)
    if not clusters:
        return {name: get_scorer(name) for name in names}
    unknown = [name for name in names if name not in CLUSTER_SCORES]
    if unknown:
        raise ValueError(f"scoring for clustering must be of {', '.join(CLUSTER_SCORES)}, got {unknown[0]!r}.")
    return {name: CLUSTER_SCORES[name] for name in names}
