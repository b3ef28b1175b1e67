"""The nearest rows are those of all pairs, by plain sums of squared differences in double precision."""

from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from coview.engines.loop import select_engine
from coview.engines.neighbors import find_neighbors

RNG = np.random.default_rng(0)
PLAIN = RNG.random((150, 24)) * (RNG.random((150, 24)) < np.geomspace(0.05, 1, 24))
ROWS = {
    "plain": PLAIN,
    "signs": PLAIN * RNG.choice([-1, 1], PLAIN.shape),
    "ties": np.round(PLAIN * 2),
    "copies": np.repeat(PLAIN[:3], 50, axis=0),
    "empty": PLAIN * (np.arange(150) % 3 > 0)[:, None],
    "far from zero": PLAIN + 1e6,
    "sorted": np.sort(PLAIN[:, -1:], axis=0),
    "large": PLAIN * 1e30,
    "scales": PLAIN * np.geomspace(1e-12, 1, 150)[:, None],
    "no columns": PLAIN[:, :0],
}


def engine_of(name):
    """An engine by name; "torch" is the CUDA engine on torch's CPU device, which needs no GPU."""
    if name == "cpu":
        return select_engine(name)
    from coview.engines.cuda import CudaEngine

    return CudaEngine("cpu")


def measured(rows, among, k):
    rows, others = rows.astype(np.float64), (rows if among is None else among).astype(np.float64)
    apart = ((rows[:, None] - others) ** 2).sum(axis=2)
    if among is None:
        np.fill_diagonal(apart, np.inf)
    order = np.argsort(apart, axis=1, kind="stable")[:, :k]
    return np.sqrt(np.take_along_axis(apart, order, axis=1)), order


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("engine", ["cpu", "torch"] if find_spec("torch") else ["cpu"])
def test_neighbors_are_those_of_all_pairs(name, make, dtype, engine, monkeypatch):
    monkeypatch.setattr("coview.kernels.neighbors._LEAST", 4)  # many blocks
    ops = engine_of(engine)
    rows = ROWS[name].astype(dtype)
    for n, k, among in (150, 7, None), (150, 149, None), (150, 7, rows[:60]), (8, 60, rows[:60]), (8, 5, rows):
        found = find_neighbors(make(rows[:n]), k, None if among is None else make(among), ops=ops)
        distances, positions = measured(rows[:n], among, k)
        rounding = 0 if engine == "cpu" or make is np.asarray else 1e-7 * abs(rows).max(initial=0) * 5
        assert_allclose(found[0], distances, rtol=1e-9, atol=rounding)
        if not rounding and (make is np.asarray or name != "scales"):  # where all but a few are as good as equal
            assert_array_equal(found[1], positions)


@pytest.mark.parametrize("seed", range(8))
def test_of_equally_far_rows_the_first_are_taken(seed):
    rng = np.random.default_rng(seed)
    rows = rng.poisson(0.1, (rng.integers(230, 390), rng.integers(3, 30))).astype(float)
    k = int(rng.integers(5, 50))
    assert_array_equal(find_neighbors(sparse.csr_array(rows), k)[1], measured(rows, None, k)[1])


def test_rows_that_cannot_be_compared_come_last_and_the_search_ends():
    X = PLAIN.copy()
    X[::5] = np.inf
    with np.errstate(all="ignore"):
        distances, positions = find_neighbors(sparse.csr_array(X), 125)
    assert (
        np.isinf(distances[::5]).all() and np.isinf(distances[1, 119:]).all() and np.isfinite(distances[1, :119]).all()
    )
    assert len(np.unique(positions[0])) == 125


def test_who_holds_rows_otherwise_gets_the_same_neighbors():
    rows = sparse.csr_array(PLAIN)
    turned = rows.tocsc().tocsr()
    turned.indices = np.concatenate([part[::-1] for part in np.split(rows.indices, rows.indptr[1:-1])])
    turned.data = np.concatenate([part[::-1] for part in np.split(rows.data, rows.indptr[1:-1])])
    turned.has_sorted_indices = False
    for ours, right in zip(find_neighbors(turned, 5), find_neighbors(rows, 5)):
        assert_array_equal(ours, right)
    for ours, right in zip(find_neighbors(PLAIN[:20], 5, rows), find_neighbors(PLAIN[:20], 5, PLAIN)):
        assert_allclose(ours, right, rtol=1e-12)
