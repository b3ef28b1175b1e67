"""Labels under an ontology, level by level: what labels of any depth say of each level.

A label at a leaf is a label of everything above it, and a label at an inner node says something of that level alone.
Every object belongs to one end: the lowest labels that have examples, mostly leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coview.assignment.label_sets import read_labels
from coview.assignment.ontology import Ontology
from coview.exceptions import ParameterError

__all__ = ["LEAVES", "LabelLevels", "read_levels"]

LEAVES = "leaves"


@dataclass(frozen=True)
class LabelLevels:
    """What labels under an ontology say at each level."""

    given: np.ndarray  # position of the most specific label of each object, -1 without label
    ends: np.ndarray  # positions of the lowest labels that have examples
    allowed: np.ndarray  # bool (n_objects, n_ends): ends that an object's labels leave open
    levels: dict[str, np.ndarray]  # position of the label of each end there

    def codes(self, level: str) -> tuple[np.ndarray, np.ndarray]:
        """Class of each object at a level, -1 where its labels do not say, and the positions of the classes."""
        classes, mine = np.unique(self.levels[level], return_inverse=True)
        open_here = np.zeros((len(self.allowed), len(classes)), dtype=bool)
        for end, code in enumerate(mine):
            open_here[:, code] |= self.allowed[:, end]
        known = (self.given >= 0) & (open_here.sum(axis=1) == 1)
        return np.where(known, open_here.argmax(axis=1), -1), classes


def read_levels(y: Any, n_rows: int, ontology: Ontology) -> LabelLevels:
    """Read labels, or sets of them, of any level.

    Examples
    --------
    >>> tree = Ontology.from_tree({"Animal": ["Dog", "Cat"], "Plant": ["Oak"]})
    >>> levels = read_levels(["Dog", "Animal", "Cat", "Plant", None], 5, tree)
    >>> [tree.labels[end] for end in levels.ends], list(levels.levels)
    (['Dog', 'Cat', 'Plant'], ['leaves', 'level 1'])
    >>> [levels.codes(name)[0].tolist() for name in levels.levels]
    [[0, -1, 1, 2, -1], [0, 0, 0, 1, -1]]
    """
    targets = read_labels(y, n_rows, ontology)
    known = np.asarray(targets.given.any(axis=0))
    ends = np.flatnonzero(ontology.most_specific(known[None])[0])
    if len(ends) < 2:
        raise ParameterError(
            f"holds one class only, {ontology.labels[ends[0]]!r}. Label objects of at least two classes.",
            parameter="y",
        )
    lacking = targets.given.astype(np.float32) @ (~ontology.reach[ends]).astype(np.float32).T
    allowed = lacking == 0
    lost = np.flatnonzero(~allowed.any(axis=1))
    if lost.size:
        sets = ontology.most_specific(targets.given[lost[:1]])[0]
        names = " and ".join(repr(ontology.labels[i]) for i in np.flatnonzero(sets))
        raise ValueError(
            f"Object {lost[0]} has the labels {names} ({lost.size} such objects), and no labeled class is below all of "
            "them. AutoClassifier gives every object one class of the lowest level: give it one label, or use "
            "SeededKMeansClassifier(ontology=...)."
        )
    return LabelLevels(targets.codes, ends, allowed, level_labels(ontology, ends))


def level_labels(ontology: Ontology, ends: np.ndarray) -> dict[str, np.ndarray]:
    """Labels of the ends by level: themselves, and what is above them; levels that tell no more are left out.

    Examples
    --------
    >>> tree = Ontology.from_tree({"Animal": {"Mammal": ["Dog", "Cat"]}, "Plant": []})
    >>> ends = np.array([tree.index(name) for name in ("Dog", "Cat", "Plant")])
    >>> {name: [tree.labels[i] for i in labels] for name, labels in level_labels(tree, ends).items()}
    {'leaves': ['Dog', 'Cat', 'Plant'], 'level 1': ['Animal', 'Animal', 'Plant']}
    """
    found = {LEAVES: ends}
    sizes = {1, len(ends)}
    for depth in range(int(ontology.depth[ends].max())):
        above = ontology.reach[ends] & (ontology.depth == depth)
        above[ontology.depth[ends] < depth] = False
        single = above.sum(axis=1) == 1
        if not single[ontology.depth[ends] >= depth].all():
            continue
        labels = np.where(single, above.argmax(axis=1), ends)
        size = len(np.unique(labels))
        if size not in sizes:  # levels part each other: as many parts are the same parts
            sizes.add(size)
            found[f"level {depth + 1}"] = labels
    return found
