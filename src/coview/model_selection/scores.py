"""One method on one task: fitted and asked on every split, one dict of figures for each.

    stability   mean adjusted Rand index, on the objects of a subsample, of its own clusters and those of all objects
    agreement   whether each view alone would tell the clusters: nearest centroids of a view, learned from half of the
                objects, place the other half; the adjusted Rand index of that with the clusters, of each pair of views
                the lesser one, and of these the mean

These two and the silhouettes are internal: they know no classes, and each favors what it measures.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, adjusted_rand_score, f1_score, get_scorer, silhouette_score
from sklearn.pipeline import Pipeline

from coview.metrics import clustering_accuracy, normalized_mutual_info, pairwise_f1
from coview.model_selection.methods import Candidate, holds_counts, seeded
from coview.validation import LabeledScoreMixin, minus_one_is_unlabeled
from coview.views.arrays import take_rows
from coview.views.matrices import for_sklearn, unit_rows
from coview.views.views import Views

__all__ = ["CLUSTER_SCORES", "Task", "check_scoring", "cluster_labels", "evaluate", "main_scores", "view_agreement_of"]

SILHOUETTE_ROWS = 1000  # of so many objects all distances are taken
CLUSTER_SCORES: dict[str, Callable[[Any, Any], float]] = {
    "nmi": normalized_mutual_info,
    "accuracy": clustering_accuracy,
    "pairwise_f1": pairwise_f1,
    "ari": adjusted_rand_score,
}
INTERNAL = ("internal", "silhouette", "stability", "agreement")


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
    def n_parts(self) -> int:
        """Number of dicts that a method gives, if nothing stops it."""
        return max(1, len(self.splits))


def main_scores(task: Task) -> list[str]:
    """Names of the scores; the first one ranks the methods.

    Examples
    --------
    >>> main_scores(Task("clustering"))
    ['nmi', 'accuracy', 'pairwise_f1']
    """
    if task.kind == "internal":
        return list(INTERNAL)
    if task.scoring is not None:
        return list(task.scoring)
    return ["nmi", "accuracy", "pairwise_f1"] if task.kind == "clustering" else ["accuracy", "f1_macro"]


def evaluate(shared: tuple[Task, Views], candidate: Candidate) -> Iterator[dict[str, Any]]:
    """Yield the figures of each split.

    Examples
    --------
    >>> from coview import MultiViewNaiveBayes
    >>> y = np.array([0, 1] * 5)
    >>> task = Task("classification", y, y >= 0, y, [(np.arange(6), np.arange(6, 10))])
    >>> found = list(evaluate((task, Views(a=np.eye(2)[y])), Candidate("nb", MultiViewNaiveBayes(), "method")))
    >>> found[0]["accuracy"], sorted(found[0])
    (1.0, ['accuracy', 'f1_macro', 'fit_seconds', 'predict_seconds'])
    """
    task, views = shared
    steps = {"clustering": _clustering, "internal": _internal}.get(task.kind, _classification)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ConvergenceWarning)
        for part in steps(task, views, candidate):
            if heard:
                part["warning"] = f"{str(heard[0].message).strip().splitlines()[0].rstrip('. :')}."
            yield part


# -- classes


def _classification(task: Task, views: Views, candidate: Candidate) -> Iterator[dict[str, Any]]:
    target, hidden = _given(task.target), _given(task.hidden)
    if not is_classifier(candidate.estimator):
        raise TypeError(f"{candidate.name} is no classifier, and the task is to find classes")
    for train, test in task.splits:
        model = seeded(candidate.estimator, task.seed)
        if task.kind == "few_labels":
            X, labels = _with_few_labels(views, target, hidden, train, model)
        else:
            X, labels = views[train], target[train]
        start = time.perf_counter()
        model.fit(X, labels)
        fitted = time.perf_counter()
        part = _class_scores(task, model, views[test], target[test])
        part |= {"fit_seconds": fitted - start, "predict_seconds": time.perf_counter() - fitted}
        if candidate.by_view and len(views.names) > 1:
            for name in views.names:
                found = model.predict(views[test].select(name))
                part[f"accuracy[{name}]"] = float(accuracy_score(target[test], found))
        yield part


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


def _class_scores(task: Task, model: Any, X: Views, y: np.ndarray) -> dict[str, Any]:
    if task.scoring is not None:
        return {name: float(score(model, X, y)) for name, score in task.scoring.items()}
    found = model.predict(X)
    return {
        "accuracy": float(accuracy_score(y, found)),
        "f1_macro": float(f1_score(y, found, average="macro", zero_division=0)),
    }


# -- clusters


def cluster_labels(estimator: Any, X: Views) -> np.ndarray:
    """Fit, and return the cluster of each object: of a mixture, the largest part.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> cluster_labels(LinkPLSA(1), Views(a=np.eye(3))).tolist()
    [0, 0, 0]
    """
    if hasattr(estimator, "fit_predict"):
        return np.asarray(estimator.fit_predict(X))
    model = estimator.fit(X)
    if hasattr(model, "labels_"):
        return np.asarray(model.labels_)
    return np.asarray(model.predict(X) if hasattr(model, "predict") else np.asarray(model.transform(X)).argmax(axis=1))


def _clustering(task: Task, views: Views, candidate: Candidate) -> Iterator[dict[str, Any]]:
    target, known = _given(task.target), _given(task.known)
    scores = task.scoring or {name: CLUSTER_SCORES[name] for name in main_scores(task)}
    for r in range(len(task.splits)):
        model = seeded(candidate.estimator, task.seed + r)
        start = time.perf_counter()
        labels = cluster_labels(model, views)
        seconds = time.perf_counter() - start
        part: dict[str, Any] = {name: float(score(target[known], labels[known])) for name, score in scores.items()}
        yield part | {"fit_seconds": seconds, "clusters": len(np.unique(labels))}


def _internal(task: Task, views: Views, candidate: Candidate) -> Iterator[dict[str, Any]]:
    """Clusters of all objects, and for every split those of a subsample."""
    start = time.perf_counter()
    labels = cluster_labels(seeded(candidate.estimator, task.seed), views)
    seconds = time.perf_counter() - start
    whole = _silhouettes(views, labels, task.seed)
    agreement = view_agreement_of(views, labels, task.seed)
    number = len(np.unique(labels))
    for r, (rows, _) in enumerate(task.splits):
        found = cluster_labels(seeded(candidate.estimator, task.seed + 1 + r), views[rows])
        stability = float(adjusted_rand_score(labels[rows], found)) if number > 1 else 0.0
        silhouette = float(np.mean(list(whole.values())))
        part: dict[str, Any] = {
            "internal": float(np.mean([silhouette, stability, agreement])),
            "silhouette": silhouette,
            "stability": stability,
            "agreement": agreement,
            **{f"silhouette[{name}]": value for name, value in whole.items()},
        }
        yield part | {"fit_seconds": seconds, "clusters": number}


def _silhouettes(views: Views, labels: np.ndarray, seed: int) -> dict[str, float]:
    """Mean silhouette of the clusters in each view, by cosines where the view holds counts; -1 without clusters."""
    found = {}
    for v, name in enumerate(views.names):
        rows = np.flatnonzero(views.present[:, v])
        if len(rows) > SILHOUETTE_ROWS:
            rows = np.sort(np.random.default_rng([seed, v]).choice(rows, SILHOUETTE_ROWS, replace=False))
        here, matrix = labels[rows], for_sklearn(take_rows(views[name], rows))
        if not 1 < len(np.unique(here)) < len(here):
            found[name] = -1.0
            continue
        metric = "cosine" if holds_counts(matrix) else "euclidean"
        found[name] = float(silhouette_score(matrix, here, metric=metric))
    return found


def view_agreement_of(views: Views, labels: np.ndarray, seed: int = 0) -> float:
    """Whether each view alone would put objects into these clusters, adjusted for chance.

    Half of the objects teach one centroid per cluster and view; each view then places the other half. Of each pair of
    views the one that does worse counts: two views agree on clusters that both can see.

    Examples
    --------
    >>> y = np.arange(40) % 2
    >>> view_agreement_of(Views(a=np.eye(2)[y], b=np.eye(2)[y]), y)
    1.0
    """
    half = np.random.default_rng(seed).random(len(views)) < 0.5
    right = []
    for v, name in enumerate(views.names):
        matrix = unit_rows(views[name]) if holds_counts(views[name]) else views[name]
        teach, ask = (np.flatnonzero(rows & views.present[:, v]) for rows in (half, ~half))
        if len(np.unique(labels[teach])) < 2 or not len(ask):
            right.append(0.0)
            continue
        said = _nearest_centroid(matrix, teach, labels)
        right.append(float(adjusted_rand_score(labels[ask], said[ask])))
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
    if isinstance(scoring, Mapping):
        pairs = list(scoring.items())
    else:
        pairs = [(score if isinstance(score, str) else getattr(score, "__name__", "score"), score) for score in scoring]
    found: dict[str, Any] = {}
    for name, score in pairs:
        if clusters and isinstance(score, str):
            if score not in CLUSTER_SCORES:
                raise ValueError(
                    f"scoring of clusters must be of {', '.join(CLUSTER_SCORES)}, or functions, got {score!r}."
                )
            found[name] = CLUSTER_SCORES[score]
        else:
            found[name] = get_scorer(score) if isinstance(score, str) else score
    return found


def _given(array: np.ndarray | None) -> np.ndarray:
    if array is None:
        raise ValueError("This task needs labels.")
    return array
