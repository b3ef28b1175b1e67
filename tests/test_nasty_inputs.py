"""Inputs that no model can use are refused in one sentence that names the view, by every estimator alike."""

import numpy as np
import pytest
from fuzz import estimators, functions
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans

from coview import (
    BestView,
    ConcatenatedViews,
    ConsensusClustering,
    CrossModalRetriever,
    LinkPLSA,
    SphericalKMeans,
    Views,
    as_views,
    inspect,
)
from coview.catalog import ESTIMATORS, TRANSFORMERS, resolve
from coview.exceptions import ParameterError, ViewsError
from coview.preprocessing.base import PerViewTransformer
from coview.validation import encode_labels

MODELS = [*ESTIMATORS, *(name for name in TRANSFORMERS if issubclass(resolve(name), PerViewTransformer))]


def counts(n: int = 12) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {"words": rng.poisson(2.0, size=(n, 5)).astype(float), "links": rng.poisson(2.0, size=(n, n)).astype(float)}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("form", "value", "sentence"),
    [(np.asarray, 1e308, "values as large as 1e.308"), (sparse.csr_array, 1e-320, "no values above 1e-320")],
)
def test_numbers_that_cannot_be_computed_with_are_refused(name, form, value, sentence):
    X = counts()
    X["words"] = form(np.where(X["words"] > 2, value, 0.0))
    if name == "EachView":
        model = resolve(name)(transformers=KMeans(2))
    else:
        model = resolve(name)()
    if "n_clusters" in model.get_params():
        model.set_params(n_clusters=2)
    if name == "ScaledViews":  # lets counts pass
        model.set_params(views="words")
    with pytest.raises(ViewsError, match=f"View 'words' has {sentence}"):
        model.fit(X, np.arange(12) % 3)


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (np.array([[1.0, np.nan]]), "View 'x' cannot be used: Input contains NaN"),
        ([[1.0, np.inf]], "View 'x' cannot be used: Input contains infinity"),
        ({1.0, 2.0}, "View 'x' cannot be used"),
        ((row for row in np.eye(2)), "View 'x' cannot be used"),
        (map(list, np.eye(2)), "View 'x' cannot be used"),
        (np.ma.masked_array(np.eye(2), [[True, False], [False, False]]), "masked array"),
        ({"words": {1, 2}}, "View 'words' cannot be used"),
        ({"words": np.ma.masked_equal(np.eye(2), 0)}, "View 'words' is a masked array"),
    ],
)
def test_sentences_are_the_same_for_one_matrix_and_for_views(X, sentence):
    with pytest.raises(ViewsError, match=sentence):
        ConsensusClustering(2).fit(X)
    if isinstance(X, dict):
        with pytest.raises(ViewsError, match=sentence):
            as_views(X)


def test_a_masked_array_that_masks_nothing_is_an_array():
    assert_array_equal(Views(np.ma.masked_array(np.eye(2)))["x"], np.eye(2))


@pytest.mark.parametrize("fitted", [np.float32, np.float64])
@pytest.mark.parametrize(
    "model",
    [
        ConsensusClustering(3, estimator=KMeans(3), random_state=0),
        BestView(KMeans(3, random_state=0)),
        ConcatenatedViews(KMeans(3, random_state=0)),
    ],
)
def test_precision_of_new_objects_does_not_matter(model, fitted):
    X = Views(counts())
    narrow, wide = (X.map(lambda matrix, kind=kind: matrix.astype(kind)) for kind in (np.float32, np.float64))
    model.fit(narrow if fitted == np.float32 else wide)
    assert_array_equal(model.predict(narrow), model.predict(wide))


def test_masked_labels_are_none():
    codes, classes = encode_labels(np.ma.masked_array([3, 4, 3], [False, False, True]))
    assert codes.tolist() == [0, 1, -1] and classes.tolist() == [3, 4]


def test_labels_that_are_no_classes_are_refused():
    with pytest.raises(ParameterError, match=r"y holds no classes: .*bytes"):
        encode_labels(np.array([b"a", b"b"]))


def test_ids_that_cannot_be_sorted_may_not_be_there_twice():
    with pytest.raises(ViewsError, match="Object None is already in the index"):
        CrossModalRetriever(LinkPLSA(2, random_state=0)).fit(Views(counts(), ids=[None] * 12))


def test_some_nasty_cases():
    assert estimators.main(seed=0, count=50) == []


def test_functions_refuse_nonsense_in_place_of_any_argument():
    assert functions.main(seed=0, count=200) == []


@pytest.mark.parametrize(("answer", "told"), [(np.nan, ""), (np.inf, "NaN or infinity in the answer"), (0.5, "")])
def test_infinity_is_told_of_where_nan_is_an_answer(answer, told, monkeypatch):
    monkeypatch.setattr(functions, "_call", lambda *case: np.array([answer, 1.0]))
    assert functions.run_case(("topic_diversity", "topics", None)) == told


def test_a_case_does_not_change_the_models_of_others():
    model = functions.calls()["set_group_names"][1]["model"]
    before = inspect(model).group_names
    for name, argument, value in (("set_group_names", "names", {0: "x"}), ("edit(topics).rename", "name", "x")):
        assert functions.run_case((name, argument, value)) == ""
    assert inspect(model).group_names == before


@pytest.mark.parametrize("tiny", [1e-70, 1e-320])
def test_a_tiny_row_gets_the_same_answer_alone_and_in_a_batch(tiny):
    X = counts()["words"]
    model = SphericalKMeans(2, random_state=0).fit(Views(a=X))
    batch = np.vstack([X[:3], tiny * (X[3:4] > 0)])
    together, alone = model.predict(Views(a=batch)), model.predict(Views(a=batch[3:]))
    assert together[3] == alone[0]
    with pytest.raises(ViewsError, match="below 1e-60"):
        SphericalKMeans(1).fit(Views(a=batch[3:]))
