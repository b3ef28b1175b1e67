"""Objects that a model knows nothing of: which they are, the sentence, and the warning of `predict`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from coview import BestView, LazyViews, MultiViewNaiveBayes, MultiViewPLSA, SphericalKMeans, TextViews, Views, inspect
from coview.inspection.known import describe_unknown, rows_with_values

TEXTS = {"body": ["red fox", "blue sea", "red den", "blue salt"], "title": ["fox", "sea", "den", "salt"]}
NEW = {"body": ["a fox", "zebra", None, "zebra"], "title": ["zebra", "zebra", "sea", None]}
KINDS = ["land", "water", "land", "water"]


def test_values_that_cancel_out_are_values():
    assert rows_with_values(np.array([[1, -1], [0, 0]])).tolist() == [True, False]
    stored = sparse.csr_array((np.array([0.0, 2.0]), np.array([0, 0]), np.array([0, 1, 2])), shape=(2, 1))
    assert rows_with_values(stored).tolist() == [False, True]


def test_the_sentence_names_the_first_few():
    said = describe_unknown(np.zeros(8, dtype=bool), range(8), np.array(["a"] * 7 + ["b"]))
    assert "8 of 8 objects" in said and "(0, 1, 2, 3, 4, ...)" in said and "'a' or 'b'" in said
    assert describe_unknown(np.ones(3, dtype=bool), range(3), [0, 0, 0]) is None


@pytest.mark.parametrize("model", [MultiViewNaiveBayes(), BestView()], ids=["own", "wrapped"])
def test_predict_warns_once_how_many_objects_are_unknown_and_what_they_get(model):
    model = make_pipeline(TextViews(), model).fit(TEXTS, KINDS)
    with pytest.warns(UserWarning, match="no feature known") as heard:
        model.predict(NEW)
    assert [str(each.message) for each in heard] == [
        "2 of 4 objects have no feature known to the model (1, 3): it predicts 'land' for them, whatever they are."
    ]


def test_the_warning_names_objects_by_their_ids_and_stands_where_predict_is_called():
    X = Views(words=sparse.csr_array(np.eye(4, dtype=int)), ids=list("abcd"))
    model = SphericalKMeans(2, random_state=0).fit(X)
    new = Views(words=sparse.csr_array(np.diag([1, 0, 1, 0])), ids=list("pqrs"))
    with pytest.warns(UserWarning, match=r"2 of 4 objects have .* \('q', 's'\): it predicts \d for them") as heard:
        model.predict(new)
    assert len(heard) == 1 and heard[0].filename == __file__


@pytest.mark.parametrize(
    "X",
    [
        Views(words=np.array([[0.0, 0.0], [1.0, 2.0]])),  # measurements: 0 is a value
        LazyViews.from_views(Views(words=sparse.csr_array([[0, 0], [1, 2]])), 1),
        Views(words=sparse.csr_array([[0, 1], [1, 2]])),
    ],
    ids=["measurements", "lazy", "known"],
)
def test_predict_is_silent_where_nothing_tells_of_unknown_objects(X):
    model = MultiViewPLSA(2, 2, max_iter=2, random_state=0).fit(Views(words=np.array([[1.0, 0], [0, 3], [2, 2]])))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)


def test_who_asks_through_inspect_is_told_by_known():
    model = inspect(make_pipeline(TextViews(), MultiViewNaiveBayes()).fit(TEXTS, KINDS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(NEW).tolist() == ["land", "land", "water", "land"]
    assert model.known(NEW).tolist() == [True, False, True, False]
