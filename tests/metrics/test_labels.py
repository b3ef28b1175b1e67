"""Labels as codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from coview.metrics.labels import as_labels, encode


@pytest.mark.parametrize(
    "labels", [["b", "a", "b"], np.array([3, 1, 3]), [2.5, 1.5, 2.5], [1, "1", 1], np.array([True, False, True])]
)
def test_codes_are_equal_where_labels_are_equal(labels):
    (codes,) = encode(as_labels("y", labels))
    assert (codes[0] == codes[2], sorted(codes[:2].tolist())) == (True, [0, 1])


def test_numbers_and_strings_never_meet():
    a, b = encode(np.array([1, 2]), np.array(["1", "2"]))
    assert sorted([*a.tolist(), *b.tolist()]) == [0, 1, 2, 3]


@pytest.mark.parametrize("series", [pd.Series(["a", "b", "a"]), pl.Series(["a", "b", "a"])])
def test_series_of_strings(series):
    assert encode(as_labels("y", series))[0].tolist() == [0, 1, 0]


@pytest.mark.parametrize("labels", [pd.Series([1, pd.NA], dtype="Int64"), ["a", None], [1.0, float("nan")]])
def test_gaps_are_refused(labels):
    with pytest.raises(ValueError, match="y has 1 unlabeled objects"):
        as_labels("y", labels)
