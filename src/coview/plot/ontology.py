"""The graph of an ontology: labels level by level, subset lines and brackets of exclusive labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.assignment.ontology import Ontology
from coview.plot.style import one_panel

__all__ = ["OntologyGraphDisplay"]


class OntologyGraphDisplay:
    """Labels of an ontology level by level: solid lines to what is above, dashed ones between exclusive labels.

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
        """Draw the graph into `ax`, or into a figure of its own."""
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


def _positions(ontology: Ontology) -> np.ndarray:
    """Position across and level of each label: leaves in the order of the text tree, others amid what is below them."""
    across = np.full(len(ontology), np.nan)
    order = list(dict.fromkeys(line.strip().removesuffix(" *") for line in ontology.text().splitlines()))
    by_text = {str(label): i for i, label in enumerate(ontology.labels)}
    leaves = set(map(str, ontology.leaves))
    for position, text in enumerate(text for text in order if text in leaves):
        across[by_text[text]] = position
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
