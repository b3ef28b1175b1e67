"""The command line as people type it."""

from __future__ import annotations

import json
import os
import subprocess
import sys


def coview(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coview", *words]
    wide = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=wide)


def test_demo_prints_topics_that_know_both_views():
    run = coview("demo", "--topics", "12")
    assert run.returncode == 0
    assert "12 topics" in run.stdout and "words of the docstring" in run.stdout


def test_demo_as_json():
    run = coview("demo", "--topics", "12", "--json")
    found = json.loads(run.stdout)
    assert run.returncode == 0 and run.stderr == ""
    assert len(found["topics"]) == 12
    assert sum(topic["objects"] for topic in found["topics"]) == found["objects"] > 1000
    assert found["log_likelihood"][1] > found["log_likelihood"][0]


def test_info_and_datasets_as_json():
    assert "PLSA" in json.loads(coview("info", "--json").stdout)["models"]
    assert "load_python_packages" in json.loads(coview("datasets", "--json").stdout)


def test_bad_input_ends_with_code_2_and_help_shows_an_example():
    assert coview("demo", "--topics", "0").returncode == 2
    assert coview("nonsense").returncode == 2
    assert "coview demo --topics 12" in coview("demo", "--help").stdout
