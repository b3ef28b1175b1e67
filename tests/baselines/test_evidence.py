"""Evidence for clusterings without labels: what is told, who agrees, who is kept."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from coview import Views, normalized_mutual_info
from coview.baselines.evidence import agreements, comparable_rows, member_weights, out_of_fold, telling


def groups(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return 5 * np.eye(3)[y] + rng.normal(size=(n, 3)), y


def test_real_clusters_are_told_and_chance_is_not():
    X, y = groups()
    rows = comparable_rows(Views(a=X))
    chance = np.random.default_rng(1).integers(0, 3, len(y))
    assert telling(rows, y, 3) > 0.95
    assert telling(rows, chance, 3) < 0.1


def test_a_row_is_never_told_by_itself():
    """Rows at random with as many features as objects: any labels are learned by heart, none are predicted."""
    rows = np.random.default_rng(0).normal(size=(60, 300))
    labels = np.arange(60) % 2
    assert np.mean(out_of_fold(rows, labels, 2) == labels) < 0.7


def test_a_view_of_noise_counts_less_than_half():
    X, y = groups()
    noise = np.random.default_rng(2).normal(size=(len(y), 3))
    both = telling(comparable_rows(Views(a=X, b=noise)), y, 3)
    assert 0.65 < both < 0.8  # the root of one half


def test_sparse_and_dense_rows_are_told_alike():
    rng = np.random.default_rng(0)
    counts, labels = rng.poisson(1.0, size=(80, 12)) * 1.0, rng.integers(0, 3, 80)
    assert_array_equal(out_of_fold(counts, labels, 3), out_of_fold(sparse.csr_array(counts), labels, 3))


def test_objects_without_cluster_or_view_are_not_asked():
    X, y = groups()
    labels = np.where(np.arange(len(y)) < 30, -1, y)
    assert telling([(X, np.ones(len(y), dtype=bool))], labels, 3) > 0.95
    assert telling([(X, np.zeros(len(y), dtype=bool))], labels, 3) == 0


def test_a_family_counts_once():
    rng = np.random.default_rng(0)
    wrong, right, other = rng.integers(0, 3, (3, 200))
    near = np.where(rng.random(200) < 0.2, rng.integers(0, 3, 200), right)
    crowd = agreements([wrong, wrong, wrong, right, near, other], ["g", "g", "g", "a", "t", "c"])
    assert crowd[:3].max() < crowd[3:5].min()


def test_agreement_is_mutual_information_where_there_are_two():
    a, b = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 0])
    expected = normalized_mutual_info(a, b)
    assert_allclose(agreements([a, b], ["x", "y"]), expected)
    assert_allclose(agreements([a, b], ["x", "x"]), expected)


def test_what_is_unknown_does_not_disagree():
    a, b = np.array([0, 0, 1, 1, -1]), np.array([0, 0, 1, 1, 0])
    assert_allclose(agreements([a, b], ["x", "y"]), 1.0)


def test_weights_follow_the_evidence_and_the_weak_are_dropped():
    tell, sure = np.array([0.8, 0.79, 0.5, 0.8]), np.array([0.9, 0.9, 0.9, 0.5])
    weights = member_weights(tell, sure, np.ones(4))
    assert weights[0] == 1
    assert 0.2 < weights[1] < 1
    assert_array_equal(weights[2:], 0)


def test_a_view_with_clusters_of_its_own_does_not_win():
    """Told perfectly by one view of two and wholly stable, but nobody agrees."""
    weights = member_weights(np.array([0.6, 0.7]), np.array([0.8, 1.0]), np.array([0.6, 0.02]))
    assert_array_equal(weights, [1, 0])


def test_without_any_evidence_all_count_alike():
    assert_array_equal(member_weights(np.zeros(3), np.zeros(3), np.zeros(3)), np.ones(3))
