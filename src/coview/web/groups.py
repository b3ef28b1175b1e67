"""Classes, clusters, topics and components as the explorer shows them: by view, with their strongest features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.inspection import Features, Inspection, Reading, one_hot
from coview.inspection.by_view import read_as_fitted
from coview.inspection.features import feature_names, group_names, holds_vectors, top_features, view_features
from coview.inspection.vectors import nearest_in_groups
from coview.web.service import Service, kinds_of, known_views

__all__ = ["Groups"]

TOP = 12  # features of a group in one view
NEAREST = 6  # objects of a group in a view of vectors
LEAST_OBJECTS = 3  # objects that a feature of a component is in


class Groups:
    """The groups of all models of a service, and who belongs to them; worked out when first asked for.

    Parameters
    ----------
    service : Service
        Models and objects.
    readings : mapping, optional
        Memberships of the objects that are known already, by kind of the groups.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> (topics,) = Groups(Service(LinkPLSA(3, random_state=0).fit(X), X)).all()
    >>> topics["kind"], len(topics["groups"]), sum(group["size"] for group in topics["groups"])
    ('topic', 3, 60)
    """

    def __init__(self, service: Service, readings: Mapping[str, Reading] | None = None) -> None:
        self._service = service
        self.by_kind: dict[str, Inspection] = {}
        for model in service.models:
            for kind in kinds_of(model):
                self.by_kind.setdefault(kind, model)
        self._readings: dict[str, Reading] = dict(readings or {})
        self._names: dict[str, list[str]] = {}
        self._deviating: dict[str, list[str]] = {}  # views of measurements, by kind
        self._shown: list[dict[str, Any]] | None = None

    def model(self, kind: str) -> Inspection:
        """Return the model whose groups are of a kind."""
        if kind not in self.by_kind:
            raise ViewsError(f"There are no groups of kind {kind!r:.60} here.")
        return self.by_kind[kind]

    def all(self) -> list[dict[str, Any]]:
        """All groups by kind, with their sizes and their strongest features in each view."""
        if self._shown is None:
            self._shown = [self._of_kind(kind) for kind in self.by_kind]
        return self._shown

    def reading(self, kind: str) -> Reading:
        """Return memberships and groups of the objects that can be shown, or coordinates on components."""
        if kind not in self._readings:
            self._readings[kind] = self._read(kind)
        return self._readings[kind]

    def names(self, kind: str) -> list[str]:
        """Return the names of the groups of a kind: of clusters and topics their most characteristic features."""
        if kind not in self._names:
            self._names[kind] = self._name(kind, self.model(kind))
        return self._names[kind]

    def _name(self, kind: str, model: Inspection) -> list[str]:
        if kind != model.kind and not model.projections:
            raise ViewsError(f"Objects of {model.name} belong to a {model.kind}, not to a {kind}: ask for that.")
        if kind != model.kind:
            return [f"{kind} {k}" for k in range(next(iter(model.projections.values())).shape[1])]
        data, codes = self._service.data, self.reading(kind).codes
        if data is None or codes is None or any(model.described_features(view) is not None for view in model.views):
            return model.group_names
        return group_names(model, model.prepare_views(known_views(model, data)), codes)

    def lines(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Return what tells objects in a list, with the group that each is sorted into."""
        model = self._service.sorter
        codes = None if model is None else self.reading(model.kind).codes
        names = [] if model is None or codes is None else self.names(model.kind)
        labels = [None if codes is None or codes[row] < 0 else names[codes[row]] for row in rows]
        return [{**self._service.line(row), "label": label} for row, label in zip(rows, labels)]

    def members(self, kind: str, index: int, start: int, count: int) -> dict[str, Any]:
        """Objects of a group, those with the largest share first; of a component its two ends."""
        names = self.names(kind)
        if not 0 <= index < len(names):
            raise ViewsError(f"There is no {kind} {index}; they are numbered from 0 to {len(names) - 1}.")
        reading = self.reading(kind)
        if reading.memberships is None:
            return {"name": names[index], "probabilities": False, "total": 0, "members": []}
        column = reading.memberships[:, index]
        rows = np.arange(len(column)) if reading.codes is None else np.flatnonzero(reading.codes == index)
        order = rows[np.argsort(-column[rows], kind="stable")]
        listed = [
            {**self._service.line(row), "share": round(float(column[row]), 4)} for row in order[start : start + count]
        ]
        probabilities = self.model(kind).probabilities
        return {"name": names[index], "probabilities": probabilities, "total": len(order), "members": listed}

    # -- pieces

    def _of_kind(self, kind: str) -> dict[str, Any]:
        model = self.model(kind)
        apart = kind == "topic" and model.topics is not None
        groups = self._topics_apart(model) if apart else self._together(kind, model)
        return {
            "kind": kind,
            "model": model.name,
            "signed": kind == "component",
            "apart": apart,
            "deviations": self._deviating.get(kind, []),
            "groups": groups,
        }

    def _together(self, kind: str, model: Inspection) -> list[dict[str, Any]]:
        """Groups that have features in every view."""
        names, codes = self.names(kind), self.reading(kind).codes
        sizes = None if codes is None else np.bincount(codes[codes >= 0], minlength=len(names))
        features = {view: self._features(kind, model, view) for view in model.views}
        nearest = self._nearest(kind, model)
        return [
            {
                "index": k,
                "key": model.groups[k] if kind == model.kind else str(k),
                "name": name,
                "size": None if sizes is None else int(sizes[k]),
                "views": {view: rows[k] for view, rows in features.items() if rows and rows[k]},
                "nearest": {view: rows[k] for view, rows in nearest.items() if rows[k]},
            }
            for k, name in enumerate(names)
        ]

    def _topics_apart(self, model: Inspection) -> list[dict[str, Any]]:
        """Topics that belong to one view each, with the groups that use them most."""
        assert model.topics is not None
        names, groups = self.names(model.kind), []
        for view, topics in model.topics.features.items():
            shares = np.asarray(model.topics.shares[view], dtype=np.float64)
            shares = shares / np.maximum(shares.sum(axis=0, keepdims=True), 1e-300)
            called = model.topic_names(view)
            for k, row in enumerate(_listed(Features(topics, True), model.feature_names(view))):
                best = np.argsort(-shares[:, k], kind="stable")[:3]
                by = [[names[c], int(c), round(float(shares[c, k]), 3)] for c in best if shares[c, k] > 0.1]
                shown = {"index": k, "key": f"{view} {k}", "name": called[k], "size": None, "views": {view: row}}
                groups.append({**shown, "of": model.kind, "used_by": by})
        return groups

    def _nearest(self, kind: str, model: Inspection) -> dict[str, list[list[dict[str, Any]]]]:
        """Objects nearest to the mean vector of each group, by view of vectors."""
        data, codes = self._service.data, self.reading(kind).codes
        if data is None or codes is None or kind != model.kind:
            return {}
        vectors = [view for view in model.views if view in data and holds_vectors(model, view, data)]
        objects = model.prepare_views(known_views(model, data)) if vectors else data
        rows_by_view = {view: nearest_in_groups(model, objects, codes, view, NEAREST) for view in vectors}
        return {view: [list(map(self._service.line, rows)) for rows in groups] for view, groups in rows_by_view.items()}

    def _features(self, kind: str, model: Inspection, view: str) -> list[list[list[Any]]]:
        data, reading = self._service.data, self.reading(kind)
        shown = data if data is not None and view in data and reading.memberships is not None else None
        if holds_vectors(model, view, shown):
            return []
        features = view_features(model, view, shown, reading.codes)
        if kind == "component" and shown is not None:
            features = Features(_correlations(shown[view], reading.memberships))
        elif kind == "component" and view in model.projections:
            features = Features(model.projections[view].T)
        if features is None:
            return []
        width = features.weights.shape[1]
        names = feature_names(model, view, shown)
        names = names if len(names) == width else [f"f{j}" for j in range(width)]
        both_ends = kind == "component" or features.deviations is not None
        if features.deviations is not None:
            self._deviating.setdefault(kind, []).append(view)
        return _listed(features, names, by="signed" if both_ends else "distinctive")

    def _read(self, kind: str) -> Reading:
        model, data = self.model(kind), self._service.data
        if kind == "component":
            return Reading(None if data is None else model.embed(known_views(model, data)), None)
        if kind != model.kind:
            return Reading(None, None)
        reading = Reading(None, None) if data is None else model.read(known_views(model, data))
        if reading.codes is None:
            kept = model.training_reading() if data is None else read_as_fitted(model, len(data))
            reading = Reading(None, None) if kept is None else kept
        if reading.memberships is None and reading.codes is not None:
            reading = Reading(one_hot(reading.codes, len(model.groups)), reading.codes)
        fits = reading.codes is not None and len(reading.codes) == len(self._service.ids)
        return reading if fits else Reading(None, None)


def _listed(features: Features, names: Any, by: str = "distinctive") -> list[list[list[Any]]]:
    """The first features of each group as they are sent: name and weight."""
    return [
        [[name, float(f"{weight:.4g}")] for name, weight, _ in row if by == "signed" or weight > 0]
        for row in top_features(features, names, TOP, by=by)
    ]


def _correlations(matrix: Any, coordinates: Any) -> np.ndarray:
    """How far each feature goes with each component (components x features); rare ones count as nothing."""
    centered = coordinates - coordinates.mean(axis=0)
    values = matrix.power(2) if sparse.issparse(matrix) else np.square(matrix)
    length = np.sqrt(np.asarray(values.sum(axis=0)).ravel())
    count = np.asarray((matrix != 0).sum(axis=0)).ravel()
    correlations = np.asarray(matrix.T @ centered) / np.maximum(length, 1e-12)[:, None]
    correlations[count < LEAST_OBJECTS] = 0
    return (correlations / np.maximum(np.linalg.norm(centered, axis=0), 1e-12)).T
