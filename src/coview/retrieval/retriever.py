"""Search objects by one view with a query in another: places in a common space, compared by centered correlation.

    score(query, object) = < (p - m_s) / |p - m_s|,  (q - m_t) / |q - m_t| >

p is the query's place by its view s, q the object's by its view t, m the means over the training objects: topic
proportions ("topic" space), or class probabilities that a multinomial logistic regression gives them ("semantic"
space). With `lexical` = w the score is (1 - w) times that, plus w times the cosine of the words that the views share.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from coview.decomposition.cca import MultiViewCCA
from coview.exceptions import ViewsError
from coview.inspection import Inspection, Training, inspect
from coview.retrieval.encode import feature_names, last_step, profiles, split_front
from coview.retrieval.hits import Hits, Match
from coview.retrieval.index import best_of_blocks
from coview.retrieval.places import Places
from coview.retrieval.shared_words import learn_words
from coview.retrieval.shelf import Shelf
from coview.validation import base_seed, check_count, check_option

__all__ = ["CrossModalRetriever"]


class CrossModalRetriever(TransformerMixin, Places):
    """Find objects by one view with queries in another.

    Parameters
    ----------
    model : estimator, list of estimators or None, default=None
        Any estimator that places objects by any one of their views: a topic model (`CoPLSA`, `LinkPLSA`,
        `MultiViewPLSA`, ...), `MultiViewCCA`, `SemanticCorrelationMatching`, or a pipeline that ends in one. A pipeline
        that starts with `TextViews` takes raw tables and raw queries. None is ``MultiViewCCA()``. Of a list of models,
        the mean of their scores counts.
    space : {"topic", "semantic"}, default="topic"
        Compare what the model's `transform` gives (`project` where it has one), or class probabilities: the model's
        own, else those of one logistic regression per view on the places. "semantic" needs `y` in `fit`.
    center : {"mean", "row"}, default="mean"
        What is taken off before correlating: the mean place of the training objects by the same view, or each place's
        own mean over the dimensions.
    lexical : float, default=0.0
        Share of the score, from 0 to 1, that is the cosine of shared words: features of both views with the same name,
        by tf-idf. Worth trying wherever the views share a language.
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
        Mean place of the training objects, by view and model.
    classifiers_ : dict of lists of estimators
        The logistic regression of each view and model, in semantic space; None for a model with classes of its own.
    classes_ : ndarray
        The classes, in semantic space.
    view_names_ : list of str
        Views that can be searched with and searched in.
    shelf_ : Shelf
        The indexed objects.

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
        lexical: float = 0.0,
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
        """Fit the models on X, and index the objects of X."""
        self._check_parameters()
        given = self.model if isinstance(self.model, (list, tuple)) else [self.model]
        parts = [split_front(clone(MultiViewCCA() if model is None else model)) for model in given]
        if not parts:
            raise ValueError("model is an empty list. Give at least one model, or None.")
        if any(front is not None for front, _ in parts[1:]):
            raise ValueError("Of several models only the first may start with TextViews or ColumnViews.")
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
                f"CrossModalRetriever needs at least 2 views, got 1 ({views.names[0]!r}): it finds objects by one view "
                "with a query in another."
            )
        made = [self._repeated(model) for _, model in parts]
        self.models_ = [model.fit(views, y) for models in made for model in models]
        shares = self._weights(len(made))
        self.shares_ = np.repeat([share / len(models) for share, models in zip(shares, made)], list(map(len, made)))
        vectors = self._learn_space(views, y)
        self.words_ = learn_words(views) if self.lexical else None
        self.clear()
        self._shelve(views, views.ids, vectors)
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
        """Take all objects out of the index; what was learned stays."""
        check_is_fitted(self, "means_")
        self.shelf_ = Shelf(
            dict.fromkeys(self.means_, self._width()), "exact" if self.lexical else self.index, self.recall
        )
        return self

    def add(self, X: Any, ids: Any = None) -> CrossModalRetriever:
        """Index objects, each by the views that it has.

        Parameters
        ----------
        X : Views, anything that becomes Views, or a table where the model takes tables
            The objects; some or all of the fitted views.
        ids : array-like, optional
            Identifiers, none of which is in the index. By default those of X, else the next whole numbers.
        """
        check_is_fitted(self, "means_")
        views = self._known_views(X)
        vectors = {name: self._placed(views, name) for name in views.names}
        self._shelve(views, views.ids if ids is None else ids, vectors)
        return self

    def remove(self, ids: Any) -> CrossModalRetriever:
        """Take objects out of the index by their identifiers."""
        check_is_fitted(self, "means_")
        self.shelf_.remove(ids)
        return self

    def indexed_ids(self, view: str | None = None) -> np.ndarray:
        """Identifiers of the indexed objects, or of those that have a view, in the order of `similarities`."""
        check_is_fitted(self, "means_")
        return self.shelf_.ids if view is None else self.shelf_.ids_of(self._known(view))

    def _inspect(self) -> Inspection:
        """Answer `inspect`: groups and features are those of the first model; objects are placed by all of them."""
        first = inspect(self.models_[0])
        views = first.inputs if self.front_ is None else self.front_.view_inputs()
        return Inspection(
            self,
            first.kind,
            first.groups,
            first.labels,
            first.views,
            Training(ids=self.shelf_.ids),
            topics=first.topics,
            retriever=self,
            inputs=views,
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
            need a pipeline whose view has a vectorizer of images. A query of several views is placed by all of them.
        source : str, optional
            View of the query, where it is a matrix or raw, or where only one of its views is meant.
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
        vectors, words, target = self._asked(query, source, target)
        shelf = self.shelf_
        if words is None:
            keys, scores = shelf.indexes[target].search(vectors, k)
            return Hits(shelf.ids_by_key(keys), scores)
        rows, scores = best_of_blocks(
            lambda part, start, stop: self._mixed(vectors[part], words[part], target, slice(start, stop)),
            len(vectors),
            len(shelf.indexes[target]),
            k,
        )
        return Hits(shelf.ids_of(target)[rows], scores)

    def similarities(self, query: Any, source: str | None = None, target: str | None = None) -> np.ndarray:
        """Score of every indexed object for each query (queries x objects), in the order of `indexed_ids(target)`."""
        check_is_fitted(self, "means_")
        vectors, words, target = self._asked(query, source, target)
        return self._mixed(vectors, words, target, slice(None))

    def explain(
        self, query: Any, hit: Any, source: str | None = None, target: str | None = None, *, by: str = "dimension"
    ) -> Match:
        """Say which topics (or classes, and shared words) made an indexed object match a query.

        Parameters
        ----------
        query : one query, as in `search`
            What was searched with.
        hit : identifier
            The object that was found.
        source, target : str, optional
            As in `search`.
        by : {"dimension", "feature", "auto"}, default="dimension"
            Name the parts by topics, classes or components, or by the features of the query, which needs places that
            are weighted sums of features: `MultiViewCCA` and its kin in topic space. "auto" names features where it
            can.

        Returns
        -------
        Match
            ``score`` and ``contributions`` by name, which sum to it.
        """
        check_is_fitted(self, "means_")
        check_option("by", by, ("dimension", "feature", "auto"))
        views, target = self._asked_views(query, source, target)
        if len(views) != 1:
            raise ValueError(f"explain takes one query, got {len(views)}.")
        words = self._word_rows(views)
        row = self.shelf_.row_of(hit, target)
        found = self.shelf_.indexes[target].vectors[row]
        rest = 1 - (self.lexical if words is not None else 0)
        by_feature = by != "dimension" and self._names_features(needed=by == "feature")
        if by_feature:
            named = {name: rest * value for name, value in self._feature_parts(views, found).items()}
        else:
            parts = rest * self._vectors(views)[0].astype(np.float32).astype(np.float64) * found
            named = dict(zip(self._labels(target), parts.tolist()))
        if words is not None and self.words_ is not None:
            spelled = {name.lower(): name for name in named} if by_feature else {}
            shared = sparse.csr_array(words.multiply(self.shelf_.words[target][[row]]))
            for column, value in zip(shared.indices, self.lexical * shared.data.astype(np.float64)):
                word = str(self.words_["names"][column])
                name = spelled.get(word, f"word {word}")
                named[name] = named.get(name, 0.0) + float(value)
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
        """Words (features of another view) that go with each query, by its mixture of topics.

        Parameters
        ----------
        query, source, target
            As in `search`; `target` is the view whose features are the tags.
        n : int, default=10
            Number of tags.
        how : {"ranked", "drawn"}, default="ranked"
            The likeliest features, or different ones drawn by their probabilities.
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
        views, target = self._asked_views(query, source, target)
        modeled = [model for model in self.models_ if profiles(model, target) is not None]
        if not modeled:
            name = type(last_step(self.model_)).__name__
            raise TypeError(f"{name} has no topics to take tags from. Use a topic model, such as CoPLSA or LinkPLSA.")
        shares = self._expected(views, target)
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        names = feature_names(modeled[0], target, shares.shape[1])
        rng = np.random.default_rng(base_seed(random_state))
        n = min(n, shares.shape[1])
        chosen = [
            np.argsort(-row, kind="stable")[:n]
            if how == "ranked"
            else rng.choice(len(row), min(n, int(np.count_nonzero(row))), replace=False, p=row)
            for row in shares
        ]
        return [[(str(names[j]), float(row[j])) for j in order] for row, order in zip(shares, chosen)]

    def transform(self, X: Any) -> np.ndarray:
        """Vectors that are compared: centered places of length 1, the mean over the given views that an object has."""
        check_is_fitted(self, "means_")
        views = self._known_views(X)
        narrow = all(matrix.dtype == np.float32 for matrix in views.values())
        return self._vectors(views).astype(np.float32 if narrow else np.float64, copy=False)
