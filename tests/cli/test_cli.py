"""The command line as people type it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
from sklearn.utils import Bunch

from coview import LinkPLSA, inspect, save
from coview.datasets import load_python_packages, make_topic_views


def coview(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coview", *words]
    wide = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=wide)


def test_the_demo_shows_that_two_views_say_more_than_one(run, tmp_path, monkeypatch):
    whole = load_python_packages()
    rows = np.flatnonzero(whole.target < 8)  # a third of the packages: quick, and the same lesson
    parts = {"views": whole.views[rows], "target": whole.target[rows], "groups": whole.groups[rows]}
    small = {**whole, **parts, "target_names": whole.target_names[:8]}
    monkeypatch.setattr("coview.datasets.load_python_packages", lambda: Bunch(**small))
    code, out, _ = run("demo", "--json", "--out", tmp_path / "demo")
    found = json.loads(out)
    *alone, together = found["clustering_nmi"].values()
    assert code == 0 and together > max(alone)
    words, names, side_by_side, *ours = found["few_labels_accuracy"].values()
    assert min(ours) > max(words, names, side_by_side)
    assert len(found["queries"]) == 5 and all(len(hits) == 3 for hits in found["queries"].values())
    assert "<html" in (tmp_path / "demo" / "report.html").read_text()


def test_info_as_json():
    assert "PLSA" in json.loads(coview("info", "--json").stdout)["models"]


def test_the_groups_of_a_model_are_shown_as_a_tree(run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    model = LinkPLSA(4, max_iter=20, random_state=0).fit(X)
    save(model, tmp_path / "topics.coview")
    _, out, _ = run("info", tmp_path / "topics.coview", "--hierarchy")
    assert out.strip() == repr(inspect(model).hierarchy())
