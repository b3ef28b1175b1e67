"""What a vector counts beside counts where nobody says, and where objects begin then."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from coview import PLSA, LazyViews, LinkPLSA, MultiViewPLSA, MultiViewPLSAClassifier, Views
from coview.engines.deadline import Deadline
from coview.metrics import clustering_accuracy
from coview.plsa.likeliest_start import most_likely
from coview.plsa.vector_weight import MOST_TOKENS, vector_evidence

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
    return vector_evidence(Views(words=words, vector=vector), ["vector"], {"words": 1.0}, K, 0)


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
    tokens = min(float(words.sum(axis=1).mean()), MOST_TOKENS)
    assert isinstance(weight, float) and not isinstance(weight, np.floating)
    assert 1.0 <= weight <= max(WIDTH, tokens)


def test_too_few_objects_say_nothing():
    X = Views(words=GOOD[:15], vector=vectors_of(TARGET)[:15])
    assert vector_evidence(X, ["vector"], {"words": 1.0}, K, 0).weights == {"vector": 1.0}


@pytest.mark.parametrize("far", [100.0, -1000.0])
def test_objects_that_lack_the_vector_are_not_asked(far):
    """The zeros that stand for their vectors are as far off as can be where all others lie elsewhere."""
    there, vector = np.arange(N) % 2 == 0, vectors_of(TARGET, 0.5)
    rows = [np.where(there[:, None], vector + by, 0.0) for by in (0.0, far)]
    some = [Views(words=GOOD, vector=each, present={"vector": there}) for each in rows]
    near, moved = (vector_evidence(X, ["vector"], {"words": 1.0}, K, 0) for X in some)
    assert moved.weights["vector"] == pytest.approx(near.weights["vector"], rel=1e-6)
    assert 1.0 < near.weights["vector"] < WIDTH


def test_lazy_rows_say_what_rows_in_memory_say():
    X = Views(words=GOOD, vector=vectors_of(TARGET))
    lazy = LazyViews.from_views(X, 70)
    assert vector_evidence(lazy, ["vector"], {"words": 1.0}, K, 0) == vector_evidence(
        X, ["vector"], {"words": 1.0}, K, 0
    )


@pytest.mark.parametrize(
    "model",
    [
        LinkPLSA(K, n_init=3, random_state=0),
        LinkPLSA(K, init="likeliest", random_state=0),
        MultiViewPLSA(K, 4, random_state=0),
    ],
    ids=["link", "link likeliest", "multi-view"],
)
def test_words_of_noise_do_not_drown_good_vectors(model):
    found = model.fit(Views(words=NOISE, vector=vectors_of(TARGET)))
    assert clustering_accuracy(TARGET, found.memberships_.argmax(axis=1)) > 0.9
    assert found.view_weights_ == {"words": 1.0, "vector": max(WIDTH, TOKENS)}


def test_plsa_weighs_nothing():
    X = Views(words=NOISE, vector=vectors_of(TARGET))
    plain = PLSA(K, max_iter=5, random_state=0).fit(X)
    tokens = X["words"].sum() + N
    rows = plain.transform(X)
    counts = (X["words"] * np.log(rows @ plain.topic_feature_["words"])).sum()
    noise = plain.noise_variance_["vector"]
    errors = ((X["vector"] - rows @ plain.topic_feature_["vector"]) ** 2).mean(axis=1)
    assert plain.score(X) == pytest.approx((counts - (np.log(noise) + errors / noise).sum() / 2) / tokens, rel=1e-5)


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
    assert other.view_weights_ == {"words": 2.0, "vector": max(WIDTH, 2 * TOKENS)}


# -- labels decide


def labels(n_each, seed=0):
    rng, y = np.random.default_rng(seed), np.full(N, -1)
    for z in range(K):
        y[rng.choice(np.flatnonzero(z == TARGET), n_each, replace=False)] = z
    return y


def test_vectors_whose_groups_are_not_the_classes_do_not_lead_against_the_labels():
    X, y = Views(words=words_of(TARGET, 0.06), vector=vectors_of(OTHER)), labels(40)
    assert evidence(X["words"], X["vector"]).leading == ("vector",)  # without labels they would
    found = MultiViewPLSAClassifier(4, random_state=0).fit(X, y)
    without = MultiViewPLSAClassifier(4, view_weights={"vector": 0.0}, random_state=0).fit(X, y)
    hits, bar = (np.mean((model.transduction_ == TARGET)[y < 0]) for model in (found, without))
    assert found.view_weights_ == {"words": 1.0, "vector": 1.0}
    assert hits > bar - 0.03 and bar > 0.5


@pytest.mark.parametrize("n_each", [1, 2, 5, 20])
def test_vectors_that_the_labels_bear_out_lead(n_each):
    X = Views(words=NOISE, vector=vectors_of(TARGET))
    assert vector_evidence(X, ["vector"], {"words": 1.0}, K, 0, codes=labels(n_each)).leading == ("vector",)


def test_vectors_that_bear_the_words_but_not_the_labels_out_count_as_one_token():
    X = Views(words=words_of(OTHER, 0.6), vector=vectors_of(OTHER))
    free, asked = (vector_evidence(X, ["vector"], {"words": 1.0}, K, 0, codes=y) for y in (None, labels(40)))
    assert free.weights["vector"] > 0.6 * WIDTH
    assert asked.weights == {"vector": 1.0} and asked.agreement == {"vector": 0.0}


def test_one_label_of_each_class_changes_nothing():
    X = Views(words=words_of(TARGET, 0.06), vector=vectors_of(OTHER))
    free, asked = (vector_evidence(X, ["vector"], {"words": 1.0}, K, 0, codes=y) for y in (None, labels(1)))
    assert free == asked


def test_lazy_rows_have_the_same_labels():
    X, y = Views(words=words_of(TARGET, 0.06), vector=vectors_of(OTHER)), labels(40)
    both = [vector_evidence(Z, ["vector"], {"words": 1.0}, K, 0, codes=y) for Z in (X, LazyViews.from_views(X, 70))]
    assert both[0] == both[1]


def test_a_view_of_learned_weight_zero_makes_no_start():
    X, y = Views(words=words_of(TARGET, 0.06), vector=vectors_of(OTHER)), labels(6)
    assert vector_evidence(X, ["vector"], {"words": 1.0}, K, 0, codes=y).leading == ("vector",)  # it would lead
    learned = MultiViewPLSAClassifier(4, view_weights="auto", random_state=0).fit(X, y)
    assert learned.view_weights_ == {"words": 1.0, "vector": 0.0}
    given = MultiViewPLSAClassifier(4, view_weights=learned.view_weights_, random_state=0).fit(X, y)
    assert_allclose(learned.memberships_, given.memberships_)


# -- time


def test_views_that_there_is_no_time_for_count_as_one_token():
    X = Views(words=GOOD, vector=vectors_of(TARGET))
    found = vector_evidence(X, ["vector"], {"words": 1.0}, K, 0, deadline=Deadline.after(1e-9))
    assert found.weights == {"vector": 1.0} and not found.leading
    model = LinkPLSA(K, time_budget=1e-9, random_state=0).fit(X)
    assert model.view_weights_ == {"words": 1.0, "vector": 1.0}


def test_the_likeliest_start_is_likeliest_by_words_and_vectors():
    by_target, by_other = np.eye(K)[TARGET], np.eye(K)[OTHER]
    X = Views(words=words_of(TARGET, 0.1), vector=vectors_of(OTHER))
    assert most_likely(X, [by_target, by_other], {"vector": 24.0}, gaussian=("vector",)) is by_other
    assert most_likely(X, [by_other, by_target], {"vector": 0.01}, gaussian=("vector",)) is by_target
