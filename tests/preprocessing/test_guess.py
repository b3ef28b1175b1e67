"""What the columns of a table are taken for, by what is in them."""

from __future__ import annotations

import pytest

from coview.preprocessing.guess import guess_columns

BODY = ["a red fox in the snow", "the blue sea at night", "an old fox den", "a salty sea and a boat"] * 5


def guessed(cells, name="column"):
    """Kind of a column beside a column of texts."""
    found = guess_columns({"body": BODY, name: cells})
    for kind in ("text", "tokens", "columns"):
        views = {view: part for view, part in getattr(found, kind).items() if view != "body"}
        if views:
            return kind
    return "label" if name in found.labels else "id" if found.id == name else found.unused.get(name, "nothing")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([f"{word} story of {i} dogs" for i, word in enumerate("abcdefghijklmnopqrst")], "text"),
        (["new;red", "sea;new", "red;old", "sea;red"] * 5, "tokens"),
        ([["new", "red"], ["sea"], [], ["old"]] * 5, "tokens"),
        ([[1, 2], [2, 3], [3], [1]] * 5, "tokens"),
        ([[0.1, 0.2], [0.3, 0.4]] * 10, "columns"),
        ([[0, 0.5], [1, 0]] * 10, "columns"),
        ([f"city {i // 2}" for i in range(20)], "columns"),
        ([1.5, None, 2.5, 3.0] * 5, "columns"),
        (["Jun 12 1998", None, "May 1 1999", "Jun 2 1998"] * 5, "it holds dates: see report --by"),
        ([None] * 20, "it has hardly any values"),
        (["same"] * 20, "it has one value"),
        ([{"a": 1}, {"b": 2}] * 10, "it holds records, or lists and other values"),
        ([["x"], 3, ["y"], "z"] * 5, "it holds records, or lists and other values"),
        ([[0.1], [0.2, 0.3]] * 10, "its lists of numbers have several lengths"),
        ([[[1, 2], [3]], [[1]]] * 10, "its lists hold neither texts nor numbers"),
    ],
)
def test_a_column_is_what_is_in_it(cells, kind):
    assert guessed(cells) == kind


def test_names_decide_on_labels_ids_and_years():
    assert guessed(["land", "sea"] * 10, "kind") == "label"
    assert guessed([f"k{i}" for i in range(20)], "key") == "id"
    assert guessed([1990 + i % 7 for i in range(20)], "year") == "it holds dates: see report --by"


def test_few_categories_of_any_name_are_labels_beside_texts_unless_labels_are_known():
    body = [f"{text}, {i} times" for i, text in enumerate(BODY)]
    table = {"body": body, "rubric": ["land", "sea"] * 10, "size": [0.5, 1.5] * 10}
    assert guess_columns(table).labels == ["rubric"]
    assert guess_columns(table, leave_out=["size"]).columns == {"rubric": ["rubric"]}
    assert guess_columns({name: table[name] for name in ("rubric", "size")}).columns.keys() == {"rubric", "size"}


def test_many_rows_are_guessed_by_a_sample(monkeypatch):
    looked_at = []
    monkeypatch.setattr("coview.preprocessing.guess.are_lists", lambda cells: looked_at.append(len(cells)))
    assert (
        guess_columns({"body": [f"an old fox den, {i} times" for i in range(20_000)]}).text and max(looked_at) == 5000
    )


def test_a_cell_outside_of_the_sample_that_is_no_number_is_told(monkeypatch):
    monkeypatch.setattr("coview.preprocessing.guess._SAMPLE", 10)
    cells = [str(i) for i in range(40)]
    cells[1] = "many"  # of 40 rows, 0, 4, 8, 13 and so on are looked at
    found = guess_columns({"body": BODY * 2, "amount": cells})
    assert found.unused == {"amount": "it holds 'many' among numbers or dates: leave such cells empty"}


def test_links_are_lists_of_ids():
    table = {
        "key": [f"p{i}" for i in range(20)],
        "body": BODY,
        "cites": [f"p{(i + 1) % 20} p{(i + 3) % 20}" for i in range(20)],
    }
    assert guess_columns(table).tokens == {"cites": "cites"}


def test_prose_with_commas_is_text_though_its_clauses_come_again():
    work = ["cares for patients, documents signs", "bakes bread, cleans the kitchen", "plans routes, loads pallets"]
    ads = [f"We are hiring. You will see who {work[i % 3]}. Our hours are flexible, pay is good." for i in range(60)]
    clauses = [f"your task is that it {work[i % 3]}, our hours are flexible and the pay is good" for i in range(60)]
    skills = [", ".join([*["sql", "data science", "bread"][i % 3 :], "first aid"]) for i in range(60)]
    guessed = guess_columns({"ad": ads, "about": clauses, "skills": skills})
    assert set(guessed.text) == {"ad", "about"} and set(guessed.tokens) == {"skills"}
