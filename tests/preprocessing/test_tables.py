"""Raw tables to views."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from coview import TableViews, TextViews
from coview.clustering.links import find_links
from coview.exceptions import ParameterError, ViewsError
from coview.preprocessing.vectorizer import TextVectorizer

TABLE = {
    "key": ["p1", "p2", "p3"],
    "body": ["red fox", "blue sea", None],
    "year": [1999, 2007, 2011],
    "venue": ["here", None, "there"],
}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_text_and_columns_of_one_table(make):
    X = TableViews({"words": "body"}, {"meta": ["year", "venue"]}, id="key").fit_transform(make(TABLE))
    assert X.names == ("words", "meta") and X.ids.tolist() == ["p1", "p2", "p3"]
    assert X.present.tolist() == [[True, True], [True, True], [False, True]]
    assert X["meta"].toarray()[:, 0].tolist() == [1999, 2007, 2011]
    alone = TextViews({"words": "body"}).fit_transform(make(TABLE))
    assert (X["words"] != alone["words"]).nnz == 0


def test_rows_may_be_mappings():
    front = TableViews({"words": "body"}, {"meta": ["year"]}).fit(TABLE)
    X = front.transform([{"body": "fox", "year": 2000}, {"year": 2001}, {"body": "sea"}])
    same = front.transform({"body": ["fox", None, "sea"], "year": [2000, 2001, None]})
    assert X.present.tolist() == same.present.tolist() == [[True, True], [False, True], [True, False]]
    assert (X["words"] != same["words"]).nnz == 0 and X["meta"].tolist() == same["meta"].tolist()


def test_new_tables_may_lack_a_part():
    front = TableViews({"words": "body"}, {"meta": ["year"]}).fit(TABLE)
    assert front.transform({"body": ["fox"]}).names == ("words",)
    assert front.transform({"year": [2000]}).names == ("meta",)
    with pytest.raises(
        ViewsError, match=r"The table has none of the columns 'body', 'year'; it has 'other'\. Give them the names"
    ):
        front.transform({"other": [1]})
    assert front.absent_views({"body": ["fox"]}) == {"meta": ["year"]}


@pytest.mark.parametrize(
    ("front", "sentence"),
    [
        (TableViews(), "got none of them"),
        (TableViews({"meta": ["body", "year"]}), r"text must give view 'meta' one column, got \['body', 'year'\]"),
        (TableViews(tokens={"meta": (["body"], ",")}), r"has no column \['body'\] for view 'meta'"),
        (TableViews({"a": "body"}, {"a": ["year"]}), "Rename one of them"),
        (TableViews({"a": "bodies"}), "The table has no column 'bodies' for view 'a'; .* Did you mean 'body'"),
        (TableViews({"a": "body"}, id="kye"), "The table has no column 'kye' to name the objects; .* mean 'key'"),
        (TableViews(5), "The 'text' parameter of TableViews must be .* Got 5 instead"),
        (TableViews(tokens={"a": ("venue", ",", ";")}), "tokens must give view 'a' a column or "),
        (TableViews({"a": "year"}), "Column 'year' holds int, not text. .* by TableViews.columns=...."),
        (TableViews({"a": "body"}, id="venue"), "row 1 .counting from 0. has no value"),
    ],
)
def test_tables_that_do_not_fit_are_refused(front, sentence):
    with pytest.raises((ViewsError, ParameterError), match=sentence):
        front.fit(TABLE)


def test_ids_name_one_object_each():
    front, twice = (
        TableViews({"words": "body"}, id="key"),
        {"key": ["a", "b", "a"], "body": ["red fox", "red sea", "fox sea"]},
    )
    advice = "Each row needs a value of its own; without id, rows are numbered"
    with pytest.raises(ViewsError, match=rf"'a' is in several rows\. {advice}"):
        front.fit(twice)
    with pytest.raises(ViewsError, match=rf"row 2 \(counting from 0\) has no value\. {advice}"):
        front.fit({**twice, "key": ["a", "b", None]})
    front.fit({**twice, "key": list("abc")})
    with pytest.raises(ViewsError, match=r"'a' is in several rows\."):
        front.transform(twice)
    assert front.transform({"body": twice["body"]}).ids is None


def cited_once(n: int = 200) -> dict[str, list[str]]:
    """A table in which each row cites the next one, and has one of two tags and a rare one."""
    return {
        "key": [f"p{i}" for i in range(n)],
        "body": ["red fox" if i % 2 else "blue sea" for i in range(n)],
        "cites": [f"p{(i + 1) % n} p{(i + 2) % n if i % 2 else (i + 1) % n}" for i in range(n)],
        "tags": [f"tag{i % 2} rare{i}" for i in range(n)],
    }


def test_items_that_are_ids_of_the_rows_are_all_kept():
    made = {"text": {"words": "body"}, "tokens": {"cites": "cites", "tags": "tags"}}
    table = cited_once()
    linked = TableViews(**made, id="key").fit_transform(table)
    assert linked["cites"].shape == (200, 200)
    assert linked.feature_names["tags"].tolist() == ["tag0", "tag1"]
    assert TableViews(**made, id="key", min_df=2).fit_transform(table)["cites"].shape == (200, 100)  # as asked for
    assert TableViews(**made).fit_transform(table)["cites"].shape == (200, 100)  # nothing says what they are
    assert find_links(linked) == "cites"
    frame = pd.DataFrame(table).set_index("key")
    assert TableViews(**made).fit_transform(frame)["cites"].shape == (200, 200)


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_lists_of_whole_numbers_are_items(make):
    table = make({"key": [7, 12, 30, 41], "cites": [[12, 30], [7], [], None]})
    front = TableViews(tokens={"cites": "cites"}, id="key").fit(table)
    X = front.transform(table)
    assert X.feature_names["cites"].tolist() == ["12", "30", "7"]
    assert X["cites"].toarray().tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert X.present[:, 0].tolist() == [True, True, True, False]
    assert front.raw_texts(table)["cites"] == ["12,30", "7", "", ""]
    new = front.transform(make({"key": [50, 51], "cites": [[7, 12], [30, 12]]}))  # of one length, as vectors have
    assert new["cites"].toarray().tolist() == [[1, 0, 1], [1, 1, 0]]
    assert front.transform({"cites": ["7, 12"]})["cites"].toarray().tolist() == [[1, 0, 1]]
    assert front.transform({"cites": [["30"], ["12"]]})["cites"].toarray().tolist() == [[0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    "vectors", [[[0.5, 1.0], [2.0, 3.0]], np.eye(2), pl.Series([[0.5], [1.0]]), [[1, None], [2, 3]]]
)
def test_vectors_are_no_items_and_the_parameter_is_named(vectors):
    table = {"cites": vectors} if not isinstance(vectors, pl.Series) else pl.DataFrame({"cites": vectors})
    with pytest.raises(
        ViewsError, match=r"Column 'cites' holds \w+, not lists of items. .* in place of tokens="
    ) as refused:
        TableViews(tokens="cites").fit(table)
    assert "use --columns in place of --tokens." in refused.value.worded("cli")
    with pytest.raises(ViewsError, match=r"TableViews.columns=.... in place of text=") as refused:
        TableViews("cites").fit(table)
    assert "use --columns in place of --text." in refused.value.worded("cli")


def test_a_word_among_numbers_is_told_of():
    table = {"lines": [str(i) for i in range(30)] + ["many"], "kind": ["a", "b", "1"] * 10 + ["a"]}
    with pytest.warns(UserWarning, match="'lines' is read as categories, because it holds 'many' among numbers"):
        TableViews(columns={"lines": ["lines"], "kind": ["kind"]}).fit(table)


# -- Texts to views: each view is what its vectorizer makes of its column, and missing text is a missing view

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
