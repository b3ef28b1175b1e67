"""Views beside each other: how far they agree, and what each takes for what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from coview.inspection import inspect
from coview.inspection.by_view import agreement_matrix, read_by_view
from coview.inspection.features import keyed_names
from coview.inspection.measures import confusion
from coview.plot.style import heat, one_panel, panels
from coview.utils.messages import cut
from coview.validation import encode_labels, minus_one_is_unlabeled

__all__ = ["ViewAgreementDisplay", "ViewConfusionDisplay"]

NAME_LETTERS = 30  # of a column


class ViewAgreementDisplay:
    """Share of objects that two views, or one view and all views, assign to the same group.

    Parameters
    ----------
    values : array-like (n_readings, n_readings)
        Shares from 0 to 1.
    names : list of str
        Names of the readings: the views, and "all views".

    Attributes
    ----------
    figure_, ax_
        What was drawn.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.plot import ViewAgreementDisplay
    >>> X = make_topic_views(n_objects=60, random_state=0).views
    >>> display = ViewAgreementDisplay.from_estimator(LinkPLSA(3, random_state=0).fit(X), X)
    >>> display.names
    ['view0', 'view1', 'all views']
    """

    def __init__(self, values: Any, names: Sequence[str]) -> None:
        self.values, self.names = values, list(names)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, ax: Any = None) -> ViewAgreementDisplay:
        """Predict the objects of X from each view alone and from all views, and plot the agreement.

        Parameters
        ----------
        model : estimator
            Fitted.
        X : Views or what becomes Views
            The objects.
        ax : matplotlib Axes, optional
            Where to draw.
        """
        inspection = inspect(model)
        matrix = agreement_matrix(read_by_view(inspection, inspection.preparation.prepare_views(X)))
        if matrix is None:
            raise ValueError(f"{inspection.name} has only one view of these objects; agreement needs at least two.")
        return cls(matrix["values"], matrix["names"]).plot(ax)

    def plot(self, ax: Any = None) -> ViewAgreementDisplay:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        side = 1.8 + 0.55 * len(self.names)
        self.figure_, self.ax_ = one_panel(ax, (side + 0.6, side))
        texts = [["–" if value is None else f"{value:.2f}" for value in row] for row in self.values]
        heat(self.ax_, self.values, self.names, self.names, texts, high=1.0)
        self.ax_.set_title("Agreement of views")
        return self


class ViewConfusionDisplay:
    """Labels against predicted groups, for each view alone and for all views.

    Parameters
    ----------
    confusions : {reading: dict}
        With "rows" (labels), "columns" (groups) and "counts", by name of the view, and "all views".
    noun : str, default="class"
        What a group is.

    Attributes
    ----------
    figure_, axes_, ax_
        What was drawn, one panel for each reading; `ax_` is the first of them.

    Examples
    --------
    >>> from coview import MultiViewNaiveBayes
    >>> from coview.datasets import make_topic_views
    >>> from coview.plot import ViewConfusionDisplay
    >>> data = make_topic_views(n_objects=60, n_clusters=3, random_state=0)
    >>> model = MultiViewNaiveBayes().fit(data.views, data.target)
    >>> sorted(ViewConfusionDisplay.from_estimator(model, data.views, data.target).confusions)
    ['all views', 'view0', 'view1']
    """

    def __init__(self, confusions: dict[str, dict[str, Any]], *, noun: str = "class") -> None:
        self.confusions, self.noun = confusions, noun

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, most: int = 12, ax: Any = None) -> ViewConfusionDisplay:
        """Predict the objects of X from each view alone and from all views, and plot labels against groups.

        Parameters
        ----------
        model : estimator
            Fitted, with classes, clusters or topics.
        X : Views or what becomes Views
            The objects.
        y : array-like
            Their labels; -1, None or NaN for none.
        most : int, default=12
            Most labels and groups drawn, the largest; the last sums the rest where there are more.
        ax : matplotlib Axes or array of them, optional
            Where to draw.
        """
        inspection = inspect(model)
        views = inspection.preparation.prepare_views(X)
        codes, classes = encode_labels(y, len(views), semi_supervised=minus_one_is_unlabeled(inspection.estimator))
        readings = read_by_view(inspection, views)
        if readings.whole.codes is None:
            raise ValueError(
                f"{inspection.name} does not assign objects to classes, clusters or topics, so there is nothing "
                "to compare with labels."
            )
        whole = confusion(inspection, readings.whole.codes, codes, classes, most)
        drawn = {}
        for name, reading in readings.alone.items():
            if reading.codes is not None:
                known = np.where(readings.described[name], codes, -1)
                drawn[name] = confusion(inspection, reading.codes, known, classes, most, like=whole)
        drawn["all views"] = whole
        called = dict(zip(inspection.groups, keyed_names(inspection)))
        for part in drawn.values():
            part["columns"] = [cut(called.get(key, key), NAME_LETTERS) for key in part["columns"]]
        return cls(drawn, noun=inspection.kind).plot(ax)

    def plot(self, ax: Any = None) -> ViewConfusionDisplay:
        """Draw the matrices side by side.

        Parameters
        ----------
        ax : matplotlib Axes or array of them, optional
            Where to draw; a new figure by default.
        """
        first = next(iter(self.confusions.values()))
        size = (1.6 + 0.45 * len(first["columns"]), 1.5 + 0.42 * len(first["rows"]))
        self.figure_, grid = panels(ax, 1, len(self.confusions), size)
        self.axes_ = grid[0]
        self.ax_ = self.axes_[0]
        for place, (panel, (name, part)) in enumerate(zip(self.axes_, self.confusions.items())):
            counts = np.asarray(part["counts"])
            shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
            texts = [[str(c) if c else "" for c in row] for row in counts.tolist()]
            heat(
                panel,
                shares,
                part["rows"] if place == 0 else [""] * len(part["rows"]),
                part["columns"],
                texts,
                high=1.0,
            )
            word = "predicted" if self.noun == "class" else self.noun
            panel.set(title=name, xlabel=word, ylabel="label" if place == 0 else "")
        return self
