"""Topics, clusters and classes: their features by view."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from coview.inspection import inspect
from coview.inspection.features import (
    feature_names,
    features_by_view,
    group_names,
    holds_vectors,
    top_features,
)
from coview.inspection.names import keyed_name, own_names
from coview.inspection.reading import read_groups
from coview.plot.style import PALETTE, bare, panels

__all__ = ["TopicsDisplay"]

MOST_DRAWN = 12
TITLE_LETTERS = 46  # of a line above a panel


class TopicsDisplay:
    """Characteristic features of each topic, cluster or class, one panel per group and view.

    Parameters
    ----------
    features : {view: list of lists of (feature, weight, lift)}
        By view and group, best first.
    names : list of str
        Names of the groups.
    noun : str, default="topic"
        What a group is.
    units : {view: str}, optional
        What the weights of each view are, as the label of its axes: "p(feature)", standard deviations, ...

    Attributes
    ----------
    figure_, axes_, ax_
        What was drawn: `axes_` has a row for each group and a column for each view; `ax_` is the first of them.

    Examples
    --------
    >>> from coview import MultiViewPLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.plot import TopicsDisplay
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> TopicsDisplay.from_estimator(MultiViewPLSA(3, 5, random_state=0).fit(X)).axes_.shape
    (3, 2)
    """

    def __init__(
        self,
        features: dict[str, list[Any]],
        names: Sequence[str],
        *,
        noun: str = "topic",
        units: Mapping[str, str] | None = None,
    ) -> None:
        self.features, self.names, self.noun, self.units = features, list(names), noun, dict(units or {})

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        *,
        views: Sequence[str] | None = None,
        groups: Sequence[int] | None = None,
        n_features: int = 8,
        rank: str = "distinctive",
        ax: Any = None,
    ) -> TopicsDisplay:
        """Draw the features of a fitted model's groups.

        Parameters
        ----------
        model : estimator
            Fitted.
        X : Views or what becomes Views, optional
            Objects; needed for models that say nothing of features themselves: then means of the groups are drawn.
            Bars of measurements are distances from the mean of all objects, in standard deviations. Views of vectors
            whose columns have no names are not drawn.
        views : list of str, optional
            Views to draw; all by default.
        groups : list of int, optional
            Positions of the groups to draw; the first 12 by default.
        n_features : int, default=8
            Features of each panel.
        rank : {"distinctive", "weight"}, default="distinctive"
            By what sets a group apart from the others, or by the weight alone. Components show both ends.
        ax : array of matplotlib Axes, optional
            Where to draw.
        """
        inspection = inspect(model)
        objects = None if X is None else inspection.preparation.prepare_views(X)
        codes = None if objects is None else read_groups(inspection, objects, prepared=True).codes
        known = features_by_view(inspection, objects, codes)
        if not known or inspection.kind == "value":
            if any(holds_vectors(inspection, view, objects) for view in inspection.views):
                raise ValueError(
                    f"The views of {inspection.name} hold vectors, whose columns have no names to draw. Use "
                    "describe(model, X) for the objects nearest to each mean vector."
                )
            raise ValueError(
                f"{inspection.name} does not describe its groups by features. If it has groups, pass X to draw "
                "the means of their objects."
            )
        for view in views or ():
            if view not in known:
                raise ValueError(f"views names {view!r}; the views with features are {', '.join(map(repr, known))}.")
        rank = "signed" if inspection.kind == "component" else rank
        chosen = list(range(len(inspection.groups)))[:MOST_DRAWN] if groups is None else list(groups)
        features = {}
        for view in views or known:
            ranked = top_features(known[view], feature_names(inspection, view, objects), n_features, by=rank)
            features[view] = [ranked[g] for g in chosen]
        own = own_names(inspection.groups, group_names(inspection, objects, codes), inspection.kind)
        names = [keyed_name(key, own) for key in inspection.groups]
        units = {view: known[view].origin for view in features}
        return cls(features, [names[g] for g in chosen], noun=inspection.kind, units=units).plot(ax)

    def plot(self, ax: Any = None) -> TopicsDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : array of matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        longest = max((len(lines) for lists in self.features.values() for lines in lists), default=1)
        size = (3.6, 0.5 + 0.19 * max(longest, 3))
        self.figure_, self.axes_ = panels(ax, len(self.names), len(self.features), size)
        self.ax_ = self.axes_[0, 0]
        for column, (view, lists) in enumerate(self.features.items()):
            for row, lines in enumerate(lists):
                panel = self.axes_[row, column]
                panel.barh(
                    range(len(lines)), [line[1] for line in lines], color=PALETTE[row % len(PALETTE)], height=0.72
                )
                panel.set_yticks(range(len(lines)), [line[0] for line in lines], fontsize=8)
                panel.invert_yaxis()
                panel.tick_params(axis="x", labelsize=7)
                panel.tick_params(axis="y", length=0)
                several = f", {view}" if len(self.features) > 1 else ""
                title = textwrap.fill(f"{self.noun} {self.names[row]}{several}", TITLE_LETTERS)
                panel.set_title(title, fontsize=9, loc="left")
                if row == len(lists) - 1:
                    panel.set_xlabel(self.units.get(view, ""), fontsize=8)
                bare(panel)
        return self
