"""An ontology: its labels as a tree with counts of objects, and as a graph of what includes and excludes what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from coview.assignment.ontology import Ontology
from coview.inspection import inspect
from coview.inspection.labels import label_tree
from coview.plot.style import ACCENT, bare, one_panel

__all__ = ["OntologyDisplay", "OntologyGraphDisplay"]


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


class OntologyGraphDisplay:
    """Graph of an ontology: solid lines to parents, dashed lines between exclusive labels.

    Parameters
    ----------
    ontology : Ontology
        What to draw.

    Attributes
    ----------
    figure_, ax_
        What was drawn.

    Examples
    --------
    >>> from coview import Ontology
    >>> from coview.plot import OntologyGraphDisplay
    >>> tree = Ontology.from_tree({"Animal": ["Dog", "Cat"]})
    >>> len(OntologyGraphDisplay(tree).plot().ax_.texts)
    3
    """

    def __init__(self, ontology: Ontology) -> None:
        self.ontology = ontology

    def plot(self, ax: Any = None) -> OntologyGraphDisplay:
        """Draw the graph.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        ontology, place = self.ontology, _positions(self.ontology)
        height, width = place[:, 1].max() + 1, np.ptp(place[:, 0]) + 1
        self.figure_, self.ax_ = one_panel(ax, (4 + 1.6 * height, 1 + 0.32 * width))
        for group in _exclusive_groups(ontology):
            (low, x), (high, _) = place[group].min(axis=0), place[group].max(axis=0)
            near = x - 0.12 if len(group) > 2 or len(set(place[group, 1])) == 1 else x
            self.ax_.plot([x, near, near, x], [low, low, high, high], ls="--", lw=0.9, color="#d9822b", zorder=1)
        for child, parent in ontology.subset_codes:
            self.ax_.plot(*np.transpose(place[[child, parent], ::-1]), color="#3b6fb6", lw=1.2, zorder=2)
        for (y, x), label in zip(place, ontology.labels):
            box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "#3b6fb6", "linewidth": 0.8}
            self.ax_.text(x, y, str(label), ha="center", va="center", fontsize=8, bbox=box, zorder=3)
        self.ax_.margins(0.15, 0.08)
        self.ax_.invert_yaxis()
        self.ax_.set_axis_off()
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


def _positions(ontology: Ontology) -> np.ndarray:
    """Position across and level of each label: leaves in the order of the text tree, others amid what is below them."""
    across = np.full(len(ontology), np.nan)
    leaves = [label for label, _, again in ontology.walk() if not again and not ontology.children(label)]
    across[[ontology.index(label) for label in leaves]] = range(len(leaves))
    for i in sorted(range(len(ontology)), key=lambda i: -ontology.depth[i]):
        children = [ontology.index(child) for child in ontology.children(ontology.labels[i])]
        if children:
            across[i] = np.mean(across[children])
    return np.column_stack([across, ontology.depth.astype(float)])


def _exclusive_groups(ontology: Ontology) -> list[list[int]]:
    """Labels of one level that all exclude each other, as large as they come; and pairs that are in no such group."""
    apart: dict[int, set[int]] = {i: set() for i in range(len(ontology))}
    for a, b in ontology.mutex_codes.tolist():
        apart[a].add(b)
        apart[b].add(a)
    done: set[tuple[int, int]] = set()
    groups = []
    for a, b in ontology.mutex_codes.tolist():
        if (a, b) in done:
            continue
        group = [a, b]
        for c in sorted(apart[a] & apart[b]):
            if ontology.depth[c] == ontology.depth[a] == ontology.depth[b] and all(c in apart[i] for i in group):
                group.append(c)
        done.update((i, j) for i in group for j in group if i < j)
        groups.append(group)
    return groups
