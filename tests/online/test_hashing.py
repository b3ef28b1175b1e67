"""Hashed features: the columns of scikit-learn's hasher, whichever way they come in."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher

from coview.online.hashing import hash_row, hash_rows

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)


@settings(max_examples=20, deadline=None)
@given(st.dictionaries(NAMES, st.floats(-10, 10).filter(bool), max_size=12), st.sampled_from([7, 64, 2**18]))
def test_one_row_has_the_columns_of_scikit_learn(features, width):
    columns, values = hash_row(features, width)
    dense = np.zeros(width)
    np.add.at(dense, columns, values)
    expected = FeatureHasher(width, input_type="dict").transform([features]).toarray()[0]
    np.testing.assert_allclose(dense, expected, atol=1e-12)
    assert len(set(columns.tolist())) == len(columns)  # names that collide share one entry


def test_text_and_words_and_names_with_text():
    width = 2**14
    given = ["win win now", {"win": 2, "now": 1}, {"color": "red"}, {"color=red": 1}, None, {"size": "2"}, {7: 1}, {}]
    rows = hash_rows(given, width).toarray()
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows[2], rows[3])
    assert not rows[4].any()
    for i, row in enumerate([*given[:4], {}, *given[5:]]):
        columns, values = hash_row(row, width)
        np.testing.assert_array_equal(rows[i][columns], values)
