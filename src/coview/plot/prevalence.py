"""Prevalence of groups over time, by a number or by a category, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.inspection import inspect
from coview.plot.style import PALETTE, bare, one_panel
from coview.utils.messages import cut
from coview.utils.tables import ResultTable
from coview.validation import check_count

__all__ = ["PrevalenceDisplay"]

NAME_LETTERS = 30


class PrevalenceDisplay:
    """Prevalence of groups: lines with bands over time and over numbers, a heat map of categories.

    Parameters
    ----------
    table : ResultTable
        What `inspect(model).prevalence(X, by)` returns.
    n_groups : int, default=8
        Groups that are drawn: those whose prevalence differs most from bin to bin.

    Attributes
    ----------
    drawn : list of int
        Positions of the groups that are drawn.
    figure_, ax_
        What was drawn.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.plot import PrevalenceDisplay
    >>> data = make_topic_views(n_objects=100, n_clusters=3, random_state=0)
    >>> model = LinkPLSA(3, random_state=0).fit(data.views)
    >>> display = PrevalenceDisplay.from_estimator(model, data.views, by=data.target / 10)
    >>> len(display.ax_.lines)
    3
    """

    def __init__(self, table: ResultTable, *, n_groups: int = 8) -> None:
        self.table, self.n_groups = table, check_count("n_groups", n_groups)
        spread = np.ptp(table.shares, axis=0)
        self.drawn = sorted(np.argsort(-spread, kind="stable")[:n_groups].tolist())

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        by: Any,
        *,
        n_bins: int | None = None,
        n_groups: int = 8,
        ax: Any = None,
    ) -> PrevalenceDisplay:
        """Draw how prevalent the groups of a fitted model are.

        Parameters
        ----------
        model : estimator
            Fitted.
        X : what the model takes
            The objects.
        by : array-like (n_objects,), or str
            A date, a number or a category of each object, or a column of the table.
        n_bins : int, optional
            Most bins.
        n_groups : int, default=8
            Groups that are drawn: those whose prevalence differs most from bin to bin.
        ax : matplotlib Axes, optional
            Where to draw.
        """
        return cls(inspect(model).prevalence(X, by, n_bins=n_bins), n_groups=n_groups).plot(ax)

    def plot(self, ax: Any = None) -> PrevalenceDisplay:
        """Draw lines with their intervals, or a heat map of categories.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        names = [cut(name, NAME_LETTERS) for name in self.table["name"][: self.table.shares.shape[1]]]
        draw = self._draw_categories if self.table.bins.kind == "category" else self._draw_lines
        draw(names, ax)
        return self

    def _draw_categories(self, names: list[str], ax: Any) -> None:
        labels = [cut(label, NAME_LETTERS) for label in self.table.bins.labels]
        shares = self.table.shares[:, self.drawn]
        self.figure_, self.ax_ = one_panel(ax, (2.4 + 0.5 * len(self.drawn), 1.4 + 0.32 * len(labels)))
        top = shares.max() or 1.0
        self.ax_.imshow(shares, cmap="Blues", vmin=0, vmax=top, aspect="auto")
        for (row, column), share in np.ndenumerate(shares):
            color = "white" if share > 0.62 * top else "#16191f"
            self.ax_.text(column, row, f"{100 * share:.0f}", ha="center", va="center", fontsize=8, color=color)
        shown = [names[g] for g in self.drawn]
        self.ax_.set_xticks(range(len(shown)), shown, rotation=45, ha="right", rotation_mode="anchor")
        self.ax_.set_yticks(range(len(labels)), labels)
        self.ax_.tick_params(length=0)
        self.ax_.spines[:].set_visible(False)
        self.ax_.set(title=f"Prevalence by {self.table.by}, percent")

    def _draw_lines(self, names: list[str], ax: Any) -> None:
        bins, shares = self.table.bins, self.table.shares
        self.figure_, self.ax_ = one_panel(ax, (7.0, 4.0))
        low, high = self.table.low, self.table.high
        for place, g in enumerate(self.drawn):
            color = PALETTE[place % len(PALETTE)]
            self.ax_.plot(bins.places, shares[:, g], marker="o", markersize=3, color=color, label=names[g])
            self.ax_.fill_between(bins.places, low[:, g], high[:, g], color=color, alpha=0.15, linewidth=0)
        every = -(-len(bins.labels) // 12)
        self.ax_.set_xticks(bins.places[::every], bins.labels[::every], rotation=45, ha="right", rotation_mode="anchor")
        self.ax_.set(title=f"Prevalence by {self.table.by}", ylabel="mean membership", ylim=(0, None))
        self.ax_.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        bare(self.ax_)
