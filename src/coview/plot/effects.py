"""Expected shares of groups by one covariate, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.inspection import inspect
from coview.inspection.effects import Effects
from coview.plot.style import PALETTE, bare, one_panel
from coview.utils.messages import cut
from coview.validation import check_count

__all__ = ["EffectsDisplay"]

NAME_LETTERS = 30


class EffectsDisplay:
    """Expected shares by one covariate, the others at their means: curves with bands, or points with whiskers.

    Parameters
    ----------
    effects : Effects
        What `inspect(model).effects(X, formula)` returns.
    term : str, optional
        The covariate; by default the first one of the formula.
    n_groups : int, default=8
        Groups that are drawn: those whose share changes most.

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
    >>> from coview.plot import EffectsDisplay
    >>> data = make_topic_views(n_objects=100, n_clusters=3, random_state=0)
    >>> model = LinkPLSA(3, random_state=0).fit(data.views)
    >>> display = EffectsDisplay.from_estimator(model, data.views, "~ year", {"year": data.target + 2000})
    >>> len(display.ax_.lines)
    3
    """

    def __init__(self, effects: Effects, term: str | None = None, *, n_groups: int = 8) -> None:
        self.effects, self.expected = effects, effects.predict(term)
        spread = np.ptp(self.expected.share, axis=0)
        self.drawn = sorted(np.argsort(-spread, kind="stable")[: check_count("n_groups", n_groups)].tolist())

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, formula: str, covariates: Any = None, *, term: str | None = None, ax: Any = None
    ) -> EffectsDisplay:
        """Draw how the shares of the groups of a fitted model depend on a covariate.

        Parameters
        ----------
        model : estimator
            Fitted.
        X : what the model takes
            The objects.
        formula : str
            The covariates, as `inspect(model).effects` takes them.
        covariates : table or mapping, optional
            What has the columns of the formula; by default X.
        term : str, optional
            The covariate that is drawn; by default the first one.
        ax : matplotlib Axes, optional
            Where to draw.
        """
        return cls(inspect(model).effects(X, formula, covariates), term).plot(ax)

    def plot(self, ax: Any = None) -> EffectsDisplay:
        """Draw the shares.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        self.figure_, self.ax_ = one_panel(ax, (7.0, 4.0))
        expected, term = self.expected, self.expected.term
        for place, g in enumerate(self.drawn):
            share, low, high = (part[:, g] for part in (expected.share, expected.low, expected.high))
            style = {"color": PALETTE[place % len(PALETTE)], "label": cut(self.effects.names[g], NAME_LETTERS)}
            if term.kind == "category":  # beside each other, so that whiskers do not meet
                at = expected.places + 0.6 * ((place + 0.5) / len(self.drawn) - 0.5)
                self.ax_.errorbar(at, share, yerr=(share - low, high - share), fmt="o", markersize=4, **style)
            else:
                self.ax_.plot(expected.places, share, **style)
                self.ax_.fill_between(expected.places, low, high, color=style["color"], alpha=0.15, linewidth=0)
        if term.kind == "category":
            labels = [cut(value, NAME_LETTERS) for value in term.values]
            self.ax_.set_xticks(expected.places, labels, rotation=30, ha="right", rotation_mode="anchor")
        self.ax_.set(title=f"Effect of {term.name}", ylabel="expected share")
        # measured shares may be below zero
        self.ax_.set_ylim(bottom=min(0.0, np.nan_to_num(expected.low[:, self.drawn]).min()))
        self.ax_.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        bare(self.ax_)
        return self
