"""What a model is and how to make it again."""

from __future__ import annotations

import ast
import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from coview import (
    PLSA,
    AutoClassifier,
    AutoClustering,
    ConcatenatedViews,
    EachView,
    EmbeddingViews,
    LinkPLSA,
    MultiViewNaiveBayes,
    MultiViewPLSA,
    ScaledViews,
    SphericalKMeans,
    TableViews,
    TextViews,
    TfidfViews,
    Views,
    inspect,
    make_report,
)
from coview.auto.votes import N_CLUSTERINGS, SCALES
from coview.cli.files import table_front
from coview.cli.options import Objects, TableOptions
from coview.cli.settings import build_model
from coview.report.model import _wrapped, describe_model, describe_reproduction, written


def remade(code: str):
    """Run the lines of the code that make the model."""
    imports = [line for line in code.splitlines() if line.startswith(("from ", "import "))]
    call = code[code.index("\nmodel = ") : code.index("\nmodel.fit(")]
    space: dict = {}
    exec("\n".join(imports) + call, space)
    return space["model"]


def test_the_code_makes_the_same_model(model):
    again = remade(describe_reproduction(inspect(model))["code"])
    assert str(again.get_params()) == str(clone(model).get_params())


@pytest.mark.parametrize("around", ["wrapper", "pipeline", "search"])
def test_the_code_imports_what_it_needs(around, data):
    X, y = data
    made = {
        "wrapper": ConcatenatedViews(LogisticRegression(C=2.0)),
        "pipeline": make_pipeline(TfidfViews(), PLSA(3, max_iter=2, random_state=0)),
        "search": GridSearchCV(MultiViewNaiveBayes(), {"alpha": [0.5, 1.0]}, cv=2),
    }[around]
    code = describe_reproduction(inspect(made.fit(X, y)))["code"]
    assert str(remade(code)) == str(made)
    assert "make_report(model" in code


def test_the_commands_name_the_files(make):
    found = describe_reproduction(
        inspect(make("MultiViewPLSA")), model_path="my model.coview", data={"words": "w.npz", "links": "l.mtx"}
    )
    fit, report = (shlex.split(line) for line in found["commands"])
    assert fit[:3] == ["coview", "fit", "MultiViewPLSA"] and fit[-2:] == ["--out", "my model.coview"]
    assert "n_clusters=3" in fit and "random_state=0" in fit
    assert report[:3] == ["coview", "report", "my model.coview"] and "words=w.npz" in report and "links=l.mtx" in report


def test_a_raw_table_is_read_as_one(make):
    found = describe_reproduction(inspect(make("PLSA")), table="pages.csv")
    assert 'X = read_table("pages.csv")' in found["code"]
    assert "--table pages.csv" in found["commands"][-1]


@pytest.mark.parametrize("front", ["table", "text", "columns", "words of their own"])
def test_a_pipeline_that_takes_tables_reads_a_table(front):
    table = {"key": ["a", "b", "c", "d"], "body": ["red fox", "sea", "fox", "blue sea"], "year": [1, 2, 3, 4]}
    first, options = {
        "table": (
            TableViews({"words": "body"}, {"meta": ["year"]}, id="key"),
            "words=body --columns meta=year --id key",
        ),
        "text": (TextViews({"words": "body"}), "words=body --step TfidfViews --set"),
        "columns": (TableViews(columns={"meta": ["year"]}), "--columns meta=year"),
        "words of their own": (TextViews({"words": "body"}, CountVectorizer(min_df=2)), None),
    }[front]
    between = [TfidfViews()] if front == "text" else []
    model = make_pipeline(first, *between, MultiViewPLSA(2, 2, max_iter=2, random_state=0)).fit(table)
    found = make_report(model, table, [0, 1, 0, 1]).summary["reproduce"]
    assert 'X = read_table("table.csv")' in found["code"] and "read_table, save" in found["code"]
    assert "model.fit(X)" in found["code"] and "make_report(model, X, y)" in found["code"]
    assert found["commands"][-1] == "coview report model.coview --table table.csv --labels labels.csv --out report.html"
    if options is None:  # a vectorizer has no option
        assert len(found["commands"]) == 1
    else:
        assert found["commands"][0].startswith("coview fit MultiViewPLSA --table table.csv --")
        assert options in found["commands"][0] and "n_clusters=2" in found["commands"][0]


def test_the_command_makes_the_same_views_of_a_table():
    front = TableViews(
        {"words": "body", "title": "title"},
        {"meta": ["year"]},
        tokens={"deps": "depends", "tags": ("tags", ";")},
        id="key",
        stop_words=["the", "of"],
        min_df=1,
    )
    table = {
        "key": ["a", "b", "c", "d"],
        "body": ["red fox", "sea", "fox", "blue sea"],
        "title": ["fox", "sea", "fox", "sea"],
        "depends": ["x, y", "x", "y", "x, y"],
        "tags": ["p;q", "p", "q", "p;q"],
        "year": [1, 2, 3, 4],
    }
    model = make_pipeline(front, MultiViewPLSA(2, 2, max_iter=2, random_state=0)).fit(table)
    found = describe_reproduction(inspect(model))
    words = shlex.split(found["commands"][0])
    typed = {flag: [words[i + 1] for i, word in enumerate(words) if word == flag] for flag in words if flag[:2] == "--"}
    single = {name: typed[f"--{name.replace('_', '-')}"][0] for name in ("stop_words", "min_df")}
    again = table_front(
        TableOptions(typed["--text"], typed["--tokens"], typed["--columns"], typed["--id"][0], **single),
        Objects(table=Path("t.csv")),
    )
    assert str(again.get_params(deep=False)) == str(front.get_params(deep=False))
    assert str(remade(found["code"])) == str(model)


def test_long_calls_are_broken_between_their_arguments(make):
    call = f"make_pipeline(TextViews({{'words': 'a, (b'}}), PLSA(n_components=3, tol=1e-05, init='{'x' * 60}'))"
    wrapped = _wrapped(call, 8)
    assert wrapped.splitlines()[1] == "    TextViews({'words': 'a, (b'}),"
    assert max(map(len, wrapped.splitlines())) <= 96
    assert ast.dump(ast.parse(wrapped)) == ast.dump(ast.parse(call))
    assert _wrapped("PLSA(3)", 8) == "PLSA(3)"


def test_a_fit_without_a_seed_is_told(data):
    X, _ = data
    model = MultiViewPLSA(2, 2, max_iter=2).fit(X)
    assert "random_state is not set" in describe_reproduction(inspect(model))["notes"][0]


def test_versions_are_those_here(make):
    import numpy
    import sklearn

    found = describe_model(inspect(make("PLSA")))["versions"]
    assert found["numpy"] == numpy.__version__ and found["scikit-learn"] == sklearn.__version__
    json.dumps(found)


def test_the_candidates_of_a_classifier_are_named(data):
    X, y = data
    model = AutoClassifier(random_state=0, cv=2).fit(X, y)
    assert describe_model(inspect(model))["candidates"] == model.candidates_
    page = make_report(model).html
    assert 'aria-label="Candidates"' in page
    assert all(name.replace("_", " ") in page for name in model.candidates_)
    assert describe_model(inspect(SphericalKMeans(3, random_state=0).fit(X)))["candidates"] == {}


def test_clusterings_that_voted_are_told_of(data):
    model = AutoClustering(3, random_state=0).fit(data[0])
    page = make_report(model).html
    assert (
        f"{len(SCALES) * N_CLUSTERINGS} clusterings of graphs of nearest neighbors voted" in page
        and "Objective" not in page
    )


def test_a_model_with_an_encoder_is_repeated_in_python_alone():
    def encode(texts):
        return np.array([[len(text), 1.0] for text in texts])

    table = {"body": ["red fox", "blue sea and more", "red den", "blue salt and more"] * 3}
    for front in (
        EmbeddingViews(encode, {"meaning": "body"}),
        TableViews(embeddings=EmbeddingViews(encode, {"meaning": "body"})),
    ):
        page = make_report(make_pipeline(front, SphericalKMeans(2, random_state=0)).fit(table), table)
        again = page.summary["reproduce"]
        assert "encoder=encode" in again["code"] and " at 0x" not in again["code"]
        assert 'read_table("table.csv")' in again["code"]
        assert again["commands"] == [] and "holds no encoder" in again["notes"][0]
        assert "On the command line" not in page.html and "holds no encoder" in page.html


def test_functions_are_written_by_name():
    assert written(len) == "<built-in function len>" and written(make_report) == "make_report"
    assert written(lambda text: text) == "..." and written({"a": object()}) == "{'a': ...}"


@pytest.mark.parametrize(
    "front",
    [
        EachView(StandardScaler(with_std=False), views=["size"]),
        EachView({"size": StandardScaler()}),
        EachView(MinMaxScaler((0, 2))),
        ScaledViews({"size": "standard"}),
    ],
)
def test_a_scaler_of_views_is_typed_as_a_step(front):
    X = Views(size=np.random.default_rng(0).normal(size=(20, 2)), feature_names={"size": ["a", "b"]})
    model = make_pipeline(front, LinkPLSA(2, max_iter=2, random_state=0)).fit(X)
    words = shlex.split(describe_reproduction(inspect(model))["commands"][0])
    typed = words[words.index("--step") + 1]
    assert str(build_model("LinkPLSA", {}, [typed], None, 0).steps[0][1]) == str(front)
