"""Groups of a model as a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import dendrogram

from coview.inspection import inspect
from coview.inspection.hierarchy import GroupHierarchy
from coview.plot.style import PALETTE, bare, one_panel
from coview.utils.messages import cut

__all__ = ["HierarchyDisplay"]

NAME_LETTERS = 40
APART = "#868e96"  # of a join of several parts
ROW, LETTER = 0.28, 0.075  # inches of a group, and of a letter of its name
LARGEST, SMALLEST = 10.0, 5.0  # points of a name


class HierarchyDisplay:
    """The tree over the groups of a model, the parts of a cut in their colors.

    Parameters
    ----------
    hierarchy : GroupHierarchy
        What `inspect(model).hierarchy()` returns.
    n_parts : int, optional
        Where the tree is cut; by default it is not.

    Attributes
    ----------
    hierarchy, n_parts
        The same.
    figure_, ax_
        What was drawn.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.plot import HierarchyDisplay
    >>> X = make_topic_views(n_objects=100, n_clusters=4, random_state=0).views
    >>> display = HierarchyDisplay.from_estimator(LinkPLSA(4, random_state=0).fit(X), n_parts=2)
    >>> len(display.ax_.get_yticklabels())
    4
    """

    def __init__(self, hierarchy: GroupHierarchy, *, n_parts: int | None = None) -> None:
        if len(hierarchy.keys) < 2:
            raise ValueError("A tree needs at least two groups, got one.")
        self.hierarchy, self.n_parts = hierarchy, n_parts

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        *,
        n_parts: int | None = None,
        ax: Any = None,
    ) -> HierarchyDisplay:
        """Draw the tree over the groups of a fitted model.

        Parameters
        ----------
        model : estimator
            Fitted.
        X : what the model takes, optional
            Objects, for models that say nothing of features.
        n_parts : int, optional
            Where the tree is cut; by default it is not.
        ax : matplotlib Axes, optional
            Where to draw.
        """
        tree = inspect(model).hierarchy(X)
        return cls(tree, n_parts=n_parts).plot(ax)

    def plot(self, ax: Any = None) -> HierarchyDisplay:
        """Draw a line for each join, at the distance of what it joins.

        Names are smaller where axes are given that have little room, or every second one is left out, and so on.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        tree, n_parts, n = self.hierarchy, self.n_parts or 1, len(self.hierarchy.keys)
        parts = tree.cut(n_parts).tolist()
        for left, *_ in tree.linkage.astype(int).tolist():
            parts.append(parts[left])

        def color(node: int) -> str:
            return PALETTE[parts[node] % len(PALETTE)] if node < 2 * n - n_parts else APART

        drawn = dendrogram(tree.linkage, no_plot=True, link_color_func=color)
        labels = [f"{tree.keys[group]}: {cut(tree.names[group], NAME_LETTERS)}" for group in drawn["leaves"]]
        self.figure_, self.ax_ = one_panel(ax, (4.5 + LETTER * max(map(len, labels)), 1.0 + ROW * n))
        for places, distances, hue in zip(drawn["icoord"], drawn["dcoord"], drawn["color_list"]):
            self.ax_.plot(distances, places, color=hue, linewidth=1.4)
        self.ax_.set(xlabel="distance", title="Groups that are alike", ylim=(10 * n, 0))
        bare(self.ax_)
        self._write_names(labels)
        return self

    def _write_names(self, labels: list[str]) -> None:
        """Names of the groups, in a size that they have room for."""
        room = 72.0 * self.ax_.get_window_extent().height / self.figure_.dpi / len(labels)
        every = int(np.ceil(1.3 * SMALLEST / room))
        size = min(LARGEST, max(SMALLEST, room * every / 1.3))
        self.ax_.set_yticks(
            range(5, 10 * len(labels), 10 * every), labels[::every], fontsize=size
        )  # as scipy places them
