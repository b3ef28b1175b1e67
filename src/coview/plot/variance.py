"""Share of the variance of views of vectors that a model explains, by group and together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coview.inspection import inspect
from coview.inspection.features import keyed_names
from coview.plot.style import ACCENT, bare, heat, panels
from coview.utils.messages import cut

__all__ = ["VarianceExplainedDisplay"]

NAME_LETTERS = 30  # of a column


class VarianceExplainedDisplay:
    """Share of the variance of each Gaussian view that each group explains, and that of all groups together.

    Parameters
    ----------
    shares : {view: array (n_groups,)}
        Share that each group explains, as in `variance_explained_` of a model: at least 0, and they add up to that of
        all groups.
    names : list of str
        Names of the groups.
    noun : str, default="topic"
        What a group is.

    Attributes
    ----------
    figure_, axes_, ax_
        What was drawn: a heat map of views and groups (`ax_`), and bars of the sums.

    Examples
    --------
    >>> from coview import LinkPLSA, Views
    >>> from coview.datasets import make_topic_views
    >>> from coview.plot import VarianceExplainedDisplay
    >>> data = make_topic_views(60, {"words": 40}, n_clusters=3, random_state=0)
    >>> X = Views(words=data.views["words"], vector=np.eye(3)[data.target] - 0.3)
    >>> display = VarianceExplainedDisplay.from_estimator(LinkPLSA(3, random_state=0).fit(X))
    >>> list(display.shares), len(display.names)
    (['vector'], 3)
    """

    def __init__(self, shares: Mapping[str, Any], names: Sequence[str], *, noun: str = "topic") -> None:
        self.shares, self.names, self.noun = dict(shares), list(names), noun

    @classmethod
    def from_estimator(cls, model: Any, X: Any = None, *, ax: Any = None) -> VarianceExplainedDisplay:
        """Plot what a fitted model explains of its views of vectors.

        Parameters
        ----------
        model : estimator
            Fitted, with a Gaussian view: of the PLSA family.
        X : ignored
            Here as in the other displays.
        ax : matplotlib Axes or array of two of them, optional
            Where to draw.
        """
        inspection = inspect(model)
        if not inspection.structure.variance_explained:
            raise ValueError(
                f"{inspection.name} has no Gaussian view, of which it could explain the variance. Pass a model of the "
                "PLSA family that was fitted on dense vectors."
            )
        return cls(inspection.structure.variance_explained, keyed_names(inspection), noun=inspection.kind).plot(ax)

    def plot(self, ax: Any = None) -> VarianceExplainedDisplay:
        """Draw the heat map, and a bar for each view.

        Parameters
        ----------
        ax : matplotlib Axes or array of two of them, optional
            Where to draw; a new figure by default.
        """
        array = np.array([np.asarray(part, dtype=np.float64) for part in self.shares.values()])
        columns = [cut(name, NAME_LETTERS) for name in self.names]
        slanted = 0.06 * max(map(len, columns), default=0)  # room for the names below
        size = (max(1.6 + 0.45 * len(columns), 3.2), 1.6 + 0.5 * len(array) + slanted)
        self.figure_, grid = panels(ax, 1, 2, size)
        self.axes_ = grid[0]
        self.ax_, totals = self.axes_
        texts = [[f"{100 * value:.0f}" for value in row] for row in array]
        heat(self.ax_, array, self.shares, columns, texts, square=False)
        self.ax_.set(title="Variance explained, percent", xlabel=self.noun)
        sums = array.sum(axis=1)
        totals.barh(range(len(sums)), sums, color=ACCENT, height=0.62)
        for height, value in enumerate(sums):
            totals.text(max(value, 0) + 0.02, height, f"{100 * value:.1f} %", va="center", fontsize=8)
        totals.set_yticks(range(len(sums)), [str(view) for view in self.shares])
        totals.set(xlim=(0, 1.15), ylim=(len(sums) - 0.5, -0.5), title="All together", xlabel="share of the variance")
        bare(totals)
        return self
