"""Dual PLSA: topics of features and clusters of objects kept apart, in one view; several views are one side by side.

    p(f | d) = sum_z p(z|d) sum_y p(y|z) p(f|y)

Multi-view PLSA with one view is the same model; with several, dual PLSA has one set of topics for all of them.
"""

from __future__ import annotations

from coview.plsa.multiview import MultiViewPLSA, MultiViewPLSAClassifier, topic_rules
from coview.utils import fitted_state as rules
from coview.utils.docs import parameters_of
from coview.utils.parameters import one_of

__all__ = ["DualPLSA", "DualPLSAClassifier"]


_SHARED_TOPICS: dict[str, rules.Rule | None] = {**topic_rules("topics"), "topic_view_": rules.shares("topics", "views")}


@parameters_of(MultiViewPLSA)
class DualPLSA(MultiViewPLSA):
    """Cluster the objects of one view with separate topics and clusters; several views are concatenated.

    Parameters
    ----------
    <same: n_clusters>
    n_components : int, default=32
        Number of topics, shared by all views. Topics are cheap: a sweep costs non-zeros x clusters, however many.
    <same: view_weights, seeds, seed_strength, max_iter, tol, n_init, init>
    likelihood : {"auto", "multinomial"}, default="auto"
        All views are counts here: they share their topics.
    <same: algorithm, engine, n_jobs, learning_decay, random_state, verbose>

    Attributes
    ----------
    <same: labels_, memberships_, group_names_>
    cluster_topic_ : dict of ndarray (n_clusters, n_components)
        ``p(topic | cluster, view)`` by view, the same for all of them.
    <same: topic_feature_>
    topic_view_ : ndarray (n_components, n_views)
        ``p(view | topic)``: how much of each topic lies in each view.
    <same: view_weights_, history_, fit_seconds_, n_iter_, stopped_by_>
    <shared: fitted views>

    Examples
    --------
    >>> from coview import DualPLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.metrics import clustering_accuracy
    >>> data = make_topic_views(n_objects=150, n_views=1, n_clusters=3, random_state=0)
    >>> model = DualPLSA(n_clusters=3, n_components=6, random_state=0).fit(data.views["view0"])
    >>> clustering_accuracy(data.target, model.labels_) > 0.95
    True
    """

    _joint = True
    _takes_vectors = False
    _fitted_state = _SHARED_TOPICS
    _parameters = {"likelihood": one_of("auto", "multinomial")}


@parameters_of(MultiViewPLSAClassifier)
class DualPLSAClassifier(MultiViewPLSAClassifier):
    """Classify the objects of one view from few labels; several views are concatenated.

    Parameters
    ----------
    n_components : int, default=32
        Number of topics, shared by all views. Topics are cheap: a sweep costs non-zeros x classes, however many.
    <same: view_weights, unit_mass, max_iter, tol, n_init, init>
    likelihood : {"auto", "multinomial"}, default="auto"
        All views are counts here: they share their topics.
    <same: algorithm, engine, n_jobs, learning_decay, random_state, verbose>

    Attributes
    ----------
    <same: classes_, transduction_, memberships_>
    cluster_topic_ : dict of ndarray (n_classes, n_components)
        ``p(topic | class, view)`` by view, the same for all of them.
    <same: topic_feature_>
    topic_view_ : ndarray (n_components, n_views)
        ``p(view | topic)``: how much of each topic lies in each view.
    <same: view_weights_, row_masses_, history_, fit_seconds_, n_iter_, stopped_by_>
    <shared: fitted views>

    Examples
    --------
    >>> import numpy as np
    >>> from coview import DualPLSAClassifier
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=150, n_views=1, n_clusters=3, random_state=0)
    >>> y = np.where(np.arange(150) < 9, data.target, -1)
    >>> model = DualPLSAClassifier(n_components=6, random_state=0).fit(data.views["view0"], y)
    >>> bool(np.mean(model.transduction_ == data.target) > 0.95)
    True
    """

    _joint = True
    _takes_vectors = False
    _fitted_state = _SHARED_TOPICS
    _parameters = {"likelihood": one_of("auto", "multinomial")}
