from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from coview import Views
from coview.preprocessing.split import split_features

X = np.arange(1, 36).reshape(5, 7)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix, pd.DataFrame, pl.DataFrame])
def test_every_feature_lands_in_exactly_one_part(form):
    parts = split_features(form(X), 3, random_state=0)
    assert parts.names == ("part0", "part1", "part2")
    assert sorted(parts.n_features.values()) == [2, 2, 3]
    glued = parts.hstack()
    glued = glued.toarray() if sparse.issparse(glued) else glued
    assert_array_equal(glued[:, np.argsort(glued[0])], X)


def test_sparse_stays_sparse_and_float32_stays_float32():
    parts = split_features(sparse.csr_array(X, dtype=np.float32), 2, random_state=0)
    assert all(sparse.issparse(part) and part.dtype == np.float32 for part in parts.values())


def test_names_and_ids_are_kept():
    frame = pd.DataFrame(X, columns=list("abcdefg"), index=list("vwxyz"))
    parts = split_features(frame, 2, random_state=0)
    assert parts.ids.tolist() == list("vwxyz")
    for name, columns in parts.feature_names.items():
        assert_array_equal(parts[name], frame[list(columns)])


def test_the_seed_decides():
    a, b, c = (split_features(X, 3, random_state=seed) for seed in (0, 0, 1))
    assert a == b
    assert a != c
    assert split_features(X, 3, random_state=np.random.default_rng(0)) == split_features(
        X, 3, random_state=np.random.default_rng(0)
    )


def test_missing_rows_stay_missing():
    whole = Views(x=np.vstack([np.zeros((1, 4)), np.ones((2, 4))]), present=[[False], [True], [True]])
    assert_array_equal(split_features(whole, 2, random_state=0).present, [[False] * 2, [True] * 2, [True] * 2])


def test_one_part_is_the_whole():
    assert_array_equal(split_features(X, 1)["part0"], X)


@pytest.mark.parametrize("n", [0, 8, 1.5, True, "2"])
def test_a_bad_number_of_parts_is_refused(n):
    with pytest.raises(ValueError, match="from 1 to the 7 features"):
        split_features(X, n)


def test_several_views_are_refused():
    with pytest.raises(ValueError, match="takes one view, got 2"):
        split_features(Views(a=X, b=X), 2)
