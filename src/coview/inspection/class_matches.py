"""Classes on a tree of groups: which class of some objects the groups below each node match best.

With the objects below a node and those of a class as two sets, how well they match is

    F1 = 2 |both| / (|node| + |class|),     and Jaccard = |both| / |either|

Objects without a class are left out. Objects may have several classes; with an ontology those of a class have all
classes above it as well, so that a node high up in the tree can match a class high up in the ontology.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.inspection.prevalence import SEVERAL
from coview.preprocessing.columns import is_missing
from coview.utils.messages import did_you_mean, listed, short
from coview.utils.tables import ColumnTable

__all__ = ["ClassMatches", "match_classes"]


class ClassMatches(ColumnTable):
    """The best class of each node of a tree of groups: one row per node, as a dict of lists.

    Nodes are numbered as in scipy's linkage: the groups first, then the joins from the bottom up. The columns are
    "node", "groups" (keys of those below the node), "n_objects", "class", "f1", "jaccard", "precision" (share of the
    node's objects that have the class) and "recall" (share of the class's objects that are below the node).

    Parameters
    ----------
    columns : dict of lists
        The columns.
    """

    def _title(self) -> str:
        return f"Best class of each of {len(self['node'])} nodes"


def match_classes(
    linkage: np.ndarray, keys: Sequence[Any], codes: np.ndarray, classes: Sequence[Any], ontology: Any = None
) -> ClassMatches:
    """Return the class that each node of a tree matches best.

    Parameters
    ----------
    linkage : ndarray (n_groups - 1, 4)
        The tree, as scipy's.
    keys : sequence
        Keys of the groups.
    codes : ndarray (n_objects,)
        Position of each object's group, -1 for none.
    classes : sequence (n_objects,)
        Class of each object, a list of several, or None.
    ontology : Ontology, optional
        Classes above those of the objects count too.

    Examples
    --------
    >>> tree = np.array([[0, 1, 0.1, 2], [2, 3, 0.8, 3]])
    >>> found = match_classes(tree, ["0", "1", "2"], np.array([0, 0, 1, 2]), ["cat", "cat", "dog", "tax"])
    >>> found["class"], found["f1"]
    (['cat', 'dog', 'tax', 'cat', 'cat'], [1.0, 1.0, 1.0, 0.8, 0.6666666666666666])
    """
    codes = np.asarray(codes)
    above: dict[Any, list[Any]] = {}  # each class with all above it, looked up once
    cells = [_classes_of(cell, ontology, above) for cell in classes]
    if len(cells) != len(codes):
        raise ViewsError(f"classes must be given for each of the {len(codes):,} objects, got {len(cells):,}.")
    names = sorted({name for cell in cells for name in cell}, key=lambda name: (str(name), type(name).__name__))
    if not names:
        raise ViewsError("classes has no class: all values are missing.")
    known = np.array([bool(cell) for cell in cells]) & (codes >= 0)
    place = {name: c for c, name in enumerate(names)}
    pairs = np.array([(i, place[name]) for i in np.flatnonzero(known).tolist() for name in cells[i]], dtype=np.int64)
    pairs = pairs.reshape(-1, 2)
    n, ones = len(keys), np.ones(len(pairs))
    both = sparse.coo_array((ones, (codes[pairs[:, 0]], pairs[:, 1])), shape=(n, len(names))).toarray()
    below = np.zeros((2 * n - 1, n))
    below[:n] = np.eye(n)
    for step, (left, right) in enumerate(np.asarray(linkage)[:, :2].astype(np.int64).tolist()):
        below[n + step] = below[left] + below[right]
    sizes, totals = below @ np.bincount(codes[known], minlength=n), both.sum(axis=0)
    shared = below @ both
    f1 = 2 * shared / np.maximum(sizes[:, None] + totals, 1.0)
    best = f1.argmax(axis=1)
    nodes = np.arange(len(below))
    inside = shared[nodes, best]
    some = inside > 0
    return ClassMatches(
        {
            "node": nodes.tolist(),
            "groups": [[keys[g] for g in np.flatnonzero(row).tolist()] for row in below],
            "n_objects": sizes.astype(np.int64).tolist(),
            "class": [names[c] if there else None for c, there in zip(best.tolist(), some.tolist())],
            "f1": f1[nodes, best].tolist(),
            "jaccard": (inside / np.maximum(sizes + totals[best] - inside, 1.0)).tolist(),
            "precision": (inside / np.maximum(sizes, 1.0)).tolist(),
            "recall": (inside / np.maximum(totals[best], 1.0)).tolist(),
        }
    )


def _classes_of(cell: Any, ontology: Any, above: dict[Any, list[Any]]) -> list[Any]:
    """Classes of an object, with those above them; `above` keeps what the ontology has said."""
    several = list(cell) if isinstance(cell, SEVERAL) else [cell]
    several = [name.item() if isinstance(name, np.generic) else name for name in several]
    odd = [name for name in several if isinstance(name, (dict, *SEVERAL))]
    if odd:
        raise ViewsError(f"classes must be one or a list of classes for each object, got {short(odd[0])} in a list.")
    named = [name.strip() if isinstance(name, str) else name for name in several if not is_missing(name)]
    known = [name for name in named if name != ""]
    if ontology is None:
        return list(dict.fromkeys(known))
    for name in known:
        if name not in above:
            if name not in ontology:
                raise ViewsError(
                    f"classes has {short(name)}, which is no label of the ontology."
                    f"{did_you_mean(name, ontology.labels) or ' Its labels are ' + listed(ontology.labels) + '.'}"
                )
            above[name] = sorted(ontology.close([name]), key=ontology.index)
    return list(dict.fromkeys(higher for name in known for higher in above[name]))
