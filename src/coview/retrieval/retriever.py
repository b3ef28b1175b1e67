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
from coview.classification.naive_bayes import compute_class_probabilities
from coview.classification.wrapper import in_type_of, last_step
from coview.decomposition.cca import MultiViewCCA
from coview.exceptions import ViewsError
from coview.inspection import Inspection, Preparation, Structure, Training, inspect
from coview.inspection.features import described_features
from coview.inspection.known import objects_by_view
from coview.inspection.reading import can_transform, embed_objects, read_groups, read_training, transform_objects
from coview.preprocessing.embeddings import EmbeddingViews
from coview.preprocessing.stop_words import detect_language
from coview.preprocessing.tables import TableViews
from coview.preprocessing.text import TextViews
from coview.preprocessing.weighting import weigh_counts
from coview.retrieval.hits import Hits, Match
from coview.retrieval.index import ObjectIndex
from coview.retrieval.lexical import BUCKETS, SharedWords, count_words, hash_words, spell_words, weigh_query
from coview.retrieval.queries import QueryReader, ReadQuery, is_raw, is_table, is_text, make_unknown_error, split_words
from coview.retrieval.semantic import fit_classifier
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.messages import did_you_mean, listed
from coview.utils.parameters import ESTIMATOR, NONE, TEXTS, number, one_of
from coview.validation import base_seed, check_count, check_option, encode_labels
from coview.views.arrays import is_whole, take_rows
from coview.views.views import Views

__all__ = ["CrossModalRetriever"]

_SORTED = ("topic", "cluster", "class")  # kinds of groups that an object is in
_CACHED = ("_inspections", "_sorter", "_reader")  # of what was fitted; in no file


def _is_semantic(state: Mapping[str, Any]) -> bool:
    return state.get("space") == "semantic"


def _check_means(checker: rules.Checker, value: Any, where: str) -> None:
    """The mean position by each model or, in semantic space, that of the class probabilities."""
    checker.check(rules.sequence(rules.floats(None), 1 if _is_semantic(checker.state) else "models"), value, where)
    checker.size("dimensions", sum(map(len, value)), where)


def _check_words(checker: rules.Checker, value: Any, where: str) -> None:
    """What `SharedWords` learns."""
    if not isinstance(value, SharedWords):
        checker.refuse(where, f"is of type {type(value).__name__}, but must be SharedWords")
    checker.check(
        rules.record(
            pairs=rules.sequence(rules.sequence(rules.text(), 2)),
            lengths=rules.by_view(rules.real(0.0), some=True),
            languages=rules.mapping(rules.or_none(rules.text())),
            buckets=rules.integers("words", below=BUCKETS, rising=True),
            frequency=rules.integers("words", below=value.n_rows + 1),
            n_rows=rules.count(),
        ),
        vars(value),
        where,
    )


def _check_index(checker: rules.Checker, value: Any, where: str) -> None:
    """Vectors of the index are those that queries become; words are weighed in the views that have any."""
    if not isinstance(value, ObjectIndex):
        checker.refuse(where, f"is of type {type(value).__name__}, but must be an index of objects")
    checker.check(rules.by_view(rules.anything()), value.views, f"{where}.views")
    for view, part in value.views.items():
        checker.size("dimensions", part.vectors.shape[1], f"the vectors of {view!r} in {where}")


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
    lexical : float, default=0.6
        Share of the score, from 0 to 1, that is BM25 of shared words: of the raw texts, where the model starts with
        `TextViews`, else of features with the same name. It counts for views that have words in common.
    C : float, default=10.0
        Inverse strength of the penalty of the logistic regressions.
    index : {"exact", "hnsw"}, default="exact"
        Look at every object, or through an HNSW graph (usearch, ``pip install "coview[ann]"``), which finds most of the
        best. Several threads build the graph in no fixed order, so that two fits may miss different objects; scores are
        exact in both. It is not part of a model file: a loaded retriever looks at every object until `index_.prepare()`
        builds it again. Where shared words count, every object is looked at.

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
    words_ : SharedWords
        What BM25 knows of the training objects: frequencies of the (hashed) words, mean lengths of the views, and which
        views have words in common.
    <shared: fitted views>

    Notes
    -----
    Any number of threads may search at a time. `add`, `remove` and `clear` change the index in place and are not to run
    beside a search: hold a lock around them, or change a copy of the retriever and search that one from then on.

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
        "models_": rules.sequence(rules.estimator(), "models", low=1),
        "means_": rules.by_view(rules.custom(_check_means)),
        "classes_": rules.optional(rules.labels("dimensions"), needed=_is_semantic),
        "classifiers_": rules.optional(
            rules.by_view(
                rules.sequence(rules.or_none(rules.estimator(codes="dimensions", methods=["predict_proba"])), "models")
            ),
            needed=_is_semantic,
        ),
        "words_": rules.custom(_check_words),
        "index_": rules.custom(_check_index),
    }
    _parameters = {
        "model": ESTIMATOR | TEXTS | NONE,
        "space": one_of("topic", "semantic"),
        "lexical": number(most=1),
        "C": number(above=0),
        "index": one_of("exact", "hnsw"),
    }

    def __init__(
        self,
        model: Any = None,
        space: str = "topic",
        *,
        lexical: float = 0.6,
        C: float = 10.0,
        index: str = "exact",
    ) -> None:
        self.model = model
        self.space = space
        self.lexical = lexical
        self.C = C
        self.index = index

    # -- learning and indexing

    def fit(self, X: Any, y: Any = None) -> CrossModalRetriever:
        """Fit the models on X and index its objects."""
        models = self.model if isinstance(self.model, (list, tuple)) else [self.model]
        parts = [_split_front(clone(model)) if model is not None else (None, None) for model in models]
        if not parts:
            raise ValueError("model is an empty list. Pass at least one model, or None.")
        # all models embed the same views, which one step makes for them
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
        models = [_make_default_model(views) if model is None else model for _, model in parts]
        self.models_ = [model.fit(views, y) for model in models]
        for name in _CACHED:
            self.__dict__.pop(name, None)
        vectors = self._learn_space(views, y)
        texts = self._reader.raw_texts(X) if self.lexical else {}
        # function words would make any two texts of a language alike
        languages = {name: detect_language(values) for name, values in texts.items()}
        short = self._reader.short_views
        counts = count_words(views, texts, views.feature_names, languages, short) if self.lexical else {}
        self.words_ = SharedWords.learn(counts, languages)
        self.clear()
        # the vectors are at hand from learning the means: a second pass over the objects would double the time of a fit
        self._index_objects(views, views.ids, vectors, counts, self._training_codes(len(views)))
        self.index_.prepare()
        return self

    def clear(self) -> CrossModalRetriever:
        """Remove all objects from the index; the models stay fitted."""
        check_is_fitted(self, "means_")
        self.index_ = ObjectIndex(dict.fromkeys(self.means_, self._width()), self.index)
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
        return self.index_.ids if view is None else self.index_.ids[self.index_.views[self._check_view(view)].rows]

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
            structure=Structure(topics=first.structure.topics, retriever=self),
            preparation=Preparation(
                self,
                first.views,
                first.preparation.inputs if self.front_ is None else self._reader.inputs,
                self.front_,
            ),
            _features=first._features,
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
        # single precision, as the vectors of the index: half of the memory that a search goes through
        positions, scores = self.index_.search(vectors, asked.words, self.lexical, asked.target, k)
        return self._hits(positions, scores, asked.ignored).without(asked.unknown)

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
        vector, words = np.zeros(self._width()), sparse.csr_array((1, BUCKETS), dtype=np.float32)
        for name, row in self.index_.rows_of(hit).items():
            part = self.index_.views[name]
            vector = vector + part.vectors[row]
            if part.words is not None:  # a view with many words is not to drown the others
                own = part.words[[row]]
                words = words + own.sign() / np.sqrt(max(float(own.sum()), 1e-12))
        # without views that share words, BM25 would compare the words of a view with themselves
        weights = sparse.csr_array(words) if self.words_.pairs else None
        vectors = _scale_to_unit(vector[None]).astype(np.float32)
        found = self.index_.search(vectors, weights, self.lexical, None, k, without=self.index_.position(hit))
        return self._hits(*found)

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
        scores = self.index_.scores(vectors, asked.words, self.lexical, asked.target)
        if ids is None:
            return scores
        view, index = asked.target, self.index_
        # columns of one view are the objects that have it, not all of them
        return scores[:, [index.position(name) if view is None else index.rows_of(name, view)[view] for name in ids]]

    def explain(self, query: Any, hit: Any, source: str | None = None, target: str | None = None) -> Match:
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

        Returns
        -------
        Match
            ``score`` and ``contributions`` by name, which sum to it; none of an object without views.
        """
        check_is_fitted(self, "means_")
        asked = self._read_query(query, source, target)
        views, target = asked.views, asked.target
        if len(views) != 1:
            raise ValueError(f"explain takes one query, got {len(views)}.")
        rows = self.index_.rows_of(hit, target)
        if not rows:
            return Match(0.0)
        # the mean over the views of the object, as in `ObjectIndex.scores`
        vector = np.mean([self.index_.views[name].vectors[row] for name, row in rows.items()], axis=0)
        share = 0.0 if asked.words is None else self.lexical
        # a product of vectors is a sum over dimensions: each is a contribution
        parts = (1 - share) * self._vectors(views)[0] * vector
        named = dict(zip(self._dimension_names(), parts.tolist()))
        if asked.words is not None:
            word_of = spell_words(views, asked.texts, {} if target is None else self._reader.feature_names)
            for bucket, value in self.index_.explain_words(asked.words, hit, target):
                name = f"word {word_of.get(bucket, '?')}"
                named[name] = named.get(name, 0.0) + share * value
        # so that what is shown first is what decided
        ranked = dict(sorted(named.items(), key=lambda part: -part[1]))
        return Match(float(sum(ranked.values())), ranked)

    def explain_words(
        self, text: str, ids: Sequence[Any], source: str | None = None, target: str | None = None
    ) -> list[dict[str, float]]:
        """Explain how much the score of indexed objects falls when a word of a text is left out, whatever the model.

        Parameters
        ----------
        text : str
            What was searched with.
        ids : sequence of identifiers
            The objects that were found.
        source : str, optional
            View of the query.
        target : str, optional
            View that was searched in.

        Returns
        -------
        list of dict
            For each object, what each of the first 16 words of the text is worth, largest first. Words that change
            nothing are left out, and where words count themselves (`lexical`) those that raise the score only because
            the model takes them for related: the object does not have them.
        """
        words = split_words(text)
        scores = [self._scores_if_known(text, source, target, ids)]
        # each word costs a search
        each = list(dict.fromkeys(words))[:16]
        for left_out in each:
            rest = " ".join(word for word in words if word != left_out)
            scores.append(self._scores_if_known(rest, source, target, ids))
        # leaving a word out works for any model, though not for words that only count together
        drops = scores[0] - np.array(scores[1:]).reshape(len(each), len(ids))
        worth = [{word: float(drop) for word, drop in zip(each, column) if abs(drop) > 1e-6} for column in drops.T]
        has = [self._shared_words(text, hit, source, target) if row else set() for hit, row in zip(ids, worth)]
        return [
            {
                word: drop
                for word, drop in sorted(row.items(), key=lambda part: -part[1])
                # a typed word is there if a part of it is, such as "mails" of "e-mails"
                if drop < 0 or words is None or any(part in word.lower() for part in words)
            }
            for row, words in zip(worth, has)
        ]

    def _shared_words(self, text: str, hit: Any, source: str | None, target: str | None) -> set[str] | None:
        """Words of a query that an object has; None where the index holds no words."""
        if self._read_query(text, source, target).words is None:
            return None
        parts = self.explain(text, hit, source, target).contributions
        return {name.removeprefix("word ").lower() for name in parts if name.startswith("word ")}

    def _scores_if_known(self, text: str, source: str | None, target: str | None, ids: Sequence[Any]) -> np.ndarray:
        try:
            return self.similarities([text], source, target, ids=ids)[0]
        except ViewsError:  # nothing in it is known, so that there is no query
            return np.zeros(len(ids), dtype=np.float32)

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
        topical = [model for model in self._inspections if _get_profiles(model, target) is not None]
        if not topical:
            name = self._inspections[0].name
            raise TypeError(f"{name} has no topics to take tags from. Use a topic model, such as CoPLSA or LinkPLSA.")
        # p(feature | query) = sum over topics of p(feature | topic) p(topic | query)
        shares = self._expected(views, target)
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        names = topical[0].feature_names(target)
        rng = np.random.default_rng(base_seed(random_state))
        n = min(n, shares.shape[1])
        chosen = [
            np.argsort(-row, kind="stable")[:n]
            if how == "ranked"
            # without replacement there cannot be more tags than features of some probability
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
            np.asarray(model.memberships(here)) if self._has_classes(model) else _find_position(model, here, name)
            for model in self._inspections
        ]

    def _has_classes(self, model: Inspection) -> bool:
        """Tell whether a model gives class probabilities itself, and these are what is compared."""
        return self.space == "semantic" and model.kind == "class" and model.structure.probabilities

    def _learn_space(self, views: Views, y: Any) -> dict[str, np.ndarray]:
        """Learn classes and means from the training objects; return their vectors by view."""
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
        # classes of a model are used as they are: a regression on probabilities would only blur them
        own = [self._has_classes(model) for model in self._inspections]
        if all(own):
            self.classes_ = self._inspections[0].estimator.classes_
            self.classifiers_ = {name: [None] * len(own) for name in positions}
            return
        codes, self.classes_ = encode_labels(y, len(views))
        self.classifiers_ = {}
        for name, parts in positions.items():
            labels = codes[self._rows_with(views, name)]
            self.classifiers_[name] = [
                None if has else fit_classifier(name, rows, labels, self.C) for has, rows in zip(own, parts)
            ]

    def _to_space(self, name: str, positions: list[np.ndarray]) -> list[np.ndarray]:
        """Positions as they are, or the mean class probabilities of all models."""
        if self.space != "semantic":
            return positions
        n_classes = len(self.classes_)
        found = [
            rows if classifier is None else compute_class_probabilities(classifier, rows, n_classes)
            for classifier, rows in zip(self.classifiers_[name], positions)
        ]
        # classes are the same in all models, so that their probabilities can be averaged; positions cannot
        return [np.mean(found, axis=0)]

    def _normalized(self, name: str, parts: list[np.ndarray]) -> np.ndarray:
        """Vectors to be compared: centered parts of length 1, side by side, so that products are means of products."""
        pieces = []
        for part, mean in zip(parts, self.means_[name]):
            apart = part - mean
            # what rounding leaves of nothing is no direction
            apart[np.abs(apart).max(axis=1, initial=0.0) < 1e-12] = 0
            pieces.append(_scale_to_unit(apart) / np.sqrt(len(parts)))
        return np.hstack(pieces)

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
            # rows that lack the view stay zero and have no say in the sum
            whole = np.zeros((len(views), self._width()))
            whole[self._rows_with(views, name)] = self._embed_by(views, name)
            by_view.append(whole)
        return by_view[0] if len(by_view) == 1 else _scale_to_unit(np.sum(by_view, axis=0))

    def _expected(self, views: Views, target: str) -> np.ndarray:
        """Expected features of a view given each object's topics: the mean over its views and the topic models."""
        total: Any = 0.0
        for name in views.names:
            rows = self._rows_with(views, name)
            for model in self._inspections if len(rows) else []:
                topics = _get_profiles(model, target)
                if topics is not None:
                    whole = np.zeros((len(views), topics.shape[1]))
                    whole[rows] = np.asarray(model.memberships(views[rows].select(name))) @ topics
                    total = total + whole
        return total

    # -- objects in

    def _count_words(
        self, views: Views, texts: Mapping[str, list[str]], known: np.ndarray | None = None
    ) -> dict[str, Any]:
        """Words of new objects and, by those that are `known`, of queries, as of the training objects."""
        if not self.words_.lengths:
            return {}
        names, languages = self._reader.feature_names, self.words_.languages
        return count_words(views, texts, names, languages, self._reader.short_views, known)

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
        # groups are those of all views of an object together
        placed = {name: (rows[name], vectors[name]) for name in vectors}
        if codes is None and self._sorter is not None:
            codes = read_groups(self._sorter, views).codes
        groups = None if codes is None else np.where(views.present.any(axis=1), codes, -1)
        self.index_.add(ids, len(views), placed, words, groups)

    def _training_codes(self, n_objects: int) -> np.ndarray | None:
        """Positions of the training objects' groups, where the model that sorts was fitted here and keeps them."""
        # a frozen model was fitted elsewhere: its labels are those of other objects
        if self._sorter is None or isinstance(last_step(self._sorter.preparation.model), FrozenEstimator):
            return None
        codes = read_training(self._sorter).codes
        return codes if codes is not None and len(codes) == n_objects else None

    # -- objects out

    def _hits(self, positions: np.ndarray, scores: np.ndarray, ignored: list[list[str]] | None = None) -> Hits:
        """Hits with identifiers and groups, by positions in the index."""
        groups = names = None
        if self._sorter is not None:
            known = np.array([*self._sorter.group_names, None], dtype=object)  # -1 is the last
            groups = self.index_.groups[positions]
            groups = np.where(groups < len(known) - 1, groups, -1)  # a file may tell of groups that the model lacks
            names = known[groups]
        return Hits(self.index_.ids[positions], scores, groups, names, ignored or [])

    def _dimension_names(self) -> list[str]:
        """Names of the dimensions that are compared: classes, or topics by what they are about."""
        if self.space == "semantic":
            return [f"class {name}" for name in self.classes_]
        labels = []
        view, means = next(iter(self.means_.items()))
        for i, (model, mean) in enumerate(zip(self._inspections, means)):
            which = f"model {i} " if len(self.models_) > 1 else ""
            if _get_profiles(model, view) is None:
                labels += [f"{which}component {k}" for k in range(len(mean))]
                continue
            named = enumerate(model.group_names)
            labels += [f"{which}topic {k}" + (f" ({name})" if name != f"topic {k}" else "") for k, name in named]
        return labels

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
        words, held = None, np.zeros(BUCKETS, dtype=bool)
        if self.words_.count_in(views.names, target):
            held = self.index_.known_words(target)
            if anywhere:  # texts that all views read have no language of their own
                counts = count_words(views, texts, {}, {}, texts if self._reader.short_views else (), held)
            else:
                counts = self._count_words(views, texts, held)
            words = weigh_query(sum(counts.values(), sparse.csr_array((len(views), BUCKETS))))
        unknown = self._check_known(query, views, words, held)
        ignored = [
            self._reader.ignored(text, views.names, lambda parts: bool(held[hash_words(parts)].any()))
            for text in (next(iter(texts.values()), []) if is_text(query) else [])
        ]
        return ReadQuery(views, texts, target, words, ignored, unknown)

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
        self, query: Any, views: Views, words: sparse.csr_array | None, held: np.ndarray
    ) -> np.ndarray | None:
        """Return the rows of a table of which nothing is known, neither to its views nor to the objects (`held`).

        Texts and images of which nothing is known are refused, and so is a table of such rows alone; matrices and views
        are taken as they are.
        """
        if not is_raw(query) and (isinstance(query, Views) or self.front_ is None or not is_table(query)):
            return None
        filled = [np.asarray(abs(part).sum(axis=1)).ravel() > 0 for part in views.values()]
        known = np.any(filled if is_raw(query) else list(objects_by_view(views).values()), axis=0)
        if words is not None:
            known |= words @ held.astype(np.float32) > 0
        unknown = np.flatnonzero(~known)
        if unknown.size and (is_raw(query) or unknown.size == len(known)):
            raise make_unknown_error(query, int(unknown[0]), None if len(views.names) > 1 else views.names[0])
        return unknown if unknown.size else None


def _scale_to_unit(rows: np.ndarray) -> np.ndarray:
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


def _make_default_model(views: Views) -> Any:
    """Return CCA, of tf-idf where a view holds counts."""
    counts = [name for name, matrix in views.items() if _is_counts(matrix)]
    cca = MultiViewCCA(random_state=0)
    return make_pipeline(*weigh_counts(views, counts), cca) if counts else cca


def _is_counts(matrix: Any) -> bool:
    """Tell counts from measurements: whole numbers, none of them negative."""
    values = matrix.data if sparse.issparse(matrix) else matrix
    return bool(values.size and values.min() >= 0) and is_whole(matrix)


def _find_position(model: Inspection, views: Views, name: str) -> np.ndarray:
    """Positions of objects by one view: in the space of a projection, or what the model's `transform` gives."""
    position: Any = (
        embed_objects(model, views)
        if model.structure.projections or not can_transform(model)
        else transform_objects(model, views)
    )
    if isinstance(position, (Views, Mapping)):
        position = position[name]
    return np.asarray(position.toarray() if sparse.issparse(position) else position)


def _get_profiles(model: Inspection, view: str) -> np.ndarray | None:
    """Return what topics expect of a view (topics x features) of a model with topics; None for others."""
    features = described_features(model, view) if model.structure.probabilities else None
    return features.expected if features is not None and features.probabilities else None
