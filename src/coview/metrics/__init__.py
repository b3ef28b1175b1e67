"""Metrics of clusterings, label sets, rankings, topics and views, as functions of arrays; a scorer for few labels."""

from __future__ import annotations

from coview.metrics.agreement import view_agreement, view_imbalance
from coview.metrics.calibration import expected_calibration_error
from coview.metrics.classification import hierarchical_f1, hierarchical_precision_recall_f1
from coview.metrics.clustering import clustering_accuracy, normalized_mutual_info, pairwise_f1
from coview.metrics.ranking import average_rank, rank_tests
from coview.metrics.retrieval import average_precision, mean_average_precision
from coview.metrics.scorer import labeled_scorer
from coview.metrics.topics import topic_coherence, topic_diversity, topic_exclusivity, topic_stability

__all__ = [
    "average_precision",
    "average_rank",
    "clustering_accuracy",
    "expected_calibration_error",
    "hierarchical_f1",
    "hierarchical_precision_recall_f1",
    "labeled_scorer",
    "mean_average_precision",
    "normalized_mutual_info",
    "pairwise_f1",
    "rank_tests",
    "topic_coherence",
    "topic_diversity",
    "topic_exclusivity",
    "topic_stability",
    "view_agreement",
    "view_imbalance",
]
