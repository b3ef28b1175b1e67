"""The gate: every form a user may hold becomes the same views."""

from __future__ import annotations

import warnings

import anndata
import mudata
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from coview import Views, as_views
from coview.exceptions import ViewsError
from coview.views.coerce import is_plain

A, B = np.eye(3), np.ones((3, 2))


def make_mudata(**parts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mudata.MuData(parts)


def annotated(matrix, ids, names):
    return anndata.AnnData(matrix, obs=pd.DataFrame(index=list(ids)), var=pd.DataFrame(index=list(names)))


def test_views_come_back_as_they_are():
    X = Views(a=A)
    assert as_views(X) is X


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (A, ("x",)),
        (sparse.csr_array(A), ("x",)),
        (pd.DataFrame(A), ("x",)),
        (pl.DataFrame({"p": [1, 2]}), ("x",)),
        ([[1, 2], [3, 4]], ("x",)),
        ([A, B], ("view0", "view1")),
        ((A, sparse.csr_array(B)), ("view0", "view1")),
        ({"a": A, "b": B}, ("a", "b")),
        (pd.concat({"a": pd.DataFrame(A), "b": pd.DataFrame(B)}, axis=1), ("a", "b")),
    ],
)
def test_every_form_is_taken(source, names):
    assert as_views(source).names == names
    assert is_plain(source) == (names == ("x",))


def test_a_mudata_with_all_objects_in_all_modalities():
    data = make_mudata(rna=annotated(sparse.csr_matrix(A), "pqr", "uvw"), protein=annotated(B, "pqr", "st"))
    X = as_views(data)
    assert X.names == ("rna", "protein")
    assert X.ids.tolist() == list(data.obs_names)
    assert X.feature_names["protein"].tolist() == ["s", "t"]
    assert sparse.issparse(X["rna"])
    np.testing.assert_array_equal(X["rna"].toarray(), A)
    assert not is_plain(data)


def test_a_mudata_with_missing_objects_marks_them():
    data = make_mudata(rna=annotated(A, "pqr", "uvw"), protein=annotated(B, "rsq", "xy"))
    X = as_views(data)
    assert X.ids.tolist() == list(data.obs_names)
    for v, part in enumerate(data.mod.values()):
        np.testing.assert_array_equal(X.present[:, v], np.isin(X.ids, part.obs_names))
    row = X.ids.tolist().index("q")
    np.testing.assert_array_equal(X["rna"][row], A[1])


def test_a_mudata_is_not_an_argument_of_views():
    with pytest.raises(ViewsError, match="as_views"):
        Views(make_mudata(rna=annotated(A, "pqr", "uvw")))
