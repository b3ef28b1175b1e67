"""Columns of new data: put in order by name, zero where absent, left out where unknown; refused where names lack."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from coview import EachView, MultiViewNaiveBayes, PairwiseCoPLSA, SphericalKMeans, TfidfViews, Views
from coview.exceptions import ViewsError
from coview.views.inputs import match_columns
from coview.views.lazy import LazyViews

NAMES = list("abcde")
RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(2.0, (12, 5)).astype(float)
Y = np.arange(12) % 2
FORMS = [np.asarray, sparse.csr_array, sparse.csr_matrix]


def named(matrix, names, **more) -> Views:
    return Views(words=matrix, links=COUNTS[:, :2], feature_names={"words": names}, **more)


def models():
    return [
        SphericalKMeans(2, random_state=0),
        MultiViewNaiveBayes(),
        make_pipeline(TfidfViews(), MultiViewNaiveBayes()),
        make_pipeline(EachView(MaxAbsScaler()), MultiViewNaiveBayes()),
        PairwiseCoPLSA(2, max_iter=5, random_state=0),
    ]


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("form", FORMS)
@given(st.data())
@settings(max_examples=30, deadline=None)
def test_columns_are_matched_as_pandas_does_it(form, data):
    given_names = data.draw(st.lists(st.sampled_from([*NAMES, "x", "y"]), min_size=1, max_size=7, unique=True))
    matrix = RNG.poisson(1.0, (4, len(given_names)))
    X = Views(words=form(matrix), feature_names={"words": given_names})
    fitted = {"words": np.array(NAMES)}
    if not set(given_names) & set(NAMES):
        with pytest.raises(ViewsError, match="none of the columns"):
            match_columns("PLSA", X, {"words": 5}, fitted)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = match_columns("PLSA", X, {"words": 5}, fitted)
    expected = pd.DataFrame(matrix, columns=given_names).reindex(columns=NAMES, fill_value=0)
    np.testing.assert_array_equal(dense(found["words"]), expected)
    assert type(found["words"]) is type(X["words"]) and found["words"].dtype == matrix.dtype
    assert found.feature_names["words"].tolist() == NAMES
    if sparse.issparse(found["words"]):
        found["words"].check_format(full_check=True)
        assert found["words"].has_canonical_format


@pytest.mark.parametrize("which", range(5))
def test_reordered_columns_change_nothing_and_are_told_of_once(which):
    form = FORMS[which % 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the fitted columns: nothing is told
        model = models()[which].fit(named(form(COUNTS), NAMES), Y)
        expected = model.predict(named(form(COUNTS), NAMES))
    order = [3, 0, 4, 1, 2]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        labels = model.predict(named(form(COUNTS[:, order]), [NAMES[j] for j in order]))
    np.testing.assert_array_equal(labels, expected)
    (message,) = [str(warning.message) for warning in told]
    assert message.startswith("View 'words' is not as ") and "its columns in another order" in message


def test_columns_that_are_absent_or_unknown_but_in_order_are_not_told_of_as_reordered():
    X = named(np.hstack([np.ones((12, 1)), COUNTS[:, [0, 2, 3]]]), ["p", "a", "c", "d"])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        match_columns("PLSA", X, {"words": 5, "links": 2}, {"words": np.array(NAMES)})
    assert len(told) == 1 and "order" not in str(told[0].message)


@pytest.mark.parametrize("which", range(5))
def test_absent_columns_are_zero_and_unknown_ones_ignored_with_a_warning(which):
    form = FORMS[(which + 1) % 3]
    model = models()[which].fit(named(form(COUNTS), NAMES), Y)
    zeroed = COUNTS * [1, 0, 1, 1, 0]
    with pytest.warns(UserWarning, match="2 of the 5 columns missing, which count as 0"):
        found = model.predict(named(form(COUNTS[:, [0, 2, 3]]), ["a", "c", "d"]))
    np.testing.assert_array_equal(found, model.predict(named(form(zeroed), NAMES)))
    more = np.hstack([np.ones((12, 2)), COUNTS])
    with pytest.warns(UserWarning, match=r"2 unknown column\(s\), which are ignored"):
        found = model.predict(named(form(more), ["p", "q", *NAMES]))
    np.testing.assert_array_equal(found, model.predict(named(form(COUNTS), NAMES)))


def test_views_whose_columns_are_the_fitted_ones_come_back_as_they_are():
    X = named(COUNTS, NAMES)
    assert match_columns("PLSA", X, X.n_features, X.feature_names) is X
    bare = Views(words=COUNTS)
    assert match_columns("PLSA", bare, X.n_features, X.feature_names) is bare


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (Views(words=COUNTS[:, :3]), "View 'words' has 3 features, but PLSA was fitted with 5"),
        (Views(sound=COUNTS), "PLSA was not fitted on view 'sound'; it was fitted on 'words', 'links'."),
        (Views(sound=COUNTS, words=COUNTS), r"'links'\. Leave it out, for example X\.select\('words'\)\."),
        (Views(words=COUNTS, feature_names={"words": list("vwxyz")}), "none of the columns that PLSA was fitted with"),
        (Views(words=COUNTS, feature_names={"words": list("aabcd")}), "some names are there twice"),
        (
            LazyViews.from_views(Views(words=COUNTS, feature_names={"words": NAMES[::-1]}), 5),
            "its rows are read when needed",
        ),
    ],
    ids=["width", "view", "one view too many", "foreign", "twice", "lazy"],
)
def test_what_cannot_be_matched_is_refused(X, sentence):
    with pytest.raises(ViewsError, match=sentence):
        match_columns("PLSA", X, {"words": 5, "links": 2}, {"words": np.array(NAMES)})


def test_a_plain_frame_follows_scikit_learns_rule():
    frame = pd.DataFrame(COUNTS, columns=NAMES)
    model = MultiViewNaiveBayes().fit(frame, Y)
    with pytest.raises(ValueError, match="order"):
        model.predict(frame[NAMES[::-1]])
    turned = {"x": frame[NAMES[::-1]]}
    with pytest.warns(UserWarning, match="View 'x' .* its columns in another order"):
        labels = model.predict(turned)
    np.testing.assert_array_equal(labels, model.predict(frame))
