"""Tables in files: raw columns for `TextViews`, `ColumnViews` and `TableViews`, and tables of numbers as views."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from coview.exceptions import RAW_TABLE, DataFileError
from coview.utils.messages import listed, not_text, one_sentence, short
from coview.utils.parquet import check_parquet, collect
from coview.utils.text_files import NUMBER, check_unique, csv_rows, json_rows, parse_json

__all__ = [
    "DELIMITERS",
    "TABLES",
    "native_parquet",
    "read_header",
    "read_numbers",
    "read_table",
    "rows_present",
]

DELIMITERS = {".csv": None, ".tsv": "\t"}  # None: the header tells
TABLES = (*DELIMITERS, ".jsonl", ".json", ".parquet")
_INTEGER = re.compile(r"[+-]?(0|[1-9]\d{0,17})")  # 007 is a name, and so is what 64 bits do not hold
_CHUNK = 4096  # rows held as text at a time; numbers take an eighth of the room


def read_table(path: str | Path, sep: str | None = None) -> Any:
    """Read a table as a mapping of columns to values, or a Parquet file as a data frame.

    A column of vectors (lists of numbers in Parquet and JSON) stays one, which `TableViews` makes a dense view of.
    In .csv and .tsv files a column is one of numbers if all of its filled cells are; an empty cell is a missing value.
    The ' that `coview predict` and others put before formulas is taken away again.

    Parameters
    ----------
    path : str or Path
        A .csv, .tsv, .jsonl, .json or .parquet file.
    sep : str or None, default=None
        The sign between the cells of a .csv or .tsv file. By default the header of a .csv file tells: a comma,
        semicolon, tab or vertical bar.

    Returns
    -------
    dict or data frame
        Values by column, as `TextViews`, `ColumnViews` and `TableViews` take them.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "pages.csv"
    >>> _ = file.write_text('title,year,code\\n"Red, blue",1999,007\\nSea,,008\\n')
    >>> read_table(file)
    {'title': ['Red, blue', 'Sea'], 'year': array([1999.,   nan]), 'code': ['007', '008']}
    """
    path, kind = _table_file(path, sep)
    if kind == ".parquet":
        return native_parquet(path)
    try:
        with open(path, newline="", encoding="utf-8-sig") as stream:
            if kind in DELIMITERS:
                return _raw_columns(path, csv_rows(stream, path, sep or DELIMITERS[kind]))
            if kind == ".jsonl":
                return _records(path, list(json_rows(stream, path)))
            return _records(path, _whole_json(path, stream.read()))
    except UnicodeDecodeError as error:
        raise not_text(path, error) from None


def read_header(path: str | Path, sep: str | None = None) -> list[str] | None:
    """Return the names of a table's columns without reading its rows; None of JSON, whose rows may differ.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "pages.csv"
    >>> _ = file.write_text("title,year\\nSea,1999\\n")
    >>> read_header(file)
    ['title', 'year']
    """
    path, kind = _table_file(path, sep)
    if kind in (".json", ".jsonl"):
        return None
    if kind == ".parquet":
        return _parquet_names(path)
    try:
        with open(path, newline="", encoding="utf-8-sig") as stream:
            return next(csv_rows(stream, path, sep or DELIMITERS[kind]))[1]
    except UnicodeDecodeError as error:
        raise not_text(path, error) from None


def _table_file(path: str | Path, sep: str | None) -> tuple[Path, str]:
    """Return the path of a table and its extension; refuse what cannot be read."""
    path = Path(path)
    if not path.is_file():
        problem = f"{path} is a folder, not a table." if path.is_dir() else f"There is no file {path}."
        raise DataFileError(f"{problem} Pass the path of a table.")
    kind = path.suffix.lower()
    if kind not in TABLES:
        raise DataFileError(f"{path} has the extension {kind!r}; tables are read from {listed(TABLES)}.")
    if sep is not None and kind not in DELIMITERS:
        raise DataFileError(f"sep is for {listed(DELIMITERS)} files, but the table is {path}. Leave it out.")
    if sep is not None and len(sep) != 1:
        raise DataFileError(f"sep must be one character, got {sep!r}.")
    return path, kind


def _parquet_names(path: Path) -> list[str] | None:
    """Names of the columns of a Parquet file; None where they are known only once it is read."""
    try:
        import polars
    except ImportError:
        return None
    with one_sentence(f"{path} cannot be read as .parquet"):
        return list(polars.scan_parquet(path, glob=False).collect_schema())


def native_parquet(path: Path) -> Any:
    """Return a Parquet file as a frame of polars, or of pandas where polars is not installed."""
    try:
        import polars
    except ImportError:
        try:
            import pandas  # noqa: F401
            import pyarrow.parquet
        except ImportError:
            raise DataFileError(
                f'{path} needs polars, or pandas with pyarrow, to be read. Run: pip install "coview[parquet]".'
            ) from None
        with one_sentence(f"{path} cannot be read as .parquet"):
            check_parquet(path)
            return pyarrow.parquet.read_table(path).to_pandas(types_mapper=_kept_by_arrow)
    with one_sentence(f"{path} cannot be read as .parquet"):
        check_parquet(path)
        return collect(path, polars.scan_parquet(path, glob=False))  # a name with [ ] or * is a name


def _kept_by_arrow(dtype: Any) -> Any:
    """Type that pandas gives a column of vectors, which stay one flat buffer; None leaves other columns to pandas."""
    import pandas
    import pyarrow.types as kinds

    lists = kinds.is_list(dtype) or kinds.is_large_list(dtype) or kinds.is_fixed_size_list(dtype)
    numeric = lists and (kinds.is_floating(dtype.value_type) or kinds.is_integer(dtype.value_type))
    return pandas.ArrowDtype(dtype) if numeric else None


# -- raw columns


def _raw_columns(path: Path, rows: Iterator[tuple[int, list[str]]]) -> dict[str, Any]:
    _, header = next(rows)
    check_unique(path, header)
    cells: list[list[str]] = [[] for _ in header]
    filled = (row for _, row in rows if row)
    while chunk := list(islice(filled, _CHUNK)):
        for column, part in zip(cells, zip(*chunk)):
            column += part
    if not cells[0]:
        raise DataFileError(f"{path} has a header row but no rows below it.")
    return {name: _typed(column) for name, column in zip(header, cells)}


def _typed(cells: list[str]) -> Any:
    """Numbers where every filled cell is one, else texts, None where a cell is empty."""
    stripped = list(map(str.strip, cells))
    filled = list(filter(None, stripped))
    if filled and all(map(NUMBER.fullmatch, filled)):
        if len(filled) == len(cells) and all(map(_INTEGER.fullmatch, filled)):
            return np.array(list(map(int, filled)))
        return np.array([float(cell or "nan") for cell in stripped])
    return [cell if text else None for cell, text in zip(cells, stripped)]


def _whole_json(path: Path, text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise DataFileError(f"{path} is not JSON ({error}). Write it again.") from None


def _records(path: Path, records: Any) -> dict[str, list[Any]]:
    if not isinstance(records, list) or not records:
        raise DataFileError(f"{path} must hold objects, one per row; it holds {'none' if not records else 'no list'}.")
    other = next((i for i, row in enumerate(records) if not isinstance(row, dict)), None)
    if other is not None:
        raise DataFileError(
            f"{path} must hold objects, but row {other} (counting from 0) is {type(records[other]).__name__}."
        )
    names = list(dict.fromkeys(name for row in records for name in row))
    return {name: [row.get(name) for row in records] for name in names}


# -- tables of numbers


def read_numbers(path: Path) -> tuple[np.ndarray, np.ndarray | None, list[str], np.ndarray | None]:
    """Return (matrix, ids or None, feature names, rows present or None) of a .csv or .tsv file of numbers.

    The first column holds ids if it is named "id", has no name, or holds text that is different in every row. A row
    whose cells are all empty lacks the view.
    """
    with open(path, newline="", encoding="utf-8-sig") as stream:
        rows = csv_rows(stream, path, DELIMITERS[path.suffix.lower()])
        _, header = next(rows)
        _check_header(path, header)
        first, rest, empty, lines = _body(path, rows, header)
    if header[0].lower() in ("", "id") or _is_text(path, header[0], first, lines):
        ids, names, matrix = _ids(first), header[1:], rest
    else:
        ids, names = None, header
        column, lacking = _numbers(path, first, header[:1], lines)
        matrix, empty = np.hstack([column, rest]), empty + lacking
    if not names:
        raise DataFileError(f"{path} has no column of features beside {short(header[0])}.")
    return matrix, ids, names, rows_present(path, empty, len(names), lines=lines)


def rows_present(
    path: Path, empty: np.ndarray, columns: int, first: int = 0, lines: Sequence[int] | None = None
) -> np.ndarray | None:
    """Return which rows of a table have values, or None where all do; `empty` counts the empty cells of each.

    Errors name a row by its number, `first` being that of the first, or by its line of a text file.
    """
    partly = np.flatnonzero((empty > 0) & (empty < columns))
    if partly.size:
        row = partly[0]
        place = f"row {first + row} (counting from 0)" if lines is None else f"line {lines[row]}"
        raise DataFileError(
            f"{path} has {empty[row]} of {columns} cells empty in {place}. Fill them, or leave all of a row's cells "
            "empty where the object lacks the view."
        )
    return empty == 0 if empty.any() else None


def _check_header(path: Path, header: list[str]) -> None:
    if header[0].startswith("<"):
        raise DataFileError(f"{path} is HTML or XML by content ({short(header[0], 30)}), not a table. Fetch it again.")
    numbers = [_number(cell) for cell in header]
    counting = [list(range(start, start + len(header))) for start in (0, 1)]  # names that pandas gives by itself
    if None not in numbers and numbers not in counting:
        raise DataFileError(f"{path} has no header row: its first line is all numbers. Add the columns' names.")


def _body(
    path: Path, rows: Iterator[tuple[int, list[str]]], header: list[str]
) -> tuple[list[str], Any, Any, list[int]]:
    """First column as text, the others as numbers, how many of those others are empty in each row, and its line."""
    first: list[str] = []
    lines: list[int] = []
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    for numbers, chunk in _chunks(path, rows):
        cells = list(chain.from_iterable(row[1:] for row in chunk))
        none = (np.empty((len(chunk), 0)), np.zeros(len(chunk), dtype=np.intp))
        parts.append(_numbers(path, cells, header[1:], numbers) if cells else none)
        first += [row[0].strip() for row in chunk]
        lines += numbers
    if not first:
        raise DataFileError(f"{path} has a header row but no rows below it.")
    matrix, empty = (np.concatenate(each) for each in zip(*parts))
    return first, matrix, empty, lines


def _chunks(path: Path, rows: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Rows, many at a time, with the lines that they end in: a quoted cell may hold line breaks."""
    numbers: list[int] = []
    chunk: list[list[str]] = []
    blank = None
    for number, row in rows:
        if not row:
            blank = blank or number
            continue
        if blank:
            raise DataFileError(f"{path} has an empty line ({blank}) between its rows. Remove it.")
        numbers.append(number)
        chunk.append(row)
        if len(chunk) == _CHUNK:
            yield numbers, chunk
            numbers, chunk = [], []
    if chunk:
        yield numbers, chunk


def _numbers(path: Path, cells: list[str], names: list[str], lines: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Cells of some rows, one row after the other, as a matrix with 0 where one is empty; and how many are per row."""
    shape = (-1, len(names))
    empty = np.zeros(len(cells) // len(names), dtype=np.intp)
    plain = "_" not in "".join(cells)  # Python would read 1_000 as 1000
    for attempt in range(2):
        for kind in (int, float) if plain else ():  # counts stay whole numbers
            try:
                return np.array(list(map(kind, cells)), dtype=np.dtype(kind)).reshape(shape), empty
            except (ValueError, OverflowError):
                continue
        if not attempt:
            lacking = [not cell or cell.isspace() for cell in cells]
            empty = np.reshape(lacking, shape).sum(axis=1)
            cells = ["0" if lacks else cell for lacks, cell in zip(lacking, cells)]
    at = next(i for i, cell in enumerate(cells) if _number(cell) is None)
    row, column = divmod(at, len(names))
    raise DataFileError(
        f"{path} has {short(cells[at].strip())} in column {short(names[column])} of line {lines[row]}, which is not a "
        "number.",
        **RAW_TABLE,
    )


def _is_text(path: Path, name: str, cells: list[str], lines: list[int]) -> bool:
    text = [i for i, cell in enumerate(cells) if cell and _number(cell) is None]
    if not text:
        return False
    if len(set(cells)) < len(cells):
        raise DataFileError(
            f"{path} has {short(cells[text[0]])} in column {short(name)} of line {lines[text[0]]}, which is not "
            "a number, nor an id, since some rows have the same.",
            **RAW_TABLE,
        )
    return True


def _ids(cells: list[str]) -> np.ndarray:
    """Identifiers as integers where all are written as such and fit into 64 bits, else as text."""
    if all(_INTEGER.fullmatch(cell) and str(int(cell)) == cell for cell in cells):  # "007" stays text
        return np.asarray([int(cell) for cell in cells])
    return np.array(cells, dtype=object)  # texts of fixed width would all be as long as the longest


def _number(cell: str) -> float | None:
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None
