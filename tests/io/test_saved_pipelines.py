"""What people ship: transformers and whole pipelines, saved and loaded with the real catalog."""

from __future__ import annotations

import numpy as np
import pytest

from coview import load, save


def _texts():
    import pandas as pd

    return pd.DataFrame({"title": ["red fox", "blue sea", "red sea"] * 4, "body": ["aa bb", "cc dd", "aa dd"] * 4})


@pytest.mark.parametrize("name", ["Codebook", "LogCounts", "MinDocumentFrequency", "TfidfViews", "UnitRows"])
def test_fitted_transformers_of_views_are_saved_too(name, tmp_path):
    from coview.catalog import resolve

    X = np.random.default_rng(0).random((30, 6))
    settings = {"Codebook": {"n_words": 8, "random_state": 0}}.get(name, {})
    model = resolve(name)(**settings).fit(X)
    save(model, tmp_path / "m.coview")
    assert load(tmp_path / "m.coview").transform(X) == model.transform(X)


def test_a_pipeline_from_text_to_classes_is_saved_whole(tmp_path):
    from sklearn.pipeline import make_pipeline

    from coview import ColumnViews, MultiViewPLSAClassifier, TextViews

    frame = _texts()
    y = ["a", "b", None] * 4
    text = {"title": "title", "body": "body"}
    pipe = make_pipeline(TextViews(text), MultiViewPLSAClassifier(3, random_state=0)).fit(frame, y)
    save(pipe, tmp_path / "p.coview")
    assert (load(tmp_path / "p.coview").predict(frame) == pipe.predict(frame)).all()
    columns = ColumnViews().fit(frame)
    save(columns, tmp_path / "c.coview")
    assert load(tmp_path / "c.coview").transform(frame) == columns.transform(frame)
