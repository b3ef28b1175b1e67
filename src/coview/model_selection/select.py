"""`select_clusters`: how many clusters, by held-out likelihood and by stability.

Each repeat draws two subsamples of the objects. The model is fitted on both:

    likelihood  of objects outside the first one. Of topic models by completion: each object's tokens are dealt into two
                halves, its mixture is found from one, and the other is scored, per token. (Scored on what the mixture
                was found from, more topics would always look better.)
    stability   adjusted Rand index of the two clusterings, on the objects that both subsamples have
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import adjusted_rand_score

from coview.auto.preparation import counted_views
from coview.catalog import resolve
from coview.clustering.spectral import SpectralClusteringViews
from coview.inspection import inspect
from coview.inspection.reading import expected_features
from coview.model_selection.jobs import JobOutcome, run_jobs, show_jobs
from coview.model_selection.methods import set_seed
from coview.model_selection.scores import cluster_labels
from coview.model_selection.splits import draw_subsamples
from coview.model_selection.table import RowTable
from coview.utils.loading import load_matplotlib
from coview.utils.progress import is_shown
from coview.validation import base_seed, check_count
from coview.views.arrays import split_counts
from coview.views.coerce import check_in_memory
from coview.views.views import Views

__all__ = ["ClusterChoice", "recommend", "select_clusters"]

SMOOTHING = 0.01  # share of an even distribution: features that no training object has must not cost everything
NEAR = 0.02  # smaller differences say nothing: of the adjusted Rand index, or as a share of all that likelihood gained
TITLES = {"likelihood": "held-out likelihood", "stability": "stability (adjusted Rand index)"}


def select_clusters(
    X: Any,
    estimator: Any = None,
    n_clusters: Any = None,
    *,
    n_repeats: int = 5,
    time_budget: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int | None = None,
) -> ClusterChoice:
    """Choose the number of clusters without labels.

    Parameters
    ----------
    X : Views or what becomes Views
        The objects.
    estimator : clusterer or topic model, optional
        Any with a parameter ``n_clusters`` or ``n_components`` (also inside a pipeline or a wrapper). By default
        `MultiViewPLSA` where all views hold counts (nothing negative, at least half of it zeros), and otherwise
        `SpectralClusteringViews` of all graphs stacked, which has no likelihood.
    n_clusters : iterable of int, optional
        Numbers to try; by default 2 to 10, or to half the number of objects.
    n_repeats : int, default=5
        Pairs of subsamples; each number is fitted twice as often.
    time_budget : float or None, default=None
        Seconds for all repeats of one number. One that takes longer is stopped, and not recommended.
    n_jobs : int or None, default=None
        Numbers at a time, each in a process of its own; None is all cores, 1 without a budget stays in this process.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the subsamples and of the fits.
    verbose : int or None, default=None
        1 shows a line per number while they run, 0 does not; None does in notebooks and on the command line.

    Returns
    -------
    ClusterChoice
        The table (``rows``, ``frame``), ``plot()``, the recommended number (``best_``) and why (``reason``).

    Notes
    -----
    The smallest number that is near the best by held-out likelihood and by stability: within one standard error, or by
    so little that it does not matter. Where there is none, the best mean rank. Models that have no likelihood, such as
    k-means, are chosen by stability alone: the largest number that is near the best, as few large clusters are easily
    stable.

    Likelihood grows with every topic that describes objects better, also within a cluster, so that it may ask for more
    clusters than a person would. Stability asks only what is found again, and that is easiest for a few large
    clusters: of ten handwritten digits k-means may take 4, where graphs of neighbors find 10.

    Examples
    --------
    >>> from coview import select_clusters
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(150, n_clusters=3, n_features=60, random_state=0).views
    >>> choice = select_clusters(X, n_clusters=[2, 3, 4], n_repeats=2, n_jobs=1, random_state=0)
    >>> choice.best_
    3
    """
    if estimator is not None and not isinstance(estimator, BaseEstimator):
        raise TypeError(
            f"estimator must be a clusterer, got {estimator!r}. The numbers to try are n_clusters=range(2, 9)."
        )
    views = check_in_memory(X, "select_clusters", "Choose")
    model = _default_model(views) if estimator is None else clone(estimator)
    size = _size_parameter(model)
    numbers = _check_numbers(n_clusters, len(views))
    check_count("n_repeats", n_repeats)
    plan = _Plan(model, views, base_seed(random_state), n_repeats)
    jobs = [(n_repeats, {size: number}) for number in numbers]
    names = [f"n_clusters={number}" for number in numbers]
    progress: Any = show_jobs(names, n_repeats, "stability") if is_shown(verbose) else nullcontext()
    with progress as watch:
        outcomes = run_jobs(_judge, plan, jobs, n_jobs=n_jobs, budget=time_budget, watch=watch)
    # a model either has a likelihood for all numbers or for none; failed ones do not tell
    judged = any("likelihood" in part for outcome in outcomes for part in outcome.parts)
    criteria = ["likelihood", "stability"] if judged else ["stability"]
    rows = [_row(number, outcome, criteria) for number, outcome in zip(numbers, outcomes)]
    best, reason = recommend(rows, criteria)
    return ClusterChoice(rows, criteria, numbers[best], reason, model.set_params(**{size: numbers[best]}))


class ClusterChoice(RowTable):
    """Result of `select_clusters`.

    Attributes
    ----------
    rows : list of dict
        By number: "n_clusters", the mean of each criterion (``stability``), its standard error (``stability_error``)
        and its values by repeat (``stability_values``), "repeats" (how many were finished), "status", "seconds" and
        "note".
    best_ : int
        The recommended number of clusters.
    reason : str
        Why.
    criteria : list of str
        What was chosen by.

    Examples
    --------
    >>> rows = [{"n_clusters": k, "stability": s, "stability_error": 0.01, "status": "done", "note": ""}
    ...         for k, s in ((2, 0.5), (3, 0.9))]
    >>> best, reason = recommend(rows, ["stability"])
    >>> reason
    'n_clusters=3: stability (adjusted Rand index) is best there (0.900).'
    """

    def __init__(
        self, rows: list[dict[str, Any]], criteria: list[str], best: int, reason: str, estimator: Any = None
    ) -> None:
        self.rows, self.criteria, self.best_, self.reason = rows, criteria, best, reason
        self._estimator = estimator

    def best_estimator(self) -> Any:
        """Return an unfitted estimator with the recommended number of clusters."""
        return clone(self._estimator)

    def plot(self, figure: Any = None) -> Any:
        """Plot each criterion over the number of clusters, and mark the recommendation.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            Where to draw.

        Returns
        -------
        matplotlib Figure
        """
        if figure is None:
            figure = load_matplotlib("figure").Figure(figsize=(4.2 * len(self.criteria), 3.2), layout="constrained")
        rows = [row for row in self.rows if row["repeats"]]
        panels = figure.subplots(1, len(self.criteria), squeeze=False)[0]
        for panel, name in zip(panels, self.criteria):
            errors = [np.nan_to_num(row[f"{name}_error"]) for row in rows]
            panel.errorbar(
                [row["n_clusters"] for row in rows], [row[name] for row in rows], errors, fmt="o-", capsize=2
            )
            panel.axvline(self.best_, color="#d9822b", lw=1, ls="--")
            panel.set(xlabel="n clusters", title=TITLES[name])
            panel.spines[["top", "right"]].set_visible(False)
        return figure

    def __repr__(self) -> str:
        return f"ClusterChoice of {len(self.rows)} numbers: {self.reason}"

    def _content(self) -> dict[str, Any]:
        return {"best": self.best_, "reason": self.reason, "criteria": self.criteria, "rows": self.rows}

    def _head(self) -> list[str]:
        return ["n_clusters", *self.criteria, "repeats", "seconds", "note"]

    def _cells(self, row: Mapping[str, Any]) -> list[str]:
        values = [f"{row[name]:.3f} ± {row[f'{name}_error']:.3f}" if row["repeats"] else "" for name in self.criteria]
        note = "recommended" if row["n_clusters"] == self.best_ else row["note"]
        return [str(row["n_clusters"]), *values, str(row["repeats"]), f"{row['seconds']:.1f}", note]


def recommend(rows: Sequence[dict[str, Any]], criteria: Sequence[str]) -> tuple[int, str]:
    """Return the position of the row to take, and why in a sentence.

    A row is near the best by a criterion when it is at most one standard error below it, or .02 of the adjusted Rand
    index, or .02 of the range of likelihoods.
    """
    done = [i for i, row in enumerate(rows) if row["status"] == "done"]
    if not done:
        note = next((row["note"] for row in rows if row["note"]), "")
        raise ValueError(f"No number of clusters could be judged. {note}")
    tops = {name: max(done, key=lambda i: rows[i][name]) for name in criteria}
    near = {name: [i for i in done if _is_near(rows, done, i, tops[name], name)] for name in criteria}
    common = [i for i in done if all(i in near[name] for name in criteria)]
    clash = ""
    if list(criteria) == ["stability"]:
        # few large clusters are easily stable: of equals, the finest
        best = max(near["stability"], key=lambda i: rows[i]["n_clusters"])
    elif common:
        # both criteria agree that these are as good: the simplest, by the rule of one standard error
        best = min(common, key=lambda i: rows[i]["n_clusters"])
    else:
        ranks = {i: sum(rows[j][name] > rows[i][name] for j in done for name in criteria) for i in done}
        best = min(done, key=lambda i: (ranks[i], rows[i]["n_clusters"]))
        clash = " The criteria disagree; this number has the best mean rank."
    reasons = "; ".join(_explain(rows[best], rows[tops[name]], name, best in near[name]) for name in criteria)
    return best, f"n_clusters={rows[best]['n_clusters']}: {reasons}.{clash}"


def _is_near(rows: Sequence[dict[str, Any]], done: Sequence[int], i: int, top: int, name: str) -> bool:
    """Less than one standard error below the best, or by so little that it does not matter."""
    gap = rows[top][name] - rows[i][name]
    span = rows[top][name] - min(rows[j][name] for j in done)
    least = NEAR if name == "stability" else NEAR * span
    return bool(gap <= max(np.nan_to_num(rows[top][f"{name}_error"]), least))


def _explain(best: dict[str, Any], top: dict[str, Any], name: str, is_near: bool) -> str:
    if best[name] >= top[name]:
        return f"{TITLES[name]} is best there ({best[name]:.3f})"
    how = "no worse within its error" if is_near else "worse"
    where = f"best at n_clusters={top['n_clusters']} ({top[name]:.3f})"
    return f"{TITLES[name]} is {where} and here {how} ({best[name]:.3f})"


# -- one number


@dataclass(frozen=True)
class _Plan:
    model: Any
    views: Views
    seed: int
    n_repeats: int


def _judge(call: Callable[..., Any], job: tuple[int, Mapping[str, Any]]) -> Iterator[dict[str, float]]:
    """Yield the criteria of each repeat of a setting, a job of `run_jobs` whose workers share the plan."""
    for r in range(job[0]):
        yield call(_repeat, job[1], r)


def _repeat(plan: _Plan, setting: Mapping[str, Any], r: int) -> dict[str, float]:
    n_rows = len(plan.views)
    # two overlapping samples, as Ben-Hur et al. (2002): a clustering that is there is found in both
    one, two = list(draw_subsamples(n_rows, 2 * plan.n_repeats, plan.seed))[2 * r : 2 * r + 2]
    here, there = np.full(n_rows, -1), np.full(n_rows, -1)
    # the two fits start from different seeds: what depends on the start is not stable either
    first, second = (set_seed(plan.model, plan.seed + 2 * r + i).set_params(**setting) for i in (0, 1))
    here[one] = cluster_labels(first, plan.views[one])
    there[two] = cluster_labels(second, plan.views[two])
    both = np.intersect1d(one, two)
    # one cluster only is always found again
    several = min(len(np.unique(here[both])), len(np.unique(there[both]))) > 1
    part = {"stability": float(adjusted_rand_score(here[both], there[both])) if several else 0.0}
    likelihood = compute_held_out_likelihood(first, plan.views[np.setdiff1d(np.arange(n_rows), one)], plan.seed + r)
    return part if likelihood is None else {**part, "likelihood": likelihood}


def compute_held_out_likelihood(model: Any, views: Views, seed: int) -> float | None:
    """Mean log-likelihood per token of new objects under a topic model, by completion; None of other models."""
    rng = np.random.default_rng(seed)
    # document completion (Wallach et al. 2009): one half tells the mixture, the other one is predicted
    halves = {name: split_counts(matrix, rng) for name, matrix in views.items()}
    known = {name: half for name, (half, _) in halves.items()}
    expected = expected_features(
        inspect(model), Views(known, ids=views.ids, present=views.present, feature_names=views.feature_names)
    )
    if not expected:
        return None
    total = sum(_compute_log_likelihood(halves[name][1], *parts) for name, parts in expected.items())
    mass = float(sum(halves[name][1].sum() for name in expected))
    return total / mass if mass else 0.0


def _compute_log_likelihood(asked: sparse.csr_array, mixture: np.ndarray, profiles: np.ndarray) -> float:
    """Sum of x log p over the non-zeros, 256 rows at a time: p of all features of so many objects is small enough."""
    total, n_features = 0.0, asked.shape[1]
    for start in range(0, asked.shape[0], 256):
        part = sparse.coo_array(asked[start : start + 256])
        if not part.nnz:
            continue
        expected = mixture[start : start + 256].astype(np.float64) @ profiles
        expected /= np.maximum(expected.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        rows, columns = part.coords
        # a word that no topic has would make the likelihood zero, whatever the rest
        shares = (1 - SMOOTHING) * expected[rows, columns] + SMOOTHING / n_features
        total += float(part.data @ np.log(shares))
    return total


# -- what users write


def _default_model(views: Views) -> Any:
    if len(counted_views(views)) == len(views.names):
        return resolve("MultiViewPLSA")()
    return SpectralClusteringViews(method="stacked")


def _size_parameter(model: Any) -> str:
    """Full name of the parameter, the outermost of its name: of a pipeline, "plsa__n_components"."""
    names = [key for key in model.get_params() if key.rpartition("__")[2] in ("n_clusters", "n_components")]
    if not names:
        raise ValueError(f"{type(model).__name__} has no parameter 'n_clusters' or 'n_components' to choose.")
    return min(names, key=lambda key: (key.count("__"), key.endswith("n_components")))


def _check_numbers(n_clusters: Any, n_rows: int) -> list[int]:
    if n_clusters is None:
        return list(range(2, max(min(10, n_rows // 2), 2) + 1))
    numbers = sorted({check_count("n_clusters", value) for value in np.atleast_1d(n_clusters).tolist()})
    if not numbers or numbers[-1] > n_rows // 2:
        raise ValueError(f"n_clusters must be numbers up to {n_rows // 2}, half of the objects, got {n_clusters!r}.")
    return numbers


def _row(number: int, outcome: JobOutcome, criteria: list[str]) -> dict[str, Any]:
    row: dict[str, Any] = {"n_clusters": number}
    for name in criteria:
        values = [part[name] for part in outcome.parts]
        row[name] = float(np.mean(values)) if values else math.nan
        row[f"{name}_error"] = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
        row[f"{name}_values"] = values
    return {
        **row,
        "repeats": len(outcome.parts),
        "status": outcome.status,
        "seconds": outcome.seconds,
        "note": outcome.note,
    }
