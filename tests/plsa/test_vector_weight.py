"""What a vector counts beside counts where nobody says, and where objects begin then."""

from __future__ import annotations

import numpy as np
import pytest

from coview import PLSA, LazyViews, LinkPLSA, MultiViewPLSA, MultiViewPLSAClassifier, Views
from coview.metrics import clustering_accuracy
from coview.plsa.likeliest_start import most_likely
from coview.plsa.vector_weight import vector_evidence

N, K, WIDTH, TOKENS = 300, 3, 24, 40
RNG = np.random.default_rng(0)
TARGET, OTHER = RNG.integers(K, size=(2, N))
BASE = RNG.dirichlet(np.ones(120))
OWN = RNG.dirichlet(np.full(120, 0.1), K)
CENTERS = RNG.normal(size=(K, WIDTH))


def words_of(groups, quality, seed=1):
    rng = np.random.default_rng(seed)
    return np.array([rng.multinomial(TOKENS, quality * OWN[z] + (1 - quality) * BASE) for z in groups])


def vectors_of(groups, size=1.0, width=WIDTH, seed=2):
    noise = np.random.default_rng(seed).normal(size=(N, width))
    return noise + size * CENTERS[groups][:, :width] if size else noise


GOOD, NOISE = words_of(TARGET, 0.6), words_of(TARGET, 0.0)


def evidence(words, vector):
    return vector_evidence(Views(words=words, vector=vector), ["vector"], ["words"], K, 0)


def test_vectors_that_bear_the_words_out_count_as_much_as_the_words():
    found = evidence(GOOD, vectors_of(TARGET))
    assert 0.6 * min(WIDTH, TOKENS) < found.weights["vector"] <= min(WIDTH, TOKENS)
    assert not found.leading


@pytest.mark.parametrize("width", [2, WIDTH, 400])
def test_vectors_of_noise_count_as_one_token(width):
    assert evidence(GOOD, vectors_of(TARGET, 0.0, width)).weights == {"vector": 1.0}


def test_vectors_with_other_groups_than_the_words_count_as_one_token():
    found = evidence(GOOD, vectors_of(OTHER))
    assert found.weights["vector"] == 1.0
    assert not found.leading


def test_vectors_lead_where_words_are_noise():
    found = evidence(NOISE, vectors_of(TARGET))
    assert found.leading == ("vector",)
    assert found.weights["vector"] == max(WIDTH, TOKENS)


def test_nothing_leads_where_all_is_noise():
    found = evidence(NOISE, vectors_of(TARGET, 0.0))
    assert found.weights == {"vector": 1.0}
    assert not found.leading


@pytest.mark.parametrize(
    "words",
    [np.zeros((N, 5)), np.full((N, 5), 1e15), np.full((N, 1), 0.5), GOOD * 0.25, GOOD.astype(np.float32)],
    ids=["empty", "huge", "one column", "weighted", "single"],
)
def test_weights_are_between_one_token_and_all_that_there_are(words):
    weight = evidence(words, vectors_of(TARGET)).weights["vector"]
    assert 1.0 <= weight <= max(WIDTH, 1e6)


def test_too_few_objects_say_nothing():
    X = Views(words=GOOD[:15], vector=vectors_of(TARGET)[:15])
    assert vector_evidence(X, ["vector"], ["words"], K, 0).weights == {"vector": 1.0}


def test_objects_that_lack_the_vector_are_not_asked():
    there = np.arange(N) % 2 == 0
    vector = vectors_of(TARGET)
    some = Views(words=GOOD, vector=np.where(there[:, None], vector, 0.0), present={"vector": there})
    found = vector_evidence(some, ["vector"], ["words"], K, 0).weights["vector"]
    alone = Views(words=GOOD[there], vector=vector[there])
    assert found == pytest.approx(vector_evidence(alone, ["vector"], ["words"], K, 0).weights["vector"], rel=0.3)


def test_lazy_rows_say_what_rows_in_memory_say():
    X = Views(words=GOOD, vector=vectors_of(TARGET))
    lazy = LazyViews.from_views(X, 70)
    assert vector_evidence(lazy, ["vector"], ["words"], K, 0) == vector_evidence(X, ["vector"], ["words"], K, 0)


@pytest.mark.parametrize(
    "model",
    [
        PLSA(K, n_init=3, random_state=0),
        LinkPLSA(K, n_init=3, random_state=0),
        LinkPLSA(K, init="likeliest", random_state=0),
        MultiViewPLSA(K, 4, random_state=0),
    ],
    ids=["plsa", "link", "link likeliest", "multi-view"],
)
def test_words_of_noise_do_not_drown_good_vectors(model):
    found = model.fit(Views(words=NOISE, vector=vectors_of(TARGET)))
    assert clustering_accuracy(TARGET, found.memberships_.argmax(axis=1)) > 0.9
    assert found.view_weights_ == {"words": 1.0, "vector": max(WIDTH, TOKENS)}


def test_words_of_noise_do_not_drown_good_vectors_of_labeled_objects():
    y = np.full(N, -1)
    for z in range(K):
        y[np.flatnonzero(z == TARGET)[:2]] = z
    model = MultiViewPLSAClassifier(4, random_state=0).fit(Views(words=NOISE, vector=vectors_of(TARGET)), y)
    assert np.mean(model.transduction_ == TARGET) > 0.9


def test_a_weight_that_is_given_is_kept():
    X = Views(words=NOISE, vector=vectors_of(TARGET))
    assert LinkPLSA(K, view_weights=1.0, max_iter=2, random_state=0).fit(X).view_weights_ == {"words": 1, "vector": 1}
    given = LinkPLSA(K, view_weights={"vector": 3.0}, max_iter=2, random_state=0).fit(X)
    assert given.view_weights_ == {"words": 1, "vector": 3}
    other = LinkPLSA(K, view_weights={"words": 2.0}, max_iter=2, random_state=0).fit(X)
    assert other.view_weights_ == {"words": 2.0, "vector": max(WIDTH, TOKENS)}


def test_the_likeliest_start_is_likeliest_by_words_and_vectors():
    by_target, by_other = np.eye(K)[TARGET], np.eye(K)[OTHER]
    X = Views(words=words_of(TARGET, 0.1), vector=vectors_of(OTHER))
    assert most_likely(X, [by_target, by_other], {"vector": 24.0}, gaussian=("vector",)) is by_other
    assert most_likely(X, [by_other, by_target], {"vector": 0.01}, gaussian=("vector",)) is by_target
