"""What a vector counts beside counts where nobody says, and where objects begin then."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from coview import PLSA, LinkPLSA, MultiViewPLSA, MultiViewPLSAClassifier, TimeBudget, Views
from coview.engines.loop import Deadline
from coview.metrics import clustering_accuracy
from coview.plsa.dense import compute_vector_weights, fit_class_means
from coview.plsa.starts import choose_likeliest

N, K, WIDTH, TOKENS = 300, 3, 24, 40
RNG = np.random.default_rng(0)
TARGET, OTHER = RNG.integers(K, size=(2, N))
BASE = RNG.dirichlet(np.ones(120))
OWN = RNG.dirichlet(np.full(120, 0.1), K)
CENTERS = RNG.normal(size=(K, WIDTH))


def words_of(groups, quality, seed=1, tokens=TOKENS):
    rng = np.random.default_rng(seed)
    return np.array([rng.multinomial(tokens, quality * OWN[z] + (1 - quality) * BASE) for z in groups])


def vectors_of(groups, size=1.0, width=WIDTH, seed=2):
    noise = np.random.default_rng(seed).normal(size=(N, width))
    return noise + size * CENTERS[groups][:, :width] if size else noise


def means_of(words, width=WIDTH):
    """Means of random word vectors: they say nothing that the words do not say."""
    shares = words / words.sum(axis=1, keepdims=True)
    return shares @ np.random.default_rng(3).normal(size=(words.shape[1], width))


def labels(n_each, seed=0):
    rng, y = np.random.default_rng(seed), np.full(N, -1)
    for z in range(K):
        y[rng.choice(np.flatnonzero(z == TARGET), n_each, replace=False)] = z
    return y


def worth(words, vector, codes=None):
    return compute_vector_weights(Views(words=words, vector=vector), ["vector"], {"words": 1.0}, K, 0, codes=codes)[1][
        "vector"
    ]


def hits(model, X, y=None):
    if y is None:
        return clustering_accuracy(TARGET, model.fit(X).memberships_.argmax(axis=1))
    return np.mean((model.fit(X, y).transduction_ == TARGET)[y < 0])


GOOD, NOISE = words_of(TARGET, 0.6), words_of(TARGET, 0.0)
MODELS = [
    (LinkPLSA(K, init="likeliest", random_state=0), None),
    (MultiViewPLSA(K, 4, random_state=0), None),
    (MultiViewPLSAClassifier(4, random_state=0), labels(6)),
]
NAMES = ["link", "multi-view", "classifier"]


# -- how many tokens


@pytest.mark.parametrize("codes", [None, labels(20)], ids=["clusters", "classes"])
def test_a_vector_is_worth_its_columns_but_for_those_that_repeat_others(codes):
    assert worth(GOOD, vectors_of(TARGET), codes) == pytest.approx(WIDTH, rel=0.1)
    assert worth(GOOD, np.tile(vectors_of(TARGET, width=6), 4), codes) == pytest.approx(6, rel=0.3)


def test_odds_by_vectors_are_as_sure_as_they_are_right():
    """Of two Gaussian classes with noise along their difference, against the odds by the true covariance."""
    rng = np.random.default_rng(0)
    codes, difference = np.arange(4000) % 2, np.array([1.0, 0.5, 0.0, 0.0])
    noise = rng.normal(size=(4000, 4)) @ np.diag([2.0, 2.0, 0.3, 0.3])
    X = Views(vector=noise + np.outer(codes, difference))
    odds = fit_class_means(X, codes, 2, 0).log_odds(X)
    true = X["vector"] @ (difference / 4.0) - difference @ difference / 8.0
    assert np.polyfit(true, odds[:, 1] - odds[:, 0], 1)[0] == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("width", [2, 400])
def test_vectors_of_noise_count_as_one_token(width):
    assert worth(GOOD, vectors_of(TARGET, 0.0, width)) == 1.0
    assert worth(GOOD, vectors_of(TARGET, 0.0, width), labels(6)) == 1.0


@pytest.mark.parametrize("unit", [0.01, 100.0])
def test_vectors_with_other_groups_than_the_words_count_as_one_token(unit):
    assert worth(unit * words_of(TARGET, 0.3), vectors_of(OTHER)) == 1.0


def test_labels_against_a_view_decide():
    words = words_of(OTHER, 0.6)
    assert worth(words, vectors_of(OTHER)) > 0.8 * WIDTH
    assert worth(words, vectors_of(OTHER), labels(20)) == 1.0


def test_labels_clearly_for_a_view_decide():
    weak = vectors_of(TARGET, 0.25)
    assert worth(NOISE, weak) == 1.0  # no clusters to see
    assert worth(NOISE, weak, labels(60)) > 0.8 * WIDTH


def test_too_few_labels_to_hold_out_leave_it_to_clusters():
    assert worth(NOISE, vectors_of(TARGET), labels(2)) > 0.8 * WIDTH
    assert worth(NOISE, vectors_of(TARGET, 0.0), labels(2)) == 1.0
    assert worth(GOOD[:15], vectors_of(TARGET)[:15]) == 1.0  # nor do so few objects say anything


def test_objects_that_lack_the_vector_are_not_asked():
    """The zeros that stand for their vectors are as far off as can be where all others lie elsewhere."""
    there, vector = np.arange(N) % 2 == 0, vectors_of(TARGET)
    rows = [np.where(there[:, None], vector + by, 0.0) for by in (0.0, -1000.0)]
    some = [Views(words=GOOD, vector=each, present={"vector": there}) for each in rows]
    near, moved = (
        compute_vector_weights(X, ["vector"], {"words": 1.0}, K, 0, codes=labels(20))[1]["vector"] for X in some
    )
    assert moved == pytest.approx(near, rel=1e-6)
    assert near > 0.8 * WIDTH


@pytest.mark.parametrize(("model", "y"), MODELS, ids=NAMES)
def test_units_of_words_and_vectors_and_axes_of_these_change_nothing(model, y):
    words, vector = words_of(TARGET, 0.15), vectors_of(TARGET, 0.7)
    turn = np.linalg.qr(np.random.default_rng(4).normal(size=(WIDTH, WIDTH)))[0]
    cases = [(words, vector), (0.01 * words, vector), (100 * words, vector), (words, 50 * vector @ turn)]
    found = [hits(model, Views(words=counts, vector=vectors), y) for counts, vectors in cases]
    assert_allclose(found, found[0], atol=0.01)
    assert found[0] > 0.8


# -- no view drags the others down, and those that know something help


@pytest.mark.parametrize(("model", "y"), MODELS, ids=NAMES)
def test_vectors_that_say_nothing_new_nothing_or_something_else_do_not_drag_the_words_down(model, y):
    words = words_of(TARGET, 0.3)
    alone = hits(model, Views(words=words), y)
    for vector in (means_of(words, 100), vectors_of(TARGET, 0.0), 4 * vectors_of(OTHER)):
        assert hits(model, Views(words=sparse.csr_matrix(words), vector=vector), y) >= alone - 0.02
    assert alone > 0.9


@pytest.mark.parametrize(("model", "y"), MODELS, ids=NAMES)
def test_vectors_help_where_words_are_few(model, y):
    words, vector = words_of(TARGET, 0.6, tokens=4), vectors_of(TARGET, 0.7)
    apart = [hits(model, X, y) for X in (Views(words=words), Views(vector=vector))]
    assert hits(model, Views(words=words, vector=vector), y) > max(apart[0] + 0.05, apart[1] - 0.01)


@pytest.mark.parametrize(
    ("model", "y"), [*MODELS[1:2], (MODELS[2][0], labels(2)), (LinkPLSA(K, n_init=3, random_state=0), None)]
)
def test_words_of_noise_do_not_drown_good_vectors(model, y):
    assert hits(model, Views(words=NOISE, vector=vectors_of(TARGET)), y) > 0.9


def test_plsa_weighs_nothing():
    X = Views(words=NOISE, vector=vectors_of(TARGET))
    plain = PLSA(K, max_iter=5, random_state=0).fit(X)
    tokens = X["words"].sum() + N
    rows = plain.transform(X)
    counts = (X["words"] * np.log(rows @ plain.topic_feature_["words"])).sum()
    noise = plain.noise_variance_["vector"]
    errors = ((X["vector"] - rows @ plain.topic_feature_["vector"]) ** 2).mean(axis=1)
    assert plain.score(X) == pytest.approx((counts - (np.log(noise) + errors / noise).sum() / 2) / tokens, rel=1e-5)


def test_a_weight_that_is_given_is_kept():
    X = Views(words=NOISE, vector=vectors_of(TARGET))
    assert LinkPLSA(K, view_weights=1.0, max_iter=2, random_state=0).fit(X).view_weights_ == {"words": 1, "vector": 1}
    given = LinkPLSA(K, view_weights={"vector": 3.0}, max_iter=2, random_state=0).fit(X)
    assert given.view_weights_ == {"words": 1, "vector": 3}
    plain, other = (
        LinkPLSA(K, view_weights={"words": w}, max_iter=2, random_state=0).fit(X).view_weights_ for w in (1.0, 2.0)
    )
    assert other == pytest.approx({view: 2 * weight for view, weight in plain.items()})


def test_a_view_of_learned_weight_zero_makes_no_start():
    words, tags = words_of(TARGET, 0.3), words_of(TARGET, 0.3, seed=5)
    X, y = Views(words=words, tags=tags, vector=vectors_of(OTHER)), labels(6)
    learned = MultiViewPLSAClassifier(4, view_weights="auto", random_state=0).fit(X, y)
    assert learned.view_weights_ == {"words": 1.0, "tags": 1.0, "vector": 0.0}
    given = MultiViewPLSAClassifier(4, view_weights=learned.view_weights_, random_state=0).fit(X, y)
    assert_allclose(learned.memberships_, given.memberships_)


# -- time


def test_views_that_there_is_no_time_for_count_as_one_token():
    X = Views(words=GOOD, vector=vectors_of(TARGET))
    token, found = compute_vector_weights(X, ["vector"], {"words": 1.0}, K, 0, deadline=Deadline.after(1e-9))
    assert found == {"vector": 1.0}
    model = LinkPLSA(K, random_state=0).set_callbacks(TimeBudget(1e-9)).fit(X)
    assert model.view_weights_ == {"words": 1.0, "vector": token}


def test_the_likeliest_start_is_likeliest_by_words_and_vectors():
    by_target, by_other = np.eye(K)[TARGET], np.eye(K)[OTHER]
    X = Views(words=words_of(TARGET, 0.1), vector=vectors_of(OTHER))
    assert choose_likeliest(X, [by_target, by_other], {"vector": 24.0}, dense={"vector": "gaussian"}) is by_other
    assert choose_likeliest(X, [by_other, by_target], {"vector": 0.01}, dense={"vector": "gaussian"}) is by_target
