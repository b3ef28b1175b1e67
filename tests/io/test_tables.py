"""Raw tables in files: what is broken is told in one sentence, and a wide table costs no more than its cells."""

from __future__ import annotations

import pytest

from coview.exceptions import DataFileError
from coview.io.tables import _raw_columns, read_table


class Counted(str):
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)


def test_a_header_is_compared_with_itself_by_hash(tmp_path):
    header = [Counted(i) for i in range(2000)]
    table = _raw_columns(tmp_path / "t.csv", iter([(1, header), (2, ["1"] * 2000)]))
    assert len(table) == 2000
    assert Counted.compared < 10 * 2000


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("t.csv", b"a,b,a\n1,2,3\n", "t.csv has the column 'a' more than once"),
        ("t.json", b'[{"a": 1}', r"t.json is not JSON \(Expecting"),
        ("t.json", b"[" * 100_000, r"t.json is not JSON \(its lists and objects are nested too deeply\)"),
        ("t.json", b'[{"a": ' + b"1" * 5000 + b"}]", r"t.json is not JSON \(it has a number of thousands of digits\)"),
        ("t.json", b'[{"a": 1, "a": 2}]', r"t.json is not JSON \(the key 'a' occurs twice"),
        ("t.jsonl", b'{"a": ' + b"1" * 5000 + b"}", "t.jsonl has no JSON object in line 1"),
        ("t.jsonl", b'{"a": \xff}', "t.jsonl is not text in UTF-8"),
        ("t.parquet", b"PAR1 rubbish PAR1", "t.parquet cannot be read as .parquet"),
        ("t.parquet", b"", "t.parquet cannot be read as .parquet"),
    ],
)
def test_a_broken_table_is_told_in_a_sentence(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataFileError, match=sentence):
        read_table(tmp_path / name)


def test_a_number_with_an_underscore_is_text(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1_000\n2\n")
    assert read_table(tmp_path / "t.csv") == {"a": ["1_000", "2"]}
