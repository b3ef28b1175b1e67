"""Weights over views: equal to scikit-learn in each view, sparse and float32 kept, other views untouched."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

from coview import Views
from coview.exceptions import ViewsError
from coview.preprocessing.weighting import TfidfViews, UnitRows, weigh_counts

COUNTS = np.array([[2, 0, 1, 0], [1, 3, 0, 0], [0, 0, 5, 0], [1, 0, 0, 0]])
ALL = [TfidfViews(), UnitRows()]
MAKERS = {"dense": np.asarray, "array": sparse.csr_array, "matrix": sparse.csr_matrix}
counts = hnp.arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.integers(0, 4))


def dense(array):
    return array.toarray() if sparse.issparse(array) else array


def with_gap(make=sparse.csr_array, dtype=float) -> Views:
    """Two views; the last object lacks the first."""
    words = np.vstack([COUNTS, np.zeros(4)]).astype(dtype)
    present = np.ones((5, 2), dtype=bool)
    present[4, 0] = False
    return Views({"words": make(words), "image": -np.ones((5, 2))}, present=present, ids=list("abcde"))


# -- one law for all


@pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_kind_and_precision_are_kept(model, kind, dtype):
    X = Views(words=MAKERS[kind](COUNTS.astype(dtype)))
    before = dense(X["words"]).copy()
    found = clone(model).fit_transform(X)["words"]
    assert type(found) is type(X["words"])
    assert found.dtype == (np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(dense(X["words"]), before)


@pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)
def test_other_views_pass_through_untouched(model):
    X = with_gap()
    found = clone(model).set_params(views="words").fit_transform(X)
    assert found.names == X.names
    assert np.shares_memory(found["image"], X["image"])
    np.testing.assert_array_equal(found.present, X.present)
    np.testing.assert_array_equal(found.ids, X.ids)
    assert dense(found["words"])[4].sum() == 0
    without = clone(model).fit_transform(X.select("words")[:4])  # rows that lack a view do not count
    np.testing.assert_allclose(dense(found["words"])[:4], dense(without["words"]), rtol=1e-12)


@pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)
def test_unknown_views_and_other_widths_are_refused(model):
    name = type(model).__name__
    fitted = clone(model).fit(Views(a=COUNTS))
    with pytest.raises(ViewsError, match=f"{name} was not fitted on view 'b'; it was fitted on 'a'"):
        fitted.transform(Views(b=COUNTS))
    with pytest.raises(ViewsError, match=f"View 'a' has 3 features, but {name} was fitted with 4"):
        fitted.transform(Views(a=COUNTS[:, :3]))
    with pytest.raises(ViewsError, match=f"{name} cannot transform view 'z'; the views are 'a'"):
        clone(model).set_params(views=["z"]).fit(Views(a=COUNTS))


def test_negative_counts_are_refused():
    sentence = (
        "Negative values in data passed to TfidfViews, which takes counts: view 'image' has a minimum of -1. Turn the "
        "view into counts with Codebook(...)"
    )
    with pytest.raises(ViewsError, match=re.escape(sentence)):
        TfidfViews().fit(with_gap())


# -- each against its oracle


@settings(max_examples=40, deadline=None)
@given(
    counts,
    st.fixed_dictionaries(
        {"norm": st.sampled_from(["l1", "l2", None]), "use_idf": st.booleans(), "sublinear_tf": st.booleans()}
    ),
)
def test_tfidf_equals_scikit_learn(matrix, options):
    matrix[0] += 1  # scikit-learn divides by zero for a feature of no document
    expected = TfidfTransformer(**options).fit_transform(matrix).toarray()
    for make in MAKERS.values():
        np.testing.assert_allclose(dense(TfidfViews(**options).fit_transform(make(matrix))["x"]), expected, atol=1e-12)


def test_counts_get_log_weights_and_weighted_rows_keep_theirs():
    given = normalize(COUNTS * np.array([[1.0, 0.3, 2.5, 1.7]]))
    X = Views(words=COUNTS, tfidf=given)
    found = make_pipeline(*weigh_counts(X)).fit_transform(X)
    expected = TfidfTransformer(sublinear_tf=True).fit_transform(COUNTS).toarray()
    np.testing.assert_allclose(found["words"], expected)
    np.testing.assert_allclose(found["tfidf"], given)


def test_short_counts_stay_as_they_are_where_that_is_asked():
    links = sparse.csr_array(np.eye(5, dtype=int))
    assert weigh_counts(Views(links=links), keep_short=True) == []
    (step,) = weigh_counts(Views(links=links, words=3 * links), keep_short=True)
    assert (step.views, step.sublinear_tf) == (["words"], True)


@settings(max_examples=30, deadline=None)
@given(counts, st.sampled_from(["l1", "l2", "max"]))
def test_unit_rows_equal_scikit_learn(matrix, norm):
    for make in MAKERS.values():
        found = dense(UnitRows(norm).fit_transform(make(matrix - 1))["x"])
        np.testing.assert_allclose(found, normalize(matrix - 1, norm=norm), atol=1e-12)
