"""`coview edit --name`, `coview fit --seeds` and `coview predict --outliers`."""

from __future__ import annotations

import csv
import json

import pytest

BODY = ["the space shuttle in orbit", "a space shuttle"] * 5 + ["the ice hockey team", "ice hockey"] * 5


@pytest.fixture
def files(tmp_path, run):
    table, model = tmp_path / "t.csv", tmp_path / "m.coview"
    with open(table, "w", newline="") as stream:
        csv.writer(stream).writerows([["key", "body"], *([f"p{i}", text] for i, text in enumerate(BODY))])
    options = ("--id", "key", "--text", "words=body", "--clusters", "2", "--seed", "0", "--out", model)
    assert run("fit", "MultiViewPLSA", table, *options)[0] == 0
    return table, model


def names(run, model, *more):
    code, out, err = run("edit", model, *more, "-o", model, "--json")
    assert code == 0, err
    return [group["name"] for group in json.loads(out)["groups"]]


def test_names_are_found_kept_and_shown_by_predict(run, files, tmp_path):
    table, model = files
    assert sorted(names(run, model, table, "--name")) == ["ice hockey, team", "space shuttle, orbit"]
    kept = names(run, model)
    assert sorted(kept) == ["ice hockey, team", "space shuttle, orbit"]
    run("predict", model, table, "--out", tmp_path / "p.csv")
    with open(tmp_path / "p.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["name"] for row in rows] == [kept[int(row["label"])] for row in rows]
    assert len({row["name"] for row in rows}) == 2


def test_seeds_of_a_file_give_clusters_their_number_and_name(run, files, tmp_path):
    table, _ = files
    seeds, model = tmp_path / "seeds.json", tmp_path / "seeded.coview"
    fit = ("fit", "MultiViewPLSA", table, "--text", "words=body", "--clusters", "2", "--seeds", seeds)
    for given in ('{"sport": ["hockey"], "space": ["orbit"]}', '["hockey", "orbit"]'):
        seeds.write_text(given)
        assert run(*fit, "--out", model)[0] == 0
        code, out, _ = run("predict", model, table, "--json")
        assert code == 0 and json.loads(out)["label"] == [1] * 10 + [0] * 10
        assert names(run, model) == (["sport", "space"] if "sport" in given else ["hockey", "orbit"])
    seeds.write_text('{"0": ["hocky"]}')
    code, _, err = run(*fit, "--out", model)
    assert code == 2 and "nothing for topic 0" in err and "Did you mean 'hockey'?" in err
    seeds.write_text("hockey")
    assert "is no JSON" in run(*fit, "--out", model)[2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rename", "Rockets"), "--rename must be GROUP=NAME"),
        (("--rename", "7=Rockets"), "There is no group 7"),
    ],
)
def test_what_cannot_be_is_one_sentence(run, files, options, message):
    code, _, err = run("edit", files[1], *options)
    assert code == 2 and message in err


def test_outliers_are_listed_with_their_ids(run, files, tmp_path):
    _, model = files
    odd, few, usual = (tmp_path / name for name in ("odd.csv", "few.csv", "usual.csv"))
    strange = "hockey orbit team shuttle orbit ice"
    for path, texts in ((odd, [*BODY, *BODY, *BODY, strange]), (few, [BODY[0], strange]), (usual, BODY * 3)):
        with open(path, "w", newline="") as stream:
            csv.writer(stream).writerows([["key", "body"], *([f"q{i}", text] for i, text in enumerate(texts))])
    code, out, err = run("predict", "--outliers", model, odd, "--json")
    assert code == 0 and json.loads(out)["id"] == ["q60"], err
    code, out, err = run("predict", "--outliers", model, few, "--json")
    assert code == 0 and "usual objects as reference" in err
    code, out, err = run("predict", "--outliers", model, few, "--reference", usual, "--json")
    assert code == 0 and "usual objects" not in err
