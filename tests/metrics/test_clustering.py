"""Clustering measures against scikit-learn, scipy and brute force."""

from itertools import combinations, permutations
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from coview.metrics import (
    clustering_accuracy,
    normalized_mutual_info,
    pairwise_f1,
    topic_coherence,
    topic_diversity,
    topic_exclusivity,
    view_agreement,
    view_imbalance,
)

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
        *(([0, 1], [0], "same length, got 2 and 1"), ([], [], "y_true is empty"), ([[0, 1]], [0, 1], "one dimension")),
        *(([0, None], [0, 1], "y_true has 1 unlabeled"), ([0, 1], [0, np.nan], "y_pred has 1 unlabeled")),
        (["a", np.nan], [0, 1], "y_true has 1 unlabeled"),
    ],
)
def test_bad_labels_are_refused(truth, found, sentence):
    with pytest.raises(ValueError, match=sentence):
        clustering_accuracy(truth, found)


# -- Agreement and imbalance of views: the paper's examples, and laws for more views


def test_the_papers_examples():
    words, links = np.zeros(1000, dtype=int), np.repeat([0, 1], 500)
    assert view_agreement(words, links) == 0.5
    assert view_imbalance(55.0, 42.7) == pytest.approx(12.3)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 20), st.integers(2, 4))
def test_pairs_are_averaged(seed, n_objects, n_views):
    table = np.random.default_rng(seed).integers(3, size=(n_objects, n_views))
    expected = np.mean([np.mean(table[:, v] == table[:, w]) for v, w in combinations(range(n_views), 2)])
    assert view_agreement(*table.T) == pytest.approx(expected)
    assert view_agreement(*table.T.astype(str)) == pytest.approx(expected)


def test_label_sets_agree_only_when_equal():
    one = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 0]], dtype=bool)
    other = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=bool)
    assert view_agreement(one, other) == pytest.approx(2 / 3)


def test_imbalance_of_three_views_is_the_mean_over_pairs():
    assert view_imbalance(60, 50, 45) == pytest.approx((10 + 15 + 5) / 3)
    assert view_imbalance(3.0, 3.0, 3.0) == 0.0


# -- Quality of topics: by the definitions, and by what must hold

VOCABULARY = [f"w{i}" for i in range(40)]


def corpus(seed=0, n=60):
    """Texts of four subjects, and four topics of ten words, one or two of them foreign."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(n):
        subject, weights = rng.integers(4), np.full(40, 0.3)
        weights[subject * 10 : subject * 10 + 10] += 3
        texts.append([VOCABULARY[i] for i in rng.choice(40, size=rng.integers(1, 30), p=weights / weights.sum())])
    own = [
        list(rng.permutation(10)[:8] + 10 * t) + list(rng.permutation(10)[:2] + 10 * ((t + 1) % 4)) for t in range(4)
    ]
    return texts, [[VOCABULARY[i] for i in row] for row in own]


def matrix_of(texts):
    return np.array([[text.count(word) for word in VOCABULARY] for text in texts])


def weights_of(topics):
    weights = np.zeros((len(topics), len(VOCABULARY)))
    for t, topic in enumerate(topics):
        weights[t, [VOCABULARY.index(word) for word in topic]] = np.arange(len(topic), 0, -1)
    return weights


def naive(topic, texts, measure):
    """Coherence of one topic, pair by pair."""

    def share(*words):
        return sum(all(word in text for word in words) for text in texts) / len(texts)

    def npmi(a, b):
        return log((share(a, b) + 1e-12) / (share(a) * share(b))) / -log(share(a, b) + 1e-12)

    if measure == "npmi":
        return np.mean([npmi(a, b) for a, b in permutations(topic, 2)])
    vectors = {word: [npmi(word, other) for other in topic] for word in topic}
    total = [sum(column) for column in zip(*vectors.values())]

    def cosine(p, q):
        return sum(a * b for a, b in zip(p, q)) / sqrt(sum(a * a for a in p) * sum(b * b for b in q))

    return np.mean([cosine(vector, total) for vector in vectors.values()])


@pytest.mark.parametrize(("measure", "kind"), [("npmi", np.asarray), ("npmi", sparse.csc_array), ("c_v", np.asarray)])
def test_coherence_is_that_of_its_definition(measure, kind):
    texts, topics = corpus()
    expected = [naive(topic, texts, measure) for topic in topics]
    found = topic_coherence(weights_of(topics), kind(matrix_of(texts)), measure=measure)
    assert_allclose(found, expected, rtol=1e-9)


def test_topics_without_pairs_and_references_without_objects_have_no_coherence():
    weights = np.array([[0.5, 0.5], [1.0, 0.0]])
    assert np.isnan(topic_coherence(weights, np.eye(2))).tolist() == [False, True]
    assert np.isnan(topic_coherence(weights, np.zeros((0, 2)))).all()


def test_diversity_counts_distinct_features():
    assert topic_diversity(np.eye(3)) == 1.0
    assert topic_diversity(np.ones((4, 5))) == 1 / 4
    assert topic_diversity([[3, 2, 1, 0], [3, 1, 0, 2]], n_features=2) == 0.75


def test_exclusivity_is_the_share_of_the_weight():
    weights = np.random.default_rng(0).dirichlet(np.ones(12), 4)
    expected = [np.mean([row[j] / weights[:, j].sum() for j in np.argsort(-row)[:3]]) for row in weights]
    assert_allclose(topic_exclusivity(weights, n_features=3), expected)
    assert_allclose(topic_exclusivity(sparse.csr_array(np.eye(3))), 1.0)
