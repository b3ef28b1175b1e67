"""Search objects by one view with a query in another: positions in a common space, compared by centered correlation.

    score(query, object) = < (p - m_s) / |p - m_s|,  (q - m_t) / |q - m_t| >

p is the query's position by its view s, q the object's by its view t, m the means over the training objects: topic
proportions ("topic" space), or class probabilities that a multinomial logistic regression gives them ("semantic"
space). With `lexical` = w the score is (1 - w) times that, plus w times the BM25 score of the words that query and
object have in common, divided by that of the best object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator
from coview.classification.naive_bayes import class_probabilities
from coview.classification.wrapper import in_type_of, last_step
from coview.decomposition.cca import MultiViewCCA
from coview.exceptions import ViewsError
from coview.inspection import Inspection, Training, inspect
from coview.inspection.known import objects_by_view
from coview.preprocessing.embeddings import EmbeddingViews
from coview.preprocessing.stop_words import detect_language
from coview.preprocessing.tables import TableViews
from coview.preprocessing.text import TextViews
from coview.preprocessing.weighting import weigh_counts
from coview.retrieval.contributions import AVERAGE, feature_contributions
from coview.retrieval.hits import Hits, Match
from coview.retrieval.lexical import (
    BUCKETS,
    SharedWords,
    best_share,
    count_words,
    hash_words,
    pairs_with_words,
    spell_words,
    weigh_query,
)
from coview.retrieval.object_index import ObjectIndex
from coview.retrieval.queries import (
    QueryReader,
    ReadQuery,
    is_raw,
    is_table,
    is_text,
    unknown_query,
    unknown_rows,
)
from coview.retrieval.semantic import fit_classifier
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.messages import cut, did_you_mean, listed
from coview.utils.parameters import ESTIMATOR, NONE, by_view, instance, integer, list_of, number, one_of
from coview.utils.warn import warn_user
from coview.validation import base_seed, check_count, check_option, encode_labels, per_view
from coview.views.arrays import take_rows
from coview.views.views import Views

__all__ = ["CrossModalRetriever"]

_LEAST_PAIRS, _MOST_PAIRS, _MOST_TRAINING = 50, 1000, 5000  # objects by which the share of words is chosen
_UNCHOSEN = 0.5  # that share, where it cannot be chosen
_SORTED = ("topic", "cluster", "class")  # kinds of groups that an object is in
_CACHED = ("_inspections", "_sorter", "_reader")  # of what was fitted; in no file


def _check_models(checker: rules.Checker, value: Any, where: str) -> None:
    """At least one model, and in semantic space what classes are found by."""
    checker.check(rules.sequence(rules.estimator(), "models", low=1), value, where)
    semantic = checker.state.get("space") == "semantic"
    for part in ("classes_", "classifiers_"):
        if semantic and part not in checker.state:
            checker.refuse(part, "is not there, which semantic space needs")
        if not semantic and part in checker.state:
            checker.refuse(part, f"is there, which {checker.state.get('space')} space has not")


def _check_means(checker: rules.Checker, value: Any, where: str) -> None:
    """The mean position by each model or, in semantic space, that of the class probabilities."""
    semantic = checker.state.get("space") == "semantic"
    checker.check(rules.sequence(rules.floats(None), 1 if semantic else "models"), value, where)
    for i, mean in enumerate(value):
        checker.size("classes" if semantic else f"dimensions of model {i}", len(mean), f"{where}[{i}]")
    checker.size("dimensions", sum(map(len, value)), where)


def _check_words(checker: rules.Checker, value: Any, where: str) -> None:
    """What `SharedWords` learns."""
    if not isinstance(value, SharedWords):
        checker.refuse(where, f"is of type {type(value).__name__}, but must be SharedWords")
    checker.check(
        rules.record(
            shares=rules.by_view(rules.by_view(rules.number(0.0, 1.0))),
            lengths=rules.by_view(rules.number(0.0), some=True),
            languages=rules.mapping(rules.or_none(rules.text())),
            buckets=rules.integers("words", below=BUCKETS, rising=True),
            frequency=rules.integers("words"),
            n_rows=rules.count(),
        ),
        vars(value),
        where,
    )
    if value.frequency.size and value.frequency.max() > value.n_rows:
        checker.refuse(f"{where}.frequency", f"has a word in {value.frequency.max()} of {value.n_rows} texts")


def _check_index(checker: rules.Checker, value: Any, where: str) -> None:
    """Vectors of the index are those that queries become; words are weighed in the views that have any."""
    if not isinstance(value, ObjectIndex):
        checker.refuse(where, f"is of type {type(value).__name__}, but must be an index of objects")
    checker.check(rules.by_view(rules.plain()), value.indexes, f"{where}.indexes")
    for view, index in value.indexes.items():
        checker.size("dimensions", index.vectors.shape[1], f"the vectors of {view!r} in {where}")
    words = checker.state.get("words_")
    if not isinstance(words, SharedWords):
        return  # which is refused by itself
    if value.words.keys() - words.lengths.keys() or any(part.shape[1] != BUCKETS for part in value.words.values()):
        checker.refuse(where, "has words of views that words_ does not know")
    filled = {view for view, index in value.indexes.items() if len(index)}
    absent = [view for view in words.searched() if view in filled - value.words.keys()]
    if absent:
        checker.refuse(where, f"has no words of {absent[0]!r}, though words count in its scores")


@shared_parameters
class CrossModalRetriever(TransformerMixin, MultiViewEstimator):
    """Search objects in one view with queries in another.

    Parameters
    ----------
    model : estimator, list of estimators or None, default=None
        Any estimator that embeds objects by any one of their views: a topic model (`CoPLSA`, `LinkPLSA`,
        `MultiViewPLSA`, ...), `MultiViewCCA`, `SemanticCorrelationMatching`, or a pipeline that ends in one. A pipeline
        that starts with `TextViews`, `TableViews` or `EmbeddingViews`, or one of these alone, takes raw tables and raw
        queries. None is `MultiViewCCA`, with views of counts weighted by tf-idf. Of a list of models, the mean of their
        scores counts.
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
        the other view of held-out training objects best, 0 where words do not help; 0.5 with fewer than 50 objects.
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
    words_ : SharedWords
        What BM25 knows of the training objects: frequencies of the (hashed) words, mean lengths of the views, and its
        share of the score.
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

    _fitted_state = {
        # of a table, the front tells them
        "n_features_by_view_": rules.optional(
            rules.by_view(rules.count(1, size="features of {view}")), needed=lambda state: state.get("front_") is None
        ),
        "front_": rules.or_none(rules.estimator(methods=["transform", "view_inputs"])),
        "models_": rules.custom(_check_models),
        "shares_": rules.shares("models"),
        "means_": rules.by_view(rules.custom(_check_means)),
        "classes_": rules.optional(rules.labels("classes")),
        "classifiers_": rules.optional(
            rules.by_view(
                rules.sequence(rules.or_none(rules.estimator(codes="classes", methods=["predict_proba"])), "models")
            )
        ),
        "words_": rules.custom(_check_words),
        "index_": rules.custom(_check_index),
    }
    _parameters = {
        "model": ESTIMATOR | list_of("estimators", ESTIMATOR | NONE) | NONE,
        "space": one_of("topic", "semantic"),
        "center": one_of("mean", "row"),
        "lexical": one_of("auto") | number(most=1),
        "n_models": integer(),
        "model_weights": list_of("positive numbers", number()) | instance("an array", np.ndarray) | NONE,
        "C": by_view(number(above=0)),
        "index": one_of("auto", "exact", "hnsw"),
        "recall": number(above=0, most=1),
    }

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
        models = self.model if isinstance(self.model, (list, tuple)) else [self.model]
        parts = [_split_front(clone(model)) if model is not None else (None, None) for model in models]
        if not parts:
            raise ValueError("model is an empty list. Pass at least one model, or None.")
        if any(front is not None for front, _ in parts[1:]):
            raise ValueError("If there are several models, only the first may start with TextViews or TableViews.")
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
        vectors = self._fit_models(models, views, y)
        texts = self._reader.raw_texts(X) if self.lexical else {}
        languages = {name: detect_language(values) for name, values in texts.items()}
        counts = count_words(views, texts, views.feature_names, languages) if self.lexical else {}
        self._learn_words(models, views, y, counts, languages)
        self.clear()
        self._index_objects(views, views.ids, vectors, counts, self._training_codes(len(views)))
        return self

    def _fit_models(self, models: list[Any], views: Views, y: Any) -> dict[str, np.ndarray]:
        """Fit the models, each as often as asked for, and learn the space; return the objects' vectors by view."""
        repeats = [self._repeated(model) for model in models]
        self.models_ = [model.fit(views, y) for models in repeats for model in models]
        shares = self._weights(len(repeats))
        self.shares_ = np.repeat(
            [share / len(models) for share, models in zip(shares, repeats)], [len(models) for models in repeats]
        )
        for name in _CACHED:
            self.__dict__.pop(name, None)
        return self._learn_space(views, y)

    @property
    def model_(self) -> Any:
        """The first of the fitted models."""
        return self.models_[0]

    @property
    def lexical_(self) -> dict[str, dict[str, float]]:
        """Share of the score that is BM25, by the views of query and object."""
        return self.words_.shares

    def _weights(self, n_given: int) -> np.ndarray:
        """Shares of the given models in the score."""
        weights = np.ones(n_given) if self.model_weights is None else np.asarray(self.model_weights)
        numeric = weights.dtype.kind in "biuf" and weights.shape == (n_given,)
        if not numeric or not (weights > 0).all() or not np.isfinite(weights).all():
            raise ValueError(f"model_weights must be {n_given} positive numbers, got {self.model_weights!r}.")
        return weights / weights.sum()

    def _repeated(self, model: Any) -> list[Any]:
        """As many models as asked for, with other seeds, of one that starts at random."""
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
        counts = self._count_words(views, self._reader.raw_texts(X))
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
        """Answer `inspect`: groups and features are those of one model; objects are embedded by all of them."""
        first = self._sorter or self._inspections[0]
        return Inspection(
            self,
            first.kind,
            first.groups,
            first.labels,
            first.views,
            Training(ids=self.index_.ids),
            topics=first.topics,
            retriever=self,
            inputs=first.inputs if self.front_ is None else self._reader.inputs,
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
            ``ids`` and ``scores``, (n_queries, k) each, best first; the ``groups`` of the objects, where the model
            has topics, clusters or classes, with their ``group_names``; and the words that were ``ignored``.
        """
        check_is_fitted(self, "means_")
        check_count("k", k)
        asked = self._read_query(query, source, target)
        vectors = self._vectors(asked.views).astype(np.float32)
        keys, scores = self.index_.search(vectors, asked.words, asked.share, asked.target, k)
        return self._hits(keys, scores, asked.ignored).without(asked.unknown)

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
            As of `search`, for one query, without the object itself.
        """
        check_is_fitted(self, "means_")
        check_count("k", k)
        key, vector, words = self.index_.key_of(hit), np.zeros(self._width()), sparse.csr_array((1, BUCKETS))
        for name, row in self.index_.rows_of(hit).items():
            vector = vector + self.index_.indexes[name].vectors[row]
            if name in self.index_.words:  # a view with many words is not to drown the others
                own = self.index_.words[name][[row]]
                words = words + own.sign() / np.sqrt(max(float(own.sum()), 1e-12))
        share = self.words_.share((), None)
        weights = sparse.csr_array(words, dtype=np.float32) if share else None
        vectors = _unit_rows(vector[None]).astype(np.float32)
        return self._hits(*self.index_.search(vectors, weights, share, None, k, without=key))

    def similarities(
        self, query: Any, source: str | None = None, target: str | None = None, *, ids: Sequence[Any] | None = None
    ) -> np.ndarray:
        """Score every indexed object for each query (queries x objects), in the order of `indexed_ids(target)`.

        Parameters
        ----------
        query : one query or several, as in `search`
            What to search with.
        source : str, optional
            View of the query, where it is a matrix or raw, or where only one of its views is meant.
        target : str, optional
            View to search in; the other one where there are two.
        ids : sequence of identifiers, optional
            Score only these objects, in this order.
        """
        check_is_fitted(self, "means_")
        asked = self._read_query(query, source, target)
        vectors = self._vectors(asked.views).astype(np.float32)
        return self.index_.scores(vectors, asked.words, asked.share, asked.target, ids)

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
            ``score`` and ``contributions`` by name, which sum to it; none of an object without views.
        """
        check_is_fitted(self, "means_")
        check_option("by", by, ("dimension", "feature", "auto"))
        asked = self._read_query(query, source, target)
        views, target = asked.views, asked.target
        if len(views) != 1:
            raise ValueError(f"explain takes one query, got {len(views)}.")
        rows = self.index_.rows_of(hit) if target is None else {target: self.index_.row_of(hit, target)}
        if not rows:
            return Match(0.0)
        vector = np.mean([self.index_.indexes[name].vectors[row] for name, row in rows.items()], axis=0)
        by_feature = by != "dimension" and self._explains_features(needed=by == "feature")
        if by_feature:
            named = self._feature_contributions(views, vector)
            if target is None:  # one word, read by several views
                named = _sum_by_name([(_without_view(name, views.names), value) for name, value in named.items()])
        else:
            parts = self._vectors(views)[0].astype(np.float32).astype(np.float64) * vector
            named = dict(zip(self._dimension_names(next(iter(rows))), parts.tolist()))
        named = {name: (1 - asked.share) * value for name, value in named.items()}
        if asked.words is not None:
            spelled = {name.lower(): name for name in named} if by_feature else {}
            word_of = spell_words(views, asked.texts, {} if target is None else self._reader.feature_names)
            for bucket, value in self.index_.shared_words(asked.words, self.index_.key_of(hit), target):
                word = word_of.get(bucket, "?")
                name = spelled.get(word, f"word {word}")
                named[name] = named.get(name, 0.0) + asked.share * value
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
        asked = self._read_query(query, source, target)
        views, target = asked.views, asked.target
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
    def _sorter(self) -> Inspection | None:
        """The first model that sorts objects into topics, clusters or classes."""
        return next((model for model in self._inspections if model.groups and model.kind in _SORTED), None)

    @cached_property
    def _reader(self) -> QueryReader:
        """What reads queries as views."""
        return QueryReader(self.front_, self._view_inputs() if self.front_ is None else self.front_.view_inputs())

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in _CACHED}

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
            pieces.append(np.sqrt(share) * _unit_rows(apart))
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
        return by_view[0] if len(by_view) == 1 else _unit_rows(np.sum(by_view, axis=0))

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

    def _learn_words(
        self, models: list[Any], views: Views, y: Any, counts: dict[str, Any], languages: dict[str, str | None]
    ) -> None:
        """Learn the frequencies of words, and how much shared words count for each pair of views."""
        pairs = pairs_with_words(counts)
        if not pairs and self.lexical not in ("auto", 0):
            raise ViewsError(
                "lexical > 0 requires views that share words or feature names, but these views share none.",
                use={"lexical": 0},
            )
        self.words_ = SharedWords.learn(counts if pairs else {}, views.names, languages)
        shares = None
        if self.lexical == "auto" and len(views) >= _LEAST_PAIRS and pairs:
            shares = self._choose_shares(models, views, y, counts, pairs)
        for source, target in pairs:
            fixed = _UNCHOSEN if self.lexical == "auto" else float(self.lexical)
            self.words_.shares[source][target] = fixed if shares is None else shares[source, target]

    def _choose_shares(
        self, models: list[Any], views: Views, y: Any, counts: dict[str, Any], pairs: list[tuple[str, str]]
    ) -> dict[tuple[str, str], float] | None:
        """Choose the share of words for each pair of views by how well held-out objects find their other view.

        None where the models cannot be fitted on the others.
        """
        order = np.random.default_rng(0).permutation(len(views))
        held = np.sort(order[: min(len(views) // 5, _MOST_PAIRS)])
        rest = np.sort(order[len(held) : len(held) + _MOST_TRAINING])
        trial = clone(self)
        try:
            trial._fit_models(
                [clone(model) for model in models], views[rest], None if y is None else np.asarray(y)[rest]
            )
        except ValueError as error:  # all objects did for the models: this part is too small, or lacks a view or class
            warn_user(
                f"lexical='auto' is {_UNCHOSEN}: it is chosen with models that are fitted on a part of the objects, "
                f"and on these the fit failed ({cut(str(error), 120)}). Pass a number to choose it yourself.",
                UserWarning,
            )
            return None
        searched = np.concatenate([rest, held])  # held-out objects among the others
        shares = dict.fromkeys(pairs, 0.0)
        for source, target in pairs:
            has_source, has_target = (views.present[:, views.names.index(name)] for name in (source, target))
            queries, objects = held[(has_source & has_target)[held]], searched[has_target[searched]]
            if not len(queries):
                continue
            order = np.argsort(objects)
            own = order[np.searchsorted(objects[order], queries)]
            asked, vectors = trial._vectors(views[queries].select(source)), trial._embed_by(views[objects], target)
            weights = self.words_.weigh(target, counts[target][objects])
            words = (weigh_query(counts[source][queries]) @ weights.T).toarray()
            words /= np.maximum(words.max(axis=1, keepdims=True), 1e-30)
            shares[source, target] = best_share(asked.astype(np.float32) @ vectors.astype(np.float32).T, words, own)
        return shares

    def _count_words(self, views: Views, texts: Mapping[str, list[str]]) -> dict[str, Any]:
        """Words of new objects and of queries, as those of the training objects were counted."""
        if not self.words_.lengths:
            return {}
        return count_words(views, texts, self._reader.feature_names, self.words_.languages)

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

    def _index_objects(
        self,
        views: Views,
        ids: Any,
        vectors: dict[str, np.ndarray],
        counts: dict[str, Any],
        codes: np.ndarray | None = None,
    ) -> None:
        """Add objects to the index; `codes` are the positions of their groups, where they are known already."""
        rows = {name: self._rows_with(views, name) for name in vectors}
        words = {}
        for name in [name for name in vectors if name in self.words_.lengths]:
            if name not in counts:
                raise ViewsError(
                    f"The words of view {name!r} count in the score, but Views do not hold them: its vectorizer gives "
                    "its features no names.",
                    python="Pass the raw table in place of Views, or fit with lexical=0.",
                )
            words[name] = self.words_.weigh(name, take_rows(counts[name], rows[name]))
        placed = {name: (rows[name], vectors[name]) for name in vectors}
        if codes is None and self._sorter is not None:
            codes = self._sorter.read(views).codes
        groups = None if codes is None else np.where(views.present.any(axis=1), codes, -1)
        self.index_.add(ids, len(views), placed, words, groups)

    def _training_codes(self, n_objects: int) -> np.ndarray | None:
        """Positions of the training objects' groups, where the model that sorts was fitted here and keeps them."""
        if self._sorter is None or isinstance(last_step(self._sorter.model), FrozenEstimator):
            return None
        codes = self._sorter.training_reading().codes
        return codes if codes is not None and len(codes) == n_objects else None

    # -- objects out

    def _hits(self, keys: np.ndarray, scores: np.ndarray, ignored: list[list[str]] | None = None) -> Hits:
        """Hits with identifiers and groups, by keys of the index."""
        ids, places, scores = self.index_.still_there(keys, scores)
        groups = names = None
        if self._sorter is not None:
            known = np.array([*self._sorter.group_names, None], dtype=object)  # -1 is the last
            groups = np.where(places < len(known) - 1, places, -1)  # a file may tell of groups that the model lacks
            names = known[groups]
        return Hits(ids, scores, groups, names, ignored or [])

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

    def _read_query(self, query: Any, source: str | None, target: str | None) -> ReadQuery:
        """Views, words and target of queries; refused where they are raw and nothing in one of them is known."""
        anywhere = source is None and target is None and is_text(query)
        if anywhere:
            written = [query] if isinstance(query, str) else list(query)
            views = self._reader.read_by_all(written)
            views = self._new_views(views) if self.front_ is None else views
            texts = {views.names[0]: written}
        else:
            views, target = self._query_views(query, source, target)
            texts = self._reader.texts(query, views)
        share, words = self.words_.share(views.names, target), None
        if share:
            # texts that all views read have no language of their own
            counts = count_words(views, texts, {}, {}) if anywhere else self._count_words(views, texts)
            words = weigh_query(sum(counts.values(), sparse.csr_array((len(views), BUCKETS))))
        unknown = self._check_known(query, views, words, target)
        ignored = [
            self._reader.ignored(
                text, views.names, lambda parts: bool(share) and self.index_.knows_word(hash_words(parts), target)
            )
            for text in (next(iter(texts.values()), []) if is_text(query) else [])
        ]
        return ReadQuery(views, texts, target, words, share, ignored, unknown)

    def _query_views(self, query: Any, source: str | None, target: str | None) -> tuple[Views, str]:
        """Views of a query, and the view to search in."""
        names = tuple(self.means_)
        for view in (source, target):
            if view is not None:
                self._check_view(view)
        guess = source
        if source is None and target is not None and len(names) == 2:
            guess = names[1 - names.index(target)]
        views = self._reader.read(query, guess)
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
        return views, target

    def _check_known(
        self, query: Any, views: Views, words: sparse.csr_array | None, target: str | None
    ) -> np.ndarray | None:
        """Refuse a raw query of which nothing is known, neither to its views nor to the objects.

        Of several rows of a table, those are returned and told of; matrices and views are taken as they are.
        """
        if not is_raw(query) and (isinstance(query, Views) or self.front_ is None or not is_table(query)):
            return None
        filled = [np.asarray(abs(part).sum(axis=1)).ravel() > 0 for part in views.values()]
        known = np.any(filled if is_raw(query) else list(objects_by_view(views).values()), axis=0)
        if words is not None:
            known |= self.index_.known_words(words, target)
        unknown = np.flatnonzero(~known)
        if not unknown.size:
            return None
        view = None if len(views.names) > 1 else views.names[0]
        if is_raw(query):
            raise unknown_query(query, int(unknown[0]), view)
        return unknown_rows(unknown, len(known), view)


def _unit_rows(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1; zeros stay zeros. scikit-learn's `normalize` takes longer to check one row than to scale it."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return rows / np.where(lengths > 0, lengths, 1.0)[:, None]


def _split_front(model: Any) -> tuple[Any, Any]:
    """Return the step that makes views of tables (None where a model starts from views), and the rest (None: none)."""
    front = model.steps[0][1] if isinstance(model, Pipeline) else model
    if not isinstance(front, (TextViews, TableViews, EmbeddingViews)):
        return None, model
    rest = model.steps[1:] if isinstance(model, Pipeline) else []
    if not rest:
        return front, None
    return front, rest[0][1] if len(rest) == 1 else Pipeline(rest)


def _default_model(views: Views) -> Any:
    """Return CCA, of tf-idf where a view holds counts."""
    counts = [name for name, matrix in views.items() if _is_counts(matrix)]
    cca = MultiViewCCA(random_state=0)
    return make_pipeline(*weigh_counts(views, counts), cca) if counts else cca


def _is_counts(matrix: Any) -> bool:
    """Tell counts from measurements: whole numbers, none of them negative."""
    values = matrix.data if sparse.issparse(matrix) else np.asarray(matrix)
    return bool(values.size and values.min() >= 0 and np.array_equal(values, np.floor(values)))


def _sum_by_name(pairs: list[tuple[str, float]]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for name, value in pairs:
        totals[name] = totals.get(name, 0.0) + value
    return totals


def _without_view(name: str, views: tuple[str, ...]) -> str:
    """Name of a contribution without the view that stands before it."""
    return next((name.removeprefix(f"{view}: ") for view in views if name.startswith(f"{view}: ")), name)


def _position(model: Inspection, views: Views, name: str) -> np.ndarray:
    """Positions of objects by one view: in the space of a projection, or what the model's `transform` gives."""
    position: Any = model.embed(views) if model.projections or not model.transforms else model.transform(views)
    if isinstance(position, (Views, Mapping)):
        position = position[name]
    return np.asarray(position.toarray() if sparse.issparse(position) else position)


def _profiles(model: Inspection, view: str) -> np.ndarray | None:
    """Return what topics expect of a view (topics x features) of a model with topics; None for others."""
    features = model.described_features(view) if model.probabilities else None
    return features.expected if features is not None and features.probabilities else None
