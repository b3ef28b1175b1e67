"""Canonical correlations against dense oracles, sparse centering, missing views, and the randomised decomposition."""

import numpy as np
import pytest
from scipy import linalg, sparse

from coview import Views
from coview.decomposition.cca import MultiViewCCA, center_view, compute_truncated_svd


def related(n: int = 300, seed: int = 0, n_views: int = 2) -> Views:
    """Dense views of one hidden cause, with noise."""
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=(n, 3))
    return Views(
        {
            f"v{v}": cause @ rng.normal(size=(3, 6 + 2 * v)) + rng.normal(size=(n, 6 + 2 * v)) + 2.0
            for v in range(n_views)
        }
    )


def whitened(matrix: np.ndarray, ridge: float) -> np.ndarray:
    """Left part of the regularized projector's square root."""
    left, values, _ = np.linalg.svd(matrix - matrix.mean(axis=0), full_matrices=False)
    return left * (values / np.sqrt(values**2 + ridge * (values**2).sum()))


@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_two_views_have_the_canonical_correlations_of_the_textbook(ridge):
    X = related()
    model = MultiViewCCA(5, regularization=ridge, random_state=0).fit(X)
    a, b = (whitened(X[name], ridge) for name in X.names)
    expected = np.linalg.svd(a.T @ b)[1][:5]
    np.testing.assert_allclose(model.correlations_, expected, atol=1e-9)
    if not ridge:  # the variates correlate as they say
        a, b = (model.transform(X.select(name)) for name in X.names)
        found = [np.corrcoef(a[:, k], b[:, k])[0, 1] for k in range(5)]
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_three_views_share_the_eigenvectors_of_the_sum_of_projectors():
    X = related(n_views=3)
    model = MultiViewCCA(3, regularization=0, power=0, random_state=0).fit(X)
    total = sum(w @ w.T for w in (whitened(X[name], 0) for name in X.names))
    values, vectors = linalg.eigh(total)
    np.testing.assert_allclose(model.correlations_, (values[::-1][:3] - 1) / 2, atol=1e-9)
    found = model.transform(X)  # the mean over the views points along the eigenvectors
    for k in range(3):
        assert abs(np.corrcoef(found[:, k], vectors[:, -1 - k])[0, 1]) > 1 - 1e-9


def test_the_centered_operator_is_the_centered_matrix_on_the_rows_that_are_there():
    matrix = np.random.default_rng(0).random((7, 4))
    present = np.array([1, 1, 0, 1, 0, 1, 1], dtype=bool)
    matrix[~present] = 0
    operator, mean = center_view(sparse.csr_array(matrix), present)
    expected = np.where(present[:, None], matrix - matrix[present].mean(axis=0), 0)
    np.testing.assert_allclose(mean, matrix[present].mean(axis=0))
    np.testing.assert_allclose(operator @ np.eye(4), expected, atol=1e-15)
    np.testing.assert_allclose(operator.T @ np.eye(7), expected.T, atol=1e-15)


@pytest.mark.parametrize(("shape", "rank"), [((60, 40), 5), ((40, 60), 5), ((30, 8), 20)])
def test_the_truncated_decomposition_is_the_best_of_its_rank(shape, rank):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=shape) * 0.7 ** np.arange(shape[1])
    operator, mean = center_view(matrix, np.ones(shape[0], dtype=bool))
    left, values, right = compute_truncated_svd(operator, rank, np.random.default_rng(1))
    expected = np.linalg.svd(matrix - mean, compute_uv=False)[:rank]
    np.testing.assert_allclose(values, expected[: len(values)], rtol=1e-6)
    error = np.linalg.norm(matrix - mean - (left * values) @ right.T, 2)
    rest = np.linalg.svd(matrix - mean, compute_uv=False)
    assert error <= (rest[rank] if rank < len(rest) else 0) * (1 + 1e-6) + 1e-12


def test_objects_that_lack_a_view_are_placed_by_the_other():
    X = related()
    present = np.ones((300, 2), dtype=bool)
    present[:60, 0] = False
    first = np.where(present[:, [0]], X["v0"], 0)
    partial = Views(v0=first, v1=X["v1"], present=present)
    model = MultiViewCCA(3, random_state=0).fit(partial)
    np.testing.assert_allclose(model.transform(partial[:60]), model.transform(X[:60].select("v1")))
    whole = MultiViewCCA(3, random_state=0).fit(X)
    for k in range(3):  # a fifth of one view gone moves little
        assert abs(np.corrcoef(model.transform(X)[:, k], whole.transform(X)[:, k])[0, 1]) > 0.9


def test_scaling_a_view_changes_nothing():
    X = related()
    model = MultiViewCCA(4, random_state=0).fit(X)
    scaled = X.map({"v0": lambda matrix: 1000 * matrix})
    again = MultiViewCCA(4, random_state=0).fit(scaled)
    np.testing.assert_allclose(again.transform(scaled), model.transform(X), atol=1e-8)


def test_views_that_never_vary_are_refused():
    with pytest.raises(ValueError, match="nothing to correlate"):
        MultiViewCCA(2).fit(Views(a=np.ones((5, 2)), b=np.ones((5, 3))))


def test_components_are_scaled_by_their_correlation():
    X = related()
    plain, scaled = (MultiViewCCA(4, power=power, random_state=0).fit(X) for power in (0, 2))
    np.testing.assert_allclose(scaled.transform(X), plain.transform(X) * plain.correlations_**2)
