"""Progressive validation: every object is predicted before it is learned, so that the whole stream is a test set.

view difference of a round = mean over pairs of views of |z_v - z_w|,  cumulative = its mean over all rounds so far
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from coview.exceptions import ParameterError
from coview.utils.warn import unwarned
from coview.validation import check_count, encode_labels, minus_one_is_unlabeled, unlabeled_rows
from coview.views.coerce import as_views, is_plain
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["METRICS", "StreamResult", "evaluate_stream"]

METRICS = (
    "accuracy",
    "f1",
    "loss",
    "view_difference",
    "cumulative_view_difference",
    "cumulative_loss",
    "window_accuracy",
    "window_f1",
)
_OF_ROUNDS = ("loss", "view_difference", "cumulative_view_difference", "cumulative_loss")


def evaluate_stream(
    model: Any,
    X: Any,
    y: Any = None,
    metrics: Sequence[str] | Mapping[str, Callable[[np.ndarray, np.ndarray], float]] | None = None,
    every: int = 1000,
    *,
    classes: Any = None,
    positive: Any = None,
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
    metrics : names or {name: function}, optional
        Of `METRICS`; a function takes labels and predictions since the last line. By default "accuracy", "f1", "loss",
        "view_difference" and "cumulative_view_difference", as far as the model tells them.
    every : int, default=1000
        A line of the table for so many objects, and one at the end.
    classes : array-like, optional
        All classes that will come, for models that must know them first.
    positive : label, optional
        The class that "f1" is of. By default the second class of two; with more classes it is the mean over classes.
    batch_size : int, default=1000
        Objects at a time where X holds all of them.
    watch : callable, optional
        Called with each line of the table as it is made.

    Returns
    -------
    StreamResult
        The table, and a plot of it.

    Notes
    -----
    "accuracy" and "f1" count all objects so far, "window_accuracy" and "window_f1" those since the last line; "loss"
    (the hinge loss of the vote) and "view_difference" are means since the last line, those named "cumulative" since
    the start.

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
    names, functions = _chosen(metrics, _tells(model))
    tally = _RunningScores(names, functions, positive)
    lines: list[dict[str, float]] = []

    def add() -> None:
        lines.append(tally.line())
        if watch is not None:
            watch(lines[-1])

    unpredicted = 0
    for views, labels in _cut(_batches(X, y, batch_size), None if _tells(model) else every):
        truth, guess, losses, gaps = _round(model, views, labels, classes)
        if guess is None:
            unpredicted += len(truth)
            continue
        start = 0
        while start < len(truth):
            stop = min(len(truth), start + every - tally.in_window)
            tally.count(truth[start:stop], guess[start:stop], losses[start:stop], gaps[start:stop])
            start = stop
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

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.table)

    def plot(self, columns: Sequence[str] | None = None, label: str | None = None, figure: Any = None) -> Any:
        """Plot one panel per metric over the rounds; pass the figure on to draw several results into it.

        Parameters
        ----------
        columns : names, optional
            Metrics to draw; all by default.
        label : str, optional
            Name of the line.
        figure : matplotlib Figure, optional
            One that an earlier call returned, or an empty one of your own.

        Returns
        -------
        matplotlib Figure
        """
        from matplotlib.figure import Figure

        chosen = [name for name in columns or self.table if name != "rounds"]
        if figure is None:
            figure = Figure(figsize=(3.6 * len(chosen), 3.0), layout="constrained")
        if not figure.axes:
            figure.subplots(1, len(chosen), squeeze=False)
        for panel, name in zip(figure.axes, chosen):
            panel.plot(self.table["rounds"], self.table[name], label=label, lw=1.0)
            panel.set_title(name.replace("_", " "))
            panel.set_xlabel("rounds")
            panel.grid(alpha=0.25)
            if label is not None:
                panel.legend(fontsize=8, frameon=False)
        return figure

    def __repr__(self) -> str:
        final = self.final
        shown = ", ".join(f"{name} {value:.4f}" for name, value in final.items() if name != "rounds")
        before = f" ({self.unpredicted} objects before them were learned, not predicted)" if self.unpredicted else ""
        return f"StreamResult of {int(final['rounds'])} rounds{before}: {shown}"


def _chosen(metrics: Any, tells: bool) -> tuple[list[str], dict[str, Callable[..., float]]]:
    """Names of the metrics, and functions for those that the user brought."""
    if metrics is None:
        return [name for name in METRICS[:5] if tells or name not in _OF_ROUNDS], {}
    if isinstance(metrics, Mapping):
        return list(metrics), dict(metrics)
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    for name in names:
        if name not in METRICS:
            raise ValueError(f"metrics must be one of {', '.join(METRICS)}, or functions by name, got {name!r}.")
        if name in _OF_ROUNDS and not tells:
            raise ValueError(f"The metric {name!r} is only available for MultiViewPassiveAggressiveClassifier.")
    return names, {}


def _batches(X: Any, y: Any, size: int) -> Iterator[tuple[Any, Any]]:
    if y is None:
        if not isinstance(X, Iterable) or isinstance(X, (Mapping, np.ndarray, Views, LazyViews)):
            raise ValueError("evaluate_stream needs labels: pass y, or batches of (views, labels) as X.")
        for batch in X:
            yield batch[0], batch[1]
        return
    # one matrix stays one: models of scikit-learn take no Views
    rows: Any = X if is_plain(X) and hasattr(X, "shape") else as_views(X)
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
    """Counts since the start, and since the last line."""

    def __init__(self, names: list[str], functions: Mapping[str, Callable[..., float]], positive: Any) -> None:
        self.names, self.functions, self.positive = names, functions, positive
        self.rounds = self.in_window = 0
        self.pairs: dict[bool, Counter[Any]] = {True: Counter(), False: Counter()}  # of the window; of all
        self.sums = {name: np.zeros(4) for name in ("loss", "view_difference")}  # sum, count; the same of the window
        self.kept: list[tuple[np.ndarray, np.ndarray]] = []

    def count(self, truth: np.ndarray, guess: np.ndarray, losses: np.ndarray, gaps: np.ndarray) -> None:
        self.rounds += len(truth)
        self.in_window += len(truth)
        met = Counter(zip(truth.tolist(), guess.tolist()))
        for counts in self.pairs.values():
            counts.update(met)
        for name, values in (("loss", losses), ("view_difference", gaps)):
            finite = values[np.isfinite(values)]
            self.sums[name] += np.tile([finite.sum(), len(finite)], 2)
        if self.functions:
            self.kept.append((truth, guess))

    def line(self) -> dict[str, float]:
        """Return the metrics now, and open a new window."""
        figures: dict[str, float] = {"rounds": self.rounds}
        for name in self.names:
            figures[name] = self._value(name)
        self.in_window = 0
        self.pairs[True] = Counter()
        self.kept = []
        for sums in self.sums.values():
            sums[2:] = 0
        return figures

    def _value(self, name: str) -> float:
        if name in self.functions:
            if not self.kept:
                return float("nan")
            return float(self.functions[name](*map(np.concatenate, zip(*self.kept))))
        window = name.startswith("window_")
        plain = name.removeprefix("window_").removeprefix("cumulative_")
        if plain in self.sums:
            total, count = self.sums[plain][:2] if name != plain else self.sums[plain][2:]
            return float(total / count) if count else float("nan")
        counts = self.pairs[window]
        return _accuracy(counts) if plain == "accuracy" else _f1(counts, self.pairs[False], self.positive)


def _accuracy(counts: Mapping[tuple[Any, Any], int]) -> float:
    total = sum(counts.values())
    return sum(n for (truth, guess), n in counts.items() if truth == guess) / total if total else float("nan")


def _f1(counts: Mapping[tuple[Any, Any], int], ever: Mapping[tuple[Any, Any], int], positive: Any) -> float:
    """F1 of the positive class, or of the second of two classes, else the mean over all classes seen."""
    labels = sorted({truth for truth, _ in ever}, key=str)
    if positive is not None:
        labels = [positive]
    elif len(labels) == 2:
        labels = labels[1:]
    scores = []
    for label in labels:
        right = counts.get((label, label), 0)
        predicted = sum(n for (_, guess), n in counts.items() if guess == label)
        actual = sum(n for (truth, _), n in counts.items() if truth == label)
        scores.append(2 * right / (predicted + actual) if predicted + actual else 0.0)
    return float(np.mean(scores)) if scores else float("nan")
