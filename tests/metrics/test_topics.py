"""Quality of topics: by the definitions, and by what must hold."""

from __future__ import annotations

from itertools import permutations
from math import log, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from coview.exceptions import ParameterError
from coview.metrics import topic_coherence, topic_diversity, topic_exclusivity

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


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: topic_coherence(np.eye(3), np.eye(2)), "reference must have the 3 features of the topics"),
        (lambda: topic_coherence(-np.eye(2), np.eye(2)), "not below 0"),
        (lambda: topic_exclusivity([[np.nan, 1.0]]), "finite"),
        (lambda: topic_diversity([1.0, 2.0]), "topics must be a table"),
    ],
)
def test_bad_input_gets_a_sentence(call, sentence):
    with pytest.raises(ParameterError, match=sentence):
        call()
