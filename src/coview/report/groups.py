"""Groups of a model: how large they are, which features make them, which topics they mix, how they stand in a tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.report.features import GroupFeatures, group_features, means_of_groups, top_features, topic_features
from coview.report.reader import Reader, Reading
from coview.views.views import Views

__all__ = ["about_groups", "about_ontology"]

FEATURES = 10
MOST_GROUPS = 60
MOST_TOPICS = 40


def about_groups(
    reader: Reader,
    views: Views | None,
    reading: Reading,
    codes: np.ndarray | None = None,
    classes: np.ndarray | None = None,
) -> dict[str, Any]:
    """Return the sections "groups", and "topics" for models that have topics below their groups.

    Examples
    --------
    >>> from coview import MultiViewPLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> reader = Reader(MultiViewPLSA(3, 5, random_state=0).fit(X))
    >>> found = about_groups(reader, None, reader.training())
    >>> len(found["groups"]["items"]), len(found["topics"]["items"]["view0"])
    (3, 5)
    """
    if not reader.names:
        return _components(reader)
    n_groups = len(reader.names)
    sizes = None if reading.codes is None else np.bincount(reading.codes[reading.codes >= 0], minlength=n_groups)
    features = group_features(reader.core, n_groups)
    if features is None and views is not None and reading.codes is not None:
        features = means_of_groups(views, reading.codes, n_groups)
    names = _feature_names(reader, views)
    shown = {} if features is None else top_features(features, names, FEATURES)
    order = np.arange(n_groups) if sizes is None else np.argsort(-sizes, kind="stable")
    items = []
    for g in order[:MOST_GROUPS].tolist():
        item: dict[str, Any] = {"name": reader.names[g], "index": g}
        if sizes is not None:
            item["size"], item["share"] = int(sizes[g]), float(sizes[g] / max(sizes.sum(), 1))
            item["label"] = _commonest(reading, g, codes, classes) if reader.noun != "class" else None
        item["features"] = {view: lists[g] for view, lists in shown.items()}
        items.append(item)
    groups = {
        "noun": reader.noun,
        "count": n_groups,
        "items": items,
        "origin": None if features is None else features.origin,
        "probabilities": bool(features is not None and features.probabilities),
    }
    return {"groups": groups, **_topics(reader, names)}


def about_ontology(reader: Reader, views: Views | None) -> dict[str, Any]:
    """Return the section "ontology" of a model that has one: its labels as a tree, with counts of objects.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import Ontology, SeededKMeansClassifier, Views
    >>> X = Views(words=np.array([[3, 0, 0], [0, 3, 1], [2, 1, 0], [0, 0, 2]]))
    >>> tree = Ontology.from_tree({"animal": ["cat", "dog"]})
    >>> model = SeededKMeansClassifier(ontology=tree).fit(X, ["cat", "dog", None, None])
    >>> lines = about_ontology(Reader(model), X)["ontology"]["lines"]
    >>> [(line["label"], line["level"], line["count"]) for line in lines]
    [('animal', 0, 4), ('cat', 1, 2), ('dog', 1, 2)]
    """
    ontology = getattr(reader.core, "ontology", None)
    if ontology is None:
        return {}
    if views is not None:
        sets: np.ndarray = np.asarray(reader.core.predict_labels(views))
    else:
        sets = np.asarray(np.any(reader.core.label_sets_, axis=1))
    counts = dict(zip(map(str, ontology.labels), sets[:, : len(ontology)].sum(axis=0).tolist()))
    lines: list[dict[str, Any]] = []

    def walk(label: Any, level: int) -> None:
        again = any(line["label"] == str(label) for line in lines)
        lines.append({"label": str(label), "level": level, "count": counts[str(label)], "again": again})
        for child in () if again else ontology.children(label):
            walk(child, level + 1)

    for root in ontology.roots:
        walk(root, 0)
    broken = getattr(reader.core, "violations_", None) or {}
    return {
        "ontology": {
            "lines": lines,
            "n_objects": len(sets),
            "n_exclusive": len(ontology.mutex),
            "n_broken": len(broken.get("object", ())),
        }
    }


def _feature_names(reader: Reader, views: Views | None) -> dict[str, Any]:
    known = dict(getattr(reader.core, "feature_names_by_view_", None) or {})
    return known if views is None else {**known, **views.feature_names}


def _commonest(
    reading: Reading, group: int, codes: np.ndarray | None, classes: np.ndarray | None
) -> dict[str, Any] | None:
    if codes is None or classes is None or reading.codes is None:
        return None
    members = codes[(reading.codes == group) & (codes >= 0)]
    if not len(members):
        return None
    counts = np.bincount(members, minlength=len(classes))
    return {"name": str(classes[counts.argmax()]), "share": float(counts.max() / counts.sum())}


def _topics(reader: Reader, names: dict[str, Any]) -> dict[str, Any]:
    """Topics below clusters or classes, and how the groups mix them (cluster x topic), by view."""
    features = topic_features(reader.core)
    if features is None:
        return {}
    mixed = {view: np.asarray(part) for view, part in reader.core.cluster_topic_.items()}
    order = {view: np.argsort(-part.sum(axis=0), kind="stable")[:MOST_TOPICS] for view, part in mixed.items()}
    shown = top_features(features, names, FEATURES)
    return {
        "topics": {
            "items": {
                view: [
                    {"name": str(t), "mass": float(mixed[view][:, t].mean()), "features": shown[view][t]}
                    for t in order[view].tolist()
                ]
                for view in mixed
            },
            "mixtures": {view: np.round(part[:, order[view]], 4).tolist() for view, part in mixed.items()},
            "groups": reader.names,
            "count": {view: int(part.shape[1]) for view, part in mixed.items()},
        }
    }


def _components(reader: Reader) -> dict[str, Any]:
    """Components of a common space: the features with most weight at either end."""
    inside = reader.core
    if hasattr(inside, "models_"):  # a retriever: its first model
        part = inside.models_[0]
        inner = Reader(part)
        if inner.names:
            return about_groups(inner, None, Reading(None, None))
        inside = inner.core
    weights = getattr(inside, "projections_", None)
    if not isinstance(weights, dict):
        return {}
    names = dict(getattr(inside, "feature_names_by_view_", None) or getattr(reader.core, "feature_names_by_view_", {}))
    n = min(12, next(iter(weights.values())).shape[1])
    items: list[dict[str, Any]] = []
    for end, sign in (("+", 1.0), ("−", -1.0)):
        parts = {view: sign * np.asarray(w)[:, :n].T for view, w in weights.items()}
        shown = top_features(GroupFeatures(parts, False, "weight"), names, FEATURES, rank="weight")
        items += [
            {"name": f"{c} {end}", "index": c, "features": {view: lists[c] for view, lists in shown.items()}}
            for c in range(n)
        ]
    items.sort(key=lambda item: item["index"])
    found = {"noun": "component", "count": n, "items": items, "origin": "weight", "probabilities": False}
    return {"groups": found}
