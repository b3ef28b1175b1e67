"""Objects that no group explains."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from coview import PLSA, LinkPLSA, Views, edit, inspect
from coview.datasets import make_topic_views
from coview.inspection import outliers as module
from coview.inspection.reading import read_groups


def corpus(n, seed, width=60, length=40, shift=0):
    """Counts of objects with one of three topics each; `shift` turns the topics into those of another corpus."""
    rng = np.random.default_rng(seed)  # or a generator, that goes on
    topics = np.full((3, width), 0.05)
    for k in range(3):
        topics[k, (np.arange(8) + 8 * k + shift) % width] = 3
    topics /= topics.sum(axis=1, keepdims=True)
    lengths = rng.integers(length // 4, 3 * length, n)
    return np.array([rng.multinomial(lengths[d], topics[d % 3]) for d in range(n)])


@pytest.fixture(scope="module")
def mixed():
    """A model, usual new objects and then objects of another corpus, in two views."""

    def views(n, seed, shift):
        return Views(words=sparse.csr_array(corpus(n, seed, shift=shift)), tags=corpus(n, seed + 50, 40, 12, shift))

    model = LinkPLSA(3, random_state=0).fit(views(300, 0, 0))
    return inspect(model), Views.concat([views(270, 1, 0), views(30, 2, 30)]), np.arange(300) >= 270, views(300, 3, 0)


def test_objects_of_another_corpus_are_found(mixed):
    model, X, other, _ = mixed
    table = model.outliers(X)
    assert roc_auc_score(other, -table.scores) > 0.98
    assert set(table["row"]) <= set(np.flatnonzero(table.scores < table.threshold))
    assert np.mean(table.scores[other] < table.threshold) > 0.9
    assert table["score"] == sorted(table["score"]) and len(table["name"]) == len(table["row"])
    assert {"score: words", "score: tags"} <= set(table)


@pytest.fixture(scope="module")
def known():
    """A model of objects of 3 to 80 tokens, and a function that draws new ones of given lengths."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(400, 0.05), size=5)

    def draw(lengths):
        rows = [rng.multinomial(n, rng.dirichlet(np.full(5, 0.1)) @ topics) for n in lengths]
        return Views(words=sparse.csr_array(np.array(rows, dtype=np.float64)))

    return inspect(LinkPLSA(5, random_state=0).fit(draw(rng.integers(3, 80, 800)))), draw


@pytest.mark.parametrize("lengths", [[4], [3, 5, 20, 80]])
def test_a_reference_keeps_the_rate_of_false_alarms(known, lengths, monkeypatch):
    monkeypatch.setattr(module, "MADE", 500)
    model, draw = known
    p_values = []
    for seed in range(4):
        X = draw(np.resize(lengths, 150))
        for n in (100, 400):
            table = model.outliers(X, reference=draw(np.resize(lengths, n)), false_alarm=0.05, random_state=seed)
            p_values.append(table.p_values)
            assert_array_equal(table.p_values <= 0.05, table.scores < table.threshold)
    assert 0.05 / 3 < np.mean(np.array(p_values) <= 0.05) < 0.06


def test_objects_of_four_tokens_keep_the_rate_without_a_reference(known):
    model, draw = known
    p_values = np.array([model.outliers(draw(np.full(600, 4)), random_state=seed).p_values for seed in range(5)])
    assert np.mean(p_values <= 0.01) < 0.014 and 0.05 / 3 < np.mean(p_values <= 0.05) < 0.06


def test_objects_of_enough_tokens_have_the_rate_without_a_reference(known):
    model, draw = known
    tables = [model.outliers(draw(np.resize([20, 40, 80], 600)), random_state=seed) for seed in range(4)]
    assert 0.05 / 3 < np.mean(np.array([table.p_values for table in tables]) <= 0.05) < 0.06


@pytest.mark.parametrize(("lengths", "rate", "least"), [([4], 0.05, 0.25), ([20, 40, 80], 0.01, 0.9)])
def test_objects_of_other_topics_are_found_without_a_reference(known, lengths, rate, least):
    model, draw = known
    words = draw(np.resize(lengths, 600))["words"].toarray()
    words[:60] = np.roll(words[:60], 7, axis=1)  # the words of a topic become others, rare or of several topics
    assert np.mean(model.outliers(Views(words=words)).p_values[:60] <= rate) > least


def test_words_and_vectors_keep_the_rate_without_a_reference():
    rng = np.random.default_rng(0)
    centers = 5 * rng.normal(size=(3, 10))

    def draw(n):
        words = corpus(n, rng, length=16)
        return Views(words=words, vector=centers[np.arange(n) % 3] + rng.normal(size=(n, 10)))

    model = inspect(LinkPLSA(3, random_state=0).fit(draw(300)))
    assert np.mean(np.array([model.outliers(draw(400)).p_values for _ in range(3)]) <= 0.01) < 0.02


def test_no_more_outliers_than_by_chance_is_no_finding(known, mixed):
    model, draw = known
    usual = model.outliers(draw(np.resize([5, 20, 80], 600)), false_alarm=0.05)
    assert usual["row"] and not usual.exceeds_chance and repr(usual).startswith("No more outliers than by chance: ")
    model, X, _, _ = mixed
    assert model.outliers(X).exceeds_chance and repr(model.outliers(X)).startswith(
        f"{len(model.outliers(X)['row'])} outliers"
    )


@pytest.mark.parametrize(
    ("count", "lowest", "expected"),
    [(46, 2e-3, False), (75, 2e-3, False), (110, 2e-3, True), (20, 1e-3, True), (0, 1.0, False)],
)
def test_chance_is_told_by_number_and_by_the_clearest(count, lowest, expected):
    p_values = np.full(7547, 0.5)
    p_values[:count] = lowest
    assert module._judge(p_values, 0.01)[0] == expected


def test_usual_objects_among_themselves_have_few_outliers(mixed):
    model, _, _, usual = mixed
    assert len(model.outliers(usual, false_alarm=0.01)["row"]) <= 0.04 * len(usual)


def test_the_length_of_an_object_does_not_decide(mixed):
    model, _, _, usual = mixed
    length = usual["words"].sum(axis=1) + usual["tags"].sum(axis=1)
    assert abs(spearmanr(length, model.outliers(usual).scores)[0]) < 0.15


@pytest.mark.parametrize("n", [80, 400])
def test_fits_of_objects_shorter_than_the_reference_are_standardized_too(n):
    rng = np.random.default_rng(0)

    def draw(lengths):  # fits as means of so many tokens are
        return 0.3 * np.log(lengths) + rng.normal(size=len(lengths)) / np.sqrt(lengths)

    middles, spreads, short = [], [], np.full(500, 4.0)
    for _ in range(30):  # the spread of a few objects is not known well
        usual = np.exp(rng.uniform(np.log(20), np.log(200), n))
        scores = module._standardized(draw(short), short, draw(usual), usual)
        middles.append(np.median(scores))
        spreads.append(np.std(scores))
    assert abs(np.median(middles)) < 0.5 and 0.7 < np.median(spreads) < 1.4


def test_objects_of_noise_are_left_out_and_do_not_hide_others(mixed):
    model, X, other, reference = mixed
    before = model.outliers(X)
    noise = edit(model.preparation.model).mark_noise(1)
    codes = read_groups(inspect(noise), X).codes
    for given in (None, reference):
        table = inspect(noise).outliers(X, reference=given)
        assert np.isnan(table.scores[codes < 0]).all() and np.isfinite(table.scores[codes >= 0]).all()
        assert f"{int((codes < 0).sum())} more are noise" in repr(table) and table.n_noise == (codes < 0).sum()
        assert np.mean(table.scores[other & (codes >= 0)] < table.threshold) > 0.9
        assert len(table["row"]) <= len(before["row"]) + 5


def test_few_objects_cannot_say_what_is_usual(mixed, recwarn):
    model, X, _, reference = mixed
    with pytest.warns(UserWarning, match="^3 objects cannot say what is usual.* Pass more usual objects as reference"):
        table = model.outliers(X[:3])
    assert list(table) == list(model.outliers(X)) and table["group"] == [] == table["name"]
    recwarn.clear()
    model.outliers(X[:3], reference=reference)
    assert not recwarn


def test_a_view_of_vectors_may_be_sparse():
    rng = np.random.default_rng(0)
    words = corpus(60, 0)
    vectors = 5 * np.eye(3)[np.arange(60) % 3] + rng.normal(size=(60, 3))
    model = inspect(LinkPLSA(3, random_state=0).fit(Views(words=words, vector=vectors)))
    scores = model.outliers(Views(words=words, vector=vectors)).scores
    assert_allclose(model.outliers(Views(words=words, vector=sparse.csr_array(vectors))).scores, scores)


def test_entries_are_looked_at_in_parts(mixed, monkeypatch):
    model, X, _, _ = mixed
    whole = model.outliers(X).scores
    monkeypatch.setattr(module, "MOST_VALUES", 300)
    assert_allclose(model.outliers(X).scores, whole)


def test_the_fit_is_that_of_the_formula():
    X = Views(words=sparse.csr_array(corpus(30, 0)))
    model = inspect(PLSA(3, random_state=0, max_iter=20).fit(X))
    profiles = module._profiles(model, X)
    fits, tokens = module._fits(model, X, profiles, 5)
    halves = module._halves(X, ["words"], 5)
    assert_allclose(halves[0]["words"].toarray() + halves[1]["words"].toarray(), X["words"].toarray())
    sizes = model.training.memberships.sum(axis=0)
    p = model.features("words")
    q = sizes @ p / sizes.sum()
    for d in range(30):
        ways = []
        for given, held in (halves, halves[::-1]):
            m, x = model.memberships(given[[d]])[0], held["words"].toarray()[d]
            terms = [
                x[f] * (np.log(0.9 * sum(m[k] * p[k, f] for k in range(3)) + 0.1 * q[f]) - np.log(q[f]) / 2)
                for f in range(len(x))
            ]
            ways.append(sum(terms) / x.sum())
        assert fits["words"][d] == pytest.approx(np.mean(ways), rel=1e-6)
        assert tokens["words"][d] == X["words"].toarray()[d].sum()


def test_vectors_far_from_what_the_words_expect_are_found():
    lowest = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        words, topic = corpus(200, seed), np.arange(200) % 3
        vectors = 5 * np.eye(3)[topic] + rng.normal(size=(200, 3))
        model = inspect(LinkPLSA(3, random_state=0).fit(Views(words=words, vector=vectors)))
        odd = vectors.copy()
        odd[:5] = np.roll(odd[:5], 1, axis=1)
        table = model.outliers(Views(words=words, vector=odd))
        assert set(range(5)) <= set(table["row"]) and len(table["row"]) < 8
        lowest += np.argsort(table.scores)[:5].tolist()
    assert np.mean(np.array(lowest) < 5) >= 0.95
    alone = inspect(LinkPLSA(3, random_state=0).fit(Views(vector=vectors)))
    odd[:5] = 40.0
    assert set(range(5)) <= set(alone.outliers(Views(vector=odd))["row"])


def test_objects_of_which_too_little_is_known_are_not_judged(mixed):
    model, X, _, _ = mixed
    words, tags = X["words"].toarray(), np.asarray(X["tags"]).copy()
    words[0], tags[0] = 0, 0
    table = model.outliers(Views(words=words, tags=tags))
    assert np.isnan(table.scores[0]) and 0 not in table["row"]
    assert "of 1 more too little is known" in repr(table)


def test_an_object_that_lacks_a_view_is_judged_by_the_others(mixed):
    model, X, other, _ = mixed
    present = np.arange(300) % 2 == 0
    tags = np.asarray(X["tags"]) * present[:, None]
    partly = Views(words=X["words"], tags=tags, present={"tags": present})
    table = model.outliers(partly)
    assert np.isfinite(table.scores).all() and roc_auc_score(other, -table.scores) > 0.95
    assert roc_auc_score(other, -model.outliers(X.select("tags")).scores) > 0.8


@pytest.mark.parametrize("present", [True, False])
def test_a_view_that_nobody_has_tells_nothing(present):
    X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    model = LinkPLSA(3, max_iter=5, random_state=0).fit(X)
    first, second = X.names
    without = Views(
        {first: X[first], second: sparse.csr_array(X[second].shape)}, present={second: np.full(60, present)}
    )
    for reference in (None, without):
        found = inspect(model).outliers(without, reference=reference, false_alarm=0.05)
        assert np.isfinite(found.scores).all()
