"""The commands that the help shows are run as they stand, in a folder with the table of the checkout."""

import csv
import shlex
import shutil
from pathlib import Path

import pytest

from coview.cli import help as cli

TABLE = Path(__file__).resolve().parents[2] / "examples" / "tickets.csv"

pytestmark = pytest.mark.skipif(not TABLE.exists(), reason="needs a checkout: the table is not in the package")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copy(TABLE, tmp_path)
    (tmp_path / "new.csv").write_text(TABLE.read_text(encoding="utf-8").replace("\nT", "\nN"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_help_starts_with_commands_that_run(folder, run):
    shown = [shlex.split(line)[1:] for line in cli.START.splitlines() if line.startswith("  coview")]
    assert [words[0] for words in shown] == ["fit", "report", "explore", "fit", "predict", "label"]
    for words in shown:
        if words[0] != "explore":  # it would serve until Ctrl-C
            code, _, error = run(*words)
            assert code == 0, (words, error)
    with open(folder / "products.csv", newline="") as stream:
        assert {row["label"] for row in csv.DictReader(stream)} == {"app", "camera", "speaker"}


def test_the_examples_of_the_help_follow_on_each_other(folder, run):
    shown = {name: shlex.split(example)[1:] for name, (_, example) in cli.COMMANDS.items()}
    for name in ("fit", "info", "predict", "report", "edit", "update", "stream"):
        code, _, error = run(*shown[name])
        assert code == 0, (name, error)
