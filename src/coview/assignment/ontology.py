"""`Ontology`: which labels are part of which others (subset), and which exclude each other (mutex).

With y_i = 1 where an object has label i, a pair is broken where

    subset (i, j):  y_i = 1 and y_j = 0        "every Dog is an Animal"
    mutex  (i, j):  y_i = 1 and y_j = 1        "nothing is both a Dog and a Cat"

Subset pairs form any directed acyclic graph. What stands above all labels, and so says nothing, is no label.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from coview.exceptions import DataFileError
from coview.metrics.classification import check_acyclic
from coview.utils.atomic import atomic_path
from coview.utils.jsonable import parse_json
from coview.utils.messages import file_errors, listed, printable
from coview.validation import is_gap

__all__ = ["Ontology"]

Pair = tuple[Hashable, Hashable]


class Ontology:
    """Labels with subset and mutual-exclusion constraints on any directed acyclic graph.

    Parameters
    ----------
    labels : sequence
        The labels: texts, numbers or anything that can be a key of a dict. Their order is that of all results.
    subset : sequence of pairs (child, parent), default=()
        Whatever has the first label has the second too.
    mutex : sequence of pairs, default=()
        Nothing has both labels.

    Attributes
    ----------
    labels : tuple
        The labels.
    subset, mutex : tuple of pairs
        The constraints, each once.

    Examples
    --------
    >>> from coview import Ontology
    >>> below = [("Dog", "Animal"), ("Cat", "Animal")]
    >>> animals = Ontology(["Animal", "Dog", "Cat"], subset=below, mutex=[("Dog", "Cat")])
    >>> sorted(animals.close({"Dog"}))
    ['Animal', 'Dog']
    >>> animals.broken({"Dog", "Cat"})
    [('subset', 'Dog', 'Animal'), ('subset', 'Cat', 'Animal'), ('mutex', 'Dog', 'Cat')]
    >>> print(animals)
    Ontology of 3 labels, 2 subset and 1 mutex pairs
      Animal
        Dog
        Cat
    """

    def __init__(self, labels: Sequence[Any], subset: Iterable[Any] = (), mutex: Iterable[Any] = ()) -> None:
        self.labels: tuple[Any, ...] = tuple(_plain(label) for label in labels)
        if not self.labels:
            raise ValueError("An ontology needs at least one label, got none.")
        self._index: dict[Any, int] = {}
        for label in self.labels:
            if _is_no_label(label) or label in self._index:
                raise ValueError(f"Labels must be unique and not empty, got {label!r}.")
            self._index[label] = len(self._index)
        self.subset: tuple[Pair, ...] = tuple(dict.fromkeys(map(self._pair, subset)))
        # each exclusion once, whichever of its labels came first
        exclusive = [sorted(self._pair(pair), key=self.index) for pair in mutex]
        self.mutex: tuple[Pair, ...] = tuple(dict.fromkeys((a, b) for a, b in exclusive))
        check_acyclic(self.subset)
        for a, b in self.mutex:
            both = np.flatnonzero(self.reach[:, self.index(a)] & self.reach[:, self.index(b)])
            if both.size:
                raise ValueError(
                    f"Label {self.labels[both[0]]!r} is a subset of {a!r} and of {b!r}, which exclude each other, so "
                    "no object can have it. Drop one of these relations."
                )

    # -- other ways to make one

    @classmethod
    def from_tree(cls, tree: Any, *, exclusive: bool = True) -> Ontology:
        """Create an ontology from nested dicts, lists and labels: ``{"Animal": ["Dog", "Cat"], "Plant": ["Oak"]}``.

        Parameters
        ----------
        tree : dict, list or label
            Labels by their parent; an empty value is a leaf.
        exclusive : bool, default=True
            Whether labels below the same parent (and those on top) exclude each other.

        Examples
        --------
        >>> Ontology.from_tree({"Animal": ["Dog", "Cat"], "Plant": {}}).mutex
        (('Animal', 'Plant'), ('Dog', 'Cat'))
        """
        labels: list[Any] = []
        edges: list[Pair] = []

        def walk(part: Any, parents: list[Any]) -> None:
            for label, below in _branches(part):
                labels.append(label)
                edges.extend((label, parent) for parent in parents)
                walk(below, [label])

        walk(tree, [])
        if len(set(labels)) < len(labels):
            twice = next(label for label in labels if labels.count(label) > 1)
            raise ValueError(f"The tree has label {twice!r} more than once. For several parents use from_edges.")
        return cls.from_edges(edges, labels=labels, exclusive=exclusive)

    @classmethod
    def from_edges(cls, edges: Iterable[Any], *, labels: Sequence[Any] = (), exclusive: bool = True) -> Ontology:
        """Create an ontology from pairs (child, parent).

        Parameters
        ----------
        edges : iterable of pairs (child, parent)
            The subset constraints.
        labels : sequence, default=()
            Labels that come first, in this order; those that only edges name follow.
        exclusive : bool, default=True
            Whether two labels exclude each other if they have a parent in common (or are both on top) and no label is
            below both.

        Examples
        --------
        >>> Ontology.from_edges([("Dog", "Animal"), ("Cat", "Animal")]).labels
        ('Animal', 'Dog', 'Cat')
        """
        pairs = [tuple(edge) for edge in edges]
        named = dict.fromkeys([*labels, *(label for pair in pairs for label in reversed(pair))])
        # parents before children, as a tree is read
        base = cls(list(named), pairs)
        if not exclusive:
            return base
        top = [i for i, above in enumerate(base._parents) if not above]
        siblings = dict.fromkeys(pair for group in (top, *base._children) for pair in combinations(group, 2))
        # siblings with a label below both cannot exclude each other: nothing could have that label
        apart = [(i, j) for i, j in siblings if not (base.reach[:, i] & base.reach[:, j]).any()]
        return cls(base.labels, base.subset, [(base.labels[i], base.labels[j]) for i, j in apart])

    @classmethod
    def read(cls, path: str | Path) -> Ontology:
        """Read an ontology from a JSON file, one that `write` wrote or a nested tree, or from a table of edges.

        The tree is as `from_tree` takes it. A table (.csv or .tsv) has a row child,parent for each edge, and may have
        these words as its header; a child without a parent is on top. Siblings exclude each other in a tree, in a table
        of edges, and where the file has no "mutex".
        """
        path = Path(path)
        if not path.is_file():
            raise DataFileError(f"File not found: {str(path)!r}.")
        if path.suffix.lower() in (".csv", ".tsv"):
            return cls._read_edges(path)
        with file_errors(f"{path.name!r} holds no ontology", "Mend it."):
            content = parse_json(path.read_text(encoding="utf-8"))
            # a tree may have a label "labels", but then no list of them on top
            if not isinstance(content, dict) or not isinstance(content.get("labels"), list):
                return cls.from_tree(content)
            if "mutex" in content:
                return cls(**content)
            return cls.from_edges(content["subset"], labels=content["labels"])

    @classmethod
    def _read_edges(cls, path: Path) -> Ontology:
        """Read a table of edges; labels are whole numbers where all of them are."""
        with file_errors(f"{path.name!r} holds no ontology", "Mend it."):
            with open(path, encoding="utf-8-sig", newline="") as stream:
                reader = csv.reader(stream, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
                rows = [[cell.strip() for cell in row] for row in reader if any(cell.strip() for cell in row)]
            if rows and [cell.lower() for cell in rows[0]] == ["child", "parent"]:
                del rows[0]
            if wrong := next((row for row in rows if not row[0] or len(row) > 2), None):
                raise ValueError(f"a row must be child,parent, got {','.join(wrong)!r}")
            whole = all(re.fullmatch(r"-?\d+", cell) for row in rows for cell in row if cell)
            edges = [[int(cell) if whole else cell for cell in row if cell] for row in rows]
            above = [edge[0] for edge in edges if len(edge) == 1]
            return cls.from_edges([edge for edge in edges if len(edge) == 2], labels=above)

    def write(self, path: str | Path) -> None:
        """Write a JSON file that `read` reads back; the file is written atomically."""
        parts = {"labels": self.labels, "subset": self.subset, "mutex": self.mutex}
        with atomic_path(Path(path)) as beside:
            Path(beside).write_text(json.dumps(parts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    # -- what is above and below

    def index(self, label: Any) -> int:
        """Return the position of a label."""
        if label not in self:
            raise ValueError(f"Unknown label {label!r}. The ontology has {listed(self.labels)}.")
        return self._index[_plain(label)]

    def __contains__(self, label: object) -> bool:
        return isinstance(label, Hashable) and _plain(label) in self._index

    def __len__(self) -> int:
        return len(self.labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ontology):
            return NotImplemented
        return (self.labels, self.subset, self.mutex) == (other.labels, other.subset, other.mutex)

    def __hash__(self) -> int:
        return hash((self.labels, self.subset, self.mutex))

    @cached_property
    def subset_codes(self) -> np.ndarray:
        """Subset pairs as positions of labels (n_pairs, 2): child, parent."""
        return self._codes(self.subset)

    @cached_property
    def mutex_codes(self) -> np.ndarray:
        """Mutex pairs as positions of labels (n_pairs, 2)."""
        return self._codes(self.mutex)

    @cached_property
    def top_down(self) -> list[int]:
        """Positions of the labels, each after all of its parents, branch by branch."""
        # a label is ready when its last parent is out: Kahn's algorithm
        waiting = [len(parents) for parents in self._parents]
        open_labels = [i for i, n in enumerate(waiting) if n == 0]
        order = []
        while open_labels:
            order.append(open_labels.pop())
            for child in self._children[order[-1]]:
                waiting[child] -= 1
                if waiting[child] == 0:
                    open_labels.append(child)
        return order

    @cached_property
    def reach(self) -> np.ndarray:
        """Boolean matrix: row = label, columns = the label itself and everything above it."""
        # top down, so that each parent is complete when its children take it over
        reach = np.eye(len(self), dtype=bool)
        for i in self.top_down:
            for parent in self._parents[i]:
                reach[i] |= reach[parent]
        return reach

    @cached_property
    def depth(self) -> np.ndarray:
        """Length of the longest way up from each label; 0 on top."""
        depth = np.zeros(len(self), dtype=np.int64)
        for i in self.top_down:
            depth[i] = max((depth[parent] + 1 for parent in self._parents[i]), default=0)
        return depth

    def parents(self, label: Any) -> tuple[Any, ...]:
        """Return the parents of a label."""
        return tuple(self.labels[i] for i in self._parents[self.index(label)])

    def children(self, label: Any) -> tuple[Any, ...]:
        """Return the children of a label."""
        return tuple(self.labels[i] for i in self._children[self.index(label)])

    @property
    def leaves(self) -> tuple[Any, ...]:
        """Labels without children."""
        return tuple(label for label, children in zip(self.labels, self._children) if not children)

    # -- label sets

    def close(self, labels: Any) -> set[Any]:
        """Return one or several labels together with all of their ancestors."""
        codes = [self.index(label) for label in _as_set(labels)]
        return {self.labels[j] for j in np.flatnonzero(self.reach[codes].any(axis=0))}

    def broken(self, labels: Any) -> list[tuple[str, Any, Any]]:
        """Return the constraints that a set of labels violates, as (kind, first, second)."""
        on = {self.labels[self.index(label)] for label in _as_set(labels)}
        pairs = [("subset", child, parent) for child, parent in self.subset if child in on and parent not in on]
        return pairs + [("mutex", a, b) for a, b in self.mutex if a in on and b in on]

    def count_broken(self, indicators: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Count the subset pairs and mutex pairs that each boolean row (..., n_labels) violates."""
        on = np.asarray(indicators, dtype=bool)
        child, parent = self.subset_codes.T
        a, b = self.mutex_codes.T
        return (on[..., child] & ~on[..., parent]).sum(axis=-1), (on[..., a] & on[..., b]).sum(axis=-1)

    def indicators(self, y: Any) -> np.ndarray:
        """Convert labels or sets of labels to a boolean matrix (n_objects, n_labels) that includes ancestors.

        None, NaN, the number -1 and empty sets are rows without label. A set that contains exclusive labels is
        refused: it cannot be right.

        Examples
        --------
        >>> tree = Ontology.from_tree({"Animal": ["Dog", "Cat"]})
        >>> tree.indicators(["Cat", None]).tolist()
        [[True, False, True], [False, False, False]]
        """
        objects = list(y)
        on = np.zeros((len(objects), len(self)), dtype=bool)
        for row, labels in enumerate(objects):
            for label in _as_set(labels):
                if not _is_no_label(label):
                    on[row] |= self.reach[self.index(label)]
        a, b = self.mutex_codes.T
        bad = np.argwhere(on[:, a] & on[:, b])
        if len(bad):
            row, pair = bad[0]
            first, second = self.mutex[pair]
            raise ValueError(
                f"Object {row} has the labels {first!r} and {second!r}, which exclude each other "
                f"({len(np.unique(bad[:, 0]))} such objects). Correct its labels, or drop that mutex pair."
            )
        return on

    def most_specific(self, indicators: np.ndarray) -> np.ndarray:
        """Return a boolean matrix of the labels that are set while none of their descendants is."""
        on = np.asarray(indicators, dtype=bool)
        # a product of floats, since one of booleans is not done by BLAS
        above = self.reach & ~np.eye(len(self), dtype=bool)
        return on & ~((on.astype(np.float32) @ above.astype(np.float32)) > 0)

    # -- showing

    def walk(self) -> Iterator[tuple[Any, int, bool]]:
        """Yield each label below each of its parents, with its level and whether it came before, from the top down.

        What is below a label comes with its first time only.
        """
        shown: set[Any] = set()
        waiting = [(label, 0) for label in reversed(self.labels) if not self.parents(label)]
        while waiting:
            label, level = waiting.pop()
            yield label, level, label in shown
            if label not in shown:
                shown.add(label)
                waiting += [(child, level + 1) for child in reversed(self.children(label))]

    def __repr__(self) -> str:
        return f"Ontology of {len(self)} labels, {len(self.subset)} subset and {len(self.mutex)} mutex pairs"

    def __str__(self) -> str:
        """Show the labels as a tree; one that came before, below another parent, has a star."""
        lines = ["  " * level + f"{label}{' *' if again else ''}" for label, level, again in self.walk()]
        return "\n  ".join([repr(self), *map(printable, lines)])

    # -- pieces

    def _pair(self, entry: Any) -> Pair:
        if isinstance(entry, str) or len(entry) != 2 or _plain(entry[0]) == _plain(entry[1]):
            raise ValueError(f"A pair must be two labels, (child, parent) for a subset, got {entry!r}.")
        first, second = (self.labels[self.index(label)] for label in entry)
        return first, second

    def _codes(self, pairs: tuple[Pair, ...]) -> np.ndarray:
        return np.array([[self._index[a], self._index[b]] for a, b in pairs], dtype=np.int64).reshape(-1, 2)

    @cached_property
    def _parents(self) -> list[list[int]]:
        return [self.subset_codes[self.subset_codes[:, 0] == i, 1].tolist() for i in range(len(self))]

    @cached_property
    def _children(self) -> list[list[int]]:
        return [self.subset_codes[self.subset_codes[:, 1] == i, 0].tolist() for i in range(len(self))]


def _branches(part: Any) -> list[tuple[Any, Any]]:
    """Labels of one level of a tree, each with what is below it."""
    if part is None:
        return []
    if isinstance(part, Mapping):
        return [(_plain(label), below) for label, below in part.items()]
    if isinstance(part, (list, tuple, set, frozenset)):
        return [pair for entry in part for pair in _branches(entry)]
    return [(_plain(part), ())]


def _as_set(labels: Any) -> list[Any]:
    """Labels of one object: a collection of labels, or one label by itself."""
    collection = isinstance(labels, (set, frozenset, list, tuple, np.ndarray))
    return [_plain(label) for label in (labels if collection else [labels])]


def _plain(label: Any) -> Any:
    """Label as Python's own text or number, so that NumPy's are found too."""
    return label.item() if isinstance(label, np.generic) else label


def _is_no_label(label: Any) -> bool:
    """Whether a label stands for "no label": None, NaN, "" or the number -1."""
    return is_gap(label) or (not isinstance(label, (str, bool)) and label == -1)
