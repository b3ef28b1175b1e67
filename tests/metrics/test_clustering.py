"""Clustering measures against scikit-learn, scipy and brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from coview.metrics import clustering_accuracy, normalized_mutual_info, pairwise_f1

MEASURES = [
    clustering_accuracy,
    normalized_mutual_info,
    lambda a, b: normalized_mutual_info(a, b, average="max"),
    pairwise_f1,
]
few = settings(deadline=None, max_examples=40)


@st.composite
def two_partitions(draw, max_size=30):
    n = draw(st.integers(1, max_size))
    labels = st.lists(st.integers(0, 5), min_size=n, max_size=n)
    return np.array(draw(labels)), np.array(draw(labels))


@few
@given(two_partitions())
def test_accuracy_equals_the_dense_assignment(partitions):
    table = contingency_matrix(*partitions)
    rows, columns = linear_sum_assignment(table, maximize=True)
    assert clustering_accuracy(*partitions) == pytest.approx(table[rows, columns].sum() / table.sum())


@pytest.mark.parametrize("seed", range(3))
def test_accuracy_equals_the_dense_assignment_on_scattered_tables(seed):
    rng = np.random.default_rng(seed)
    truth, found = rng.geometric(0.05, size=300), rng.geometric(0.1, size=300)
    table = contingency_matrix(truth, found)
    rows, columns = linear_sum_assignment(table, maximize=True)
    assert clustering_accuracy(truth, found) == pytest.approx(table[rows, columns].sum() / 300)


@few
@given(two_partitions(), st.sampled_from(["arithmetic", "max"]))
def test_mutual_information_equals_scikit_learn(partitions, average):
    expected = normalized_mutual_info_score(*partitions, average_method=average)
    assert normalized_mutual_info(*partitions, average=average) == pytest.approx(expected, abs=1e-12)


@few
@given(two_partitions())
def test_pairs_equal_all_pairs_counted(partitions):
    truth, found = partitions
    same_class = [truth[i] == truth[j] for i, j in combinations(range(len(truth)), 2)]
    same_cluster = [found[i] == found[j] for i, j in combinations(range(len(truth)), 2)]
    both = sum(a and b for a, b in zip(same_class, same_cluster))
    total = sum(same_class) + sum(same_cluster)
    assert pairwise_f1(truth, found) == pytest.approx(2 * both / total if total else 1.0)


@pytest.mark.parametrize("measure", MEASURES)
@few
@given(partitions=two_partitions(), seed=st.integers(0, 100))
def test_bounds_symmetry_names_order_and_the_same_partition(measure, partitions, seed):
    truth, found = partitions
    rng = np.random.default_rng(seed)
    order, names = rng.permutation(len(truth)), rng.permutation(["f", "e", "d", "c", "b", "a"])
    value = measure(truth, found)
    assert 0 <= value <= 1 and measure(found, truth) == pytest.approx(value)
    assert measure(truth[order], names[found[order]]) == pytest.approx(value)
    assert measure(truth, [f"cluster {label}" for label in truth]) == 1.0


def test_mixed_types_are_not_confused():
    assert clustering_accuracy([1, "1", 1, "1"], [0, 1, 0, 1]) == 1.0


@pytest.mark.parametrize(
    ("truth", "found", "sentence"),
    [
        ([0, 1], [0], "same length, got 2 and 1"),
        ([], [], "y_true is empty"),
        ([[0, 1]], [0, 1], "one dimension"),
        ([0, None], [0, 1], "y_true has 1 unlabeled"),
        ([0, 1], [0, np.nan], "y_pred has 1 unlabeled"),
        (["a", np.nan], [0, 1], "y_true has 1 unlabeled"),
    ],
)
def test_bad_labels_are_refused(truth, found, sentence):
    with pytest.raises(ValueError, match=sentence):
        clustering_accuracy(truth, found)


def test_unknown_average_is_refused():
    with pytest.raises(ValueError, match="average must be"):
        normalized_mutual_info([0], [0], average="geometric")
