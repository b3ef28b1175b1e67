"""`select_clusters`: how many clusters, and how strong a coupling, by held-out likelihood and by stability.

Each repeat draws two subsamples of the objects. The model is fitted on both:

    likelihood  of objects outside the first one. Of topic models by completion: each object's tokens are dealt into two
                halves, its mixture is found from one, and the other is scored, per token. (Scored on what the mixture
                was found from, more topics would always look better.) Of Gaussian mixtures per object.
    stability   adjusted Rand index of the two clusterings, on the objects that both subsamples have
    information H (2 AMI - 1), with H the mean entropy of the two and AMI their adjusted mutual information: nats that
                come back less nats that do not. A split that comes back adds to it, one that does not takes away, so
                that many clusters may win where stability would take a few large ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from coview.auto.candidates import counted_views
from coview.catalog import resolve
from coview.clustering.spectral import SpectralClusteringViews
from coview.exceptions import ViewsError
from coview.model_selection.choice import ClusterChoice, recommend
from coview.model_selection.methods import seeded
from coview.model_selection.progress import JobLines
from coview.model_selection.scores import cluster_labels
from coview.model_selection.splits import subsamples
from coview.model_selection.workers import Outcome, run_jobs
from coview.validation import base_seed, check_count
from coview.views.coerce import as_views
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["select_clusters"]

CRITERIA = ("likelihood", "stability")
KNOWN = (*CRITERIA, "information")
SMOOTHING = 0.01  # share of an even distribution: features that no training object has must not cost everything
BLOCK = 256  # objects whose expected features are held at a time


def select_clusters(
    X: Any,
    estimator: Any = None,
    n_clusters: Any = None,
    coupling: Any = None,
    *,
    criteria: Sequence[str] | str = CRITERIA,
    n_repeats: int = 5,
    time_budget: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> ClusterChoice:
    """Choose the number of clusters, and the coupling of a co-regularized model, without labels.

    Parameters
    ----------
    X : Views or what becomes Views
        The objects.
    estimator : clusterer or topic model, optional
        Any with a parameter ``n_clusters`` or ``n_components`` (also inside a pipeline or a wrapper). By default
        `MultiViewPLSA` where all views hold counts (nothing negative, at least half of it zeros), and otherwise
        `SpectralClusteringViews` of all graphs stacked, which has no likelihood.
    n_clusters : int or iterable of int, optional
        Numbers to try; by default 2 to 10, or to half the number of objects.
    coupling : float or iterable, optional
        Values of the estimator's parameter ``coupling`` to try, as of `CoPLSA`; each with each number of clusters.
    criteria : names, default=("likelihood", "stability")
        What to choose by: held-out likelihood, stability under resampling, or both; or "information", the nats that
        come back under resampling less those that do not. Models that have no likelihood, such as k-means, are chosen
        by the others alone.
    n_repeats : int, default=5
        Pairs of subsamples; each setting is fitted twice as often.
    time_budget : float or None, default=None
        Seconds for each setting; what takes longer is stopped and left out.
    n_jobs : int or None, default=None
        Settings at a time, each in a process of its own; None is all cores, 1 without a budget stays in this process.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the subsamples and of the fits.
    verbose : int, default=0
        1 shows a line per setting while they run.

    Returns
    -------
    ClusterChoice
        The table (``rows``, ``frame``), ``plot()``, the recommended values (``best_``) and why (``reason``).

    Notes
    -----
    Likelihood, or information: the smallest number of clusters within one standard error of the best. Stability: the
    largest one within one standard error (and .02) of the best. Several: the smallest one that is near the best by all;
    where there is none, the best mean rank.

    Likelihood grows with every topic that describes objects better, also within a cluster, so that it may ask for more
    clusters than a person would. Stability asks only what is found again, and that is easiest for a few large
    clusters: of ten handwritten digits k-means may take 4, where graphs of neighbors find 10. Information counts every
    split that is found again, and that is easy where features are few: of three kinds of iris it may take 8. Where you
    expect many clusters, look at both.

    Examples
    --------
    >>> from coview import select_clusters
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(150, n_clusters=3, n_features=60, random_state=0).views
    >>> choice = select_clusters(X, n_clusters=[2, 3, 4], n_repeats=2, n_jobs=1, random_state=0)
    >>> choice.best_
    {'n_clusters': 3}
    """
    if hasattr(X, "get_params"):
        raise TypeError(f"select_clusters takes the data first, got {type(X).__name__}: select_clusters(X, estimator).")
    if estimator is not None and not hasattr(estimator, "get_params"):
        raise TypeError(
            f"estimator must be a clusterer, got {estimator!r}. The numbers to try are n_clusters=range(2, 9)."
        )
    views = as_views(X)
    if isinstance(views, LazyViews):
        raise ViewsError(
            f"select_clusters needs its rows in memory, got {len(views)} rows that are read when needed. Choose on "
            "some of them, X[:5000], or read all with X.collect()."
        )
    model = _default(views) if estimator is None else clone(estimator)
    size = _parameter(model, ("n_clusters", "n_components"))
    grid: dict[str, list[Any]] = {size: _numbers(n_clusters, len(views))}
    if coupling is not None:
        grid[_parameter(model, ("coupling",))] = _listed(coupling)
    wanted, dropped = _criteria(criteria, model)
    check_count("n_repeats", n_repeats)
    seed = base_seed(random_state)
    settings = [dict(zip(grid, values)) for values in product(*grid.values())]
    plan = _Plan(model, views, seed, n_repeats, "likelihood" in wanted)
    names = [", ".join(f"{_short(key)}={value}" for key, value in setting.items()) for setting in settings]
    lines: Any = JobLines(names, n_repeats, wanted[0]) if verbose else nullcontext()
    with lines as watch:
        outcomes = run_jobs(_judge, plan, settings, n_jobs=n_jobs, budget=time_budget, watch=watch)
    rows = [_row(setting, outcome, wanted) for setting, outcome in zip(settings, outcomes)]
    best, reason = recommend(rows, wanted, [_short(key) for key in grid])
    if dropped:
        reason = f"{reason} {dropped}"
    found = {_short(key): value for key, value in settings[best].items()}
    return ClusterChoice(rows, wanted, found, reason, model.set_params(**settings[best]))


# -- one setting


@dataclass(frozen=True)
class _Plan:
    model: Any
    views: Views
    seed: int
    n_repeats: int
    likelihood: bool


def _judge(plan: _Plan, setting: Mapping[str, Any]) -> Iterator[dict[str, float]]:
    """Yield the likelihood and stability of each repeat."""
    n_rows = len(plan.views)
    draws = list(subsamples(n_rows, 2 * plan.n_repeats, plan.seed))
    for r in range(plan.n_repeats):
        one, two = draws[2 * r], draws[2 * r + 1]
        here, there = np.full(n_rows, -1), np.full(n_rows, -1)
        # the two fits start from different seeds: what depends on the start is not stable either
        first = seeded(plan.model, plan.seed + 2 * r).set_params(**setting)
        here[one] = cluster_labels(first, plan.views[one])
        second = seeded(plan.model, plan.seed + 2 * r + 1).set_params(**setting)
        there[two] = cluster_labels(second, plan.views[two])
        both = np.intersect1d(one, two)
        part = _agreement(here[both], there[both])
        if plan.likelihood:
            outside = plan.views[np.setdiff1d(np.arange(n_rows), one)]
            part["likelihood"] = held_out_likelihood(first, outside, plan.seed + r)
        yield part


def _agreement(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """Adjusted Rand index, and information; 0 where there is one cluster only, which no resampling could change."""
    if min(len(np.unique(a)), len(np.unique(b))) < 2:
        return {"stability": 0.0, "information": 0.0}
    spread = (_entropy(a) + _entropy(b)) / 2
    again = float(adjusted_mutual_info_score(a, b))
    return {"stability": float(adjusted_rand_score(a, b)), "information": spread * (2 * again - 1)}


def _entropy(labels: np.ndarray) -> float:
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-(shares * np.log(shares)).sum())


def held_out_likelihood(model: Any, views: Views, seed: int) -> float:
    """Mean log-likelihood of new objects under a fitted model: per token by completion, or per object.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> X = Views(words=np.array([[4.0, 0.0], [0.0, 4.0]] * 10))
    >>> two, one = (LinkPLSA(k, random_state=0).fit(X) for k in (2, 1))
    >>> held_out_likelihood(two, X, 0) > held_out_likelihood(one, X, 0)
    True
    """
    if not hasattr(model, "topic_feature_"):
        return float(model.score(views))
    seen, asked = {}, {}
    rng = np.random.default_rng(seed)
    for name, matrix in views.items():
        seen[name], asked[name] = _halves(matrix, rng)
    given = Views(seen, ids=views.ids, present=views.present, feature_names=views.feature_names)
    by_view = hasattr(model, "transform_by_view")
    mixtures = model.transform_by_view(given) if by_view else model.transform(given)
    total = mass = 0.0
    for v, name in enumerate(model.view_names_):
        profiles = _profiles(model, name, v)
        mixture = np.asarray(mixtures[name] if by_view else mixtures)
        total += _log_likelihood(asked[name], mixture, profiles)
        mass += float(asked[name].sum())
    return total / mass if mass else 0.0


def _profiles(model: Any, name: str, v: int) -> np.ndarray:
    """p(feature | component) of one view, up to a factor by component: components x features."""
    profiles = model.topic_feature_[name]
    if hasattr(model, "topic_view_"):  # one distribution over the features of all views
        profiles = model.topic_view_[:, [v]] * profiles
    return model.cluster_topic_[name] @ profiles if hasattr(model, "cluster_topic_") else profiles


def _halves(matrix: Any, rng: np.random.Generator) -> tuple[Any, sparse.csr_array]:
    """Deal the tokens of counts, or the entries of other values, into two matrices."""
    whole = sparse.csr_array(matrix, copy=True)
    whole.sum_duplicates()
    values = whole.data
    if np.array_equal(values, np.round(values)):
        one = rng.binomial(values.astype(np.int64), 0.5).astype(values.dtype)
    else:
        one = np.where(rng.random(len(values)) < 0.5, values, 0).astype(values.dtype)
    parts = []
    for part in (one, values - one):
        # copies: eliminate_zeros works in place, and the other half needs the indices too
        parts.append(sparse.csr_array((part, whole.indices.copy(), whole.indptr.copy()), shape=whole.shape))
        parts[-1].eliminate_zeros()
    return parts[0], parts[1]


def _log_likelihood(asked: sparse.csr_array, mixture: np.ndarray, profiles: np.ndarray) -> float:
    """Sum of x log p over the non-zeros, some rows at a time: p of all features of some objects is small enough."""
    total, n_features = 0.0, asked.shape[1]
    for start in range(0, asked.shape[0], BLOCK):
        part = sparse.coo_array(asked[start : start + BLOCK])
        if not part.nnz:
            continue
        expected = mixture[start : start + BLOCK].astype(np.float64) @ profiles
        expected /= np.maximum(expected.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        rows, columns = part.coords
        shares = (1 - SMOOTHING) * expected[rows, columns] + SMOOTHING / n_features
        total += float(part.data @ np.log(shares))
    return total


# -- what users write


def _default(views: Views) -> Any:
    if len(counted_views(views)) == len(views.names):
        return resolve("MultiViewPLSA")()
    return SpectralClusteringViews(form="stacked")


def _parameter(model: Any, names: tuple[str, ...]) -> str:
    """Full name of the parameter, the outermost of its name: of a pipeline, "links__weight"."""
    params = sorted(model.get_params(), key=lambda key: (key.count("__"), key))
    for name in names:
        for key in params:
            if key.rpartition("__")[2] == name:
                return key
    raise ValueError(f"{type(model).__name__} has no parameter {' or '.join(map(repr, names))} to choose.")


def _numbers(n_clusters: Any, n_rows: int) -> list[int]:
    if n_clusters is None:
        return list(range(2, max(min(10, n_rows // 2), 2) + 1))
    found = sorted({check_count("n_clusters", value) for value in _listed(n_clusters)})
    if not found:
        raise ValueError("n_clusters is empty. Give the numbers of clusters to try, as range(2, 11).")
    if found[-1] > n_rows // 2:
        raise ValueError(f"n_clusters goes up to {found[-1]}, which is too many for {n_rows} objects.")
    return found


def _listed(value: Any) -> list[Any]:
    # a dict is one value: a coupling for each pair of views
    return [value] if isinstance(value, (str, Mapping)) or not hasattr(value, "__iter__") else list(value)


def _criteria(criteria: Sequence[str] | str, model: Any) -> tuple[list[str], str]:
    """Criteria to use, and a sentence on the one that the model cannot serve."""
    wanted = [criteria] if isinstance(criteria, str) else list(criteria)
    for name in wanted:
        if name not in KNOWN:
            raise ValueError(f"criteria must be of {', '.join(KNOWN)}, got {name!r}.")
    if not wanted:
        raise ValueError("criteria is empty. Choose by 'likelihood', 'stability' or both.")
    if "likelihood" not in wanted or _has_likelihood(model):
        return wanted, ""
    said = f"{type(model).__name__} has no likelihood"
    if len(wanted) == 1:
        raise ValueError(f"{said}; use criteria='stability'.")
    left = [name for name in wanted if name != "likelihood"]
    return left, f"{said}, so that {' and '.join(left)} alone {'decides' if len(left) == 1 else 'decide'}."


def _has_likelihood(model: Any) -> bool:
    inner = getattr(model, "estimator", None)
    return hasattr(model, "perplexity") or any(hasattr(part, "bic") for part in (model, inner))


def _short(key: str) -> str:
    name = key.rpartition("__")[2]
    return "n_clusters" if name == "n_components" else name


def _row(setting: Mapping[str, Any], outcome: Outcome, criteria: list[str]) -> dict[str, Any]:
    row: dict[str, Any] = {_short(key): value for key, value in setting.items()}
    for name in criteria:
        values = [part[name] for part in outcome.parts] if outcome.status == "done" else []
        row[name] = float(np.mean(values)) if values else math.nan
        row[f"{name}_error"] = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
        row[f"{name}_values"] = values
    return {**row, "status": outcome.status, "seconds": outcome.seconds, "note": outcome.note}
