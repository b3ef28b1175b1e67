"""Texts to views: each view is what its vectorizer makes of its column, and missing text is a missing view."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from coview.exceptions import ViewsError
from coview.preprocessing.text import TextViews
from coview.preprocessing.vectorizer import TextVectorizer

TITLES = ["red fox", "blue sea", "red sea"]
BODIES = ["a fox runs", None, "waves and waves"]
FRAMES = {
    "pandas string": lambda columns: pd.DataFrame(columns).astype("string"),
    "polars": pl.DataFrame,
    "mapping": dict,
}


@pytest.fixture(params=FRAMES)
def table(request):
    return FRAMES[request.param]({"title": TITLES, "body": BODIES})


def test_each_view_is_what_the_vectorizer_makes(table):
    X = TextViews({"t": "title", "b": "body"}).fit_transform(table)
    expected = CountVectorizer().fit(TITLES)
    np.testing.assert_array_equal(X["t"].toarray(), expected.transform(TITLES).toarray())
    assert X.feature_names["t"].tolist() == expected.get_feature_names_out().tolist()
    assert X.names == ("t", "b")
    assert sparse.issparse(X["b"])


def test_missing_text_is_a_missing_view(table):
    X = TextViews().fit_transform(table)
    assert X.names == ("title", "body")
    assert X.present.tolist() == [[True, True], [True, False], [True, True]]
    assert X["body"].toarray()[1].sum() == 0
    counts = CountVectorizer(stop_words=["and"]).fit(["a fox runs", BODIES[2]])
    np.testing.assert_array_equal(X["body"].toarray()[2], counts.transform(BODIES[2:]).toarray()[0])


@pytest.mark.parametrize("texts", [TITLES, tuple(TITLES), np.array(TITLES), pd.Series(TITLES), pl.Series(TITLES)])
def test_a_list_of_texts_is_the_view_text(texts):
    model = TextViews().fit(texts)
    assert model.transform(texts).names == ("text",)
    assert model.transform(["red"])["text"].sum() == 1
    assert TextViews({"t": "title"}).fit_transform(texts).names == ("t",)


def test_transform_uses_the_vocabulary_of_fit(table):
    model = TextViews().fit(table)
    X = model.transform({"title": ["fox unseen fox", None]})
    assert X.names == ("title",)
    assert X.present[:, 0].tolist() == [True, False]
    row = dict(zip(X.feature_names["title"].tolist(), X["title"].toarray()[0].tolist()))
    assert row == {"blue": 0, "fox": 2, "red": 0, "sea": 0}


def test_a_pandas_index_becomes_ids():
    frame = pd.DataFrame({"a": TITLES}, index=["p", "q", "r"])
    assert TextViews().fit_transform(frame).ids.tolist() == ["p", "q", "r"]
    assert TextViews().fit_transform(frame["a"]).ids.tolist() == ["p", "q", "r"]


@pytest.mark.parametrize(
    ("model", "X", "sentence"),
    [
        (TextViews({"t": "tilte"}), {"title": TITLES}, "no column 'tilte' for view 't'; its columns are 'title'. Did"),
        (TextViews(), {"n": [1, 2]}, "A column of text is needed; the columns are 'n'."),
        (TextViews({"t": "n"}), {"n": ["a", 2]}, "Column 'n' holds int, not text."),
        (TextViews(), {"a": ["a", "I"], "b": ["red", None]}, "View 'a' cannot be built from column 'a'"),
        (TextViews({"b": "b"}), {"b": [None, None]}, "Column 'b' of view 'b' has no text in any row."),
        (TextViews(vectorizer={"z": None}), {"a": TITLES}, "vectorizer names view 'z', but the views are 'a'."),
        (TextViews(), [], "The table is empty: 0 rows x 1 columns."),
        (TextViews(), 3, "A data frame, a mapping of columns or a list of mappings, one for each row, is needed, got"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(model, X, sentence):
    if "cannot be built" in sentence:
        model = TextViews(vectorizer=CountVectorizer(stop_words="english"))
    with pytest.raises(ViewsError, match=re.escape(sentence)):
        model.fit(X)


def test_a_fit_says_how_many_texts_it_left_without_a_word():
    rare = [f"einzel{i}" for i in range(40)]
    table = {"de": [*rare, *["hund"] * 60, *["katze maus"] * 60, "", None], "en": ["dog", "cat"] * 81}
    with pytest.warns(UserWarning, match=r"without any feature: 40 of 160 in view 'de'\.") as caught:
        TextViews(vectorizer=TextVectorizer(min_df=2, max_df=0.5)).fit(table)
    assert len(caught) == 1
    assert "min_df=1" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TextViews().fit(table)
