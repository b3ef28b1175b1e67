"""One round: primal and dual meet, and independent solvers find the same steps."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from coview import Views
from coview.kernels.memory import addresses
from coview.kernels.passive_aggressive import LOSSES, UPDATES
from coview.kernels.rounds import EMPTY, MARGIN, NORM, ROWS, SHARE, STEP, solve_paper, solve_round
from coview.online.weights import compress_rows, make_weights, update_weights


def solve(margins, norms, shares=None, *, base=0.0, extra=0.0, cap=0.1, coupling=0.5):
    views = len(margins)
    state = np.full((ROWS, views), np.nan)
    state[MARGIN], state[NORM], state[SHARE] = margins, norms, 1 / views if shares is None else shares
    tau = solve_round(state, base, float(extra), cap, coupling, np.empty((2, views), dtype=np.int64), False)
    return tau, state[STEP]


def primal(margins, norms, shares, base, extra, cap, coupling, tau, steps, pa2=False):
    """Value of the round's problem at the steps; `extra` is the n of the intercept unless PA-II."""
    alive = norms > EMPTY
    new = margins + np.where(alive, norms * steps, 0.0)
    pairs = [abs(new[v] - new[w]) for v, w in itertools.combinations(np.flatnonzero(alive), 2)]
    heft = 0.0 if pa2 else extra
    slack = max(0.0, 1 - base - heft * tau - shares @ new)
    price = slack**2 / (2 * extra) if pa2 else cap * slack
    return 0.5 * (norms * steps**2).sum() + 0.5 * heft * tau**2 + coupling * sum(pairs) + price


def dual(margins, norms, shares, base, extra, coupling, tau, steps):
    """Value of the dual, after making sure that tau and the steps are feasible for it."""
    alive = norms > EMPTY
    pull = (tau * shares - steps)[alive]
    k = alive.sum()
    largest = np.cumsum(np.sort(pull)[::-1])
    bound = coupling * np.arange(1, k + 1) * (k - np.arange(1, k + 1))
    assert (largest <= bound + 1e-9 * (1 + coupling + np.abs(pull).max(initial=0))).all()
    assert abs(pull.sum()) <= 1e-9 * (1 + np.abs(pull).max(initial=0))
    loss = 1 - base - shares @ margins
    quadratic = (norms[alive] * steps[alive] ** 2).sum() + extra * tau**2
    return tau * loss + pull @ margins[alive] - 0.5 * quadratic


def random_rounds(seed, count, views, spread):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        norms = np.exp(rng.uniform(-spread, spread, views))
        norms[rng.random(views) < 0.1] = 0.0
        margins = rng.normal(size=views) * np.exp(rng.uniform(-2, 2)) * (norms > 0)
        shares = rng.dirichlet(np.ones(views)) if rng.random() < 0.5 else np.full(views, 1 / views)
        base, heft = (rng.normal(), 1.0 + rng.integers(2)) if rng.random() < 0.5 else (0.0, 0.0)
        yield margins, norms, shares, base, heft, np.exp(rng.uniform(-5, 4)), np.exp(rng.uniform(-5, 3))


@pytest.mark.parametrize(
    ("views", "spread", "squared"),
    [(1, 1.0, 0), (2, 6.0, 0), (3, 6.0, 0), (4, 1.0, 0), (8, 6.0, 0), (1, 3.0, 1), (2, 3.0, 1), (5, 3.0, 1)],
)
def test_primal_and_dual_meet(views, spread, squared):
    drawn = random_rounds(views + 20 * squared, 100 if squared else 150, views, spread)
    for margins, norms, shares, base, heft, cap, coupling in drawn:
        extra, most = (1 / (2 * cap), np.inf) if squared else (heft, cap)
        tau, steps = solve(margins, norms, shares, base=base, extra=extra, cap=most, coupling=coupling)
        assert 0 <= tau <= most
        if not (norms > EMPTY).any():
            assert squared or (tau == 0 and not steps.any())
            continue
        above = primal(margins, norms, shares, base, extra, cap, coupling, tau, steps, pa2=bool(squared))
        assert above - dual(margins, norms, shares, base, extra, coupling, tau, steps) <= 1e-10 * (1 + abs(above))


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("views", [2, 5])
def test_tiny_and_huge_rows_are_solved_too(views, scale):
    """Scaling x by s and the weights by 1 / s keeps margins: D is homogeneous, so the gap is taken relative to it."""
    for margins, norms, shares, base, _, cap, coupling in random_rounds(40 + views, 100, views, 2.0):
        tau, steps = solve(margins, norms * scale, shares, base=base, cap=cap / scale, coupling=coupling / scale)
        expected, moved = solve(margins, norms, shares, base=base, cap=cap, coupling=coupling)
        np.testing.assert_allclose(tau * scale, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(steps * scale, moved, rtol=1e-8, atol=1e-9)


def solve_exactly(ma, mb, a, b, qa, qb, loss, extra, cap, coupling):
    """New margins of two views in fractions: the best of the free optimum and of the edges of the box."""
    d, s, h, curvature = ma - mb, a + b, qb * b - qa * a, qa * qa * a + qb * qb * b + extra

    def clip(tau):
        return max(Fraction(0), tau if cap is None else min(tau, cap))

    def value(tau, u):
        return tau * loss + u * d - (curvature * tau * tau + 2 * h * tau * u + s * u * u) / 2

    inverse = 1 / (extra * s + a * b * (qa + qb) ** 2)
    free = (s * loss - h * d) * inverse, (curvature * d - h * loss) * inverse
    found = [(clip((loss - h * u) / curvature), u) for u in (-coupling, coupling)]
    found += [(tau, min(max((d - h * tau) / s, -coupling), coupling)) for tau in {Fraction(0), cap} - {None}]
    found += [free] if free[0] == clip(free[0]) and abs(free[1]) <= coupling else []
    tau, u = max(found, key=lambda point: value(*point))
    return float(ma + a * (tau * qa - u)), float(mb + b * (tau * qb + u))


@pytest.mark.parametrize("orders", [4, 72])
def test_two_views_of_very_different_norms_end_on_exact_margins(orders):
    rng = np.random.default_rng(orders)
    for _ in range(100):
        norms, margins = 10 ** rng.uniform(-orders / 2, orders / 2, 2), rng.normal(size=2)
        shares = rng.choice([[0.5, 0.5], [0.25, 0.75]])
        extra, cap, coupling = rng.choice([0.0, 1e-6, 2.0]), rng.choice([np.inf, 1.0, 1e-3]), 10 ** rng.uniform(-4, 3)
        _, steps = solve(margins, norms, shares, extra=extra, cap=cap, coupling=coupling)
        known = [*margins, *norms, *shares, 1 - shares[0] * margins[0] - shares[1] * margins[1], extra]
        bound = None if np.isinf(cap) else Fraction(float(cap))
        exact = solve_exactly(*(Fraction(float(x)) for x in known), bound, Fraction(float(coupling)))
        np.testing.assert_allclose(margins + norms * steps, exact, rtol=1e-12, atol=1e-12)


def test_one_view_is_passive_aggressive():
    for margin, norm, cost in itertools.product([-2.0, 0.3, 0.9], [0.5, 3.0], [0.01, 1.0]):
        loss = 1 - margin
        assert solve([margin], [norm], cap=cost)[0] == pytest.approx(min(cost, loss / norm))
        assert solve([margin], [norm], cap=np.inf)[0] == pytest.approx(loss / norm)
        assert solve([margin], [norm], cap=np.inf, extra=1 / (2 * cost))[0] == pytest.approx(
            loss / (norm + 1 / (2 * cost))
        )


def test_an_empty_view_is_masked():
    tau, steps = solve([0.4, 0.0], [2.0, 0.0], cap=100.0)
    assert tau == pytest.approx(4 * (1 - 0.2) / 2.0)
    assert steps.tolist() == [tau / 2, 0.0]
    assert solve([0.0, 0.0], [0.0, 0.0])[0] == 0.0


def test_the_update_of_the_paper_is_as_printed():
    rng = np.random.default_rng(11)
    for _ in range(50):
        m, n = rng.normal(size=2), np.exp(rng.normal(size=2))
        gamma, cost = 0.5, 0.1
        loss = max(0, 1 - (m[0] + m[1]) / 2)
        q = ((1 - m[1]) / n[1] - (1 - m[0]) / n[0]) / (n[0] + n[1])
        alpha, beta = (max(0, min(gamma, (gamma + sign * q) / 2)) for sign in (1, -1))
        tau = min(cost, ((alpha - beta) * (n[0] - n[1]) + 2 * loss) / (n[0] + n[1]))
        if loss > 0:
            np.testing.assert_allclose(solve_paper(*m, *n, loss, cost, gamma), (tau, alpha - beta))


# -- The learning kernels against plain loops over dense rows


def stream(n=60, widths=(9, 7), n_classes=2, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    views = Views(
        {
            f"v{v}": sparse.random_array((n, m), density=0.5, format="csr", rng=rng).astype(dtype)
            for v, m in enumerate(widths)
        }
    )
    return views, rng.integers(0, n_classes, n)


def options(loss="pa1", update="exact", gate=True, average=False, intercept=False, coupling=0.5):
    return np.array([LOSSES.index(loss), UPDATES.index(update), gate, average, intercept, coupling], dtype=float)


def learn(views, codes, n_classes, C=0.3, **settings):
    dtype = next(views.values()).dtype
    memory = make_weights(views.n_features, n_classes, dtype, averages=settings.get("average", False))
    rows = compress_rows(views, views.names, dtype)
    order = np.arange(len(codes))
    said = update_weights(memory, rows, codes, order, np.full(n_classes, C), options(**settings))
    return memory, said


def by_hand(views, codes, n_classes, C=0.3, loss="pa1", gate=True, intercept=False, coupling=0.5, **_):
    """Dense rows, one weight vector per class (two classes: one), every round by `solve_round`."""
    X = [matrix.toarray() for matrix in views.values()]
    columns = 1 if n_classes == 2 else n_classes
    weights, bias, history = [np.zeros((x.shape[1], columns)) for x in X], np.zeros(columns), []
    for i, y in enumerate(codes):
        dots = np.array([x[i] @ w for x, w in zip(X, weights)])
        vote = dots.mean(axis=0) + bias
        if n_classes == 2:
            up, factor = np.array([2.0 * y - 1]), 1
        else:
            rival = max((k for k in range(n_classes) if k != y), key=lambda k: vote[k])
            up, factor = np.eye(n_classes)[y] - np.eye(n_classes)[rival], 2
        norms = np.array([factor * (x[i] @ x[i]) for x in X])
        if gate and 1 - vote @ up <= 0:
            history.append(weights)
            continue
        extra = factor * intercept + (1 / (2 * C) if loss == "pa2" else 0)
        tau, steps = solve(
            dots @ up, norms, base=bias @ up, extra=extra, cap=C if loss == "pa1" else np.inf, coupling=coupling
        )
        weights = [w + p * np.outer(x[i], up) for w, p, x in zip(weights, steps, X)]
        bias = bias + intercept * tau * up
        history.append(weights)
    return weights, bias, history


@pytest.mark.parametrize(
    ("widths", "n_classes", "settings"),
    [
        *(((9,), 2, {"intercept": True}), ((9, 7), 2, {}), ((9, 7), 2, {"gate": False, "coupling": 0.05})),
        *(((9, 7), 4, {"loss": "pa"}), ((9, 7, 5), 2, {"loss": "pa"})),
        *(((9, 7, 5), 4, {"loss": "pa2", "intercept": True}), ((3, 9, 5, 7, 4), 10, {"coupling": 0.02})),
    ],
)
def test_rows_are_learned_as_by_hand(widths, n_classes, settings):
    views, codes = stream(widths=widths, n_classes=n_classes)
    memory, _ = learn(views, codes, n_classes, **settings)
    weights, bias, _ = by_hand(views, codes, n_classes, **settings)
    for found, expected in zip(memory["weights"].values(), weights):
        slack = 10 if len(widths) == 5 else 1  # more sums
        np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-9 * slack, atol=1e-12 * slack)
    np.testing.assert_allclose(memory["bias"][0], bias, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_averages_are_means_over_rounds(n_classes):
    views, codes = stream(n_classes=n_classes, seed=4)
    memory, _ = learn(views, codes, n_classes, average=True)
    *_, history = by_hand(views, codes, n_classes)
    for v, name in enumerate(views.names):
        expected = np.mean([weights[v] for weights in history], axis=0)
        found = memory["weights"][name] - memory["lags"][name] / memory["n_rounds"]
        np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-9, atol=1e-12)


def test_what_a_row_says_is_said_before_it_is_learned():
    views, codes = stream(seed=5)
    _, said = learn(views, codes, 2)
    *_, history = by_hand(views, codes, 2)
    for i in range(1, len(codes)):
        dots = [float(matrix[[i]].toarray()[0] @ w[:, 0]) for matrix, w in zip(views.values(), history[i - 1])]
        assert said.scores[i, 0] == pytest.approx(np.mean(dots))
        whole = all(matrix[[i]].nnz for matrix in views.values())
        assert said.gaps[i] == pytest.approx(abs(dots[0] - dots[1]) if whole else np.nan, nan_ok=True)
        assert said.losses[i] == pytest.approx(max(0, 1 - (2 * codes[i] - 1) * np.mean(dots)))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_without_label_change_nothing(n_classes):
    views, codes = stream(n_classes=n_classes)
    hidden = codes.copy()
    hidden[::3] = -1
    memory, said = learn(views, hidden, n_classes)
    kept = np.flatnonzero(hidden >= 0)
    expected, _ = learn(views[kept], hidden[kept], n_classes)
    for name, weights in memory["weights"].items():
        np.testing.assert_allclose(weights, expected["weights"][name], rtol=1e-10, atol=1e-12)
    assert np.isnan(said.losses[::3]).all()


def test_single_precision_and_wide_indices_agree():
    views, codes = stream(n_classes=3)
    expected, _ = learn(views, codes, 3)
    narrow, _ = learn(views.map(lambda m: m.astype(np.float32)), codes, 3)
    wide = Views(
        {
            name: sparse.csr_array((m.data, m.indices.astype(np.int64), m.indptr.astype(np.int64)), shape=m.shape)
            for name, m in views.items()
        }
    )
    long, _ = learn(wide, codes, 3)
    for name, weights in expected["weights"].items():
        assert narrow["weights"][name].dtype == np.float32
        np.testing.assert_allclose(narrow["weights"][name], weights, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(long["weights"][name], weights, rtol=1e-10, atol=1e-12)


def test_addresses_of_scattered_memory_are_refused():
    with pytest.raises(ValueError, match="contiguous"):
        addresses([np.zeros((4, 4))[:, ::2]])
