"""What is done to one matrix: rows taken and scattered as NumPy does it, without copies where none are needed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from coview import Views
from coview.exceptions import ViewsError
from coview.views.arrays import (
    check_not_negative,
    for_sklearn,
    largest,
    read_only,
    scatter_rows,
    split_counts,
    take_rows,
)

matrices = hnp.arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.integers(-1, 2))


@settings(max_examples=40, deadline=None)
@given(matrices, st.data())
def test_slices_of_csr_match_numpy(matrix, data):
    rows = data.draw(st.slices(len(matrix)))
    for make in (sparse.csr_array, sparse.csr_matrix):
        taken = take_rows(make(matrix), rows)
        assert type(taken) is make
        np.testing.assert_array_equal(taken.toarray(), matrix[rows])
        taken.check_format(full_check=True)


@settings(max_examples=40, deadline=None)
@given(matrices, st.data())
def test_scattered_rows_match_a_loop(matrix, data):
    positions = np.array(data.draw(st.lists(st.integers(-1, len(matrix) - 1), min_size=1, max_size=8)))
    expected = [matrix[p] if p >= 0 else np.zeros(matrix.shape[1]) for p in positions]
    np.testing.assert_array_equal(scatter_rows(matrix, positions), expected)
    scattered = scatter_rows(sparse.csr_array(matrix), positions)
    scattered.check_format(full_check=True)
    np.testing.assert_array_equal(scattered.toarray(), expected)


def test_read_only_shares_memory_and_leaves_the_source_writable():
    source = sparse.csr_array(np.eye(3, dtype=np.float32))
    shared = read_only(source)
    assert np.shares_memory(shared.data, source.data)
    assert shared.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        shared.data[0] = 2
    source.data[0] = 2
    assert shared[0, 0] == 2


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_negative_values_are_refused_where_counts_are_needed(make):
    with pytest.raises(ViewsError, match=r"passed to PLSA, .* view 'image' has a minimum of -0.31\."):
        check_not_negative("image", make(np.array([[0.0, -0.31], [2.0, 0.0]])), "PLSA")
    check_not_negative("image", make(np.array([[0.0, 0.31]])), "PLSA")
    check_not_negative("image", make(np.zeros((2, 2))), "PLSA")


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_sparse_matrices_for_scikit_learn_are_short_and_writable(kind):
    part = Views(x=sparse.random_array((5, 4), density=0.5, rng=0, format="csr"))["x"]
    given = sparse.csr_array((part.data, part.indices.astype(kind), part.indptr.astype(kind)), shape=part.shape)
    for array in (given.data, given.indices, given.indptr):
        array.flags.writeable = False
    found = for_sklearn(given)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert all(array.flags.writeable for array in (found.data, found.indices, found.indptr))
    np.testing.assert_array_equal(found.toarray(), part.toarray())


@settings(deadline=None, max_examples=40)
@given(
    hnp.arrays(
        st.sampled_from([np.float32, np.float64, np.int32]),
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=30),
        elements=st.integers(-3, 100),
    ),
    st.sampled_from([np.asarray, np.asfortranarray, sparse.csr_array, np.negative, np.abs]),
)
def test_the_largest_absolute_value_is_found_whatever_the_signs_and_the_layout(matrix, form):
    assert largest(form(matrix)) == float(max(map(abs, matrix.ravel().tolist()), default=0))


def test_halves_of_counts_are_whole_tokens_and_add_up():
    rng = np.random.default_rng(0)
    counts = sparse.random_array((20, 30), density=0.3, rng=rng, data_sampler=lambda size: rng.integers(1, 9, size))
    one, two = split_counts(counts, np.random.default_rng(1))
    assert abs(one + two - counts).max() == 0 and (one.data % 1 == 0).all() and one.nnz and two.nnz
    for other in (counts * 0.37, counts * 1e30):  # single entries of what are no tokens
        one, two = split_counts(other, np.random.default_rng(1))
        assert not (one * two).nnz and abs(one + two - other).max() <= 1e-12 * other.max()
