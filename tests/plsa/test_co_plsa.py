"""CoPLSA: its sweeps against a naive solver per object, its objective, its limits, missing views, and its edges."""

from __future__ import annotations

import importlib.util
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from corpora import data_home, load_webkb
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq, minimize, root
from scipy.special import softmax, wrightomega
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from coview import PLSA, Checkpoint, CoPLSA, LinkPLSA, UnitRows, Views, load, save
from coview.datasets import make_topic_views
from coview.exceptions import InterruptedFitWarning, ViewsError
from coview.plsa.divergences import DAMPING, DIVERGENCES
from coview.views.lazy import LazyViews

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


# -- the naive way: one root per object, entries of L1 by trying every candidate


def naive_mixture(divergence, q, others, weights):
    total = weights.sum()
    if total == 0:
        return q / q.sum() if q.sum() > 0 else np.mean(others, axis=0)
    if divergence == "l1":
        return np.mean(others, axis=0)
    mean, log_mean = weights @ others / total, weights @ np.log(others) / total
    p = q / total

    def entries(eta):
        if divergence == "skl":
            return (p + mean) / wrightomega(np.log(p + mean) - log_mean + 1 + eta)
        return 0.5 * ((mean - eta) + np.sqrt((mean - eta) ** 2 + 4 * p))

    return entries(brentq(lambda eta: entries(eta).sum() - 1, -40 - p.sum(), 40 + p.sum(), xtol=1e-15, rtol=1e-14))


def partitions(views):
    """Every way in which some views can be tied in groups, from the highest group to the lowest."""
    if not views:
        yield []
    for size in range(1, len(views) + 1):
        for top in combinations(views, size):
            for rest in partitions([v for v in views if v not in top]):
                yield [top, *rest]


def naive_joint_l1(q, old, weights):
    """Mixtures of all views at once: multipliers by a root finder, each topic by trying every order of the views."""
    m, K = q.shape

    def entries(q, eta):
        h = np.full((m, K), np.nan)
        for k in range(K):
            best = -np.inf
            for groups in partitions(list(range(m))):
                costs = np.array(eta)
                for i, j in combinations(range(len(groups)), 2):
                    for a in groups[i]:
                        for b in groups[j]:
                            costs[a] += weights[a, b]
                            costs[b] -= weights[a, b]
                masses, prices = (np.array([x[list(g)].sum() for g in groups]) for x in (q[:, k], costs))
                values = masses / np.where(prices > 0, prices, np.nan)
                if not np.isfinite(values).all() or (np.diff(values) > 0).any():
                    continue
                gain = (masses * np.log(values)).sum()  # prices * values = masses, whatever the groups
                if gain > best:
                    best = gain
                    for g, value in zip(groups, values):
                        h[list(g), k] = value
        return h

    totals = q.sum(axis=1)
    tied = (entries(q, totals).sum(axis=1) - 1).round(10)
    if not tied.any():
        return entries(q, totals)
    q = q + DAMPING * totals[:, None] * old
    found = root(lambda eta: np.nan_to_num(entries(q, eta).sum(axis=1), nan=1e3) - 1, q.sum(axis=1), tol=1e-13)
    assert np.abs(found.fun).max() < 1e-9
    return entries(q, found.x)


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
        if divergence == "l1":
            for i in range(len(have[names[0]])):
                mine = [name for name in names if have[name][i]]
                weights = np.array([[pairs.get(tuple(sorted((a, b))), 0.0) for b in mine] for a in mine])
                old, q = np.array([doc[n][i] for n in mine]), np.array([counts[n][i] for n in mine])
                for name, row in zip(mine, naive_joint_l1(q, old, weights)):
                    doc[name][i] = row
        else:
            for name in names:
                doc[name] = np.array(
                    [
                        mixture(name, i, counts[name][i]) if have[name][i] else doc[name][i]
                        for i in range(len(doc[name]))
                    ]
                )
        for name in names:
            for i in np.flatnonzero(~have[name]):
                doc[name][i] = mixture(name, i, np.zeros(doc[name].shape[1]))
        for name in names:
            topics[name] = topics[name] * (doc[name].T @ pull(name))
            topics[name] /= topics[name].sum(axis=1, keepdims=True)
    return doc, topics


@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize("divergence", KINDS)
def test_sweeps_equal_one_root_per_object(divergence, engine):
    X = corpus(9, views=3, missing=0.2)
    init, pairs = start(X, 4), {("view0", "view1"): 0.3, ("view0", "view2"): 0.7, ("view1", "view2"): 0.1}
    if DIVERGENCES[divergence].one_coupling:
        pairs = dict.fromkeys(pairs, 0.3)
    have = {name: X.present[:, v] for v, name in enumerate(X.names)}
    model = CoPLSA(4, divergence=divergence, coupling=pairs, init=init, max_iter=4, tol=0, engine=engine).fit(X)
    doc, topics = naive_sweeps(shares(X), have, init, divergence, pairs, 4)
    for name in X.names:
        assert_allclose(model.memberships_by_view_[name], doc[name], atol=1e-8)
        assert_allclose(model.topic_feature_[name], topics[name], atol=1e-8)


def test_the_engine_of_torch_agrees():
    pytest.importorskip("torch", reason="torch is not installed: the CUDA engine's plain path is not checked")
    from coview.engines.cuda import CudaEngine

    X = corpus(views=3, missing=0.2)
    for divergence in KINDS:
        settings = {"divergence": divergence, "max_iter": 8, "tol": 0, "random_state": 0}
        ours, right = CoPLSA(3, engine=CudaEngine("cpu"), **settings).fit(X), CoPLSA(3, **settings).fit(X)
        assert_allclose(ours.history_["objective"], right.history_["objective"], rtol=1e-10)
        assert_allclose(ours.transform(X), right.transform(X), atol=1e-8)


# -- the objective


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
@pytest.mark.parametrize("views", [2, 3, 4])
def test_the_objective_never_falls(divergence, views, algorithm):
    for coupling in (1e-3, 1.0, 1e3):
        for missing in (0.0, 0.3):
            X = corpus(views=views, missing=missing)
            init = start(X, 5) if coupling == 1.0 else "random"
            model = CoPLSA(5, divergence=divergence, coupling=coupling, init=init, algorithm=algorithm, random_state=1)
            history = np.array(model.set_params(max_iter=60, tol=0).fit(X).history_["objective"])
            assert len(history) == 61
            assert (np.diff(history) >= -1e-10 * np.abs(history[:-1])).all()
            have = {name: X.present[:, v] for v, name in enumerate(X.names)}
            pairs = dict.fromkeys(combinations(sorted(X.names), 2), coupling)
            assert history[-1] == pytest.approx(value_of(model, X, have, pairs), rel=1e-9)


def test_the_objective_never_falls_on_unscaled_counts():
    for divergence in KINDS:
        history = (
            CoPLSA(4, divergence=divergence, coupling=5.0, scale_rows=False, random_state=0, tol=0, max_iter=60)
            .fit(corpus())
            .history_["objective"]
        )
        assert (np.diff(history) >= -1e-10 * np.abs(history[:-1])).all()


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


def best_joint(divergence, x, topics, coupling):
    """Mixtures of two views that maximize the objective of one object, by a general optimizer."""
    K = len(topics[0])

    def loss(free):
        doc = softmax(free.reshape(2, K), axis=1)
        fit = sum((part * np.log(h @ t)).sum() for part, h, t in zip(x, doc, topics))
        return coupling * DIVERGENCES[divergence].pair(doc[:1], doc[1:])[0] - fit

    return min(minimize(loss, s, method="BFGS").fun for s in np.random.default_rng(0).normal(size=(3, 2 * K)))


@pytest.mark.parametrize("coupling", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("divergence", ["skl", "l2"])
def test_joint_fold_in_is_the_best_pair_of_mixtures(divergence, coupling):
    X = corpus(12)
    model = CoPLSA(3, divergence=divergence, coupling=coupling, random_state=0).fit(X)
    doc, data = model.transform_by_view(X), shares(X)
    topics = [model.topic_feature_[name] for name in X.names]
    for i in range(4):
        fit = sum((data[n][i] * np.log(doc[n][i] @ t)).sum() for n, t in zip(X.names, topics))
        gap = coupling * DIVERGENCES[divergence].pair(*(doc[n][i : i + 1] for n in X.names))[0]
        best = -best_joint(divergence, [data[n][i] for n in X.names], topics, coupling)
        assert fit - gap == pytest.approx(best, abs=2e-4)


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
    below = np.concatenate([oracle.shortfalls(case) for case in oracle.cases(divergence, 60, seed=11)])
    assert below.max() <= 1e-4


@pytest.mark.parametrize("views", [2, 3])
def test_l1_does_not_stick_in_fits(views):
    X = corpus(12, views=views, missing=0.2)
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


@pytest.mark.parametrize("divergence", KINDS)
def test_an_absent_view_is_imputed_from_the_others(divergence):
    made = make_topic_views(300, {"words": 60, "image": 40}, 3, length=40, random_state=0)
    X = made.views
    model = CoPLSA(6, divergence=divergence, random_state=0).fit(X[:200])
    expected = model.impute(X[200:].select("words"), "image")
    assert expected.shape == (100, 40)
    assert_allclose(expected.sum(axis=1), 1, atol=1e-9)
    truth = shares(X[200:])["image"]
    usual = shares(X[:200])["image"].mean(axis=0)
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


def test_what_an_object_lacks_does_not_matter_to_it():
    X = corpus(20, views=3)
    present = np.ones((20, 3), dtype=bool)
    present[:, 2] = False
    part = Views({n: m if n != "view2" else 0 * m for n, m in X.items()}, present=present)
    three, two = (CoPLSA(3, random_state=0, max_iter=20, tol=0).fit(V) for V in (part, X.select("view0", "view1")))
    assert_allclose(three.history_["objective"], two.history_["objective"], rtol=1e-12)
    assert_allclose(three.memberships_by_view_["view0"], two.memberships_by_view_["view0"], atol=1e-12)


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


def test_restarts_keep_the_best():
    X = corpus()
    ends = [CoPLSA(4, random_state=0, n_init=n, max_iter=30).fit(X).history_["objective"][-1] for n in (1, 6)]
    assert ends[1] > ends[0]


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


def test_minibatches_teach():
    made = make_topic_views(350, {"words": 60, "image": 40}, 3, length=40, random_state=0)
    model = CoPLSA(4, random_state=0)
    scores = []
    for first in range(0, 300, 50):
        model.partial_fit(made.views[first : first + 50])
        scores.append(model.score(made.views[300:]))
    assert scores[-1] > scores[0]
    assert set(model.memberships_by_view_) == {"words", "image"} and model.memberships_by_view_["words"].shape == (
        50,
        4,
    )


def test_rows_that_are_read_when_needed_give_the_same_model():
    X = corpus(40, views=3, missing=0.2)
    lazy = LazyViews.from_views(X, 13)
    here, there = (CoPLSA(3, random_state=0, max_iter=8, tol=0).fit(V) for V in (X, lazy))
    assert_allclose(there.history_["objective"], here.history_["objective"], rtol=1e-12)
    assert_allclose(there.memberships_by_view_["view2"], here.memberships_by_view_["view2"], atol=1e-12)
    assert_allclose(there.transform(lazy), here.transform(X), atol=1e-12)
    assert_allclose(there.impute(lazy.select("view0"), "view1"), here.impute(X.select("view0"), "view1"), atol=1e-12)
    assert there.score(lazy) == pytest.approx(here.score(X), rel=1e-9)


def test_a_resumed_fit_is_the_same(tmp_path):
    X = corpus(views=3)
    settings = {"coupling": {("view1", "view0"): 0.2}, "random_state": 3, "tol": 0}
    whole = CoPLSA(3, max_iter=12, **settings).fit(X)

    def interrupt(sweep):
        if sweep.number == 9:
            raise KeyboardInterrupt

    path = Checkpoint(tmp_path / "fit", every=4)
    with pytest.warns(InterruptedFitWarning):
        CoPLSA(3, max_iter=12, **settings).set_callbacks(path, interrupt).fit(X)
    resumed = CoPLSA(3, max_iter=12, **settings).set_callbacks(path).fit(X)
    assert_array_equal(resumed.memberships_by_view_["view2"], whole.memberships_by_view_["view2"])


def test_the_order_of_the_views_does_not_matter():
    X = corpus(views=3)
    for divergence in KINDS:
        settings = {"divergence": divergence, "random_state": 0, "max_iter": 15, "tol": 0}
        one, other = CoPLSA(3, **settings).fit(X), CoPLSA(3, **settings).fit(X.select("view2", "view0", "view1"))
        assert_allclose(one.memberships_by_view_["view1"], other.memberships_by_view_["view1"], atol=1e-9)


def test_threads_do_not_matter():
    X = make_topic_views(9000, [30, 20], 3, length=10, random_state=0).views
    one, two = (CoPLSA(3, random_state=0, max_iter=3, n_jobs=n).fit(X) for n in (1, 2))
    assert_allclose(one.memberships_by_view_["view0"], two.memberships_by_view_["view0"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("divergence", KINDS)
def test_float32_follows_float64(divergence):
    X = corpus()
    settings = {"divergence": divergence, "max_iter": 30, "tol": 0, "init": start(X, 4)}
    double, single = CoPLSA(4, **settings).fit(X), CoPLSA(4, **settings).fit(X.map(lambda m: m.astype(np.float32)))
    assert single.memberships_by_view_["view0"].dtype == single.topic_feature_["view1"].dtype == np.float32
    assert single.history_["objective"][-1] == pytest.approx(double.history_["objective"][-1], rel=1e-4)


def test_a_model_comes_back_from_its_file(tmp_path):
    X = corpus()
    model = CoPLSA(3, random_state=0, divergence="l2").fit(X)
    save(model, tmp_path / "model.coview")
    again = load(tmp_path / "model.coview")
    assert_array_equal(again.impute(X.select("view0"), "view1"), model.impute(X.select("view0"), "view1"))
    assert again.top_features("view1", 2) == model.top_features("view1", 2)
    assert again.get_feature_names_out().tolist() == ["coplsa0", "coplsa1", "coplsa2"]


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
        ({"coupling": np.inf}, "coupling.* must be a float in the range.* Got inf"),
        ({"coupling": {"view0": 1}}, "coupling has the key 'view0', which is not a pair of the views 'view0', 'view1'"),
        ({"coupling": {("view0", "image"): 1}}, "not a pair of the views"),
        ({"coupling": {("view0", "view1"): None}}, "coupling of .* must be a float in the range"),
        ({"init": "nndsvd"}, "'init' parameter .* must be a str among .* Got 'nndsvd'"),
        ({"init": {"memberships_by_view": {"image": np.ones((24, 3))}}}, "names view 'image'"),
        ({"init": {"memberships_by_view": np.ones((2, 3))}}, "shape"),
        ({"n_components": 0}, "n_components.* must be an int in the range"),
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


# -- a real corpus


@pytest.mark.corpus
@pytest.mark.skipif(
    not (data_home() / "webkb_linqs").is_dir(),
    reason="the data home has no folder 'webkb_linqs': the real corpus is not checked",
)
@pytest.mark.parametrize("divergence", KINDS)
def test_the_objective_never_falls_on_web_pages(divergence):
    X = load_webkb("cornell").views  # some pages have no link
    history = np.array(
        CoPLSA(10, divergence=divergence, coupling=0.3, max_iter=200, tol=0, random_state=0)
        .fit(X)
        .history_["objective"]
    )
    assert (np.diff(history) >= -1e-10 * np.abs(history[:-1])).all()
