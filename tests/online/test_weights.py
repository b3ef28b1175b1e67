"""The memory of an online model: growing, and the rows it learns from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from coview import Views
from coview.online.weights import compress_rows, grow_classes, make_weights, score_rows


def filled(n_classes, averages=True):
    memory = make_weights({"a": 3, "b": 2}, n_classes, float, averages=averages)
    rng = np.random.default_rng(0)
    for part in ("weights", "lags"):
        for array in (memory[part] or {}).values():
            array[:] = rng.normal(size=array.shape)
    memory["bias"][:] = rng.normal(size=memory["bias"].shape)
    return {**memory, "n_rounds": 7}


@pytest.mark.parametrize("averages", [False, True])
def test_growing_from_two_classes_keeps_every_margin(averages):
    X = Views(a=np.eye(3), b=np.ones((3, 2)))
    memory = filled(2, averages)
    grown = grow_classes(memory, [2, 0], 4)
    before, after = score_rows(memory, X), score_rows(grown, X)
    for view in X.names:
        np.testing.assert_allclose(after[view][:, 0] - after[view][:, 2], before[view][:, 0])
        assert not grown["weights"][view][:, [1, 3]].any()
    np.testing.assert_allclose(grown["bias"][:, [0]] - grown["bias"][:, [2]], memory["bias"])


def test_growing_from_three_classes_moves_columns():
    memory = filled(3)
    grown = grow_classes(memory, [0, 2, 3], 4)
    np.testing.assert_array_equal(grown["weights"]["a"][:, [0, 2, 3]], memory["weights"]["a"])
    assert not grown["weights"]["a"][:, 1].any()


def test_rows_have_one_type_and_no_holes():
    wide = sparse.csr_array(np.eye(2, 3))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    rows = compress_rows(Views(a=wide, b=np.eye(2)), ["b", "a", "c"], np.dtype(np.float32))
    assert {array.dtype for array in rows.indices + rows.indptrs} == {np.dtype(np.int64)}
    assert {array.dtype for array in rows.values} == {np.dtype(np.float32)}
    assert all(array.flags.c_contiguous for part in rows for array in part)
    assert [len(values) for values in rows.values] == [2, 2, 0]
