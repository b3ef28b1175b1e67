"""`coview fit`, `predict`, `transform`, `info`: from files to files, as people type them."""

import csv
import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from coview import TableViews, inspect, load, write_views
from coview.datasets import make_topic_views

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
    words = [pages, "--text", "words=body", "--text", "title=title", "--id", "key", "--labels", "kind"]
    code, out, _ = run("fit", "MultiViewNaiveBayes", *words, "--out", model, "--json")
    assert code == 0
    found = json.loads(out)
    assert {item["name"] for item in found["groups"]["items"]} == {"land", "water"}
    code, _, _ = run("predict", model, pages, "--out", tmp_path / "p.csv", "--proba")
    assert code == 0
    with open(tmp_path / "p.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows] == [f"p{i}" for i in range(24)]
    assert [row["label"] for row in rows] == [TEXTS[i % 4][1] for i in range(24)]
    assert all(abs(float(row["p_land"]) + float(row["p_water"]) - 1) < 2e-6 for row in rows)


def test_auto_is_a_classifier_with_labels_and_a_clustering_without(run, pages, tmp_path):
    words = [pages, "--text", "words=body"]
    code, out, _ = run("fit", "auto", *words, "--labels", "kind", "-o", tmp_path / "kinds.coview", "--json")
    found = json.loads(out)
    assert code == 0 and found["model"]["name"] == "AutoClassifier" and found["model"]["candidates"]
    for labels in ([], ["--labels", "kind"]):
        code, out, _ = run("fit", "auto", *words, *labels, "--clusters", "2", "-o", tmp_path / "m.coview", "--json")
        found = json.loads(out)
        assert code == 0 and found["model"]["name"] == "AutoClustering" and found["groups"]["count"] == 2


def test_labels_are_counted_and_a_view_that_reads_them_is_named(run, pages, tmp_path):
    words = [pages, "--text", "words=body", "--labels", "kind", "-o", tmp_path / "m.coview"]
    code, out, err = run("fit", "MultiViewNaiveBayes", *words)
    assert code == 0 and "16 of 24 rows had a label." in out and "told the answers" not in err, err
    circular = "the labels, column 'kind', are read by 'kinds' too"
    assert circular in run("fit", "MultiViewNaiveBayes", *words, "--columns", "kinds=kind")[2]
    assert circular in run("label", tmp_path / "m.coview", pages, "--audit")[2]
    assert circular in run("report", tmp_path / "m.coview", pages, "--labels", "kind", "-o", tmp_path / "r.html")[2]


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
    code, out, err = run("fit", "auto", "pages.csv", "--set", "n_clusters=2", "--json", "--quiet")
    assert code == 0, err
    told = " ".join(err.split())
    assert "may be what you want to predict: 'kind', 'place'. Add to the command below --labels kind" in told
    assert "--columns kind=kind to use one as a view" in told
    assert "not used: 'nothing' (it has hardly any values); 'made' (it holds dates: see report --by)." in told
    words = json.loads(out)["options"]
    assert shlex.join(["--json", *words, "-o", "pages.coview"]) in told and json.loads(out)["out"] == "pages.coview"
    front = load("pages.coview")[0]
    assert (front.id, front.text, front.columns) == ("key", {"body": "body"}, {"size": ["size"]})
    assert list(front.tokens) == ["tags", "cites"]
    typed = ["fit", "auto", "pages.csv", "--set", "n_clusters=2", *words, "-o", "typed.coview", "--quiet"]
    assert run(*typed)[0] == 0
    first, again = load("pages.coview"), load("typed.coview")
    assert str(first.get_params()) == str(again.get_params()) and np.array_equal(first[-1].labels_, again[-1].labels_)
    code, _, err = run("fit", "auto", "pages.csv")
    assert code == 2 and "pages.coview is there already: pass -o pages.coview to replace it" in " ".join(err.split())
    assert "read as if" not in err
    assert run("fit", "auto", "pages.csv", "--labels", "kid")[2].startswith("coview: --labels 'kid' is neither")


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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fit", "MultiVewPLSA", "d", "-o", "m"], "MultiViewPLSA"),
        (["fit", "PLSA", "--set", "n_components=3", "-o", "m"], "Pass the data: a table"),
        (["fit", "PLSA", "--set", "n_components=3", "absent", "-o", "m"], "There is no file absent"),
        (["fit", "PLSA", "--view", "a=."], "--out"),
        (["fit", "PLSA", "--set", "n_components", ".", "-o", "m"], "NAME=VALUE"),
        (["predict"], "Missing argument 'model'"),
        (["predict", "absent.coview", "d"], "There is no file absent.coview."),
        (["fit", "PLSA", "absent.csv", "--text", "a=b", "-o", "m"], "There is no file absent.csv"),
        (["predict", "m.coview", "d", "--out", "x.docx"], ".csv"),
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

    monkeypatch.setattr("coview.load", broken)
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
    code, _, error = run("fit", "PLSA", folder, "--set", "n_components=3", "--out", model)
    assert code == 1 and not model.exists()
    assert error.startswith("coview: ") and "Traceback" not in error


def test_a_classifier_asks_for_labels_and_a_model_of_tables_for_a_table(run, folder, pages, tmp_path):
    code, _, error = run("fit", "MultiViewNaiveBayes", folder, "--out", tmp_path / "m.coview")
    assert code == 2 and "--labels" in error
    model = tmp_path / "m.coview"
    run("fit", "MultiViewPLSA", pages, "--text", "words=body", "--set", "n_clusters=2", "--out", model)
    code, _, error = run("predict", model, folder)
    assert code == 2 and "fitted on a raw table: pass one" in error


def test_so_few_rows_that_groups_would_be_chance_are_clustered_on_request_alone(run, tmp_path):
    table = tmp_path / "two.csv"
    table.write_text("id,text\na,the red fox jumps\nb,the blue sea is calm\n")
    for model, option in (("auto", "--clusters K"), ("topics", "--topics K")):
        code, _, error = run("fit", model, table, "-o", tmp_path / "m.coview")
        assert code == 2 and "2 rows cannot be clustered: at least 20 are needed" in error and option in error
    code, _, error = run("fit", "auto", table, "--clusters", 2, "-o", tmp_path / "m.coview")
    assert code == 0, error


def test_what_makes_clusters_doubtful_is_told(run, tmp_path, monkeypatch):
    rng, table = np.random.default_rng(0), tmp_path / "shop.csv"
    prices = [f"{euros:.2f}".replace(".", ",") for euros in rng.gamma(2, 40, 60)]
    rows = [f"{price} €;{price}" for price in [*prices, *prices[:2]]]
    table.write_text("\n".join(["price;other", *rows]), encoding="utf-8")
    code, out, error = run(
        "fit", "auto", table, "--columns", "price=price", "--clusters", 3, "-o", tmp_path / "m.coview"
    )
    assert code == 0 and "1 feature, numbers" in out and "There is one column only" in out, error
    assert "4 of 62 rows are equal to another one" in out
    table.write_text("text\n" + "the same words\nThe same words!\n" * 10)
    monkeypatch.setattr(TableViews, "transform", None)  # the texts are read once, by the fit
    _, out, error = run("fit", "auto", table, "--text", "text=text", "--clusters", 2, "-o", tmp_path / "m.coview")
    assert "1 cluster has no object of its own." in out, error
    assert "20 of 20 rows are equal to another one" in out  # as the report counts them, by what the model reads


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
    words = ["fit", "MultiViewPLSA", str(pages), "--out", str(tmp_path / "m.coview")]
    commands = [
        ["--help"],
        ["fit", "--help"],
        ["fit", "MultiViewPLAS", *words[2:], "--text", "words=body"],
        ["fit", "MultiViewPLSA", "nowhere", "--out", "m.coview"],
        ["compare", "nowhere.csv"],
        ["stream", "nowhere.csv"],
        ["predict", "nowhere.coview", str(pages)],
        ["predict", str(tmp_path / "m.coview"), "nowhere.csv"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", REFUSED.format(commands=commands)], capture_output=True, text=True, check=True
    )
    codes = [line for line in done.stdout.splitlines() if line[:2] in ("0 ", "2 ")]
    assert [line[0] for line in codes] == ["0", "0", *"2" * 6], done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_next_commands_have_the_table_and_can_be_run(run, pages, tmp_path):
    model = tmp_path / "my model.coview"
    words = [pages, "--text", "words=body", "--columns", "meta=year", "--id", "key"]
    code, out, _ = run("fit", "AutoClustering", *words, "--labels", "kind", "--set", "n_clusters=2", "-o", model)
    commands = [line.strip() for line in out.split("Next:")[1].splitlines() if line.strip()]
    assert code == 0 and "clusterings of the objects voted" in out, out
    assert f"coview explore '{model}' {pages}" in commands
    assert f"coview report '{model}' {pages} --labels kind" in commands
    predict = next(command for command in commands if command.startswith("coview predict"))
    code, out, _ = run(*shlex.split(predict)[1:])
    assert code == 0 and out.startswith("id,")


@pytest.mark.parametrize("asked", [["auto"], ["MultiViewNaiveBayes"]])
def test_labels_that_hardly_any_two_objects_share_are_told_of(tmp_path, run, asked):
    rng = np.random.default_rng(0)
    rows = [[f"c{i // 2}", " ".join(rng.choice(["fox", "den", "paw", "sea", "salt", "wave"], 6))] for i in range(80)]
    with open(tmp_path / "t.csv", "w", newline="") as stream:
        csv.writer(stream).writerows([["customer", "body"], *rows])
    words = [tmp_path / "t.csv", "--text", "words=body", "--labels", "customer", "-o", tmp_path / "m.coview"]
    code, _, err = run("fit", *asked, *words)
    told = "80 objects have 40 different labels ('c0', ...): these look like ids, dates or amounts, not classes."
    assert code == 0 and " ".join(err.split()).count(told) == 1


def test_fit_and_info_describe_a_model_in_the_same_lines_on_one_screen(run, tmp_path):
    data = make_topic_views(60, n_clusters=3, random_state=0)
    write_views(data.views, tmp_path / "views")
    (tmp_path / "y.csv").write_text("label\n" + "\n".join(map(str, data.target)) + "\n")
    model = tmp_path / "m.coview"
    for options in (["--labels", tmp_path / "y.csv"], ["--clusters", "3"]):
        code, out, err = run("fit", "auto", tmp_path / "views", *options, "-o", model)
        assert code == 0, err
        lines = run("info", model)[1].splitlines()
        assert lines[:-2] == out.split("Written to")[0].splitlines()
        assert lines[: len(repr(inspect(load(model))).splitlines())] == repr(inspect(load(model))).splitlines()
        assert sum(-(-len(line) // 80) for line in lines) <= 24
    code, whole, _ = run("info", model, "--verbose")
    assert code == 0 and "class_means_" not in whole and '"memberships_": "60 x 3' in whole
    assert json.loads(run("info", model, "--json")[1])["groups"]["count"] == 3


def test_topics_find_the_subjects_of_a_small_table(run, tmp_path):
    tickets = Path(__file__).parents[2] / "examples" / "tickets.csv"
    out = run("fit", "topics", tickets, "--text", "words=text", "--topics", 6, "-o", tmp_path / "m.coview", "--json")[1]
    names = " ".join(json.loads(out)["group_names"].values())
    assert all(subject in names for subject in ("invoice", "battery", "app", "parcel", "password", "money"))


def test_topics_and_clusters_are_listed_with_names_and_how_to_ask_for_another_number(run, pages, tmp_path):
    asked = (pages, "--text", "words=body", "--out", tmp_path / "m.coview")
    for model in ("LinkPLSA", "SphericalKMeans"):
        assert "K for another number" in run("fit", model, *asked)[1]
        _, out, _ = run("fit", model, *asked, "--clusters", "2")
        found = inspect(load(tmp_path / "m.coview"))
        assert "K for another number" not in out
        for key, name, size in zip(found.groups, found.group_names, found.group_sizes):
            assert f"  {key}: {name} ({size})" in out


@pytest.mark.parametrize("as_table", [True, False])
def test_the_commands_after_a_retriever_can_be_run(run, pages, folder, tmp_path, as_table):
    model = tmp_path / "r.coview"
    words = [pages, "--text", "words=body", "--text", "title=title", "--id", "key"] if as_table else [folder]
    code, out, err = run("fit", "CrossModalRetriever", *words, "--set", "model=LinkPLSA(2)", "--out", model)
    assert code == 0, err
    commands = [shlex.split(line)[1:] for line in out.split("Next:")[1].splitlines() if "explore" not in line][1:]
    assert [command[0] for command in commands] == ["info", "report", "search"]
    for command in commands:
        assert run(*command, *(["-o", tmp_path / "r.html"] if command[0] == "report" else []))[0] == 0, command
    code, out, _ = run("predict", "--coordinates", model, *words[:1])
    assert code == 0 and out.splitlines()[1].startswith("p0," if as_table else "0,")


def test_columns_whose_names_have_commas_are_guessed_and_typed(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 5},{i % 3}\n" for i in range(30))
    (tmp_path / "t.csv").write_text(f'"size, cm",weight\n{rows}')
    code, out, err = run("fit", "SphericalKMeans", "t.csv", "--clusters", "2", "--json")
    assert code == 0, err
    options = json.loads(out)["options"]
    assert options == ["--columns", "numbers=size, cm", "--columns", "numbers=weight"]
    assert run("fit", "SphericalKMeans", "t.csv", "--clusters", "2", *options, "-o", "typed.coview")[0] == 0
    assert load("typed.coview")[0].columns == {"numbers": ["size, cm", "weight"]}


# -- Vectors on the command line: a column of a Parquet table, or an .npy file beside a table

TEXTS_OF_VECTORS = ["red fox runs", "blue sea waves", "a red fox den", "salt of the blue sea"] * 6
LABELS = ["land", "water", "land", "water"] * 6
VECTORS = np.where(np.array(LABELS) == "land", 1, -1)[:, None] * np.ones((24, 3)) + np.linspace(0, 0.2, 72).reshape(
    24, 3
)
VECTORS = VECTORS.astype(np.float32)


@pytest.fixture
def pages_of_vectors(tmp_path):
    with open(tmp_path / "pages.csv", "w", newline="") as stream:
        rows = [["key", "body", "kind"], *([f"p{i}", text, LABELS[i]] for i, text in enumerate(TEXTS_OF_VECTORS))]
        csv.writer(stream).writerows(rows)
    np.save(tmp_path / "meaning.npy", VECTORS)
    return tmp_path / "pages.csv"


def options(pages, *more):
    return [pages, "--view", f"meaning={pages.parent / 'meaning.npy'}", *more]


def test_vectors_beside_a_table(run, pages_of_vectors, tmp_path):
    model, out = tmp_path / "m.coview", tmp_path / "out.csv"
    words = options(pages_of_vectors, "--text", "words=body", "--id", "key", "--labels", "kind")
    code, printed, error = run("fit", "SeededKMeansClassifier", *words, "--out", model, "--json")
    assert code == 0, error
    assert [view["name"] for view in json.loads(printed)["data"]["views"]] == ["words", "meaning"]
    beside = [command.split()[1] for command in json.loads(printed)["next"] if f"--view {words[2]}" in command]
    assert beside == ["report", "explore", "predict", "label"]
    assert run("predict", model, *options(pages_of_vectors), "--out", out)[0] == 0
    with open(out) as stream:
        assert [row["label"] for row in csv.DictReader(stream)] == LABELS


def test_a_column_of_vectors(run, tmp_path):
    frame = pl.DataFrame({"key": [f"p{i}" for i in range(24)], "image": VECTORS})
    frame.write_parquet(tmp_path / "pages.parquet")
    table = [tmp_path / "pages.parquet"]
    columns = ["--columns", "look=image", "--id", "key", "--clusters", "2"]
    code, out, error = run("fit", "SphericalKMeans", *table, *columns, "--out", tmp_path / "m.coview", "--json")
    assert code == 0 and json.loads(out)["data"]["views"][0]["name"] == "look", error
    code, out, _ = run("predict", tmp_path / "m.coview", *table)
    assert len({(row["label"], LABELS[i]) for i, row in enumerate(csv.DictReader(out.splitlines()))}) == 2
