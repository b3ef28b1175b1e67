"""`compare`: every applicable method and every baseline on the same data, side by side."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np

from coview.classification.wrapper import unlabeled_as_minus_one
from coview.exceptions import InterruptedFitWarning, ParameterError, ViewsError
from coview.model_selection.jobs import JobOutcome, JobProgress, run_jobs
from coview.model_selection.methods import Method, applicable_methods, selected_methods
from coview.model_selection.scores import Task, check_scoring, evaluate
from coview.model_selection.splits import few_label_splits, folds, subsamples
from coview.model_selection.table import UNFINISHED, Comparison
from coview.utils.messages import short
from coview.utils.parameters import SECONDS, check_value
from coview.utils.progress import is_shown
from coview.validation import (
    base_seed,
    check_count,
    check_enough_objects,
    check_option,
    encode_labels,
    is_plus_minus_one,
    minus_one_is_unlabeled,
)
from coview.views.checks import check_same_order
from coview.views.coerce import in_memory_views
from coview.views.views import Views

__all__ = ["compare"]


def compare(
    X: Any,
    y: Any = None,
    *,
    task: str | None = None,
    methods: Any = None,
    cv: Any = None,
    n_repeats: int = 5,
    groups: Any = None,
    scoring: Any = None,
    n_clusters: int | None = None,
    links: Any = None,
    label_share: float | None = None,
    time_budget: float | None = 60.0,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int | None = None,
) -> Comparison:
    """Compare every applicable method and baseline on your own data.

    With all objects labeled, methods are cross-validated. With some of them labeled, all objects are given, a part of
    the known labels is hidden, and the methods are asked for it. With ``task="clustering"`` the clusters are found
    without y and held against it. Without y there are only internal indices, which say less.

    Parameters
    ----------
    X : Views or what becomes Views
        The objects: sparse or dense, frames, with missing views. Methods that refuse them are listed with their reason.
    y : array-like, optional
        Classes; -1, None, NaN or "" where an object has no label. In labels of -1 and 1 alone, -1 is a class if all
        chosen methods are supervised; otherwise they are refused.
    task : {None, "classification", "few_labels", "clustering"}, default=None
        What to find; by default it follows from y.
    methods : names, patterns, estimators or {name: estimator}, optional
        What to compare, as ``["MultiView*", "baselines", MultiViewNaiveBayes(alpha=0.1)]``. Names are those of the
        table, or "methods", "candidates" (of `AutoClassifier`), "baselines", "links" for all of a kind. By default
        everything.
    cv : int or splitter, optional
        Folds of the labeled objects: their number, or a splitter of scikit-learn. By default 5 where all objects are
        labeled, and where there are groups. With few labels, the labels of each test fold are hidden in turn.
    n_repeats : int, default=5
        Repeats where there are no folds: random splits of few labels, seeds of the clusterings that are held against
        y, or subsamples of the objects without y.
    groups : array-like, optional
        Objects of one group are never in training and test at once.
    scoring : str, callable, list or {name: scorer}, optional
        Scores of scikit-learn, or for clusters "nmi", "accuracy", "pairwise_f1", "ari" or functions of classes and
        clusters. The first one ranks. By default accuracy and macro-F1; for clusters the first three.
    n_clusters : int, optional
        Number of clusters; by default the number of classes in y.
    links : str or dict, optional
        View of links among the objects: adds every method behind `NeighborViews`, so that it can be seen whether links
        help or mislead. A dict holds its parameters, as ``{"links": "cites", "hops": 1}``.
    label_share : float, optional
        With all or many labels known: keep only this share of each class (one object at least), as if labels were few,
        and ask for the others.
    time_budget : float or None, default=60
        Seconds for each method, all splits together. What takes longer is stopped and listed as not finished, with the
        number of splits that were done and without a mean. None sets no limit.
    n_jobs : int or None, default=None
        Methods at a time, each in a process of its own; None is all cores. With n_jobs=1 and no budget they run in this
        process.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the splits and of the methods; the same seed gives the same scores, whatever n_jobs is.
    verbose : int or None, default=None
        1 shows a line per method while they run, 0 does not; None does in notebooks and on the command line.

    Returns
    -------
    Comparison
        The table, the best first: print it, ``.plot()``, ``.frame``, ``.to_json(path)``, ``.best_estimator()``.

    See Also
    --------
    select_clusters : how many clusters there are.

    Notes
    -----
    Methods run with default settings, on the views as they are given: put weights such as `TfidfViews` on first, or
    bring pipelines of your own. Transformers run with k-means or logistic regression behind them. "fit s" is the median
    over the splits. Columns such as ``accuracy[words]`` tell what the fitted method says from that view alone.

    Examples
    --------
    >>> from coview import compare
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(60, n_clusters=3, n_features=40, random_state=0)
    >>> result = compare(data.views, data.target, methods=["MultiViewNaiveBayes", "concatenated *"], cv=3,
    ...                  time_budget=None, n_jobs=1, random_state=0)
    >>> sorted(row["method"] for row in result.rows)[:2]
    ['MultiViewNaiveBayes', 'concatenated LinearSVC']
    >>> result.rows[0]["accuracy"] > 0.9
    True
    """
    views = in_memory_views(X, "compare", "Compare")
    for name, values in (("y", y), ("groups", groups)):
        check_same_order(X, values, name)
    if not len(views):
        raise ViewsError("X has 0 rows: there is nothing to compare on. Pass at least some objects.")
    seed = base_seed(random_state)
    check_value("time_budget", time_budget, SECONDS)
    semi_supervised = True
    if not isinstance(methods, (str, Mapping)) and isinstance(methods, Iterable):
        methods = np.atleast_1d(methods).tolist() if isinstance(methods, np.ndarray) else list(methods)  # read twice
    if y is not None and task in (None, "classification") and label_share is None and is_plus_minus_one(y):
        chosen = selected_methods(methods, applicable_methods(True, views, 2, links))
        semi_supervised = any(minus_one_is_unlabeled(method.estimator) for method in chosen)
    plan, n_groups = _task(
        views, y, task, cv, n_repeats, groups, scoring, n_clusters, label_share, seed, semi_supervised
    )
    if links is not None:
        views = _identified(views, links)
    classify = plan.kind in ("classification", "few_labels")
    selected = selected_methods(methods, applicable_methods(classify, views, n_groups, links))
    jobs = [(plan.kind, len(plan.splits), method) for method in selected]
    names, metrics = [method.name for method in selected], plan.metrics
    progress: Any = JobProgress(names, len(plan.splits), metrics[0]) if is_shown(verbose) else nullcontext()
    with progress as watch:
        outcomes = run_jobs(evaluate, (plan, views), jobs, n_jobs=n_jobs, budget=time_budget, watch=watch)
    if any(outcome.status == "stopped" for outcome in outcomes):
        warnings.warn(
            "compare was interrupted; the table contains the completed results.", InterruptedFitWarning, stacklevel=2
        )
    about = {
        "objects": len(views),
        "views": views.n_features,
        "labeled": None if plan.known is None else int(plan.known.sum()),
        "classes" if classify else "clusters": n_groups,
        "splits": len(plan.splits),
        "overlap": _overlap(plan) if classify else None,
        "label_share": label_share,
        "time_budget": time_budget,
        "seed": seed,
    }
    return Comparison(
        [_row(method, outcome, plan) for method, outcome in zip(selected, outcomes)],
        metrics,
        plan.kind,
        scores={name: outcome.parts for name, outcome in zip(names, outcomes)},
        estimators={method.name: method.estimator for method in selected},
        about=about,
    )


def _overlap(plan: Task) -> float:
    """Test objects per training object, by which Nadeau and Bengio correct a variance for training sets that overlap.

    Where fewer learn than are asked for, as with few labels, training sets hardly overlap: 1 is enough.
    """
    return min(1.0, float(np.mean([len(test) / len(train) for train, test in plan.splits])))


def _number(n_clusters: Any, n_rows: int) -> int:
    """Number of clusters, refused before every method by itself fails."""
    check_enough_objects(n_rows, check_count("n_clusters", n_clusters, 2))
    return int(n_clusters)


def _task(
    views: Views,
    y: Any,
    task: str | None,
    cv: Any,
    n_repeats: int,
    groups: Any,
    scoring: Any,
    n_clusters: int | None,
    share: float | None,
    seed: int,
    semi_supervised: bool,
) -> tuple[Task, int]:
    """What every method has to do, and the number of classes or clusters."""
    check_option("task", task, (None, "classification", "few_labels", "clustering"))
    check_count("n_repeats", n_repeats)
    if cv is not None and (y is None or task == "clustering"):
        raise ValueError(
            f"cv={short(cv)} splits labeled objects into folds, but clustering uses all objects. Use n_repeats instead."
        )
    if y is None:
        if task in ("classification", "few_labels"):
            raise ParameterError(
                f"The task {task!r} needs labels.",
                python="Pass y, with -1, None or NaN for unlabeled objects.",
                cli="Give --labels.",
            )
        if n_clusters is None:
            raise ParameterError(
                "compare needs the number of clusters.",
                python="Pass it, for example n_clusters=7, or let select_clusters(X) suggest it.",
                cli="Pass it, for example --clusters 7.",
            )
        if scoring is not None:
            raise ValueError("scoring requires y: without labels there is nothing to score against.")
        rows = [(rows, rows) for rows in subsamples(len(views), n_repeats, seed)]
        return Task("internal", splits=rows, seed=seed), _number(n_clusters, min(len(some) for some, _ in rows))
    codes, classes = encode_labels(y, len(views), semi_supervised=semi_supervised)
    known = codes >= 0
    kind = task or ("classification" if known.all() and share is None else "few_labels")
    if kind == "clustering":
        number = _number(len(classes) if n_clusters is None else n_clusters, len(views))
        same = np.arange(len(views))
        plan = Task(kind, classes[codes], known, scoring=check_scoring(scoring, True),
                    splits=[(same, same)] * n_repeats, seed=seed)  # fmt: skip
        return plan, number
    if len(classes) < 2:
        raise ParameterError(
            f"must hold at least 2 classes to compare classifiers, got 1 class ({short(classes[0])}).", parameter="y"
        )
    if kind == "classification":
        rows_known = np.flatnonzero(known)
        here = None if groups is None else np.asarray(groups)[rows_known]
        splits = [(rows_known[a], rows_known[b]) for a, b in folds(codes[rows_known], cv, here, seed)]
    else:
        splits = few_label_splits(codes, cv, n_repeats, groups, share, seed)
    hidden = unlabeled_as_minus_one(codes, classes)
    return Task(kind, classes[codes], known, hidden, splits, check_scoring(scoring, False), seed), len(classes)


def _identified(views: Views, links: Any) -> Views:
    """Views whose links are named by the objects' ids, so that parts of the objects know their neighbors."""
    name = links if isinstance(links, str) else links.get("links") if isinstance(links, dict) else None
    if name not in views or (views.ids is not None and name in views.feature_names):
        return views
    if views[name].shape[1] != len(views):
        return views  # NeighborViews says what is wrong
    ids = np.arange(len(views)).astype(str) if views.ids is None else views.ids
    names: dict[str, Any] = {**views.feature_names, str(name): ids.astype(str)}
    return Views(dict(views.items()), ids=ids.astype(str), present=views.present, feature_names=names)


def _row(method: Method, outcome: JobOutcome, plan: Task) -> dict[str, Any]:
    parts = outcome.parts
    row: dict[str, Any] = {"method": method.name, "group": method.group, "status": outcome.status}
    singles = [name for name in (parts[0] if parts else ()) if name.endswith("]")]
    for name in (*plan.metrics, *singles):
        values = [part[name] for part in parts]
        row[name] = float(np.mean(values)) if values else float("nan")
        row[f"{name}_std"] = float(np.std(values)) if values else float("nan")
    for name in ("fit_seconds", "predict_seconds", "clusters"):
        if parts and name in parts[0]:
            row[name] = float(np.median([part[name] for part in parts]))
    row |= {"seconds": outcome.seconds, "splits": len(parts)}
    note = outcome.note
    if outcome.status in UNFINISHED:
        note = f"{note.rstrip('.')}, {len(parts)} of {len(plan.splits)} splits done."
    elif parts and "warning" in parts[-1] and not note:
        note = parts[-1]["warning"]
    row["note"] = note
    return row
