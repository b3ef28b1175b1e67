"""What errors quote is short, whatever a user gave."""

from __future__ import annotations

import numpy as np
import pytest

from coview import Views, read_table, read_views
from coview.exceptions import DataFileError, ViewsError
from coview.utils.messages import cut, listed, short

LONG = "a text that goes on " * 500


@pytest.mark.parametrize("value", [LONG, [LONG], {"a": LONG}, list(range(10_000)), np.arange(10_000)])
def test_a_quoted_value_is_short_and_stands_on_one_line(value):
    assert len(short(value)) <= 48 and "\n" not in short(value) and "..." in short(value)


def test_what_is_short_is_quoted_whole():
    assert short("it's") == repr("it's") and short(3.5) == "3.5" and cut("a\n b") == "a b"


def test_a_list_of_many_names_says_how_many_more():
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed([f"c{i}" for i in range(21)]).count("'c") == 21  # one more is named as quickly as counted
    assert listed([f"c{i}" for i in range(900)]).endswith("'c19' and 880 others")


@pytest.mark.parametrize(
    "texts", [np.array([LONG, "b"], dtype=object), np.array([LONG, "b"]), [LONG, "b"]], ids=["objects", "array", "list"]
)
def test_texts_where_numbers_are_needed_are_not_quoted_whole(texts):
    with pytest.raises(ViewsError, match="TextViews") as caught:
        Views(words=texts)
    assert len(str(caught.value)) < 250


def test_one_text_among_numbers_is_not_quoted_whole():
    with pytest.raises(ViewsError, match="TextViews") as caught:
        Views(words=np.array([[1, LONG]], dtype=object))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json"])
def test_a_latin_1_file_is_to_be_saved_as_utf_8(tmp_path, name):
    text = {"a.csv": "id,n\ncafé,1\n", "a.tsv": "id\tn\ncafé\t1\n"}.get(name, '{"id": "café", "n": 1}\n')
    (tmp_path / name).write_text(text, encoding="latin-1")
    readers = [read_table] if name == "a.json" else [read_table, read_views]
    for read in readers:
        with pytest.raises(DataFileError, match=r"not text in UTF-8 .* Save the file as UTF-8\.$"):
            read(tmp_path / name)
