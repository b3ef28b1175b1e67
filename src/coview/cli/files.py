"""What the commands read: views in files and folders, raw tables, and what the columns of these are."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from coview.cli.options import Objects, TableOptions
from coview.exceptions import DataFileError
from coview.utils.messages import listed, short
from coview.utils.progress import print_line

__all__ = [
    "check_input",
    "check_there",
    "columns_of",
    "guess_views",
    "ids_of",
    "is_views",
    "named_paths",
    "plain",
    "read_input",
    "report_views",
    "split_columns",
    "table_front",
    "with_vectors",
]


def read_input(objects: Objects) -> Any:
    """Return the views of ``--view name=file`` or of a folder or file, or the columns of a raw table.

    With a table, the vectors of ``--view name=file.npy`` are a column of it.
    """
    check_input(objects)
    paths = named_paths(objects.view)
    if objects.table is not None:
        from coview import read_table

        return with_vectors(read_table(objects.table), objects.table, paths)
    from coview import read_views

    return read_views(paths if objects.data is None else objects.data)


def check_input(objects: Objects) -> None:
    """Refuse data that is not there, before large libraries are loaded."""
    paths = named_paths(objects.view)
    if not objects.given or (objects.data is not None and paths and objects.table is None):
        what = "both a folder of views and --view" if objects.given else "none"
        raise ValueError(f"Pass the data: a table, a folder of views, or --view NAME=FILE for each view; got {what}.")
    for path in [*paths.values(), *([] if objects.data is None else [objects.data])]:
        check_there(path)


def check_there(path: Path) -> None:
    """Refuse a path where nothing is, and devices, which may never end."""
    if not path.exists():
        raise DataFileError(f"There is no file {path}. Pass the path of an existing file or folder.")
    if path.is_char_device() or path.is_block_device():
        raise DataFileError(f"{path} is a device. Pass the path of an existing file or folder.")


def named_paths(views: Sequence[str] | None) -> dict[str, Path]:
    """Return ``{"words": Path("words.npz")}`` of ``["words=words.npz"]``."""
    return {name: Path(path) for name, path in _pairs(views, "--view", "words=words.npz").items()}


def with_vectors(table: Any, path: Path, views: Mapping[str, Path]) -> Any:
    """Return the table with a column of vectors for each view."""
    from coview.io.formats import load_matrix

    vectors = {}
    for name, file in views.items():
        if name in columns_of(table):
            raise ValueError(f"--view {name}={file}: {path} has a column {name!r} already. Name the view differently.")
        matrix = load_matrix(file) if file.suffix.lower() == ".npy" else None
        if matrix is None or matrix.ndim != 2 or matrix.dtype.kind not in "iuf":
            raise DataFileError(f"{file} must be an .npy file with a matrix of numbers, a row for each row of {path}.")
        if len(matrix) != len(table):
            raise DataFileError(f"{file} has {len(matrix)} rows, but {path} has {len(table)}.")
        vectors[name] = matrix
    if not vectors:
        return table
    if type(table).__module__.startswith("polars."):
        import polars

        return table.with_columns([polars.Series(name, matrix) for name, matrix in vectors.items()])
    return table.assign(**{name: list(matrix) for name, matrix in vectors.items()})


def guess_views(raw: TableOptions, objects: Objects, X: Any, labels: str | None) -> tuple[TableOptions, list[str]]:
    """Return the options of a table with those that say what its columns are, and these as they would be typed.

    They are guessed where none is given; what is left out is printed with the reason.
    """
    if objects.table is None or raw.names_views or objects.view:
        return raw, []
    from coview.preprocessing.guess import guess_columns

    found = guess_columns(X, raw.id, [] if labels is None else [labels])
    guessed: dict[str, Any] = {
        "text": [f"{view}={name}" for view, name in found.text.items()],
        "tokens": [f"{view}={name}" for view, name in found.tokens.items()],
        "columns": [f"{view}={part}" for view, names in found.columns.items() for part in _join_names(names)],
    }
    words = [] if raw.id is not None or found.id is None else ["--id", str(found.id)]
    words += [word for option, values in guessed.items() for value in values for word in (f"--{option}", value)]
    if found.labels:
        first = found.labels[0]
        print_line(
            f"coview: not used, since they may be what you want to predict: {listed(found.labels)}. Add to the command "
            f"below {shlex.join(['--labels', first])} to learn one, or "
            f"{shlex.join(['--columns', f'{first}={first}'])} to use one as a view."
        )
    if found.unused:
        reasons = "; ".join(f"{short(name)} ({why})" for name, why in found.unused.items())
        print_line(f"coview: not used: {reasons}.")
    return replace(raw, id=found.id, **guessed), words


def table_front(raw: TableOptions, objects: Objects, X: Any, labels: str | None = None) -> Any:
    """Return the transformer that makes views of a raw table, or None where the data is no table."""
    from coview.preprocessing.columns import as_table
    from coview.preprocessing.tables import TableViews

    if objects.table is None:
        return None
    columns = columns_of(X)
    groups: dict[str, list[str]] = {name: [name] for name in named_paths(objects.view)}  # vectors, a column each
    for option in raw.columns or []:
        for view, names in _pairs([option], "--columns", "place=venue,country").items():
            groups.setdefault(view, []).extend(split_columns(names, columns))
    text, tokens = _pairs(raw.text, "--text", "words=body"), _pairs(raw.tokens, "--tokens", "tags=tags")
    table = as_table(X)
    for view, parts in ({view: [name] for view, name in (text | tokens).items()} | groups).items():
        table.check_has(parts, f" for view {view!r}")
    label = labels if labels in columns else None
    return TableViews(text or None, groups or None, tokens=tokens or None, id=raw.id, label=label)


def split_columns(text: str, columns: Sequence[str]) -> list[str]:
    """Return the names of columns in a text, with commas between them; the name of one may have commas itself.

    Examples
    --------
    >>> split_columns("venue, year", []), split_columns("Created, UTC", ["year", "Created, UTC"])
    (['venue', 'year'], ['Created, UTC'])
    """
    return [text] if text in columns else [name.strip() for name in text.split(",") if name.strip()]


def _join_names(names: Sequence[Any]) -> list[str]:
    """The names as values of an option: in one of them, or in one each where a name has commas."""
    texts = list(map(str, names))
    return texts if any("," in text for text in texts) else [",".join(texts)]


def _pairs(options: Sequence[str] | None, flag: str, example: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for option in options or []:
        name, _, value = (part.strip() for part in option.partition("="))
        if not name or not value:
            raise ValueError(f"{flag} needs NAME=VALUE, got {option!r}. Example: {flag} {example}")
        if name in values:
            raise ValueError(f"{flag} names {name!r} twice.")
        values[name] = value
    return values


def report_views(front: Any, X: Any, labels: str | None = None) -> None:
    """Print which views a raw table does not give, and which ones read the column of the labels.

    Of a table that gives no view an error says more.
    """
    from coview.preprocessing.columns import RawTransformer

    if not isinstance(front, RawTransformer) or is_views(X):
        return
    if knowing := [view for view, names in front._columns_of_views().items() if labels in names]:
        print_line(
            f"coview: the labels, column {labels!r}, are read by {listed(knowing)} too: agreement with them says "
            "nothing, since the model was told the answers."
        )
    absent = front.absent_views(X)
    if absent and len(absent) < len(front.view_inputs()):
        parts = [f"{view!r} (no column {listed(names)})" for view, names in absent.items()]
        print_line(f"coview: the table lacks views of the model: {', '.join(parts)}.")


# -- tables and views that were read


def is_views(X: Any) -> bool:
    """Tell views from a table."""
    from coview.views.lazy import LazyViews
    from coview.views.views import Views

    return isinstance(X, (Views, LazyViews))


def columns_of(table: Any) -> list[str]:
    """Return the names of the columns of a table that was read; views have none."""
    return [] if is_views(table) else list(table.columns)


def ids_of(X: Any, column: str | None = None) -> Any:
    """Return the identifiers of objects: those of views, or of a column of a table; None where there are none."""
    if is_views(X):
        return X.ids
    return plain({"": X[column]})[""] if column in columns_of(X) else None


def plain(columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return columns as lists of plain values."""
    return {name: values.tolist() if hasattr(values, "tolist") else list(values) for name, values in columns.items()}
