"""Progressive validation: every object is predicted before it is learned, so that the whole stream is a test set.

view difference of a round = mean over pairs of views of |z_v - z_w|,  cumulative = its mean over all rounds so far
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from coview.exceptions import ParameterError
from coview.utils.warn import unwarned
from coview.validation import check_count, encode_labels, minus_one_is_unlabeled, unlabeled_rows
from coview.views.coerce import as_views
from coview.views.lazy import LazyViews
from coview.views.views import Views, is_plain

__all__ = ["StreamResult", "evaluate_stream"]


def evaluate_stream(
    model: Any,
    X: Any,
    y: Any = None,
    every: int = 1000,
    *,
    classes: Any = None,
    batch_size: int = 1000,
    watch: Callable[[dict[str, float]], Any] | None = None,
) -> StreamResult:
    """Evaluate a classifier on a stream by predicting each object before learning from it.

    Parameters
    ----------
    model : classifier with ``partial_fit``
        It learns on from where it stands. `MultiViewPassiveAggressiveClassifier` predicts every single object before
        learning it; any other model predicts a batch of at most `every` objects, then learns it. A fresh one cannot
        predict its first batch: those objects are learned, but not counted.
    X : Views (or what becomes Views), or an iterable of (views, labels)
        All objects, or batches of them as `read_stream` gives; then `y` is left out.
    y : array-like, optional
        Labels; None or NaN where there is none (-1 too, for a semi-supervised model): such objects are not counted.
    every : int, default=1000
        A line of the table for so many objects, and one at the end.
    classes : array-like, optional
        All classes that will come, for models that must know them first.
    batch_size : int, default=1000
        Objects at a time where X holds all of them.
    watch : callable, optional
        Called with each line of the table as it is made.

    Returns
    -------
    StreamResult
        The table; `coview.plot.StreamDisplay` draws it.

    Notes
    -----
    "accuracy" and "f1" (of the second class of two, else the mean over classes) count all objects so far; "loss" (the
    hinge loss of the vote) and "view_difference" are means since the last line, "cumulative_view_difference" since the
    start. Only `MultiViewPassiveAggressiveClassifier` tells losses and differences.

    Examples
    --------
    >>> from coview import MultiViewPassiveAggressiveClassifier, evaluate_stream
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=300, n_clusters=2, random_state=0)
    >>> result = evaluate_stream(MultiViewPassiveAggressiveClassifier(), data.views, data.target, every=100)
    >>> result.table["rounds"], result.final["accuracy"] > 0.9
    ([100, 200, 300], True)
    """
    check_count("every", every)
    _check_model(model)
    tally = _RunningScores(_tells(model))
    lines: list[dict[str, float]] = []

    def add() -> None:
        lines.append(tally.line())
        if watch is not None:
            watch(lines[-1])

    unpredicted = 0
    for views, labels in _cut(_cut_batches(X, y, batch_size), None if _tells(model) else every):
        truth, guess, losses, gaps = _round(model, views, labels, classes)
        if guess is None:
            unpredicted += len(truth)
            continue
        start = 0
        # a batch may end one line of the table and begin the next
        while start < len(truth):
            part = slice(start, start + every - tally.in_window)
            tally.count(truth[part], guess[part], losses[part], gaps[part])
            start = part.stop
            if tally.in_window == every:
                add()
    if tally.in_window or not lines:
        add()
    return StreamResult({name: [line[name] for line in lines] for name in lines[0]}, model, unpredicted)


class StreamResult:
    """Result of `evaluate_stream`.

    Attributes
    ----------
    table : dict of lists
        "rounds" (objects so far that were predicted and have a label) and the metrics, one entry per line.
    final : dict
        The last line.
    model : classifier
        The model, which has learned the stream.
    unpredicted : int
        Labeled objects of the first batch of a model that could not predict yet; they are not in the table.

    Examples
    --------
    >>> StreamResult({"rounds": [10, 20], "accuracy": [0.5, 0.75]}, unpredicted=5)
    StreamResult of 20 rounds (5 objects before them were learned, not predicted): accuracy 0.7500
    """

    def __init__(self, table: dict[str, list[float]], model: Any = None, unpredicted: int = 0) -> None:
        self.table = table
        self.model = model
        self.unpredicted = unpredicted

    @property
    def final(self) -> dict[str, float]:
        """Last row of the table."""
        return {name: column[-1] for name, column in self.table.items()}

    def __repr__(self) -> str:
        final = self.final
        shown = ", ".join(f"{name} {value:.4f}" for name, value in final.items() if name != "rounds")
        before = f" ({self.unpredicted} objects before them were learned, not predicted)" if self.unpredicted else ""
        return f"StreamResult of {int(final['rounds'])} rounds{before}: {shown}"


def _cut_batches(X: Any, y: Any, size: int) -> Iterator[tuple[Any, Any]]:
    if y is None:
        if not isinstance(X, Iterable) or isinstance(X, (Mapping, np.ndarray, Views, LazyViews)):
            raise ValueError("evaluate_stream needs labels: pass y, or batches of (views, labels) as X.")
        for batch in X:
            yield batch[0], batch[1]
        return
    # one matrix stays one: models of scikit-learn take no Views
    rows: Any = X if is_plain(X) and hasattr(X, "shape") else as_views(X)
    # a list stays one: NumPy would make texts of numbers beside a None
    labels = y if isinstance(y, (list, tuple)) else np.asarray(y)
    if len(labels) != rows.shape[0]:
        raise ParameterError(
            f"must hold one label per object: {len(labels)} labels for {rows.shape[0]} objects.", parameter="y"
        )
    for start in range(0, len(labels), check_count("batch_size", size)):
        yield rows[start : start + size], labels[start : start + size]


def _cut(batches: Iterable[tuple[Any, Any]], size: int | None) -> Iterator[tuple[Any, Any]]:
    """Batches of at most so many rows."""
    for views, labels in batches:
        if size is None or len(labels) <= size:
            yield views, labels
            continue
        for start in range(0, len(labels), size):
            yield views[start : start + size], labels[start : start + size]


def _tells(model: Any) -> bool:
    """Whether a model predicts and learns object by object, and tells losses and differences."""
    return hasattr(model, "predict_then_learn")


def _check_model(model: Any) -> None:
    if _tells(model):
        return
    name = type(model).__name__
    if hasattr(model, "__sklearn_tags__") and not is_classifier(model):
        raise ValueError(
            f"evaluate_stream compares predictions with labels, but {name} is not a classifier. Use one "
            "with partial_fit, such as MultiViewPassiveAggressiveClassifier."
        )
    if not hasattr(model, "partial_fit") or not hasattr(model, "predict"):
        raise ValueError(
            f"evaluate_stream needs a classifier that learns batch by batch, but {name} has no partial_fit. Use one "
            "that has, such as MultiViewPassiveAggressiveClassifier."
        )


def _round(model: Any, views: Any, labels: Any, classes: Any) -> tuple[np.ndarray, Any, np.ndarray, np.ndarray]:
    """Labels, predictions, losses and differences of the labeled objects of a batch, which the model then learns.

    Predictions are None where the model cannot predict yet.
    """
    if _tells(model):
        before = model.predict_then_learn(views, labels, classes=classes)
        known = before.codes >= 0
        truth = model.classes_[before.codes[known]]
        return truth, before.predictions[known], before.losses[known], before.differences[known]
    semi_supervised = minus_one_is_unlabeled(model)
    known = ~unlabeled_rows(labels, semi_supervised=semi_supervised)
    truth = np.asarray(labels, dtype=object)[known]
    fitted = hasattr(model, "classes_")
    with unwarned():  # the words of a stream are new at first
        guess = np.asarray(model.predict(views))[known] if fitted else None
    if known.any():
        learn = encode_labels(truth, semi_supervised=semi_supervised, batch=True)
        _learn(model, views if known.all() else views[np.flatnonzero(known)], learn[1][learn[0]], classes, fitted)
    blank = np.full(len(truth), np.nan)
    return truth, guess, blank, blank


def _learn(model: Any, views: Any, labels: np.ndarray, classes: Any, fitted: bool) -> None:
    """Learn a batch; where that fails for want of the classes, say how to name them."""
    # scikit-learn takes the classes with the first batch only
    named = {} if fitted or classes is None else {"classes": classes}
    try:
        model.partial_fit(views, labels, **named)
    except ValueError as error:
        if classes is not None or "class" not in str(error):
            raise
        raise ValueError(
            f"{type(model).__name__} must know all classes before its first batch: pass classes= to evaluate_stream. "
            f"Its error was: {error}"
        ) from error


class _RunningScores:
    """Counts since the start, and sums since the last line."""

    def __init__(self, tells: bool) -> None:
        self.tells, self.rounds, self.in_window = tells, 0, 0
        self.pairs: Counter[Any] = Counter()  # of label and prediction
        self.loss, self.gap, self.all_gaps = np.zeros(2), np.zeros(2), np.zeros(2)  # sum and count

    def count(self, truth: np.ndarray, guess: np.ndarray, losses: np.ndarray, gaps: np.ndarray) -> None:
        self.rounds += len(truth)
        self.in_window += len(truth)
        self.pairs.update(zip(truth.tolist(), guess.tolist()))
        self.loss += np.nansum(losses), np.isfinite(losses).sum()
        self.gap += np.nansum(gaps), np.isfinite(gaps).sum()

    def line(self) -> dict[str, float]:
        """Return the metrics now, and open a new window."""
        self.all_gaps += self.gap
        # pairs are few, however long the stream: neither labels nor predictions are kept
        right = sum(n for (truth, guess), n in self.pairs.items() if truth == guess)
        figures = {"rounds": self.rounds, "accuracy": _ratio(right, self.rounds), "f1": _f1(self.pairs)}
        if self.tells:
            means = {"loss": self.loss, "view_difference": self.gap, "cumulative_view_difference": self.all_gaps}
            figures.update({name: _ratio(*sums) for name, sums in means.items()})
        self.in_window, self.loss, self.gap = 0, np.zeros(2), np.zeros(2)
        return figures


def _ratio(total: float, count: float) -> float:
    return float(total / count) if count else float("nan")


def _f1(pairs: Mapping[tuple[Any, Any], int]) -> float:
    """F1 of the second of two classes, else the mean over all classes seen."""
    # by text: labels of a stream may be of types that do not compare
    labels = sorted({truth for truth, _ in pairs}, key=str)
    scores = []
    for label in labels[1:] if len(labels) == 2 else labels:
        both = sum(n * ((truth == label) + (guess == label)) for (truth, guess), n in pairs.items())
        scores.append(2 * pairs.get((label, label), 0) / both)
    return _ratio(sum(scores), len(scores))
