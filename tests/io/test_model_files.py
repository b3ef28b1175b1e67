"""Model files as a whole: mapped into memory, looked into, and readable for ever."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from coview import MultiViewPLSA, TextViews, load, save
from coview.datasets import make_topic_views
from coview.exceptions import ModelFileError
from coview.io.models import _FORMAT, outline


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


KEPT = sorted((Path(__file__).parent / "files").glob("model_format_*.coview"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_files_of_every_format_stay_readable(path):
    said = json.loads(path.with_suffix(".json").read_text())
    model = load(path)
    table = {name: said[name] for name in ("body", "title")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.predict(table).tolist() == said["labels"]


def test_a_file_of_each_format_is_kept():
    assert [path.stem for path in KEPT] == [f"model_format_{version}" for version in range(1, _FORMAT + 1)]
