"""Search objects by one view with a query in another: positions in a common space, compared by centered correlation.

    score(query, object) = < (p - m_s) / |p - m_s|,  (q - m_t) / |q - m_t| >

p is the query's position by its view s, q the object's by its view t, m the means over the training objects: topic
proportions ("topic" space), or class probabilities that a multinomial logistic regression gives them ("semantic"
space). With `lexical` = w the score is (1 - w) times that, plus w times the BM25 score of the words that query and
object have in common, divided by that of the best object.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin, clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator
from coview.classification.naive_bayes import class_probabilities
from coview.classification.wrapper import in_type_of, last_step
from coview.decomposition.cca import MultiViewCCA
from coview.exceptions import ViewsError
from coview.inspection import Inspection, Training, inspect
from coview.preprocessing.columns import ColumnViews
from coview.preprocessing.stop_words import detect_language
from coview.preprocessing.tables import TableViews
from coview.preprocessing.text import TextViews
from coview.preprocessing.weighting import TfidfViews
from coview.retrieval.contributions import AVERAGE, feature_contributions
from coview.retrieval.hits import Hits, Match
from coview.retrieval.index import best_of_blocks
from coview.retrieval.lexical import BUCKETS, count_words, learn_words, spell_words, weigh_objects, weigh_query
from coview.retrieval.object_index import ObjectIndex
from coview.retrieval.queries import as_query, is_raw, is_text, texts_in_all, unknown_query
from coview.retrieval.semantic import fit_classifier
from coview.utils.docs import shared_parameters
from coview.utils.messages import did_you_mean, listed
from coview.validation import base_seed, check_count, check_option, encode_labels, per_view
from coview.views.arrays import take_rows
from coview.views.inputs import ViewInput
from coview.views.views import Views

__all__ = ["CrossModalRetriever"]

_SHARES = (0.0, 0.1, 0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)  # of shared words in the score
_LEAST_PAIRS, _MOST_PAIRS, _MOST_TRAINING = 50, 1000, 5000  # objects by which that share is chosen
_MOST_SCORES = 20_000_000  # of queries and objects that are held at a time
_CANDIDATES = 100  # objects beyond k that are looked at by each of a graph and shared words
_CACHED = ("_inspections", "_inputs")  # of what was fitted; in no file


@shared_parameters
class CrossModalRetriever(TransformerMixin, MultiViewEstimator):
    """Search objects in one view with queries in another.

    Parameters
    ----------
    model : estimator, list of estimators or None, default=None
        Any estimator that embeds objects by any one of their views: a topic model (`CoPLSA`, `LinkPLSA`,
        `MultiViewPLSA`, ...), `MultiViewCCA`, `SemanticCorrelationMatching`, or a pipeline that ends in one. A pipeline
        that starts with `TextViews` or `TableViews`, or one of these alone, takes raw tables and raw queries. None is
        `MultiViewCCA`, with views of counts weighted by tf-idf. Of a list of models, the mean of their scores counts.
    space : {"topic", "semantic"}, default="topic"
        Compare positions in the model's space (what its `transform` gives, or its projection), or class probabilities:
        the model's own, else those of one logistic regression per view on the positions. "semantic" needs `y` in
        `fit`.
    center : {"mean", "row"}, default="mean"
        What is taken off before correlating: the mean position of the training objects by the same view, or each
        position's own mean over the dimensions.
    lexical : float or "auto", default="auto"
        Share of the score, from 0 to 1, that is BM25 of shared words: of the raw texts, where the model starts with
        `TextViews`, else of features with the same name. "auto" chooses it for each pair of views: the share that finds
        the other view of held-out training objects best, 0 where words do not help.
    n_models : int, default=1
        How often each model that starts at random (has `n_init`) is fitted, with other seeds; the mean of the scores
        counts. Topics of one start are a matter of luck, and several starts find much more.
    model_weights : sequence of float or None, default=None
        Weight of each model of a list in the score; equal by default.
    C : float or {view: float}, default=10.0
        Inverse strength of the penalty of the logistic regressions.
    index : {"auto", "exact", "hnsw"}, default="auto"
        Look at every object, or through an HNSW graph (usearch, ``pip install "coview[ann]"``); "auto" takes the graph
        above 200,000 objects where usearch is installed.
    recall : float, default=0.95
        Share of the 10 best objects that the graph is to find; its effort is raised until it does.

    Attributes
    ----------
    models_ : list of estimators
        The fitted models, less the step that makes views of tables.
    means_ : dict of lists of ndarray
        Mean position of the training objects, by view and model.
    classifiers_ : dict of lists of estimators
        The logistic regression of each view and model, in semantic space; None for a model with classes of its own.
    classes_ : ndarray
        The classes, in semantic space.
    index_ : ObjectIndex
        The indexed objects.
    front_ : transformer or None
        The fitted step that makes views of tables, where the model starts with one.
    shares_ : ndarray
        Share of each fitted model in the score.
    words_ : dict or None
        What BM25 knows of the training objects: frequencies of the (hashed) words and mean lengths of the views. None
        where shared words do not count.
    lexical_ : dict
        ``{source: {target: share}}``: share of the score that is BM25, by the views of query and object.
    model_ : estimator
        The first of the fitted models.
    <shared: fitted views>

    Examples
    --------
    >>> from coview import CrossModalRetriever, LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(200, {"words": 90, "image": 60}, n_clusters=4, random_state=0)
    >>> retriever = CrossModalRetriever(LinkPLSA(4, random_state=0)).fit(data.views[:150])
    >>> hits = retriever.search(data.views[150:].select("words"), target="image", k=5)
    >>> hits.ids.shape
    (50, 5)
    >>> bool((data.target[hits.ids] == data.target[150:, None]).mean() > 0.9)
    True
    >>> retriever.clear().add(data.views[150:], ids=[f"new{i}" for i in range(50)]).search(
    ...     data.views[150].select("words"), target="image", k=2).ids.shape
    (1, 2)
    """

    _models_counts = False

    def __init__(
        self,
        model: Any = None,
        space: str = "topic",
        *,
        center: str = "mean",
        lexical: Any = "auto",
        n_models: int = 1,
        model_weights: Any = None,
        C: Any = 10.0,
        index: str = "auto",
        recall: float = 0.95,
    ) -> None:
        self.model = model
        self.space = space
        self.center = center
        self.lexical = lexical
        self.n_models = n_models
        self.model_weights = model_weights
        self.C = C
        self.index = index
        self.recall = recall

    # -- learning and indexing

    def fit(self, X: Any, y: Any = None) -> CrossModalRetriever:
        """Fit the models on X and index its objects."""
        self._check_parameters()
        models = self.model if isinstance(self.model, (list, tuple)) else [self.model]
        parts = [_split_front(clone(model)) if model is not None else (None, None) for model in models]
        if not parts:
            raise ValueError("model is an empty list. Pass at least one model, or None.")
        if any(front is not None for front, _ in parts[1:]):
            raise ValueError("If there are several models, only the first may start with TextViews or ColumnViews.")
        self.front_ = parts[0][0]
        if self.front_ is None:
            views = self._fit_views(X)
        else:
            views = self.front_.fit_transform(X, y)
            self.n_features_in_ = views.shape[1]
            self.feature_names_by_view_ = views.feature_names
            self.view_names_ = list(views.names)
        if len(views.names) < 2:
            raise ViewsError(
                f"CrossModalRetriever needs at least 2 views, got 1 ({views.names[0]!r}): it searches one view "
                "with a query in another."
            )
        models = [_default_model(views) if model is None else model for _, model in parts]
        repeats = [self._repeated(model) for model in models]
        self.models_ = [model.fit(views, y) for models in repeats for model in models]
        shares = self._weights(len(repeats))
        self.shares_ = np.repeat(
            [share / len(models) for share, models in zip(shares, repeats)], [len(models) for models in repeats]
        )
        for name in _CACHED:
            self.__dict__.pop(name, None)
        vectors = self._learn_space(views, y)
        texts = self._texts_of(X) if self.lexical else {}
        languages = {name: detect_language(values) for name, values in texts.items()}
        counts = count_words(views, texts, views.feature_names, languages) if self.lexical else {}
        self._learn_words(views, y, counts, models, languages)
        self.clear()
        self._index_objects(views, views.ids, vectors, counts)
        return self

    @property
    def model_(self) -> Any:
        """The first of the fitted models."""
        return self.models_[0]

    def _weights(self, n_given: int) -> np.ndarray:
        """Shares of the given models in the score."""
        weights = np.ones(n_given) if self.model_weights is None else np.asarray(self.model_weights, dtype=np.float64)
        if weights.shape != (n_given,) or not (weights > 0).all() or not np.isfinite(weights).all():
            raise ValueError(f"model_weights must be {n_given} positive numbers, got {self.model_weights!r}.")
        return weights / weights.sum()

    def _repeated(self, model: Any) -> list[Any]:
        """As many models as asked for, with other seeds, of one that starts at random."""
        check_count("n_models", self.n_models)
        if self.n_models == 1 or "n_init" not in last_step(model).get_params():
            return [model]
        seeds = {name: value for name, value in model.get_params().items() if name.split("__")[-1] == "random_state"}
        first = {name: base_seed(value) for name, value in seeds.items() if value is not None}
        others = [
            clone(model).set_params(**{name: seed + i for name, seed in first.items()}) for i in range(1, self.n_models)
        ]
        return [model, *others]

    def clear(self) -> CrossModalRetriever:
        """Remove all objects from the index; the models stay fitted."""
        check_is_fitted(self, "means_")
        self.index_ = ObjectIndex(dict.fromkeys(self.means_, self._width()), self.index, self.recall)
        return self

    def add(self, X: Any, ids: Any = None) -> CrossModalRetriever:
        """Add objects to the index, each under the views that it has.

        Parameters
        ----------
        X : Views, anything that becomes Views, or a table where the model takes tables
            The objects; some or all of the fitted views.
        ids : array-like, optional
            Identifiers, none of which is in the index. By default those of X, else the next whole numbers.
        """
        check_is_fitted(self, "means_")
        views = self._views_of(X)
        vectors = {name: self._embed_by(views, name) for name in views.names}
        counts = self._count_words(views, self._texts_of(X)) if self.words_ is not None else {}
        self._index_objects(views, views.ids if ids is None else ids, vectors, counts)
        return self

    def remove(self, ids: Any) -> CrossModalRetriever:
        """Remove objects from the index by id."""
        check_is_fitted(self, "means_")
        self.index_.remove(ids)
        return self

    def indexed_ids(self, view: str | None = None) -> np.ndarray:
        """Return the ids of the indexed objects, or of those that have a view, in the order of `similarities`."""
        check_is_fitted(self, "means_")
        return self.index_.ids if view is None else self.index_.ids_of(self._check_view(view))

    def _inspect(self) -> Inspection:
        """Answer `inspect`: groups and features are those of the first model; objects are embedded by all of them."""
        first = self._inspections[0]
        return Inspection(
            self,
            first.kind,
            first.groups,
            first.labels,
            first.views,
            Training(ids=self.index_.ids),
            topics=first.topics,
            retriever=self,
            inputs=first.inputs if self.front_ is None else self._inputs,
            front=self.front_,
            _features=first.described_features,
            _embed=self.transform,
        )

    # -- searching

    def search(self, query: Any, source: str | None = None, target: str | None = None, k: int = 10) -> Hits:
        """Find the indexed objects whose view `target` is nearest to each query.

        Parameters
        ----------
        query : Views, matrix, str, path, image, or a list of these
            What to search with. Raw text needs a pipeline with `TextViews`, or features that are named by words; images
            need a pipeline whose view has a vectorizer of images. A query of several views is embedded by all of them.
        source : str, optional
            View of the query, where it is a matrix or raw, or where only one of its views is meant. Raw texts without
            `source` and `target` are read by every view that reads text, and searched for in all views.
        target : str, optional
            View to search in; the other one where there are two.
        k : int, default=10
            Number of objects for each query; fewer where fewer are indexed.

        Returns
        -------
        Hits
            ``ids`` and ``scores``, (n_queries, k) each, best first.
        """
        check_is_fitted(self, "means_")
        check_count("k", k)
        views, words, target = self._query_views(query, source, target)
        vectors = self._vectors(views).astype(np.float32)
        if target is None:
            return self._best_anywhere(vectors, words, k)
        share, index = self._share(views, target), self.index_.indexes[target]
        if words is None or not share or not len(index):
            keys, scores = index.search(vectors, k)
            return Hits(self.index_.ids_by_key(keys), scores)
        if index.kind == "exact":
            lexical = self._lexical_scores(words, target)
            rows, scores = best_of_blocks(
                lambda part, start, stop: (
                    (1 - share) * (vectors[part] @ index.vectors[start:stop].T)
                    + share * lexical[part, start:stop].toarray()
                ),
                len(vectors),
                len(index),
                k,
            )
            return Hits(self.index_.ids_of(target)[rows], scores)
        return self._search_candidates(vectors, self._lexical_scores(words, target), share, target, k)

    def near(self, hit: Any, k: int = 10) -> Hits:
        """Find the indexed objects that resemble an indexed object, by all of their views.

        Parameters
        ----------
        hit : identifier
            The object.
        k : int, default=10
            Number of objects; fewer where fewer are indexed.

        Returns
        -------
        Hits
            ``ids`` and ``scores``, (1, k) each, best first, without the object itself.
        """
        check_is_fitted(self, "means_")
        check_count("k", k)
        key, vector, words = self.index_.key_of(hit), np.zeros(self._width()), sparse.csr_array((1, BUCKETS))
        for name, index in self.index_.indexes.items():
            row = int(index.rows_of(np.array(key)))
            if row < len(index) and index.keys[row] == key:
                vector = vector + index.vectors[row]
                if name in self.index_.words:
                    words = words + self.index_.words[name][[row]]
        words = weigh_query(sparse.csr_array(words > 0)) if self.words_ is not None else None
        return self._best_anywhere(normalize(vector[None]).astype(np.float32), words, k, without=key)

    def similarities(self, query: Any, source: str | None = None, target: str | None = None) -> np.ndarray:
        """Score every indexed object for each query (queries x objects), in the order of `indexed_ids(target)`.

        Parameters
        ----------
        query : one query or several, as in `search`
            What to search with.
        source : str, optional
            View of the query, where it is a matrix or raw, or where only one of its views is meant.
        target : str, optional
            View to search in; the other one where there are two.
        """
        check_is_fitted(self, "means_")
        views, words, target = self._query_views(query, source, target)
        if target is None:
            return self._scores_anywhere(self._vectors(views).astype(np.float32), words)
        scores = self._vectors(views).astype(np.float32) @ self.index_.indexes[target].vectors.T
        share = self._share(views, target)
        if words is None or not share:
            return scores
        return (1 - share) * scores + share * self._lexical_scores(words, target).toarray()

    def explain(
        self, query: Any, hit: Any, source: str | None = None, target: str | None = None, *, by: str = "dimension"
    ) -> Match:
        """Explain which topics (or classes, and shared words) made an indexed object match a query.

        Parameters
        ----------
        query : one query, as in `search`
            What was searched with.
        hit : identifier
            The object that was found.
        source : str, optional
            View of the query, where it is a matrix or raw, or where only one of its views is meant.
        target : str, optional
            View that was searched in; the other one where there are two.
        by : {"dimension", "feature", "auto"}, default="dimension"
            Name the parts by topics, classes or components, or by the features of the query, which needs positions that
            are weighted sums of features: `MultiViewCCA` and its kin in topic space. "auto" names features where it
            can.

        Returns
        -------
        Match
            ``score`` and ``contributions`` by name, which sum to it.
        """
        check_is_fitted(self, "means_")
        check_option("by", by, ("dimension", "feature", "auto"))
        views, words, target = self._query_views(query, source, target)
        if len(views) != 1:
            raise ValueError(f"explain takes one query, got {len(views)}.")
        if target is None:
            targets, share = self._views_with(hit), self._share_anywhere()
        else:
            targets, share = [target], self._share(views, target)
        share = share if words is not None else 0.0
        rows = {name: self.index_.row_of(hit, name) for name in targets}
        vector = np.mean([self.index_.indexes[name].vectors[row] for name, row in rows.items()], axis=0)
        by_feature = by != "dimension" and self._explains_features(needed=by == "feature")
        if by_feature:
            named = self._feature_contributions(views, vector)
            if target is None:  # one word, read by several views
                named = _summed([(_without_view(name, views.names), value) for name, value in named.items()])
        else:
            parts = self._vectors(views)[0].astype(np.float32).astype(np.float64) * vector
            named = dict(zip(self._dimension_names(targets[0]), parts.tolist()))
        named = {name: (1 - share) * value for name, value in named.items()}
        if share:
            spelled = {name.lower(): name for name in named} if by_feature else {}
            for word, value in self._word_contributions(query, views, words, rows, target).items():
                name = spelled.get(word, f"word {word}")
                named[name] = named.get(name, 0.0) + share * value
        ranked = dict(sorted(named.items(), key=lambda part: -part[1]))
        return Match(float(sum(ranked.values())), ranked)

    def tags(
        self,
        query: Any,
        n: int = 10,
        source: str | None = None,
        target: str | None = None,
        *,
        how: str = "ranked",
        random_state: Any = None,
    ) -> list[list[tuple[str, float]]]:
        """Suggest words (features of another view) for each query by its topic mixture.

        Parameters
        ----------
        query : one query or several, as in `search`
            What to find tags for.
        n : int, default=10
            Number of tags.
        source : str, optional
            View of the query, where it is a matrix or raw, or where only one of its views is meant.
        target : str, optional
            View whose features are the tags; the other one where there are two.
        how : {"ranked", "drawn"}, default="ranked"
            The most likely features, or a sample drawn by their probabilities.
        random_state : int, RandomState, Generator or None, default=None
            Seed of the draw.

        Returns
        -------
        list of lists of (feature, probability)
            One list for each query.
        """
        check_is_fitted(self, "means_")
        check_count("n", n)
        check_option("how", how, ("ranked", "drawn"))
        views, _, target = self._query_views(query, source, target)
        if target is None:
            raise ViewsError(f"must name the view of the tags: {listed(tuple(self.means_))}.", parameter="target")
        topical = [model for model in self._inspections if _profiles(model, target) is not None]
        if not topical:
            name = self._inspections[0].name
            raise TypeError(f"{name} has no topics to take tags from. Use a topic model, such as CoPLSA or LinkPLSA.")
        shares = self._expected(views, target)
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        names = topical[0].feature_names(target)
        rng = np.random.default_rng(base_seed(random_state))
        n = min(n, shares.shape[1])
        chosen = [
            np.argsort(-row, kind="stable")[:n]
            if how == "ranked"
            else rng.choice(len(row), min(n, int(np.count_nonzero(row))), replace=False, p=row)
            for row in shares
        ]
        return [[(names[j], float(row[j])) for j in order] for row, order in zip(shares, chosen)]

    def transform(self, X: Any) -> np.ndarray:
        """Compute the vectors that are compared: centered positions of unit length, averaged over an object's views."""
        check_is_fitted(self, "means_")
        views = self._views_of(X)
        return in_type_of(views, self._vectors(views))

    # -- pieces: what the models say

    @cached_property
    def _inspections(self) -> list[Inspection]:
        """What the models say, asked for once; a model from a file is asked again."""
        return [inspect(model) for model in self.models_]

    @cached_property
    def _inputs(self) -> dict[str, ViewInput]:
        """What the retriever takes."""
        return self._view_inputs() if self.front_ is None else self.front_.view_inputs()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in _CACHED}

    def _check_parameters(self) -> None:
        check_option("space", self.space, ("topic", "semantic"))
        check_option("center", self.center, ("mean", "row"))
        check_option("index", self.index, ("auto", "exact", "hnsw"))
        for name, value, low in (("lexical", self.lexical, -1e-300), ("recall", self.recall, 0.0)):
            if name == "lexical" and value == "auto":
                continue
            if isinstance(value, bool) or not isinstance(value, numbers.Real) or not low < float(value) <= 1:
                also = " or 'auto'" if name == "lexical" else ""
                raise ValueError(f"{name} must be a number between 0 and 1{also}, got {value!r}.")

    # -- from objects to vectors

    def _rows_with(self, views: Views, name: str) -> np.ndarray:
        return np.flatnonzero(views.present[:, views.names.index(name)])

    def _positions(self, views: Views, name: str) -> list[np.ndarray]:
        """Where each model puts the objects that have a view, by that view alone; at least one has it."""
        rows = self._rows_with(views, name)
        here = (views if len(rows) == len(views) else views[rows]).select(name)
        return [
            np.asarray(model.memberships(here)) if self._has_classes(model) else _position(model, here, name)
            for model in self._inspections
        ]

    def _has_classes(self, model: Inspection) -> bool:
        """Tell whether a model gives class probabilities itself, and these are what is compared."""
        return self.space == "semantic" and model.kind == "class" and model.probabilities

    def _learn_space(self, views: Views, y: Any) -> dict[str, np.ndarray]:
        """Learn classes and means from the training objects; return their vectors by view."""
        absent = [name for v, name in enumerate(views.names) if not views.present[:, v].any()]
        if absent:
            raise ViewsError(f"No object has view {absent[0]!r}. Drop the view, or pass objects that have it.")
        positions = {name: self._positions(views, name) for name in views.names}
        self._learn_classes(views, positions, y)
        parts = {name: self._to_space(name, here) for name, here in positions.items()}
        self.means_ = {name: [part.mean(axis=0, dtype=np.float64) for part in here] for name, here in parts.items()}
        return {name: self._normalized(name, here) for name, here in parts.items()}

    def _learn_classes(self, views: Views, positions: dict[str, list[np.ndarray]], y: Any) -> None:
        """Learn what semantic space needs: classes, and a logistic regression per view for models without them."""
        for name in ("classifiers_", "classes_"):
            self.__dict__.pop(name, None)
        if self.space != "semantic":
            return
        own = [self._has_classes(model) for model in self._inspections]
        if all(own):
            self.classes_ = self._inspections[0].estimator.classes_
            self.classifiers_ = {name: [None] * len(own) for name in positions}
            return
        codes, self.classes_ = encode_labels(y, len(views))
        self.classifiers_ = {}
        strengths = dict(zip(views.names, per_view("C", self.C, views.names)))
        for name, parts in positions.items():
            labels = codes[self._rows_with(views, name)]
            self.classifiers_[name] = [
                None if has else fit_classifier(name, rows, labels, strengths[name]) for has, rows in zip(own, parts)
            ]

    def _to_space(self, name: str, positions: list[np.ndarray]) -> list[np.ndarray]:
        """Positions as they are, or the mean class probabilities of all models."""
        if self.space != "semantic":
            return positions
        total = np.zeros((len(positions[0]), len(self.classes_)))
        for share, classifier, rows in zip(self.shares_, self.classifiers_[name], positions):
            total += share * (rows if classifier is None else class_probabilities(classifier, rows, len(self.classes_)))
        return [total]

    def _normalized(self, name: str, parts: list[np.ndarray]) -> np.ndarray:
        """Vectors to be compared: centered parts of length 1, side by side, so that products are means of products."""
        shares = self.shares_ if len(parts) == len(self.shares_) else np.ones(1)
        pieces = []
        for share, part, mean in zip(shares, parts, self.means_[name]):
            part = part.astype(np.float64)
            apart = part - (mean if self.center == "mean" else part.mean(axis=1, keepdims=True))
            # what rounding leaves of nothing is no direction
            apart[np.abs(apart).max(axis=1, initial=0.0) < 1e-12] = 0
            pieces.append(np.sqrt(share) * normalize(apart))
        return pieces[0] if len(pieces) == 1 else np.hstack(pieces)

    def _embed_by(self, views: Views, name: str) -> np.ndarray:
        """Vectors of the objects that have a view, by that view."""
        if not len(self._rows_with(views, name)):
            return np.zeros((0, self._width()))
        return self._normalized(name, self._to_space(name, self._positions(views, name)))

    def _width(self) -> int:
        return sum(map(len, next(iter(self.means_.values()))))

    def _vectors(self, views: Views) -> np.ndarray:
        """One vector for each object: the mean over its views, of length 1; zeros where it has none."""
        by_view = []
        for name in views.names:
            whole = np.zeros((len(views), self._width()))
            whole[self._rows_with(views, name)] = self._embed_by(views, name)
            by_view.append(whole)
        return by_view[0] if len(by_view) == 1 else normalize(np.sum(by_view, axis=0))

    def _expected(self, views: Views, target: str) -> np.ndarray:
        """Expected features of a view given each object's topics: the mean over its views and the topic models."""
        total: Any = 0.0
        for name in views.names:
            rows = self._rows_with(views, name)
            for model in self._inspections if len(rows) else []:
                topics = _profiles(model, target)
                if topics is not None:
                    whole = np.zeros((len(views), topics.shape[1]))
                    whole[rows] = np.asarray(model.memberships(views[rows].select(name))) @ topics
                    total = total + whole
        return total

    # -- shared words

    def _texts_of(self, X: Any) -> dict[str, list[str]]:
        """Raw texts of objects by view, where the model takes tables and they are one; paths of images are no texts."""
        if not isinstance(self.front_, (TextViews, TableViews)) or _is_views(X):
            return {}
        return {name: texts for name, texts in self.front_.raw_texts(X).items() if self._reads_text(name)}

    def _reads_text(self, view: str) -> bool:
        return self.front_ is None or self._inputs[view].vectorizer is not None

    def _query_texts(self, query: Any, views: Views) -> dict[str, list[str]]:
        """Raw texts of a query by view, where it has some."""
        if is_raw(query):
            if not self._reads_text(views.names[0]):
                return {}
            texts = [query] if isinstance(query, str) else list(query) if isinstance(query, (list, tuple)) else [query]
            return {views.names[0]: texts} if all(isinstance(text, str) for text in texts) else {}
        if isinstance(query, Mapping) or (not _is_views(query) and hasattr(query, "columns")):
            return {name: texts for name, texts in self._texts_of(query).items() if name in views}
        return {}

    def _feature_names(self) -> dict[str, Any]:
        """Names of the features, by view, of the views that have some."""
        names = {name: view.feature_names for name, view in self._inputs.items()}
        return {name: words for name, words in names.items() if words is not None}

    def _best_anywhere(self, vectors: np.ndarray, words: Any, k: int, without: int | None = None) -> Hits:
        """Return the best objects by all of their views, without one of them if asked for."""
        block = max(1, _MOST_SCORES // max(len(self.index_), 1))
        ids, best = [], []
        for start in range(0, len(vectors), block):
            rows = slice(start, start + block)
            scores = self._scores_anywhere(vectors[rows], None if words is None else words[rows])
            if without is not None:
                scores[:, np.searchsorted(self.index_.keys, without)] = -np.inf
            top = np.argsort(-scores, axis=1, kind="stable")[:, : min(k, len(self.index_) - (without is not None))]
            ids.append(self.index_.ids[top])
            best.append(np.take_along_axis(scores, top, axis=1))
        return Hits(np.concatenate(ids), np.concatenate(best))

    def _scores_anywhere(self, vectors: np.ndarray, words: Any) -> np.ndarray:
        """Scores of queries and objects: the mean over an object's views, and the words of all of them."""
        scores, lexical = np.zeros((2, len(vectors), len(self.index_)), dtype=np.float32)
        n_views = np.zeros(len(self.index_), dtype=np.float32)
        for name, index in self.index_.indexes.items():
            columns = np.searchsorted(self.index_.keys, index.keys)
            scores[:, columns] += vectors @ index.vectors.T
            n_views[columns] += 1
            if words is not None and name in self.index_.words:
                lexical[:, columns] += (words @ self.index_.postings(name)).toarray()
        share = self._share_anywhere() if words is not None else 0.0
        lexical /= np.maximum(lexical.max(axis=1, keepdims=True, initial=0), 1e-30)
        return (1 - share) * scores / np.maximum(n_views, 1) + share * lexical

    def _share_anywhere(self) -> float:
        """Share of words where all views are searched: the largest of all pairs of views."""
        return max((share for shares in self.lexical_.values() for share in shares.values()), default=0.0)

    def _count_words(self, views: Views, texts: Mapping[str, list[str]]) -> dict[str, Any]:
        """Words of new objects and of queries, as those of the training objects were counted."""
        return count_words(views, texts, self._feature_names(), self.words_["languages"] if self.words_ else {})

    def _learn_words(
        self, views: Views, y: Any, counts: dict[str, Any], models: list[Any], languages: dict[str, str | None]
    ) -> None:
        """Learn the frequencies of words, and how much shared words count for each pair of views."""
        shared = _sharing(counts)
        self.words_, self.lexical_ = None, {name: dict.fromkeys(views.names, 0.0) for name in views.names}
        if not shared and self.lexical not in ("auto", 0):
            raise ViewsError(
                "lexical > 0 requires views that share words or feature names, but these views share none.",
                use={"lexical": 0},
            )
        if not shared:
            return
        self.words_ = learned = learn_words(counts, languages)
        fixed = None if self.lexical == "auto" else float(self.lexical)
        if fixed is None and len(views) >= _LEAST_PAIRS:
            with suppress(ValueError):  # a part of the objects may be too few for a model, or lack a view or class
                self._choose_lexical(views, y, counts, learned, models, shared)
                return
        for source, target in shared:
            self.lexical_[source][target] = 0.5 if fixed is None else fixed

    def _choose_lexical(
        self,
        views: Views,
        y: Any,
        counts: dict[str, Any],
        learned: dict[str, Any],
        models: list[Any],
        shared: list[tuple[str, str]],
    ) -> None:
        """Choose the share of words for each pair of views by how well held-out objects find their other view."""
        order = np.random.default_rng(0).permutation(len(views))
        held = np.sort(order[: min(len(views) // 5, _MOST_PAIRS)])
        rest = np.sort(order[len(held) : len(held) + _MOST_TRAINING])
        trial = clone(self).set_params(model=[clone(model) for model in models], lexical=0.0, index="exact")
        trial.fit(views[rest], None if y is None else np.asarray(y)[rest])
        seen = np.concatenate([rest, held])  # what is searched: held-out objects among the others
        trial.clear().add(views[seen], ids=seen)
        for source, target in shared:
            both = np.all([views.present[:, views.names.index(name)] for name in (source, target)], axis=0)
            queries, objects = held[both[held]], trial.indexed_ids(target)
            if not len(queries):
                continue
            order = np.argsort(objects)
            own = order[np.searchsorted(objects[order], queries)]
            scores = trial.similarities(views[queries].select(source), source, target)
            weights = weigh_objects(learned, target, counts[target][objects])
            lexical = (weigh_query(counts[source][queries]) @ weights.T).toarray()
            lexical /= np.maximum(lexical.max(axis=1, keepdims=True), 1e-30)
            ranks = np.array([_reciprocal_ranks((1 - w) * scores + w * lexical, own) for w in _SHARES])
            gain = ranks[int(ranks.mean(axis=1).argmax())] - ranks[0]
            if gain.mean() > gain.std() / np.sqrt(len(gain)):  # else it is chance
                self.lexical_[source][target] = float(_SHARES[int(ranks.mean(axis=1).argmax())])

    def _share(self, views: Views, target: str) -> float:
        """Share of the score that is BM25 of shared words: the mean over the views of the query."""
        return float(np.mean([self.lexical_[name][target] for name in views.names])) if self.words_ else 0.0

    def _lexical_scores(self, words: sparse.csr_array, target: str) -> sparse.csr_array:
        """BM25 of queries and all objects of a view (sparse), as a share of the best object's."""
        scores = sparse.csr_array(words @ self.index_.postings(target))
        best = np.repeat(_row_maxima(scores), np.diff(scores.indptr))
        scores.data /= np.maximum(best, 1e-30)
        return scores

    def _word_contributions(
        self, query: Any, views: Views, words: sparse.csr_array, rows: dict[str, int], target: str | None
    ) -> dict[str, float]:
        """What each word of a query adds to its BM25 score with an object, as a share of the best object's."""
        totals = np.zeros(len(self.index_))
        for name in [target] if target is not None else list(self.index_.words):
            columns = np.searchsorted(self.index_.keys, self.index_.indexes[name].keys)
            totals[columns] += (words @ self.index_.postings(name)).toarray()[0]
        texts = self._query_texts(query, views)
        word_of = spell_words(views, texts, {} if target is None else self._feature_names())
        pairs: list[tuple[str, float]] = []
        for name, row in rows.items():
            if name in self.index_.words:
                shared = sparse.csr_array(words.multiply(self.index_.words[name][[row]]))
                values = shared.data.astype(np.float64) / max(totals.max(initial=0.0), 1e-300)
                pairs += [
                    (word_of.get(bucket, "?"), float(value)) for bucket, value in zip(shared.indices.tolist(), values)
                ]
        return _summed(pairs)

    def _views_with(self, hit: Any) -> list[str]:
        """Names of the views that an indexed object has."""
        key = self.index_.key_of(hit)
        return [name for name, index in self.index_.indexes.items() if key in index.keys]

    def _search_candidates(
        self, vectors: np.ndarray, lexical: sparse.csr_array, share: float, target: str, k: int
    ) -> Hits:
        """Score the best objects of the graph, and those with the best words, by both."""
        index = self.index_.indexes[target]
        keys, _ = index.search(vectors, k + _CANDIDATES)
        ids, best = [], []
        for i, near in enumerate(keys):
            row = lexical[[i]]
            strong = row.indices[np.argsort(-row.data, kind="stable")[: k + _CANDIDATES]]
            rows = np.union1d(index.rows_of(near), strong)
            scores = (1 - share) * (index.vectors[rows] @ vectors[i]) + share * row[:, rows].toarray()[0]
            top = np.lexsort((rows, -scores))[:k]
            ids.append(self.index_.ids_of(target)[rows[top]])
            best.append(scores[top])
        return Hits(np.array(ids), np.array(best))

    # -- objects in

    def _views_of(self, X: Any) -> Views:
        if self.front_ is None:
            return self._new_views(X)
        return X if isinstance(X, Views) else self.front_.transform(X)

    def _check_view(self, view: str) -> str:
        if view not in self.means_:
            raise ViewsError(
                f"There is no view {view!r}; the retriever was fitted on {listed(self.means_)}."
                f"{did_you_mean(view, self.means_)}"
            )
        return view

    def _index_objects(self, views: Views, ids: Any, vectors: dict[str, np.ndarray], counts: dict[str, Any]) -> None:
        rows = {name: self._rows_with(views, name) for name in vectors}
        words = None
        if self.words_ is not None:
            known = [name for name in vectors if name in self.words_["lengths"]]
            words = {name: weigh_objects(self.words_, name, take_rows(counts[name], rows[name])) for name in known}
        self.index_.add(ids, len(views), {name: (rows[name], vectors[name]) for name in vectors}, words)

    def _dimension_names(self, view: str) -> list[str]:
        """Names of the dimensions that are compared: classes, or topics by what they are about."""
        if self.space == "semantic":
            return [f"class {name}" for name in self.classes_]
        labels = []
        for i, (model, mean) in enumerate(zip(self._inspections, self.means_[view])):
            which = f"model {i} " if len(self.models_) > 1 else ""
            if _profiles(model, view) is None:
                labels += [f"{which}component {k}" for k in range(len(mean))]
                continue
            named = enumerate(model.group_names)
            labels += [f"{which}topic {k}" + (f" ({name})" if name != f"topic {k}" else "") for k, name in named]
        return labels

    def _explains_features(self, needed: bool) -> bool:
        """Tell whether scores are sums over the features of a query; refuse if they must be."""
        if self.space == "topic" and all(model.projections for model in self._inspections):
            return True
        if needed:
            raise ValueError(
                "by='feature' needs space='topic' and models whose positions are weighted sums of features, such as "
                "MultiViewCCA. Use by='dimension'."
            )
        return False

    def _feature_contributions(self, views: Views, vector: np.ndarray) -> dict[str, float]:
        """What each feature of one query adds to its product with an object's vector."""
        ends = np.cumsum([len(mean) for mean in self.means_[views.names[0]]])
        pieces = np.split(vector.astype(np.float64), ends[:-1])
        here = [name for name in views.names if len(self._rows_with(views, name))]
        vectors = [self._embed_by(views, name)[0] for name in here]
        length = np.linalg.norm(np.sum(vectors, axis=0)) if len(views.names) > 1 else 1.0
        total: dict[str, float] = {}
        for name in here if length else []:
            for share, model, mean, piece in zip(self.shares_, self._inspections, self.means_[name], pieces):
                scale = np.sqrt(share) / length
                for feature, value in feature_contributions(model, views, name, piece, mean, self.center).items():
                    key = feature if len(here) == 1 or feature == AVERAGE else f"{name}: {feature}"
                    total[key] = total.get(key, 0.0) + scale * value
        return total

    # -- queries in

    def _query_views(self, query: Any, source: str | None, target: str | None) -> tuple[Views, Any, str | None]:
        """Views of the query, the weights of its words (None where they do not count), and the view to search in.

        The latter is None where texts are searched for in all views.
        """
        if source is None and target is None and is_text(query):
            return self._read_by_all([query] if isinstance(query, str) else list(query))
        names = tuple(self.means_)
        for view in (source, target):
            if view is not None:
                self._check_view(view)
        guess = source
        if source is None and target is not None and len(names) == 2:
            guess = names[1 - names.index(target)]
        views = as_query(query, guess, self.front_, self._inputs, unknown=self.words_ is not None)
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
                    f"must name the view to search in: {listed(tuple(others or names))}; the query has "
                    f"{listed(views.names)}.",
                    parameter="target",
                )
            target = others[0] if others else names[0]
        words = None
        if self._share(views, target):
            counts = self._count_words(views, self._query_texts(query, views))
            words = weigh_query(sum(counts.values(), sparse.csr_array((len(views), BUCKETS))))
        if is_raw(query):
            self._check_known(query, views, words, target)
        return views, words, target

    def _read_by_all(self, texts: list[str]) -> tuple[Views, Any, None]:
        """Views of texts as every view that reads text reads them, and the weights of their words."""
        views = texts_in_all(texts, self._inputs)
        if views is None:
            raise ViewsError(
                f"must name the view that raw queries belong to: {listed(tuple(self.means_))}.", parameter="source"
            )
        if self.front_ is None:
            views = self._new_views(views)
        first = views.names[0]
        words = None
        if self._share_anywhere():
            words = weigh_query(count_words(views.select(first), {first: texts}, {}, {})[first])
        known = views.present.any(axis=1)
        if words is not None:
            for name in self.index_.words:
                known |= np.diff(sparse.csr_array(words @ self.index_.postings(name)).indptr) > 0
        if not known.all():
            raise unknown_query(texts[int(np.argmin(known))], first)
        return views, words, None

    def _check_known(self, query: Any, views: Views, words: sparse.csr_array | None, target: str) -> None:
        """Refuse a raw query of which nothing is known, neither to its view nor to the objects."""
        known = np.asarray(abs(views[views.names[0]]).sum(axis=1)).ravel() > 0
        if words is not None and target in self.index_.words:
            known |= np.diff(sparse.csr_array(words @ self.index_.postings(target)).indptr) > 0
        if not known.all():
            row = int(np.argmin(known))
            first = query if isinstance(query, str) else query[row]
            raise unknown_query(first if isinstance(first, str) else row, views.names[0])


def _split_front(model: Any) -> tuple[Any, Any]:
    """Return the step that makes views of tables (None where a model starts from views), and the rest (None: none)."""
    front = model.steps[0][1] if isinstance(model, Pipeline) else model
    if not isinstance(front, (TextViews, ColumnViews, TableViews)):
        return None, model
    rest = model.steps[1:] if isinstance(model, Pipeline) else []
    if not rest:
        return front, None
    return front, rest[0][1] if len(rest) == 1 else Pipeline(rest)


def _default_model(views: Views) -> Any:
    """Return CCA, of tf-idf where a view holds counts."""
    counts = [name for name, matrix in views.items() if _is_counts(matrix)]
    cca = MultiViewCCA(random_state=0)
    return make_pipeline(TfidfViews(sublinear_tf=True, views=counts), cca) if counts else cca


def _is_counts(matrix: Any) -> bool:
    """Tell counts from measurements: whole numbers, none of them negative."""
    values = matrix.data if sparse.issparse(matrix) else np.asarray(matrix)
    return bool(values.size and values.min() >= 0 and np.array_equal(values, np.floor(values)))


def _is_views(X: Any) -> bool:
    return isinstance(X, Views)


def _sharing(counts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the pairs of views with words in common, both ways: more than different words in one bucket explain."""
    words = {name: np.unique(rows.indices) for name, rows in counts.items()}
    pairs = []
    for a, b in permutations(words, 2):
        chance = len(words[a]) * len(words[b]) / BUCKETS
        if len(np.intersect1d(words[a], words[b])) > chance + 3 * np.sqrt(chance):
            pairs.append((a, b))
    return pairs


def _summed(pairs: list[tuple[str, float]]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for name, value in pairs:
        totals[name] = totals.get(name, 0.0) + value
    return totals


def _without_view(name: str, views: tuple[str, ...]) -> str:
    """Name of a contribution without the view that stands before it."""
    return next((name.removeprefix(f"{view}: ") for view in views if name.startswith(f"{view}: ")), name)


def _row_maxima(rows: sparse.csr_array) -> np.ndarray:
    return rows.max(axis=1).toarray().ravel() if rows.shape[1] else np.zeros(rows.shape[0])


def _reciprocal_ranks(scores: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return 1 / rank of each row's own column; ties count against it."""
    return 1 / (scores >= scores[np.arange(len(own)), own][:, None]).sum(axis=1)


def _position(model: Inspection, views: Views, name: str) -> np.ndarray:
    """Positions of objects by one view: in the space of a projection, or what the model's `transform` gives."""
    position: Any = model.embed(views) if model.projections or not model.transforms else model.transform(views)
    if isinstance(position, (Views, Mapping)):
        position = position[name]
    return np.asarray(position.toarray() if sparse.issparse(position) else position)


def _profiles(model: Inspection, view: str) -> np.ndarray | None:
    """Return p(feature | topic) of a view (topics x features) of a model with topics; None for others."""
    features = model.described_features(view) if model.probabilities else None
    return features.weights if features is not None and features.probabilities else None
