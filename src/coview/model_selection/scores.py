"""One method on one task: fitted and asked on every split, one dict of figures for each.

    stability   mean adjusted Rand index, on the objects of a subsample, of its own clusters and those of all objects
    agreement   whether each view alone would tell the clusters: nearest centroids of a view, learned from half of the
                objects, place the other half; the adjusted Rand index of that with the clusters, of each pair of views
                the lesser one, and of these the mean
    npmi        of a view of counts, how much the ten first features of a cluster occur in the same objects, by chance 0

The first two and the silhouettes are internal: they know no classes, and each favors what it measures.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import isfunction
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, adjusted_rand_score, f1_score, get_scorer, silhouette_score
from sklearn.pipeline import Pipeline

from coview.inspection import inspect
from coview.inspection.features import mean_features
from coview.metrics import clustering_accuracy, normalized_mutual_info, pairwise_f1, topic_coherence
from coview.model_selection.methods import Method, holds_counts, seeded
from coview.utils.sampling import sample_positions
from coview.validation import LabeledScoreMixin, minus_one_is_unlabeled
from coview.views.arrays import for_sklearn, take_rows, unit_rows
from coview.views.views import Views

__all__ = ["CLUSTER_SCORES", "Task", "check_scoring", "cluster_labels", "evaluate", "view_agreement_of"]

SILHOUETTE_ROWS = 1000  # of so many objects all distances are taken
COHERENCE_ROWS = 20_000  # objects in which features may occur together
MOST_NONZERO = 0.5  # share of values: where most features are in most objects, they say nothing by being there
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

    kind: str  # "classification", "few_labels", "clustering" or "internal"
    target: np.ndarray | None = None  # classes of the objects; of those without label, anything
    known: np.ndarray | None = None  # which of them have a label
    hidden: np.ndarray | None = None  # as `target`, in the type that holds -1 for "no label"
    splits: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    scoring: dict[str, Any] | None = None  # name -> scorer(model, X, y), or score(classes, clusters) of clusterings
    seed: int = 0

    @property
    def metrics(self) -> list[str]:
        """Names of the scores; the first one ranks the methods."""
        if self.kind == "internal":
            return ["internal", "silhouette", "stability", "agreement"]
        if self.scoring is not None:
            return list(self.scoring)
        return ["nmi", "accuracy", "pairwise_f1"] if self.kind == "clustering" else ["accuracy", "f1_macro"]


def evaluate(call: Callable[..., Any], job: tuple[str, int, Method]) -> Iterator[Part]:
    """Yield the figures of each split, a job of `run_jobs` whose workers share the task and the views."""
    kind, n_splits, method = job
    if kind == "internal":  # the clusters of all objects come first, and each subsample is held against them
        labels, whole = call(_recording, _cluster_all, method)
        for r in range(n_splits):
            yield call(_recording, _cluster_subsample, method, r, labels, whole)
    else:
        for r in range(n_splits):
            yield call(_recording, _cluster_again if kind == "clustering" else _classify, method, r)


def _recording(shared: tuple[Task, Views], step: Callable[..., Any], *args: Any) -> Any:
    """Run a step, and put the first warning that a fit did not converge among its figures."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ConvergenceWarning)
        answer = step(*shared, *args)
    if heard:
        figures = answer if isinstance(answer, dict) else answer[-1]
        figures["warning"] = f"{str(heard[0].message).strip().splitlines()[0].rstrip('. :')}."
    return answer


# -- classes


def _classify(task: Task, views: Views, method: Method, r: int) -> Part:
    target, (train, test) = _array(task.target), task.splits[r]
    if not is_classifier(method.estimator):
        raise TypeError(f"{method.name} is not a classifier, but the task is classification")
    model = seeded(method.estimator, task.seed)
    if task.kind == "few_labels":
        X, labels = _with_few_labels(views, target, _array(task.hidden), train, model)
    else:
        X, labels = views[train], target[train]
    start = time.perf_counter()
    model.fit(X, labels)
    fitted = time.perf_counter()
    part = _class_scores(task, model, views[test], target[test])
    part |= {"fit_seconds": fitted - start, "predict_seconds": time.perf_counter() - fitted}
    if method.by_view and len(views.names) > 1:
        for name in views.names:
            part[f"accuracy[{name}]"] = float(accuracy_score(target[test], model.predict(views[test].select(name))))
    return part


def _with_few_labels(
    views: Views, target: np.ndarray, hidden: np.ndarray, train: np.ndarray, model: Any
) -> tuple[Views, np.ndarray]:
    """All objects, with the labels of some as the model wants them: -1 or None for the others, or these left out."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    semi_supervised = minus_one_is_unlabeled(last)
    if not semi_supervised and not isinstance(last, LabeledScoreMixin):
        return views[train], target[train]  # a classifier of scikit-learn, which knows no gap
    labels = np.full(len(hidden), -1, hidden.dtype) if semi_supervised else np.full(len(hidden), None, dtype=object)
    labels[train] = hidden[train]
    return views, labels


def _class_scores(task: Task, model: Any, X: Views, y: np.ndarray) -> Part:
    if task.scoring is not None:
        return {name: float(score(model, X, y)) for name, score in task.scoring.items()}
    predicted = model.predict(X)
    return {
        "accuracy": float(accuracy_score(y, predicted)),
        "f1_macro": float(f1_score(y, predicted, average="macro", zero_division=0)),
    }


# -- clusters


def cluster_labels(estimator: Any, X: Views) -> np.ndarray:
    """Fit, and return the cluster of each object: of a mixture, the largest part."""
    fitted = inspect(estimator.fit(X))
    if fitted.training.codes is not None:
        return fitted.training.codes
    memberships = fitted.memberships(X)
    if memberships is None:
        raise TypeError(f"{fitted.name} does not assign objects to clusters")
    return memberships.argmax(axis=1)


def _cluster_again(task: Task, views: Views, method: Method, r: int) -> Part:
    """Clusters of all objects from another seed, against the classes."""
    target, known = _array(task.target), _array(task.known)
    scores = task.scoring or {name: CLUSTER_SCORES[name] for name in task.metrics}
    start = time.perf_counter()
    labels = cluster_labels(seeded(method.estimator, task.seed + r), views)
    seconds = time.perf_counter() - start
    part: Part = {name: float(score(target[known], labels[known])) for name, score in scores.items()}
    return part | {"fit_seconds": seconds, "clusters": len(np.unique(labels))}


def _cluster_all(task: Task, views: Views, method: Method) -> tuple[np.ndarray, Part]:
    """Clusters of all objects, and their figures."""
    start = time.perf_counter()
    labels = cluster_labels(seeded(method.estimator, task.seed), views)
    seconds = time.perf_counter() - start
    by_view = _silhouettes(views, labels, task.seed)
    return labels, {
        "silhouette": float(np.mean(list(by_view.values()))),
        "agreement": view_agreement_of(views, labels, task.seed),
        **{f"silhouette[{name}]": value for name, value in by_view.items()},
        **{f"npmi[{name}]": value for name, value in _coherences(views, labels).items()},
        "fit_seconds": seconds,
        "clusters": len(np.unique(labels)),
    }


def _cluster_subsample(task: Task, views: Views, method: Method, r: int, labels: np.ndarray, whole: Part) -> Part:
    """Figures of all objects, and whether a subsample has the same clusters."""
    rows = task.splits[r][0]
    again = cluster_labels(seeded(method.estimator, task.seed + 1 + r), views[rows])
    stability = float(adjusted_rand_score(labels[rows], again)) if whole["clusters"] > 1 else 0.0
    mean = float(np.mean([whole["silhouette"], stability, whole["agreement"]]))
    return {"internal": mean, **whole, "stability": stability}


def _silhouettes(views: Views, labels: np.ndarray, seed: int) -> dict[str, float]:
    """Mean silhouette of the clusters in each view, by cosines where the view holds counts; -1 without clusters."""
    silhouettes = {}
    for v, name in enumerate(views.names):
        rows = np.flatnonzero(views.present[:, v])
        if len(rows) > SILHOUETTE_ROWS:
            rows = np.sort(np.random.default_rng([seed, v]).choice(rows, SILHOUETTE_ROWS, replace=False))
        here, matrix = labels[rows], for_sklearn(take_rows(views[name], rows))
        if not 1 < len(np.unique(here)) < len(here):
            silhouettes[name] = -1.0
            continue
        metric = "cosine" if holds_counts(matrix) else "euclidean"
        silhouettes[name] = float(silhouette_score(matrix, here, metric=metric))
    return silhouettes


def _coherences(views: Views, labels: np.ndarray) -> dict[str, float]:
    """Mean NPMI of the most frequent features of the clusters, in the views whose features occur or do not."""
    _, codes = np.unique(labels, return_inverse=True)
    found = {}
    for v, name in enumerate(views.names):
        matrix, have = views[name], views.present[:, v]
        if not holds_counts(matrix) or not have.any() or _share_of_nonzeros(matrix) > MOST_NONZERO:
            continue
        means = mean_features(matrix, np.where(have, codes, -1), int(codes.max()) + 1).weights
        rows = np.flatnonzero(have)
        each = topic_coherence(means, take_rows(matrix, rows[sample_positions(len(rows), COHERENCE_ROWS)]))
        found[name] = float(np.nanmean(each)) if np.isfinite(each).any() else float("nan")
    return found


def _share_of_nonzeros(matrix: Any) -> float:
    nonzero = matrix.nnz if sparse.issparse(matrix) else np.count_nonzero(matrix)
    return nonzero / max(matrix.shape[0] * matrix.shape[1], 1)


def view_agreement_of(views: Views, labels: np.ndarray, seed: int = 0) -> float:
    """Whether each view alone would put objects into these clusters, adjusted for chance.

    Half of the objects teach one centroid per cluster and view; each view then places the other half. Of each pair of
    views the one that does worse counts: two views agree on clusters that both can see.
    """
    half = np.random.default_rng(seed).random(len(views)) < 0.5
    right = []
    for v, name in enumerate(views.names):
        matrix = unit_rows(views[name]) if holds_counts(views[name]) else views[name]
        teach, ask = (np.flatnonzero(rows & views.present[:, v]) for rows in (half, ~half))
        if len(np.unique(labels[teach])) < 2 or not len(ask):
            right.append(0.0)
            continue
        placed = _nearest_centroid(matrix, teach, labels)
        right.append(float(adjusted_rand_score(labels[ask], placed[ask])))
    return float(np.mean([min(pair) for pair in combinations(right, 2)] or right))


def _nearest_centroid(matrix: Any, teach: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Cluster whose mean is nearest to each row; the means are of the rows `teach`."""
    _, codes, counts = np.unique(labels[teach], return_inverse=True, return_counts=True)
    members = sparse.csr_array((1.0 / counts[codes], (codes, np.arange(len(teach)))), shape=(len(counts), len(teach)))
    product = members @ take_rows(matrix, teach)
    centroids = product.toarray() if sparse.issparse(product) else np.asarray(product)
    return np.asarray(matrix @ centroids.T - 0.5 * (centroids**2).sum(axis=1)).argmax(axis=1)


def check_scoring(scoring: Any, clusters: bool) -> dict[str, Any] | None:
    """Scores by name, from what users write: a name, a function, a list of names, or ``{name: function}``."""
    if scoring is None:
        return None
    if isinstance(scoring, str) or callable(scoring):
        scoring = [scoring]
    if not isinstance(scoring, Mapping):
        scoring = {
            score if isinstance(score, str) else score.__name__ if isfunction(score) else "score": score
            for score in scoring
        }
    scorers: dict[str, Any] = {}
    for name, score in scoring.items():
        if clusters and isinstance(score, str):
            if score not in CLUSTER_SCORES:
                raise ValueError(
                    f"scoring for clustering must be one of {', '.join(CLUSTER_SCORES)}, or functions, got {score!r}."
                )
            scorers[name] = CLUSTER_SCORES[score]
        else:
            scorers[name] = get_scorer(score) if isinstance(score, str) else score
    return scorers


def _array(array: np.ndarray | None) -> np.ndarray:
    if array is None:
        raise ValueError("This task needs labels.")
    return array
