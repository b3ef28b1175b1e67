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
from coview.views.arrays import is_anndata
from coview.views.views import is_plain

A, B = np.eye(3), np.ones((3, 2))


def make_mudata(**parts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mudata.MuData(parts)


def annotated(matrix, ids, names):
    return anndata.AnnData(matrix, obs=pd.DataFrame(index=list(ids)), var=pd.DataFrame(index=list(names)))


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
    X = as_views(source)
    assert X.names == names and as_views(X) is X
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


# -- AnnData, and matrices in obsm


@pytest.mark.parametrize("module", ["anndata", "anndata._core.anndata"])  # versions differ in what they call it
def test_an_anndata_is_known_by_its_class(module):
    assert is_anndata(type("AnnData", (), {"__module__": module})())
    assert is_anndata(type("Mine", (type("AnnData", (), {"__module__": module}),), {})())
    assert not is_anndata(type("AnnData", (), {"__module__": "anndata_like"})())


def test_an_anndata_is_one_view():
    data = annotated(sparse.csr_matrix(A), "pqr", "uvw")
    X = as_views(data)
    assert X.names == ("X",) and X.ids.tolist() == list("pqr") and X.feature_names["X"].tolist() == list("uvw")
    assert sparse.issparse(X["X"]) and not is_plain(data)
    with pytest.raises(ViewsError, match="becomes views by as_views"):
        Views(data)


def test_matrices_in_obsm_become_views():
    data = annotated(A, "pqr", "uvw")
    data.obsm["X_text"] = B.astype(np.float32)
    data.obsm["facts"] = pd.DataFrame(B, index=list("pqr"), columns=["size", "age"])
    assert as_views(data).names == ("X",)  # a map of the cells, say, is no view unless it is asked for
    X = as_views(data, obsm=["X_text", "facts"])
    assert X.names == ("X", "X_text", "facts") and X["X_text"].dtype == np.float32
    assert X.feature_names["facts"].tolist() == ["size", "age"] and "X_text" not in X.feature_names
    assert as_views(data, obsm="X_text").names == ("X", "X_text")


def test_obsm_of_a_mudata_and_of_its_modalities():
    rna, protein = annotated(A, "pqr", "uvw"), annotated(B, "rsq", "xy")
    rna.obsm["X_pca"] = np.array([[1.0], [2.0], [3.0]])
    data = make_mudata(rna=rna, protein=protein)
    data.obsm["X_joint"] = np.array([[np.nan] * 2 if name == "s" else [1.0, 2.0] for name in data.obs_names])
    X = as_views(data, obsm=["X_joint", "rna:X_pca"])
    assert X.names == ("rna", "protein", "X_joint", "rna:X_pca") and X.ids.tolist() == list(data.obs_names)
    lacks = {name: [i for i, there in zip(X.ids, X.present[:, v]) if not there] for v, name in enumerate(X.names)}
    assert lacks == {"rna": ["s"], "protein": ["p"], "X_joint": ["s"], "rna:X_pca": ["s"]}
    assert X["rna:X_pca"][X.ids.tolist().index("q")] == 2


@pytest.mark.parametrize(
    ("obsm", "sentence"),
    [("X_pac", "obsm has no 'X_pac'; it has 'X_pca'. Did you mean 'X_pca'"), (["X"], "obsm has no 'X'")],
)
def test_what_obsm_does_not_have(obsm, sentence):
    data = annotated(A, "pqr", "uvw")
    data.obsm["X_pca"] = B
    with pytest.raises(ViewsError, match=sentence):
        as_views(data, obsm=obsm)
