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

import html
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import entropy
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from coview.auto.candidates import counted_views
from coview.catalog import resolve
from coview.clustering.spectral import SpectralClusteringViews
from coview.inspection import inspect
from coview.model_selection.jobs import JobOutcome, JobProgress, run_jobs
from coview.model_selection.methods import seeded
from coview.model_selection.scores import cluster_labels
from coview.model_selection.splits import subsamples
from coview.model_selection.table import ResultTable
from coview.utils.messages import printable
from coview.utils.progress import is_shown
from coview.validation import base_seed, check_count
from coview.views.coerce import in_memory_views
from coview.views.views import Views

__all__ = ["ClusterChoice", "recommend", "select_clusters"]

CRITERIA = ("likelihood", "stability")
KNOWN = (*CRITERIA, "information")
SMOOTHING = 0.01  # share of an even distribution: features that no training object has must not cost everything
NEAR = 0.02  # smaller differences say nothing: of the adjusted Rand index, or as a share of all that likelihood gained
TITLES = {
    "likelihood": "held-out likelihood",
    "stability": "stability (adjusted Rand index)",
    "information": "reproduced information (nats)",
}
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
    verbose: int | None = None,
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
        Seconds for all repeats of one setting, without those in which kernels are compiled. A setting that takes longer
        is stopped, and judged by the repeats that it finished; a warning says so.
    n_jobs : int or None, default=None
        Settings at a time, each in a process of its own; None is all cores, 1 without a budget stays in this process.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the subsamples and of the fits.
    verbose : int or None, default=None
        1 shows a line per setting while they run, 0 does not; None does in notebooks and on the command line.

    Returns
    -------
    ClusterChoice
        The table (``rows``, ``frame``), ``plot()``, the recommended values (``best_``) and why (``reason``).

    Notes
    -----
    Likelihood, or information: the smallest number of clusters within one standard error of the best. Stability: the
    largest one within one standard error (and .02) of the best. Several: the smallest one that is near the best by all;
    where there is none, the best mean rank.

    A setting that ran out of time is compared by the mean over the repeats that it finished. Which settings were judged
    by fewer repeats than asked for, or not at all, is in ``reason``, in the column "repeats", and in a warning.

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
    if isinstance(X, BaseEstimator):
        raise TypeError(f"select_clusters takes the data first, got {type(X).__name__}: select_clusters(X, estimator).")
    if estimator is not None and not isinstance(estimator, BaseEstimator):
        raise TypeError(
            f"estimator must be a clusterer, got {estimator!r}. The numbers to try are n_clusters=range(2, 9)."
        )
    views = in_memory_views(X, "select_clusters", "Choose")
    model = _default(views) if estimator is None else clone(estimator)
    size = _parameter(model, ("n_clusters", "n_components"))
    grid: dict[str, list[Any]] = {size: _numbers(n_clusters, len(views))}
    if coupling is not None:
        grid[_parameter(model, ("coupling",))] = _listed(coupling)
    wanted = _criteria(criteria)
    check_count("n_repeats", n_repeats)
    seed = base_seed(random_state)
    settings = [dict(zip(grid, values)) for values in product(*grid.values())]
    plan = _Plan(model, views, seed, n_repeats, wanted)
    jobs = [(n_repeats, setting) for setting in settings]
    names = [", ".join(f"{_short(key)}={value}" for key, value in setting.items()) for setting in settings]
    progress: Any = JobProgress(names, n_repeats, wanted[0]) if is_shown(verbose) else nullcontext()
    with progress as watch:
        outcomes = run_jobs(_judge, plan, jobs, n_jobs=n_jobs, budget=time_budget, watch=watch)
    parts = [part for outcome in outcomes for part in outcome.parts]
    used = [name for name in wanted if not parts or name in parts[0]]
    rows = [_row(setting, outcome, used) for setting, outcome in zip(settings, outcomes)]
    best, reason = recommend(rows, used, [_short(key) for key in grid])
    if used != wanted:
        verb = "decides" if len(used) == 1 else "decide"
        reason = f"{reason} {type(model).__name__} has no likelihood, so {' and '.join(used)} alone {verb}."
    if gaps := incomplete(rows, n_repeats, [_short(key) for key in grid]):
        reason = f"{reason} {gaps}"
        late = any(row["status"] == "over budget" for row in rows)
        advice = " Raise time_budget, or lower n_repeats." if late else ""
        warnings.warn(f"The recommendation rests on incomplete evidence. {gaps}{advice}", UserWarning, stacklevel=2)
    values = {_short(key): value for key, value in settings[best].items()}
    return ClusterChoice(rows, used, values, reason, model.set_params(**settings[best]))


# -- the answer


class ClusterChoice(ResultTable):
    """Result of `select_clusters`.

    Attributes
    ----------
    rows : list of dict
        By setting: its values, the mean of each criterion (``stability``), its standard error (``stability_error``) and
        its values by repeat (``stability_values``), "repeats" (how many were finished), "status", "seconds" and "note".
    best_ : dict
        The recommended values.
    reason : str
        Why, and what could not be judged.
    criteria : list of str
        What was chosen by.

    Examples
    --------
    >>> rows = [{"n_clusters": k, "stability": s, "stability_error": 0.01, "stability_values": [s, s]}
    ...         for k, s in ((2, 0.5), (3, 0.9))]
    >>> best, reason = recommend(rows, ["stability"], ["n_clusters"])
    >>> reason
    'n_clusters=3: stability (adjusted Rand index) is best there (0.900).'
    """

    def __init__(
        self, rows: list[dict[str, Any]], criteria: list[str], best: dict[str, Any], reason: str, estimator: Any = None
    ) -> None:
        self.rows, self.criteria, self.best_, self.reason = rows, criteria, best, reason
        self._estimator = estimator

    def best_estimator(self) -> Any:
        """Return an unfitted estimator with the recommended parameters."""
        return clone(self._estimator)

    def plot(self, figure: Any = None) -> Any:
        """Plot each criterion over the number of clusters, one line per coupling, and mark the recommendation.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            Where to draw.

        Returns
        -------
        matplotlib Figure
        """
        if figure is None:
            from matplotlib.figure import Figure

            figure = Figure(figsize=(4.2 * len(self.criteria), 3.2), layout="constrained")
        across = "n_clusters"
        if "coupling" in self.best_ and len({row["n_clusters"] for row in self.rows}) == 1:
            across = "coupling"
        other: Any = next((name for name in self.best_ if name != across), None)
        lines = list(dict.fromkeys(str(row.get(other)) for row in self.rows))
        panels = np.ravel(figure.subplots(1, len(self.criteria), squeeze=False))
        for panel, name in zip(panels, self.criteria):
            for line in lines:
                mine = [row for row in self.rows if str(row.get(other)) == line and math.isfinite(row[name])]
                error = [np.nan_to_num(row[f"{name}_error"]) for row in mine]
                label = None if other is None or len(lines) == 1 else f"{other} {line}"
                panel.errorbar([str(row[across]) for row in mine], [row[name] for row in mine], error, fmt="o-", ms=4,
                               lw=1.4, capsize=2, label=label)  # fmt: skip
            panel.axvline(str(self.best_[across]), color="#d9822b", lw=1, ls="--")
            panel.set(xlabel=across.replace("_", " "), title=TITLES[name])
            panel.spines[["top", "right"]].set_visible(False)
            if other is not None and len(lines) > 1:
                panel.legend(frameon=False, fontsize=8)
        return figure

    def _content(self) -> dict[str, Any]:
        return {"best": self.best_, "reason": self.reason, "criteria": self.criteria, "rows": self.rows}

    def __repr__(self) -> str:
        return f"ClusterChoice of {len(self.rows)} settings: {self.reason}"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._head())
        lines = []
        for row in self.rows:
            cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in self._cells(row))
            bold = ' style="font-weight: bold"' if self._is_best(row) else ""
            lines.append(f"<tr{bold}>{cells}</tr>")
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        return f"{table}<p>{html.escape(self.reason)}</p>"

    def _table(self, whole_names: bool = False) -> Any:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD, caption=Text(printable(self.reason)), caption_justify="left", pad_edge=False)
        for name in self._head():
            table.add_column(name, justify="left" if name == "note" else "right", overflow="fold")
        for row in self.rows:
            cells = (Text(printable(cell)) for cell in self._cells(row))
            table.add_row(*cells, style="bold" if self._is_best(row) else None)
        return table

    def _head(self) -> list[str]:
        return [*self.best_, *self.criteria, "repeats", "seconds", "note"]

    def _is_best(self, row: dict[str, Any]) -> bool:
        return all(row[name] == value for name, value in self.best_.items())

    def _cells(self, row: dict[str, Any]) -> list[str]:
        values = [_figure(row[name], row[f"{name}_error"]) for name in self.criteria]
        note = "" if row["status"] == "done" else f"{row['status']}: {row['note']}"
        note = ", ".join(filter(None, ["recommended" if self._is_best(row) else "", note]))
        return [*(f"{row[name]}" for name in self.best_), *values, f"{row['repeats']}", f"{row['seconds']:.1f}", note]


def recommend(rows: Sequence[dict[str, Any]], criteria: Sequence[str], names: Sequence[str]) -> tuple[int, str]:
    """Return the position of the row to take, and why in a sentence.

    A row is near the best by a criterion when it is at most one standard error below it, or .02 of the adjusted Rand
    index, or .02 of the range of the others.
    """
    usable = [i for i, row in enumerate(rows) if all(math.isfinite(row[name]) for name in criteria)]
    if not usable:
        note = next((row["note"] for row in rows if row.get("note")), "")
        raise ValueError(f"No setting could be fitted. {note}".strip())
    tops = {name: max(usable, key=lambda i: rows[i][name]) for name in criteria}
    near = {name: [i for i in usable if _is_near(rows, usable, i, tops[name], name)] for name in criteria}
    common = [i for i in usable if all(i in near[name] for name in criteria)]
    clash = ""
    if list(criteria) == ["stability"]:
        # few large clusters are easily stable: of equals, the finest
        best = max(near["stability"], key=lambda i: (rows[i]["n_clusters"], rows[i]["stability"]))
    elif common:
        best = min(common, key=lambda i: (rows[i]["n_clusters"], *(-rows[i][name] for name in reversed(criteria))))
    else:
        ranks = {i: sum(sum(rows[j][name] > rows[i][name] for j in usable) for name in criteria) for i in usable}
        best = min(usable, key=lambda i: (ranks[i], rows[i]["n_clusters"]))
        clash = " The criteria disagree; this setting has the best mean rank."
    reasons = "; ".join(_why(rows, best, tops[name], name, names, best in near[name]) for name in criteria)
    return best, f"{_setting(rows[best], names)}: {reasons}.{clash}"


def incomplete(rows: Sequence[dict[str, Any]], n_repeats: int, names: Sequence[str]) -> str:
    """Say which settings were judged by fewer repeats than asked for, or not at all; empty if none.

    Examples
    --------
    >>> rows = [{"n_clusters": k, "repeats": r, "status": s}
    ...         for k, r, s in ((2, 5, "done"), (3, 1, "over budget"), (4, 0, "over budget"))]
    >>> incomplete(rows, 5, ["n_clusters"])
    'Judged by fewer than 5 repeats: n_clusters=3 (1). Not judged: n_clusters=4 (over budget).'
    """
    some = [f"{_setting(row, names)} ({row['repeats']})" for row in rows if 0 < row["repeats"] < n_repeats]
    none = [f"{_setting(row, names)} ({row['status']})" for row in rows if not row["repeats"]]
    sentences = [f"Judged by fewer than {n_repeats} repeats: {', '.join(some)}."] if some else []
    return " ".join([*sentences, f"Not judged: {', '.join(none)}."] if none else sentences)


def _figure(mean: float, error: float) -> str:
    """Mean and standard error as text; one repeat has no error, and none has no mean.

    Examples
    --------
    >>> _figure(0.5, 0.01), _figure(0.5, math.nan), _figure(math.nan, math.nan)
    ('0.500 ± 0.010', '0.500', '')
    """
    if math.isnan(mean):
        return ""
    return f"{mean:.3f}" if math.isnan(error) else f"{mean:.3f} ± {error:.3f}"


def _is_near(rows: Sequence[dict[str, Any]], usable: Sequence[int], i: int, top: int, name: str) -> bool:
    """Less than one standard error below the best, or by so little that it does not matter."""
    gap = rows[top][name] - rows[i][name]
    span = rows[top][name] - min(rows[j][name] for j in usable)
    least = NEAR if name == "stability" else NEAR * span
    return bool(gap <= max(np.nan_to_num(rows[top][f"{name}_error"]), least))


def _why(rows: Sequence[dict[str, Any]], best: int, top: int, name: str, names: Sequence[str], is_near: bool) -> str:
    value = f"{rows[best][name]:.3f}"
    if rows[best][name] >= rows[top][name]:
        return f"{TITLES[name]} is best there ({value})"
    how = "no worse within its error" if is_near else "worse"
    return f"{TITLES[name]} is best at {_setting(rows[top], names)} ({rows[top][name]:.3f}) and here {how} ({value})"


def _setting(row: dict[str, Any], names: Sequence[str]) -> str:
    return ", ".join(f"{name}={row[name]}" for name in names)


# -- one setting


@dataclass(frozen=True)
class _Plan:
    model: Any
    views: Views
    seed: int
    n_repeats: int
    criteria: list[str]


def _judge(call: Callable[..., Any], job: tuple[int, Mapping[str, Any]]) -> Iterator[dict[str, float]]:
    """Yield the criteria of each repeat of a setting, a job of `run_jobs` whose workers share the plan."""
    for r in range(job[0]):
        yield call(_repeat, job[1], r)


def _repeat(plan: _Plan, setting: Mapping[str, Any], r: int) -> dict[str, float]:
    n_rows = len(plan.views)
    one, two = list(subsamples(n_rows, 2 * plan.n_repeats, plan.seed))[2 * r : 2 * r + 2]
    here, there = np.full(n_rows, -1), np.full(n_rows, -1)
    # the two fits start from different seeds: what depends on the start is not stable either
    first, second = (seeded(plan.model, plan.seed + 2 * r + i).set_params(**setting) for i in (0, 1))
    here[one] = cluster_labels(first, plan.views[one])
    if "likelihood" in plan.criteria:
        likelihood = held_out_likelihood(first, plan.views[np.setdiff1d(np.arange(n_rows), one)], plan.seed + r)
        if likelihood is None and len(plan.criteria) == 1:
            raise ValueError(f"{type(plan.model).__name__} has no likelihood; use criteria='stability'.")
    there[two] = cluster_labels(second, plan.views[two])
    both = np.intersect1d(one, two)
    part = _agreement(here[both], there[both])
    return part if "likelihood" not in plan.criteria or likelihood is None else {**part, "likelihood": likelihood}


def _agreement(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """Adjusted Rand index, and information; 0 where there is one cluster only, which no resampling could change."""
    if min(len(np.unique(a)), len(np.unique(b))) < 2:
        return {"stability": 0.0, "information": 0.0}
    spread = float(np.mean([entropy(np.unique(labels, return_counts=True)[1]) for labels in (a, b)]))
    again = float(adjusted_mutual_info_score(a, b))
    return {"stability": float(adjusted_rand_score(a, b)), "information": spread * (2 * again - 1)}


def held_out_likelihood(model: Any, views: Views, seed: int) -> float | None:
    """Mean log-likelihood of new objects under a fitted model: per token by completion, or per object; None without."""
    fitted = inspect(model)
    density = fitted.log_likelihood(views)
    if density is not None:
        return density
    rng = np.random.default_rng(seed)
    halves = {name: _halves(matrix, rng) for name, matrix in views.items()}
    known = {name: half for name, (half, _) in halves.items()}
    expected = fitted.expected(Views(known, ids=views.ids, present=views.present, feature_names=views.feature_names))
    if not expected:
        return None
    total = sum(_log_likelihood(halves[name][1], *parts) for name, parts in expected.items())
    mass = float(sum(halves[name][1].sum() for name in expected))
    return total / mass if mass else 0.0


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
    return SpectralClusteringViews(method="stacked")


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
    numbers = sorted({check_count("n_clusters", value) for value in _listed(n_clusters)})
    if not numbers:
        raise ValueError("n_clusters is empty. Pass the numbers of clusters to try, such as range(2, 11).")
    if numbers[-1] > n_rows // 2:
        raise ValueError(f"n_clusters goes up to {numbers[-1]}, which is too many clusters for {n_rows} objects.")
    return numbers


def _listed(value: Any) -> list[Any]:
    # a dict is one value: a coupling for each pair of views
    if isinstance(value, (str, type, Mapping)) or not isinstance(value, Iterable):
        return [value]
    return list(np.atleast_1d(value)) if isinstance(value, np.ndarray) else list(value)


def _criteria(criteria: Sequence[str] | str) -> list[str]:
    wanted = _listed(criteria)
    for name in wanted:
        if not isinstance(name, str) or name not in KNOWN:
            raise ValueError(f"criteria must be of {', '.join(KNOWN)}, got {name!r}.")
    if not wanted:
        raise ValueError("criteria is empty. Choose by 'likelihood', 'stability' or both.")
    return wanted


def _short(key: str) -> str:
    name = key.rpartition("__")[2]
    return "n_clusters" if name == "n_components" else name


def _row(setting: Mapping[str, Any], outcome: JobOutcome, criteria: list[str]) -> dict[str, Any]:
    """Means over the finished repeats; those of a setting that failed in one do not count, as something is wrong."""
    row: dict[str, Any] = {_short(key): value for key, value in setting.items()}
    parts = [] if outcome.status == "failed" else outcome.parts
    for name in criteria:
        values = [part[name] for part in parts]
        row[name] = float(np.mean(values)) if values else math.nan
        row[f"{name}_error"] = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
        row[f"{name}_values"] = values
    return {**row, "repeats": len(parts), "status": outcome.status, "seconds": outcome.seconds, "note": outcome.note}
