"""Labels and outputs of the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from coview import Views
from coview.cli.labels import read_target
from coview.cli.writing import write_table
from coview.io.tables import read_table
from coview.validation import encode_labels

X = Views(words=np.eye(3), ids=["a", "b", "c"])


@pytest.mark.parametrize(
    ("name", "text", "labels"),
    [
        ("y.csv", "label\n3\n1\n2\n", [3, 1, 2]),
        ("y.csv", "3\n1\n2\n", [3, 1, 2]),
        ("y.txt", "cat\ndog\ncat\n", ["cat", "dog", "cat"]),
        ("y.csv", "cat\n\ndog\n", ["cat", None, "dog"]),
        ("y.csv", "id,label\nc,1\na,2\n", [2, None, 1]),
        ("y.csv", "page,c\nc,x\na,y\n", ["y", None, "x"]),
        ("y.tsv", "id\tlabel\nc\tx\na\ty\nb\tz\n", ["y", "z", "x"]),
        ("y.jsonl", '{"label": 1}\n{"label": null}\n{"label": 2}\n', [1, None, 2]),
    ],
)
def test_labels_come_from_one_column_or_by_id(tmp_path, name, text, labels):
    (tmp_path / name).write_text(text)
    found = read_target(str(tmp_path / name), X)
    assert found.tolist() == labels
    assert list(map(type, found.tolist())) == list(map(type, labels))


@pytest.mark.parametrize(
    ("labels", "semi_supervised", "codes"),
    [
        (["cat", "", "dog"], True, [0, -1, 1]),
        (["cat", "", "dog"], False, [0, -1, 1]),
        (["cat", -1, "dog"], True, [0, -1, 1]),
        ([3, -1, 1], True, [1, -1, 0]),
        ([3, -1, 1], False, [2, 0, 1]),
    ],
)
def test_the_command_line_and_python_agree_on_what_is_no_label(tmp_path, labels, semi_supervised, codes):
    (tmp_path / "y.csv").write_text("\n".join(map(str, labels)))
    rows = "".join(f"{key},{label}\n" for key, label in zip("abc", labels))
    (tmp_path / "by_id.csv").write_text(f"id,label\n{rows}")
    for y in (labels, read_target(str(tmp_path / "y.csv"), X), read_target(str(tmp_path / "by_id.csv"), X)):
        assert encode_labels(y, semi_supervised=semi_supervised)[0].tolist() == codes


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1\n2\n", "2 labels"),
        ("id,label\nx,1\ny,2\n", "none of the objects"),
        ("d,e,f\n1,2,3\n", "3 columns"),
        ("a,x\nb,y\n", "no header"),
    ],
)
def test_labels_that_do_not_fit_are_refused(tmp_path, text, sentence):
    (tmp_path / "y.csv").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        read_target(str(tmp_path / "y.csv"), X)


@pytest.mark.parametrize("kind", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_tables_are_read_as_they_were_written(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    write_table({"id": ["a", "b"], "label": np.array([0, 1]), "p": [0.25, 0.75]}, path)
    table = read_table(path)
    assert [list(table[name]) for name in ("id", "label", "p")] == [["a", "b"], [0, 1], [0.25, 0.75]]


@pytest.mark.parametrize(
    ("heading", "keys", "ids"),
    [
        ("row", [2, 0], None),
        ("row", [2, 0], ["2", "1", "0"]),
        ("number", [2, 0], None),
        ("number", [2, 0], ["0", "1", "2"]),
        ("id", ["c", "a"], ["a", "b", "c"]),
    ],
)
def test_labels_by_row_are_told_from_labels_by_id(tmp_path, heading, keys, ids):
    path = tmp_path / "y.csv"
    path.write_text(f"{heading},label\n{keys[0]},last\n{keys[1]},first\n")
    found = read_target(str(path), Views(words=np.eye(3), ids=ids))
    assert found.tolist() == ["first", None, "last"]


def test_a_column_of_lists_holds_no_labels(run, tmp_path):
    rows = [{"body": f"text number {i % 3} of the fox", "tags": ["a", "b"]} for i in range(30)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    code, _, err = run("fit", "auto", tmp_path / "t.jsonl", "--labels", "tags", "-o", tmp_path / "m.coview")
    assert code == 2 and "A label is a text or a number" in err and not (tmp_path / "m.coview").exists()
