"""Topics that are guided by seeds."""

from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

from coview import PLSA, DualPLSA, LazyViews, LinkPLSA, MultiViewPLSA, Views, inspect, load, save, set_group_names
from coview.plsa.starts import read_seeds

WORDS = ["game", "team", "goal", "moon", "orbit", "rocket", "bread", "oven", "salt", "the"]
TAGS = ["nhl", "nasa", "food", "x"]


def make_views(n=90, dense=False, seed=0):
    """Objects of three subjects with three words and one tag of their own each, and one word and tag of all."""
    rng = np.random.default_rng(seed)
    subject = np.arange(n) % 3
    rates = np.full((3, 10), 0.15)
    tags = np.full((3, 4), 0.1)
    for k in range(3):
        rates[k, 3 * k : 3 * k + 3] = 3
        tags[k, k] = 2
    words, marks = rng.poisson(rates[subject]), rng.poisson(tags[subject])
    words[:, 9] += 1
    make = np.asarray if dense else sparse.csr_array
    X = Views(words=make(words), tags=make(marks), feature_names={"words": WORDS, "tags": TAGS})
    return X, subject


MODELS = [
    PLSA(3, max_iter=40, random_state=0),
    LinkPLSA(3, max_iter=40, random_state=0),
    MultiViewPLSA(3, 4, max_iter=40, random_state=0),
    DualPLSA(3, 4, max_iter=40, random_state=0),
]
SEEDS = {"cooking": ["bread"], "space": {"words": ["moon"]}, "sport": {"tags": ["nhl"]}}


def named(models):
    return pytest.mark.parametrize("model", models, ids=lambda model: type(model).__name__)


@named(MODELS)
def test_a_seeded_topic_is_about_its_seeds_with_its_number_and_name(model):
    X, subject = make_views(dense=isinstance(model, PLSA))
    model = clone(model).set_params(seeds=SEEDS).fit(X)
    assert model.group_names_ == {"0": "cooking", "1": "space", "2": "sport"}
    assert inspect(model).group_names == ["cooking", "space", "sport"]
    assert len(model.memberships_) == len(X)
    assert np.mean(model.memberships_.argmax(axis=1) == 2 - subject) > 0.9
    assert np.mean(model.transform(X).argmax(axis=1) == 2 - subject) > 0.9


@named(MODELS)
def test_the_objective_never_falls(model):
    X, _ = make_views()
    fitted = clone(model).set_params(seeds=SEEDS, seed_strength=0.5, tol=0, max_iter=25).fit(X)
    steps = np.diff(fitted.history_["objective"])
    assert steps.min() >= -1e-8 * abs(fitted.history_["objective"][-1])


def test_a_fixed_point_is_that_of_em_with_a_dirichlet_prior():
    """The update of the topics, by the textbook: expected counts plus pseudo-counts, as shares."""
    X, _ = make_views()
    strength, n_topics = 0.4, 3
    model = LinkPLSA(3, seeds={0: ["bread"], 1: ["moon"]}, seed_strength=strength, tol=0, max_iter=1000, random_state=0)
    model.fit(X)
    for view, topics in model.topic_feature_.items():
        counts, theta = X[view].toarray(), model.memberships_
        expected = np.zeros_like(topics)
        for d in range(len(counts)):
            joint = theta[d][:, None] * topics
            expected += counts[d] * joint / joint.sum(axis=0)
        if view == "words":
            mass = strength * counts.sum() / n_topics
            expected[0, WORDS.index("bread")] += mass
            expected[1, WORDS.index("moon")] += mass
        assert_allclose(expected / expected.sum(axis=1, keepdims=True), topics, atol=2e-5)


@named(MODELS)
def test_engines_agree(model):
    engines = ["cpu", "reference"]
    if find_spec("torch"):
        from coview.engines.cuda import CudaEngine

        engines.append(CudaEngine("cpu"))
    X, _ = make_views()
    one, *others = (clone(model).set_params(seeds=SEEDS, engine=e, max_iter=10).fit(X) for e in engines)
    for other in others:
        assert_allclose(one.memberships_, other.memberships_, atol=1e-6)
        assert_allclose(one.history_["objective"], other.history_["objective"], rtol=1e-9)


@named(MODELS[:2])
def test_minibatches_keep_the_numbers(model):
    X, subject = make_views(300)
    model = clone(model).set_params(seeds=SEEDS)
    for start in range(0, 300, 60):
        model.partial_fit(X[start : start + 60])
    assert len(model.memberships_) == 60
    assert np.mean(model.transform(X).argmax(axis=1) == 2 - subject) > 0.9
    set_group_names(model, {0: "Kitchen"})
    assert model.partial_fit(X[:60]).group_names_["0"] == "Kitchen"


def test_seeds_and_names_are_saved(tmp_path):
    X, _ = make_views()
    model = LinkPLSA(3, seeds={2: ["moon"], "cooking": ["bread"]}, random_state=0, max_iter=5).fit(X)
    assert model.group_names_ == {"0": "cooking"}
    save(model, tmp_path / "m.coview")
    again = load(tmp_path / "m.coview")
    assert again.seeds == model.seeds and again.group_names_ == model.group_names_
    assert_allclose(again.transform(X), model.transform(X))


@pytest.mark.parametrize("kind", [int, np.uint8, np.float32])
def test_weights_may_be_numbers_of_any_kind(kind):
    seeds = read_seeds(
        {"a": {"words": {"team": kind(1), "moon": kind(3)}}}, 1, {"words": 2}, {"words": ["team", "moon"]}
    )
    assert_allclose(seeds.weights["words"].toarray(), [[1 / 4, 3 / 4]])


def test_vectors_beside_counts_have_no_pseudo_counts():
    X, subject = make_views()
    vectors = np.eye(3)[subject] * 4 + np.random.default_rng(0).normal(size=(90, 3))
    both = Views(words=X["words"], vector=vectors, feature_names={"words": WORDS})
    model = LinkPLSA(3, seeds={"game": ["game"], "moon": ["moon"], "bread": ["bread"]}, random_state=0).fit(both)
    assert np.mean(model.memberships_.argmax(axis=1) == subject) > 0.9
    assert np.isfinite(model.group_means_["vector"]).all()


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ({}, "must seed at least one topic"),
        ({0: ["goel"]}, r"nothing for topic 0 .* got \['goel'\]. Did you mean 'goal'"),
        ({3: ["goal"]}, "numbers of topics from 0 to 2 as keys, got 3"),
        ({"a": ["goal"], "b": ["team"], "c": ["moon"], "d": ["salt"]}, "numbers of topics from 0 to 2 as keys"),
        ({"a": "goal"}, "must have a list of features"),
        ({"a": {"wrods": ["goal"]}}, "names view 'wrods' for topic 'a'.*Did you mean 'words'"),
        ({"a": {"words": {"goal": -1}}}, "positive weights, got -1"),
        ({1.5: ["goal"]}, "names or numbers of topics from 0 to 2 as keys, got 1.5"),
        ("moon", "'seeds' parameter of LinkPLSA must be"),
    ],
)
def test_seeds_that_cannot_be_are_refused(seeds, message):
    X, _ = make_views()
    with pytest.raises(ValueError, match=message):
        LinkPLSA(3, seeds=seeds, random_state=0).fit(X)


def test_seeds_that_are_no_features_are_told_of():
    X, _ = make_views()
    with pytest.warns(UserWarning, match="left out: 'penguin'"):
        LinkPLSA(3, seeds={0: ["goal", "penguin"]}, random_state=0, max_iter=2).fit(X)


def test_lazy_views_and_two_starts_are_refused():
    X, _ = make_views()
    with pytest.raises(ValueError, match="seeds require in-memory views"):
        LinkPLSA(3, seeds=SEEDS).fit(LazyViews.from_views(X, 30))
    with pytest.raises(ValueError, match="both say where objects start"):
        LinkPLSA(3, seeds=SEEDS, init={"memberships": np.ones((90, 3))}).fit(X)


def test_columns_of_a_view_without_names_need_no_view():
    counts = np.random.default_rng(0).poisson(1.0, (20, 6))
    settings = {"random_state": 0, "max_iter": 5}
    plain, named = (PLSA(2, seeds=seeds, **settings).fit(counts) for seeds in ({0: [1, 2]}, {0: {"x": [1, 2]}}))
    np.testing.assert_array_equal(plain.topic_feature_["x"], named.topic_feature_["x"])
