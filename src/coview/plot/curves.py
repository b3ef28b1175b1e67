"""Curves: how models do on a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import clone

from coview.online.stream import evaluate_stream
from coview.plot.style import ACCENT, PALETTE, bare, panels

__all__ = ["StreamDisplay"]


class StreamDisplay:
    """Performance of models on a stream: one panel per metric, one line per model.

    Parameters
    ----------
    tables : {name: {measure: list}}
        Tables of `evaluate_stream`, with the column "rounds", by name of the model.

    Attributes
    ----------
    figure_, axes_, ax_
        What was drawn; `ax_` is the first of the panels.

    Examples
    --------
    >>> from coview import MultiViewPassiveAggressiveClassifier
    >>> from coview.datasets import make_topic_views
    >>> from coview.plot import StreamDisplay
    >>> data = make_topic_views(n_objects=200, n_clusters=2, random_state=0)
    >>> model = MultiViewPassiveAggressiveClassifier()
    >>> display = StreamDisplay.from_estimator(model, data.views, data.target, every=50, measures=["accuracy"])
    >>> display.tables["MultiViewPassiveAggressiveClassifier"]["rounds"]
    [50, 100, 150, 200]
    """

    def __init__(self, tables: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
        self.tables = dict(tables)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        every: int = 1000,
        measures: Sequence[str] | None = None,
        name: str | None = None,
        ax: Any = None,
    ) -> StreamDisplay:
        """Evaluate a copy of a model on a stream (see `evaluate_stream`) and plot the result.

        Parameters
        ----------
        model : estimator
            One that learns by ``partial_fit``; it is cloned, not fitted.
        X : Views, what becomes Views, or an iterable of batches
            The stream.
        y : array-like, optional
            Labels of its objects.
        every : int, default=1000
            Rounds between two points of a line.
        measures : list of str, optional
            Measures to draw; all by default.
        name : str, optional
            Name in the legend; that of the class by default.
        ax : array of matplotlib Axes, optional
            Where to draw.
        """
        result = evaluate_stream(clone(model), X, y, every=every)
        return cls.from_results({name or type(model).__name__: result}, measures=measures, ax=ax)

    @classmethod
    def from_results(
        cls, results: Mapping[str, Any], *, measures: Sequence[str] | None = None, ax: Any = None
    ) -> StreamDisplay:
        """Plot the results of `evaluate_stream` for one or more models.

        Parameters
        ----------
        results : dict
            Results of `evaluate_stream`, by name of the model.
        measures : list of str, optional
            Measures to draw; all by default.
        ax : array of matplotlib Axes, optional
            Where to draw.
        """
        return cls({name: result.table for name, result in results.items()}).plot(ax, measures=measures)

    def plot(self, ax: Any = None, *, measures: Sequence[str] | None = None) -> StreamDisplay:
        """Draw one panel for each measure.

        Parameters
        ----------
        ax : array of matplotlib Axes, optional
            Where to draw; a new figure by default.
        measures : list of str, optional
            Measures to draw; all by default.
        """
        known = list(dict.fromkeys(key for table in self.tables.values() for key in table if key != "rounds"))
        shown = list(measures or known)
        for key in shown:
            if key not in known:
                raise ValueError(f"measures names {key!r}; the results have {', '.join(map(repr, known))}.")
        self.figure_, grid = panels(ax, 1, len(shown), (3.6, 3.0))
        self.axes_ = grid[0]
        self.ax_ = self.axes_[0]
        for panel, key in zip(self.axes_, shown):
            for k, (name, table) in enumerate(self.tables.items()):
                if key in table:
                    color = ACCENT if k == 0 else PALETTE[k % len(PALETTE)]
                    panel.plot(table["rounds"], table[key], lw=1.8, label=name, color=color)
            panel.set(title=key.replace("_", " "), xlabel="rounds")
            panel.grid(alpha=0.25)
            bare(panel)
        if len(self.tables) > 1:
            self.ax_.legend(frameon=False, fontsize=8)
        return self
