"""The column of a table that tells its objects in a line."""

import pytest
from sklearn.pipeline import make_pipeline

from coview import PLSA, TableViews, TextViews, inspect
from coview.inspection.captions import caption_column, caption_rows
from coview.preprocessing.columns import as_table
from coview.web.service import Service

N = 60
TITLE = [f"how object {i} came to be" for i in range(N)]
BODY = [f"object {i} " + "came a long way " * 12 for i in range(N)]
TAGS = [";".join(f"tag{(i * k + i // 23) % 23}" for k in range(1, 5)) for i in range(N)]
MAIL = [f"someone.number.{i}@some.example.org" for i in range(N)]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"tags": TAGS, "body": BODY}, "body"),
        ({"tags": TAGS, "title": TITLE, "body": BODY}, "title"),
        ({"tags": TAGS, "betreff": TITLE, "body": BODY}, "betreff"),
        ({"mail": MAIL, "body": BODY}, "body"),
        ({"summary": [text[:9] + text[9:15] for text in TITLE], "lead": TITLE}, "summary"),
        ({"summary": BODY, "lead": TITLE}, "lead"),
        ({"lead": [f"{text}, in many words" for text in TITLE], "jobTitle": TITLE}, "jobTitle"),
        ({"lead": [f"{text}, in many words" for text in TITLE], "subtitle": TITLE}, "lead"),
        ({"body": BODY, "longer": [text * 2 for text in BODY]}, "body"),
        ({"tags": TAGS}, "tags"),
        ({"kind": ["one kind of them"] * N, "date": [f"2019-01-{i:02}" for i in range(N)]}, None),
        ({"number": list(range(N))}, None),
        ({"body": BODY, "name": [f"thing {2 * i // 3}" for i in range(N)]}, "name"),
        ({"title": [*TITLE[:10], *[None, " "] * 25], "lead": TITLE}, "lead"),
    ],
)
def test_titles_come_before_texts_and_texts_before_lists(table, expected):
    assert caption_column(table, range(N), texts={"body"} & table.keys()) == expected


def test_what_the_model_reads_as_lists_or_texts_is_taken_as_such():
    words = [text.replace(";", " ") for text in TAGS]  # only the model knows that these are no sentences
    table = {"tags": words, "body": BODY}
    assert caption_column(table, range(N)) == "tags"
    assert caption_column(table, range(N), lists=["tags"]) == "body"
    assert caption_column({"tags": TAGS, "body": BODY}, range(N), texts=["tags", "body"]) == "tags"


def test_a_blank_title_is_made_up_for_by_the_next_best_column():
    table = as_table({"title": [*TITLE[:-1], ""], "body": BODY})
    assert caption_rows(table, range(N), ["body"], {}, [0, N - 1]) == [TITLE[0], BODY[-1].strip()[:105] + " …"]


def test_names_of_the_objects_tell_nothing_new():
    assert caption_column({"key": TITLE, "body": BODY}, TITLE) == "body"
    gaps = [None if i == 3 else text for i, text in enumerate(TITLE)]
    assert caption_column({"key": gaps, "body": BODY}, TITLE) == "body"


class Unread(list):
    """A column of which only the first rows may be read."""

    def __iter__(self):
        raise AssertionError("all of the column is read")


def test_only_the_column_that_is_chosen_is_read_as_a_whole():
    title = [f"how object {i} came to be" for i in range(600)]
    notes = Unread([f"object {i} came a long way" for i in range(600)])
    table = {"body": [f"{text} fox" for text in BODY] * 10, "title": title, "notes": notes}
    front = TextViews({"words": "body"}, min_df=1, max_df=1.0)
    model = make_pipeline(front, PLSA(2, max_iter=2, random_state=0)).fit(table)
    assert inspect(model).preparation.captions(table, [0, 599]) == [title[0], title[-1]]
    assert Service(model, model[0].transform(table), table=table).caption(599) == title[-1]


def test_links_to_other_objects_tell_nothing():
    ids = [f"d{i}" for i in range(N)]
    links = [" ".join(f"d{(i * k + 1) % N}" for k in (3, 5, 7, 11)) for i in range(N)]
    assert caption_column({"links": links, "body": BODY}, ids) == "body"
    assert caption_column({"links": links}, ids) is None
    assert caption_column({"key": ids[::-1], "body": BODY}, ids) == "body"
    table = {"key": ids, "links": links, "body": BODY}
    front = TableViews({"words": "body"}, min_df=1, id="key")
    model = make_pipeline(front, PLSA(2, max_iter=2, random_state=0)).fit(table)
    assert inspect(model).preparation.captions(table, [0])[0].startswith("object 0 came a long way")
