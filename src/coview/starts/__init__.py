"""Where objects begin: naive Bayes where some labels are known, consensus clustering where none is.

`MultiViewNaiveBayes` and `ConsensusClustering` are made of the same pieces.
"""

from coview.starts.consensus import (
    Consensus,
    consensus,
    consensus_memberships,
    default_clusterer,
    fold_in_consensus,
    several_memberships,
    side_by_side_memberships,
    soft_indicators,
)
from coview.starts.matrices import for_sklearn, unit_rows
from coview.starts.naive_bayes import (
    NaiveBayesStart,
    class_feature_counts,
    feature_log_prob,
    label_start,
    log_shares,
    mean_posterior,
    naive_bayes_posterior,
    view_posterior,
)

__all__ = [
    "Consensus",
    "NaiveBayesStart",
    "class_feature_counts",
    "consensus",
    "consensus_memberships",
    "default_clusterer",
    "feature_log_prob",
    "fold_in_consensus",
    "for_sklearn",
    "label_start",
    "log_shares",
    "mean_posterior",
    "naive_bayes_posterior",
    "several_memberships",
    "side_by_side_memberships",
    "soft_indicators",
    "unit_rows",
    "view_posterior",
]
