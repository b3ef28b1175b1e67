"""Views beside each other: how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coview.inspection import inspect
from coview.inspection.by_view import agreement_matrix, read_by_view
from coview.plot.style import heat, one_panel

__all__ = ["ViewAgreementDisplay"]


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
