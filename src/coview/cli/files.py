"""What the command line reads and writes: views, raw tables and labels in; tables out, whole or not at all."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from coview.cli.options import Objects, TableOptions
from coview.exceptions import DataFileError
from coview.io.delimited import escape_cell, find_delimiter, unescape_cell
from coview.utils.atomic import atomic_path
from coview.utils.messages import did_you_mean, listed, make_text_error, printable, short
from coview.utils.progress import print_line
from coview.utils.warn import warn_user

__all__ = [
    "WRITTEN",
    "check_input",
    "check_table",
    "check_there",
    "check_writable",
    "columns_of",
    "guess_views",
    "ids_of",
    "named_paths",
    "plain",
    "read_input",
    "read_target",
    "report_absent_views",
    "split_columns",
    "table_front",
    "with_vectors",
    "write_table",
]

_SETTINGS = ("stop_words", "min_df", "max_df")  # of a table: as they are typed, None leaves the default
_NAMES = ("id", "row", "label", "name", "predicted")  # columns that are no figures
KEYS = ("id", "row")  # what the column is called that says whose a label is
WRITTEN = (".csv", ".tsv", ".json", ".jsonl", ".parquet")


def read_input(objects: Objects) -> Any:
    """Return the views of ``--view name=file`` or of a folder or file, or the columns of a raw table.

    Beside a table, the vectors of ``--view name=file.npy`` are a column of it.
    """
    check_input(objects)
    paths = named_paths(objects.view or [])
    if objects.table is not None:
        from coview.io.tables import read_table

        return with_vectors(read_table(objects.table, _sign(objects.sep)), objects.table, paths)
    from coview.io.views_folder import read_views

    return read_views(paths if objects.data is None else objects.data)


def check_input(objects: Objects) -> None:
    """Refuse data that `read_input` could not read, as far as options and the names of files tell."""
    data, table, paths = objects.data, objects.table, named_paths(objects.view or [])
    if not objects.given or (data is not None and (paths or table is not None)):
        what = "both a folder of views and other data" if objects.given else "none"
        raise ValueError(f"Pass the data: a table, a folder of views, or --view NAME=FILE for each view; got {what}.")
    if table is not None:
        check_there(table)
        for name, path in paths.items():
            if path.suffix.lower() != ".npy":
                raise ValueError(
                    f"--view {name}={path}: beside a table, a view is an .npy file with a row for each of its rows."
                )
    if objects.sep is not None and table is None:
        raise ValueError("--sep describes a raw table, but there is none: leave it out, or pass a table.")
    for path in [*paths.values(), *([] if data is None else [data])]:
        check_there(path)


def named_paths(views: Sequence[str]) -> dict[str, Path]:
    """Return ``{"words": Path("words.npz")}`` of ``["words=words.npz"]``."""
    return {name: Path(path) for name, path in _pairs(views, "--view", "words=words.npz").items()}


def _check_free(views: Mapping[str, Path], columns: Sequence[Any], table: Path) -> None:
    for name, path in views.items():
        if name in columns:
            raise ValueError(f"--view {name}={path}: {table} has a column {name!r} already. Name the view differently.")


def with_vectors(table: Any, path: Path, views: Mapping[str, Path]) -> Any:
    """Return the table with a column of vectors for each view."""
    from coview.io.formats import load_matrix

    _check_free(views, columns_of(table), path)
    n_rows = len(table[columns_of(table)[0]])
    vectors = {}
    for name, file in views.items():
        matrix = load_matrix(file)
        if matrix.ndim != 2 or matrix.dtype.kind not in "iuf":
            raise DataFileError(f"{file} must hold a matrix of numbers, a row for each row of {path}.")
        if len(matrix) != n_rows:
            raise DataFileError(f"{file} has {len(matrix)} rows, but {path} has {n_rows}.")
        vectors[name] = matrix
    if not vectors:
        return table
    if type(table).__module__.startswith("polars."):
        import polars

        return table.with_columns([polars.Series(name, matrix) for name, matrix in vectors.items()])
    return table.assign(**{name: list(matrix) for name, matrix in vectors.items()})


def check_table(raw: TableOptions, objects: Objects, labels: str | None = None) -> None:
    """Refuse options that do not fit the table, by its header: before its rows are read and large libraries loaded."""
    if objects.table is None:
        if any(vars(raw).values()):
            names = listed([f"--{name.replace('_', '-')}" for name in vars(raw)])
            raise ValueError(f"{names} describe a raw table, but there is none: leave them out, or pass a table.")
        return
    from coview.io.tables import read_header

    columns = read_header(objects.table, _sign(objects.sep))
    text, tokens, groups = _sources(raw, columns or [])
    asked = [(f"--text {view}={name}", name) for view, name in text.items()]
    asked += [(f"--tokens {view}={name}", name) for view, source in tokens.items() for name in [_column(source)]]
    asked += [(f"--columns {view}={','.join(names)}", name) for view, names in groups.items() for name in names]
    asked += [] if raw.id is None else [(f"--id {raw.id}", raw.id)]
    if columns is None:  # of JSON: known once it is read
        return
    _check_free(named_paths(objects.view or []), columns, objects.table)
    for option, name in asked:
        if name not in columns:
            raise ValueError(
                f"{option}: {objects.table} has no column {short(name)}; its columns are {listed(columns)}."
                f"{_other_separator(columns)}{did_you_mean(name, columns)}"
            )
    if labels and not Path(labels).exists():
        _check_label_column(labels, columns)


def guess_views(raw: TableOptions, objects: Objects, X: Any, labels: str | None) -> tuple[TableOptions, list[str]]:
    """Return the options of a table with those that say what its columns are, and these as they would be typed.

    They are guessed where none is given; what is left out is told on standard error, with the reason.
    """
    if objects.table is None or raw.names_views or objects.view:
        return raw, []
    from coview.preprocessing.guess import guess_columns

    found = guess_columns(X, raw.id, [] if labels is None else [labels])
    guessed: dict[str, Any] = {
        "text": [f"{view}={name}" for view, name in found.text.items()],
        "tokens": [f"{view}={name}" for view, name in found.tokens.items()],
        "columns": [f"{view}={','.join(names)}" for view, names in found.columns.items()],
    }
    words = [] if raw.id is not None or found.id is None else ["--id", str(found.id)]
    words += [word for option, values in guessed.items() for value in values for word in (f"--{option}", value)]
    for name in found.labels:
        print_line(f"coview: column {short(name)} looks like a label and is not used: --labels {name} learns from it.")
    if found.unused:
        reasons = "; ".join(f"{short(name)} ({why})" for name, why in found.unused.items())
        print_line(f"coview: not used: {reasons}.")
    return replace(raw, id=found.id, **{name: values or None for name, values in guessed.items()}), words


def table_front(raw: TableOptions, objects: Objects, X: Any = None, labels: str | None = None) -> Any:
    """Return the transformer that makes views of a raw table, or None where the data is no table.

    Each of the views beside it is a column of vectors.
    """
    from coview.preprocessing.tables import TableViews

    if objects.table is None:
        return None
    text, tokens, groups = _sources(raw, [] if X is None else columns_of(X))
    for name in named_paths(objects.view or []):
        if name in groups:
            raise ValueError(f"--view and --columns both name {name!r}. Rename one of them.")
        groups[name] = [name]
    typed = {name: vars(raw)[name] for name in _SETTINGS if vars(raw)[name] is not None}
    return TableViews(
        text or None,
        groups or None,
        tokens=tokens or None,
        id=raw.id,
        label=None if labels is None or Path(labels).exists() else labels,
        **{name: _setting(name, value) for name, value in typed.items()},
    )


def _sources(raw: TableOptions, header: Sequence[str]) -> tuple[dict[str, str], dict[str, Any], dict[str, list[str]]]:
    """Return the columns of each view of words, of lists and of columns, as `TableViews` takes them."""
    groups = {
        view: split_columns(names, header)
        for view, names in _pairs(raw.columns or [], "--columns", "place=venue,country").items()
    }
    lists = {view: _list_column(value) for view, value in _pairs(raw.tokens or [], "--tokens", "tags=tags").items()}
    return _pairs(raw.text or [], "--text", "words=body"), lists, groups


def split_columns(text: str, columns: Sequence[str]) -> list[str]:
    """Return the names of columns in a text, with commas between them; a name may have some itself.

    Examples
    --------
    >>> split_columns("venue, year", []), split_columns("Created, UTC,year", ["year", "Created, UTC"])
    (['venue', 'year'], ['Created, UTC', 'year'])
    """
    pieces, names = text.split(","), list[str]()
    while pieces:
        joined = (n for n in range(len(pieces), 1, -1) if ",".join(pieces[:n]).strip() in columns)
        n = next(joined, 1)
        names.append(",".join(pieces[:n]).strip())
        pieces = pieces[n:]
    return [name for name in names if name]


def _column(source: Any) -> str:
    return source if isinstance(source, str) else source[0]


def _other_separator(columns: list[str]) -> str:
    """Advice where the header is one cell that holds another separator."""
    if len(columns) == 1 and any(sign in columns[0] for sign in ",;\t|"):
        return " Name the sign between the columns: --sep SIGN."
    return ""


def _setting(name: str, text: str) -> Any:
    """Value of an option of `TableViews`: none, a number, words separated by commas, or a word."""
    if text.lower() == "none":
        return None
    if name == "stop_words":
        return [word.strip() for word in text.split(",") if word.strip()] if "," in text else text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _list_column(value: str) -> Any:
    """Column, or (column, separator), of ``depends:,``; a colon before letters belongs to the column's name."""
    match = re.fullmatch(r"(.+?):(\W+|\\[tn])", value)
    return value.removesuffix(":") if match is None else (match[1], _sign(match[2]))


def _sign(text: Any) -> Any:
    """A separator as it is typed; tabs and line breaks have names."""
    return {"\\t": "\t", "tab": "\t", "\\n": "\n"}.get(text, text)


def _pairs(options: Sequence[str], flag: str, example: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for option in options:
        name, sign, value = option.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise ValueError(f"{flag} needs NAME=VALUE, got {option!r}. Example: {flag} {example}")
        if name.strip() in values:
            raise ValueError(f"{flag} names {name.strip()!r} twice.")
        values[name.strip()] = value.lstrip() if flag == "--tokens" else value.strip()  # a space may separate items
    return values


def report_absent_views(front: Any, X: Any, done: str) -> None:
    """Say in a line which views a raw table does not give; `done` is what is done without them, "predicted".

    Of a table that gives no view an error says more.
    """
    from coview.preprocessing.columns import RawTransformer
    from coview.preprocessing.tables import TableViews

    if not isinstance(front, RawTransformer) or _is_views(X):
        return
    absent = front.absent_views(X)
    if len(absent) == len(front.view_inputs()):
        return
    vectors = front.widths_ if isinstance(front, TableViews) else {}
    parts = [
        f"without view {view!r}: the table has no column {listed(names)}"
        + (f"; pass its vectors with --view {view}=FILE.npy" if names == [view] and view in vectors else "")
        for view, names in absent.items()
    ]
    if parts:
        hints = [did_you_mean(names[0], columns_of(X)) for names in absent.values()]
        print_line(f"coview: {done} {'; '.join(parts)}.{''.join(hints)}")


def check_there(path: Path) -> None:
    """Refuse a path where nothing is, and devices, which may never end."""
    if not path.exists():
        raise DataFileError(f"{path} does not exist. Pass the path of an existing file or folder.")
    if path.is_char_device() or path.is_block_device():
        raise DataFileError(f"{path} is a device. Pass the path of an existing file or folder.")


# -- labels


def read_target(source: str | None, X: Any, id: str | None = None) -> Any:
    """Return one label per object: of a file, or of a column of the table that X is; empty cells have no label.

    Nor have cells that mark missing ones ("NaN", "N/A", "null", ...). Blanks around a label are taken away.

    A file of ids and labels is joined by the ids of the views, or by the column `id` of the table; one of many columns
    by those of its columns that are called "id" and "label", or "row" and "label", as `coview label` writes them. A
    column called "row" holds numbers of rows, from 0, unless it holds ids that are no such numbers; a column of another
    name does if the objects have no ids. A first line that names an object is no header. What was guessed is told on
    standard error.
    """
    if source is None:
        return None
    table = None if _is_views(X) else X
    if table is not None and not Path(source).exists():
        _check_label_column(source, columns_of(table))
        return _cleaned(_values(table, source))
    path = Path(source)
    check_there(path)
    n_rows = len(X) if table is None else len(_values(table, columns_of(table)[0]))
    ids = ids_of(X, id)
    column, keys, labels = _labels_of_file(path, n_rows, ids)
    if column is None:
        if len(labels) != n_rows:
            raise DataFileError(f"{path} holds {len(labels)} labels, but there are {n_rows} objects.")
        return _cleaned(labels)
    by_row = _are_rows(column, keys, ids, n_rows)
    if not by_row and ids is None:
        hint = "Name the column of the table that holds them: --id COLUMN" if table is not None else "Give labels alone"
        raise DataFileError(
            f"{path} labels objects by id, but the objects have no ids. {hint}, or numbers of rows from 0 in a column "
            "'row'."
        )
    if column not in ("id", id, ""):  # what names the objects had to be guessed
        how = "as numbers of rows, from 0" if by_row else "as ids"
        print_line(f"coview: {path}: the column {short(column)} is taken {how}.")
    return _cleaned(_by_key(path, keys, labels, range(n_rows) if by_row else ids))


def _are_rows(column: str, keys: Sequence[Any], ids: Any, n_rows: int) -> bool:
    """Whether a column of a file of labels numbers the objects: by what it is called, and by what is in it."""
    if column == "id":
        return False
    numbers = all(re.fullmatch(r"\d+", str(key)) for key in keys)
    inside = numbers and all(int(key) < n_rows for key in keys)
    if column != "row" or ids is None:
        return ids is None and (inside or column == "row")
    return inside or (numbers and not set(map(str, keys)) <= set(map(str, ids)))


def _check_label_column(name: str, columns: list[str]) -> None:
    if name not in columns:
        raise ValueError(
            f"--labels {name!r} is neither a file nor a column of the table, which has {listed(columns)}."
            f"{did_you_mean(name, columns)}"
        )


def ids_of(X: Any, column: str | None = None) -> Any:
    """Return the identifiers of objects: those of views, or of a column of a table; None where there are none."""
    if _is_views(X):
        return X.ids
    return _values(X, column) if column is not None and column in columns_of(X) else None


def _is_views(X: Any) -> bool:
    from coview.views.lazy import LazyViews
    from coview.views.views import Views

    return isinstance(X, (Views, LazyViews))


def columns_of(table: Any) -> list[str]:
    """Return the names of the columns of a table that was read."""
    return list(table.columns)


def _values(table: Any, name: str) -> list[Any]:
    return plain({name: table[name]})[name]


def _labels_of_file(path: Path, n_rows: int, ids: Any = None) -> tuple[str | None, list[Any], list[Any]]:
    """The column that names the objects, or None where their order does, what is in it, and their labels.

    Its name is empty where the file has no header.
    """
    if path.suffix.lower() == ".npy":
        from coview.io.formats import load_matrix

        return None, [], load_matrix(path).tolist()
    from coview.io.tables import TABLES, read_table

    lines = [] if path.suffix.lower() in (".parquet", ".json", ".jsonl") else _lines(path)
    lines = _without_end(lines, n_rows)
    sign = "\t" if path.suffix.lower() == ".tsv" else find_delimiter(lines[0] if lines else "")
    if lines and sign not in lines[0]:  # one column: with a header row there is one line more than objects
        cells = [line.strip().strip('"') for line in lines]
        rows = cells[1:] if len(cells) == n_rows + 1 else cells
        return None, [], [_number(unescape_cell(cell)) for cell in rows]
    if path.suffix.lower() not in TABLES:
        raise DataFileError(f"{path} must hold one label per line, or be a table with an id and a label column.")
    table = read_table(path)
    names = columns_of(table)
    if len(names) == 1:
        return None, [], _values(table, names[0])
    key = next((name for name in KEYS if name in names), names[0])
    if "label" in names and key in KEYS:  # a header, even where an object is called "id"
        return key, _values(table, key), _values(table, "label")
    if lines and len(names) == 2 and _is_row(names, _values(table, names[0]), ids):
        print_line(f"coview: {path}: its first line names an object, and is taken as a row, not as a header.")
        keys, labels = (_values(table, name) for name in names)
        return "", [names[0], *keys], _with_first(names[1], labels)
    if len(names) != 2:
        raise DataFileError(
            f"{path} has {len(names)} columns; labels are one column, an id and a label, or a table whose columns "
            "are called id (or row) and label."
        )
    return key, _values(table, key), _values(table, names[names[0] == key])


def _without_end(lines: list[str], n_rows: int) -> list[str]:
    """Lines without the empty ones after those of the objects; the last objects may have no label.

    With one line more than objects the first is a header, unless it is the only label or comes again.

    Examples
    --------
    >>> _without_end(["a", "", "", ""], 3), _without_end(["kind", "a", "", ""], 3), _without_end(["a", "a", "", ""], 3)
    (['a', '', ''], ['kind', 'a', '', ''], ['a', 'a', ''])
    """
    if not any(line.strip() for line in lines):
        return []
    end = len(lines)
    while end > n_rows and not lines[end - 1].strip():
        rest = lines[1:end] if end == n_rows + 1 else []
        if any(line.strip() for line in rest) and lines[0] not in rest:
            break
        end -= 1
    return lines[:end]


def _is_row(header: Sequence[str], keys: Sequence[Any], ids: Any) -> bool:
    """Whether what was read as the header of ids and labels names an object: it is one, as the lines below are.

    Without ids it does where it is a number, as all below it are. An "id" or "row" that comes again below is a header.

    Examples
    --------
    >>> _is_row(["p1", "cat"], ["p2", "p3"], ["p1", "p2", "p3"]), _is_row(["page", "kind"], ["p2"], ["p1", "p2"])
    (True, False)
    >>> _is_row(["0", "cat"], [1, 2], None), _is_row(["row", "kind"], [1, 2], None)
    (True, False)
    """
    if ids is None:
        return all(re.fullmatch(r"\d+", str(key)) for key in [header[0], *keys])
    return header[0] in set(map(str, ids)) and not (header[0] in KEYS and header[0] in map(str, keys))


def _with_first(cell: str, labels: Sequence[Any]) -> list[Any]:
    """Labels with that of the first line before them, of one type: numbers where all are, else texts.

    Examples
    --------
    >>> _with_first("1", [2, 1]), _with_first("1", [2.5, 1.5]), _with_first("1", ["b", None]), _with_first("a", [2, 1])
    ([1, 2, 1], [1.0, 2.5, 1.5], ['1', 'b', None], ['a', '2', '1'])
    """
    from coview.validation import is_gap

    if not cell.strip():
        return [None, *labels]
    if any(isinstance(label, str) for label in labels):
        return [cell, *labels]
    try:
        first = float(cell)
    except ValueError:
        return [cell, *(None if is_gap(label) else f"{label:.15g}" for label in labels)]
    if isinstance(_number(cell), int) and all(isinstance(label, int) for label in labels):
        return [int(cell), *labels]
    return [first, *(None if is_gap(label) else float(label) for label in labels)]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise make_text_error(path, error) from None


def _number(cell: str) -> Any:
    try:
        return int(cell)
    except ValueError:
        return cell


def _by_key(path: Path, ids: Sequence[Any], labels: Sequence[Any], own: Any) -> list[Any]:
    label_of = {str(key): label for key, label in zip(ids, labels)}
    if len(label_of) < len(ids):
        raise DataFileError(f"{path} holds {len(ids) - len(label_of)} ids more than once.")
    joined = [label_of.get(str(key)) for key in own]
    if not any(str(key) in label_of for key in own):
        raise DataFileError(
            f"{path} labels none of the objects: its ids ({short(ids[0])}, ...) differ from {short(own[0])}, ..."
        )
    unknown = sorted(set(label_of) - set(map(str, own)))
    if unknown:
        warn_user(
            f"{len(unknown)} of {len(ids)} ids in {path} are not among the objects ({short(unknown[0])}, ...): their "
            "labels are not used.",
            UserWarning,
        )
    return joined


def _cleaned(labels: Sequence[Any]) -> Any:
    """Labels of one kind: whole numbers even where gaps made them floats, None where there is none.

    A cell of -1 is the number among texts too, as in Python: a file may not tell numbers from texts. Nor may it where
    cells are marked as missing: what is left are numbers where all are.
    """
    import numpy as np

    from coview.io.tables import MISSING_CELLS
    from coview.utils.limits import text_array
    from coview.validation import is_gap

    labels = [label.strip() if isinstance(label, str) else label for label in labels]
    if any(isinstance(label, str) and label in MISSING_CELLS for label in labels):
        labels = [None if isinstance(label, str) and label in MISSING_CELLS else label for label in labels]
        given = [label for label in labels if not is_gap(label)]
        if all(isinstance(label, str) and re.fullmatch(r"-?(0|[1-9]\d{0,17})", label) for label in given):
            labels = [None if is_gap(label) else int(label) for label in labels]
    kept = [None if is_gap(label) else -1 if label == "-1" else label for label in labels]
    numbers = [label for label in kept if label is not None]
    if all(isinstance(label, float) and label.is_integer() for label in numbers):
        kept = [None if label is None else int(label) for label in kept]
    uniform = len({type(label) for label in kept}) == 1
    if uniform and isinstance(kept[0], str):
        return text_array(kept, "labels")
    return np.asarray(kept) if uniform else np.fromiter(kept, dtype=object, count=len(kept))


# -- tables out


def check_writable(path: Path | None) -> None:
    """Refuse an output that could not be written, before the work is done."""
    if path is None:
        return
    if path.suffix.lower() not in WRITTEN:
        raise DataFileError(f"{path} has the extension {path.suffix!r}; tables are written as {', '.join(WRITTEN)}.")
    if path.is_dir():
        raise DataFileError(f"{path} is a folder; pass the path of a file.")
    if path.suffix.lower() == ".parquet":
        _frame({"a": [1]}, path)


def write_table(
    columns: dict[str, Any], path: Path | None = None, *, escape_formulas: bool = True, digits: int | None = None
) -> None:
    """Write columns of equal length to a file by its extension, or as CSV to standard output.

    Parameters
    ----------
    columns : mapping
        The columns by name.
    path : Path, optional
        The file.
    escape_formulas : bool, default=True
        Put ' before texts of .csv and .tsv files that a spreadsheet would run as formulas; never on standard output.
    digits : int, optional
        Significant digits of figures in .csv and .tsv files and on standard output; ids and labels keep all.
    """
    lists = plain(columns)
    if digits is not None and (path is None or path.suffix.lower() in (".csv", ".tsv")):
        lists = {name: values if name in _NAMES else _rounded(values, digits) for name, values in lists.items()}
    if path is None:  # a terminal obeys what is printed; a program gets the texts as they are
        _delimited(lists, sys.stdout, ",", _shown if sys.stdout.isatty() else _same)
        return
    cell = escape_cell if escape_formulas else _same
    check_writable(path)
    kind = path.suffix.lower()
    with atomic_path(path) as beside:
        if kind == ".parquet":
            _frame(lists, path).write_parquet(beside)
            return
        with open(beside, "w", newline="", encoding="utf-8") as stream:
            if kind in (".csv", ".tsv"):
                _delimited(lists, stream, "," if kind == ".csv" else "\t", cell)
            elif kind == ".json":
                json.dump(_records(lists), stream)
            else:
                stream.writelines(json.dumps(row) + "\n" for row in _records(lists))


def plain(columns: dict[str, Any]) -> dict[str, list[Any]]:
    """Columns as lists of plain values."""
    return {name: values.tolist() if hasattr(values, "tolist") else list(values) for name, values in columns.items()}


def _rounded(values: list[Any], digits: int) -> list[Any]:
    """Values of a column, those that are floating numbers with so many digits.

    Examples
    --------
    >>> _rounded([0.123456789, 1.23456789e-30, None, 3], 6)
    [0.123457, 1.23457e-30, None, 3]
    """
    return [float(f"{value:.{digits}g}") if isinstance(value, float) else value for value in values]


def _records(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def _same(value: Any) -> Any:
    return value


def _shown(value: Any) -> Any:
    return printable(value) if isinstance(value, str) else value


class _Lines:
    """A stream of lines that end as text files do here."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, line: str) -> None:
        self.stream.write(line.removesuffix("\r\n") + "\n")


def _delimited(columns: dict[str, list[Any]], stream: Any, delimiter: str, cell: Callable[[Any], Any]) -> None:
    # csv quotes the ends of lines in cells only if they are those of its own lines
    writer = csv.writer(_Lines(stream), delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(map(cell, columns))
    writer.writerows(map(cell, row) for row in zip(*columns.values()))


def _frame(columns: dict[str, list[Any]], path: Path) -> Any:
    try:
        import polars
    except ImportError:
        raise DataFileError(f'{path} needs polars to be written. Run: pip install "coview[table]".') from None
    return polars.DataFrame(columns)
