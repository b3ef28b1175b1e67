"""JSON rows become views, in each of the forms that are taken; what does not fit is refused with a sentence."""

import numpy as np
import pytest
from scipy import sparse

from coview.exceptions import ViewsError
from coview.online.hashing import hash_rows
from coview.preprocessing.tables import TableViews
from coview.preprocessing.text import TextViews
from coview.retrieval.queries import QueryReader
from coview.views.inputs import ViewInput
from coview.web.rows import CellReader, rows_to_views

WORDS = np.array(["fox", "red", "sea"])
READERS = {"words": CellReader(ViewInput("words", 3, WORDS)), "links": CellReader(ViewInput("links", 2))}


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize(
    "rows",
    [
        {"words": [[1, 2, 0]]},
        {"words": [1, 2, 0]},
        {"words": {"fox": 1, "red": 2}},
        {"words": [{"fox": 1, "red": 2}]},
        {"words": "Red red FOX, whale"},
        [{"words": "red red fox"}],
        [{"words": ["red", "fox", "red"]}],
        {"words": [["red", "fox", "red"]]},
        {"words": {"f0": 1, "red": 2}},
    ],
)
def test_every_form_gives_the_same_row(rows):
    named = (
        READERS
        if "f0" not in str(rows)
        else {"words": CellReader(ViewInput("words", 3, np.array(["f0", "red", "sea"])))}
    )
    assert dense(rows_to_views(rows, named)["words"]).tolist() == [[1, 2, 0]]


def test_tokens_are_read_as_the_view_of_a_list_reads_them():
    front = TextViews(tokens={"tags": "tags"}).fit({"tags": ["red fox; sea", "sea; red fox", "sea; den"]})
    reader = CellReader(front.view_inputs()["tags"])
    rows = rows_to_views(
        [{"tags": ["red fox", "sea"]}, {"tags": "red fox; sea"}, {"tags": ["whale"]}], {"tags": reader}
    )
    assert rows["tags"].sum(axis=1).tolist() == [2, 2, 0]


TABLE = {"age": [31.0, 7.0, 52.0, 40.0], "pay": [10.0, 0.0, 30.0, 20.0], "job": ["cook", "child", "smith", "cook"]}


@pytest.mark.parametrize(
    "row", [{"age": 8}, {"pay": 3, "job": "cook"}, {"age": 8, "pay": None, "job": None}, {"job": "cook"}]
)
def test_columns_that_are_not_there_are_filled_as_in_a_table(row):
    front = TableViews(columns={"person": ["age", "pay", "job"], "numbers": ["age", "pay"]}).fit(TABLE)
    new = {name: [row.get(name), 1] if name != "job" else [row.get(name), "smith"] for name in TABLE}
    expected = front.transform(new)[[0]]
    readers = {view: CellReader(each) for view, each in front.view_inputs().items()}
    sent = [{"person": row, "numbers": {name: value for name, value in row.items() if name != "job"}}]
    X = rows_to_views(sent, readers)
    assert X.present.tolist() == expected.present.tolist()
    for view in X.names:
        assert dense(X[view]).tolist() == dense(expected[view]).tolist()
        assert sparse.issparse(X[view]) == sparse.issparse(expected[view])


def test_text_is_read_as_the_retriever_reads_it():
    names = np.array(["c++", "w6", "sea", "state", "red"])
    text = "C++ (w6), sea_state; state6 red-sea whale"
    expected = QueryReader(None, {"w": ViewInput("w", len(names), names)}).read(text, "w")["w"].toarray()
    assert (
        dense(rows_to_views({"w": text}, {"w": CellReader(ViewInput("w", 5, names))})["w"]).tolist()
        == expected.tolist()
    )


def test_names_are_hashed_as_in_a_stream():
    rows = [{"price": 2.5, "color": "red"}, {"color": "blue"}]
    X = rows_to_views({"x": rows}, {"x": CellReader(ViewInput("x", 64, hashed=True))})
    assert dense(X["x"]).tolist() == hash_rows(rows, 64).toarray().tolist()


def test_the_bare_value_of_a_view_of_one_column_is_read_as_in_a_table():
    front = TableViews(columns={"work": ["job"], "money": ["pay"]}).fit(TABLE)
    readers = {view: CellReader(part) for view, part in front.view_inputs().items()}
    rows = [{"work": "cook", "money": 12.5}, {"work": "Mars", "money": 3}]
    table = front.transform({"job": ["cook", "Mars"], "pay": [12.5, 3]})
    for sent in (rows, [{"work": {"job": row["work"]}, "money": {"pay": row["money"]}} for row in rows]):
        X = rows_to_views(sent, readers)
        assert all(np.array_equal(dense(X[view]), dense(table[view])) for view in ("work", "money"))
    assert dense(rows_to_views({"money": 12.5}, readers)["money"]).tolist() == [[12.5]]
    with pytest.raises(ViewsError, match="View 'money' has 1 feature, got a row of 2"):
        rows_to_views({"money": [1, 2]}, readers)
    with pytest.raises(ViewsError, match="View 'work' has no feature 'jbo'"):
        rows_to_views({"work": {"jbo": "cook"}}, readers)
