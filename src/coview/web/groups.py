"""Classes, clusters, topics and components as the explorer shows them: by view, with their strongest features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.views.views import Views
from coview.web.held import Held
from coview.web.service import Service

__all__ = ["Groups"]

TOP = 12  # features of a group in one view
LEAST_OBJECTS = 3  # objects that a feature of a component is in


class Groups:
    """The groups of all models of a service, and who belongs to them; worked out when first asked for.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> found = Groups(Service(LinkPLSA(3, random_state=0).fit(X), X)).all()
    >>> found[0]["kind"], len(found[0]["groups"]), sum(group["size"] for group in found[0]["groups"])
    ('topic', 3, 60)
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self.by_kind: dict[str, Held] = {}
        for held in [service.held, *service.others]:
            for kind in held.kinds:
                self.by_kind.setdefault(kind, held)
        self._shares: dict[str, np.ndarray | None] = {}
        self._shown: list[dict[str, Any]] | None = None

    def held(self, kind: str) -> Held:
        """The model whose groups are of a kind."""
        if kind not in self.by_kind:
            raise ViewsError(f"There are no groups of the kind {kind!r:.60} here.")
        return self.by_kind[kind]

    def all(self) -> list[dict[str, Any]]:
        """All groups by kind, with their sizes and their strongest features in each view."""
        if self._shown is None:
            self._shown = [self._of_kind(kind) for kind in self.by_kind]
        return self._shown

    def shares(self, kind: str) -> np.ndarray | None:
        """Share of each group in each object that can be shown, or None where that is unknown."""
        if kind not in self._shares:
            self._shares[kind] = self._find_shares(kind)
        return self._shares[kind]

    def members(self, kind: str, index: int, start: int, count: int) -> dict[str, Any]:
        """Objects of a group, those with the largest share first; of a component its two ends."""
        shares = self.shares(kind)
        names = self.held(kind).names(kind)
        if not 0 <= index < len(names):
            raise ViewsError(f"There is no {kind} {index}; they run from 0 to {len(names) - 1}.")
        if shares is None:
            return {"name": names[index], "total": 0, "members": []}
        column = shares[:, index]
        ids = self._service.ids()
        mine = np.arange(len(column)) if kind == "component" else np.flatnonzero(shares.argmax(axis=1) == index)
        order = mine[np.argsort(-column[mine], kind="stable")]
        listed = [
            {"row": int(row), "id": ids[row], "share": round(float(column[row]), 4)}
            for row in order[start : start + count]
        ]
        return {"name": names[index], "total": len(order), "members": listed}

    # -- pieces

    def _of_kind(self, kind: str) -> dict[str, Any]:
        held = self.held(kind)
        apart = kind == "topic" and isinstance(getattr(held.last, "cluster_topic_", None), dict)
        groups = self._topics_apart(held) if apart else self._together(kind, held)
        return {"kind": kind, "model": held.name, "signed": kind == "component", "apart": apart, "groups": groups}

    def _together(self, kind: str, held: Held) -> list[dict[str, Any]]:
        """Groups that have features in every view."""
        shares = self.shares(kind)
        sizes = None
        if shares is not None and kind != "component":
            sizes = np.bincount(shares.argmax(axis=1), minlength=shares.shape[1])
        names = held.names(kind)
        features = {view: self._features(kind, held, view, shares) for view in held.gates}
        return [
            {
                "index": k,
                "name": name,
                "size": None if sizes is None or k >= len(sizes) else int(sizes[k]),
                "views": {view: rows[k] for view, rows in features.items() if rows and k < len(rows)},
            }
            for k, name in enumerate(names)
        ]

    def _topics_apart(self, held: Held) -> list[dict[str, Any]]:
        """Topics that belong to one view each, with the clusters that use them most."""
        kind = held.main_kind
        names = held.names(kind)
        found = []
        for view, topics in held.last.topic_feature_.items():
            rows = _strongest(topics, _labels(held, view, topics.shape[1]), TOP, rank=_distinct(topics))
            used = held.last.cluster_topic_[view]
            used = used / np.maximum(used.sum(axis=0, keepdims=True), 1e-300)
            for k, row in enumerate(rows):
                best = np.argsort(-used[:, k], kind="stable")[:3]
                by = [[names[c], int(c), round(float(used[c, k]), 3)] for c in best if used[c, k] > 0.1]
                found.append(
                    {"index": k, "name": f"{view} {k}", "size": None, "views": {view: row}, "of": kind, "used_by": by}
                )
        return found

    def _features(self, kind: str, held: Held, view: str, shares: np.ndarray | None) -> list[list[list[Any]]]:
        data = self._service.data
        weights = None
        if kind == "component" and data is not None and view in data and shares is not None:
            weights = _correlations(data[view], shares)
        if weights is None:
            weights = held.weights(kind, view)
        if weights is None and data is not None and view in data and shares is not None:
            weights = _typical(data[view], shares)
        if weights is None:
            return []
        labels = _labels(held, view, weights.shape[1])
        if kind == "component":
            return _strongest(weights, labels, TOP, signed=True)
        return _strongest(weights, labels, TOP, rank=_distinct(weights))

    def _find_shares(self, kind: str) -> np.ndarray | None:
        held, data = self.held(kind), self._service.data
        n = len(self._service.ids())
        if kind == "component":
            if data is None:
                return None
            method = "project" if hasattr(held.last, "project") else "transform"
            return np.asarray(held.at_last(method, _known(held, data)))
        if kind != held.main_kind:
            return None
        found = None if data is None else held.mixture(_known(held, data))
        if found is None:
            found = held.trained()
        return found if found is not None and len(found) == n else None


def _known(held: Held, data: Views) -> Views:
    """The views of the data that a model knows."""
    return data.select(*(view for view in data.names if view in held.gates))


def _labels(held: Held, view: str, width: int) -> np.ndarray:
    names = held.gates[view].names if view in held.gates else None
    if names is None or len(names) != width:
        names = getattr(held.last, "feature_names_by_view_", {}).get(view)
    if names is None or len(names) != width:
        return np.array([f"f{j}" for j in range(width)])
    return np.asarray(names)


def _distinct(weights: Any) -> np.ndarray:
    """Ranks features by how much a group has of them and by how far that is more than groups have on average."""
    positive = np.maximum(np.asarray(weights, dtype=np.float64), 0)
    mean = np.maximum(positive.mean(axis=0), 1e-300)
    return positive * np.log(np.maximum(positive / mean, 1e-6))


def _strongest(
    weights: Any, labels: np.ndarray, n: int, *, rank: np.ndarray | None = None, signed: bool = False
) -> list[list[list[Any]]]:
    """The n first features of each row by rank, with their weights; of signed rows the n / 2 largest and smallest."""
    weights = np.asarray(weights)
    n = min(n, weights.shape[1])
    found = []
    for row, order_by in zip(weights, weights if rank is None else rank):
        if signed:
            order = np.argsort(-row, kind="stable")
            best = np.concatenate([order[: n // 2], order[len(order) - (n - n // 2) :]])
        else:
            best = np.argpartition(-order_by, n - 1)[:n]
            best = best[np.argsort(-order_by[best], kind="stable")]
            best = best[row[best] > 0]
        found.append([[str(labels[j]), float(f"{row[j]:.4g}")] for j in best])
    return found


def _correlations(matrix: Any, places: np.ndarray) -> np.ndarray:
    """How far each feature goes with each component (components x features); rare ones count as nothing."""
    centered = places - places.mean(axis=0)
    values = matrix.power(2) if sparse.issparse(matrix) else np.square(matrix)
    length = np.sqrt(np.asarray(values.sum(axis=0)).ravel())
    count = np.asarray((matrix != 0).sum(axis=0)).ravel()
    found = np.asarray(matrix.T @ centered) / np.maximum(length, 1e-12)[:, None]
    found[count < LEAST_OBJECTS] = 0
    return (found / np.maximum(np.linalg.norm(centered, axis=0), 1e-12)).T


def _typical(matrix: Any, shares: np.ndarray) -> np.ndarray:
    """What the objects of each group have more of than all objects (groups x features)."""
    chosen = sparse.csr_array(
        (np.ones(len(shares)), (shares.argmax(axis=1), np.arange(len(shares)))), shape=shares.shape[::-1]
    )
    sizes = np.maximum(np.asarray(chosen.sum(axis=1)).ravel(), 1)
    total = chosen @ matrix
    means = np.asarray(total.toarray() if sparse.issparse(total) else total) / sizes[:, None]
    return means - np.asarray(matrix.mean(axis=0)).ravel()
