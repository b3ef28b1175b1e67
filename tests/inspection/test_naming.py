"""Names that stay with a model."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline

from coview import (
    GroupCard,
    LinkPLSA,
    MultiViewNaiveBayes,
    TableViews,
    inspect,
    load,
    make_report,
    name_groups,
    save,
    set_group_names,
)

TABLE = {
    "key": [f"p{i}" for i in range(20)],
    "body": ["the space shuttle in orbit", "a space shuttle and its crew"] * 5
    + ["the ice hockey team", "ice hockey"] * 5,
    "tags": ["nasa"] * 10 + ["nhl"] * 10,
}


@pytest.fixture
def model():
    front = TableViews({"words": "body"}, tokens={"tags": "tags"}, id="key", stop_words="english")
    return make_pipeline(front, LinkPLSA(2, random_state=0)).fit(TABLE)


def code_of(model, word):
    return next(k for k, name in enumerate(inspect(model).group_names) if word in name)


def test_offline_names_are_phrases_and_words_of_all_views(model):
    names = set(name_groups(model, TABLE).values())
    assert {frozenset(name.split(", ")) for name in names} == {
        frozenset({"space shuttle", "nasa", "crew"}),
        frozenset({"ice hockey", "nhl", "team"}),
    }


def test_a_function_is_given_what_all_views_say(model):
    cards = []

    def namer(card):
        cards.append(card)
        return f"name {card.key}"

    assert name_groups(model, TABLE, namer) == {"0": "name 0", "1": "name 1"}
    card = cards[code_of(model, "name 0")]
    assert isinstance(card, GroupCard)
    assert card.kind == "topic" and card.size == 10 and set(card.features) == {"words", "tags"}
    assert len(card.objects) == len(card.texts) == 3
    for key, text in zip(card.objects, card.texts):
        row = TABLE["key"].index(key)
        assert text == {"words": TABLE["body"][row], "tags": TABLE["tags"][row]}
    assert cards[1].siblings == {"0": "name 0"}
    prompt = card.prompt()
    assert all(
        part in prompt for part in (card.phrases[0], card.texts[0]["words"], "nasa" if "nasa" in prompt else "nhl")
    )


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("  Space\tflight \n", "Space flight"),
        ('"Space flight."', "Space flight"),
        ("\x1b[31mSpace\u202e flight", "[31mSpace flight"),
        ("\n\n**Space flight**\nbecause of the words", "Space flight"),
        ("word " * 50, " ".join(["word"] * 16) + "..."),
    ],
)
def test_what_a_function_returns_is_cleaned(model, answer, name):
    names = name_groups(model, TABLE, lambda card: answer if card.key == "0" else "other")
    assert names["0"] == name


def test_names_by_hand_are_kept_and_found_ones_are_found_anew(model, tmp_path):
    found = name_groups(model, TABLE)
    set_group_names(model, {1: "Mine"})
    save(model, tmp_path / "m")
    for one in (model, load(tmp_path / "m")):
        asked = []
        names = name_groups(one, TABLE, lambda card: asked.append(card.key) or "New")  # noqa: B023
        assert names == {"0": "New", "1": "Mine"} and asked == ["0"]
        assert dict(zip(("0", "1"), inspect(one).group_names)) == names
        assert name_groups(one, TABLE) == {"0": found["0"], "1": "Mine"}
        assert name_groups(one, TABLE, lambda card: "Mine")["0"] == "Mine (0)"
        assert name_groups(one, TABLE, overwrite=True) == found
        assert name_groups(one, TABLE, lambda card: f"n{card.key}") == {"0": "n0", "1": "n1"}


def test_names_of_seeds_are_kept():
    model = make_pipeline(TableViews({"words": "body"}), LinkPLSA(2, seeds={"Ice": ["hockey"]}, random_state=0))
    model.fit(TABLE)
    key = next(iter(inspect(model).structure.given_names))
    assert name_groups(model, TABLE)[key] == "Ice"
    assert name_groups(model, TABLE, overwrite=True)[key] != "Ice"


@pytest.mark.parametrize("bad", [lambda: 1 / 0, lambda: None, lambda: 7])
def test_a_group_for_which_a_function_fails_keeps_its_offline_name(model, bad):
    offline = name_groups(model, TABLE)
    with pytest.warns(UserWarning, match=r"failed for 1 of 2 topics .topic 1: .*keep the names found offline"):
        names = name_groups(model, TABLE, lambda card: "Fine" if card.key == "0" else bad())
    assert names == {"0": "Fine", "1": offline["1"]}


def test_names_are_saved_shown_in_reports_and_forgotten_by_a_new_fit(model, tmp_path):
    set_group_names(model, {0: "Rockets"})
    save(model, tmp_path / "m.coview")
    again = load(tmp_path / "m.coview")
    assert inspect(again).group_names[0] == "Rockets"
    assert make_report(again, TABLE).summary["group_names"]["0"] == "Rockets"
    assert inspect(again).explain()[0].name == "Rockets"
    model.fit(TABLE)
    assert inspect(model).structure.given_names == {}


def test_a_name_by_hand_can_be_taken_back_and_no_other_group_has_it(model):
    word = inspect(model).group_names[1]
    set_group_names(model, {0: word})
    assert inspect(model).group_names == [word, f"{word} (1)"]
    assert set_group_names(model, {"0": None}) == {}
    assert inspect(model).group_names[1] == word


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({5: "x"}, "names the group '5', but the groups are '0', '1'"),
        ({0: "x", 1: " x "}, "has the name 'x' for the groups '0', '1': names must differ"),
        ({0: "a\x1bb"}, "must have a text"),
        ({0: ""}, "for group '0', got ''"),
        ({0: 7}, "for group '0', got 7"),
        ({0: "x" * 201}, "at most 200 letters"),
        (["x"], "a name for each of the 2 groups"),
        ("xy", "a name for each of the 2 groups"),
    ],
)
def test_names_that_cannot_be_are_refused(model, names, message):
    with pytest.raises(ValueError, match=message):
        set_group_names(model, names)
    assert inspect(model).structure.given_names == {}


def test_classes_and_estimators_of_others_are_refused():
    X = np.eye(4)
    with pytest.raises(ValueError, match="classes have names of their own"):
        name_groups(MultiViewNaiveBayes().fit(X, [0, 0, 1, 1]))
    with pytest.raises(ValueError, match="KMeans is no estimator of coview"):
        name_groups(KMeans(2, n_init=1).fit(X))
