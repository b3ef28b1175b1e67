"""`coview edit`."""

import csv
import json

import numpy as np
import pytest

from coview import inspect, load
from coview.io.tables import read_table

WORDS = {
    "animal": "fox den paw fur",
    "water": "sea salt wave tide",
    "sky": "sun star cloud moon",
    "law": "tax court act bill",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("edit")


@pytest.fixture
def files(folder, run):
    table, model = folder / "t.csv", folder / "m.coview"
    if not model.exists():
        rng = np.random.default_rng(0)
        rows = [[f"p{i}", " ".join(rng.choice(list(WORDS.values())[i % 4].split(), 9))] for i in range(48)]
        with open(table, "w", newline="") as stream:
            csv.writer(stream).writerows([["key", "body"], *rows])
        options = ("--id", "key", "--text", "words=body", "--clusters", "4", "--seed", "0", "--out", model)
        assert run("fit", "MultiViewPLSA", table, *options)[0] == 0
    return table, model


def test_sizes_are_those_of_predict_and_the_report_with_objects_and_of_the_fit_without(run, tmp_path):
    rng = np.random.default_rng(0)
    words = " ".join(WORDS.values()).split()
    rows = [[f"p{i}", " ".join(rng.choice(words, 4))] for i in range(60)]
    table, model = tmp_path / "t.csv", tmp_path / "m.coview"
    with open(table, "w", newline="") as stream:
        csv.writer(stream).writerows([["key", "body"], *rows])
    options = ("--id", "key", "--text", "words=body", "--clusters", "4", "--set", "max_iter=2", "--out", model)
    assert run("fit", "LinkPLSA", table, *options)[0] == 0
    code, out, _ = run("edit", model, "--merge", "0,1", "--out", model)
    assert code == 0 and "3 groups of the 60 objects of the fit" in out and "m.coview: 1 edit in its log." in out
    edited, X = load(model), read_table(table)
    _, told, _ = run("edit", model, "--json", "--undo")
    kept = {group["group"]: group["objects"] for group in json.loads(told)["groups"]}
    before = edited.undo().labels_
    assert kept == {k: int((before == k).sum()) for k in range(4)}
    edited = load(model)
    found = edited.predict(X)
    assert (found != edited.labels_).any()  # the fit was ended early: its memberships are not those that predict finds
    _, told, _ = run("edit", model, table, "--json", "--rename", "0=zero")
    given = {group["group"]: group["objects"] for group in json.loads(told)["groups"]}
    assert given == {k: int((found == k).sum()) for k in edited.numbers_}
    _, told, _ = run("report", model, table, "--json", "--no-held-out")
    groups = json.loads(told)["groups"]
    assert {int(item["name"]): item["size"] for item in groups["items"]} == given
    _, told, _ = run("report", model, "--json")
    assert {int(item["name"]): item["size"] for item in json.loads(told)["groups"]["items"]} == {
        k: int((edited.labels_ == k).sum()) for k in edited.numbers_
    }
    out = run("edit", model, table, "--rename", "0=zero")[1]
    assert "3 groups of the 60 objects that were given" in out


def test_edits_are_shown_first_and_written_where_asked(run, files, tmp_path):
    table, model = files
    before, X = load(model).predict(read_table(table)), read_table(table)
    kept = model.read_bytes()
    edits = ("--merge", "0,2=Both", "--noise", "3", "--rename", "1=Other one")
    code, out, _ = run("edit", model, *edits)
    assert code == 0 and "merge 0 and 2 into 0, 'Both': 12 of 48 objects move" in out and "Nothing was written" in out
    named = f"2 to 0: 12 ({', '.join(f'p{row}' for row in np.flatnonzero(before == 2)[:5])}, ...)"
    assert named in out  # the model knows the ids of its objects
    code, out, _ = run("edit", model, *edits, table)
    assert code == 0 and named in out
    assert model.read_bytes() == kept
    path = tmp_path / "edited.coview"
    assert run("edit", model, *edits, "--out", path)[0] == 0
    expected = np.where(before == 2, 0, np.where(before == 3, -1, before))
    np.testing.assert_array_equal(load(path).predict(X), expected)
    assert inspect(load(path)).group_names == ["Both", "Other one"]
    # on from there, in the same file, then all taken back
    assert run("edit", path, "--undo", "--undo", "--drop", "both", table, "-o", path)[0] == 0
    assert load(path).log() == ["merge 0 and 2 into 0, 'Both'", "drop 0"]
    assert run("edit", path, "--undo", "--undo", table, "-o", path)[0] == 0
    np.testing.assert_array_equal(load(path).predict(X), before)


def test_the_log_and_the_groups_are_shown_without_an_edit(run, files, tmp_path):
    table, model = files
    path = tmp_path / "edited.coview"
    run("edit", model, "--merge", "0,1", "--drop", "2", table, "-o", path)
    code, out, _ = run("edit", path, "--log")
    assert code == 0
    assert "1. merge 0 and 1 into 0" in out and "2. drop 2" in out
    code, out, _ = run("edit", path)
    assert code == 0 and out.startswith("2 groups") and "log" not in out
    assert "No edits." in run("edit", model, "--log")[1]


# -- `coview edit --name`, `coview fit --seeds` and `coview predict --outliers`

BODY = ["the space shuttle in orbit", "a space shuttle"] * 5 + ["the ice hockey team", "ice hockey"] * 5


@pytest.fixture
def files_of_name(tmp_path, run):
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


def test_names_are_found_kept_and_shown_by_predict(run, files_of_name, tmp_path):
    table, model = files_of_name
    assert sorted(names(run, model, table, "--name")) == ["ice hockey, team", "space shuttle, orbit"]
    kept = names(run, model)
    assert sorted(kept) == ["ice hockey, team", "space shuttle, orbit"]
    run("predict", model, table, "--out", tmp_path / "p.csv")
    with open(tmp_path / "p.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["name"] for row in rows] == [kept[int(row["label"])] for row in rows]
    assert len({row["name"] for row in rows}) == 2


def test_seeds_of_a_file_give_clusters_their_number_and_name(run, files_of_name, tmp_path):
    table, _ = files_of_name
    seeds, model = tmp_path / "seeds.json", tmp_path / "seeded.coview"
    fit = ("fit", "MultiViewPLSA", table, "--text", "words=body", "--clusters", "2", "--seeds", seeds)
    seeds.write_text('{"sport": ["hockey"], "space": ["orbit"]}')
    assert run(*fit, "--out", model)[0] == 0
    code, out, _ = run("predict", model, table, "--json")
    assert code == 0 and json.loads(out)["label"] == [1] * 10 + [0] * 10
    assert names(run, model) == ["sport", "space"]
    seeds.write_text('{"0": ["hocky"]}')
    code, _, err = run(*fit, "--out", model)
    assert code == 2 and "nothing for topic 0" in err and "Did you mean 'hockey'?" in err
    seeds.write_text("hockey")
    assert "is no JSON" in run(*fit, "--out", model)[2]


def test_outliers_are_listed_with_their_ids(run, files_of_name, tmp_path):
    _, model = files_of_name
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
