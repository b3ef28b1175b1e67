"""Tables in files, read by polars, or by pandas where polars is not installed."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import warnings
from codecs import BOM_UTF8
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from coview.exceptions import DataFileError
from coview.io.delimited import find_delimiter, unescape_cell
from coview.utils.messages import file_errors, listed

__all__ = ["DELIMITERS", "MISSING_CELLS", "TABLES", "has_table_extension", "read_frame", "read_header", "read_table"]

DELIMITERS = {".csv": None, ".tsv": "\t"}  # None: the header tells
_PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
TABLES = (*DELIMITERS, ".jsonl", ".json", ".parquet")
# cells that hold no value, as pandas reads them by default
MISSING_CELLS = (
    *("", "NaN", "nan", "-NaN", "-nan", "N/A", "n/a", "NA", "null", "NULL", "None", "<NA>", "#N/A", "#NA", "#N/A N/A"),
)


def read_table(path: str | Path, sep: str | None = None) -> Any:
    """Read a table from a file.

    Dates (2026-11-15) become dates, and cells such as NA and null are missing, as empty ones are. Blank lines are left
    out, rows of empty cells are not. A column of vectors (lists of numbers in Parquet and JSON) stays one, which
    `TableViews` makes a dense view of. The ' that `coview predict` and others put before formulas is taken away again.

    Parameters
    ----------
    path : str or Path
        A .csv, .tsv, .jsonl, .json or .parquet file, or one of them packed as .gz, .xz or .bz2.
    sep : str or None, default=None
        The sign between the cells of a .csv or .tsv file. By default the header of a .csv file tells: a comma,
        semicolon, tab or vertical bar.

    Returns
    -------
    data frame
        Of polars, or of pandas where polars is not installed.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "pages.csv"
    >>> _ = file.write_text('title,year\\n"Red, blue",1999\\nSea,\\n')
    >>> table = read_table(file)
    >>> list(table.columns), list(table["title"])
    (['title', 'year'], ['Red, blue', 'Sea'])
    """
    import narwhals as nw

    path, frame = Path(path), nw.from_native(read_frame(path, sep))
    if _extension(path) in DELIMITERS:
        for name, dtype in frame.schema.items():
            if dtype == nw.String and frame[name].str.starts_with("'").any():
                cells = [unescape_cell(cell) if isinstance(cell, str) else None for cell in frame[name].to_list()]
                frame = frame.with_columns(nw.new_series(name, cells, nw.String, backend=frame.implementation))
        empty = frame.select(row=nw.all_horizontal(nw.all().is_null(), ignore_nulls=False))["row"].to_list()
        if any(empty):  # rows of empty cells, or blank lines
            blank = _find_blank_lines(path)
            frame = frame.filter([not each for each in (blank if len(blank) == len(empty) else empty)])
    if not len(frame):
        raise DataFileError(f"{path} has no rows. Pass a table with one row per object.")
    return frame.to_native()


def read_header(path: str | Path, sep: str | None = None) -> list[str] | None:
    """Return the names of a table's columns without reading its rows; None of JSON and Parquet.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "pages.csv"
    >>> _ = file.write_text("title,year\\nSea,1999\\n")
    >>> read_header(file)
    ['title', 'year']
    """
    kind = _check_file(Path(path), sep)
    if kind not in DELIMITERS:
        return None
    with _open_text(Path(path)) as stream:
        names = next(csv.reader(stream, delimiter=_detect_separator(Path(path), kind, sep)), [])
    return [unescape_cell(name.strip()) for name in names]


def read_frame(path: str | Path, sep: str | None = None) -> Any:
    """Return a table as its library reads it."""
    path = Path(path)
    kind = _check_file(path, sep)
    problem = f"{path} cannot be read as {kind}"
    advice = "Save it as UTF-8, with as many cells in each row as in the header." if kind in DELIMITERS else ""
    try:
        with file_errors(problem, advice or "Write it again."):
            frame = _read_by_any(path, kind, sep)
    except DataFileError as error:
        # the libraries name an option of theirs, and no row
        if kind in DELIMITERS and (row := _find_long_row(path, kind, sep)):
            raise DataFileError(f"{problem} ({row}). {advice} A cell with the sign in it needs quotes.") from error
        raise
    names = [unescape_cell(str(name).strip()) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:  # pandas would have two columns of one name
        raise DataFileError(f"{path} has two columns {twice!r}. Rename one of them.")
    frame.columns = names
    return frame


def _read_by_any(path: Path, kind: str, sep: str | None) -> Any:
    """Read a table by polars, or by pandas where there is no polars."""
    try:
        return _read_by_polars(path, kind, sep)
    except ImportError:
        try:
            return _read_by_pandas(path, kind, sep)
        except ImportError:
            problem = f"{path} needs polars, or pandas with pyarrow, to be read"
            raise DataFileError(f'{problem}. Run: pip install "coview[table]".') from None


def _find_long_row(path: Path, kind: str, sep: str | None) -> str | None:
    """Say which row of a text table has more cells than the header; None where none has."""
    with suppress(csv.Error), _open_text(path) as stream:
        rows = csv.reader(stream, delimiter=_detect_separator(path, kind, sep))
        width = len(next(rows, []))
        for cells in rows:
            if len(cells) > width:
                return f"line {rows.line_num} has {len(cells)} cells, the header {width}"
    return None


def _find_blank_lines(path: Path) -> list[bool]:
    """Tell of each row below the header whether it is a blank line; lines in quotes are parts of a row."""
    rows: list[bool] = []
    quoted = 0
    with _PACKED.get(path.suffix.lower(), open)(path, "rb") as stream:
        for line in stream:
            if not quoted:
                rows.append(not line.strip(b"\r\n"))
            quoted = (quoted + line.count(b'"')) % 2
    return rows[1:]


def has_table_extension(path: Path) -> bool:
    """Tell by its name whether a file is a table.

    Examples
    --------
    >>> has_table_extension(Path("a.csv.gz")), has_table_extension(Path("a.npz")), has_table_extension(Path("a.gz"))
    (True, False, False)
    """
    return _extension(path) in TABLES


def _extension(path: Path) -> str:
    """The extension that says what a file holds: that before .gz and the like."""
    return (path.with_suffix("") if path.suffix.lower() in _PACKED else path).suffix.lower()


def _open_text(path: Path) -> Any:
    """Open a table as text, for its header."""
    unpack = _PACKED.get(path.suffix.lower(), open)
    return unpack(path, "rt", encoding="utf-8-sig", errors="replace", newline="")


def _source(path: Path) -> Any:
    """What the libraries are to read: the path, or what a packed file holds."""
    unpack = _PACKED.get(path.suffix.lower())
    if unpack is None:
        return path
    with unpack(path) as stream:
        return stream.read()


def _read_rows(path: Path) -> Any:
    """What the libraries are to read of JSON: the path, or rows where it holds columns, {"title": {"0": "Sea"}}."""
    source = _source(path)
    text = (source if isinstance(source, bytes) else path.read_bytes()).removeprefix(BOM_UTF8)
    if not text.lstrip().startswith(b"{"):
        return text
    columns = {
        name: dict(enumerate(cells)) if isinstance(cells, list) else cells for name, cells in json.loads(text).items()
    }
    if not all(isinstance(cells, dict) for cells in columns.values()):
        return text  # one row
    rows = next(iter(columns.values()), {}).keys()
    other = next((name for name, cells in columns.items() if cells.keys() != rows), None)
    if other is not None or columns.keys() == {"columns", "index", "data"}:
        problem = f"{path} has other rows in {other or 'data'!r} than in {next(iter(columns))!r}"
        raise DataFileError(f'{problem}. Write one object per row, as pandas does with orient="records".')
    return json.dumps([{name: cells[row] for name, cells in columns.items()} for row in rows]).encode()


def _check_file(path: Path, sep: str | None) -> str:
    """Return the extension of a table; refuse what cannot be read."""
    kind = _extension(path)
    if not path.is_file():
        raise DataFileError(f"There is no file {path}. Pass the path of a table.")
    if kind not in TABLES:
        raise DataFileError(f"{path} has the extension {kind!r}; tables are read from {listed(TABLES)}.")
    if sep is not None and (kind not in DELIMITERS or len(sep) != 1):
        raise DataFileError(f"sep is the one character between the cells of {listed(DELIMITERS)} files, got {sep!r}.")
    return kind


def _detect_separator(path: Path, kind: str, sep: str | None) -> str:
    with _open_text(path) as stream:
        return sep or DELIMITERS[kind] or find_delimiter(stream.readline())


def _read_by_polars(path: Path, kind: str, sep: str | None) -> Any:
    import polars

    if kind == ".parquet":
        return polars.read_parquet(_source(path), glob=False)  # a name with [ ] or * is a name
    if kind == ".json":
        return polars.read_json(_read_rows(path), infer_schema_length=None)
    if kind == ".jsonl":
        # a path would be looked at for signs such as *
        packed = path.suffix.lower() in _PACKED
        return polars.read_ndjson(_source(path) if packed else path.read_bytes(), infer_schema_length=None)
    sign = _detect_separator(path, kind, sep)
    read = partial(polars.read_csv, _source(path), separator=sign, null_values=list(MISSING_CELLS), glob=False)
    frame = read(infer_schema_length=None)  # a column is one of numbers only if all of its cells are
    # looking for dates in all rows takes ten times as long
    head = read(n_rows=100, try_parse_dates=True, ignore_errors=True)
    dtype: Any
    for name, dtype in head.schema.items():
        if dtype.is_temporal() and frame[name].dtype == polars.String:
            with suppress(polars.exceptions.PolarsError):  # a column of texts, in which some are dates
                frame = frame.with_columns(polars.col(name).str.strptime(dtype))
    return frame


def _read_by_pandas(path: Path, kind: str, sep: str | None) -> Any:
    import pandas

    source = _read_rows(path) if kind == ".json" else _source(path)
    source = io.BytesIO(source) if isinstance(source, bytes) else source
    if kind == ".parquet":
        return pandas.read_parquet(source)
    if kind in (".json", ".jsonl"):
        return pandas.read_json(source, orient="records", lines=kind == ".jsonl", convert_dates=False, dtype=False)
    sign = _detect_separator(path, kind, sep)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        try:  # without index_col, cells that have no name would push the others under the wrong names
            return pandas.read_csv(source, sep=sign, skip_blank_lines=False, low_memory=False, index_col=False)
        except pandas.errors.ParserWarning:
            raise ValueError("a row has more cells than the header") from None
