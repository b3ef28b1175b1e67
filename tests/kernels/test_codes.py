"""Products of 8-bit codes: those of whole numbers, by whichever instructions."""

from __future__ import annotations

import numpy as np
import pytest

from coview.kernels import codes
from coview.kernels.compiling import njit


@pytest.mark.parametrize("way", ["of this processor", "of any processor"])
def test_products_of_codes_are_those_of_whole_numbers(monkeypatch, way):
    if way == "of any processor":
        monkeypatch.setattr(codes, "_sum_in_four", lambda: None)

    @njit()
    def multiply(items, queries, out):
        for i in range(0, len(items), codes.TILE):
            codes.multiply_tile(items, i, queries, 4, out, i)

    rng = np.random.default_rng(0)
    items, queries = (rng.integers(-127, 128, size=(n, 48)).astype(np.int8) for n in (12, 8))
    items[0], queries[4] = 127, -127  # the largest sums
    out = np.zeros((4, 12), dtype=np.int32)
    multiply(items, queries, out)
    assert np.array_equal(out, queries[4:].astype(np.int64) @ items.T.astype(np.int64))
