"""coview: multi-view learning for people who live in scikit-learn.

Everything public is importable from here and loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from coview._version import __version__
from coview.catalog import ESTIMATORS

_MODULES = {
    "coview.data.codebook": ("Codebook",),
    "coview.data.coerce": ("as_views",),
    "coview.data.columns": ("ColumnViews",),
    "coview.data.files": ("read_views",),
    "coview.data.split": ("split_features",),
    "coview.data.text": ("TextViews",),
    "coview.data.views": ("Views",),
    "coview.data.weighting": ("LogCounts", "MinDocumentFrequency", "TfidfViews", "UnitRows"),
    "coview.datasets": (
        "load_citeseer",
        "load_cora",
        "load_newsgroups_views",
        "load_python_packages",
        "load_webkb",
        "make_blobs_views",
        "make_topic_views",
    ),
    "coview.metrics": (
        "average_rank",
        "clustering_accuracy",
        "hierarchical_f1",
        "mean_average_precision",
        "normalized_mutual_info",
        "pairwise_f1",
        "view_agreement",
        "view_imbalance",
    ),
    "coview.persist": ("load", "save"),
}

# public name -> module that it is loaded from
_PUBLIC = {name: module for module, names in _MODULES.items() for name in names}
_PUBLIC.update((entry.name, entry.module) for entry in ESTIMATORS.values())

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'coview' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:  # what type checkers and editors see
    from coview.baselines.best_view import BestView as BestView
    from coview.baselines.co_training import CoTrainingClassifier as CoTrainingClassifier
    from coview.baselines.concatenated import ConcatenatedViews as ConcatenatedViews
    from coview.baselines.consensus import ConsensusClustering as ConsensusClustering
    from coview.baselines.naive_bayes import MultiViewNaiveBayes as MultiViewNaiveBayes
    from coview.data.codebook import Codebook as Codebook
    from coview.data.coerce import as_views as as_views
    from coview.data.columns import ColumnViews as ColumnViews
    from coview.data.files import read_views as read_views
    from coview.data.split import split_features as split_features
    from coview.data.text import TextViews as TextViews
    from coview.data.views import Views as Views
    from coview.data.weighting import LogCounts as LogCounts
    from coview.data.weighting import MinDocumentFrequency as MinDocumentFrequency
    from coview.data.weighting import TfidfViews as TfidfViews
    from coview.data.weighting import UnitRows as UnitRows
    from coview.datasets import load_citeseer as load_citeseer
    from coview.datasets import load_cora as load_cora
    from coview.datasets import load_newsgroups_views as load_newsgroups_views
    from coview.datasets import load_python_packages as load_python_packages
    from coview.datasets import load_webkb as load_webkb
    from coview.datasets import make_blobs_views as make_blobs_views
    from coview.datasets import make_topic_views as make_topic_views
    from coview.metrics import average_rank as average_rank
    from coview.metrics import clustering_accuracy as clustering_accuracy
    from coview.metrics import hierarchical_f1 as hierarchical_f1
    from coview.metrics import mean_average_precision as mean_average_precision
    from coview.metrics import normalized_mutual_info as normalized_mutual_info
    from coview.metrics import pairwise_f1 as pairwise_f1
    from coview.metrics import view_agreement as view_agreement
    from coview.metrics import view_imbalance as view_imbalance
    from coview.persist import load as load
    from coview.persist import save as save
    from coview.plsa.dual import DualPLSA as DualPLSA
    from coview.plsa.dual import DualPLSAClassifier as DualPLSAClassifier
    from coview.plsa.link import LinkPLSA as LinkPLSA
    from coview.plsa.multiview import MultiViewPLSA as MultiViewPLSA
    from coview.plsa.multiview import MultiViewPLSAClassifier as MultiViewPLSAClassifier
    from coview.plsa.plsa import PLSA as PLSA
