"""Quality of topics: by the definitions, by gensim where it is installed, and by what must hold."""

from __future__ import annotations

from itertools import combinations, permutations
from math import log, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from coview.exceptions import ParameterError
from coview.metrics import topic_coherence, topic_diversity, topic_exclusivity, topic_stability

VOCABULARY = [f"w{i}" for i in range(40)]
MEASURES = ("npmi", "c_v", "umass")


def corpus(seed=0, n=60, repeat=True):
    """Texts of four subjects, and four topics of ten words, one or two of them foreign."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(n):
        subject, weights = rng.integers(4), np.full(40, 0.3)
        weights[subject * 10 : subject * 10 + 10] += 3
        length = rng.integers(1, 30)
        texts.append([VOCABULARY[i] for i in rng.choice(40, size=length, p=weights / weights.sum(), replace=repeat)])
    own = [
        list(rng.permutation(10)[:8] + 10 * t) + list(rng.permutation(10)[:2] + 10 * ((t + 1) % 4)) for t in range(4)
    ]
    return texts, [[VOCABULARY[i] for i in row] for row in own]


def matrix_of(texts):
    return np.array([[text.count(word) for word in VOCABULARY] for text in texts])


def windows_of(texts, window):
    for text in texts:
        width = window or len(text)
        yield from (set(text[i : i + width]) for i in range(max(len(text) - width, 0) + 1))


def naive(topic, texts, measure, window=None):
    """Coherence of one topic, pair by pair."""
    windows = list(windows_of(texts, window))

    def share(*words):
        return sum(all(word in here for word in words) for here in windows) / len(windows)

    def npmi(a, b):
        return log((share(a, b) + 1e-12) / (share(a) * share(b))) / -log(share(a, b) + 1e-12)

    if measure == "npmi":
        return np.mean([npmi(a, b) for a, b in permutations(topic, 2)])
    if measure == "umass":
        return np.mean([log((share(a, b) + 1e-12) / share(b)) for b, a in combinations(topic, 2)])
    vectors = {word: [npmi(word, other) for other in topic] for word in topic}
    total = [sum(column) for column in zip(*vectors.values())]

    def cosine(p, q):
        return sum(a * b for a, b in zip(p, q)) / sqrt(sum(a * a for a in p) * sum(b * b for b in q))

    return np.mean([cosine(vector, total) for vector in vectors.values()])


@pytest.mark.parametrize("window", [None, 1000, 6])
@pytest.mark.parametrize("measure", MEASURES)
def test_coherence_is_that_of_its_definition(measure, window):
    texts, topics = corpus()
    expected = [naive(topic, texts, measure, window) for topic in topics]
    assert_allclose(topic_coherence(topics, texts, measure=measure, window=window), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("measure", "theirs", "window"), [("npmi", "c_npmi", 10), ("c_v", "c_v", 7), ("c_v", "c_v", 99)]
)
def test_coherence_is_gensims(measure, theirs, window):
    models, corpora = pytest.importorskip("gensim.models"), pytest.importorskip("gensim.corpora")
    texts, topics = corpus(repeat=False)  # gensim forgets a word that leaves the window, though it is there again
    book = corpora.Dictionary(texts)
    model = models.CoherenceModel(
        topics=topics,
        texts=texts,
        corpus=[book.doc2bow(text) for text in texts],
        dictionary=book,
        coherence=theirs,
        window_size=window,
        topn=10,
        processes=1,
    )
    found = topic_coherence(topics, texts, measure=measure, window=window)
    assert_allclose(found, model.get_coherence_per_topic(), rtol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("measure", MEASURES)
def test_a_matrix_says_what_its_texts_say(measure, kind):
    texts, topics = corpus(1)
    counts = matrix_of(texts)
    expected = topic_coherence(topics, texts, measure=measure)
    assert_allclose(topic_coherence(topics, kind(counts), measure=measure, feature_names=VOCABULARY), expected)
    weights = np.zeros((len(topics), len(VOCABULARY)))
    for t, topic in enumerate(topics):
        weights[t, [VOCABULARY.index(word) for word in topic]] = np.arange(len(topic), 0, -1)
    assert_allclose(topic_coherence(weights, kind(counts), measure=measure), expected)


def test_many_texts_are_counted_some_at_a_time(monkeypatch):
    texts, topics = corpus(2)
    whole = topic_coherence(topics, texts, window=5)
    monkeypatch.setattr("coview.metrics.topics._ENTRIES", 50)
    assert_allclose(topic_coherence(topics, texts, window=5), whole)


def test_words_that_are_always_together_are_coherent_and_strangers_are_not():
    counts = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 5, axis=0)
    together, strangers = topic_coherence([[1.0, 1, 0, 0], [1, 0, 1, 0]], counts)
    assert together == pytest.approx(1.0)
    assert strangers < -0.9
    assert topic_coherence([[1.0, 1, 0, 0]], np.ones((5, 4))) == pytest.approx(1.0)  # all words in all objects


def test_a_word_that_never_occurs_counts_as_chance_and_one_word_is_no_topic():
    counts = np.array([[1, 0], [1, 0], [0, 0]])
    assert topic_coherence([["a", "zebra"]], counts, feature_names=["a", "b"]) == 0.0
    assert np.isnan(topic_coherence([[1.0, 0.0]], counts)).all()


def test_words_come_in_any_container():
    texts, topics = corpus(3)
    expected = topic_coherence(topics, texts)
    assert_allclose(topic_coherence(np.array(topics), texts), expected)
    assert_allclose(topic_coherence(topics, [tuple(text) for text in texts]), expected)
    assert np.isnan(topic_coherence([*topics, []], texts)[-1])
    assert np.isnan(topic_coherence(topics, [])).all()
    pandas = pytest.importorskip("pandas")
    assert_allclose(topic_coherence(topics, pandas.Series(texts)), expected)
    weights = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    assert topic_diversity(pandas.DataFrame(weights)) == topic_diversity(weights) == 1.0
    polars = pytest.importorskip("polars")
    assert topic_diversity(polars.DataFrame(weights)) == 1.0


def test_diversity_counts_distinct_features():
    assert topic_diversity(np.eye(3)) == 1.0
    assert topic_diversity(np.ones((4, 5))) == 1 / 4
    assert topic_diversity([["a", "b", "c"], ["a", "d", "e"]], n_features=2) == 0.75


def test_exclusivity_is_the_share_of_the_weight():
    weights = np.random.default_rng(0).dirichlet(np.ones(12), 4)
    expected = [np.mean([row[j] / weights[:, j].sum() for j in np.argsort(-row)[:3]]) for row in weights]
    assert_allclose(topic_exclusivity(weights, n_features=3), expected)
    assert_allclose(topic_exclusivity(sparse.csr_array(np.eye(3))), 1.0)


def test_stability_finds_topics_under_other_numbers():
    weights = np.random.default_rng(1).dirichlet(np.full(30, 0.1), 5)
    assert_allclose(topic_stability(weights, [weights[[3, 1, 0, 4, 2]]]), 1.0)
    fewer = topic_stability(weights, [weights[:4], weights])
    assert_allclose(fewer, [1, 1, 1, 1, 0.5])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: topic_coherence([["a", "b"]], np.eye(2)), "feature_names must name each of the 2 columns"),
        (lambda: topic_coherence(np.eye(3), np.eye(2)), "reference must have the 3 features of the topics"),
        (lambda: topic_coherence(np.eye(2), np.eye(2), window=5), "a matrix has no order"),
        (lambda: topic_coherence([["a", "b"]], ["a b"]), "lists of words"),
        (lambda: topic_coherence(["ab"], [["a"]]), "list of lists of words"),
        (lambda: topic_coherence(np.eye(2), [["a"]]), "names of features where the reference is texts"),
        (lambda: topic_exclusivity([["a", "b"]]), "topics must be a table"),
        (lambda: topic_stability(np.eye(2), np.eye(2)), "others must be a list"),
        (lambda: topic_coherence(-np.eye(2), np.eye(2)), "not below 0"),
        (lambda: topic_exclusivity([[np.nan, 1.0]]), "finite"),
        (lambda: topic_stability(np.eye(2), []), "at least one other fit"),
    ],
)
def test_bad_input_gets_a_sentence(call, sentence):
    with pytest.raises(ParameterError, match=sentence):
        call()
