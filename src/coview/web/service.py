"""What a loaded model answers to other programs: info, predictions, places, hits. No web library in here.

Every question comes as `Views`, so that questions that arrive together are stacked and answered by one model call;
answers are dicts of lists with one entry for each row, which `cut` takes apart again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from coview._version import __version__
from coview.exceptions import ViewsError
from coview.retrieval.encode import feature_names, last_step
from coview.utils.jsonable import plain
from coview.utils.messages import listed
from coview.views.views import Views
from coview.web.held import Held
from coview.web.rows import Gate, rows_to_views, stack_views

__all__ = ["Service", "adds", "cut", "without_each"]

MOST_HITS = 1000
_COMPONENT = re.compile(r"component (\d+)")
MOST_FEATURES = 16  # of a query, whose worth is shown


class Service:
    """Answers of one model, and of others beside it for what the first does not do.

    Parameters
    ----------
    model : estimator
        A fitted estimator of coview or scikit-learn, or a pipeline.
    data : Views or None, default=None
        Objects to show and to search, with the views that the model was fitted on.
    also : sequence of estimators, default=()
        Further models of the same views: the first of all that can do a thing does it.
    title : str, default=""
        What the service calls itself, such as the name of the model file.
    texts : mapping or None, default=None
        The raw text of the objects by view, to be shown.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> service = Service(LinkPLSA(3, random_state=0).fit(X))
    >>> service.info()["model"], service.info()["can"]
    ('LinkPLSA', ['predict', 'transform', 'topics', 'objects'])
    >>> views = service.read({"view0": {"f0": 2, "f7": 1}})
    >>> sorted(service.predict(views))
    ['known', 'labels', 'probabilities']
    """

    def __init__(
        self, model: Any, data: Views | None = None, *, also: Sequence[Any] = (), title: str = "", texts: Any = None
    ) -> None:
        self.held = Held(model)
        self.others = [Held(other) for other in also]
        for held in [self.held, *self.others]:
            if held.is_retriever:  # its models have topics of their own to show
                self.others += [Held(inner) for inner in held.last.models_]
        self.title = title or self.held.name
        self.data = data
        self.texts = dict(texts or {})
        self.started = time.time()
        self.searcher = next((held for held in self._all() if held.is_retriever), None)
        # a model that only places objects leaves predictions to the next
        self.predictor = next((held for held in self._all() if _predicts(held)), self.held)
        self._ids: list[Any] | None = None
        self._can: list[str] | None = None
        self._place_of: dict[str, dict[Any, int]] = {}

    def _all(self) -> list[Held]:
        return [self.held, *self.others]

    @property
    def gates(self) -> dict[str, Gate]:
        """What each view takes."""
        return self.held.gates

    # -- what there is

    def ids(self) -> list[Any]:
        """Identifiers of the objects that can be shown: those of the data, else what the model files carry."""
        if self._ids is None:
            self._ids = self._find_ids()
        return self._ids

    def _find_ids(self) -> list[Any]:
        if self.data is not None:
            found = self.data.ids
            return list(range(len(self.data))) if found is None else found.tolist()
        if self.searcher is not None:
            return self.searcher.last.indexed_ids().tolist()
        for held in self._all():
            trained = held.trained()
            if trained is not None:
                return list(range(len(trained)))
        return []

    def abilities(self) -> list[str]:
        """What can be asked for; pages for the rest are hidden."""
        if self._can is None:
            self._can = self._find_abilities()
        return self._can

    def _find_abilities(self) -> list[str]:
        kinds = [kind for held in self._all() for kind in held.kinds]
        sorts = any(held.main_kind not in ("", "component") for held in self._all())
        several = len(self.gates) > 1
        by_view = any(held.trained_opinions() for held in self._all())
        return [
            name
            for name, there in {
                "predict": _predicts(self.predictor),
                "transform": self.held.can("transform"),
                "search": self.searcher is not None,
                "topics": any(kind in kinds for kind in ("topic", "component")),
                "groups": any(kind in kinds for kind in ("class", "cluster")),
                "objects": bool(self.ids()),
                "disagreement": sorts and several and (self.data is not None or by_view),
                "ontology": self.ontology is not None,
            }.items()
            if there
        ]

    @property
    def ontology(self) -> Any:
        """The first ontology that a model has, or None."""
        return next(
            (found for held in self._all() if (found := getattr(held.last, "ontology", None)) is not None), None
        )

    def info(self) -> dict[str, Any]:
        """Return what the model is and what it takes."""
        held = self.held
        classes = getattr(held.last, "classes_", None) if held.main_kind == "class" else None
        known = self.ids()
        return {
            "title": self.title,
            "model": held.name,
            "models": [other.name for other in self._all()],
            "coview": __version__,
            "views": [
                {"name": gate.name, "features": gate.width, "takes": gate.takes, "named": gate.names is not None}
                for gate in self.gates.values()
            ],
            "classes": None if classes is None else plain(classes),
            "kinds": list(dict.fromkeys(kind for part in self._all() for kind in part.kinds)),
            "objects": len(known),
            "indexed": 0 if self.searcher is None else len(self.searcher.last.indexed_ids()),
            "data": self.data is not None,
            "can": self.abilities(),
            "parameters": plain(held.last.get_params(deep=False)),
            "n_iter": plain(getattr(held.last, "n_iter_", None)),
            "history": self._history(),
        }

    def _history(self) -> list[Any]:
        found = getattr(self.held.last, "history_", None)
        found = found.get("objective", []) if isinstance(found, dict) else []
        return plain(list(found)[:2000])

    # -- questions

    def read(self, rows: Any, unknown: str = "refuse") -> Views:
        """Rows of JSON as views of the model."""
        if not self.gates:
            raise ViewsError(f"{self.held.name} takes no rows: it does not say which features it was fitted on.")
        return rows_to_views(rows, self.gates, unknown=unknown)

    def predict(self, views: Views, *, by_view: bool = False) -> dict[str, Any]:
        """Labels (and probabilities) of objects; with `by_view` also what each view says alone.

        "known" is false for an object without anything that the model knows: it gets what the model says of nothing.
        """
        found = self._labels(views)
        if by_view and len(views.names) > 1:
            found["by_view"] = {}
            for v, view in enumerate(views.names):
                here = np.flatnonzero(views.present[:, v])
                said = self._labels(views[here].select(view)) if len(here) else {}
                found["by_view"][view] = {key: _spread(part, here, len(views)) for key, part in said.items()}
        return found

    def _labels(self, views: Views) -> dict[str, Any]:
        held = self.predictor
        found: dict[str, Any] = {"known": plain(held.known(views))}
        if not held.can("predict"):
            if "topic" not in held.kinds:
                raise ViewsError(f"{held.name} predicts nothing. Ask /transform for the places of objects.")
            mixture = np.asarray(held.call("transform", views))
            names = [f"topic {k}" for k in range(mixture.shape[1])]
            return {**found, "labels": [names[k] for k in mixture.argmax(axis=1)], "probabilities": plain(mixture)}
        labels = np.asarray(held.call("predict", views))
        if held.can("predict_proba"):
            found["probabilities"] = plain(np.asarray(held.call("predict_proba", views)))
        elif (shares := held.shares(views, labels)) is not None:
            found["probabilities"] = plain(shares)
        found["labels"] = plain(labels)
        if getattr(held.last, "ontology", None) is not None and hasattr(held.last, "predict_labels"):
            sets = np.asarray(held.at_last("predict_labels", views))
            names = held.names("class")
            found["label_sets"] = [[names[j] for j in np.flatnonzero(row)] for row in sets]
        return found

    def transform(self, views: Views) -> dict[str, Any]:
        """Places of objects in the model's space."""
        if not self.held.can("transform"):
            raise ViewsError(f"{self.held.name} has no transform. Ask /predict.")
        found = self.held.call("transform", views)
        if isinstance(found, Views):
            found = found.hstack()
        return {"places": plain(found.toarray() if hasattr(found, "toarray") else np.asarray(found))}

    def read_query(self, query: Any, source: str | None, target: str | None) -> tuple[Views, str]:
        """A query as views, and the view to search in."""
        if self.searcher is None:
            raise ViewsError(
                f"{self.held.name} cannot search: that needs a CrossModalRetriever, which takes any model that places "
                "objects by one view. Save one, and serve it alone or with --also."
            )
        gates = self.searcher.gates
        names = tuple(gates)
        for view in (source, target):
            if view is not None and view not in gates:
                raise ViewsError(f"The model knows no view {view!r:.60}; its views are {listed(names)}.")
        if source is None:
            source = _other(names, target) or _texty(gates)
        if source is None:
            raise ViewsError(f"Say which view the query belongs to: source is one of {listed(names)}.")
        if target is None:
            target = _other(names, source)
        if target is None:
            raise ViewsError(f"Say which view to search in: target is one of {listed(names)}.")
        views = rows_to_views({source: query}, {source: gates[source]}, unknown="ignore")
        # not by the sum, which is 0 for +1 and -1 too
        empty = np.flatnonzero(np.asarray((views[source] != 0).sum(axis=1)).ravel() == 0)
        if len(empty) and (isinstance(query, (str, dict)) or len(empty) == len(views)):
            shown = repr(query) if len(repr(query)) <= 60 else "sent"
            raise ViewsError(f"Nothing in the query {shown} is known to view {source!r}. Use other words.")
        return views, target

    def search(self, views: Views, target: str, k: int) -> dict[str, Any]:
        """The k best objects of each query."""
        assert self.searcher is not None
        hits = self.searcher.last.search(views, target=target, k=min(k, MOST_HITS))
        ids, scores = hits.ids.tolist(), hits.scores.tolist()
        return {"hits": [[{"id": i, "score": round(s, 6)} for i, s in zip(*row)] for row in zip(ids, scores)]}

    def why(self, views: Views, target: str, hits: Sequence[Any], most: int = 6) -> list[dict[str, Any]]:
        """What made each hit match one query: the strongest parts of its score, and what each feature was worth."""
        assert self.searcher is not None
        for hit in hits:
            self.searcher.last.shelf_.row_of(hit, target)  # says so where there is no such object
        worth = self._worth(views, target, hits)
        found = []
        for hit, features in zip(hits, worth):
            parts = self.searcher.last.explain(views, hit, target=target).contributions
            best = sorted(parts.items(), key=lambda part: -abs(part[1]))[:most]
            shown = [{**adds(*part), **self._side(part[0], hit, target)} for part in best]
            found.append({"parts": shown, "features": features})
        return found

    def _side(self, name: str, hit: Any, target: str) -> dict[str, Any]:
        """At which end of a component an object is, and what that end is about; nothing for parts of other kinds."""
        match = _COMPONENT.fullmatch(name)
        if match is None or self.searcher is None:
            return {}
        shelf = self.searcher.last.shelf_
        place = shelf.indexes[target].vectors[shelf.row_of(hit, target), int(match[1])]
        side = 1 if place >= 0 else -1
        weights = getattr(last_step(self.searcher.last.model_), "weights_", {}).get(target)
        if weights is None or target not in self.searcher.last.feature_names_by_view_:
            return {"side": side}
        strongest = np.argsort(-side * weights[:, int(match[1])], kind="stable")[:4]
        names = feature_names(self.searcher.last.model_, target, len(weights))
        return {"side": side, "about": [str(names[j]) for j in strongest]}

    def _worth(self, views: Views, target: str, hits: Sequence[Any]) -> list[list[dict[str, Any]]]:
        """By how much the score of each hit falls when one feature of the query is left out, whatever the model is."""
        assert self.searcher is not None
        (source,) = views.names
        variants, places = without_each(views[source])
        names = self.searcher.gates[source].names
        named = [f"f{j}" if names is None else str(names[j]) for j in places]
        if len(places) < 2:  # without its only feature there is no query
            return [[] for _ in hits]
        if self._place_of.get(target) is None:
            known = self.searcher.last.indexed_ids(target).tolist()
            self._place_of[target] = {key: j for j, key in enumerate(known)}
        asked = Views({source: variants})
        scores = self.searcher.last.similarities(asked, target=target)[:, [self._place_of[target][hit] for hit in hits]]
        drops = scores[0] - scores[1:]
        return [sorted((adds(*pair) for pair in zip(named, drop)), key=lambda one: -one["adds"]) for drop in drops.T]

    # -- questions that came together

    def answer(self, key: tuple[Any, ...], questions: Sequence[Views]) -> list[dict[str, Any]]:
        """Answer several questions of one kind with one model call; `key` is (what, names of the views, ...)."""
        what, _, *rest = key
        views = stack_views(questions)
        if what == "predict":
            found = self.predict(views, by_view=rest[0])
        elif what == "transform":
            found = self.transform(views)
        else:
            found = self.search(views, rest[0], rest[1])
        starts = np.cumsum([0, *map(len, questions)]).tolist()
        return [cut(found, start, stop) for start, stop in pairwise(starts)]


def cut(found: Any, start: int, stop: int) -> Any:
    """Return some rows of an answer.

    Examples
    --------
    >>> cut({"labels": ["a", "b", "c"], "by_view": {"words": {"labels": [0, 1, 0]}}}, 1, 3)
    {'labels': ['b', 'c'], 'by_view': {'words': {'labels': [1, 0]}}}
    """
    if isinstance(found, dict):
        return {key: cut(part, start, stop) for key, part in found.items()}
    return found[start:stop]


def adds(name: str, value: float) -> dict[str, Any]:
    """Return a part of a score as it is sent.

    Examples
    --------
    >>> adds("sea", 0.25)
    {'name': 'sea', 'adds': 0.25}
    """
    return {"name": name, "adds": round(float(value), 6)}


def without_each(row: Any) -> tuple[sparse.csr_array, np.ndarray]:
    """Return a row as it is, and below it without each of its largest features; and which features these are.

    Examples
    --------
    >>> rows, places = without_each(np.array([[0.0, 2.0, 3.0]]))
    >>> rows.toarray().tolist(), places.tolist()
    ([[0.0, 2.0, 3.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]], [2, 1])
    """
    row = sparse.csr_array(row, copy=True)  # that of views cannot be written to
    row.eliminate_zeros()
    places = row.indices[np.argsort(-np.abs(row.data), kind="stable")][:MOST_FEATURES]
    variants = sparse.vstack([row] * (len(places) + 1)).tolil()
    for i, place in enumerate(places):
        variants[i + 1, place] = 0
    return sparse.csr_array(variants), places


def _predicts(held: Held) -> bool:
    return held.can("predict") or "topic" in held.kinds


def _spread(values: list[Any], rows: np.ndarray, n_rows: int) -> list[Any]:
    """Values at their rows, None elsewhere."""
    found: list[Any] = [None] * n_rows
    for row, value in zip(rows.tolist(), values):
        found[row] = value
    return found


def _other(names: tuple[str, ...], one: str | None) -> str | None:
    """The other of two views; of a single view, itself."""
    if len(names) == 1:
        return names[0]
    if one is None or len(names) != 2:
        return None
    return names[1 - names.index(one)]


def _texty(gates: dict[str, Gate]) -> str | None:
    """The one view that has a vectorizer of text, if there is one only."""
    found = [name for name, gate in gates.items() if gate.vectorizer is not None]
    return found[0] if len(found) == 1 else None
