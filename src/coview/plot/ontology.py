"""An ontology: its labels as a tree with counts of objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from coview.inspection import inspect
from coview.inspection.labels import label_tree
from coview.plot.style import ACCENT, bare, one_panel

__all__ = ["OntologyDisplay"]


class OntologyDisplay:
    """Labels of an ontology as a tree, with the number of objects of each.

    Parameters
    ----------
    lines : list of dict
        With "label", "level" and "count", from top to bottom.

    Attributes
    ----------
    figure_, ax_
        What was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import Ontology, SeededKMeansClassifier, Views
    >>> from coview.plot import OntologyDisplay
    >>> X = Views(words=np.array([[3, 0, 0], [0, 3, 1], [2, 1, 0], [0, 0, 2]]))
    >>> tree = Ontology.from_tree({"animal": ["cat", "dog"]})
    >>> model = SeededKMeansClassifier(ontology=tree).fit(X, ["cat", "dog", None, None])
    >>> [(line["label"], line["count"]) for line in OntologyDisplay.from_estimator(model, X).lines]
    [('animal', 4), ('cat', 2), ('dog', 2)]
    """

    def __init__(self, lines: Sequence[dict[str, Any]]) -> None:
        self.lines = list(lines)

    @classmethod
    def from_estimator(cls, model: Any, X: Any = None, *, ax: Any = None) -> OntologyDisplay:
        """Plot the number of objects that a fitted model assigns to each label.

        Parameters
        ----------
        model : estimator
            Fitted with an ontology.
        X : Views or what becomes Views, optional
            The objects; by default those that it was fitted on.
        ax : matplotlib Axes, optional
            Where to draw.
        """
        inspection = inspect(model)
        if inspection.structure.ontology is None:
            raise ValueError(f"{inspection.name} was fitted without an ontology. Fit it with ontology=Ontology(...).")
        return cls(
            label_tree(inspection, None if X is None else inspection.preparation.prepare_views(X))["lines"]
        ).plot(ax)

    def plot(self, ax: Any = None) -> OntologyDisplay:
        """Draw the tree and the counts as bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        n = len(self.lines)
        self.figure_, self.ax_ = one_panel(ax, (7.0, 0.9 + 0.27 * n))
        lines = np.arange(n)
        counts = [line["count"] for line in self.lines]
        self.ax_.barh(lines, counts, color=ACCENT, height=0.62, alpha=0.85)
        self.ax_.set_yticks(lines, [_branch(self.lines, i) for i in range(n)], fontsize=9, family="monospace")
        for label in self.ax_.get_yticklabels():
            label.set_horizontalalignment("left")
        deepest = max(len(_branch(self.lines, i)) for i in range(n))
        self.ax_.tick_params(axis="y", length=0, pad=5.6 * deepest)
        for line, value in zip(lines, counts):
            self.ax_.text(value, line, f" {value:,}", va="center", fontsize=8)
        self.ax_.invert_yaxis()
        self.ax_.set(xlabel="objects", title="Labels")
        self.ax_.margins(x=0.12)
        bare(self.ax_)
        return self


def _branch(lines: Sequence[dict[str, Any]], i: int) -> str:
    """A label with the lines that lead to it, as a tree is drawn in text."""
    level = lines[i]["level"]
    if level == 0:
        return str(lines[i]["label"])
    after = [line["level"] for line in lines[i + 1 :]]
    lead = []
    for depth in range(1, level + 1):
        # whether another branch of this depth follows before the tree goes back above it
        upto = next((k for k, other in enumerate(after) if other < depth), len(after))
        more = depth in after[:upto]
        lead.append(("├ " if more else "└ ") if depth == level else ("│ " if more else "  "))
    return "".join(lead) + str(lines[i]["label"])
