"""What is done to one matrix: rows taken and scattered as NumPy does it, without copies where none are needed."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from coview import PLSA, SphericalKMeans, Views, as_views
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


# -- Sparse matrices at the gate: what leads compiled code out of bounds is refused, what is merely untidy is mended

DENSE = np.array([[1.0, 0, 2, 0], [0, 3, 0, 0], [0, 0, 0, 4], [5, 6, 0, 7]])


def damaged(make=sparse.csr_array, **parts):
    """A matrix whose arrays are exchanged after SciPy has looked at them."""
    matrix = make(DENSE)
    for name, value in parts.items():
        setattr(matrix, name, np.asarray(value))
    return matrix


def coordinates_out_of_range():
    matrix = sparse.coo_array(DENSE)
    matrix.coords[1][:] = 400
    return matrix


BROKEN = {
    "column beyond the width": damaged(indices=[0, 2, 1, 3, 0, 1, 9]),
    "negative column": damaged(indices=[0, -2, 1, 3, 0, 1, 3]),
    "bounds beyond the values": damaged(indptr=[0, 2, 3, 4, 70]),
    "bounds that fall": damaged(indptr=[0, 6, 3, 4, 7]),
    "bounds that fall to 0": damaged(indptr=[0, 6, 3, 0, 0]),
    "bounds that begin late": damaged(indptr=[1, 2, 3, 4, 7]),
    "too few bounds": damaged(indptr=[0, 2, 7]),
    "fewer indices than values": damaged(indices=[0, 2, 1]),
    "two-dimensional values": damaged(data=np.ones((7, 1))),
    "row beyond the height, by columns": damaged(sparse.csc_array, indices=[0, 3, 1, 3, 0, 2, 11]),
    "blocks beyond the width": damaged(partial(sparse.bsr_array, blocksize=(2, 2)), indices=[0, 5, 0, 1]),
    "coordinates": coordinates_out_of_range(),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_matrix_whose_parts_do_not_fit_is_refused_before_anybody_converts_it(case):
    fitted = SphericalKMeans(2, random_state=0).fit(DENSE)
    for gate in (
        lambda m: Views(words=m),
        lambda m: as_views({"words": m}),
        lambda m: Views.align({"words": ("abcd", m)}),
        PLSA(2).fit,
        fitted.predict,
    ):
        with pytest.raises(ViewsError, match=r"View '(words|x)' cannot be used"):
            gate(BROKEN[case])


def test_flags_that_lie_are_not_believed():
    matrix = sparse.csr_array((np.array([1.0, 2, 3, 4]), np.array([2, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 3))
    expected = matrix.toarray()
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    before = [part.copy() for part in (matrix.data, matrix.indices, matrix.indptr)]
    kept = Views(words=matrix)["words"]
    assert kept.indices.tolist() == [0, 2, 1]
    np.testing.assert_array_equal(kept.toarray(), expected)
    for part, was in zip((matrix.data, matrix.indices, matrix.indptr), before):
        np.testing.assert_array_equal(part, was)


@pytest.mark.parametrize("index", ["<i8", ">i4", "u4", "u1"])
def test_indices_of_other_types_become_those_that_compiled_code_takes(index):
    matrix = damaged(indices=sparse.csr_array(DENSE).indices.astype(index))
    kept = Views(words=matrix)["words"]
    assert kept.indices.dtype == kept.indptr.dtype and kept.indices.dtype in (np.int32, np.int64)
    np.testing.assert_array_equal(kept.toarray(), DENSE)


def test_values_behind_the_last_row_are_left_out():
    matrix = sparse.csr_array(DENSE)
    matrix.data, matrix.indices = np.append(matrix.data, np.nan), np.append(matrix.indices, 99)
    np.testing.assert_array_equal(Views(words=matrix)["words"].toarray(), DENSE)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["csr", "csc", "bsr"]),
    st.lists(st.integers(-2, 6), min_size=0, max_size=8),
    st.lists(st.integers(-1, 9), min_size=3, max_size=6),
    st.integers(0, 8),
)
def test_what_passes_is_what_scipy_calls_sound(kind, indices, indptr, n_values):
    matrix = sparse.csr_array(DENSE).asformat(kind)
    shape = (n_values, *matrix.data.shape[1:])
    matrix.indices, matrix.indptr = np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32)
    matrix.data = np.ones(shape)
    try:
        kept = Views(words=matrix)["words"]
    except ViewsError:
        behind = kind == "bsr" and indptr[-1] < len(indices)  # blocks after the last row, which SciPy cannot convert
        assert not scipy_accepts(matrix) or (np.diff(matrix.indptr) < 0).any() or behind
        return
    assert scipy_accepts(matrix) and scipy_accepts(kept)
    assert sparse.csr_array(kept).has_canonical_format
    if kind == "csr":
        expected = np.zeros(DENSE.shape)
        np.add.at(expected, (np.repeat(np.arange(4), np.diff(indptr)), indices[: indptr[-1]]), 1.0)
        np.testing.assert_array_equal(kept.toarray(), expected)


def scipy_accepts(matrix):
    """SciPy looks at everything but at bounds that fall where no value is stored."""
    try:
        matrix.check_format(full_check=True)
    except ValueError:
        return False
    return True


def test_values_of_another_byte_order_and_of_half_precision_pass():
    matrix = damaged(data=sparse.csr_array(DENSE).data.astype(">f8"))
    assert Views(words=matrix)["words"].data.dtype.isnative
    half = sparse.csc_array(DENSE)
    half.data = half.data.astype(np.float16)
    np.testing.assert_array_equal(Views(words=half)["words"].toarray(), DENSE)
