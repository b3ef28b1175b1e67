"""CCA, then k-means (Chaudhuri, Kakade, Livescu and Sridharan 2009): cluster where the views correlate.

What two views have in common, given that they are independent otherwise, is the cluster: so the directions in which
they correlate most, about as many as clusters, tell the clusters apart, and what only one view sees is left out. The
space is that of `coview.decomposition.cca`: regularized, any number of views, sparse matrices stay sparse.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator
from coview.clustering.spectral import nearest_center
from coview.decomposition.cca import COMMON_SPACE, CommonSpace, MultiViewCCA, learn_common_space
from coview.engines.protocol import few_threads
from coview.exceptions import ViewsError
from coview.inspection import Features, Inspection, Structure, near_centers
from coview.utils import fitted_state as rules
from coview.utils.docs import parameters_of
from coview.utils.parameters import NONE, integer, number, one_of, one_or_by_view
from coview.validation import base_seed, check_enough_objects, per_view
from coview.views.arrays import unit_rows
from coview.views.views import Views

__all__ = ["CCAClustering"]


@parameters_of(MultiViewCCA)
class CCAClustering(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, MultiViewEstimator):
    """k-means in the space of regularized canonical correlation analysis of all views.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_components : int or None, default=None
        Dimensions of the common space; None is `n_clusters`.
    regularization : float or {view: float}, default=0.01
        Ridge of each view, as a share of its total variance; more of it trusts strong directions more.
    power : float, default=1.0
        Components are multiplied by their correlation to this power: those that the views agree on count more.
    normalize : {None, "rows", "both"}, default="both"
        Scale objects to length 1: each row of each view at first ("rows"), and its projection into the common space
        too ("both"), so that only directions matter.
    <same: rank>
    n_init : int, default=10
        Number of starts of k-means.
    <same: random_state>

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Cluster of each training object.
    cluster_centers_ : ndarray (n_clusters, n_components)
        Centers in the common space.
    <same: projections_, offsets_, correlations_>
    <shared: fitted views>

    See Also
    --------
    MultiViewCCA : the space alone.

    Notes
    -----
    An object stands at the mean of its projections by the views that it has, so that new objects can be given by any of
    the fitted views; one without any is in the middle. Correlations are those of the objects that have both views;
    clusters all of whose objects lack one take no part in them and may be found together. With a single view the
    strongest directions are taken: k-means after a singular value decomposition.

    References
    ----------
    K. Chaudhuri, S. M. Kakade, K. Livescu, K. Sridharan: Multi-view clustering via canonical correlation analysis. ICML
    2009.

    Examples
    --------
    >>> from coview import CCAClustering
    >>> from coview.datasets import make_topic_views
    >>> from coview.metrics import normalized_mutual_info
    >>> corpus = make_topic_views(n_objects=200, n_clusters=3, random_state=0)
    >>> model = CCAClustering(3, random_state=0).fit(corpus.views)
    >>> bool(normalized_mutual_info(corpus.target, model.labels_) > 0.9)
    True
    >>> model.predict(corpus.views.select("view0")).shape
    (200,)
    """

    _models_counts = False
    _group_rows = ("cluster_centers_",)
    projections_: dict[str, np.ndarray]
    offsets_: dict[str, np.ndarray]
    correlations_: np.ndarray
    cluster_centers_: np.ndarray
    _fitted_state = {
        **COMMON_SPACE,
        "cluster_centers_": rules.floats("clusters", "components"),
        "labels_": rules.integers("objects", below="clusters"),
    }

    _parameters = {
        "n_components": integer() | NONE,
        "regularization": one_or_by_view(number()),
        "power": number(),
        "normalize": one_of(None, "rows", "both"),
        "rank": integer() | NONE,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_components: int | None = None,
        regularization: Any = 0.01,
        power: float = 1.0,
        normalize: str | None = "both",
        rank: int | None = None,
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.regularization = regularization
        self.power = power
        self.normalize = normalize
        self.rank = rank
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> CCAClustering:
        """Cluster the objects; y is ignored."""
        n_clusters, n_init = self.n_clusters, self.n_init
        views = self._fit_views(X)
        check_enough_objects(len(views), n_clusters)
        for v, name in enumerate(views.names):
            # its mean and directions would be those of nothing
            if not views.present[:, v].any():
                raise ViewsError(f"No object has view {name!r}, so it cannot be correlated. Drop the view.")
        # length 1 in one dimension is a sign: all objects would be one of two points
        if views.shape[1] == 1 and self.normalize is not None:
            raise ViewsError(
                "X has 1 feature(s), and only its sign remains when rows are scaled to unit length.",
                use={"normalize": None},
            )
        # Chaudhuri et al. take one direction less than clusters; one more does no harm, as weak ones count by their
        # correlation
        n_components = n_clusters if self.n_components is None else self.n_components
        seed = base_seed(self.random_state)
        # one share per view: a view of few objects and many features correlates with anything by chance
        ridge = per_view("regularization", self.regularization, views.names, default=0.01)
        scaled = self._scaled(views)
        # on small matrices threads cost more than they gain
        with few_threads(len(views), n_clusters):
            space = learn_common_space(scaled, n_components, ridge=ridge, power=self.power, rank=self.rank, seed=seed)
            self.projections_, self.offsets_, self.correlations_ = space.projections, space.offsets, space.correlations
            embedding = self._embed(space, scaled)
            clusterer = KMeans(n_clusters, n_init=n_init, random_state=seed).fit(embedding)
        self.labels_ = clusterer.labels_.astype(np.int64)
        self.cluster_centers_ = clusterer.cluster_centers_
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the cluster of each object from some or all of the fitted views."""
        return nearest_center(self._positions(X).astype(np.float64), self.cluster_centers_.astype(np.float64))

    def transform(self, X: Any) -> np.ndarray:
        """Project objects into the common space (n_objects, n_components), from some or all of the fitted views."""
        return self._positions(X)

    def _inspect(self) -> Inspection:
        """Answer `inspect`: a cluster's features are those that place objects near its center."""
        answer = super()._inspect()
        return replace(
            answer,
            training=replace(answer.training, history={"correlations": self.correlations_}),
            structure=Structure(projections=dict(self.projections_)),
            _features=lambda view: Features(self.cluster_centers_ @ self.projections_[view].T, False, "center"),
            _memberships=lambda X: near_centers(cdist(self._positions(X), self.cluster_centers_)),
        )

    # -- pieces

    @property
    def _n_features_out(self) -> int:
        return len(self.correlations_)

    def _positions(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "cluster_centers_")
        space = CommonSpace(self.projections_, self.offsets_, self.correlations_)
        return self._embed(space, self._scaled(self._new_views(X)))

    def _scaled(self, views: Views) -> Views:
        return views if self.normalize is None else views.map(unit_rows)

    def _embed(self, space: CommonSpace, views: Views) -> np.ndarray:
        positions = space.project(views)
        # objects that lack views stand nearer to the middle, as means do; by direction they are comparable
        return unit_rows(positions) if self.normalize == "both" else positions
