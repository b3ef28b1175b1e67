"""`compare`: every applicable method and every baseline on the same data, side by side."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np

from coview.classification.wrapper import mark_unlabeled
from coview.exceptions import InterruptedFitWarning, ParameterError, ViewsError
from coview.model_selection.jobs import JobOutcome, run_jobs, show_jobs
from coview.model_selection.methods import Method, list_applicable_methods, select_methods
from coview.model_selection.scores import Task, check_scoring, evaluate
from coview.model_selection.splits import draw_few_label_splits, make_splits
from coview.model_selection.table import UNFINISHED, Comparison
from coview.utils.parameters import NONE, SECONDS, check_value, number
from coview.utils.progress import is_shown
from coview.validation import base_seed, check_count, check_enough_objects, check_option, encode_labels
from coview.views.coerce import check_in_memory
from coview.views.views import check_same_order

__all__ = ["compare"]


def compare(
    X: Any,
    y: Any,
    *,
    task: str | None = None,
    methods: Any = None,
    cv: Any = None,
    n_repeats: int = 5,
    groups: Any = None,
    scoring: Any = None,
    n_clusters: int | None = None,
    label_share: float | None = None,
    time_budget: float | None = 60.0,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int | None = None,
) -> Comparison:
    """Compare every applicable method and baseline on your own data.

    With all objects labeled, methods are cross-validated. With some of them labeled, all objects are given, a part of
    the known labels is hidden, and the methods are asked for it. With ``task="clustering"`` the clusters are found
    without y and held against it.

    Parameters
    ----------
    X : Views or what becomes Views
        The objects: sparse or dense, frames, with missing views. Methods that refuse them are listed with their reason.
    y : array-like
        Classes; -1, None, NaN or "" where an object has no label.
    task : {None, "classification", "few_labels", "clustering"}, default=None
        What to find; by default it follows from y.
    methods : names, patterns, estimators or {name: estimator}, optional
        What to compare, as ``["MultiView*", "baselines", MultiViewNaiveBayes(alpha=0.1)]``. Names are those of the
        table, or "methods", "baselines" for all of a kind. By default everything.
    cv : int or splitter, optional
        Folds of the labeled objects: their number, or a splitter of scikit-learn. By default 5 where all objects are
        labeled, and where there are groups. With few labels, the labels of each test fold are hidden in turn.
    n_repeats : int, default=5
        Repeats where there are no folds: random splits of few labels, or seeds of the clusterings.
    groups : array-like, optional
        Objects of one group are never in training and test at once.
    scoring : str, list of str or {name: function}, optional
        Scores of scikit-learn, or for clusters "nmi", "accuracy", "pairwise_f1", "ari" or functions of classes and
        clusters. The first one ranks. By default accuracy and macro-F1; for clusters the first three.
    n_clusters : int, optional
        Number of clusters; by default the number of classes in y.
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
    over the splits.

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
    views = check_in_memory(X, "compare", "Compare")
    for name, values in (("y", y), ("groups", groups)):
        check_same_order(X, values, name)
    if not len(views):
        raise ViewsError("X has 0 rows: there is nothing to compare on. Pass at least some objects.")
    check_value("time_budget", time_budget, SECONDS)
    check_value("label_share", label_share, number(above=0, below=1) | NONE)
    check_option("task", task, (None, "classification", "few_labels", "clustering"))
    check_count("n_repeats", n_repeats)
    if y is None:
        raise ParameterError(
            "compare holds methods against known classes.",
            python="Pass y, with -1, None or NaN for unlabeled objects. Without any, AutoClustering clusters, and "
            "select_clusters chooses the number of clusters.",
            cli="Give --labels, of some objects at least. Without any, coview fit auto clusters.",
        )
    seed = base_seed(random_state)
    codes, classes = encode_labels(y, len(views))
    known = codes >= 0
    # labels that are to be thrown away make a task of few labels, too
    kind = task or ("classification" if known.all() and label_share is None else "few_labels")
    groups = None if groups is None else np.asarray(groups)
    if kind == "clustering":
        n_groups = check_count("n_clusters", len(classes) if n_clusters is None else n_clusters, 2)
        check_enough_objects(len(views), n_groups)
        # clusters are found without labels: all objects at once, and only the seed differs
        splits = [(np.arange(len(views)), np.arange(len(views)))] * n_repeats
    else:
        n_groups = len(classes)
        if n_groups < 2:
            raise ParameterError(
                f"must hold at least 2 classes to compare classifiers, got {classes[0]}.", parameter="y"
            )
        splits = (
            make_splits(codes, cv, groups, seed)
            if kind == "classification"
            else draw_few_label_splits(codes, cv, n_repeats, groups, label_share, seed)
        )
    scorers = check_scoring(scoring, kind == "clustering")
    plan = Task(kind, classes[codes], known, mark_unlabeled(codes, classes), splits, scorers, seed)
    selected = select_methods(methods, list_applicable_methods(kind != "clustering", views, n_groups))
    names, metrics = [method.name for method in selected], list(scorers)
    progress: Any = show_jobs(names, len(splits), metrics[0]) if is_shown(verbose) else nullcontext()
    with progress as watch:
        jobs = [(kind, len(splits), method) for method in selected]
        # views and labels travel to each worker once, not with each method
        outcomes = run_jobs(evaluate, (plan, views), jobs, n_jobs=n_jobs, budget=time_budget, watch=watch)
    # Ctrl-C after an hour must not lose the hour
    if any(outcome.status == "stopped" for outcome in outcomes):
        warnings.warn(
            "compare was interrupted; the table contains the completed results.", InterruptedFitWarning, stacklevel=2
        )
    about = {
        "objects": len(views),
        "views": views.n_features,
        "labeled": int(known.sum()),
        "clusters" if kind == "clustering" else "classes": n_groups,
        "splits": len(splits),
        "overlap": None if kind == "clustering" else _overlap(splits),
        "label_share": label_share,
        "time_budget": time_budget,
        "seed": seed,
    }
    return Comparison(
        [_row(method, outcome, metrics, len(splits)) for method, outcome in zip(selected, outcomes)],
        metrics,
        kind,
        scores={name: outcome.parts for name, outcome in zip(names, outcomes)},
        estimators={method.name: method.estimator for method in selected},
        about=about,
    )


def _overlap(splits: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """Test objects per training object, by which Nadeau and Bengio correct a variance for training sets that overlap.

    Where fewer learn than are asked for, as with few labels, training sets hardly overlap: 1 is enough.
    """
    return min(1.0, float(np.mean([len(test) / len(train) for train, test in splits])))


def _row(method: Method, outcome: JobOutcome, metrics: list[str], n_splits: int) -> dict[str, Any]:
    parts, note = outcome.parts, outcome.note
    row: dict[str, Any] = {"method": method.name, "group": method.group, "status": outcome.status}
    for name in metrics:
        values = [part[name] for part in parts]
        row[name] = float(np.mean(values)) if values else float("nan")
        row[f"{name}_std"] = float(np.std(values)) if values else float("nan")
    if parts:
        # the first split of a process compiles kernels: the median leaves it out
        row["fit_seconds"] = float(np.median([part["fit_seconds"] for part in parts]))
    if outcome.status in UNFINISHED:
        note = f"{note} {len(parts)} of {n_splits} splits done."
    return {**row, "seconds": outcome.seconds, "splits": len(parts), "note": note}
