"""Dual PLSA: topics of features and clusters of objects kept apart, in one view; several views are one side by side.

    p(f | d) = sum_z p(z|d) sum_y p(y|z) p(f|y)

Multi-view PLSA with one view is the same model; with several, dual PLSA has one set of topics for all of them.
"""

from __future__ import annotations

from coview.plsa.multiview import MultiViewPLSA, MultiViewPLSAClassifier

__all__ = ["DualPLSA", "DualPLSAClassifier"]


class DualPLSA(MultiViewPLSA):
    """Cluster the objects of one view, topics and clusters apart; several views are taken side by side.

    Parameters, attributes and methods are those of `MultiViewPLSA`; ``topic_view_`` (topics x views) says how much of
    each topic lies in each view, and ``cluster_topic_`` is the same for all views.

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


class DualPLSAClassifier(MultiViewPLSAClassifier):
    """Classify the objects of one view from few labels; several views are taken side by side.

    Parameters, attributes and methods are those of `MultiViewPLSAClassifier`; ``topic_view_`` (topics x views) says how
    much of each topic lies in each view, and ``cluster_topic_`` is the same for all views.

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
