"""A fitted model as the web sees it: which views it takes, what it can say of objects, and what its groups are.

Groups are what a model sorts objects into: classes, clusters, topics, or the components of a common space.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from coview.cli.known import up_to_last
from coview.retrieval.encode import last_step, split_front
from coview.views.views import Views
from coview.web.rows import Gate

__all__ = ["Held"]

SHARPNESS = 12.0  # how fast a share grows with a cosine
FEWEST_HASHED = 2**12  # columns, a power of two, by which hashed views are told
PLAIN = "x"  # the view of a model that knows one matrix only


class Held:
    """One model, fitted, read and never changed.

    Parameters
    ----------
    model : estimator
        An estimator of coview or scikit-learn, or a pipeline that ends in one.

    Examples
    --------
    >>> from coview import MultiViewPLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> held = Held(MultiViewPLSA(3, 5, random_state=0).fit(X))
    >>> held.name, held.kinds, list(held.gates)
    ('MultiViewPLSA', ['cluster', 'topic'], ['view0', 'view1'])
    >>> held.opinions(X[:2])["view0"].shape
    (2, 3)
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.front, self.inner = _split(model)
        self.last = last_step(self.inner)
        self.name = type(last_step(model)).__name__
        self.is_retriever = hasattr(self.last, "indexed_ids")
        if self.is_retriever:
            self.front = getattr(self.last, "front_", None)
        self.gates = _gates(self.front, self.inner, self.last)
        self.kinds = _kinds(self.last)

    def can(self, method: str) -> bool:
        """Whether the model has a method."""
        return hasattr(self.inner, method)

    def call(self, method: str, views: Views) -> Any:
        """What a method of the model says of objects, whose views are as its first step after raw tables wants them."""
        return getattr(self.inner, method)(views[PLAIN] if self._is_plain else views)

    @property
    def _is_plain(self) -> bool:
        return not hasattr(self.last, "view_names_") and list(self.gates) == [PLAIN]

    def known(self, views: Views) -> np.ndarray:
        """Tell which objects have anything that the model knows."""
        return up_to_last(self.inner, views[PLAIN] if self._is_plain else views)[2]

    def at_last(self, method: str, views: Views) -> Any:
        """What a method of the model's last step says of objects."""
        value: Any = views
        if isinstance(self.inner, Pipeline):
            for _, step in self.inner.steps[:-1]:
                value = value if step is None or step == "passthrough" else step.transform(value)
        return getattr(self.last, method)(value)

    # -- groups

    def names(self, kind: str) -> list[str]:
        """Names of the groups of a kind, where the kind is the one that objects are sorted into."""
        if kind == "class":
            return [str(name) for name in self.last.classes_.tolist()]
        return [f"{kind} {k}" for k in range(self.n_groups(kind))]

    def n_groups(self, kind: str) -> int:
        """Number of groups of a kind."""
        last = self.last
        if kind == "class":
            return len(last.classes_)
        if kind == "cluster":
            for name in ("cluster_topic_", "cluster_centers_"):
                if isinstance(getattr(last, name, None), dict):
                    return next(iter(getattr(last, name).values())).shape[0]
            if hasattr(last, "memberships_"):
                return last.memberships_.shape[1]
            return int(np.max(last.labels_, initial=-1)) + 1
        if kind == "component":
            return len(last.correlations_)
        return next(iter(last.topic_feature_.values())).shape[0]

    @property
    def main_kind(self) -> str:
        """Kind of group that objects are sorted into; empty where the model sorts nothing."""
        return self.kinds[0] if self.kinds else ""

    def weights(self, kind: str, view: str) -> Any:
        """What each group of a kind says of a view's features (groups x features), or None where that is unknown."""
        last = self.last
        topics = getattr(last, "topic_feature_", None)
        if kind == "topic":
            return None if topics is None else topics.get(view)
        if kind == "component":
            found = last.weights_.get(view)
            return None if found is None else np.asarray(found).T
        clusters = getattr(last, "cluster_topic_", None)
        if topics is not None and isinstance(clusters, dict):
            return clusters[view] @ topics[view] if view in clusters else None
        for name, make in (("cluster_centers_", np.asarray), ("feature_log_prob_", _lift), ("coef_", _by_class)):
            part = getattr(last, name, None)
            if isinstance(part, dict) and view in part:
                return make(part[view])
        return None

    # -- what it says of objects

    def mixture(self, views: Views) -> np.ndarray | None:
        """Share of each group of the main kind in objects (objects x groups), or None."""
        kind = self.main_kind
        if not kind or self.is_retriever:
            return None
        if self.can("predict_proba"):
            return np.asarray(self.call("predict_proba", views), dtype=np.float64)
        if kind in ("topic", "component") and self.can("transform"):
            return _dense(self.call("transform", views))
        shares = self.shares(views)
        if shares is not None:
            return shares
        if hasattr(self.last, "decision_function_by_view"):
            return self._softly(sum(self.at_last("decision_function_by_view", views).values()) / len(views.names))
        return self._chosen(views) if self.can("predict") else None

    def shares(self, views: Views, labels: Any = None) -> np.ndarray | None:
        """What `transform` says, where it is the share of each cluster; None where it gives places or cosines.

        `labels` are those that `predict` gives, where they are known already.
        """
        if self.main_kind != "cluster" or not (self.can("transform") and self.can("predict")):
            return None
        found = _dense(self.call("transform", views))
        if found.shape[1] != self.n_groups("cluster") or not (found >= 0).all():
            return None
        if not np.allclose(found.sum(axis=1), 1, atol=1e-4):  # float32 rounds
            return None
        labels = self.call("predict", views) if labels is None else labels
        return found if np.array_equal(found.argmax(axis=1), labels) else None

    def opinions(self, views: Views) -> dict[str, np.ndarray]:
        """The same by each view alone."""
        if not self.main_kind or self.is_retriever:
            return {}
        said_by = (
            ("predict_proba_by_view", np.asarray),
            ("decision_function_by_view", self._softly),
            ("transform_by_view", np.asarray),
        )
        for method, make in said_by:
            if hasattr(self.last, method):
                return {view: make(found) for view, found in self.at_last(method, views).items()}
        found = {}
        for v, view in enumerate(views.names):
            here = np.flatnonzero(views.present[:, v])
            said = self.mixture(views[here].select(view)) if len(here) else None
            if said is not None:
                found[view] = np.zeros((len(views), said.shape[1]))
                found[view][here] = said
        return found

    def _softly(self, cosines: Any) -> np.ndarray:
        """Shares that follow cosines; under an ontology those of its leaves, since what is above them always fits."""
        found = np.exp(SHARPNESS * np.asarray(cosines, dtype=np.float64))
        ontology = getattr(self.last, "ontology", None)
        if ontology is not None:
            found[:, [ontology.index(label) for label in ontology.labels if ontology.children(label)]] = 0
        return found / np.maximum(found.sum(axis=1, keepdims=True), 1e-12)

    def _chosen(self, views: Views) -> np.ndarray:
        labels = np.asarray(self.call("predict", views))
        if self.main_kind == "class":
            return (labels.astype(str)[:, None] == self.last.classes_.astype(str)[None, :]).astype(np.float64)
        return (labels[:, None] == np.arange(max(self.n_groups(self.main_kind), int(labels.max()) + 1))).astype(float)

    def trained(self) -> np.ndarray | None:
        """Shares of the groups in the training objects, where the file carries them."""
        last = self.last
        for name in ("memberships_", "memberships_by_view_"):
            found = getattr(last, name, None)
            if isinstance(found, dict):
                return np.mean([np.asarray(part) for part in found.values()], axis=0)
            if found is not None and len(self.kinds):
                return np.asarray(found)
        labels = getattr(last, "labels_", None)
        if labels is None or not self.kinds:
            return None
        if self.main_kind == "class":
            return (np.asarray(labels).astype(str)[:, None] == last.classes_.astype(str)[None, :]).astype(np.float64)
        return (np.asarray(labels)[:, None] == np.arange(self.n_groups(self.main_kind))).astype(np.float64)

    def trained_opinions(self) -> dict[str, np.ndarray]:
        """Shares of the groups in the training objects by view, where the file carries them."""
        found = getattr(self.last, "memberships_by_view_", None)
        if found is not None:
            return {view: np.asarray(part) for view, part in found.items()}
        sets = getattr(self.last, "label_sets_", None)
        if sets is not None:
            return {view: _shares(sets[:, v].astype(np.float64)) for v, view in enumerate(self.last.view_names_)}
        labels = getattr(self.last, "labels_by_view_", None)
        if isinstance(labels, dict):
            n = max(int(np.max(part, initial=0)) for part in labels.values()) + 1
            return {view: (np.asarray(part)[:, None] == np.arange(n)).astype(float) for view, part in labels.items()}
        return {}


def _split(model: Any) -> tuple[Any, Any]:
    """The step that makes views of raw tables or texts, and the rest."""
    front, rest = split_front(model)
    if front is None and isinstance(model, Pipeline) and hasattr(model.steps[0][1], "build_analyzer"):
        return model.steps[0][1], Pipeline(model.steps[1:]) if len(model.steps) > 2 else model.steps[1][1]
    return front, rest


def _gates(front: Any, inner: Any, last: Any) -> dict[str, Gate]:
    if front is not None and hasattr(front, "build_analyzer"):
        names = _names_of(front)
        width = len(names) if names is not None else int(getattr(last, "n_features_in_", 0))
        return {PLAIN: Gate(PLAIN, width, names, front)}
    if front is not None:
        return _raw_gates(front, last)
    steps = [step for _, step in inner.steps] if isinstance(inner, Pipeline) else [inner]
    first = next((step for step in steps if hasattr(step, "n_features_by_view_")), None)
    if first is None:
        width = next((int(step.n_features_in_) for step in steps if hasattr(step, "n_features_in_")), 0)
        names = next((step.feature_names_in_ for step in steps if hasattr(step, "feature_names_in_")), None)
        return {PLAIN: Gate(PLAIN, width, names)} if width else {}
    known = getattr(last, "feature_names_by_view_", {})
    streams = hasattr(last, "predict_then_learn")
    found = {}
    for view, width in first.n_features_by_view_.items():
        names = known.get(view)
        # a model file does not say that names were hashed; `read_stream` makes so many columns, others hardly do
        hashed = streams and names is None and width >= FEWEST_HASHED and width & (width - 1) == 0
        found[view] = Gate(view, width, names if names is not None and len(names) == width else None, None, hashed)
    return found


def _raw_gates(front: Any, last: Any) -> dict[str, Gate]:
    """Gates of a model that starts from a raw table: text by vectorizers, columns by the names of their features."""
    found = {}
    vectorizers = getattr(front, "vectorizers_", {})
    for view in front.view_names_:
        made = vectorizers.get(view)
        text = made is not None and hasattr(made, "build_analyzer")  # else it reads images
        names = _names_of(made) if made is not None else _column_names(front, view)
        if names is None:
            names = getattr(last, "feature_names_by_view_", {}).get(view)
        width = len(names) if names is not None else int(getattr(last, "n_features_by_view_", {}).get(view, 0))
        found[view] = Gate(view, width, names, made if text else None)
    return found


def _names_of(vectorizer: Any) -> np.ndarray | None:
    return vectorizer.get_feature_names_out() if hasattr(vectorizer, "get_feature_names_out") else None


def _column_names(front: Any, view: str) -> np.ndarray | None:
    """Names of the features that `ColumnViews`, alone or inside another front, makes of a view."""
    columns = front if hasattr(front, "encoders_") else getattr(front, "columns_", None)
    if columns is None or not hasattr(columns, "encoders_") or view not in columns.columns_:
        return None
    names: list[str] = []
    for column in columns.columns_[view]:
        encoder = columns.encoders_[view].get(column)
        names += [str(column)] if encoder is None else encoder.get_feature_names_out([str(column)]).tolist()
    return np.array(names)


def _kinds(last: Any) -> list[str]:
    found = []
    if hasattr(last, "indexed_ids"):
        return []
    if getattr(last, "classes_", None) is not None and getattr(last.classes_, "ndim", 0) == 1:
        found.append("class")
    elif any(hasattr(last, name) for name in ("cluster_topic_", "memberships_", "labels_")):
        found.append("cluster")
    if isinstance(getattr(last, "topic_feature_", None), dict):
        found.append("topic")
    if hasattr(last, "correlations_") and isinstance(getattr(last, "weights_", None), dict):
        found.append("component")
    return found


def _lift(log_prob: Any) -> np.ndarray:
    """How much more of a feature a class has than classes have on average, weighed by how much it has."""
    share = np.exp(np.asarray(log_prob))
    return share * (np.asarray(log_prob) - np.log(np.maximum(share.mean(axis=0), 1e-300)))


def _by_class(coef: Any) -> np.ndarray:
    found = _dense(coef)
    return np.vstack([-found, found]) if len(found) == 1 else found


def _dense(found: Any) -> np.ndarray:
    if sparse.issparse(found):
        return found.toarray()
    return np.asarray(found.hstack() if isinstance(found, Views) else found, dtype=np.float64)


def _shares(scores: Any) -> np.ndarray:
    positive = np.maximum(np.asarray(scores, dtype=np.float64), 0)
    return positive / np.maximum(positive.sum(axis=1, keepdims=True), 1e-12)
