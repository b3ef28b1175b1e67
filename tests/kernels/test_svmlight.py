"""Lines of svmlight: what scikit-learn reads, to the bit, or nothing at all."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from coview.kernels.svmlight import parse_svmlight


def parse(text: bytes):
    text += b"\n"
    rows, entries = text.count(b"\n") + 1, text.count(b":")
    labels, values = np.empty(rows), np.empty(entries)
    indptr, indices = np.empty(rows + 1, dtype=np.int32), np.empty(entries, dtype=np.int32)
    found = parse_svmlight(np.frombuffer(text, dtype=np.uint8), labels, indptr, indices, values)
    if found < 0:
        return None
    stop = indptr[found]
    return labels[:found], indptr[: found + 1], indices[:stop], values[:stop]


NUMBERS = st.one_of(
    st.integers(-(10**6), 10**6).map(str),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.decimals(-1000, 1000, places=4).map(str),
    st.sampled_from(["1e3", "-2.5E-4", "+7", "0", "-0.0", ".5", "3.", "1e-22", "9007199254740991"]),
)
ROWS = st.tuples(NUMBERS, st.dictionaries(st.integers(0, 10**6), NUMBERS, max_size=6), st.sampled_from(["", " # word"]))


@settings(max_examples=40, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=5), st.sampled_from(["\n", "\r\n", "\n\n", " \n# note\n"]))
def test_plain_lines_are_read_as_by_scikit_learn(rows, ending):
    lines = (f"{label} " + " ".join(f"{c}:{v}" for c, v in sorted(cells.items())) + end for label, cells, end in rows)
    text = ending.join(lines).encode()
    found = parse(text)
    if found is None:  # a number of too many digits, or too far from 1
        return
    matrix, labels = load_svmlight_file(io.BytesIO(text), zero_based=True)
    for ours, theirs in zip(found, (labels, matrix.indptr, matrix.indices, matrix.data)):
        np.testing.assert_array_equal(ours, theirs)


def test_short_numbers_are_always_plain():
    labels, indptr, indices, values = parse(b"+1 0:0.25 7:-300 \n\n-1\n2.5 3:1")
    assert labels.tolist() == [1.0, -1.0, 2.5] and indptr.tolist() == [0, 2, 2, 3]
    assert indices.tolist() == [0, 7, 3] and values.tolist() == [0.25, -300.0, 1.0]


@pytest.mark.parametrize(
    "line",
    [
        b"1 2:1 2:1",  # twice the same column
        b"1 3:1 2:1",  # columns out of order
        b"1 qid:3 2:1",
        b"1 2:x",
        b"1 2",
        b"1 2:",
        b"1 -2:1",
        b"x 1:1",
        b"1 1:nan",
        b"1 1:0.1234567890123456789",
        b"1 1:1e300",
        b"1 4294967296:1",
        b"1:2",
        b"1 1:1e2",
        b"1 2:1 # note",
        b"1 2:-",
        b"1 2:3:4",
        b"1 2:3 4",
    ],
)
def test_what_is_not_plain_is_left_to_others(line):
    assert parse(b"1 1:1\n" + line + b"\n") is None
