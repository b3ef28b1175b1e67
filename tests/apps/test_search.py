"""`coview search` as people type it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from coview import CrossModalRetriever, LinkPLSA, make_topic_views, save
from coview.apps.search import run_search


def coview(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coview", "search", *words]
    wide = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=wide)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    data = make_topic_views(60, {"words": 30, "image": 20}, n_clusters=3, random_state=0)
    names = {"words": [f"word{chr(97 + j % 26)}{chr(97 + j // 26)}" for j in range(30)]}
    views = type(data.views)(dict(data.views.items()), feature_names=names)
    path = tmp_path_factory.mktemp("search") / "r.coview"
    save(CrossModalRetriever(LinkPLSA(3, random_state=0)).fit(views), path)
    return path


def test_words_find_code_of_the_installed_packages():
    run = coview("largest eigenvalues of a sparse matrix", "-k", "5", "--why")
    assert run.returncode == 0, run.stderr
    assert "scipy.sparse" in run.stdout and "word sparse" in run.stdout


def test_a_saved_retriever_is_searched_as_json(saved):
    run = coview("wordaa wordba", "--model", str(saved), "--source", "words", "-k", "4", "--json")
    found = json.loads(run.stdout)
    assert run.returncode == 0 and run.stderr == ""
    assert found["indexed"] == 60 and len(found["hits"]) == 4
    scores = [hit["score"] for hit in found["hits"]]
    assert scores == sorted(scores, reverse=True)


def test_what_cannot_be_searched_is_refused(saved, tmp_path):
    run = coview("zebra", "--model", str(saved), "--source", "words")
    assert run.returncode == 2 and "Nothing in the query 'zebra'" in run.stderr
    with pytest.raises(ValueError, match="--source one of words, image"):
        run_search("wordaa", saved)
    save(LinkPLSA(3), tmp_path / "m.coview")
    with pytest.raises(ValueError, match="holds a LinkPLSA"):
        run_search("wordaa", tmp_path / "m.coview")


def test_help_shows_an_example():
    assert "coview search" in coview("--help").stdout
