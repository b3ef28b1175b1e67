"""The commands that the docs show are run as they stand, in a folder that has the files they name."""

from __future__ import annotations

import csv
import re
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse

from coview.cli import main as cli

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "command_line.md"
WORDS = {
    "animal": ["fox", "den", "paw", "fur"],
    "water": ["sea", "salt", "wave", "tide"],
    "sky": ["sun", "star", "cloud", "moon"],
}

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="needs a checkout: the docs are not in the package")


def commands() -> list[list[str]]:
    blocks = re.findall(r"^```shell\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [shlex.split(line) for block in blocks for line in block.splitlines() if line.strip()]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files of the names that the page uses."""
    rng = np.random.default_rng(0)
    with open(tmp_path / "pages.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["key", "body", "title", "source", "tags", "kind"])
        for i in range(60):
            kind = list(WORDS)[i % 3]
            body, title, source = (" ".join(rng.choice(WORDS[kind], n)) for n in (12, 3, 8))
            writer.writerow([f"p{i}", f"{body} read matrix", title, source, f"{kind};new", kind if i < 12 else ""])
    shutil.copy(tmp_path / "pages.csv", tmp_path / "new.csv")
    for name in ("meaning", "new"):
        np.save(tmp_path / f"{name}.npy", rng.normal(np.arange(60)[:, None] % 3 == np.arange(3), 0.2))
    for name in ("words", "new_words"):
        sparse.save_npz(tmp_path / f"{name}.npz", sparse.csr_array(rng.poisson(0.5, (60, 30))))
    io.mmwrite(tmp_path / "links.mtx", sparse.coo_array(rng.poisson(0.2, (60, 60))))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_commands_of_the_page_run(folder, monkeypatch, capsys):
    shown = commands()
    assert len(shown) >= 8
    for words in shown:
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert not end.value.code, (words, capsys.readouterr().err)
    for name in ("pages.coview", "clusters.csv", "report.html", "topics.parquet", "kinds.coview"):
        assert (folder / name).stat().st_size > 0


def test_the_examples_of_the_help_follow_on_each_other(folder, monkeypatch, capsys):
    (folder / "folder").mkdir()
    for name in ("words.npz", "links.mtx"):
        shutil.copy(folder / name, folder / "folder" / name)
    (folder / "y.csv").write_text("label\n" + "".join(f"{i % 3}\n" for i in range(60)))
    (folder / "mail.jsonl").write_text('{"words": "fox den", "kind": "a"}\n{"words": "sea", "kind": "b"}\n' * 20)
    shown = {command.__name__: shlex.split(example) for command, example in cli.EXAMPLES.items()}
    for name in ("fit", "predict", "report", "info", "stream"):
        monkeypatch.setattr(sys, "argv", shown[name])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert not end.value.code, (name, capsys.readouterr().err)


def test_the_help_starts_with_commands_that_run(folder, monkeypatch, capsys):
    lines = cli.START.replace("\\\n", " ").splitlines()
    shown = [shlex.split(line) for line in lines if line.startswith("  coview")]
    assert [words[1] for words in shown] == ["fit", "report", "explore", "fit", "predict", "label"]
    for words in shown:
        if words[1] == "explore":  # it would serve until Ctrl-C
            continue
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert not end.value.code, (words, capsys.readouterr().err)
    with open(folder / "kinds.csv", newline="") as stream:
        kinds = [row["label"] for row in csv.DictReader(stream)]
    assert kinds == [list(WORDS)[i % 3] for i in range(60)]
