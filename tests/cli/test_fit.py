"""`coview fit`, `predict`, `transform`, `info`: from files to files, as people type them."""

from __future__ import annotations

import csv
import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from coview import (
    AutoClassifier,
    Views,
    inspect,
    load,
    read_views,
    save,
    write_views,
)
from coview.cli import main as cli
from coview.cli.files import table_front
from coview.cli.options import Objects, TableOptions
from coview.cli.settings import build_model
from coview.datasets import make_topic_views

LONE = "not known: too many classes have one label, which cannot be held out"
TEXTS = [("red fox jumps", "land"), ("blue sea waves", "water"), ("fox den red", "land"), ("sea salt blue", "water")]


@pytest.fixture
def pages(tmp_path):
    path = tmp_path / "pages.csv"
    with open(path, "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["key", "body", "title", "year", "kind"])
        for i in range(24):
            text, kind = TEXTS[i % 4]
            writer.writerow([f"p{i}", text, text.split()[0], 1990 + i, kind if i % 3 else ""])
    return path


@pytest.fixture
def folder(tmp_path):
    data = make_topic_views(60, n_clusters=3, random_state=0)
    write_views(data.views, tmp_path / "views")
    (tmp_path / "y.csv").write_text("label\n" + "\n".join(map(str, data.target)) + "\n")
    return tmp_path / "views"


def test_a_table_is_fitted_and_predicted_with_its_own_words(run, pages, tmp_path):
    model = tmp_path / "m.coview"
    words = ["--table", pages, "--text", "words=body", "--text", "title=title", "--id", "key", "--labels", "kind"]
    code, out, _ = run("fit", "MultiViewNaiveBayes", *words, "--out", model, "--json")
    assert code == 0
    found = json.loads(out)
    assert list(found["classes"]) == ["land", "water"] and "scores" not in found  # those labels were learned from
    code, _, _ = run("predict", model, "--table", pages, "--out", tmp_path / "p.csv", "--proba")
    assert code == 0
    with open(tmp_path / "p.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows] == [f"p{i}" for i in range(24)]
    assert [row["label"] for row in rows] == [TEXTS[i % 4][1] for i in range(24)]
    assert all(abs(float(row["p_land"]) + float(row["p_water"]) - 1) < 2e-6 for row in rows)


def test_views_of_a_folder_are_clustered_and_scored_against_labels(run, folder, tmp_path):
    model = tmp_path / "m.coview"
    settings = ["--set", "n_clusters=3", "--set", "n_components=4"]
    code, out, _ = run(
        "fit", "MultiViewPLSA", "--data", folder, *settings, "--labels", tmp_path / "y.csv", "-o", model, "--json"
    )
    found = json.loads(out)
    assert code == 0 and sum(found["clusters"].values()) == 60 and list(found["names"]) == ["0", "1", "2"]
    assert found["scores"]["nmi"] > 0.5 and found["objective"][1] > found["objective"][0]
    code, out, _ = run("predict", "--coordinates", model, "--data", folder, "--json")
    columns = json.loads(out)
    shares = np.array([columns[name] for name in columns if name != "row"])
    assert np.allclose(shares.sum(axis=0), 1) and shares.shape == (3, 60)


def test_iterations_and_objective_are_shown_where_the_objective_is_one_curve(run, folder, tmp_path):
    code, out, _ = run(
        "fit", "AutoClustering", "--data", folder, "--set", "n_clusters=3", "-o", tmp_path / "m", "--json"
    )
    found = json.loads(out)
    assert code == 0 and "clusterings of graphs" in found["votes"] and not {"objective", "iterations"} & set(found)


def test_auto_is_a_classifier_with_labels_and_a_clustering_without(run, pages, tmp_path):
    words = ["--table", pages, "--text", "words=body"]
    code, out, _ = run("fit", "auto", *words, "--labels", "kind", "-o", tmp_path / "kinds.coview", "--json")
    found = json.loads(out)
    assert code == 0 and found["model"] == "AutoClassifier" and "classes" in found and found["candidates"]
    for labels in ([], ["--labels", "kind"]):
        code, out, _ = run("fit", "auto", *words, *labels, "--clusters", "2", "-o", tmp_path / "m.coview", "--json")
        found = json.loads(out)
        assert code == 0 and found["model"] == "AutoClustering" and len(found["clusters"]) == 2


def test_fit_auto_with_labels_says_how_far_to_trust_it_and_what_to_do_next(run, tmp_path):
    data = make_topic_views(60, n_clusters=2, random_state=0)
    write_views(data.views, tmp_path / "views")
    fit = ["fit", "auto", "--data", tmp_path / "views", "--labels", tmp_path / "y.csv", "-o", tmp_path / "m.coview"]
    for n_labels, calibration in ((36, "off by"), (8, "too few"), (3, LONE)):
        labels = [str(label) if i < n_labels else "-1" for i, label in enumerate(data.target)]
        (tmp_path / "y.csv").write_text("label\n" + "\n".join(labels) + "\n")
        code, out, _ = run(*fit, "--set", "cv=2")
        model = load(tmp_path / "m.coview")
        text = " ".join(out.replace("│", " ").split())
        assert "\\n" not in out
        assert code == 0 and f"labels {n_labels} of 60 objects" in text and calibration in text
        low, high = model.accuracy_interval_
        interval = f" ({low:.2f} to {high:.2f} at 95 %, {model.n_held_out_} held-out labels)"
        measured = (LONE if n_labels == 3 else f"{model.accuracy_:.2f}") + interval
        share = np.bincount(data.target[:n_labels]).max() / n_labels
        assert f"accuracy {measured}; the largest class has {100 * share:.0f} % of the labels" in text
    for command in ("label", "explore"):
        line = next(line.split() for line in out.splitlines() if f"coview {command}" in line)
        assert line[-2:] == ["--labels", str(tmp_path / "y.csv")] and str(tmp_path / "views") in line


def test_fit_auto_without_labels_or_a_number_chooses_the_number_and_says_so(run, tmp_path):
    data = make_topic_views(90, n_clusters=3, random_state=0)
    write_views(data.views, tmp_path / "views")
    fit = ["fit", "auto", "--data", tmp_path / "views", "-o", tmp_path / "m.coview"]
    code, out, _ = run(*fit)
    assert code == 0 and "3 was chosen" in " ".join(out.replace("│", " ").split()) and "--clusters" in out
    assert load(tmp_path / "m.coview").n_clusters is None
    (tmp_path / "y.csv").write_text("label\n" + "\n".join(map(str, data.target)) + "\n")
    code, out, _ = run(*fit, "--labels", tmp_path / "y.csv", "--clusters", "2", "--json")
    found = json.loads(out)
    assert code == 0 and "number" not in found and found["model"] == "AutoClustering"
    assert "leave out --clusters to learn from them" in found["labels"]["compared"]


def test_a_view_of_links_is_named_by_an_option(run, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    words = rng.poisson(np.where(np.arange(8) % 2 == y[:, None], 3.0, 0.3)).astype(float)
    cites = np.triu(rng.uniform(size=(60, 60)) < 0.15 * (y == y[:, None]), 1).astype(float)  # no link back
    write_views(Views(words=words, cites=cites), tmp_path / "views")
    fit = ["fit", "auto", "--data", tmp_path / "views", "--clusters", "2", "-o", tmp_path / "m.coview", "--json"]
    found = [json.loads(run(*fit, *more)[1]) for more in ([], ["--links", "cites"])]
    assert "links" not in found[0] and found[1]["links"]["used"]
    code, _, error = run(*fit, "--links", "words")
    assert code != 0 and "View 'words' cannot be links among 60 objects" in error


def test_lists_of_ids_in_json_lines_are_links(run, tmp_path):
    rng = np.random.default_rng(0)
    linked = [sorted({int(j) for j in rng.integers(0, 40, i % 4)} - {i}) for i in range(40)]
    rows = [{"key": i, "body": TEXTS[i % 4][0], "cites": [j + 100 for j in linked[i]]} for i in range(40)]
    table = tmp_path / "pages.jsonl"
    table.write_text("".join(json.dumps({**row, "key": row["key"] + 100}) + "\n" for row in rows))
    fit = ["fit", "auto", "--table", table, "--text", "words=body", "--tokens", "cites=cites", "--clusters", "2"]
    code, out, error = run(*fit, "--id", "key", "--links", "cites", "-o", tmp_path / "m.coview", "--json")
    assert code == 0, error
    told = json.loads(out)
    assert told["links"]["view"] == "cites" and told["links"]["n_links"] > 30
    _, shown, _ = run("info", tmp_path / "m.coview")
    assert "cites from cites" in shown and "cites cites" not in shown
    code, _, error = run(*fit, "--links", "cites", "-o", tmp_path / "m.coview")
    assert code == 2 and "the column that names the objects: --id COLUMN" in error


@pytest.mark.parametrize("alike", [True, False])
def test_links_are_told_of_with_whether_they_are_used(run, tmp_path, alike, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    words = rng.poisson(np.where(np.arange(8) % 2 == y[:, None], 3.0, 0.3)).astype(float)
    cites = np.triu(rng.uniform(size=(90, 90)) < 0.1 * ((y == y[:, None]) == alike), 1).astype(float)
    write_views(Views(words=words, cites=cites + cites.T), tmp_path / "views")
    model = tmp_path / "m.coview"
    _, told, _ = run("fit", "auto", "--data", tmp_path / "views", "--clusters", "2", "-o", model)
    _, shown, _ = run("info", model)
    links = load(model).links_
    sentence = f"view 'cites', {links['n_links']} links, {'used' if alike else 'not used'}: {links['why'][:40]}"
    assert sentence in told and sentence in shown


def test_info_says_how_lists_are_split(run, pages, tmp_path):
    asked = ("--text", "words=body", "--tokens", "tags=title:;", "--clusters", "2", "--out", tmp_path / "m.coview")
    run("fit", "SphericalKMeans", "--table", pages, *asked)
    _, shown, _ = run("info", tmp_path / "m.coview")
    assert "tokens: tags from title split by ';'" in shown


def test_a_classifier_without_labels_says_which_option_is_missing(run, pages, folder, tmp_path):
    table = ["--table", pages, "--text", "words=body"]
    for data, sentence in ((table, "--labels COLUMN or FILE."), (["--data", folder], "--labels FILE.")):
        code, _, error = run("fit", "MultiViewPLSAClassifier", *data, "-o", tmp_path / "m.coview")
        assert code == 2 and f"MultiViewPLSAClassifier needs labels: add {sentence}" in error


def test_predicting_with_one_view_of_two(run, folder, tmp_path):
    model = tmp_path / "m.coview"
    run("fit", "MultiViewPLSA", "--data", folder, "--set", "n_clusters=3", "--out", model)
    name = load(model).view_names_[0]
    file = tmp_path / "one.npz"
    sparse.save_npz(file, read_views(folder)[name])
    code, out, _ = run("predict", model, "--view", f"{name}={file}")
    assert code == 0 and len(out.splitlines()) == 61


def test_a_table_alone_is_fitted_as_the_printed_options_say(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    rng = np.random.default_rng(0)
    rows = [["key", "body", "tags", "made", "size", "place", "cites", "kind", "nothing"]]
    for i in range(40):
        text, kind = TEXTS[i % 4]
        tags, cites = f"{kind};{'new' if i % 3 else 'old'}", f"p{(i + 2) % 40} p{(i + 4) % 40}"
        made, size = f"Jun {1 + i % 28} {1990 + i % 9}", "" if i % 5 == 0 else f"{rng.normal(i % 2, 0.1):.3f}"
        rows.append(
            [f"p{i}", f"the {text} of {i % 7} lands", tags, made, size, ["Rome", "Oslo"][i % 2], cites, kind, ""]
        )
    with open("pages.csv", "w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    code, out, err = run("fit", "auto", "pages.csv", "--set", "n_clusters=2", "--json")
    assert code == 0, err
    told = " ".join(err.split())
    assert "column 'kind' looks like a label and is not used" in told
    assert "not used: 'nothing' (it is empty); 'made' (it says when: see report --by)." in told
    words = json.loads(out)["options"]
    assert shlex.join(words) in told and json.loads(out)["out"] == "pages.coview"
    front = load("pages.coview")[0]
    assert (front.id, front.text, front.columns) == (
        "key",
        {"body": "body"},
        {"place": ["place"], "size": ["size"]},
    )
    assert list(front.tokens) == ["tags", "cites"]
    typed = ["fit", "auto", "pages.csv", "--set", "n_clusters=2", *words[:-1], "typed.coview", "--quiet"]
    assert run(*typed)[0] == 0
    first, again = load("pages.coview"), load("typed.coview")
    assert str(first.get_params()) == str(again.get_params()) and np.array_equal(first[-1].labels_, again[-1].labels_)
    code, _, err = run("fit", "auto", "pages.csv")
    assert code == 2 and "pages.coview is there already: pass -o pages.coview to replace it" in " ".join(err.split())


def test_an_ontology_comes_from_edges_or_a_tree(run, pages, tmp_path):
    (tmp_path / "edges.csv").write_text("child,parent\nland,place\nwater,place\n")
    (tmp_path / "tree.json").write_text('{"place": ["land", "water"]}')
    (tmp_path / "wrong.csv").write_text("land,place,world\n")
    fit = ["fit", "SeededKMeansClassifier", pages, "--text", "words=body", "--labels", "kind", "-o", tmp_path / "m"]
    for name in ("edges.csv", "tree.json"):
        code, _, err = run(*fit, "--ontology", tmp_path / name)
        assert code == 0, err
        assert load(tmp_path / "m")[-1].ontology.subset == (("land", "place"), ("water", "place"))
    code, _, err = run(*fit, "--ontology", tmp_path / "wrong.csv")
    assert code == 2 and "a row must be child,parent, got 'land,place,world'" in " ".join(err.split())
    code, _, err = run("fit", "auto", pages, "--ontology", tmp_path / "tree.json")
    assert code == 2 and "pass these with --labels" in err


def test_a_retriever_of_a_table_answers_raw_words(run, pages, tmp_path):
    model = tmp_path / "r.coview"
    words = ["--table", pages, "--text", "words=body", "--text", "title=title", "--id", "key"]
    code, _, error = run("fit", "CrossModalRetriever", *words, "--set", "model=LinkPLSA(2, n_init=8)", "--out", model)
    assert code == 0, error
    asked = ["--model", model, "--source", "words", "--target", "title", "-k", "3", "--json"]
    code, out, _ = run("search", "salt", *asked)
    hits = json.loads(out)["hits"]
    assert code == 0 and all(TEXTS[int(hit["id"][1:]) % 4][1] == "water" for hit in hits)


def test_info_shows_a_model_without_loading_it(run, pages, tmp_path):
    model = tmp_path / "m.coview"
    run("fit", "MultiViewPLSA", "--table", pages, "--text", "words=body", "--set", "n_clusters=2", "--out", model)
    code, out, _ = run("info", model, "--json")
    found = json.loads(out)
    assert code == 0 and [step["model"] for step in found["steps"]] == ["TableViews", "MultiViewPLSA"]
    assert found["steps"][1]["fitted"]["memberships_"] == "24 x 2 float64"
    code, shown, _ = run("info", model)
    assert code == 0 and "words from body" in shown and "transform_input" not in shown


def test_topics_are_named_with_how_many_objects_they_have(run, pages, tmp_path):
    asked = ("--table", pages, "--text", "words=body", "--set", "n_components=2", "--out", tmp_path / "m.coview")
    _, told, _ = run("fit", "LinkPLSA", *asked)
    found = inspect(load(tmp_path / "m.coview"))
    _, shown, _ = run("info", tmp_path / "m.coview")
    assert sum(found.group_sizes) == 24
    for key, name, size in zip(found.groups, found.group_names, found.group_sizes):
        assert f"{key}: {name} ({size})" in told
        assert f"{name} ({size})" in shown


def test_info_of_a_model_of_models_is_a_summary_and_all_of_it_is_there_on_request(run, tmp_path):
    data = make_topic_views(60, n_clusters=3, random_state=0)
    fitted = AutoClassifier(random_state=0).fit(data.views, np.array(["x", "y", "z"])[data.target])
    save(fitted, tmp_path / "m.coview")
    code, short, _ = run("info", tmp_path / "m.coview")
    lines = [" ".join(line.split()) for line in short.replace("│", " ").splitlines()]
    assert code == 0 and len(lines) < 45
    assert "classes x, y, z" in lines
    assert f"views view0: {data.views['view0'].shape[1]} features, counts, categories or shares, weighted by" in lines
    for name, weight, method in zip(*(fitted.candidates_[key] for key in ("name", "weight", "method"))):
        assert not weight or any(line.endswith(f"{name}: {weight:.2g}, {method}") for line in lines)
    code, whole, _ = run("info", tmp_path / "m.coview", "--verbose")
    assert code == 0 and "class_means_: " in whole and len(whole) > 2 * len(short)


def test_clusters_are_predicted_with_their_names(run, pages, tmp_path):
    model = tmp_path / "m.coview"
    options = ["--text", "words=body", "--set", "n_clusters=2", "--set", "random_state=0", "--out", model]
    _, out, _ = run("fit", "SphericalKMeans", "--table", pages, *options, "--json")
    names = json.loads(out)["names"]
    words = {word for text, _ in TEXTS for word in text.lower().split()}
    assert len(set(names.values())) == 2 and {word for name in names.values() for word in name.split(", ")} <= words
    _, out, _ = run("predict", model, "--table", pages, "--json")
    columns = json.loads(out)
    assert columns["name"] == [names[str(label)] for label in columns["label"]]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fit", "MultiVewPLSA", "--data", "d", "-o", "m"], "MultiViewPLSA"),
        (["fit", "PLSA", "--set", "n_components=3", "-o", "m"], "Pass the data: a table"),
        (["fit", "PLSA", "--set", "n_components=3", "--data", "absent", "-o", "m"], "absent does not exist"),
        (["fit", "PLSA", "--set", "n_component=3", "--data", ".", "-o", "m"], "'n_components'"),
        (["fit", "PLSA", "--view", "a=d"], "--out"),
        (["fit", "PLSA", "--set", "n_components", "--data", "d", "-o", "m"], "NAME=VALUE"),
        (["fit", "PLSA", "--text", "a=b", "--data", "d", "-o", "m"], "describe a raw table, but there is none"),
        (["fit", "PLSA", "d", "--data", "d", "-o", "m"], "The data is given twice"),
        (["predict"], "coview predict model.coview"),
        (["predict", "absent.coview", "--data", "d"], "absent.coview does not exist."),
        (["fit", "PLSA", "--table", "absent.csv", "--text", "a=b", "-o", "m"], "There is no file absent.csv."),
        (["predict", "m.coview", "--data", "d", "--out", "x.docx"], ".csv"),
        (["fit", "--nonsense"], "coview fit --help"),
        (["fit", "PLSA", "--topics", "six"], "Invalid value for '--clusters'"),
        (["nonsense"], "coview --help"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(run, words, sentence):
    code, out, error = run(*words)
    assert code == 2 and out == ""
    assert error.startswith("coview: ") and error.count("\n") == 1
    assert sentence in error


def test_other_failures_are_code_1_and_a_traceback_only_with_debug(run, monkeypatch):
    def broken(path):
        raise RuntimeError("of our own making")

    monkeypatch.setattr("coview.io.models.outline", broken)
    code, _, error = run("info", "m.coview")
    assert code == 1 and "RuntimeError: of our own making" in error and "Traceback" not in error
    code, _, error = run("info", "m.coview", "--debug")
    assert code == 1 and "Traceback" in error


def test_ctrl_c_in_a_fit_writes_nothing(run, folder, tmp_path, monkeypatch):
    from coview.engines import loop

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "sweep", stop)
    model = tmp_path / "m.coview"
    code, _, error = run("fit", "PLSA", "--data", folder, "--set", "n_components=3", "--out", model)
    assert code == 1 and not model.exists()
    assert error.startswith("coview: ") and "Traceback" not in error


def test_a_model_that_cannot_predict_says_what_can(run, folder, tmp_path):
    model = tmp_path / "m.coview"
    run("fit", "MultiViewCCA", "--data", folder, "--set", "n_components=2", "--out", model)
    code, _, error = run("predict", model, "--data", folder)
    assert code == 2 and "has no predict. Use: coview predict" in error and "--coordinates" in error


def test_what_can_be_done_next_with_topics_is_to_predict(run, folder, tmp_path):
    model = tmp_path / "m.coview"
    _, printed, _ = run("fit", "PLSA", "--data", folder, "--set", "n_components=3", "--out", model)
    assert "coview predict" in printed and run("predict", model, "--data", folder)[0] == 0


def test_every_command_shows_an_example(run):
    for command in cli.EXAMPLES:
        _, out, _ = run(command.__name__, "--help")
        assert f"coview {command.__name__}" in " ".join(out.split())


def test_a_classifier_asks_for_labels_and_a_model_of_tables_for_a_table(run, folder, pages, tmp_path):
    code, _, error = run("fit", "MultiViewNaiveBayes", "--data", folder, "--out", tmp_path / "m.coview")
    assert code == 2 and "--labels" in error
    model = tmp_path / "m.coview"
    run("fit", "MultiViewPLSA", "--table", pages, "--text", "words=body", "--set", "n_clusters=2", "--out", model)
    code, _, error = run("predict", model, folder)
    assert code == 2 and "fitted on a raw table: pass one" in error


def test_a_retriever_is_reported_and_transformed_with_its_ids(run, pages, tmp_path):
    model = tmp_path / "r.coview"
    words = ["--table", pages, "--text", "words=body", "--text", "title=title", "--id", "key"]
    code, out, _ = run("fit", "CrossModalRetriever", *words, "--out", model)
    assert code == 0 and "--source words --target title" in out
    code, out, _ = run("predict", "--coordinates", model, "--table", pages)
    assert code == 0 and out.splitlines()[1].startswith("p0,")
    code, _, error = run("report", model, "--table", pages, "--out", tmp_path / "r.html")
    assert code == 0, error


def test_a_table_is_described_with_all_that_table_views_take(run, tmp_path):
    rows = ["key;body;deps;born;size"]
    for i in range(30):
        text, kind = TEXTS[i % 4]
        rows.append(f"p{i};the {text} of {kind};lib{i % 2}-dev | r-base;{1990 + i}-05-01;{'' if i == 3 else i}")
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    model = tmp_path / "m.coview"
    table = ["--table", tmp_path / "t.csv", "--id", "key", "--text", "words=body", "--tokens", "deps=deps:|"]
    more = ["--columns", "meta=born,size", "--stop-words", "the,of,red", "--max-df", "0.6"]
    code, _, err = run("fit", "MultiViewPLSA", *table, *more, "--set", "n_clusters=2", "-o", model, "--json")
    assert code == 0, err
    front = load(model)[0]
    words = "blue den fox jumps land salt sea water waves"
    assert front.vectorizers_["words"].get_feature_names_out().tolist() == words.split()
    assert front.vectorizers_["deps"].get_feature_names_out().tolist() == ["lib0-dev", "lib1-dev"]  # all need r-base
    assert front.medians_.keys() == {"born", "size"} and front.medians_["size"] == 15 and front.categories_ == {}
    code, out, err = run("predict", model, "--table", tmp_path / "t.csv", "--sep", ";", "--json")
    assert code == 0 and json.loads(out)["id"][:2] == ["p0", "p1"], err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--stop-words", "klingon"], "must be a language among 'english', "),
        (["--min-df", "few"], "--min-df must be a float in the range [0.0, 1.0]"),
        (["--sep", "::"], "sep is the one character between the cells"),
        (["--tokens", "tags="], "--tokens needs NAME=VALUE, got 'tags='"),
    ],
)
def test_what_does_not_describe_a_table_is_refused(run, pages, tmp_path, words, sentence):
    table = ["--table", pages, "--text", "words=body", "--columns", "meta=year"]
    code, _, err = run("fit", "MultiViewPLSA", *table, *words, "-o", tmp_path / "m.coview")
    assert code == 2 and sentence in " ".join(err.split()) and not (tmp_path / "m.coview").exists()


@pytest.mark.parametrize(
    ("value", "column"),
    [
        ("depends", "depends"),
        ("depends:,", ("depends", ",")),
        ("depends: ", ("depends", " ")),
        ("depends::", ("depends", ":")),
        ("depends:\\t", ("depends", "\t")),
        ("depends:", "depends"),
        ("dc:subject", "dc:subject"),
        ("dc:subject:;", ("dc:subject", ";")),
    ],
)
def test_the_separator_of_lists_stands_after_a_colon(tmp_path, value, column):
    assert table_front(TableOptions(tokens=[f"deps={value}"]), Objects(table=tmp_path)).tokens == {"deps": column}


def test_a_fit_shows_its_progress_unless_it_is_to_be_quiet(run, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("coview.utils.progress.PATIENCE", 0.0)
    words = ["fit", "MultiViewPLSA", "--data", folder, "--set", "n_clusters=3", "-o", tmp_path / "m.coview"]
    code, _, err = run(*words)
    assert code == 0 and " s)\n" in err and "writing" in err
    assert load(tmp_path / "m.coview").verbose is None
    assert run(*words, "--quiet")[::2] == (0, "")
    assert run(*words, "--json")[::2] == (0, "")


def test_a_warning_is_one_sentence(run, pages, tmp_path):
    """Without the line of code that it comes from, which says nothing to who types commands."""
    lines = pages.read_text().splitlines()
    lone = [line if i in (0, 2, 3, 6) else line.rpartition(",")[0] + "," for i, line in enumerate(lines)]
    pages.write_text("\n".join(lone) + "\n")  # "water" of p1 and p5, "land" of p2
    words = ["--table", pages, "--text", "words=body", "--labels", "kind", "--out", tmp_path / "m.coview", "--quiet"]
    code, _, err = run("fit", "SeededKMeansClassifier", *words)
    assert code == 0
    assert err.splitlines() == [
        "coview: Class 'land' has only one labeled object, others have up to 2: its predictions rest on that object "
        "alone. Label more."
    ]


REFUSED = """
import sys
from coview.cli.main import main
for words in {commands!r}:
    sys.argv = ["coview", *words]
    try:
        main()
    except SystemExit as end:
        print(end.code or 0, words)
    if words == ["--help"]:
        assert "numpy" not in sys.modules
print(sorted({{"numba", "pandas", "polars", "scipy", "sklearn"}} & set(sys.modules)))
"""


def test_help_and_refusals_wait_for_no_large_library(pages, folder, tmp_path):
    words = ["fit", "MultiViewPLSA", "--table", str(pages), "--out", str(tmp_path / "m.coview")]
    commands = [
        ["--help"],
        ["fit", "--help"],
        [*words, "--text", "words=bdy"],
        [*words, "--text", "words"],
        [*words, "--text", "words=body", "--labels", "kidn"],
        [*words, "--text", "words=body", "--data", str(folder)],
        ["fit", "MultiViewPLAS", *words[2:], "--text", "words=body"],
        ["fit", "MultiViewPLSA", "--data", "nowhere", "--out", "m.coview"],
        ["compare", "--table", str(pages), "--tokens", "words=bdy"],
        ["stream", "--table", str(pages), "--columns", "words=bdy"],
        ["predict", "nowhere.coview", "--table", str(pages)],
        ["predict", str(tmp_path / "m.coview"), "--table", "nowhere.csv"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", REFUSED.format(commands=commands)], capture_output=True, text=True, check=True
    )
    codes = [line for line in done.stdout.splitlines() if line[:2] in ("0 ", "2 ")]
    assert [line[0] for line in codes] == ["0", "0", *"2" * 10], done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_next_commands_have_the_table_and_can_be_run(run, pages, tmp_path):
    model = tmp_path / "my model.coview"
    words = ["--table", pages, "--text", "words=body", "--columns", "meta=year", "--id", "key"]
    code, out, _ = run("fit", "AutoClustering", *words, "--labels", "kind", "--set", "n_clusters=2", "-o", model)
    commands = [line.strip() for line in out.split("Next:")[1].splitlines() if line.strip()]
    assert code == 0 and "clusterings of graphs of nearest neighbors voted" in " ".join(out.split()), out
    assert f"coview explore '{model}' {pages}" in commands
    assert f"coview report '{model}' {pages} --labels kind" in commands
    predict = next(command for command in commands if command.startswith("coview predict"))
    code, out, _ = run(*shlex.split(predict)[1:])
    assert code == 0 and out.startswith("id,")


@pytest.mark.parametrize("step", ["EachView(StandardScaler(), views=['meta'])", "EachView({'meta': StandardScaler()})"])
def test_a_step_may_scale_some_columns(run, pages, tmp_path, step):
    table = ["--table", pages, "--text", "words=body", "--columns", "meta=year"]
    code, _, error = run("fit", "LinkPLSA", *table, "--step", step, "--set", "n_components=2", "-o", tmp_path / "m")
    assert code == 0, error
    (scaled,) = (part for _, part in load(tmp_path / "m").steps if part.__class__.__name__ == "EachView")
    assert scaled.transformers_["meta"].mean_ == pytest.approx(np.arange(1990, 2014).mean())


def test_a_scaler_alone_is_for_every_view(run, tmp_path):
    np.save(tmp_path / "size.npy", np.random.default_rng(0).normal(size=(30, 2)) * [1.0, 1e5])
    data = ["--view", f"size={tmp_path / 'size.npy'}", "--set", "n_components=2", "-o", tmp_path / "m"]
    code, _, error = run("fit", "LinkPLSA", *data, "--step", "StandardScaler")
    assert code == 0, error
    (scaled,) = (part for _, part in load(tmp_path / "m").steps if part.__class__.__name__ == "EachView")
    assert scaled.transformers_["size"].scale_[1] == pytest.approx(1e5, rel=0.5)
    assert "no model 'StandardScalar'" in run("fit", "LinkPLSA", *data, "--step", "StandardScalar")[2]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("EachView({'a': StandardScalr()})", "no model 'StandardScalr'"),
        ("EachView({'a': StandardScaler(mean=True)})", "has no parameter 'mean'"),
        ("EachView({'a': name})", "plain values only"),
        ("EachView({name: 1})", "plain values only"),
        ("LabelEncoder", "needs a transformer"),
    ],
)
def test_a_step_that_cannot_be_says_why(step, why):
    with pytest.raises(ValueError, match=why):
        build_model("LinkPLSA", {"n_components": 2}, [step], None, 0)


def test_a_step_is_drawn_by_the_seed(run, folder, tmp_path):
    words = ["--data", folder, "--set", "n_components=2", "--seed", "7", "-o", tmp_path / "m"]
    code, _, error = run("fit", "LinkPLSA", *words, "--step", "TruncatedSVD(2)")
    assert code == 0, error
    assert load(tmp_path / "m").steps[0][1].transformers.random_state == 7


def test_a_view_of_noise_is_named(run, tmp_path):
    made = make_topic_views(n_objects=90, n_clusters=3, random_state=0)
    noise = np.random.default_rng(0).normal(size=(90, 12))
    write_views(Views({**made.views, "hum": noise}), tmp_path / "views")
    words = ["fit", "auto", "--data", tmp_path / "views", "--clusters", "3", "--set", "time_budget=2"]
    words += ["-o", tmp_path / "m"]
    code, out, error = run(*words)
    assert code == 0, error
    assert "No clear structure was found in 'hum'" in " ".join(out.replace("│", " ").split())
    found = json.loads(run(*words, "--json")[1])["relations"]
    assert found == {"view0": "shares", "view1": "shares", "hum": "noise"}
    assert "hum: numbers, each column divided by its standard deviation" in " ".join(out.replace("│", " ").split())


def test_the_summary_says_what_each_view_was_taken_for(run, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "bytes.npy", rng.integers(0, 256, (30, 8)).astype(np.uint8))
    words = ["fit", "LinkPLSA", "--view", f"vector={tmp_path / 'bytes.npy'}", "-o", tmp_path / "m"]
    out = " ".join(run(*words, "--set", "n_components=2")[1].replace("│", " ").split())
    assert "vector: multinomial (counts)" in out
    (hint,) = re.findall(r"--set \"(likelihood=[^\"]*)\"", out)
    code, printed, error = run(*words, "--set", "n_components=2", "--set", hint, "--json")
    assert code == 0 and json.loads(printed)["likelihood"] == {"vector": "gaussian"}, error


@pytest.mark.parametrize("asked", [["auto"], ["MultiViewNaiveBayes"]])
def test_labels_that_hardly_any_two_objects_share_are_told_of(tmp_path, run, asked):
    rng = np.random.default_rng(0)
    rows = [[f"c{i // 2}", " ".join(rng.choice(["fox", "den", "paw", "sea", "salt", "wave"], 6))] for i in range(80)]
    with open(tmp_path / "t.csv", "w", newline="") as stream:
        csv.writer(stream).writerows([["customer", "body"], *rows])
    words = ["--table", tmp_path / "t.csv", "--text", "words=body", "--labels", "customer", "-o", tmp_path / "m.coview"]
    code, _, err = run("fit", *asked, *words)
    told = "80 objects have 40 different labels ('c0', ...): these look like ids, dates or amounts, not classes."
    assert code == 0 and " ".join(err.split()).count(told) == 1


@pytest.mark.parametrize("option", ["--clusters", "--topics"])
def test_clusters_of_a_model_of_topics_are_its_topics(folder, tmp_path, run, option):
    code, out, err = run("fit", "LinkPLSA", "--data", folder, option, "5", "-o", tmp_path / "m.coview")
    assert code == 0 and "the default" not in out, err
    assert len(inspect(load(tmp_path / "m.coview")).groups) == 5


@pytest.mark.parametrize(("model", "kind", "number"), [("LinkPLSA", "topics", 10), ("SphericalKMeans", "clusters", 8)])
def test_a_number_that_nobody_asked_for_is_told_with_how_to_ask(folder, tmp_path, run, model, kind, number):
    words = ["fit", model, "--data", folder, "-o", tmp_path / "m.coview"]
    assert f"{number}, the default. Pass --{kind} K for another number." in run(*words)[1]
    assert json.loads(run(*words, "--json")[1])["default_number"] == {kind: number}
    parameter = "n_components" if kind == "topics" else "n_clusters"
    assert "default_number" not in json.loads(run(*words, "--set", f"{parameter}={number}", "--json")[1])


def test_components_are_no_clusters_whose_number_is_told(folder, tmp_path, run):
    words = ["fit", "MultiViewCCA", "--data", folder, "-o", tmp_path / "m.coview", "--json"]
    assert "default_number" not in json.loads(run(*words)[1])


def test_clusters_of_a_model_of_components_are_refused_with_what_to_set(folder, tmp_path, run):
    code, _, err = run("fit", "MultiViewCCA", "--data", folder, "--clusters", "5", "-o", tmp_path / "m.coview")
    assert code == 2
    assert "MultiViewCCA makes no clusters. In place of --clusters, use --set n_components=5." in " ".join(err.split())
