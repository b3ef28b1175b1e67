"""coview: multi-view learning for people who live in scikit-learn.

Everything public is importable from here and loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from coview._version import __version__
from coview.catalog import ESTIMATORS

_MODULES = {
    "coview.assignment.ontology": ("Ontology",),
    "coview.assignment.solvers": ("solve_labels",),
    "coview.model_selection.choice": ("ClusterChoice",),
    "coview.model_selection.compare": ("compare",),
    "coview.model_selection.select": ("select_clusters",),
    "coview.model_selection.table": ("Comparison",),
    "coview.preprocessing.codebook": ("Codebook",),
    "coview.views.coerce": ("as_views",),
    "coview.preprocessing.columns": ("ColumnViews",),
    "coview.preprocessing.each_view": ("EachView",),
    "coview.io.views_files": ("read_views",),
    "coview.preprocessing.images": ("ColorHistogram", "LocalBinaryPatterns", "SiftWords"),
    "coview.views.lazy": ("LazyViews",),
    "coview.preprocessing.neighbors": ("NeighborViews",),
    "coview.io.shards": ("write_shards",),
    "coview.preprocessing.split": ("split_features",),
    "coview.io.tables": ("read_columns",),
    "coview.preprocessing.tables": ("TableViews",),
    "coview.preprocessing.text": ("TextViews",),
    "coview.views.views": ("Views",),
    "coview.preprocessing.weighting": ("LogCounts", "MinDocumentFrequency", "TfidfViews", "UnitRows"),
    "coview.datasets": (
        "load_citeseer",
        "load_cora",
        "load_internet_ads",
        "load_leaves",
        "load_mfeat",
        "load_newsgroups_views",
        "load_pubmed",
        "load_python_packages",
        "load_reuters_multilingual",
        "load_webkb",
        "load_webkb_course",
        "load_wikipedia_linqs",
        "load_wikipedia_retrieval",
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
    "coview.online.readers": ("read_stream",),
    "coview.online.river": ("to_river",),
    "coview.online.stream": ("StreamResult", "evaluate_stream"),
    "coview.engines.checkpoint": ("Checkpoint",),
    "coview.inspection": ("Inspection", "inspect"),
    "coview.io.models": ("load", "save"),
    "coview.plot": (
        "ClusterTopicsDisplay",
        "ObjectMapDisplay",
        "ObjectiveDisplay",
        "OntologyDisplay",
        "RetrievalDisplay",
        "StreamDisplay",
        "TopicsDisplay",
        "ViewAgreementDisplay",
        "ViewConfusionDisplay",
    ),
    "coview.report.report": ("Report", "make_report"),
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
    from coview.assignment.ontology import Ontology as Ontology
    from coview.assignment.seeded_kmeans import SeededKMeansClassifier as SeededKMeansClassifier
    from coview.assignment.solvers import solve_labels as solve_labels
    from coview.classification.best_view import BestView as BestView
    from coview.classification.co_training import CoTrainingClassifier as CoTrainingClassifier
    from coview.classification.concatenated import ConcatenatedViews as ConcatenatedViews
    from coview.classification.naive_bayes import MultiViewNaiveBayes as MultiViewNaiveBayes
    from coview.clustering.cca import CCAClustering as CCAClustering
    from coview.clustering.consensus import ConsensusClustering as ConsensusClustering
    from coview.clustering.spectral import SpectralClusteringViews as SpectralClusteringViews
    from coview.clustering.spherical_kmeans import SphericalKMeans as SphericalKMeans
    from coview.datasets import load_citeseer as load_citeseer
    from coview.datasets import load_cora as load_cora
    from coview.datasets import load_internet_ads as load_internet_ads
    from coview.datasets import load_leaves as load_leaves
    from coview.datasets import load_mfeat as load_mfeat
    from coview.datasets import load_newsgroups_views as load_newsgroups_views
    from coview.datasets import load_pubmed as load_pubmed
    from coview.datasets import load_python_packages as load_python_packages
    from coview.datasets import load_reuters_multilingual as load_reuters_multilingual
    from coview.datasets import load_webkb as load_webkb
    from coview.datasets import load_webkb_course as load_webkb_course
    from coview.datasets import load_wikipedia_linqs as load_wikipedia_linqs
    from coview.datasets import load_wikipedia_retrieval as load_wikipedia_retrieval
    from coview.datasets import make_blobs_views as make_blobs_views
    from coview.datasets import make_topic_views as make_topic_views
    from coview.decomposition.cca import MultiViewCCA as MultiViewCCA
    from coview.engines.checkpoint import Checkpoint as Checkpoint
    from coview.inspection import Inspection as Inspection
    from coview.inspection import inspect as inspect
    from coview.io.models import load as load
    from coview.io.models import save as save
    from coview.io.shards import write_shards as write_shards
    from coview.io.tables import read_columns as read_columns
    from coview.io.views_files import read_views as read_views
    from coview.metrics import average_rank as average_rank
    from coview.metrics import clustering_accuracy as clustering_accuracy
    from coview.metrics import hierarchical_f1 as hierarchical_f1
    from coview.metrics import mean_average_precision as mean_average_precision
    from coview.metrics import normalized_mutual_info as normalized_mutual_info
    from coview.metrics import pairwise_f1 as pairwise_f1
    from coview.metrics import view_agreement as view_agreement
    from coview.metrics import view_imbalance as view_imbalance
    from coview.model_selection.choice import ClusterChoice as ClusterChoice
    from coview.model_selection.compare import compare as compare
    from coview.model_selection.select import select_clusters as select_clusters
    from coview.model_selection.table import Comparison as Comparison
    from coview.online.passive_aggressive import (
        MultiViewPassiveAggressiveClassifier as MultiViewPassiveAggressiveClassifier,
    )
    from coview.online.readers import read_stream as read_stream
    from coview.online.river import to_river as to_river
    from coview.online.stream import StreamResult as StreamResult
    from coview.online.stream import evaluate_stream as evaluate_stream
    from coview.plot import ClusterTopicsDisplay as ClusterTopicsDisplay
    from coview.plot import ObjectiveDisplay as ObjectiveDisplay
    from coview.plot import ObjectMapDisplay as ObjectMapDisplay
    from coview.plot import OntologyDisplay as OntologyDisplay
    from coview.plot import RetrievalDisplay as RetrievalDisplay
    from coview.plot import StreamDisplay as StreamDisplay
    from coview.plot import TopicsDisplay as TopicsDisplay
    from coview.plot import ViewAgreementDisplay as ViewAgreementDisplay
    from coview.plot import ViewConfusionDisplay as ViewConfusionDisplay
    from coview.plsa.co_plsa import CoPLSA as CoPLSA
    from coview.plsa.dual import DualPLSA as DualPLSA
    from coview.plsa.dual import DualPLSAClassifier as DualPLSAClassifier
    from coview.plsa.link import LinkPLSA as LinkPLSA
    from coview.plsa.multiview import MultiViewPLSA as MultiViewPLSA
    from coview.plsa.multiview import MultiViewPLSAClassifier as MultiViewPLSAClassifier
    from coview.plsa.pairwise import PairwiseCoPLSA as PairwiseCoPLSA
    from coview.plsa.plsa import PLSA as PLSA
    from coview.plsa.voting import VotingPLSA as VotingPLSA
    from coview.preprocessing.codebook import Codebook as Codebook
    from coview.preprocessing.columns import ColumnViews as ColumnViews
    from coview.preprocessing.each_view import EachView as EachView
    from coview.preprocessing.images import ColorHistogram as ColorHistogram
    from coview.preprocessing.images import LocalBinaryPatterns as LocalBinaryPatterns
    from coview.preprocessing.images import SiftWords as SiftWords
    from coview.preprocessing.neighbors import NeighborViews as NeighborViews
    from coview.preprocessing.split import split_features as split_features
    from coview.preprocessing.tables import TableViews as TableViews
    from coview.preprocessing.text import TextViews as TextViews
    from coview.preprocessing.weighting import LogCounts as LogCounts
    from coview.preprocessing.weighting import MinDocumentFrequency as MinDocumentFrequency
    from coview.preprocessing.weighting import TfidfViews as TfidfViews
    from coview.preprocessing.weighting import UnitRows as UnitRows
    from coview.report.report import Report as Report
    from coview.report.report import make_report as make_report
    from coview.retrieval.retriever import CrossModalRetriever as CrossModalRetriever
    from coview.retrieval.semantic import SemanticCorrelationMatching as SemanticCorrelationMatching
    from coview.views.coerce import as_views as as_views
    from coview.views.lazy import LazyViews as LazyViews
    from coview.views.views import Views as Views
