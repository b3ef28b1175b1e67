"""Raw tables in files, by polars and by pandas; what is broken is told in one sentence."""

import sys
from datetime import date

import narwhals as nw
import pytest

from coview import TableViews
from coview.exceptions import DataFileError
from coview.io.tables import read_header, read_table


@pytest.fixture(params=["polars", "pandas"])
def library(request, monkeypatch):
    if request.param == "pandas":
        monkeypatch.setitem(sys.modules, "polars", None)
    return request.param


def columns(table):
    frame = nw.from_native(table)
    return {name: [None if cell != cell else cell for cell in frame[name].to_list()] for name in frame.columns}


@pytest.mark.parametrize("sign", [",", "|"])
def test_the_header_tells_the_separator_and_empty_cells_are_missing(tmp_path, library, sign):
    rows = [["key ", '"a,b;c|d"', "year", "share"], ["p1", f'"x{sign}y"', "1999", ""], ["p2", "NA", "2007", "0.5"]]
    (tmp_path / "t.csv").write_text("\n".join(sign.join(row) for row in rows) + "\n\n")
    expected = {"key": ["p1", "p2"], "a,b;c|d": [f"x{sign}y", None], "year": [1999, 2007], "share": [None, 0.5]}
    assert columns(read_table(tmp_path / "t.csv")) == expected
    assert read_header(tmp_path / "t.csv") == list(expected)
    assert columns(read_table(tmp_path / "t.csv", sign)) == expected


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_rows_of_empty_cells_are_rows_and_blank_lines_are_none(tmp_path, library, end):
    lines = ["n,text", "", '1,"a', "", 'b"', ",", "NA,", "", "2,c", "", ""]
    (tmp_path / "t.csv").write_bytes(end.join(lines).encode())
    assert columns(read_table(tmp_path / "t.csv"))["n"] == [1, None, None, 2]
    (tmp_path / "one.csv").write_bytes(end.join(["n", "1", '""', "", "NA", "2", "", ""]).encode())
    assert columns(read_table(tmp_path / "one.csv"))["n"] == [1, None, None, 2]


def test_a_late_text_makes_texts_of_a_column(tmp_path):
    (tmp_path / "t.csv").write_text("n\n" + "1\n" * 3000 + "x\n")
    assert columns(read_table(tmp_path / "t.csv"))["n"][-2:] == ["1", "x"]


@pytest.mark.parametrize("written", ["2024-01-05", "05.01.2024"])
def test_dates_are_dates(tmp_path, written):
    (tmp_path / "t.csv").write_text(f"day,n\n{written},1\n,2\n")
    table = read_table(tmp_path / "t.csv")
    assert columns(table)["day"] == [date(2024, 1, 5), None]
    assert TableViews(columns="day").fit_transform(table)["day"][0, 0] == pytest.approx(2024 + 4 / 366)


def test_formulas_come_back_as_they_were(tmp_path, library):
    (tmp_path / "t.csv").write_text("a,b\n'=1+2,'tis\n''@sum,\n")
    assert columns(read_table(tmp_path / "t.csv")) == {"a": ["=1+2", "'@sum"], "b": ["'tis", None]}


def test_json(tmp_path, library):
    (tmp_path / "t.json").write_text('[{"a": 1, "t": ["x", "y"]}, {"a": 2, "t": null}]')
    (tmp_path / "t.jsonl").write_text('{"a": 1, "t": ["x", "y"]}\n{"a": 2}\n')
    for name in ("t.json", "t.jsonl"):
        X = TableViews(tokens="t", columns="a").fit_transform(read_table(tmp_path / name))
        assert X["t"].toarray().tolist() == [[1, 1], [0, 0]] and X["a"].tolist() == [[1], [2]]
    moved = '\ufeff{"a": {"0": 1, "2": 2}, "t": {"2": null, "0": "x"}}'
    for text in ('{"a": {"0": 1, "1": 2}, "t": {"0": "x", "1": null}}', '{"a": [1, 2], "t": ["x", null]}', moved):
        (tmp_path / "t.json").write_text(text, encoding="utf-8")
        assert columns(read_table(tmp_path / "t.json")) == {"a": [1, 2], "t": ["x", None]}


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("t.csv", b"x,y\n1,2\n1,2,3\n", r"as .csv \(line 3 has 3 cells, the header 2\)\. Save it as UTF-8, with"),
        ("t.csv", b"", "t.csv cannot be read as .csv"),
        ("t.csv", b"x\n", "t.csv has no rows"),
        ("t.json", b'[{"a": 1}', "t.json cannot be read as .json"),
        ("t.json", b"{}", "t.json has no rows"),
        ("t.json", b'{"a": {"0": 1}, "b": {"1": 2}}', "t.json has other rows in 'b' than in 'a'"),
        ("t.json", b'{"columns": ["a"], "index": [0], "data": [[1]]}', "t.json has other rows in 'data' than in"),
        ("t.jsonl", b'{"a": 1}\n{a}\n', "t.jsonl cannot be read as .jsonl"),
        ("t.parquet", b"PAR1 rubbish PAR1", "t.parquet cannot be read as .parquet"),
        ("t.xlsx", b"", "tables are read from '.csv'"),
    ],
)
def test_a_broken_table_is_told_in_a_sentence(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataFileError, match=sentence):
        read_table(tmp_path / name)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [("a,b\n1,2,3\n2,3\n", "t.csv cannot be read as .csv"), ("a,a ,b\n1,2,3\n", "two columns 'a'")],
)
def test_cells_without_a_name_and_names_given_twice_are_refused(tmp_path, library, content, sentence):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(DataFileError, match=sentence):
        read_table(tmp_path / "t.csv")


def test_without_a_library_one_sentence_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a\n1\n")
    for name in ("polars", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        DataFileError, match=r'needs polars, or pandas with pyarrow, to be read. Run: pip install "coview\[table\]".'
    ):
        read_table(tmp_path / "t.csv")
