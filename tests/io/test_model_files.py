"""Model files with the real catalog: mapped into memory, looked into, shipped as pipelines, and readable for ever."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from coview import MultiViewPLSA, MultiViewPLSAClassifier, TableViews, TextViews
from coview.catalog import resolve
from coview.datasets import make_topic_views
from coview.exceptions import ModelFileError
from coview.io.models import _FORMAT, load, outline, save


def test_a_mapped_model_gives_the_same_answers_and_never_changes_its_file(tmp_path):
    X = make_topic_views(40, n_clusters=3, random_state=0).views
    model = MultiViewPLSA(3, 4, max_iter=5, random_state=0).fit(X)
    save(model, tmp_path / "m.coview")
    before = (tmp_path / "m.coview").read_bytes()
    mapped = load(tmp_path / "m.coview", mmap=True)
    assert np.array_equal(mapped.transform(X), model.transform(X))
    mapped.memberships_[:] = 0
    assert (tmp_path / "m.coview").read_bytes() == before
    base = mapped.memberships_
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)


def test_mapped_files_are_checked_too(tmp_path):
    save(MultinomialNB().fit(np.eye(3), [0, 1, 0]), tmp_path / "m.coview")
    whole = bytearray((tmp_path / "m.coview").read_bytes())
    whole[-5] ^= 1
    (tmp_path / "m.coview").write_bytes(bytes(whole))
    with pytest.raises(ModelFileError, match="altered"):
        load(tmp_path / "m.coview", mmap=True)


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


@pytest.mark.parametrize("name", ["Codebook", "ScaledViews", "TfidfViews", "UnitRows"])
def test_fitted_transformers_of_views_are_saved_too(name, tmp_path):
    X = np.random.default_rng(0).random((30, 6))
    settings = {"Codebook": {"n_words": 8, "random_state": 0}}.get(name, {})
    model = resolve(name)(**settings).fit(X)
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


# -- the format: a file that was written once stays readable. `python tests/io/test_model_files.py` writes it anew

KEPT = Path(__file__).parents[1] / "files" / f"model_format_{_FORMAT}.coview"


def write_kept_file() -> None:
    """Write the kept file, and what the model in it says: only where names change before they are released."""
    table = {"body": ["red fox den", "blue sea salt", "red fox jump", "blue sea wave"] * 4}
    table["title"] = ["fox", "sea", "den", "salt"] * 4
    front = TableViews({"words": "body", "title": "title"})
    model = make_pipeline(front, MultiViewPLSA(2, 3, max_iter=20, random_state=0)).fit(table)
    save(model, KEPT)
    KEPT.with_suffix(".json").write_text(json.dumps({**table, "labels": model.predict(table).tolist()}))


def test_the_kept_file_of_the_format_is_read():
    expected = json.loads(KEPT.with_suffix(".json").read_text())
    table = {name: expected[name] for name in ("body", "title")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        assert load(KEPT).predict(table).tolist() == expected["labels"]


if __name__ == "__main__":
    write_kept_file()
