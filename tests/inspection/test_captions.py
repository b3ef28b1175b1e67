"""The column of a table that tells its objects in a line."""

from __future__ import annotations

import pytest

from coview.inspection.captions import caption_column

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
        ({"body": BODY, "longer": [text * 2 for text in BODY]}, "body"),
        ({"tags": TAGS}, "tags"),
        ({"kind": ["one kind of them"] * N, "date": [f"2019-01-{i:02}" for i in range(N)]}, None),
        ({"number": list(range(N))}, None),
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


def test_names_of_the_objects_tell_nothing_new():
    assert caption_column({"key": TITLE, "body": BODY}, TITLE) == "body"
