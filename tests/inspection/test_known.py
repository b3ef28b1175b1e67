"""Objects that a model knows nothing of: which they are, the sentence, and the warning of `predict`."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from coview import BestView, MultiViewNaiveBayes, MultiViewPLSA, SphericalKMeans, TextViews, Views, inspect
from coview.exceptions import UnknownObjectsWarning
from coview.inspection.known import count_equal, rows_with_values

TEXTS = {"body": ["red fox", "blue sea", "red den", "blue salt"], "title": ["fox", "sea", "den", "salt"]}
NEW = {"body": ["a fox", "zebra", None, "zebra"], "title": ["zebra", "zebra", "sea", None]}
KINDS = ["land", "water", "land", "water"]


def test_values_that_cancel_out_are_values():
    assert rows_with_values(np.array([[1, -1], [0, 0]]), counts=True).tolist() == [True, False]
    stored = sparse.csr_array((np.array([0.0, 2.0]), np.array([0, 0]), np.array([0, 1, 2])), shape=(2, 1))
    assert rows_with_values(stored).tolist() == [False, True]
    rng = np.random.default_rng(0)
    for _ in range(20):  # against a plain count
        X = sparse.random_array((9, 6), density=0.2, format="csr", rng=rng)
        X.data[rng.random(X.nnz) < 0.5] = 0
        for kind in ("csr", "csc", "coo"):
            assert rows_with_values(X.asformat(kind)).tolist() == (X.toarray() != 0).any(axis=1).tolist()


def test_equal_objects_are_those_of_equal_values():
    rng = np.random.default_rng(0)
    for kind in (np.asarray, sparse.csr_array):
        X = rng.integers(0, 6, (3000, 5)).astype(np.float32)  # in several blocks
        present = rng.random((3000, 2)) < 0.9
        here = Views(a=kind(X[:, :2] * present[:, :1]), b=X[:, 2:] * present[:, 1:], present=present)
        rows = np.hstack([X * np.repeat(present, [2, 3], axis=1), present])
        counts = np.unique(rows, axis=0, return_counts=True)[1]
        assert count_equal(here) == counts[counts > 1].sum() < 3000
    stored = sparse.csr_array((np.array([1.0, 0.0, 1.0]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    assert count_equal(Views(a=stored)) == 2 and stored.nnz == 3


def test_rows_are_compared_without_a_copy_of_the_data():
    X = Views(a=np.random.default_rng(0).normal(size=(6000, 300)).astype(np.float32))
    tracemalloc.start()
    try:
        assert count_equal(X) == 0
        assert tracemalloc.get_traced_memory()[1] < X["a"].nbytes / 2
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("model", [MultiViewNaiveBayes(), BestView()], ids=["own", "wrapped"])
def test_predict_warns_once_how_many_objects_are_unknown_and_what_they_get(model):
    model = make_pipeline(TextViews(), model).fit(TEXTS, KINDS)
    with pytest.warns(UnknownObjectsWarning, match="no feature known") as heard:
        model.predict(NEW)
    assert [str(each.message) for each in heard] == [
        "2 of 4 objects have no feature known to the model (1, 3): it predicts 'land' for them, whatever they are."
    ]


def test_the_warning_names_objects_by_their_ids_and_stands_where_predict_is_called():
    X = Views(words=sparse.csr_array(np.eye(4, dtype=int)), ids=list("abcd"))
    model = SphericalKMeans(2, random_state=0).fit(X)
    new = Views(words=sparse.csr_array(np.diag([1, 0, 1, 0])), ids=list("pqrs"))
    with pytest.warns(
        UnknownObjectsWarning, match=r"2 of 4 objects have .* \('q', 's'\): it predicts \d for them"
    ) as heard:
        model.predict(new)
    assert len(heard) == 1 and heard[0].filename == __file__


COUNTS = sparse.csr_array(
    np.array([[2, 1, 0], [0, 0, 3], [1, 4, 0], [0, 0, 1], [3, 1, 0], [0, 1, 2]] * 3 + [[0, 0, 0]] * 3)
)
CLASSES = np.array([0, 1] * 9 + [0, 1, 0])


def test_a_predict_of_ones_own_that_calls_that_of_coview_warns_once():
    class Own(MultiViewNaiveBayes):
        def predict(self, X):
            return super().predict(X)

    model = Own().fit(Views(words=COUNTS), CLASSES)
    with pytest.warns(UnknownObjectsWarning) as heard:
        model.predict(Views(words=COUNTS))
    assert [each.filename for each in heard] == [__file__]


@pytest.mark.parametrize("make", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_columns_that_the_model_was_not_fitted_with_are_not_known(make):
    names = {"words": list("abcd")}
    model = MultiViewNaiveBayes().fit(Views(words=make(np.eye(4)), feature_names=names), [0, 1, 0, 1])
    new = Views(words=make(np.array([[1.0, 2.0], [0.0, 3.0]])), feature_names={"words": ["a", "f"]})
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model.predict(new)
    told = [str(each.message) for each in heard if each.category is UnknownObjectsWarning]
    assert told == ["1 of 2 objects has no feature known to the model (1): it predicts 0 for it, whatever it is."]
    inspection = inspect(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert inspection.known(new).tolist() == [True, False]
        assert inspection.preparation.prepare_known(new)[1].tolist() == [True, False]


@pytest.mark.parametrize("make", [sparse.csr_array, np.array, lambda rows: np.array(rows, dtype=float)])
def test_the_model_decides_what_a_zero_is(make):
    rows, new = [[2, 1], [0, 3], [1, 1], [0, 2]], make([[0, 0], [1, 2]])
    y = [0, 1, 0, 1]
    counts = [MultiViewNaiveBayes(), BestView(), MultiViewPLSA(2, 2, max_iter=2, random_state=0), MultinomialNB()]
    for model in counts:
        assert inspect(model.fit(np.array(rows), y)).known(new).tolist() == [False, True]
    for model in counts[:-1]:
        with pytest.warns(UnknownObjectsWarning, match="1 of 2 objects"):
            model.predict(new)
    measured = inspect(BestView(LogisticRegression()).fit(np.array(rows), y))
    assert measured.known(new).tolist() == [not sparse.issparse(new), True]
