"""Curves: what a fit or a stream did over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from coview.inspection import inspect
from coview.inspection.measures import fit_curves
from coview.online.stream import evaluate_stream
from coview.plot.style import ACCENT, PALETTE, bare, one_panel, panels

__all__ = ["ObjectiveDisplay", "StreamDisplay"]


class ObjectiveDisplay:
    """The objective of a fit, iteration by iteration.

    Parameters
    ----------
    values : sequence of float
        The objective after 0, 1, ... iterations.
    name : str, optional
        Name of the model.
    x_label : str, default="iteration"
        What is counted.
    title : str, default="Objective"
        What is drawn.

    Attributes
    ----------
    figure_, ax_, line_
        What was drawn.

    Examples
    --------
    >>> from coview import PLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.plot import ObjectiveDisplay
    >>> X = make_topic_views(n_objects=50, random_state=0).views
    >>> display = ObjectiveDisplay.from_estimator(PLSA(3, max_iter=5, tol=0, random_state=0).fit(X))
    >>> len(display.line_.get_xdata())
    6
    """

    def __init__(
        self, values: Sequence[float], *, name: str | None = None, x_label: str = "iteration", title: str = "Objective"
    ) -> None:
        self.values, self.name, self.x_label, self.title = values, name, x_label, title

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any = None, *, key: str = "objective", name: str | None = None, ax: Any = None, **style: Any
    ) -> ObjectiveDisplay:
        """Plot the objective, or another curve, of a fitted model.

        Parameters
        ----------
        model : estimator
            Fitted.
        X : ignored
            Here as in the other displays.
        key : str, default="objective"
            Which of its curves: "objective", "correlations" of a model that correlates views, or another that it keeps.
        name : str, optional
            Name in the legend; that of the class by default.
        ax : matplotlib Axes, optional
            Where to draw.
        **style
            For matplotlib's ``plot``.
        """
        inspection = inspect(model)
        curves = {curve["key"]: curve for curve in fit_curves(inspection)}
        if key not in curves:
            listed = ", ".join(map(repr, curves)) or "none"
            raise ValueError(f"{inspection.name} has no curve {key!r}; it has {listed}.")
        curve = curves[key]
        display = cls(curve["values"], name=name or inspection.name, x_label=curve["x"], title=curve["title"])
        return display.plot(ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> ObjectiveDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **style
            For matplotlib's ``plot``.
        """
        self.figure_, self.ax_ = one_panel(ax, (5.6, 3.4))
        numbers = [np.nan if value is None else value for value in self.values]
        (self.line_,) = self.ax_.plot(numbers, **{"lw": 2.0, "label": self.name, **style})
        self.ax_.set(xlabel=self.x_label, ylabel=self.title.lower(), title=self.title)
        if self.name:
            self.ax_.legend(frameon=False)
        self.ax_.grid(alpha=0.25)
        bare(self.ax_)
        return self


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
