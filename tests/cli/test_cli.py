"""The command line as people type it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from coview import LinkPLSA, inspect, save
from coview.datasets import make_topic_views


def coview(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coview", *words]
    wide = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=wide)


def test_the_demo_shows_that_two_views_say_more_than_one(tmp_path):
    run = coview("demo", "--json", "--out", str(tmp_path / "demo"))
    found = json.loads(run.stdout)
    said = [line for line in run.stderr.splitlines() if not line.startswith("coview: compiling kernels")]
    assert run.returncode == 0 and said == ["Reading the Python packages on this machine (parsed, never imported)"]
    *alone, together = found["clustering_nmi"].values()
    assert together > max(alone)
    words, code, side_by_side, *ours = found["few_labels_accuracy"].values()
    assert min(ours) > max(words, code, side_by_side)
    assert len(found["queries"]) == 5 and all(len(hits) == 3 for hits in found["queries"].values())
    assert "<html" in (tmp_path / "demo" / "report.html").read_text()


def test_info_as_json():
    assert "PLSA" in json.loads(coview("info", "--json").stdout)["models"]


def test_the_groups_of_a_model_are_shown_as_a_tree(tmp_path):
    X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    model = LinkPLSA(4, max_iter=20, random_state=0).fit(X)
    save(model, tmp_path / "topics.coview")
    assert coview("info", str(tmp_path / "topics.coview"), "--hierarchy").stdout.strip() == repr(
        inspect(model).hierarchy()
    )
