"""The learning kernels against plain loops over dense rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from coview import Views
from coview.kernels.memory import addresses
from coview.kernels.passive_aggressive import LOSSES, UPDATES
from coview.kernels.rounds import MARGIN, NORM, ROWS, SHARE, STEP, solve_round
from coview.online.weights import compress_rows, make_weights, update_weights


def solve(margins, norms, shares=None, *, base=0.0, extra=0.0, cap=0.1, coupling=0.5):
    views = len(margins)
    state = np.full((ROWS, views), np.nan)
    state[MARGIN], state[NORM], state[SHARE] = margins, norms, 1 / views if shares is None else shares
    tau = solve_round(state, base, extra, cap, coupling, np.empty((2, views), dtype=np.int64), False)
    return tau, state[STEP]


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
            dots @ up,
            norms,
            base=bias @ up,
            extra=extra,
            cap=C if loss == "pa1" else np.inf,
            coupling=coupling,
        )
        weights = [w + p * np.outer(x[i], up) for w, p, x in zip(weights, steps, X)]
        bias = bias + intercept * tau * up
        history.append(weights)
    return weights, bias, history


@pytest.mark.parametrize(
    ("widths", "n_classes", "settings"),
    [
        ((9,), 2, {"intercept": True}),
        ((9, 7), 2, {}),
        ((9, 7), 2, {"gate": False, "coupling": 0.05}),
        ((9, 7), 4, {"loss": "pa"}),
        ((9, 7, 5), 2, {"loss": "pa"}),
        ((9, 7, 5), 4, {"loss": "pa2", "intercept": True}),
        ((3, 9, 5, 7, 4), 10, {"coupling": 0.02}),
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
