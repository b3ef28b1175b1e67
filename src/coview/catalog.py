"""Every public estimator by name: feeds the package's front, the command line, model files, tests and docs."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from typing import Any

from coview.utils.loading import load_member

__all__ = ["ESTIMATORS", "TRANSFORMERS", "Entry", "estimators", "resolve"]


@dataclass(frozen=True)
class Entry:
    """One public estimator."""

    name: str
    module: str
    summary: str
    kind: str  # "transformer", "clusterer", "classifier", or "wrapper" of any of these
    monotone: bool = False  # history_["objective"] never falls


# fmt: off
_ENTRIES = (
    Entry("PLSA", "coview.plsa.plsa", kind="transformer", monotone=True,
          summary="topics of one view, or of several views joined column by column"),
    Entry("DualPLSA", "coview.plsa.multiview", kind="clusterer", monotone=True,
          summary="clusters objects and features of one view; each cluster mixes topics"),
    Entry("DualPLSAClassifier", "coview.plsa.multiview", kind="classifier", monotone=True,
          summary="classifies the objects of one view from few labels"),
    Entry("MultiViewPLSA", "coview.plsa.multiview", kind="clusterer", monotone=True,
          summary="one clustering of all views, with topics for each view"),
    Entry("MultiViewPLSAClassifier", "coview.plsa.multiview", kind="classifier", monotone=True,
          summary="classifies objects with several views from few labels"),
    Entry("LinkPLSA", "coview.plsa.link", kind="transformer", monotone=True,
          summary="topics of several views that share one mixture per object"),
    Entry("CoPLSA", "coview.plsa.co_plsa", kind="transformer", monotone=True,
          summary="topics with one mixture per view, kept close to each other"),
    Entry("PairwiseCoPLSA", "coview.plsa.pairwise", kind="clusterer", monotone=True,
          summary="one clustering per view; objects that are similar in one view stay similar in the others"),
    Entry("VotingPLSA", "coview.plsa.voting", kind="clusterer", monotone=True,
          summary="one clustering, learned from the objects on which the views agree"),
    Entry("MultiViewNaiveBayes", "coview.classification.naive_bayes", kind="classifier",
          summary="one naive Bayes classifier per view, their probabilities averaged"),
    Entry("CoTrainingClassifier", "coview.classification.co_training", kind="classifier",
          summary="one classifier per view; each labels objects for the others"),
    Entry("AutoClustering", "coview.auto.clustering", kind="clusterer",
          summary="clusters that many clusterings, of graphs of neighbors at several scales, vote for"),
    Entry("AutoClassifier", "coview.auto.classifier", kind="classifier",
          summary="tries several pipelines on held-out labels and combines the best, with calibrated probabilities"),
    Entry("ConsensusClustering", "coview.clustering.consensus", kind="clusterer", monotone=True,
          summary="clusters each view and combines the clusterings into one"),
    Entry("SphericalKMeans", "coview.clustering.spherical_kmeans", kind="clusterer", monotone=True,
          summary="k-means by angle, for one view of text or counts"),
    Entry("CCAClustering", "coview.clustering.cca", kind="clusterer",
          summary="k-means in the space where the views correlate most (CCA)"),
    Entry("SpectralClusteringViews", "coview.clustering.spectral", kind="clusterer", monotone=True,
          summary="spectral clustering on a similarity graph of each view"),
    Entry("MultiViewPassiveAggressiveClassifier", "coview.online.passive_aggressive", kind="classifier",
          summary="linear classifier that learns from a stream and makes the views agree"),
    Entry("SeededKMeansClassifier", "coview.assignment.seeded_kmeans", kind="classifier", monotone=True,
          summary="classifies objects with several views from few labels, optionally with a hierarchy of labels"),
    Entry("LabelSpreadingClassifier", "coview.classification.label_spreading", kind="classifier",
          summary="spreads few labels over graphs of neighbors of several views"),
    Entry("BestView", "coview.classification.best_view", kind="wrapper",
          summary="any single-view estimator, on the view that scores best"),
    Entry("ConcatenatedViews", "coview.classification.concatenated", kind="wrapper",
          summary="any single-view estimator, on all views joined column by column"),
    Entry("EditedModel", "coview.editing.edited", kind="wrapper",
          summary="any topic model or clusterer with its groups merged, split, renamed or dropped by hand"),
    Entry("MultiViewCCA", "coview.decomposition.cca", kind="transformer",
          summary="projects all views into one space where they correlate most (CCA)"),
    Entry("SemanticCorrelationMatching", "coview.retrieval.semantic", kind="classifier",
          summary="class probabilities predicted in the space where the views correlate most"),
    Entry("CrossModalRetriever", "coview.retrieval.retriever", kind="wrapper",
          summary="searches one view with a query in another"),
)
# fmt: on

ESTIMATORS = {entry.name: entry for entry in _ENTRIES}

# transformers of data: saved and loaded like estimators, but they take other things than views
TRANSFORMERS = {
    "EachView": "coview.preprocessing.each_view",
    "EmbeddingViews": "coview.preprocessing.embeddings",
    "NeighborViews": "coview.preprocessing.neighbors",
    "ScaledViews": "coview.preprocessing.scaling",
    "SiftWords": "coview.preprocessing.images",
    "TableViews": "coview.preprocessing.tables",
    "TextVectorizer": "coview.preprocessing.vectorizer",
    "TextViews": "coview.preprocessing.text",
    "TfidfViews": "coview.preprocessing.weighting",
    "UnitRows": "coview.preprocessing.weighting",
}

# parts of estimators: saved and loaded with them
_PARTS = {"GraphVoter": "coview.auto.votes"}


def _modules() -> dict[str, str]:
    return {**TRANSFORMERS, **_PARTS, **{name: entry.module for name, entry in ESTIMATORS.items()}}


def resolve(name: str) -> type[Any]:
    """Return the class of a cataloged estimator or transformer; KeyError for other names.

    Examples
    --------
    >>> resolve("PLSA").__name__
    'PLSA'
    """
    return load_member(_modules()[name], name)


def estimators() -> dict[str, type[Any]]:
    """Return every cataloged class by name."""
    return {name: resolve(name) for name in ESTIMATORS}


# where estimators in model files mostly are: asking for all of scikit-learn's takes seconds
_COMMON = (
    "pipeline", "feature_extraction.text", "preprocessing", "linear_model", "naive_bayes", "cluster", "decomposition",
    "compose", "impute", "neighbors", "svm",
)  # fmt: skip


@cache
def sklearn_class(name: str) -> type[Any] | None:
    """Return a public estimator of scikit-learn by name, or None, so that a file can name no other class."""
    from sklearn.base import BaseEstimator

    for part in _COMMON:
        module = importlib.import_module(f"sklearn.{part}")
        member = getattr(module, name, None) if name in module.__all__ else None
        if isinstance(member, type) and issubclass(member, BaseEstimator):
            return member
    return _sklearn_classes().get(name)


@cache
def _sklearn_classes() -> dict[str, type[Any]]:
    from sklearn.base import BaseEstimator
    from sklearn.utils.discovery import all_estimators

    return {name: cls for name, cls in all_estimators() if issubclass(cls, BaseEstimator)}
