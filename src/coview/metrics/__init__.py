"""Metrics of clusterings, label sets, rankings, topics and views, as functions of arrays; a scorer for few labels."""

from __future__ import annotations

from coview.metrics.agreement import view_agreement, view_imbalance
from coview.metrics.calibration import expected_calibration_error
from coview.metrics.classification import hierarchical_f1
from coview.metrics.clustering import clustering_accuracy, normalized_mutual_info, pairwise_f1
from coview.metrics.retrieval import mean_average_precision
from coview.metrics.scorer import labeled_scorer
from coview.metrics.topics import topic_coherence, topic_diversity, topic_exclusivity

__all__ = [
    "clustering_accuracy",
    "expected_calibration_error",
    "hierarchical_f1",
    "labeled_scorer",
    "mean_average_precision",
    "normalized_mutual_info",
    "pairwise_f1",
    "topic_coherence",
    "topic_diversity",
    "topic_exclusivity",
    "view_agreement",
    "view_imbalance",
]
