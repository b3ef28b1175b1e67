"""Dual PLSA: topics of features and clusters of objects kept apart, in one view; several views are one side by side.

    p(f | d) = sum_z p(z|d) sum_y p(y|z) p(f|y)

Multi-view PLSA with one view is the same model; with several, dual PLSA has one set of topics for all of them.
"""

from __future__ import annotations

from coview.plsa.multiview import MultiViewPLSA, MultiViewPLSAClassifier
from coview.utils.docs import shared_parameters

__all__ = ["DualPLSA", "DualPLSAClassifier"]


@shared_parameters
class DualPLSA(MultiViewPLSA):
    """Cluster the objects of one view, topics and clusters apart; several views are taken side by side.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_components : int, default=32
        Number of topics, shared by all views. Topics are cheap: a sweep costs non-zeros x clusters, however many.
    <shared: view_weights>
    max_iter : int, default=150
        Largest number of sweeps over the data.
    <shared: tol>
    n_init : int, default=1
        Number of starts, each from its own consensus clustering; the one with the highest objective is kept.
    init : {"consensus", "random"} or dict, default="consensus"
        Initial memberships: random, or the most likely, after a few sweeps, of several clusterings, most of them a
        consensus of one k-means per view. A dict holds any of ``memberships``, ``topic_feature``, ``cluster_topic``
        (``{view: array}``, or one array where there is one view) in the shapes of the fitted attributes; memberships
        that it lacks start from the consensus, everything else at random.
    <shared: schedule>
    <shared: acceleration, engine, n_jobs, learning_decay, learning_offset>
    <shared: time_budget, random_state, verbose, callbacks, checkpoint>

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Most likely cluster of each training object.
    memberships_ : ndarray (n_objects, n_clusters)
        ``p(cluster | object)`` of the training objects.
    cluster_topic_ : dict of ndarray (n_clusters, n_components)
        ``p(topic | cluster, view)`` by view, the same for all of them.
    <shared: topic_feature_>
    topic_view_ : ndarray (n_components, n_views)
        ``p(view | topic)``: how much of each topic lies in each view.
    <shared: view_weights_>
    <shared: history_>

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


@shared_parameters
class DualPLSAClassifier(MultiViewPLSAClassifier):
    """Classify the objects of one view from few labels; several views are taken side by side.

    Parameters
    ----------
    n_components : int, default=32
        Number of topics, shared by all views. Topics are cheap: a sweep costs non-zeros x classes, however many.
    <shared: view_weights>
    max_iter : int, default=150
        Largest number of sweeps over the data.
    <shared: tol>
    n_init : int, default=1
        Number of starts; the one with the highest objective is kept.
    init : {"naive_bayes", "random"} or dict, default="naive_bayes"
        Initial memberships of unlabeled objects: the mean of one naive Bayes posterior per view, after two rounds of
        co-EM, or random. A dict holds any of ``memberships``, ``topic_feature``, ``cluster_topic`` in the shapes of the
        fitted attributes.
    <shared: schedule>
    <shared: acceleration, engine, n_jobs, learning_decay, learning_offset>
    <shared: time_budget, random_state, verbose, callbacks, checkpoint>

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    transduction_ : ndarray (n_objects,)
        Class of each training object: its label, or the inferred one.
    memberships_ : ndarray (n_objects, n_classes)
        ``p(class | object)`` of the training objects.
    cluster_topic_ : dict of ndarray (n_classes, n_components)
        ``p(topic | class, view)`` by view, the same for all of them.
    <shared: topic_feature_>
    topic_view_ : ndarray (n_components, n_views)
        ``p(view | topic)``: how much of each topic lies in each view.
    <shared: view_weights_>
    <shared: history_>

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
