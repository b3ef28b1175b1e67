"""Model files with the real catalog: looked into, and shipped as pipelines."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from coview import MultiViewPLSAClassifier, TableViews, TextViews
from coview.catalog import resolve
from coview.io.models import load, outline, save


def test_an_outline_is_plain_and_reads_no_array(tmp_path):
    model = make_pipeline(TextViews(), MultinomialNB())
    text = {"a": ["class params one", "two"]}
    model.steps[0][1].fit(text)
    save(model, tmp_path / "m.coview")
    found = outline(tmp_path / "m.coview")
    json.dumps(found)
    assert [step["model"] for step in found["steps"]] == ["TextViews", "MultinomialNB"]


# -- what people ship: transformers and whole pipelines, with the real catalog


def _texts():
    return pd.DataFrame({"title": ["red fox", "blue sea", "red sea"] * 4, "body": ["aa bb", "cc dd", "aa dd"] * 4})


@pytest.mark.parametrize("name", ["ScaledViews", "TfidfViews", "UnitRows"])
def test_fitted_transformers_of_views_are_saved_too(name, tmp_path):
    X = np.random.default_rng(0).random((30, 6))
    model = resolve(name)().fit(X)
    save(model, tmp_path / "m.coview")
    assert load(tmp_path / "m.coview").transform(X) == model.transform(X)


def test_a_pipeline_from_text_to_classes_is_saved_whole(tmp_path):
    frame = _texts()
    y = ["a", "b", None] * 4
    text = {"title": "title", "body": "body"}
    pipe = make_pipeline(TextViews(text), MultiViewPLSAClassifier(3, random_state=0)).fit(frame, y)
    save(pipe, tmp_path / "p.coview")
    assert (load(tmp_path / "p.coview").predict(frame) == pipe.predict(frame)).all()
    columns = TableViews(columns={"title": ["title"]}).fit(frame)
    save(columns, tmp_path / "c.coview")
    assert load(tmp_path / "c.coview").transform(frame) == columns.transform(frame)
