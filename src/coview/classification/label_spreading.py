"""Labels spread over graphs of neighbors (Zhou and others 2004), of several views, with few labels.

With A the affinity of the objects (`coview.clustering.view_graphs`: of all views' graphs the sum, or of all views side
by side), D its row sums, S = D^-1/2 A D^-1/2 and Y one row per object, 1 at its label, `hops` times

    F <- (1 - restart) S F + restart Y,      F = Y at first

whose limit solves (I - (1 - restart) S) F = restart Y. The probabilities of an object are its row of F, brought to sum
one; where no label reaches, a row of zeros, they are the shares of the classes among the labels. A labeled object keeps
its label. A new object has the weighted mean of the probabilities of the fitted ones that are near. S is sparse, and
nothing of objects x objects is formed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin

from coview.classification.wrapper import in_type_of
from coview.clustering.view_graphs import NeighborGraphEstimator, added_up
from coview.engines.protocol import few_threads
from coview.inspection import Inspection
from coview.inspection.features import features_of_means, summarize_groups
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import integer, number, one_of
from coview.validation import LabeledScoreMixin, encode_labels, per_view, warn_of_lone_labels

__all__ = ["LabelSpreadingClassifier", "spread"]

CERTAIN = 1e-12  # share of the classes' sizes in what an object without a label is


# -- the formula


def spread(affinity: Any, labels: np.ndarray, hops: int, restart: float) -> np.ndarray:
    """Labels (objects x classes, 0 and 1) after so many hops over a symmetric affinity.

    Examples
    --------
    >>> chain = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> spread(chain, np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]), hops=1, restart=0.25)
    array([[0.25, 0.  ],
           [0.75, 0.  ],
           [0.  , 0.  ]])
    """
    affinity = sparse.csr_array(affinity)
    degree = np.asarray(affinity.sum(axis=1)).ravel()
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros(len(degree)), where=degree > 0)[:, None].astype(labels.dtype)
    found = labels
    for _ in range(hops):
        found = (1 - restart) * root * (affinity @ (root * found)) + restart * labels
    return found


# -- the estimator


@shared_parameters
class LabelSpreadingClassifier(LabeledScoreMixin, ClassifierMixin, NeighborGraphEstimator):
    """Classifies objects with several views from few labels, by spreading these over graphs of neighbors.

    Parameters
    ----------
    n_neighbors : int or None, default=10
        Neighbors of each object in a graph. None is 10 where distances are Euclidean, and half of the mean size of a
        class by cosines, 40 to 90 but at most a fourth of the objects.
    hops : int, default=50
        How far labels are spread.
    restart : float, default=0.1
        Share of the labels that comes back to the labeled objects after each hop, at least 0 and below 1: the larger,
        the more do near labels count. With a restart of 0 and many hops all objects of one island are alike.
    method : {"concatenated", "sum"}, default="concatenated"
        One graph of neighbors by all views side by side, each of the same mean length; or the sum of the views' graphs.
    metric : {"auto", "cosine", "standard", "pareto", "centered"} or {view: metric}, default="auto"
        Metric for neighbors: cosine, or the Euclidean distance of scaled columns (see `ScaledViews`). "auto" is cosine
        for views that are mostly zeros, if they are sparse or never negative, else the scaling that `ScaledViews`
        chooses.
    <shared: view_weights>
    engine : str or engine, default="auto"
        Where neighbors are looked for: "auto", "cpu", "cuda", "reference" or an engine object; "auto" is the processor.

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
        The classes, sorted.
    transduction_ : ndarray (n_objects,)
        Class of each training object: its label, or the likeliest class.
    memberships_ : ndarray (n_objects, n_classes)
        Probability of each class for the training objects; 1 at a given label.
    class_prior_ : ndarray (n_classes,)
        Share of each class among the labels: the answer where no label reaches.
    class_means_ : dict of ndarray (n_classes, n_features of the view)
        Mean of each feature over the objects of a class: what the classes are about. Rows are brought to sum one first,
        but for those of measurements.
    class_frequencies_ : dict of ndarray (n_classes, n_features of the view)
        Share of a class's objects that have the feature.
    column_moments_ : dict of ndarray (2, n_features of the view)
        Mean and standard deviation of each column of measurements.
    n_unreached_ : int
        Training objects that no label reaches.
    method_ : str
        Method that was fitted: "sum" where objects lack views.
    <shared: view_weights_>
    n_neighbors_ : dict
        Number of neighbors by view.
    joint_neighbors_ : int
        Number of neighbors by all views side by side.
    scalings_ : dict
        How each view's rows are scaled: metric, mean and deviation.
    neighbors_ : dict of matrices
        The training objects of each view that new ones are compared with.
    neighbor_rows_ : dict of ndarray
        Positions of the training objects that have each view.
    joint_scales_ : dict of float
        Factor of each view where the views stand side by side.
    <shared: fitted views>

    See Also
    --------
    NeighborViews : Spreads labels, and features, over links among the objects (``labels=True``).

    Notes
    -----
    Where objects lack views the graphs of the views are added up, whatever `method` is: such an object has the edges of
    the views that it has. Time goes into neighbors, objects^2 x features, in pieces:
    for some thousands of objects. Fewer dimensions are quicker and mostly better: put a `TruncatedSVD` of each view
    (`EachView`) in front.

    References
    ----------
    D. Zhou, O. Bousquet, T. Lal, J. Weston, B. Schölkopf: Learning with local and global consistency. NIPS 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import LabelSpreadingClassifier
    >>> from coview.datasets import make_blobs_views
    >>> data = make_blobs_views(n_objects=90, n_clusters=3, random_state=0)
    >>> y = np.where(np.arange(90) < 9, data.target, -1)
    >>> model = LabelSpreadingClassifier().fit(data.views, y)
    >>> bool(np.mean(model.transduction_ == data.target) > 0.9)
    True
    >>> model.n_unreached_
    0
    """

    _fitted_state = {
        "classes_": rules.labels("classes"),
        "class_prior_": rules.shares("classes"),
        "transduction_": rules.values("objects"),
        "memberships_": rules.shares("objects", "classes"),
        "class_means_": rules.by_view(rules.floats("classes", "features of {view}")),
        "class_frequencies_": rules.by_view(rules.floats("classes", "features of {view}")),
        "column_moments_": rules.by_view(rules.floats(2, "features of {view}"), some=True),
        "n_unreached_": rules.count(),
        "method_": rules.choice("concatenated", "sum"),
        "view_weights_": rules.by_view(rules.weight()),
    }
    _parameters = {"hops": integer(most=100_000), "restart": number(below=1), "method": one_of("concatenated", "sum")}

    def __init__(
        self,
        n_neighbors: int | None = 10,
        *,
        hops: int = 50,
        restart: float = 0.1,
        method: str = "concatenated",
        metric: Any = "auto",
        view_weights: Any = None,
        engine: Any = "auto",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.hops = hops
        self.restart = restart
        self.method = method
        self.metric = metric
        self.view_weights = view_weights
        self.engine = engine

    def fit(self, X: Any, y: Any) -> LabelSpreadingClassifier:
        """Join the objects to their neighbors, and spread the labels.

        Parameters
        ----------
        X : Views or what becomes Views
            Training objects, labeled and unlabeled.
        y : array-like
            Their labels; -1, None or NaN for unlabeled objects.
        """
        views = self._fit_views(X)
        codes, self.classes_ = encode_labels(y, len(views))
        warn_of_lone_labels(codes, self.classes_)
        weights = per_view("view_weights", self.view_weights, self.view_names_)
        # side by side, those who lack the same view would be near to each other for that
        self.method_ = self.method if views.present.all() else "sum"
        self.view_weights_ = dict(zip(self.view_names_, map(float, weights)))
        n_classes, rows = len(self.classes_), np.flatnonzero(codes >= 0)
        labels = np.zeros((len(views), n_classes))
        labels[rows, codes[rows]] = 1.0
        self.class_prior_ = labels.sum(axis=0) / len(rows)
        with few_threads(len(views), n_classes):
            self._scale(views, weights)
            beside = self.method_ == "concatenated"
            whole = self._concatenated(views)[0] if beside else self._sum(self._graphs(views)[0], weights)
            found = spread(whole, labels, self.hops, float(self.restart))
        found[rows] = labels[rows]
        self.n_unreached_ = int((found.sum(axis=1) <= 0).sum())
        self.memberships_ = self._shares(found)
        guessed = np.flatnonzero(codes < 0)  # only a label that was given is certain
        self.memberships_[guessed] += CERTAIN * (self.class_prior_ - self.memberships_[guessed])
        own = self.memberships_.argmax(axis=1)
        self.transduction_ = self.classes_[own]
        self.class_means_, self.class_frequencies_, self.column_moments_ = summarize_groups(views, own, n_classes)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class of each object from some or all of the fitted views."""
        probabilities = self.predict_proba(X)  # first: it says when the model is not fitted
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute class probabilities from some or all of the fitted views: those of the nearest training objects."""
        views = self._new_views(X)
        if self.method_ == "concatenated":
            found = self._by_all(views, self.memberships_)
        else:
            found = added_up(self._edges(*self._scaled(views)), self.view_weights_, self.memberships_)
        return in_type_of(views, self._shares(found))

    # -- pieces

    def _inspect(self) -> Inspection:
        """Answer `inspect`: graphs say nothing of features, so the means of a class's objects do."""
        answer = super()._inspect()
        return replace(
            answer,
            training=replace(answer.training, memberships=self.memberships_),
            _view_weights=dict(self.view_weights_),
            _features=lambda view: features_of_means(
                self.class_means_[view], self.class_frequencies_[view], self.column_moments_.get(view), "class"
            ),
        )

    def _n_groups(self) -> int:
        return len(self.classes_)

    def _shares(self, found: np.ndarray) -> np.ndarray:
        """Rows that sum to one; the shares of the classes where nothing was found."""
        total = found.sum(axis=1, keepdims=True)
        return np.where(total > 0, found / np.where(total > 0, total, 1.0), self.class_prior_)
