"""Multi-view PLSA: every view has topics of its own, all views share each object's cluster memberships.

    p(f | d, v) = sum_z p(z|d) sum_y p(y|z,v) p(f|y,v),     maximize sum_v w_v sum_df x_vdf log p(f | d, v)

Zhuang, Karypis, Ning, He and Shi (2012). See `steps.py` for the updates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from coview.classification.naive_bayes_start import label_start
from coview.plsa.clusters import ClusterModel
from coview.plsa.consensus_start import consensus_start
from coview.validation import LabeledScoreMixin, check_count, check_option, encode_labels, named

__all__ = ["MultiViewPLSA", "MultiViewPLSAClassifier"]


class MultiViewPLSA(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, ClusterModel):
    """Cluster objects that have several views: topics per view, one clustering for all.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_components : int or {view: int}, default=32
        Number of topics of each view. They cost almost nothing: a sweep takes non-zeros x clusters.
    view_weights : None, float or {view: float}, default=None
        How much each view counts; 1 by default.
    max_iter : int, default=150
        Most sweeps over the data.
    tol : float, default=1e-5
        Stop when the log-likelihood changes by less than this, relative to itself; 0 runs exactly `max_iter` sweeps.
    n_init : int, default=1
        Number of starts, each with a consensus of its own; the one that ends highest is kept.
    init : {"consensus", "random"} or dict, default="consensus"
        Where the objects start: at random, or at the likeliest, after a few sweeps, of several clusterings, mostly
        consensuses of one k-means per view. A dict holds any of ``memberships``, ``topic_feature``, ``cluster_topic``
        (``{view: array}``, or one array where there is one view) in the shapes of the fitted attributes; what it lacks
        starts by consensus (objects) or at random.
    schedule : {"alternating", "joint"}, default="alternating"
        Learn topics from fresh memberships, or all from the same expectations (as in the paper).
    acceleration : {None, "squarem"}, default=None
        Extrapolate every second sweep; never lowers the likelihood.
    learning_decay, learning_offset : float, default=0.7 and 10
        `partial_fit` gives minibatch t the weight ``(learning_offset + t) ** -learning_decay``.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the start.
    engine, n_jobs, time_budget, verbose, callbacks, checkpoint
        As in `PLSA`.

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Likeliest cluster of each training object.
    memberships_ : ndarray (n_objects, n_clusters)
        ``p(cluster | object)`` of the training objects.
    cluster_topic_ : dict of ndarray (n_clusters, n_components)
        ``p(topic | cluster, view)`` by view.
    topic_feature_ : dict of ndarray (n_components, n_features of the view)
        ``p(feature | topic, view)`` by view.
    history_ : dict of lists
        "objective" (weighted log-likelihood) and "seconds" after each sweep; entry 0 is the start.

    Examples
    --------
    >>> from coview import MultiViewPLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.metrics import clustering_accuracy
    >>> data = make_topic_views(n_objects=150, n_clusters=3, random_state=0)
    >>> model = MultiViewPLSA(n_clusters=3, n_components=6, random_state=0).fit(data.views)
    >>> clustering_accuracy(data.target, model.labels_) > 0.95
    True
    >>> model.predict(data.views[:5].select("view1")).shape
    (5,)
    """

    _own_start = True

    def __init__(
        self,
        n_clusters: int = 8,
        n_components: Any = 32,
        *,
        view_weights: Any = None,
        max_iter: int = 150,
        tol: float = 1e-5,
        n_init: int = 1,
        init: Any = "consensus",
        schedule: str = "alternating",
        acceleration: str | None = None,
        engine: Any = "auto",
        n_jobs: int | None = None,
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        time_budget: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
        checkpoint: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.view_weights = view_weights
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.schedule = schedule
        self.acceleration = acceleration
        self.engine = engine
        self.n_jobs = n_jobs
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.time_budget = time_budget
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any = None) -> MultiViewPLSA:
        """Cluster the objects of X; y is ignored."""
        self._fit(X, self._enough(self._fit_views(X)))
        self.labels_ = self.memberships_.argmax(axis=1)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> MultiViewPLSA:
        """Learn from one minibatch (online EM); every batch has the views of the first."""
        fitted = hasattr(self, "topic_feature_")
        self._learn_stream(self._new_views(X) if fitted else self._enough(self._fit_views(X)))
        self.labels_ = self.memberships_.argmax(axis=1)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Cluster the objects of X and fold them in; see `memberships_` for where the fit itself left them."""
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> np.ndarray:
        """Cluster memberships of objects, new or old, from some or all of the fitted views; rows sum to one."""
        return self._mixtures(X)

    def predict(self, X: Any) -> np.ndarray:
        """Likeliest cluster of objects, new or old, from some or all of the fitted views."""
        return self._mixtures(X).argmax(axis=1)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood per token (unit of mass), memberships folded in."""
        return self._token_score(X)

    @property
    def _n_features_out(self) -> int:
        return int(self.memberships_.shape[1])

    def _n_columns(self) -> int:
        return check_count("n_clusters", self.n_clusters)

    def _enough(self, views: Any) -> Any:
        if self._n_columns() > len(views):
            raise ValueError(
                f"{type(self).__name__} cannot find n_clusters={self.n_clusters} clusters among n_samples={len(views)} "
                f"objects. Set n_clusters to at most {len(views)}."
            )
        return views

    def _memberships(self, views: Any, seed: int, labels: Any) -> Any:
        if isinstance(self.init, str):
            check_option("init", self.init, ("consensus", "random"))
        return consensus_start(views, self.n_clusters, seed, self.view_weights_, self.n_jobs)


class MultiViewPLSAClassifier(
    LabeledScoreMixin, ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, ClusterModel
):
    """Classify objects that have several views from few labels: labeled objects hold their class, the rest moves.

    Parameters
    ----------
    n_components : int or {view: int}, default=32
        Number of topics of each view. They cost almost nothing: a sweep takes non-zeros x classes.
    view_weights : None, float or {view: float}, default=None
        How much each view counts; 1 by default.
    max_iter : int, default=150
        Most sweeps over the data.
    tol : float, default=1e-5
        Stop when the log-likelihood changes by less than this, relative to itself; 0 runs exactly `max_iter` sweeps.
    n_init : int, default=1
        Number of starts; the one that ends highest is kept.
    init : {"naive_bayes", "random"} or dict, default="naive_bayes"
        Where unlabeled objects start: the mean of one naive Bayes posterior per view, after two rounds in which the
        views teach each other (co-EM), or at random. A dict holds any of ``memberships``, ``topic_feature``,
        ``cluster_topic`` in the shapes of the fitted attributes.
    schedule : {"alternating", "joint"}, default="alternating"
        Learn topics from fresh memberships, or all from the same expectations (as in the paper).
    acceleration : {None, "squarem"}, default=None
        Extrapolate every second sweep; never lowers the likelihood.
    learning_decay, learning_offset : float, default=0.7 and 10
        `partial_fit` gives minibatch t the weight ``(learning_offset + t) ** -learning_decay``.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the start.
    engine, n_jobs, time_budget, verbose, callbacks, checkpoint
        As in `PLSA`.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    transduction_ : ndarray (n_objects,)
        Class of each training object: its own label, or the one found for it.
    memberships_ : ndarray (n_objects, n_classes)
        ``p(class | object)`` of the training objects.
    cluster_topic_, topic_feature_, history_
        As in `MultiViewPLSA`.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import MultiViewPLSAClassifier
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=150, n_clusters=3, random_state=0)
    >>> y = np.full(150, -1)
    >>> y[:6] = data.target[:6]
    >>> model = MultiViewPLSAClassifier(n_components=6, random_state=0).fit(data.views, y)
    >>> bool(np.mean(model.transduction_[6:] == data.target[6:]) > 0.95)
    True
    """

    def __init__(
        self,
        n_components: Any = 32,
        *,
        view_weights: Any = None,
        max_iter: int = 150,
        tol: float = 1e-5,
        n_init: int = 1,
        init: Any = "naive_bayes",
        schedule: str = "alternating",
        acceleration: str | None = None,
        engine: Any = "auto",
        n_jobs: int | None = None,
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        time_budget: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
        checkpoint: Any = None,
    ) -> None:
        self.n_components = n_components
        self.view_weights = view_weights
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.schedule = schedule
        self.acceleration = acceleration
        self.engine = engine
        self.n_jobs = n_jobs
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.time_budget = time_budget
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # proportions of features tell classes apart here, not distances: blobs are no fair test
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any) -> MultiViewPLSAClassifier:
        """Learn from labeled and unlabeled objects; -1, None or NaN in y marks the unlabeled."""
        views = self._fit_views(X)
        codes, self.classes_ = encode_labels(y, len(views))
        self._fit(X, views, {"labels": codes})
        self.transduction_ = named(self.classes_, self.memberships_.argmax(axis=1))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> MultiViewPLSAClassifier:
        """Learn from one minibatch (online EM); -1, None or NaN in y marks the unlabeled.

        The first batch of a new model must name all classes and should hold labeled objects of each; every batch has
        the views of the first.
        """
        first = not hasattr(self, "topic_feature_")
        if first:
            if classes is None:
                raise ValueError("The first call of partial_fit needs classes: all that will ever be seen.")
            views = self._fit_views(X)
            codes, self.classes_ = encode_labels(y, len(views), classes)
        else:
            views = self._new_views(X)
            codes, _ = encode_labels(y, len(views), self.classes_)
        self._learn_stream(views, {"labels": codes})
        self.transduction_ = named(self.classes_, self.memberships_.argmax(axis=1))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Class memberships of objects; the same as `predict_proba`."""
        return self._mixtures(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class memberships of objects, new or old, from some or all of the fitted views; rows sum to one."""
        return self._mixtures(X)

    def predict(self, X: Any) -> np.ndarray:
        """Likeliest class of objects, new or old, from some or all of the fitted views."""
        memberships = self._mixtures(X)
        return named(self.classes_, memberships.argmax(axis=1))

    @property
    def _n_features_out(self) -> int:
        return len(self.classes_)

    def _n_columns(self) -> int:
        return len(self.classes_)

    def _memberships(self, views: Any, seed: int, labels: Any) -> Any:
        if isinstance(self.init, str):
            check_option("init", self.init, ("naive_bayes", "random"))
        return label_start(views, labels, len(self.classes_))
