"""`coview stream` as people type it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from coview import load
from coview.cli import main as cli


def coview(*words: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coview", "stream", *words]
    wide = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, env=wide)


@pytest.fixture(scope="module")
def mail() -> str:
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(150):
        spam = bool(rng.integers(2))
        words = " ".join(rng.choice(["win", "now", "cash"] if spam else ["see", "you", "soon"], 4))
        lines.append(json.dumps({"kind": "spam" if spam else "ham", "text": words, "links": {f"s{int(spam)}": 1}}))
    return "\n".join(lines) + "\n"


def test_a_file_is_streamed_into_a_table_and_a_model(tmp_path, mail, run):
    (tmp_path / "mail.jsonl").write_text(mail)
    names = tmp_path / "model.coview", tmp_path / "said.txt"
    code, out, err = run(
        *("stream", str(tmp_path / "mail.jsonl"), "--labels", "kind", "--every", "50"),
        *("--save", str(names[0]), "--predictions", str(names[1])),
    )
    assert code == 0, err
    assert "150 rows" in out and "view difference" in out and "ham, spam" in out
    said = names[1].read_text().split()
    assert len(said) == 150 and said[-20:] == [json.loads(line)["kind"] for line in mail.splitlines()[-20:]]
    assert load(names[0]).t_ == 150


def test_predictions_of_a_stream_that_breaks_off_are_not_left_half_written(tmp_path, mail, run):
    (tmp_path / "mail.jsonl").write_text(mail + "{broken\n")
    (tmp_path / "said.txt").write_text("of before\n")
    words = (tmp_path / "mail.jsonl", "--labels", "kind", "--predictions", tmp_path / "said.txt")
    assert run("stream", *words)[0] != 0
    assert {file.name for file in tmp_path.iterdir()} == {"mail.jsonl", "said.txt"}
    assert (tmp_path / "said.txt").read_text() == "of before\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.jsonl",), "none.jsonl does not exist"),
        (("-",), "pass --format"),
        (("-", "--format", "xml"), "no known format"),
        (("-", "--format", "svmlight", "--views", "a=3,b"), "'b' has 'none'"),
        (("-", "--format", "svmlight", "--views", "a=3,b=x"), "'b' has 'x'"),
        (("-", "--format", "svmlight", "--views", "a,b"), "how many belong to each of the views a, b"),
        (("-", "--format", "jsonl", "--set", "update=fast"), "must be a str among"),
        (("-", "--format", "jsonl", "--labels", "kind"), "no 'kind' in its first 1 row; there are 'label', 'v'"),
    ],
)
def test_bad_input_ends_with_code_2_and_a_sentence(words, message, monkeypatch, capsys):
    text = io.TextIOWrapper(io.BytesIO(b'{"label": 1, "v": {"a": 1}}\n'), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", text)
    monkeypatch.setattr(sys, "argv", ["coview", "stream", *words])
    with pytest.raises(SystemExit) as end:
        cli.main()
    error = capsys.readouterr().err
    assert end.value.code == 2
    assert message in error and "Traceback" not in error


def test_a_table_is_streamed_like_the_others_take_it(tmp_path, mail, monkeypatch, capsys):
    rows = ["key;body;sites;kind"]
    for i, line in enumerate(mail.splitlines()):
        row = json.loads(line)
        rows.append(f"m{i};{row['text']};{','.join(row['links'])},all;{row['kind'] if i % 10 else ''}")
    (tmp_path / "mail.csv").write_text("\n".join(rows) + "\n")

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["coview", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code or 0, *capsys.readouterr()

    table = [tmp_path / "mail.csv", "--labels", "kind", "--every", "50", "--json"]
    views = ["--id", "key", "--text", "words=body", "--tokens", "sites=sites"]
    code, out, err = call("stream", *table, *views, "--save", tmp_path / "m.coview")
    assert code == 0, err
    first = [json.loads(line) for line in out.splitlines()]
    assert [line["rounds"] for line in first] == [50, 100, 135]  # 15 have no label
    assert first[-1]["accuracy"] > 0.8
    code, out, err = call("stream", *table, "--model", tmp_path / "m.coview")
    assert code == 0 and json.loads(out.splitlines()[0])["accuracy"] > first[0]["accuracy"], err
    code, out, _ = call("predict", tmp_path / "m.coview", tmp_path / "mail.csv", "--json")
    said = json.loads(out)
    assert code == 0 and said["id"][:2] == ["m0", "m1"] and set(said["label"]) == {"ham", "spam"}
    (tmp_path / "m.jsonl").write_text(mail)
    for words, sentence in (
        ([tmp_path / "mail.csv", *views], "A table needs labels"),
        ([tmp_path / "m.jsonl", *views], "describe a .csv, .tsv or .parquet table"),
    ):
        code, _, err = call("stream", *words)
        assert code == 2 and sentence in " ".join(err.split())
