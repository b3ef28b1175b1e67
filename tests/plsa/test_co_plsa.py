"""CoPLSA: its sweeps against a naive solver per object, its objective, its limits, missing views, and its edges."""

import importlib.util
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.special import wrightomega
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from coview import PLSA, Checkpoint, CoPLSA, LinkPLSA, UnitRows, Views, load, save
from coview.datasets import make_topic_views
from coview.exceptions import InterruptedFitWarning, ViewsError
from coview.plsa.divergences import DIVERGENCES

KINDS = tuple(DIVERGENCES)

_spec = importlib.util.spec_from_file_location("co_plsa_oracle", Path(__file__).with_name("co_plsa_oracle.py"))
oracle = importlib.util.module_from_spec(_spec)
sys.modules["co_plsa_oracle"] = oracle
_spec.loader.exec_module(oracle)


def corpus(n=24, views=2, seed=0, missing=0.0):
    """Counts whose views know the same three groups, features of decreasing number."""
    sizes = {f"view{v}": 20 - 4 * v for v in range(views)}
    return make_topic_views(n, sizes, 3, length=25, mixing=0.5, missing=missing, random_state=seed).views


def shares(X):
    """Dense rows that sum to one, by view; rows without any feature stay zero."""
    dense = {name: matrix.toarray() for name, matrix in X.items()}
    return {name: part / np.maximum(part.sum(axis=1, keepdims=True), 1e-300) for name, part in dense.items()}


def start(X, K, seed=0):
    rng = np.random.default_rng(seed)
    doc = {name: rng.dirichlet(np.ones(K), len(X)) for name in X.names}
    return {
        "memberships_by_view": doc,
        "topic_feature": {n: rng.dirichlet(np.ones(m), K) for n, m in X.n_features.items()},
    }


# -- the naive way: one root per object


def naive_mixture(divergence, q, others, weights):
    total = weights.sum()
    if total == 0:
        return q / q.sum() if q.sum() > 0 else np.mean(others, axis=0)
    mean, log_mean = weights @ others / total, weights @ np.log(others) / total
    p = q / total

    def entries(eta):
        if divergence == "skl":
            return (p + mean) / wrightomega(np.log(p + mean) - log_mean + 1 + eta)
        return 0.5 * ((mean - eta) + np.sqrt((mean - eta) ** 2 + 4 * p))

    return entries(brentq(lambda eta: entries(eta).sum() - 1, -40 - p.sum(), 40 + p.sum(), xtol=1e-15, rtol=1e-14))


def naive_sweeps(X, have, init, divergence, pairs, sweeps):
    names = sorted(X)
    doc = {name: part.copy() for name, part in init["memberships_by_view"].items()}
    topics = {name: part.copy() for name, part in init["topic_feature"].items()}

    def pull(name):
        return X[name] / np.maximum(doc[name] @ topics[name], 1e-300)

    def mixture(name, i, q):
        partners = [other for other in names if other != name and have[other][i]]
        weights = np.array([pairs[tuple(sorted((name, other)))] for other in partners])
        return naive_mixture(divergence, q, np.array([doc[other][i] for other in partners]), weights)

    for _ in range(sweeps):
        counts = {name: doc[name] * (pull(name) @ topics[name].T) for name in names}
        for name in names:
            doc[name] = np.array(
                [mixture(name, i, counts[name][i]) if have[name][i] else doc[name][i] for i in range(len(doc[name]))]
            )
        for name in names:
            for i in np.flatnonzero(~have[name]):
                doc[name][i] = mixture(name, i, np.zeros(doc[name].shape[1]))
        for name in names:
            topics[name] = topics[name] * (doc[name].T @ pull(name))
            topics[name] /= topics[name].sum(axis=1, keepdims=True)
    return doc, topics


@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize("divergence", ["skl", "l2"])
def test_sweeps_equal_one_root_per_object(divergence, engine):
    X = corpus(9, views=3, missing=0.2)
    init, pairs = start(X, 4), {("view0", "view1"): 0.3, ("view0", "view2"): 0.7, ("view1", "view2"): 0.1}
    have = {name: X.present[:, v] for v, name in enumerate(X.names)}
    model = CoPLSA(4, divergence=divergence, coupling=pairs, init=init, max_iter=4, tol=0, engine=engine).fit(X)
    doc, topics = naive_sweeps(shares(X), have, init, divergence, pairs, 4)
    for name in X.names:
        assert_allclose(model.memberships_by_view_[name], doc[name], atol=1e-8)
        assert_allclose(model.topic_feature_[name], topics[name], atol=1e-8)


def penalty(divergence, mixtures, have, pairs):
    """What the divergences of all pairs cost, pair by pair."""
    D = DIVERGENCES[divergence].pair
    return sum(c * D(mixtures[a], mixtures[b])[have[a] & have[b]].sum() for (a, b), c in pairs.items())


def value_of(model, X, have, pairs):
    """The objective of a fitted model, from its definition."""
    total = 0.0
    for name, part in shares(X).items():
        explained = model.memberships_by_view_[name] @ model.topic_feature_[name]
        total += (part[part > 0] * np.log(explained[part > 0])).sum()
    return total - penalty(model.divergence, model.memberships_by_view_, have, pairs)


@pytest.mark.parametrize("algorithm", ["fast", "published"])
@pytest.mark.parametrize("divergence", KINDS)
@pytest.mark.parametrize(("views", "missing"), [(2, 0.0), (3, 0.3)])
def test_the_objective_never_falls(divergence, views, missing, algorithm):
    X = corpus(views=views, missing=missing)
    have = {name: X.present[:, v] for v, name in enumerate(X.names)}
    for coupling in (1e-3, 1.0, 1e3):
        model = CoPLSA(5, divergence=divergence, coupling=coupling, init=start(X, 5), algorithm=algorithm)
        history = np.array(model.set_params(max_iter=40, tol=0).fit(X).history_["objective"])
        assert len(history) == 41
        assert (np.diff(history) >= -1e-10 * np.abs(history[:-1])).all()
        pairs = dict.fromkeys(combinations(sorted(X.names), 2), coupling)
        assert history[-1] == pytest.approx(value_of(model, X, have, pairs), rel=1e-9)
    counts = model.set_params(scale_rows=False, coupling=5.0).fit(X).history_["objective"]
    assert (np.diff(counts) >= -1e-10 * np.abs(counts[:-1])).all()


# -- the limits: no coupling, and coupling without bound


@pytest.mark.parametrize("divergence", KINDS)
def test_without_weight_every_view_is_a_plsa_of_its_own(divergence):
    X, K = corpus(), 3
    init = start(X, K)
    model = CoPLSA(K, divergence=divergence, coupling=0.0, init=init, max_iter=15, tol=0).fit(X)
    for name, part in shares(X).items():
        alone = {"memberships": init["memberships_by_view"][name], "topic_feature": init["topic_feature"][name]}
        right = PLSA(K, init=alone, max_iter=15, tol=0).fit(part)
        assert_allclose(model.topic_feature_[name], right.topic_feature_["x"], atol=1e-9)
        assert_allclose(model.memberships_by_view_[name], right.memberships_, atol=1e-9)


def test_l1_with_unequal_couplings_is_refused():
    with pytest.raises(ValueError, match="coupling must be the same for all pairs of views with divergence='l1'"):
        CoPLSA(2, divergence="l1", coupling={("view0", "view1"): 2.0}).fit(corpus(views=3))


def test_l1_with_a_large_weight_is_link_plsa():
    X, K = corpus(views=3), 3
    init = start(X, K)
    init["memberships_by_view"] = both = init["memberships_by_view"]["view0"]
    model = CoPLSA(K, divergence="l1", coupling=1e4, init=init, max_iter=20, tol=0).fit(X)
    same = {"memberships": both, "topic_feature": init["topic_feature"]}
    right = LinkPLSA(K, init=same, likelihood="multinomial", max_iter=20, tol=0).fit(Views(shares(X)))
    assert_array_equal(model.memberships_by_view_["view0"], model.memberships_by_view_["view2"])
    assert_allclose(model.memberships_by_view_["view1"], right.memberships_, atol=1e-9)
    assert_allclose(model.topic_feature_["view1"], right.topic_feature_["view1"], atol=1e-9)


@pytest.mark.parametrize("divergence", KINDS)
def test_more_weight_means_closer_mixtures(divergence):
    X, gaps = corpus(), []
    for coupling in (0.0, 0.1, 1.0, 10.0):
        doc = (
            CoPLSA(3, divergence=divergence, coupling=coupling, random_state=0, max_iter=100)
            .fit(X)
            .memberships_by_view_
        )
        gaps.append(np.abs(doc["view0"] - doc["view1"]).sum())
    assert gaps == sorted(gaps, reverse=True) and gaps[0] > 2 * gaps[-1]


# -- new objects


def test_entries_that_one_mixture_for_all_views_drives_to_zero_come_back():
    topics = {
        "a": np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]),
        "b": np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]),
    }
    case = oracle.Case(
        oracle.fixed_model(topics, coupling=0.03), Views({"a": np.array([[1.0, 7, 0]]), "b": np.array([[1.0, 9, 7]])})
    )
    doc = case.model.transform_by_view(case.views)
    assert_allclose(doc["b"][0], [0, 0.763, 0.237], atol=2e-3)
    assert oracle.value(case, 0, [doc["a"][0], doc["b"][0]]) == pytest.approx(-1.473, abs=5e-4)


@pytest.mark.parametrize("divergence", KINDS)
def test_new_objects_are_at_their_optimum(divergence):
    below = np.concatenate([oracle.shortfalls(case) for case in oracle.cases(divergence, 30, seed=11)])
    assert below.max() <= 1e-4


def test_l1_does_not_stick_in_fits():
    X = corpus(12, views=3, missing=0.2)
    model = CoPLSA(3, divergence="l1", coupling=0.1, random_state=0, max_iter=300, tol=0).fit(X)
    dense = X.map(lambda matrix: matrix.toarray())
    for i in range(12):  # of the topics that an object has at all: EM is slow to come back to others, whatever D is
        ours = [model.memberships_by_view_[name][i] for name in X.names]
        kept = np.max(ours, axis=0) > 1e-3
        topics = {name: part[kept] for name, part in model.topic_feature_.items()}
        case = oracle.Case(oracle.fixed_model(topics, divergence="l1", coupling=0.1), dense[i : i + 1])
        part = [h[kept] / h[kept].sum() for h in ours]
        assert oracle.value(case, 0, part) >= oracle.best(case, 0, [part]) - 1e-4


def test_one_view_is_folded_in_as_plsa_does():
    X = corpus()
    model = CoPLSA(3, random_state=0).fit(X)
    alone = PLSA(3, init={"topic_feature": model.topic_feature_["view1"]}, max_iter=1).fit(shares(X)["view1"])
    alone.topic_feature_ = {"x": model.topic_feature_["view1"]}
    assert_allclose(model.transform(X.select("view1")), alone.transform(shares(X)["view1"]), atol=1e-6)
    assert_allclose(
        model.transform_by_view(X.select("view1"))["view1"], model.transform(X.select("view1")), rtol=1e-9, atol=1e-12
    )


def test_transform_is_the_mean_over_the_views_that_an_object_has():
    X = corpus(30, views=3, missing=0.4)
    model = CoPLSA(3, random_state=0).fit(X)
    parts = model.transform_by_view(X)
    for i, row in enumerate(model.transform(X)):
        mine = [parts[name][i] for v, name in enumerate(X.names) if X.present[i, v]]
        assert_allclose(row, np.mean(mine, axis=0), atol=1e-12)


def test_an_absent_view_is_imputed_from_the_others():
    X = make_topic_views(150, {"words": 60, "image": 40}, 3, length=40, random_state=0).views
    model = CoPLSA(6, random_state=0).fit(X[:100])
    expected = model.impute(X[100:].select("words"), "image")
    assert expected.shape == (50, 40)
    assert_allclose(expected.sum(axis=1), 1, atol=1e-9)
    truth = shares(X[100:])["image"]
    usual = shares(X[:100])["image"].mean(axis=0)
    # cross entropy beside that of the usual features
    assert (truth * np.log(expected)).sum() > (truth * np.log(usual.clip(1e-3))).sum()


def test_with_one_partner_the_imputed_mixture_is_the_partners():
    X = corpus(30, missing=0.4)
    model = CoPLSA(3, random_state=0).fit(X)
    lacks = ~X.present[:, 0]
    assert_allclose(model.memberships_by_view_["view0"][lacks], model.memberships_by_view_["view1"][lacks], atol=1e-12)
    topics = model.topic_feature_["view0"]
    given = X.select("view1")
    assert_allclose(model.impute(given, "view0"), model.transform(given) @ topics, atol=1e-4)


def test_an_object_without_any_feature_is_an_even_mixture():
    X = corpus(10).map(lambda matrix: matrix.multiply(np.arange(10)[:, None] > 0).tocsr())
    model = CoPLSA(3, random_state=0).fit(X)
    assert_allclose(model.transform(X)[0], 1 / 3)
    assert_allclose(model.memberships_by_view_["view0"][0], 1 / 3)


# -- starts, scores, online learning, files


def test_a_fit_goes_on_from_what_another_left():
    X = corpus(views=3)
    whole = CoPLSA(3, random_state=0, max_iter=10, tol=0).fit(X)
    half = CoPLSA(3, random_state=0, max_iter=5, tol=0).fit(X)
    rest = CoPLSA(
        3,
        init={"memberships_by_view": half.memberships_by_view_, "topic_feature": half.topic_feature_},
        max_iter=5,
        tol=0,
    ).fit(X)
    assert_allclose(rest.history_["objective"], whole.history_["objective"][5:], rtol=1e-12)


def test_scaling_makes_the_length_of_an_object_irrelevant():
    X = corpus()
    longer = X.map(lambda matrix: matrix.multiply(1.0 + np.arange(24)[:, None]).tocsr())
    one, other = (CoPLSA(3, random_state=0, max_iter=20, tol=0).fit(V) for V in (X, longer))
    assert_allclose(one.memberships_by_view_["view0"], other.memberships_by_view_["view0"], atol=1e-9)
    raw = CoPLSA(3, random_state=0, max_iter=20, tol=0, scale_rows=False).fit(longer)
    assert not np.allclose(raw.memberships_by_view_["view0"], one.memberships_by_view_["view0"], atol=1e-3)


def test_score_is_the_likelihood_per_token():
    X = corpus()
    model = CoPLSA(3, random_state=0).fit(X)
    doc = model.transform_by_view(X)
    total = sum(matrix.multiply(np.log(doc[name] @ model.topic_feature_[name])).sum() for name, matrix in X.items())
    tokens = sum(matrix.sum() for matrix in X.values())
    assert model.score(X) == pytest.approx(total / tokens, rel=1e-9)
    assert model.perplexity(X) == pytest.approx(np.exp(-total / tokens), rel=1e-9)


def test_a_resumed_fit_is_the_same(tmp_path, stop_at):
    X = corpus(views=3)
    settings = {"coupling": {("view1", "view0"): 0.2}, "random_state": 3, "tol": 0}
    whole = CoPLSA(3, max_iter=12, **settings).fit(X)

    path = Checkpoint(tmp_path / "fit", every=4)
    with pytest.warns(InterruptedFitWarning):
        CoPLSA(3, max_iter=12, **settings).set_callbacks(path, stop_at(9)).fit(X)
    resumed = CoPLSA(3, max_iter=12, **settings).set_callbacks(path).fit(X)
    assert_array_equal(resumed.memberships_by_view_["view2"], whole.memberships_by_view_["view2"])


@pytest.mark.parametrize("piped", [False, True])
def test_weights_by_pair_come_back_from_a_file(tmp_path, piped):
    X, coupling = corpus(), {("view0", "view1"): 3.0}
    model = CoPLSA(3, random_state=0, coupling=coupling, max_iter=5)
    model = (make_pipeline(UnitRows("l1"), model) if piped else model).fit(X)
    save(model, tmp_path / "model.coview")
    again = load(tmp_path / "model.coview")
    assert (again[-1] if piped else again).coupling == coupling
    assert_array_equal(again.transform(X), model.transform(X))
    assert_array_equal(clone(again).fit(X).transform(X), model.transform(X))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"divergence": "kl"}, "divergence.* must be a str among.* Got 'kl'"),
        ({"coupling": -1}, "coupling.* must be a float in the range.* Got -1"),
        ({"coupling": {"view0": 1}}, "coupling has the key 'view0', which is not a pair of the views 'view0', 'view1'"),
        ({"coupling": {("view0", "view1"): None}}, "coupling of .* must be a float in the range"),
        ({"init": "nndsvd"}, "'init' parameter .* must be a str among .* Got 'nndsvd'"),
        ({"init": {"memberships_by_view": {"image": np.ones((24, 3))}}}, "names view 'image'"),
        ({"init": {"memberships_by_view": np.ones((2, 3))}}, "shape"),
    ],
)
def test_bad_parameters_are_refused_with_a_sentence(settings, message):
    with pytest.raises(ValueError, match=message):
        CoPLSA(**{"n_components": 3, **settings}).fit(corpus())


def test_one_view_is_refused_with_a_sentence():
    with pytest.raises(ViewsError, match=r"CoPLSA needs at least 2 views, got 1 \('view0'\)"):
        CoPLSA(2).fit(corpus().select("view0"))
    model = CoPLSA(2, random_state=0).fit(corpus())
    with pytest.raises(ViewsError, match="must name one of the fitted views"):
        model.impute(corpus(), "image")
