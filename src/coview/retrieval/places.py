"""Where objects stand in the space of a retriever, by each of their views; `retriever.py` has the retriever."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from coview.base import MultiViewEstimator
from coview.exceptions import ViewsError
from coview.retrieval.encode import as_query, feature_names, last_step, place, profiles
from coview.retrieval.feature_parts import USUAL, feature_parts, is_linear
from coview.retrieval.heads import fit_head, head_probabilities
from coview.retrieval.shared_words import word_rows
from coview.retrieval.shelf import Shelf
from coview.utils.messages import listed
from coview.validation import check_option, encode_labels, per_view
from coview.views.arrays import take_rows
from coview.views.views import Views

__all__ = ["Places"]


class Places(MultiViewEstimator):
    """Base of `CrossModalRetriever`: from queries and objects to vectors, by view."""

    space: str
    center: str
    lexical: float
    C: Any
    index: str
    recall: float
    front_: Any  # the step that makes views of tables, or None
    models_: list[Any]
    shares_: np.ndarray  # of each model in the score
    means_: dict[str, list[np.ndarray]]
    classifiers_: dict[str, list[Any]]
    words_: dict[str, Any] | None
    shelf_: Shelf

    def _check_parameters(self) -> None:
        check_option("space", self.space, ("topic", "semantic"))
        check_option("center", self.center, ("mean", "row"))
        check_option("index", self.index, ("auto", "exact", "hnsw"))
        for name, value, low in (("lexical", self.lexical, -1e-300), ("recall", self.recall, 0.0)):
            if isinstance(value, bool) or not isinstance(value, numbers.Real) or not low < value <= 1:
                raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}.")
        if self.lexical and self.index == "hnsw":
            raise ValueError("lexical > 0 looks at every object; use index='exact' or 'auto' with it, not 'hnsw'.")

    # -- from objects to vectors

    def _rows_with(self, views: Views, name: str) -> np.ndarray:
        return np.flatnonzero(views.present[:, views.names.index(name)])

    def _places(self, views: Views, name: str, method: str | None = None) -> list[np.ndarray]:
        """What each model says of the objects that have a view, by that view alone; at least one has it."""
        rows = self._rows_with(views, name)
        here = views if len(rows) == len(views) else views[rows]
        return [place(model, here, name, method or self._method(model)) for model in self.models_]

    def _method(self, model: Any) -> str:
        last = last_step(model)
        if self.space == "semantic" and hasattr(last, "predict_proba"):
            return "predict_proba"
        return next((name for name in ("project", "transform") if hasattr(last, name)), "")

    def _learn_space(self, views: Views, y: Any) -> dict[str, np.ndarray]:
        """Learn classes and means from the training objects; return their vectors by view."""
        absent = [name for v, name in enumerate(views.names) if not views.present[:, v].any()]
        if absent:
            raise ViewsError(f"No object has view {absent[0]!r}. Leave it out, or give objects that have it.")
        places = {name: self._places(views, name) for name in views.names}
        self._learn_classes(views, places, y)
        parts = {name: self._in_space(name, found) for name, found in places.items()}
        self.means_ = {name: [part.mean(axis=0, dtype=np.float64) for part in found] for name, found in parts.items()}
        return {name: self._joined(name, found) for name, found in parts.items()}

    def _learn_classes(self, views: Views, places: dict[str, list[np.ndarray]], y: Any) -> None:
        """Learn what semantic space needs: classes, and a logistic regression per view for models without them."""
        for name in ("classifiers_", "classes_"):
            self.__dict__.pop(name, None)
        if self.space != "semantic":
            return
        own = [hasattr(last_step(model), "predict_proba") for model in self.models_]
        if all(own):
            self.classes_ = last_step(self.models_[0]).classes_
            self.classifiers_ = {name: [None] * len(own) for name in places}
            return
        codes, self.classes_ = encode_labels(y, len(views))
        self.classifiers_ = {}
        strengths = dict(zip(views.names, per_view("C", self.C, views.names)))
        for name, found in places.items():
            labels = codes[self._rows_with(views, name)]
            known = labels >= 0
            if not known.any():
                raise ViewsError(f"No labeled object has view {name!r}. Label some, or leave the view out.")
            self.classifiers_[name] = [
                None if has else fit_head(rows[known], labels[known], strengths[name]) for has, rows in zip(own, found)
            ]

    def _in_space(self, name: str, places: list[np.ndarray]) -> list[np.ndarray]:
        """Places as they are, or the mean class probabilities of all models."""
        if self.space != "semantic":
            return places
        total = np.zeros((len(places[0]), len(self.classes_)))
        for share, head, rows in zip(self.shares_, self.classifiers_[name], places):
            total += share * (rows if head is None else head_probabilities(head, rows, len(self.classes_)))
        return [total]

    def _joined(self, name: str, parts: list[np.ndarray]) -> np.ndarray:
        """Vectors to be compared: centered parts of length 1, side by side, so that products are means of products."""
        shares = self.shares_ if len(parts) == len(self.shares_) else np.ones(1)
        found = []
        for share, part, mean in zip(shares, parts, self.means_[name]):
            part = part.astype(np.float64)
            apart = part - (mean if self.center == "mean" else part.mean(axis=1, keepdims=True))
            # what rounding leaves of nothing is no direction
            apart[np.abs(apart).max(axis=1, initial=0.0) < 1e-12] = 0
            found.append(np.sqrt(share) * normalize(apart))
        return found[0] if len(found) == 1 else np.hstack(found)

    def _placed(self, views: Views, name: str) -> np.ndarray:
        """Vectors of the objects that have a view, by that view."""
        if not len(self._rows_with(views, name)):
            return np.zeros((0, self._width()))
        return self._joined(name, self._in_space(name, self._places(views, name)))

    def _width(self) -> int:
        return sum(map(len, next(iter(self.means_.values()))))

    def _vectors(self, views: Views) -> np.ndarray:
        """One vector for each object: the mean over its views, of length 1; zeros where it has none."""
        found = []
        for name in views.names:
            whole = np.zeros((len(views), self._width()))
            whole[self._rows_with(views, name)] = self._placed(views, name)
            found.append(whole)
        return found[0] if len(found) == 1 else normalize(np.sum(found, axis=0))

    def _expected(self, views: Views, target: str) -> np.ndarray:
        """Expected features of a view given each object's topics: the mean over its views and the topic models."""
        total: Any = 0.0
        for name in views.names:
            rows = self._rows_with(views, name)
            for model, mixture in zip(self.models_, self._places(views, name, "transform") if len(rows) else []):
                topics = profiles(model, target)
                if topics is not None:
                    whole = np.zeros((len(views), topics.shape[1]))
                    whole[rows] = mixture @ topics
                    total = total + whole
        return total

    def _word_rows(self, views: Views) -> sparse.csr_array | None:
        """Shared words of each object over all of its views."""
        if not self.lexical or self.words_ is None:
            return None
        found = [word_rows(self.words_, name, views[name]) for name in views.names]
        return found[0] if len(found) == 1 else sparse.csr_array(normalize(sum(found[1:], found[0])))

    # -- objects in

    def _known_views(self, X: Any) -> Views:
        if self.front_ is None:
            return self._new_views(X)
        return X if isinstance(X, Views) else self.front_.transform(X)

    def _known(self, view: str) -> str:
        if view not in self.means_:
            raise ViewsError(f"This retriever knows no view {view!r}; it was fitted on {listed(tuple(self.means_))}.")
        return view

    def _shelve(self, views: Views, ids: Any, vectors: dict[str, np.ndarray]) -> None:
        rows = {name: self._rows_with(views, name) for name in vectors}
        words = None
        if self.lexical and self.words_ is not None:
            words = {name: word_rows(self.words_, name, take_rows(views[name], rows[name])) for name in vectors}
        self.shelf_.add(ids, len(views), {name: (rows[name], vectors[name]) for name in vectors}, words)

    def _labels(self, view: str) -> list[str]:
        """Names of the dimensions that are compared: classes, or topics by their strongest features."""
        if self.space == "semantic":
            return [f"class {name}" for name in self.classes_]
        labels = []
        for i, (model, mean) in enumerate(zip(self.models_, self.means_[view])):
            which = f"model {i} " if len(self.models_) > 1 else ""
            topics = profiles(model, view)
            if topics is None:
                labels += [f"{which}component {k}" for k in range(len(mean))]
                continue
            names = np.array(feature_names(model, view, topics.shape[1]))
            best = np.argsort(-topics, axis=1, kind="stable")[:, :3]
            labels += [f"{which}topic {k} ({', '.join(map(str, names[row]))})" for k, row in enumerate(best)]
        return labels

    def _names_features(self, needed: bool) -> bool:
        """Tell whether scores are sums over the features of a query; refuse if they must be."""
        if self.space == "topic" and is_linear(self.models_):
            return True
        if needed:
            raise ValueError(
                "by='feature' needs space='topic' and models whose places are weighted sums of features, such as "
                "MultiViewCCA. Use by='dimension'."
            )
        return False

    def _feature_parts(self, views: Views, found: np.ndarray) -> dict[str, float]:
        """What each feature of one query adds to its product with an object's vector."""
        ends = np.cumsum([len(mean) for mean in self.means_[views.names[0]]])
        pieces = np.split(found.astype(np.float64), ends[:-1])
        here = [name for name in views.names if len(self._rows_with(views, name))]
        placed = [self._placed(views, name)[0] for name in here]
        length = np.linalg.norm(np.sum(placed, axis=0)) if len(views.names) > 1 else 1.0
        total: dict[str, float] = {}
        for name in here if length else []:
            for share, model, mean, piece in zip(self.shares_, self.models_, self.means_[name], pieces):
                scale = np.sqrt(share) / length
                for feature, value in feature_parts(model, views, name, piece, mean, self.center).items():
                    key = feature if len(here) == 1 or feature == USUAL else f"{name}: {feature}"
                    total[key] = total.get(key, 0.0) + scale * value
        return total

    # -- queries in

    def _asked_views(self, query: Any, source: str | None, target: str | None) -> tuple[Views, str]:
        """Views of the query that count, and the view to search in."""
        names = tuple(self.means_)
        for view in (source, target):
            if view is not None:
                self._known(view)
        guess = source
        if source is None and target is not None and len(names) == 2:
            guess = names[1 - names.index(target)]
        views = as_query(query, guess, self.front_, names, self.feature_names_by_view_)
        if self.front_ is None:
            views = self._new_views(views)
        if source is not None:
            views = views.select(source)
        elif target is not None and target in views and len(views.names) > 1:
            views = views.drop(target)
        if target is None:
            others = [name for name in names if name not in views]
            if len(others) != 1 and len(names) > 1:
                raise ViewsError(
                    f"Say which view to search in: target= one of {listed(tuple(others or names))}; the query has "
                    f"{listed(views.names)}."
                )
            target = others[0] if others else names[0]
        return views, target

    def _asked(self, query: Any, source: str | None, target: str | None) -> tuple[np.ndarray, Any, str]:
        """Vectors and shared words of a query, and the view to search in."""
        views, target = self._asked_views(query, source, target)
        return self._vectors(views).astype(np.float32), self._word_rows(views), target

    def _mixed(self, vectors: np.ndarray, words: Any, target: str, items: slice) -> np.ndarray:
        """Scores of queries and items, shared words included."""
        scores = vectors @ self.shelf_.indexes[target].vectors[items].T
        if words is None:
            return scores
        lexical = (words @ take_rows(self.shelf_.words[target], items).T).toarray()
        return (1 - self.lexical) * scores + self.lexical * lexical
