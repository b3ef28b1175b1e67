"""Objects that a model knows nothing of are told of, and marked."""

import csv
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

from coview import (
    LinkPLSA,
    MultiViewNaiveBayes,
    MultiViewPLSA,
    TableViews,
    TextViews,
    Views,
    edit,
    load,
    save,
    write_views,
)
from coview.datasets import make_topic_views
from coview.inspection import inspect
from coview.io.tables import read_table

TEXTS = {"body": ["red fox", "blue sea", "red den", "blue salt"], "title": ["fox", "sea", "den", "salt"]}
NEW = {"body": ["a fox", "zebra", None, "zebra"], "title": ["zebra", "zebra", "sea", None]}


@pytest.fixture(scope="module")
def model():
    return make_pipeline(TextViews(), MultiViewNaiveBayes()).fit(TEXTS, ["land", "water", "land", "water"])


def test_an_object_is_unknown_if_no_view_has_a_known_word(model):
    fitted = inspect(model)
    assert fitted.known(NEW).tolist() == [True, False, True, False]
    assert fitted.predict(NEW).tolist() == model.predict(NEW).tolist()


def predicted(run, *words):
    """The columns that a command prints, without rounding."""
    code, out, err = run("predict", *words, "--json")
    if code:
        raise ValueError(" ".join(err.split()))
    return json.loads(out)


def test_predict_tells_and_marks(model, tmp_path, run):
    save(model, tmp_path / "m.coview")
    (tmp_path / "new.json").write_text(json.dumps([dict(zip(NEW, row)) for row in zip(*NEW.values())]))
    code, _, said = run("predict", tmp_path / "m.coview", tmp_path / "new.json", "--out", tmp_path / "p.csv", "--proba")
    assert code == 0
    sentence = "coview: 2 of 4 objects have no feature known to the model (1, 3): it predicts 'land' for them"
    assert said.count("no feature known") == 1 and sentence in said
    with open(tmp_path / "p.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["row", "label", "p_land", "p_water", "known"]
    assert [row["known"] for row in rows] == ["True", "False", "True", "False"]


def test_probabilities_of_clusters_are_headed_by_number_and_name(run, tmp_path):
    counts = np.repeat([[5, 4, 0, 0], [0, 0, 4, 5]], 10, axis=0)
    X = Views(words=counts, feature_names={"words": ["photo", "image", "mail", "inbox"]})
    model = MultiViewPLSA(2, 2, random_state=0).fit(X)
    save(model, tmp_path / "m.coview")
    write_views(X, tmp_path / "views")
    columns = predicted(run, tmp_path / "m.coview", tmp_path / "views", "--proba")
    names = inspect(model).group_names
    assert {frozenset(name.split(", ")) for name in names} == {
        frozenset(["photo", "image"]),
        frozenset(["mail", "inbox"]),
    }
    assert list(columns) == ["row", "label", "name", f"p_0: {names[0]}", f"p_1: {names[1]}", "known"]
    assert_allclose(columns[f"p_1: {names[1]}"], model.transform(X)[:, 1])
    bare = MultiViewPLSA(2, 2, random_state=0).fit(Views(words=counts))
    save(bare, tmp_path / "bare.coview")
    columns = predicted(run, tmp_path / "bare.coview", tmp_path / "views", "--proba")
    assert list(columns)[3:5] == ["p_0", "p_1"]


def test_topics_are_predicted_by_their_largest_share_and_noise_is_none(run, tmp_path):
    X = make_topic_views(n_objects=40, n_clusters=3, random_state=0).views
    model = LinkPLSA(3, random_state=0, max_iter=20).fit(X)
    write_views(X, tmp_path / "views")
    save(model, tmp_path / "m")
    columns = predicted(run, tmp_path / "m", tmp_path / "views", "--proba")
    shares = model.transform(X)
    assert_array_equal(columns["label"], shares.argmax(axis=1))
    assert columns["name"] == [f"topic {k}" for k in shares.argmax(axis=1)]
    assert_allclose(columns["p_2"], shares[:, 2])
    edited = edit(model).merge([0, 1], name="both").mark_noise(2)
    save(edited, tmp_path / "e")
    columns = predicted(run, tmp_path / "e", tmp_path / "views", "--proba")
    assert_array_equal(columns["label"], edited.predict(X))
    assert set(zip(columns["label"], columns["name"])) == {(0, "both"), (-1, "")}
    assert_allclose(columns["p_0: both"], shares[:, :2].sum(axis=1))


@pytest.fixture
def model_file(tmp_path):
    front = TableViews({"body": "body"}, {"size": ["size"]})
    table = {"body": TEXTS["body"], "size": [1.5, 2.5, 1.5, 2.5]}
    save(make_pipeline(front, MultiViewPLSA(2, random_state=0)).fit(table), tmp_path / "m.coview")
    return tmp_path / "m.coview"


@pytest.mark.parametrize("command", ["predict", "predict --coordinates", "report"])
def test_a_view_that_the_table_does_not_give_is_reported(model_file, tmp_path, run, command):
    (tmp_path / "new.csv").write_text("size\n1.5\n2.5\n1.0\n2.0\n")
    out = tmp_path / ("out.html" if command == "report" else "out.csv")
    code, _, err = run(*command.split(), model_file, tmp_path / "new.csv", "--out", out)
    assert code == 0
    assert err.count("coview: the table lacks views of the model: 'body' (no column 'body').\n") == 1


def test_a_table_whose_columns_have_other_names_is_refused_in_one_sentence(model_file, tmp_path, run):
    (tmp_path / "new.csv").write_text("words,length\nfox,1.5\nsea,2.5\n")
    code, _, err = run("predict", model_file, tmp_path / "new.csv", "--out", tmp_path / "out.csv")
    assert code == 2 and "lacks views" not in err
    assert "none of the columns 'body', 'size'; it has 'words', 'length'. Give them the names that" in err


def test_figures_of_csv_files_have_six_digits(model, tmp_path, run):
    save(model, tmp_path / "m.coview")
    (tmp_path / "new.json").write_text(json.dumps([dict(zip(NEW, row)) for row in zip(*NEW.values())]))
    asked = ("predict", tmp_path / "m.coview", tmp_path / "new.json", "--proba", "--out")
    written = {}
    for name in ("short.csv", "p.json"):
        assert run(*asked, tmp_path / name)[0] == 0
        written[name] = read_table(tmp_path / name)["p_land"]
    exact = model.predict_proba(NEW)[:, 0]
    assert list(written["p.json"]) == exact.tolist()
    assert list(written["short.csv"]) == [float(f"{value:.6g}") for value in exact]


# -- `coview label`: objects to label, and the way of the labels back into the next fit

WORDS = {"animal": ["fox", "den", "paw", "fur"], "water": ["sea", "salt", "wave", "tide"]}


def read(path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def pages(tmp_path):
    """Pages of two kinds, four of them labeled."""
    rng = np.random.default_rng(0)
    with open(tmp_path / "pages.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["key", "body", "title", "kind"])
        for i in range(30):
            kind = list(WORDS)[i % 2]
            body, title = (" ".join(rng.choice(WORDS[kind], n)) for n in (8, 3))
            writer.writerow([f"p{i}", body, title, kind if i < 4 else ""])
    return tmp_path


def test_labels_that_are_filled_in_reach_the_next_fit_and_are_not_asked_for_again(pages, run):
    table, model, labels = pages / "pages.csv", pages / "m.coview", pages / "labels.csv"
    views = (table, "--id", "key", "--text", "body=body", "--text", "title=title")
    assert run("fit", "MultiViewNaiveBayes", *views, "--labels", "kind", "-o", model)[0] == 0
    assert run("label", model, table, "--labels", "kind", "--count", "5", "-o", labels)[0] == 0
    rows = read(labels)
    assert [row["label"] for row in rows[:5]] == [""] * 5 and all(row["coverage"] for row in rows[:5])
    assert [(row["id"], row["label"]) for row in rows[5:]] == [
        (f"p{i}", kind) for i, kind in enumerate(["animal", "water"] * 2)
    ]
    for row in rows[:5]:
        row["label"] = list(WORDS)[int(row["id"][1:]) % 2]
    with open(labels, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert run("fit", "MultiViewNaiveBayes", *views, "--labels", labels, "-o", model)[0] == 0
    assert load(model)[-1].class_count_.sum() == 9
    assert run("label", model, table, "--labels", labels, "--count", "50", "-o", pages / "again.csv")[0] == 0
    again = [row["id"] for row in read(pages / "again.csv") if not row["label"]]
    assert len(again) <= 21 and not {row["id"] for row in rows} & set(again)


def test_objects_with_a_label_in_the_table_of_the_fit_are_not_asked_for(pages, run):
    table, model, out = pages / "pages.csv", pages / "m.coview", pages / "out.csv"
    assert run("fit", "auto", table, "--labels", "kind", "-o", model)[0] == 0
    assert run("label", model, table, "--count", "50", "-o", out)[0] == 0
    assert {row["id"] for row in read(out) if not row["label"]}.isdisjoint({"p0", "p1", "p2", "p3"})
    title = {row["key"]: row["title"] for row in read(table)}
    first = read(out)[0]
    assert list(first)[-1] == "caption" and first["caption"] == title[first["id"]]
