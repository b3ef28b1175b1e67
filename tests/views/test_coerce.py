"""The gate: every form a user may hold becomes the same views."""

import warnings

import anndata
import mudata
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from coview import (
    AutoClassifier,
    MultiViewNaiveBayes,
    MultiViewPassiveAggressiveClassifier,
    MultiViewPLSAClassifier,
    TableViews,
    Views,
    as_views,
    compare,
    make_report,
    suggest_labels,
)
from coview.exceptions import ViewsError
from coview.views.arrays import is_anndata
from coview.views.views import check_same_order, is_plain

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
        *((A, ("x",)), (sparse.csr_array(A), ("x",)), (pd.DataFrame(A), ("x",)), (pl.DataFrame({"p": [1, 2]}), ("x",))),
        *(([[1, 2], [3, 4]], ("x",)), ([A, B], ("view0", "view1")), ((A, sparse.csr_array(B)), ("view0", "view1"))),
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


# -- Labels that pandas knows to be in another order than the objects

IDS = [f"p{i}" for i in range(24)]
RNG = np.random.default_rng(0)
WORDS = pd.DataFrame(RNG.poisson(1.0, (24, 6)), index=IDS).add_prefix("w")
LINKS = pd.DataFrame(RNG.poisson(1.0, (24, 4)), index=IDS).add_prefix("l")
Y = pd.Series(["a", "b"] * 12, index=IDS)
SHUFFLED = Y.sample(frac=1, random_state=0)

TWO = Views(w=WORDS, l=LINKS)

HELD = {
    "frame": WORDS,
    "mapping": {"w": WORDS, "l": LINKS},
    "counted": {"n": LINKS.to_numpy(), "w": WORDS},
    "list": [WORDS, LINKS],
    "views": TWO,
}


@pytest.mark.parametrize("X", HELD.values(), ids=HELD)
def test_a_series_in_another_order_is_refused_whatever_holds_the_rows(X):
    with pytest.raises(ViewsError, match="The rows of y are in another order than those of X"):
        check_same_order(X, SHUFFLED, "y")
    with pytest.raises(ViewsError, match="in another order"):
        check_same_order(X, SHUFFLED.to_frame(), "y")
    for values in (
        Y,
        Y.to_frame(),
        SHUFFLED.to_numpy(),
        SHUFFLED.reset_index(drop=True),
        SHUFFLED.add_prefix("other "),
        None,
    ):
        check_same_order(X, values, "y")


def test_numbers_of_a_column_of_ids_are_not_taken_for_the_index_of_a_table():
    rows = pd.DataFrame({"id": RNG.permutation(24), "text": ["ship sail", "bread oven"] * 12, "y": ["a", "b"] * 12})
    rows = rows.sample(frac=1, random_state=1)
    model = make_pipeline(TableViews(text="text", id="id", min_df=1), MultiViewNaiveBayes()).fit(rows, rows["y"])
    assert model.predict(rows).tolist() == rows["y"].tolist()
    with pytest.raises(ViewsError, match="in another order"):
        model.fit(rows, rows["y"].sample(frac=1, random_state=2))


@pytest.mark.parametrize(
    ("model", "X"),
    [
        (MultiViewNaiveBayes(), {"w": WORDS, "l": LINKS}),
        (MultiViewPLSAClassifier(max_iter=2, random_state=0), WORDS),
        (AutoClassifier(cv=2, random_state=0), TWO),
    ],
    ids=["dict", "frame", "Views"],
)
def test_a_fit_refuses_them(model, X):
    for fit in (lambda: model.fit(X, SHUFFLED), lambda: model.fit(X, y=SHUFFLED)):
        with pytest.raises(ViewsError, match="in another order"):
            fit()
    model.fit(X, Y)
    model.fit(X, SHUFFLED.to_numpy())


def test_so_do_batches_reports_comparisons_and_suggestions():
    X = {"w": WORDS, "l": LINKS}
    model = MultiViewNaiveBayes().fit(X, Y)
    for ask in (
        lambda: MultiViewPassiveAggressiveClassifier().partial_fit(X, SHUFFLED),
        lambda: make_report(model, X, SHUFFLED),
        lambda: make_report(model, X, Y, y_fit=SHUFFLED),
        lambda: make_report(model, X, by={"kind": SHUFFLED}),
        lambda: compare(X, SHUFFLED),
        lambda: suggest_labels(model, X, y=SHUFFLED),
    ):
        with pytest.raises(ViewsError, match="in another order"):
            ask()


# -- Views pass through scikit-learn's own splitters, searches and pipelines unmodified


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    words = sparse.csr_array(rng.poisson(np.eye(3)[y] * 6 + 0.2).astype(np.float32))
    image = rng.normal(size=(60, 2)) + y[:, None]
    image[5] = 0
    present = np.ones((60, 2), dtype=bool)
    present[5, 1] = False
    return Views({"words": words, "image": image}, ids=np.arange(60), present=present), y


def test_train_test_split_keeps_rows_together(data):
    X, y = data
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    assert isinstance(train, Views)
    assert train == X[train.ids]
    assert sorted([*train.ids, *test.ids]) == list(range(60))
    np.testing.assert_array_equal(y[train.ids], y_train)
    np.testing.assert_array_equal(y[test.ids], y_test)
