"""Shares of topics before and after an update, and what happened to each."""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.editing import Update
from coview.plot.style import bare, one_panel
from coview.utils.messages import cut

__all__ = ["UpdateDisplay"]

COLORS = {
    "kept": "#5c677d",
    "drifted": "#e8590c",
    "born": "#2b8a3e",
    "split": "#7048e8",
    "merged": "#0b8fa3",
    "died": "#c92a2a",
}
NAME_LETTERS = 40


class UpdateDisplay:
    """A line for each topic, from its share in the old objects to that in the new ones, colored by what happened.

    Parameters
    ----------
    update : Update
        What `update(model, X)` returns.

    Attributes
    ----------
    figure_, ax_
        What was drawn.

    Examples
    --------
    >>> from coview import LinkPLSA, update
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=300, n_clusters=3, random_state=0).views
    >>> display = update(LinkPLSA(3, random_state=0).fit(X[:200]), X[200:]).plot()
    >>> [label.get_text() for label in display.ax_.get_legend().get_texts()]
    ['kept']
    """

    def __init__(self, update: Update) -> None:
        self.update = update

    def plot(self, ax: Any = None) -> UpdateDisplay:
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        found = self.update
        self.figure_, self.ax_ = one_panel(ax, (7.0, 1.2 + 0.28 * len(found["group"])))
        for row, (event, before, now) in enumerate(zip(found["event"], found["before"], found["now"])):
            known = 0.0 if np.isnan(before) else before
            label = event if event not in found["event"][:row] else None
            self.ax_.plot([known, now], [row, row], color=COLORS[event], linewidth=2, label=label)
            self.ax_.plot(now, row, "o", color=COLORS[event], markersize=5)
        names = [cut(f"{key}: {name}", NAME_LETTERS) for key, name in zip(found["group"], found["name"])]
        self.ax_.set_yticks(range(len(names)), names)
        self.ax_.invert_yaxis()
        self.ax_.set(title=f"Topics in {found.n_objects:,} new objects", xlabel="share, before to now", xlim=(0, None))
        self.ax_.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        bare(self.ax_)
        return self
