"""`Ontology`: which labels are part of which others (subset), and which exclude each other (mutex).

With y_i = 1 where an object has label i, a pair is broken where

    subset (i, j):  y_i = 1 and y_j = 0        "every Dog is an Animal"
    mutex  (i, j):  y_i = 1 and y_j = 1        "nothing is both a Dog and a Cat"

Subset pairs form any directed acyclic graph. What stands above all labels, and so says nothing, is no label.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from coview.assignment.ontology_files import read_ontology, write_ontology
from coview.metrics.classification import check_acyclic
from coview.utils.messages import one_sentence, printable
from coview.utils.missing import is_gap
from coview.validation import check_option

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
            if _is_no_label(label):
                raise ValueError(f"A label must not be empty, got {label!r}: that marks an unlabeled object.")
            if label in self._index:
                raise ValueError(f"Labels must be unique, got {label!r} more than once.")
            self._index[label] = len(self._index)
        self.subset: tuple[Pair, ...] = self._pairs("subset", subset)
        self.mutex: tuple[Pair, ...] = self._pairs("mutex", mutex)
        check_acyclic(self.subset)
        self._check_possible()

    # -- other ways to make one

    @classmethod
    def from_tree(cls, tree: Any, *, exclusive: str | None = "siblings", root: Any = None) -> Ontology:
        """Create an ontology from nested dicts, lists and labels: ``{"Animal": ["Dog", "Cat"], "Plant": ["Oak"]}``.

        Parameters
        ----------
        tree : dict, list or label
            Labels by their parent; an empty value is a leaf.
        exclusive : {"siblings", None}, default="siblings"
            Whether labels below the same parent (and those on top) exclude each other.
        root : label or None, default=None
            A label that stands above all others and says nothing: it is left out.

        Examples
        --------
        >>> Ontology.from_tree({"Animal": ["Dog", "Cat"], "Plant": {}}).mutex
        (('Animal', 'Plant'), ('Dog', 'Cat'))
        """
        labels, edges = _tree_edges(tree)
        return cls.from_edges(edges, labels=labels, exclusive=exclusive, root=root)

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[Any],
        *,
        labels: Sequence[Any] = (),
        mutex: Iterable[Any] = (),
        exclusive: str | None = "siblings",
        root: Any = None,
    ) -> Ontology:
        """Create an ontology from pairs (child, parent).

        Parameters
        ----------
        edges : iterable of pairs (child, parent)
            The subset constraints.
        labels : sequence, default=()
            Labels that come first, in this order; those that only edges name follow.
        mutex : iterable of pairs, default=()
            Labels that exclude each other.
        exclusive : {"siblings", None}, default="siblings"
            Whether two labels exclude each other if they have a parent in common (or are both on top) and no label is
            below both.
        root : label or None, default=None
            A label that stands above all others and says nothing: it is left out.

        Examples
        --------
        >>> Ontology.from_edges([("Dog", "Animal"), ("Cat", "Animal"), ("Animal", "Thing")], root="Thing").labels
        ('Animal', 'Dog', 'Cat')
        """
        check_option("exclusive", exclusive, ("siblings", None))
        pairs = [_as_pair("subset", edge) for edge in edges]
        named = dict.fromkeys([_plain(label) for label in labels])
        named.update(dict.fromkeys(label for child, parent in pairs for label in (parent, child)))
        named.pop(_plain(root), None)
        kept = [(child, parent) for child, parent in pairs if parent != root]
        base = cls(list(named), [(child, parent) for child, parent in kept if child != root])
        siblings = _sibling_pairs(base._parents, base._children, base.reach) if exclusive else []
        return cls(base.labels, base.subset, [*mutex, *((base.labels[i], base.labels[j]) for i, j in siblings)])

    @classmethod
    def from_paths(cls, paths: Iterable[str], *, separator: str = "/", exclusive: str | None = "siblings") -> Ontology:
        """Create an ontology from top-down paths such as ``"Animal/Mammal/Dog"``.

        Parameters
        ----------
        paths : iterable of str
            The paths; every part of one is a label.
        separator : str, default="/"
            What stands between the labels of a path.
        exclusive : {"siblings", None}, default="siblings"
            Whether labels below the same parent (and those on top) exclude each other.

        Examples
        --------
        >>> Ontology.from_paths(["Animal/Mammal/Dog", "Animal/Reptile"]).labels
        ('Animal', 'Mammal', 'Dog', 'Reptile')
        """
        labels, edges = _path_edges(paths, separator)
        return cls.from_edges(edges, labels=labels, exclusive=exclusive)

    @classmethod
    def from_networkx(cls, graph: Any, *, exclusive: str | None = "siblings", root: Any = None) -> Ontology:
        """Create an ontology from a networkx DiGraph with edges from parent to child.

        Parameters
        ----------
        graph : networkx.DiGraph
            An edge with ``relation="mutex"`` is an exclusion. The graph may be of any library with `nodes` and `edges`.
        exclusive : {"siblings", None}, default="siblings"
            Whether labels below the same parent (and those on top) exclude each other.
        root : label or None, default=None
            A label that stands above all others and says nothing: it is left out.
        """
        labels, below, apart = _graph_edges(graph)
        return cls.from_edges(below, labels=labels, mutex=apart, exclusive=exclusive, root=root)

    @classmethod
    def read(cls, path: str | Path, *, exclusive: str | None = "siblings") -> Ontology:
        """Read an ontology from JSON (written by `write`, or a nested tree) or RDF/XML (OWL classes, SKOS concepts).

        Where the file states exclusions itself (``mutex``, ``owl:disjointWith``), those are taken and `exclusive` is
        not used.
        """
        content = read_ontology(path)
        with one_sentence(f"{Path(path).name!r} holds no ontology", "Mend it."):
            if content.tree is not None:
                ontology = cls.from_tree(content.tree, exclusive=exclusive)
            elif content.mutex is not None:
                ontology = cls(content.labels, content.subset, content.mutex)
            else:
                ontology = cls.from_edges(content.subset, labels=content.labels, exclusive=exclusive)
        return ontology

    def write(self, path: str | Path) -> None:
        """Write a JSON file that `read` reads back; the file is written atomically."""
        write_ontology(path, self.labels, self.subset, self.mutex)

    # -- what is above and below

    def index(self, label: Any) -> int:
        """Return the position of a label."""
        if label not in self:
            raise ValueError(f"Unknown label {label!r}. The ontology has {_listed(self.labels)}.")
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
    def reach(self) -> np.ndarray:
        """Boolean matrix: row = label, columns = the label itself and everything above it."""
        reach = np.eye(len(self), dtype=bool)
        for i in self._top_down:
            for parent in self._parents[i]:
                reach[i] |= reach[parent]
        return reach

    @cached_property
    def depth(self) -> np.ndarray:
        """Length of the longest way up from each label; 0 on top."""
        depth = np.zeros(len(self), dtype=np.int64)
        for i in self._top_down:
            depth[i] = max((depth[parent] + 1 for parent in self._parents[i]), default=0)
        return depth

    def parents(self, label: Any) -> tuple[Any, ...]:
        """Return the parents of a label."""
        return tuple(self.labels[i] for i in self._parents[self.index(label)])

    def children(self, label: Any) -> tuple[Any, ...]:
        """Return the children of a label."""
        return tuple(self.labels[i] for i in self._children[self.index(label)])

    def ancestors(self, label: Any) -> set[Any]:
        """Return all ancestors of a label."""
        i = self.index(label)
        return {self.labels[j] for j in np.flatnonzero(self.reach[i]) if j != i}

    def descendants(self, label: Any) -> set[Any]:
        """Return all descendants of a label."""
        i = self.index(label)
        return {self.labels[j] for j in np.flatnonzero(self.reach[:, i]) if j != i}

    @property
    def roots(self) -> tuple[Any, ...]:
        """Labels without parents."""
        return tuple(label for i, label in enumerate(self.labels) if not self._parents[i])

    @property
    def leaves(self) -> tuple[Any, ...]:
        """Labels without children."""
        return tuple(label for i, label in enumerate(self.labels) if not self._children[i])

    # -- label sets

    def close(self, labels: Any) -> set[Any]:
        """Return one or several labels together with all of their ancestors."""
        codes = [self.index(label) for label in _as_set(labels)]
        return {self.labels[j] for j in np.flatnonzero(self.reach[codes].any(axis=0))} if codes else set()

    def broken(self, labels: Any) -> list[tuple[str, Any, Any]]:
        """Return the constraints that a set of labels violates, as (kind, first, second)."""
        on = {self.labels[self.index(label)] for label in _as_set(labels)}
        pairs = [("subset", child, parent) for child, parent in self.subset if child in on and parent not in on]
        return pairs + [("mutex", a, b) for a, b in self.mutex if a in on and b in on]

    def is_consistent(self, labels: Any) -> bool:
        """Return whether a set of labels violates no constraint."""
        return not self.broken(labels)

    def n_broken(self, indicators: np.ndarray) -> np.ndarray:
        """Count the constraints that each boolean row (..., n_labels) violates."""
        subset, mutex = self.n_broken_by_kind(indicators)
        return subset + mutex

    def n_broken_by_kind(self, indicators: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Count the subset pairs and mutex pairs that each boolean row (..., n_labels) violates."""
        on = np.asarray(indicators, dtype=bool)
        child, parent = self.subset_codes.T
        a, b = self.mutex_codes.T
        return (on[..., child] & ~on[..., parent]).sum(axis=-1), (on[..., a] & on[..., b]).sum(axis=-1)

    def indicators(self, y: Any, *, close: bool = True) -> np.ndarray:
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
                if label in self or not _is_no_label(label):
                    on[row, self.index(label)] = True
        if close:
            on = _boolean_product(on, self.reach)
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
        below = self.reach & ~np.eye(len(self), dtype=bool)
        return on & ~_boolean_product(on, below)

    # -- showing

    def walk(self) -> Iterator[tuple[Any, int, bool]]:
        """Yield each label below each of its parents, with its level and whether it came before, from the top down.

        What is below a label comes with its first time only.
        """
        shown: set[Any] = set()
        waiting = [(root, 0) for root in reversed(self.roots)]
        while waiting:
            label, level = waiting.pop()
            yield label, level, label in shown
            if label not in shown:
                shown.add(label)
                waiting += [(child, level + 1) for child in reversed(self.children(label))]

    def text(self) -> str:
        """Return the labels as a tree, indented by two spaces per level.

        A label with several parents comes below each, from the second time on with a star and without what is below it.

        Examples
        --------
        >>> print(Ontology.from_edges([("Bat", "Mammal"), ("Bat", "Flier")]).text())
        Mammal
          Bat
        Flier
          Bat *
        """
        return "\n".join("  " * level + str(label) + (" *" if again else "") for label, level, again in self.walk())

    def __repr__(self) -> str:
        return f"Ontology of {len(self)} labels, {len(self.subset)} subset and {len(self.mutex)} mutex pairs"

    def __str__(self) -> str:
        return f"{self!r}\n" + "\n".join(f"  {printable(line)}" for line in self.text().split("\n"))

    # -- pieces

    def _pairs(self, kind: str, entries: Iterable[Any]) -> tuple[Pair, ...]:
        pairs: dict[Pair, None] = {}
        for entry in entries:
            pair = _as_pair(kind, entry)
            for label in pair:
                if label not in self._index:
                    known = f"The labels are {_listed(self.labels)}."
                    raise ValueError(f"The {kind} pair {pair!r} has an unknown label {label!r}. {known}")
            if pair[0] == pair[1]:
                raise ValueError(f"The {kind} pair {pair!r} has the same label twice.")
            if kind == "mutex" and self._index[pair[0]] > self._index[pair[1]]:
                pair = pair[::-1]
            pairs[pair] = None
        return tuple(pairs)

    def _codes(self, pairs: tuple[Pair, ...]) -> np.ndarray:
        return np.array([[self._index[a], self._index[b]] for a, b in pairs], dtype=np.int64).reshape(-1, 2)

    @cached_property
    def _parents(self) -> list[list[int]]:
        return [self.subset_codes[self.subset_codes[:, 0] == i, 1].tolist() for i in range(len(self))]

    @cached_property
    def _children(self) -> list[list[int]]:
        return [self.subset_codes[self.subset_codes[:, 1] == i, 0].tolist() for i in range(len(self))]

    @cached_property
    def _top_down(self) -> list[int]:
        """Labels, each after all of its parents."""
        waiting = [len(parents) for parents in self._parents]
        order = [i for i, n in enumerate(waiting) if n == 0]
        for i in order:
            for child in self._children[i]:
                waiting[child] -= 1
                if waiting[child] == 0:
                    order.append(child)
        return order

    def _check_possible(self) -> None:
        for a, b in self.mutex:
            i, j = self._index[a], self._index[b]
            if self.reach[i, j] or self.reach[j, i]:
                child, parent = (a, b) if self.reach[i, j] else (b, a)
                raise ValueError(
                    f"Label {child!r} is a subset of {parent!r} and excludes it. Drop the subset or the mutex pair."
                )
            both = np.flatnonzero(self.reach[:, i] & self.reach[:, j])
            if both.size:
                raise ValueError(
                    f"Label {self.labels[both[0]]!r} is a subset of {a!r} and of {b!r}, which exclude each other, so "
                    "no object can have it. Drop one of these relations."
                )


# -- forms of labels and pairs


def _tree_edges(tree: Any) -> tuple[list[Any], list[Pair]]:
    """Labels and (child, parent) pairs of nested dicts, lists and labels."""
    order: dict[Any, None] = {}
    edges: list[Pair] = []

    def walk(part: Any, parent: Any) -> None:
        for label, below in _branches(part):
            if label in order:
                raise ValueError(f"The tree has label {label!r} more than once. For several parents use from_edges.")
            order[label] = None
            if parent is not None:
                edges.append((label, parent))
            walk(below, label)

    walk(tree, None)
    return list(order), edges


def _path_edges(paths: Iterable[str], separator: str) -> tuple[list[Any], list[Pair]]:
    """Labels and (child, parent) pairs of paths from the top down."""
    order: dict[Any, None] = {}
    edges: dict[Pair, None] = {}
    for path in paths:
        parts = [part.strip() for part in str(path).split(separator) if part.strip()]
        if not parts:
            raise ValueError(f"A path must name at least one label, got {path!r}.")
        order.update(dict.fromkeys(parts))
        edges.update(dict.fromkeys(zip(parts[1:], parts)))
    return list(order), list(edges)


def _graph_edges(graph: Any) -> tuple[list[Any], list[Pair], list[Pair]]:
    """Labels, (child, parent) pairs and mutex pairs of a networkx graph whose edges lead from parent to child."""
    if not graph.is_directed():
        raise ValueError("from_networkx requires a directed graph (DiGraph) with edges from parent to child.")
    edges = list(graph.edges(data=True))
    apart = [(a, b) for a, b, data in edges if data.get("relation") == "mutex"]
    below = [(child, parent) for parent, child, data in edges if data.get("relation") != "mutex"]
    return list(graph.nodes), below, apart


def _sibling_pairs(parents: list[list[int]], children: list[list[int]], reach: np.ndarray) -> list[tuple[int, int]]:
    """Labels with a parent in common, or both on top, of which neither is above the other and none is below both."""
    top = [i for i, above in enumerate(parents) if not above]
    pairs: dict[tuple[int, int], None] = {}
    for group in (top, *children):
        for i, j in combinations(group, 2):
            if not (reach[i, j] or reach[j, i] or (reach[:, i] & reach[:, j]).any()):
                pairs[i, j] = None
    return list(pairs)


def _as_pair(kind: str, entry: Any) -> Pair:
    """Return two labels, or say what was found."""
    if isinstance(entry, str) or not isinstance(entry, Sequence) or len(entry) != 2:
        form = "(child, parent)" if kind == "subset" else "two labels"
        raise ValueError(f"A {kind} pair must be {form}, got {entry!r}.")
    return _plain(entry[0]), _plain(entry[1])


def _as_set(labels: Any) -> list[Any]:
    """Labels of one object: a collection of labels, or one label by itself."""
    if isinstance(labels, (set, frozenset, list, tuple, np.ndarray)):
        return [_plain(label) for label in labels]
    return [_plain(labels)]


def _plain(label: Any) -> Any:
    """Label as Python's own text or number, so that NumPy's are found too."""
    return label.item() if isinstance(label, np.generic) else label


def _is_no_label(label: Any) -> bool:
    """Whether a label stands for "no label": None, NaN, "" or the number -1."""
    return is_gap(label) or (not isinstance(label, (str, bool)) and label == -1)


def _listed(labels: Sequence[Any]) -> str:
    """The first labels, and how many more there are."""
    shown = ", ".join(map(repr, labels[:6]))
    return shown if len(labels) <= 6 else f"{shown} and {len(labels) - 6} more"


def _boolean_product(rows: np.ndarray, relation: np.ndarray) -> np.ndarray:
    """Boolean product of two boolean matrices, by the fast product of floats."""
    return (rows.astype(np.float32) @ relation.astype(np.float32)) > 0


def _branches(part: Any) -> list[tuple[Any, Any]]:
    """Labels of one level of a tree, each with what is below it."""
    if part is None:
        return []
    if isinstance(part, Mapping):
        return [(_plain(label), below) for label, below in part.items()]
    if isinstance(part, (list, tuple, set, frozenset)):
        return [pair for entry in part for pair in _branches(entry)]
    return [(_plain(part), None)]
