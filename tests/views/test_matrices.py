from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from coview import Views
from coview.views.matrices import for_sklearn, unit_rows


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_sparse_matrices_for_scikit_learn_are_short_and_writable(kind):
    part = Views(x=sparse.random_array((5, 4), density=0.5, rng=0, format="csr"))["x"]
    given = sparse.csr_array((part.data, part.indices.astype(kind), part.indptr.astype(kind)), shape=part.shape)
    for array in (given.data, given.indices, given.indptr):
        array.flags.writeable = False
    found = for_sklearn(given)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert all(array.flags.writeable for array in (found.data, found.indices, found.indptr))
    assert_array_equal(found.toarray(), part.toarray())


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_have_length_one_and_empty_ones_stay_empty(form):
    found = unit_rows(form(np.array([[3, 4], [0, 0]])))
    dense = found.toarray() if sparse.issparse(found) else found
    assert_allclose(dense, [[0.6, 0.8], [0, 0]])
