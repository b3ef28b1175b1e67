"""coview: multi-view learning in the style of scikit-learn.

Views, estimators and functions are importable from here; data sets, measures, displays and errors from
`coview.datasets`, `coview.metrics`, `coview.plot` and `coview.exceptions`. Everything is loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from coview._version import __version__
from coview.catalog import ESTIMATORS
from coview.utils.loading import load_member

_MODULES = {
    "coview.assignment.ontology": ("Ontology",),
    "coview.assignment.label_program": ("solve_labels",),
    "coview.model_selection.compare": ("compare",),
    "coview.model_selection.select": ("ClusterChoice", "select_clusters"),
    "coview.model_selection.audit": ("LabelAudit", "audit_labels"),
    "coview.model_selection.suggest": ("LabelSuggestions", "suggest_labels"),
    "coview.model_selection.table": ("Comparison",),
    "coview.views.coerce": ("as_views",),
    "coview.editing.edited": ("edit",),
    "coview.editing.moves": ("Moves",),
    "coview.editing.update": ("Update", "update"),
    "coview.preprocessing.each_view": ("EachView",),
    "coview.preprocessing.embeddings": ("EmbeddingViews",),
    "coview.io.views_folder": ("read_views", "write_views"),
    "coview.preprocessing.images": ("SiftWords",),
    "coview.views.lazy": ("LazyViews",),
    "coview.preprocessing.neighbors": ("NeighborViews",),
    "coview.preprocessing.scaling": ("ScaledViews",),
    "coview.io.tables": ("read_table",),
    "coview.preprocessing.tables": ("TableViews",),
    "coview.preprocessing.text": ("TextViews",),
    "coview.preprocessing.vectorizer": ("TextVectorizer",),
    "coview.views.views": ("Views",),
    "coview.preprocessing.weighting": ("TfidfViews", "UnitRows"),
    "coview.online.readers": ("read_stream",),
    "coview.online.stream": ("StreamResult", "evaluate_stream"),
    "coview.engines.loop": ("TimeBudget",),
    "coview.engines.checkpoint": ("Checkpoint",),
    "coview.engines.cpu": ("CpuEngine",),
    "coview.engines.dask.engine": ("DaskEngine",),
    "coview.inspection": ("Inspection", "inspect"),
    "coview.inspection.naming": ("GroupCard", "name_groups", "set_group_names"),
    "coview.io.models": ("load", "save"),
    "coview.io.mudata": ("to_mudata",),
    "coview.report.report": ("Report", "describe", "make_report"),
}

# rooms that are used as a whole, coview.datasets.make_topic_views
_SUBMODULES = ("datasets", "exceptions", "metrics", "plot")

# public name -> module that it is loaded from
_PUBLIC = {name: module for module, names in _MODULES.items() for name in names}
_PUBLIC.update((entry.name, entry.module) for entry in ESTIMATORS.values())

__all__ = ["__version__", *sorted(_PUBLIC)]

_PUBLIC["CudaEngine"] = "coview.engines.cuda"  # not for import * and help(): it needs torch


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = load_member(_PUBLIC[name], name)
        # so that this function is not called for the name again
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f"coview.{name}")
    raise AttributeError(f"module 'coview' has no attribute {name!r}")


def __dir__() -> list[str]:
    # for help() and completion, which see no lazy names by themselves
    return sorted([*__all__, *_SUBMODULES])


if TYPE_CHECKING:  # what type checkers and editors see
    from coview.assignment.label_program import solve_labels as solve_labels
    from coview.assignment.ontology import Ontology as Ontology
    from coview.assignment.seeded_kmeans import SeededKMeansClassifier as SeededKMeansClassifier
    from coview.auto.classifier import AutoClassifier as AutoClassifier
    from coview.auto.clustering import AutoClustering as AutoClustering
    from coview.classification.best_view import BestView as BestView
    from coview.classification.co_training import CoTrainingClassifier as CoTrainingClassifier
    from coview.classification.concatenated import ConcatenatedViews as ConcatenatedViews
    from coview.classification.label_spreading import LabelSpreadingClassifier as LabelSpreadingClassifier
    from coview.classification.naive_bayes import MultiViewNaiveBayes as MultiViewNaiveBayes
    from coview.clustering.cca import CCAClustering as CCAClustering
    from coview.clustering.consensus import ConsensusClustering as ConsensusClustering
    from coview.clustering.spectral import SpectralClusteringViews as SpectralClusteringViews
    from coview.clustering.spherical_kmeans import SphericalKMeans as SphericalKMeans
    from coview.decomposition.cca import MultiViewCCA as MultiViewCCA
    from coview.editing.edited import EditedModel as EditedModel
    from coview.editing.edited import edit as edit
    from coview.editing.moves import Moves as Moves
    from coview.editing.update import Update as Update
    from coview.editing.update import update as update
    from coview.engines.checkpoint import Checkpoint as Checkpoint
    from coview.engines.cpu import CpuEngine as CpuEngine
    from coview.engines.cuda import CudaEngine as CudaEngine
    from coview.engines.dask.engine import DaskEngine as DaskEngine
    from coview.engines.loop import TimeBudget as TimeBudget
    from coview.inspection import Inspection as Inspection
    from coview.inspection import inspect as inspect
    from coview.inspection.naming import GroupCard as GroupCard
    from coview.inspection.naming import name_groups as name_groups
    from coview.inspection.naming import set_group_names as set_group_names
    from coview.io.models import load as load
    from coview.io.models import save as save
    from coview.io.mudata import to_mudata as to_mudata
    from coview.io.tables import read_table as read_table
    from coview.io.views_folder import read_views as read_views
    from coview.io.views_folder import write_views as write_views
    from coview.model_selection.audit import LabelAudit as LabelAudit
    from coview.model_selection.audit import audit_labels as audit_labels
    from coview.model_selection.compare import compare as compare
    from coview.model_selection.select import ClusterChoice as ClusterChoice
    from coview.model_selection.select import select_clusters as select_clusters
    from coview.model_selection.suggest import LabelSuggestions as LabelSuggestions
    from coview.model_selection.suggest import suggest_labels as suggest_labels
    from coview.model_selection.table import Comparison as Comparison
    from coview.online.passive_aggressive import (
        MultiViewPassiveAggressiveClassifier as MultiViewPassiveAggressiveClassifier,
    )
    from coview.online.readers import read_stream as read_stream
    from coview.online.stream import StreamResult as StreamResult
    from coview.online.stream import evaluate_stream as evaluate_stream
    from coview.plsa.co_plsa import CoPLSA as CoPLSA
    from coview.plsa.link import LinkPLSA as LinkPLSA
    from coview.plsa.multiview import DualPLSA as DualPLSA
    from coview.plsa.multiview import DualPLSAClassifier as DualPLSAClassifier
    from coview.plsa.multiview import MultiViewPLSA as MultiViewPLSA
    from coview.plsa.multiview import MultiViewPLSAClassifier as MultiViewPLSAClassifier
    from coview.plsa.pairwise import PairwiseCoPLSA as PairwiseCoPLSA
    from coview.plsa.plsa import PLSA as PLSA
    from coview.plsa.voting import VotingPLSA as VotingPLSA
    from coview.preprocessing.each_view import EachView as EachView
    from coview.preprocessing.embeddings import EmbeddingViews as EmbeddingViews
    from coview.preprocessing.images import SiftWords as SiftWords
    from coview.preprocessing.neighbors import NeighborViews as NeighborViews
    from coview.preprocessing.scaling import ScaledViews as ScaledViews
    from coview.preprocessing.tables import TableViews as TableViews
    from coview.preprocessing.text import TextViews as TextViews
    from coview.preprocessing.vectorizer import TextVectorizer as TextVectorizer
    from coview.preprocessing.weighting import TfidfViews as TfidfViews
    from coview.preprocessing.weighting import UnitRows as UnitRows
    from coview.report.report import Report as Report
    from coview.report.report import describe as describe
    from coview.report.report import make_report as make_report
    from coview.retrieval.retriever import CrossModalRetriever as CrossModalRetriever
    from coview.retrieval.semantic import SemanticCorrelationMatching as SemanticCorrelationMatching
    from coview.views.coerce import as_views as as_views
    from coview.views.lazy import LazyViews as LazyViews
    from coview.views.views import Views as Views
