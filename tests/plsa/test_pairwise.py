"""PairwiseCoPLSA: the published update in plain NumPy, an objective that never falls, missing views, consensus."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from scipy.stats import entropy

from coview import PLSA, LinkPLSA, Views
from coview.datasets import make_topic_views
from coview.metrics import clustering_accuracy
from coview.plsa import pairwise, starts
from coview.plsa.divergences import DIVERGENCES
from coview.plsa.pairwise import PairwiseCoPLSA
from coview.plsa.starts import FitContext, align_topics, compute_topic_overlap, find_likeliest_start, soften
from coview.validation import base_seed
from coview.views.lazy import LazyViews


def corpus(n=24, views=2, seed=0, missing=0.0, **options):
    """Counts whose views know the same three groups, features of decreasing number."""
    sizes = {f"view{v}": 20 - 4 * v for v in range(views)}
    options = {"length": 25, "mixing": 0.5, **options}
    return make_topic_views(n, sizes, 3, missing=missing, random_state=seed, **options).views


def start(X, K=3, seed=0):
    rng = np.random.default_rng(seed)
    doc = {name: rng.dirichlet(np.ones(K), len(X)) for name in X.names}
    return {
        "memberships_by_view": doc,
        "topic_feature": {n: rng.dirichlet(np.ones(m), K) for n, m in X.n_features.items()},
    }


def fitted(X, init, **options):
    options = {"sigma": 0.5, "pair_fraction": 1.0, "max_iter": 3, "tol": 0, **options}
    return PairwiseCoPLSA(3, init=init, random_state=0, **options).fit(X)


def similarity(P, sigma):
    return np.exp(-((P[:, None] - P[None]) ** 2).sum(axis=2) / sigma)


def published_sweeps(X, init, coupling, sigma, sweeps, shares):
    """Algorithms 1 and 2 of the paper, every posterior p(z|d,w) written out; all pairs."""
    C = {name: matrix.toarray() for name, matrix in X.items()}
    P = {name: part.copy() for name, part in init["memberships_by_view"].items()}
    F = {name: part.copy() for name, part in init["topic_feature"].items()}
    for _ in range(sweeps):
        for v in C:
            posterior = P[v][:, None, :] * F[v].T[None]  # eq. 9: objects x words x topics
            posterior /= np.maximum(posterior.sum(axis=2, keepdims=True), 1e-300)  # a word may be in no object
            expected = C[v][:, :, None] * posterior
            gradient = np.zeros_like(P[v])
            S = similarity(P[v], sigma)
            for w in C:
                if w != v:  # eq. 14
                    gaps = S * (S - similarity(P[w], sigma))
                    gradient += -8 / sigma * np.einsum("ij,ijk->ik", gaps, P[v][:, None] - P[v][None])
            raised = shares * expected.sum(axis=1) - coupling * gradient * P[v]  # eq. 17
            assert (raised >= 0).all(), "not feasible: choose a smaller coupling"
            P[v] = raised / raised.sum(axis=1, keepdims=True)
            F[v] = expected.sum(axis=0).T
            F[v] /= F[v].sum(axis=1, keepdims=True)
    return P, F


@pytest.mark.parametrize("views", [2, 3])
def test_the_published_step_is_the_papers(views):
    X = corpus(views=views)
    init = start(X)
    model = fitted(X, init, coupling=0.01, algorithm="published", max_iter=5)
    P, F = published_sweeps(X, init, 0.01, 0.5, 5, 1)
    for name, topics in model.topic_feature_.items():  # a fit ends by matching topics: their order may be another
        order = [int(np.argmin(np.abs(F[name] - row).sum(axis=1))) for row in topics]
        assert sorted(order) == [0, 1, 2]
        assert_allclose(topics, F[name][order], rtol=1e-9, atol=1e-13)
        assert_allclose(model.memberships_by_view_[name], P[name][:, order], rtol=1e-8, atol=1e-11)


def test_the_safeguarded_step_is_the_published_one_where_that_climbs():
    X = corpus()
    init = start(X)
    paper, safe = (fitted(X, init, coupling=0.01, algorithm=name, max_iter=1) for name in ("published", "fast"))
    assert (np.diff(paper.history_["objective"]) > 0).all()
    for name in X.names:
        assert_allclose(safe.memberships_by_view_[name], paper.memberships_by_view_[name], rtol=1e-9, atol=1e-12)


def test_the_published_step_falls_where_the_safeguarded_one_climbs():
    X = corpus()
    init = start(X)
    paper, safe = (
        np.diff(fitted(X, init, coupling=30.0, algorithm=name, max_iter=20).history_["objective"])
        for name in ("published", "fast")
    )
    assert paper.min() < 0 <= safe.min()


@given(
    seed=st.integers(0, 10_000),
    coupling=st.floats(-4, 5).map(lambda power: 10.0**power),
    sigma=st.floats(0.02, 3.0),
    views=st.integers(2, 3),
    missing=st.sampled_from([0.0, 0.2]),
)
@settings(deadline=None, max_examples=15)
def test_the_objective_never_falls_at_any_weight(seed, coupling, sigma, views, missing):
    X = corpus(n=15, views=views, seed=seed, missing=missing)
    options = {"pair_fraction": 0.5, "max_iter": 8}
    model = fitted(X, start(X, seed=seed), coupling=coupling, sigma=sigma, **options)
    history = np.array(model.history_["objective"])
    assert np.isfinite(history).all()
    assert (np.diff(history) >= -1e-11 * np.abs(history[:-1])).all()


def test_the_objective_is_the_likelihood_less_the_regularizer():
    X = corpus(views=3)
    weights = {("view0", "view1"): 0.4, ("view2", "view0"): 2.0, ("view1", "view2"): 0.0}
    shares = {"view0": 0.5, "view1": 2.0, "view2": 1.0}
    model = fitted(X, start(X), coupling=weights, view_weights=shares)
    total = 0.0
    for name, matrix in X.items():
        total += (
            shares[name]
            * (matrix.toarray() * np.log(model.memberships_by_view_[name] @ model.topic_feature_[name])).sum()
        )
    for v, w in combinations(X.names, 2):
        gap = similarity(model.memberships_by_view_[v], 0.5) - similarity(model.memberships_by_view_[w], 0.5)
        total -= weights.get((v, w), weights.get((w, v))) * (gap**2).sum()
    assert_allclose(model.history_["objective"][-1], total, rtol=1e-10)


def test_without_weight_each_view_is_a_plsa():
    X = corpus()
    init = start(X)
    model = fitted(X, init, coupling=0.0, max_iter=10)
    for name in X.names:
        alone = {"memberships": init["memberships_by_view"][name], "topic_feature": init["topic_feature"][name]}
        plsa = PLSA(3, init=alone, max_iter=10, tol=0).fit(X.select(name))
        order = [
            int(np.argmin(np.abs(plsa.topic_feature_[name] - row).sum(axis=1))) for row in model.topic_feature_[name]
        ]
        assert_allclose(model.memberships_by_view_[name], plsa.memberships_[:, order], rtol=1e-7, atol=1e-10)


def test_the_weight_by_itself_is_a_share_of_the_mass_per_partner():
    X = corpus(n=30)
    init = start(X)
    mass = sum(matrix.sum() for matrix in X.values()) / 30
    auto = fitted(X, init, coupling="auto", pair_fraction=0.4)
    number = fitted(X, init, coupling=0.3 * mass / (2 * 174 / 30), pair_fraction=0.4)  # 174 of the 435 pairs
    assert_allclose(auto.history_["objective"], number.history_["objective"], rtol=1e-12)

    ten = fitted(X.map(lambda matrix: 10 * matrix), init, coupling="auto", pair_fraction=0.4)
    assert_allclose(ten.history_["objective"], 10 * np.array(auto.history_["objective"]), rtol=1e-9)


def test_weight_makes_views_agree_on_who_is_near_whom():
    X = corpus(n=60, agreement=0.7)
    init = start(X)

    def apart(coupling):
        model = fitted(X, init, coupling=coupling, max_iter=60)
        first, second = (similarity(model.memberships_by_view_[name], 0.5) for name in X.names)
        return ((first - second) ** 2).sum()

    gaps = [apart(coupling) for coupling in (0.0, 0.05, 1.0)]
    assert gaps[0] > gaps[1] > gaps[2]


def test_a_missing_view_takes_no_part():
    """What stands in a row that is marked as absent changes nothing, and its mixture stays even."""
    X = corpus(n=20)
    present = np.ones((20, 2), dtype=bool)
    present[:4, 1] = False
    blank = X["view1"].toarray()
    blank[:4] = 0
    partial = Views(view0=X["view0"], view1=blank, present=present)
    model = fitted(partial, start(X), coupling=0.5)
    assert_allclose(model.memberships_by_view_["view1"][:4], 1 / 3)
    assert (model.labels_by_view_["view1"][:4] == -1).all() and (model.labels_by_view_["view1"][4:] >= 0).all()
    assert_array_equal(model.labels_[:4], model.labels_by_view_["view0"][:4])


def test_topics_are_matched_across_views():
    data = make_topic_views(90, {"words": 60, "links": 40, "tags": 30}, 3, random_state=1)
    model = PairwiseCoPLSA(3, random_state=2).fit(data.views)
    votes = np.column_stack(list(model.labels_by_view_.values()))
    assert (votes == model.labels_[:, None]).mean() > 0.9


def test_new_objects_are_placed_as_the_old_ones():
    data = make_topic_views(120, {"words": 60, "links": 40}, 3, random_state=0)
    model = PairwiseCoPLSA(3, random_state=0).fit(data.views[:90])
    assert clustering_accuracy(data.target[:90], model.labels_) > 0.95
    assert (model.predict(data.views[:90]) == model.labels_).mean() > 0.95
    both = np.concatenate([model.labels_, model.predict(data.views[90:].select("links"))])
    assert clustering_accuracy(data.target, both) > 0.9


def test_sigma_is_the_median_distance_at_the_start():
    X = corpus(n=40)
    init = start(X)
    found = fitted(X, init, sigma="median").sigma_
    gaps = [
        ((P[:, None] - P[None]) ** 2).sum(axis=2)[np.triu_indices(40, 1)] for P in init["memberships_by_view"].values()
    ]
    assert abs(found / np.median(np.concatenate(gaps)) - 1) < 0.35  # of some pairs
    assert fitted(X, init, sigma=0.25).sigma_ == 0.25


def test_pairs_lie_inside_blocks_and_blocks_add_up(monkeypatch):
    """With a block per half of the rows, no pair crosses the cut."""
    from coview.engines.cpu import CpuEngine

    monkeypatch.setattr(CpuEngine, "block_rows", lambda *_: 12)
    X = corpus(n=24)
    init = start(X)
    model = fitted(X, init, coupling=0.3)
    total = sum(
        (matrix.toarray() * np.log(model.memberships_by_view_[name] @ model.topic_feature_[name])).sum()
        for name, matrix in X.items()
    )
    for half in (slice(0, 12), slice(12, 24)):
        first, second = (similarity(model.memberships_by_view_[name][half], 0.5) for name in X.names)
        total -= 0.3 * ((first - second) ** 2).sum()
    assert_allclose(model.history_["objective"][-1], total, rtol=1e-10)


def test_the_start_is_a_consensus_clustering_moved_by_link_plsa():
    X = corpus(n=60)
    mine = PairwiseCoPLSA(3, max_iter=4, tol=0, random_state=5).fit(X)
    memberships = soften(find_likeliest_start(X, 3, FitContext(base_seed(5)), {}, None, graphs=False))
    sums = {name: (matrix.T @ memberships).T for name, matrix in X.items()}
    link = LinkPLSA(3, init={"memberships": memberships, "topic_feature": sums}, max_iter=20, tol=0).fit(X)
    given = {"memberships_by_view": link.memberships_, "topic_feature": link.topic_feature_}
    same = PairwiseCoPLSA(3, init=given, max_iter=4, tol=0, random_state=5).fit(X)
    assert_allclose(mine.history_["objective"], same.history_["objective"], rtol=1e-12)


def test_of_several_consensus_starts_the_highest_is_taken(monkeypatch):
    X = corpus(n=40, mixing=0.9)
    begun = []
    made = starts.find_likeliest_arrays

    def noted(*args, **options):
        begun.append(made(*args, **options))
        return begun[-1]

    monkeypatch.setattr(pairwise, "find_likeliest_arrays", noted)
    found = PairwiseCoPLSA(3, n_init=4, n_jobs=1)._initial_arrays(X, FitContext(0))
    ends = [LinkPLSA(3, init=init, max_iter=20, tol=0).fit(X) for init in begun]
    highest = max(ends, key=lambda model: model.history_["objective"][-1])
    assert len({round(model.history_["objective"][-1], 6) for model in ends}) > 1
    assert_allclose(found["memberships_by_view"], highest.memberships_, rtol=1e-12)


def test_of_very_many_rows_naive_bayes_places_those_outside_the_sample(monkeypatch):
    data = make_topic_views(90, {"words": 60, "links": 40}, 3, random_state=0)
    lazy = LazyViews.from_views(data.views, 25)
    monkeypatch.setattr(starts, "SAMPLE", 60)
    found = starts.find_likeliest_arrays(lazy, 3, FitContext(0), {}, None)
    assert found["memberships"].shape == (90, 3)
    assert clustering_accuracy(data.target, found["memberships"].argmax(axis=1)) > 0.9
    sums = found["memberships"].T @ data.views["links"].toarray()
    assert_allclose(found["topic_feature"]["links"], np.maximum(sums, 1e-15), rtol=1e-12)


def test_restarts_keep_the_highest():
    X = corpus(n=30)
    one, four = (PairwiseCoPLSA(3, init="random", max_iter=10, tol=0, n_init=n, random_state=0).fit(X) for n in (1, 4))
    assert four.history_["objective"][-1] >= one.history_["objective"][-1]
    assert four.sigma_ == one.sigma_  # else their objectives could not be compared


# -- Matching of topics across views against trying every order


def agreement(overlap, orders, width):
    views = len(orders)
    parts = overlap.reshape(views, width, views, width)
    return sum(parts[u, orders[u], v, orders[v]].sum() for u in range(views) for v in range(u))


@given(seed=st.integers(0, 10_000), width=st.integers(1, 5))
@settings(deadline=None, max_examples=30)
def test_two_views_are_matched_as_well_as_can_be(seed, width):
    table = np.random.default_rng(seed).random((12, 2 * width))
    overlap = compute_topic_overlap({"mixture": table})
    orders = align_topics(overlap, width)
    best = max(agreement(overlap, [np.arange(width), np.array(p)], width) for p in permutations(range(width)))
    assert_allclose(agreement(overlap, orders, width), best, rtol=1e-12)


@given(seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=30)
def test_no_single_view_of_three_can_do_better(seed):
    table = np.random.default_rng(seed).random((10, 9))
    overlap = compute_topic_overlap({"mixture": table})
    orders = align_topics(overlap, 3)
    reached = agreement(overlap, orders, 3)
    for v, other in product((1, 2), permutations(range(3))):
        moved = orders.copy()
        moved[v] = other
        assert agreement(overlap, moved, 3) <= reached + 1e-12


@pytest.mark.parametrize("views", [2, 3, 5])
def test_shuffled_copies_are_put_back(views):
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.full(6, 0.1), 50)
    shuffles = [np.arange(6), *(rng.permutation(6) for _ in range(views - 1))]
    overlap = compute_topic_overlap({"mixture": np.hstack([P[:, order] for order in shuffles])})
    orders = align_topics(overlap, 6)
    for order, shuffle in zip(orders, shuffles):
        assert_array_equal(P[:, shuffle][:, order], P)


# -- Measures of disagreement: scipy's where it has them, zero only between equals, pairs counted where both are


def mixtures(seed: int, K: int, n: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(K, 0.5), n).clip(1e-12)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), K=st.integers(1, 20))
def test_values_are_scipys(seed, K):
    P, Q = mixtures(seed, K), mixtures(seed + 1, K)
    P, Q = P / P.sum(axis=1, keepdims=True), Q / Q.sum(axis=1, keepdims=True)
    assert_allclose(DIVERGENCES["skl"].pair(P, Q), entropy(P, Q, axis=1) + entropy(Q, P, axis=1), rtol=1e-9, atol=1e-12)
    assert_allclose(DIVERGENCES["l2"].pair(P, Q), 0.5 * np.diag(cdist(P, Q, "sqeuclidean")), atol=1e-15)
    assert_allclose(DIVERGENCES["l1"].pair(P, Q), np.diag(cdist(P, Q, "cityblock")), atol=1e-15)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_a_mixture_agrees_with_itself_and_order_does_not_matter(divergence):
    P, Q = mixtures(0, 8), mixtures(1, 8)
    assert_allclose(DIVERGENCES[divergence].pair(P, P), 0)
    assert_allclose(DIVERGENCES[divergence].pair(P, Q), DIVERGENCES[divergence].pair(Q, P))
    assert (DIVERGENCES[divergence].pair(P, Q) > 0).all()


@pytest.mark.parametrize("divergence", DIVERGENCES)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), t=st.floats(0, 1))
def test_they_are_convex_in_both_mixtures_together(divergence, seed, t):
    P, Q, R, S = (mixtures(seed + i, 6) for i in range(4))
    D = DIVERGENCES[divergence].pair
    mixed = D(t * P + (1 - t) * R, t * Q + (1 - t) * S)
    assert (mixed <= t * D(P, Q) + (1 - t) * D(R, S) + 1e-12).all()


def many(seed: int, V: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mixtures of several views, who has which of them, and couplings."""
    rng = np.random.default_rng(seed)
    half = np.triu(rng.uniform(0, 3, size=(V, V)), 1)
    return np.stack([mixtures(seed + v, 4) for v in range(V)]), rng.random((4, V)) < 0.7, half + half.T


@pytest.mark.parametrize("divergence", DIVERGENCES)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
def test_the_total_is_the_sum_over_pairs(divergence, seed):
    parts, have, couplings = many(seed)
    expected = np.zeros(len(have))
    for v, w in combinations(range(len(parts)), 2):
        expected += couplings[v, w] * (have[:, v] & have[:, w]) * DIVERGENCES[divergence].pair(parts[v], parts[w])
    assert_allclose(DIVERGENCES[divergence].total(parts, have, couplings), expected, rtol=1e-10, atol=1e-12)
    alike = np.stack([parts[0]] * len(parts))
    assert not DIVERGENCES[divergence].total(alike, have, 1e6 * couplings).any()  # exactly
    assert DIVERGENCES[divergence].pair(*parts[:2].astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize("divergence", [name for name, D in DIVERGENCES.items() if D.slope is not None])
def test_the_slope_is_that_of_small_steps(divergence):
    parts, have, couplings = many(5)
    parts = parts.clip(0.01)
    slope = DIVERGENCES[divergence].slope(parts, have, couplings)
    for v, i, k in np.ndindex(parts.shape):
        step = np.zeros_like(parts)
        step[v, i, k] = 1e-6
        up, down = (DIVERGENCES[divergence].total(parts + sign * step, have, couplings)[i] for sign in (1, -1))
        assert slope[v, i, k] == pytest.approx((up - down) / 2e-6, abs=1e-5)
