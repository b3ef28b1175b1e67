"""`suggest_labels`: the objects whose labels would help a fitted classifier most.

    uncertainty   1 less the lead of the likeliest class over the next: 1 is a tie, 0 is sure
    disagreement  Jensen-Shannon divergence of what the views say alone, each by its weight: 0 is one opinion, 1 the
                  farthest apart that opinions of such weights on so many classes can be
    need          weighted mean of the two, each by its rank among the unlabeled objects, so that probabilities need not
                  be calibrated
    coverage      share of all need that a label newly covers: it says something of objects that are alike (cosine, in
                  the leading directions of all features), as far as other labels do not say it already

Objects are chosen one after the other, each the one that covers most need. So no two are alike, an object that stands
for many uncertain ones comes before one that is like no other, and regions without any label come first. Everything is
linear in the objects: they are compared with a sample of at most `LANDMARKS`.
"""

from __future__ import annotations

import html
from numbers import Number
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import entr
from scipy.stats import rankdata
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from coview.auto.candidates import preparation, prepared
from coview.exceptions import CoviewError, ParameterError
from coview.inspection import Inspection, inspect
from coview.model_selection.table import ResultTable
from coview.utils.messages import cut, printable, short
from coview.utils.sampling import sample_positions
from coview.utils.warn import unwarned, warn_user
from coview.validation import base_seed, check_count, minus_one_is_unlabeled, unlabeled_rows
from coview.views.checks import check_same_order
from coview.views.coerce import PLAIN
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["LabelSuggestions", "suggest_labels"]

MOST = 10_000  # unlabeled objects that are looked at; of more, a sample
LANDMARKS = 1_000  # of these, those that a label is to say something of
MOST_LABELED = 2_000  # labeled objects that landmarks are compared with
WIDTH = 30  # directions in which objects are compared
DIVIDED = 1 / 3  # weight of disagreement beside uncertainty
HIGH = 0.75  # rank from which uncertainty or disagreement is told as the reason
SURE = 0.95  # probability from which an object is not called uncertain, even if the model is surer of the others
LEAD = 0.05  # of the likeliest class over the next, by one view alone, from which that view has a say
WHY_LETTERS = 100  # of a reason that is printed
FIGURES = ("probability", "uncertainty", "disagreement", "coverage")
COLUMNS = ("row", "id", "predicted", *FIGURES, "why")


def suggest_labels(model: Any, X: Any, n: int = 10, *, y: Any = None, random_state: Any = 0) -> LabelSuggestions:
    """Name the objects whose labels would help a fitted classifier most, the most helpful first.

    Three things count: how uncertain the model is of an object, how far the views disagree on it, and how many such
    objects are like it and unlike all labeled ones. Each is a column of the answer.

    Parameters
    ----------
    model : fitted classifier
        `AutoClassifier` or another of coview's, a pipeline that ends in one, or one of scikit-learn.
    X : what the model takes
        Objects to choose from, such as those of the fit; any of the views will do.
    n : int, default=10
        Number of objects; fewer are named where there are not so many different ones without a label.
    y : array-like, optional
        Labels of X as in `fit`; None, NaN, an empty text and, for semi-supervised classifiers, -1 mark the unlabeled
        objects, and others are not named. By default, if X has as many objects as the fit, those that the model keeps
        with a class for certain count as labeled (a warning says so if it keeps none); otherwise none does.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the samples of many objects: above 10,000 unlabeled ones a sample is looked at.

    Returns
    -------
    LabelSuggestions
        A table (``rows``, ``columns``, ``frame``); ``indices`` are the rows of X.

    See Also
    --------
    AutoClassifier : A classifier to trust with few labels.

    Notes
    -----
    Objects that lack all views, or have no feature that the model knows, are never named, and of objects that equal
    each other one at most. Label what is named, fit again with the new labels, ask again. The most uncertain objects
    alone do little better than random ones while labels are few: an object that is like no other teaches nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import AutoClassifier, suggest_labels
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=120, n_clusters=3, random_state=0)
    >>> y = np.where(np.arange(120) < 9, data.target, -1)
    >>> model = AutoClassifier(random_state=0).fit(data.views, y)
    >>> suggested = suggest_labels(model, data.views, 5, y=y)
    >>> len(suggested), bool((suggested.indices >= 9).all())
    (5, True)
    >>> y[suggested.indices] = data.target[suggested.indices]  # what a person would say
    >>> model = model.fit(data.views, y)
    """
    n = check_count("n", n)
    check_same_order(X, y, "y")
    inspection = inspect(model)
    if inspection.kind != "class" or len(inspection.groups) < 2:
        raise ValueError(f"suggest_labels needs a fitted classifier of at least two classes, got {inspection.name}.")
    seed = base_seed(random_state)
    with unwarned():
        objects, known = inspection.prepare_known(X.collect() if isinstance(X, LazyViews) else X)
    views = objects if isinstance(objects, Views) else Views({PLAIN: objects})
    labeled = _labeled(inspection, y, len(views))
    free = np.flatnonzero(~labeled & known)
    facts = {"n_labeled": int(labeled.sum()), "n_unlabeled": int((~labeled).sum())}
    ids = np.arange(len(views)) if views.ids is None else views.ids
    if not len(free):
        return LabelSuggestions([], **facts)
    free = free[sample_positions(len(free), MOST, seed)]
    mine = views[free]
    with unwarned():
        whole = np.asarray(inspection.memberships(mine, prepared=True))
        alone = _alone(inspection, mine)
    parts, weights = _opinions(alone, whole.shape, inspection.view_weights)
    uncertain, divided = _uncertainty(whole), _divergence(parts, weights)
    ranks = np.column_stack([_rank(uncertain), _rank(divided)])
    need = ranks @ np.array([1 - DIVIDED, DIVIDED])
    sure = np.flatnonzero(labeled)
    sure = sure[sample_positions(len(sure), MOST_LABELED, seed)]
    places = _places(views[np.concatenate([free, sure])], seed)
    chosen = _choose(places[: len(free)], places[len(free) :], need, _row_keys(mine), n, seed)
    rows = []
    for i, coverage in chosen:
        best = int(whole[i].argmax())
        rows.append(
            {
                "row": int(free[i]),
                "id": ids[free[i]].item() if isinstance(ids[free[i]], np.generic) else ids[free[i]],
                "predicted": inspection.labels[best],
                "probability": float(whole[i, best]),
                "uncertainty": float(uncertain[i]),
                "disagreement": float(divided[i]),
                "coverage": coverage,
                "why": _why(inspection.groups, whole[i], {view: part[i] for view, part in alone.items()}, ranks[i]),
            }
        )
    return LabelSuggestions(rows, **facts)


class LabelSuggestions(ResultTable):
    """Result of `suggest_labels`: one row per object, the most helpful first.

    Attributes
    ----------
    rows : list of dict
        By object: "row" (position in X), "id", "predicted" (the likeliest class) and its "probability"; "uncertainty",
        "disagreement" and "coverage", each from 0 to 1; and "why", the main reason in words.
    indices : ndarray of int
        Positions in X.
    n_labeled, n_unlabeled : int
        Number of objects of X that count as labeled, and of the others.

    Examples
    --------
    >>> LabelSuggestions([], n_labeled=3, n_unlabeled=0)
    0 objects to label, of 0 without a label (3 labeled)
    """

    _print_width = 1000  # ids are never shortened, the reasons are

    def __init__(self, rows: list[dict[str, Any]], *, n_labeled: int, n_unlabeled: int) -> None:
        self.rows, self.n_labeled, self.n_unlabeled = rows, n_labeled, n_unlabeled

    @property
    def indices(self) -> np.ndarray:
        """Positions of the objects in X, the most helpful first."""
        return np.array([row["row"] for row in self.rows], dtype=np.int64)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The rows as columns, of these names also where there is no row."""
        return {name: [row[name] for row in self.rows] for name in COLUMNS}

    def _title(self) -> str:
        objects = f"{len(self.rows):,} object{'' if len(self.rows) == 1 else 's'} to label"
        return f"{objects}, of {self.n_unlabeled:,} without a label ({self.n_labeled:,} labeled)"

    def __repr__(self) -> str:
        return self._title()

    def _content(self) -> dict[str, Any]:
        return {"n_labeled": self.n_labeled, "n_unlabeled": self.n_unlabeled, "rows": self.rows}

    def _cells(self, row: dict[str, Any]) -> list[str]:
        return [_shown(name, row[name]) for name in COLUMNS[1:]]

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in COLUMNS[1:])
        lines = ("".join(f"<td>{html.escape(cell)}</td>" for cell in self._cells(row)) for row in self.rows)
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{self._title()}</p>"

    def _table(self, whole_names: bool = False) -> Any:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD, caption=self._title(), caption_justify="left", pad_edge=False)
        for name in COLUMNS[1:]:
            side: Any = "right" if name in FIGURES else "left"
            table.add_column(name, justify=side, overflow="fold", no_wrap=whole_names)
        for row in self.rows:
            *cells, why = map(printable, self._cells(row))
            table.add_row(*map(Text, [*cells, cut(why, WHY_LETTERS) if whole_names else why]))
        return table


def _shown(name: str, value: Any) -> str:
    """A cell as it is printed; one object of many covers a small share.

    Examples
    --------
    >>> _shown("coverage", 0.00342), _shown("uncertainty", 0.5)
    ('0.34 %', '0.50')
    """
    if name == "coverage":
        return f"{100 * value:.2g} %"
    return f"{value:.2f}" if name in FIGURES else str(value)


# -- who has a label


def _labeled(inspection: Inspection, y: Any, n_rows: int) -> np.ndarray:
    """Mask of the objects that have a label: by y, else by what the model keeps of as many objects."""
    if y is not None:
        labeled = ~unlabeled_rows(y, semi_supervised=minus_one_is_unlabeled(inspection.estimator))
        if len(labeled) != n_rows:
            raise ParameterError(f"must hold one label per object: {len(labeled)} for {n_rows} objects.", parameter="y")
        column = np.asarray(y, dtype=object)
        _warn_of_new_classes(inspection, column[labeled].tolist() if column.ndim == 1 else [])
        return labeled
    kept = inspection.training_reading()
    count = next((len(part) for part in (kept.memberships, kept.codes) if part is not None), inspection.n_objects)
    if count != n_rows:
        return np.zeros(n_rows, dtype=bool)
    if kept.memberships is None or not kept.graded:
        warn_user(
            f"{inspection.name} does not keep which of its {n_rows:,} objects were labeled. Pass the labels, "
            "y=..., to leave those out.",
            UserWarning,
        )
        return np.zeros(n_rows, dtype=bool)
    return (kept.memberships == 1).any(axis=1)


def _warn_of_new_classes(inspection: Inspection, labels: list[Any]) -> None:
    """Say which labels are of no class that the model knows: a new class, or a slip."""
    known = {*inspection.labels, *map(str, inspection.labels)}
    new = [label for label in labels if isinstance(label, (str, Number)) and not {label, str(label)} & known]
    if not new or inspection.ontology is not None:  # an ontology refuses what it does not know when it is fitted
        return
    names = sorted({short(label) for label in new})
    count = f"{len(new):,} label{'' if len(new) == 1 else 's'} {'is' if len(new) == 1 else 'are'}"
    classes = f"{', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"
    warn_user(
        f"{count} none of the classes of {inspection.name}: {classes}. Such objects count as labeled; fit the model "
        "again to learn from them, or check the spelling.",
        UserWarning,
    )


# -- what the model says


def _alone(inspection: Inspection, views: Views) -> dict[str, np.ndarray]:
    """What each view says alone, objects x classes, 0 where it says nothing; without views that the model refuses."""
    opinions = {}
    for view in views.names if len(views.names) > 1 else ():
        try:
            opinions.update(inspection.memberships_by_view(views.select(view), prepared=True))
        except (CoviewError, ValueError):  # a model may need another view
            continue
    return opinions


def _opinions(
    alone: dict[str, np.ndarray], shape: tuple[int, ...], weights: dict[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Views x objects x classes, and views x objects: the weight of a view in an object, of all that speak of it."""
    if not alone:
        return np.zeros((0, *shape)), np.zeros((0, shape[0]))
    parts = np.stack(list(alone.values()))
    shares = np.array([max(weights.get(view, 1.0), 0.0) for view in alone])[:, None] * _speaks(parts)
    return parts, shares / np.maximum(shares.sum(axis=0), 1e-300)


def _speaks(memberships: np.ndarray) -> np.ndarray:
    """Whether one class leads: a view of noise has nearly the same for all.

    Examples
    --------
    >>> _speaks(np.array([[0.34, 0.33, 0.33], [0.6, 0.3, 0.1], [0.0, 0.0, 0.0]])).tolist()
    [False, True, False]
    """
    return np.asarray(_lead(memberships) >= LEAD)


def _lead(memberships: np.ndarray) -> np.ndarray:
    """By how much the largest membership exceeds the second."""
    best = np.partition(memberships, -2, axis=-1)
    return np.asarray(best[..., -1] - best[..., -2])


def _uncertainty(memberships: np.ndarray) -> np.ndarray:
    """1 less the lead of the largest membership over the second.

    Examples
    --------
    >>> _uncertainty(np.array([[0.5, 0.5, 0.0], [0.75, 0.25, 0.0]])).tolist()
    [1.0, 0.5]
    """
    return np.clip(1 - _lead(memberships), 0, 1)


def _divergence(parts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Jensen-Shannon divergence of some distributions by weight, over its largest value.

    Examples
    --------
    >>> parts = np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]])
    >>> _divergence(parts, np.full((2, 2), 0.5)).tolist()
    [1.0, 0.0]
    """
    mixed = (weights[:, :, None] * parts).sum(axis=0)
    apart = entr(mixed).sum(axis=1) - (weights * entr(parts).sum(axis=2)).sum(axis=0)
    patterns, which = np.unique(np.round(weights.T, 12), axis=0, return_inverse=True)  # one for each set of views
    most = np.array([_largest_divergence(row[row > 0], parts.shape[2]) for row in patterns])[which.ravel()]
    return np.clip(np.divide(apart, most, out=np.zeros_like(apart), where=most > 1e-12), 0, 1)


def _largest_divergence(weights: np.ndarray, n_classes: int) -> float:
    """Jensen-Shannon divergence of opinions that are as far apart as they can be.

    It is convex in each opinion, so that each is sure of one class, and is then the entropy of the weights of the
    classes: that of the opinions' weights where there is a class for each. Where there are fewer, the heaviest opinions
    go first, each to the class with the least weight.

    Examples
    --------
    >>> opinions = np.full(4, 0.25)
    >>> [round(float(_largest_divergence(opinions, n_classes) / np.log(2)), 6) for n_classes in (2, 4, 9)]
    [1.0, 2.0, 2.0]
    """
    classes = np.zeros(n_classes)
    for weight in np.sort(weights)[::-1]:
        classes[classes.argmin()] += weight
    return float(entr(classes).sum())


def _rank(values: np.ndarray) -> np.ndarray:
    """Ranks from 0 to 1, ties in the middle of theirs; rounding errors alone do not tell values apart."""
    return (rankdata(np.round(values, 9)) - 0.5) / len(values)


def _why(groups: list[str], whole: np.ndarray, alone: dict[str, np.ndarray], ranks: np.ndarray) -> str:
    """The main reason, in words."""
    spoken = {view: groups[int(part.argmax())] for view, part in alone.items() if _speaks(part)}
    if len(set(spoken.values())) > 1 and ranks[1] >= max(HIGH, ranks[0]):
        return "views disagree: " + ", ".join(f"{view} says {name}" for view, name in spoken.items())
    if ranks[0] >= HIGH:
        first, second = np.argsort(-whole, kind="stable")[:2]
        if whole[first] >= SURE:
            return f"less certain than most: {groups[first]}, then {groups[second]}"
        return f"uncertain: {groups[first]} or {groups[second]}"
    return "stands for objects that no label covers"


# -- which objects are alike


def _places(views: Views, seed: int) -> np.ndarray:
    """Objects as rows of length 1, in the leading directions of all their features, each view counting alike."""
    ready = prepared(views, preparation(views))
    parts = []
    for v, matrix in enumerate(ready.values()):
        if not sparse.issparse(matrix):  # a constant beside makes the length of a row count
            measured = np.asarray(matrix, dtype=np.float64) / np.sqrt(matrix.shape[1])
            matrix = np.column_stack([measured, np.ones(len(measured))]) * ready.present[:, [v]]
        parts.append(normalize(sparse.csr_array(matrix)))
    beside = sparse.csr_array(sparse.hstack(parts))
    if min(beside.shape) > WIDTH:
        return normalize(TruncatedSVD(WIDTH, random_state=seed).fit_transform(beside))
    return normalize(beside.toarray())


def _row_keys(views: Views) -> list[Any]:
    """What tells two objects apart: those with the same key are equal in all views."""
    keys = [[bytes(row)] for row in np.packbits(views.present, axis=1)]
    for matrix in views.values():
        if sparse.issparse(matrix):
            rows = sparse.csr_array(matrix, copy=True)
            rows.sum_duplicates()
            rows.eliminate_zeros()
            for i, key in enumerate(keys):
                here = slice(rows.indptr[i], rows.indptr[i + 1])
                key += [rows.indices[here].tobytes(), rows.data[here].tobytes()]
        else:
            for key, row in zip(keys, np.ascontiguousarray(matrix)):
                key.append(row.tobytes())
    return [hash(tuple(key)) for key in keys]


def _choose(
    places: np.ndarray, labeled: np.ndarray, need: np.ndarray, keys: list[Any], n: int, seed: int
) -> list[tuple[int, float]]:
    """Objects one after the other, with the share of all need that each newly covers."""
    marks = sample_positions(len(places), LANDMARKS, seed)
    likeness = np.maximum(places @ places[marks].T, 0).astype(np.float32)
    covered = np.zeros(len(marks), dtype=np.float32)
    if len(labeled):
        covered = np.maximum(places[marks] @ labeled.T, 0).max(axis=1).astype(np.float32)
    share = (need[marks] / need[marks].sum()).astype(np.float32)
    left = np.ones(len(places), dtype=bool)
    by_key: dict[Any, list[int]] = {}
    for i, key in enumerate(keys):
        by_key.setdefault(key, []).append(i)
    chosen: list[tuple[int, float]] = []
    while len(chosen) < n and left.any():
        coverage = np.maximum(likeness - covered, 0) @ share
        # where all is covered, need alone decides
        best = int(np.lexsort((-need, -np.round(coverage, 7), ~left))[0])
        chosen.append((best, float(coverage[best])))
        covered = np.maximum(covered, likeness[best])
        left[by_key[keys[best]]] = False
    return chosen
