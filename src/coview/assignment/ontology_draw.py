"""Ontologies as text and as figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from coview.assignment.ontology import Ontology

__all__ = ["plot_ontology", "text_tree"]


def text_tree(ontology: Ontology) -> str:
    """Labels below their parents; where a label has several, it comes again with a star, without what is below it.

    Examples
    --------
    >>> from coview.assignment.ontology import Ontology
    >>> print(text_tree(Ontology.from_edges([("Bat", "Mammal"), ("Bat", "Flier")])))
    Mammal
      Bat
    Flier
      Bat *
    """
    lines: list[str] = []
    seen: set[Any] = set()

    def walk(label: Any, level: int) -> None:
        again = label in seen
        lines.append("  " * level + str(label) + (" *" if again else ""))
        if not again:
            seen.add(label)
            for child in ontology.children(label):
                walk(child, level + 1)

    for root in ontology.roots:
        walk(root, 0)
    return "\n".join(lines)


def plot_ontology(ontology: Ontology, ax: Any = None) -> Any:
    """Draw the labels level by level: solid lines to what is above, dashed ones between exclusive labels."""
    from matplotlib import pyplot

    place = _places(ontology)
    if ax is None:
        height, width = place[:, 1].max() + 1, np.ptp(place[:, 0]) + 1
        _, ax = pyplot.subplots(figsize=(4 + 1.6 * height, 1 + 0.32 * width), layout="constrained")
    for group in _exclusive_groups(ontology):
        (low, x), (high, _) = place[group].min(axis=0), place[group].max(axis=0)
        near = x - 0.12 if len(group) > 2 or len(set(place[group, 1])) == 1 else x
        ax.plot([x, near, near, x], [low, low, high, high], ls="--", lw=0.9, color="#d9822b", zorder=1)
    for child, parent in ontology.subset_codes:
        ax.plot(*np.transpose(place[[child, parent], ::-1]), color="#3b6fb6", lw=1.2, zorder=2)
    for (y, x), label in zip(place, ontology.labels):
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "#3b6fb6", "linewidth": 0.8}
        ax.text(x, y, str(label), ha="center", va="center", fontsize=8, bbox=box, zorder=3)
    ax.margins(0.15, 0.08)
    ax.invert_yaxis()
    ax.set_axis_off()
    return ax


def _places(ontology: Ontology) -> np.ndarray:
    """Place across and level of each label: leaves in the order of the text tree, others amid what is below them."""
    across = np.full(len(ontology), np.nan)
    order = list(dict.fromkeys(line.strip().removesuffix(" *") for line in text_tree(ontology).splitlines()))
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
