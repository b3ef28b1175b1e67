"""What the command line reads: views from files, raw tables, and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from coview.exceptions import DataFileError
from coview.utils.messages import listed, not_text, short

__all__ = ["front_of", "id_column", "named_paths", "read_input", "read_labels", "table_front"]


def read_input(views: Sequence[str], data: Path | None, table: Path | None) -> Any:
    """Return the views of ``--view name=file`` or of a folder or file, or the columns of a raw table."""
    given = [bool(views), data is not None, table is not None]
    if sum(given) != 1:
        what = "none of them" if not any(given) else "more than one of them"
        raise ValueError(
            f"Give the data by --view NAME=FILE (one per view), --data FOLDER or --table FILE; got {what}."
        )
    if table is not None:
        from coview.io.tables import read_table

        return read_table(table)
    from coview.io.views_folder import read_views

    if data is not None:
        _check_there(data)
        return read_views(data)
    named = named_paths(views)
    for path in named.values():
        _check_there(path)
    return read_views(named)


def named_paths(views: Sequence[str]) -> dict[str, Path]:
    """Return ``{"words": Path("words.npz")}`` of ``["words=words.npz"]``."""
    return {name: Path(path) for name, path in _pairs(views, "--view", "words=words.npz").items()}


def table_front(text: Sequence[str], columns: Sequence[str], id: str | None) -> Any:
    """Return the transformer that makes views of a raw table: of ``words=body`` and ``meta=year,venue``."""
    from coview.preprocessing.tables import TableViews

    texts = _pairs(text, "--text", "words=body")
    groups = {
        view: [name.strip() for name in names.split(",") if name.strip()]
        for view, names in _pairs(columns, "--columns", "meta=year,venue").items()
    }
    return TableViews(texts or None, groups or None, id=id)


def _pairs(options: Sequence[str], flag: str, example: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for option in options:
        name, sign, value = option.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise ValueError(f"{flag} needs NAME=VALUE, got {option!r}. Example: {flag} {example}")
        if name.strip() in found:
            raise ValueError(f"{flag} names {name.strip()!r} twice.")
        found[name.strip()] = value.strip()
    return found


def _check_there(path: Path) -> None:
    if not path.exists():
        raise DataFileError(f"{path} is absent. Give the name of a file or folder that is there.")


# -- labels


def read_labels(source: str | None, X: Any, id: str | None = None) -> Any:
    """Return one label per object: of a file, or of a column of the table that X is; empty cells have no label.

    A file of ids and labels is joined by the ids of the views, or by the column `id` of the table.
    """
    if source is None:
        return None
    table = None if hasattr(X, "present") else X
    if table is not None and not Path(source).exists():
        if source not in _columns(table):
            shown = listed(_columns(table))
            raise ValueError(f"--labels {source!r} is neither a file nor a column of the table ({shown}).")
        return _cleaned(_values(table, source))
    path = Path(source)
    _check_there(path)
    n_rows = len(X) if table is None else len(_values(table, _columns(table)[0]))
    ids, labels = _labels_of_file(path, n_rows)
    own = getattr(X, "ids", None)
    if table is not None and id in _columns(table):
        own = _values(table, str(id))
    if ids is not None and own is None:
        hint = "Name the column of the table that holds them: --id COLUMN" if table is not None else "Give labels alone"
        raise DataFileError(f"{path} labels objects by id, but the objects have no ids. {hint}.")
    if ids is not None:
        return _cleaned(_by_id(path, ids, labels, own))
    if len(labels) != n_rows:
        raise DataFileError(f"{path} holds {len(labels)} labels, but there are {n_rows} objects.")
    return _cleaned(labels)


def front_of(model: Any) -> Any:
    """Return the step that makes views of raw tables, or None; a retriever holds it inside."""
    from coview.retrieval.encode import split_front

    inner = getattr(model, "front_", None)
    return inner if inner is not None else split_front(model)[0]


def id_column(model: Any) -> str | None:
    """Return the column of a raw table that names the objects, as the model's first step knows it."""
    return getattr(front_of(model), "id", None)


def _columns(table: Any) -> list[str]:
    return list(table) if isinstance(table, Mapping) else list(table.columns)


def _values(table: Any, name: str) -> list[Any]:
    column = table[name]
    return column.tolist() if hasattr(column, "tolist") else list(column)


def _labels_of_file(path: Path, n_rows: int) -> tuple[list[Any] | None, list[Any]]:
    if path.suffix.lower() == ".npy":
        import numpy as np

        return None, np.load(path, allow_pickle=False).tolist()
    from coview.io.tables import TABLES, read_table

    lines = [] if path.suffix.lower() in (".parquet", ".json", ".jsonl") else _lines(path)
    while lines and not lines[-1].strip():
        lines.pop()
    sign = "\t" if path.suffix.lower() == ".tsv" else ","
    if lines and sign not in lines[0]:  # one column: with a header row there is one line more than objects
        cells = [line.strip().strip('"') for line in lines]
        return None, [_number(cell) for cell in (cells[1:] if len(cells) == n_rows + 1 else cells)]
    if path.suffix.lower() not in TABLES:
        raise DataFileError(f"{path} must hold one label per line, or be a table with an id and a label column.")
    table = read_table(path)
    names = _columns(table)
    if len(names) == 1:
        return None, _values(table, names[0])
    if len(names) != 2:
        raise DataFileError(f"{path} has {len(names)} columns; labels are one column, or an id and a label.")
    return _values(table, names[0]), _values(table, names[1])


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise not_text(path, error) from None


def _number(cell: str) -> Any:
    try:
        return int(cell)
    except ValueError:
        return cell


def _by_id(path: Path, ids: Sequence[Any], labels: Sequence[Any], own: Any) -> list[Any]:
    label_of = {str(key): label for key, label in zip(ids, labels)}
    if len(label_of) < len(ids):
        raise DataFileError(f"{path} holds {len(ids) - len(label_of)} ids more than once.")
    found = [label_of.get(str(key)) for key in own]
    if all(label is None for label in found):
        raise DataFileError(
            f"{path} labels none of the objects: its ids ({short(ids[0])}, ...) differ from {short(own[0])}, ..."
        )
    return found


def _cleaned(labels: Sequence[Any]) -> Any:
    """Labels of one kind: whole numbers even where gaps made them floats, None where there is none."""
    import numpy as np

    gap = [label is None or label == "" or label != label for label in labels]
    kept = [None if g else label for g, label in zip(gap, labels)]
    numbers = [label for label in kept if label is not None]
    if all(isinstance(label, float) and label.is_integer() for label in numbers):
        kept = [None if label is None else int(label) for label in kept]
    if not any(gap):
        return np.asarray(kept)
    array = np.empty(len(kept), dtype=object)
    array[:] = kept
    return array
