"""Labels of objects, from a column of their table or from a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coview.cli.files import check_there, columns_of, ids_of, plain
from coview.exceptions import DataFileError
from coview.io.delimited import find_delimiter, unescape_cell
from coview.utils.messages import did_you_mean, listed, make_text_error, short
from coview.utils.warn import warn_user

__all__ = ["check_labels", "read_target"]


def check_labels(source: str | None, X: Any) -> None:
    """Refuse labels that are neither a column of the table that X is nor a file."""
    columns = columns_of(X)
    if columns and source is not None and source not in columns and not Path(source).exists():
        raise ValueError(
            f"--labels {source!r} is neither a file nor a column of the table, which has {listed(columns)}."
            f"{did_you_mean(source, columns)}"
        )


def read_target(source: str | None, X: Any, id: str | None = None) -> Any:
    """Return one label per object: of a column of the table that X is, or of a file; empty cells have no label.

    A file has a label per line, in the order of the objects, or is a table with a header: its column "label" (of two
    columns the other one) holds the labels, and its column "id" (or the first one) the ids of the objects. In place of
    ids a column "row" holds numbers of rows, from 0, as does the first column where the objects have no ids.
    """
    if source is None:
        return None
    check_labels(source, X)
    if source in columns_of(X):
        return _clean(plain({"": X[source]})[""])
    path = Path(source)
    check_there(path)
    ids = ids_of(X, id)
    labels = _read_lines(path, len(X))
    if labels is None:
        from coview import read_table

        table = read_table(path)
        names = columns_of(table)
        if len(names) > 1:
            return _clean(_join(path, table, names, len(X), ids))
        labels = plain({"": table[names[0]]})[""]
    if len(labels) != len(X):
        raise DataFileError(f"{path} holds {len(labels)} labels, but there are {len(X)} objects.")
    return _clean(labels)


def _read_lines(path: Path, n_rows: int) -> list[Any] | None:
    """Labels of an array, or of a text with one per line; None of a table."""
    kind = path.suffix.lower()
    if kind == ".npy":
        from coview.io.formats import load_matrix

        return load_matrix(path).tolist()
    if kind in (".parquet", ".json", ".jsonl"):
        return None
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise make_text_error(path, error) from None
    if not lines or find_delimiter(lines[0]) in lines[0]:
        return None
    while len(lines) > n_rows + 1 and not lines[-1].strip():
        lines.pop()
    # one line more than objects is a header, unless it is the only label, or comes again and the last line is empty
    if len(lines) == n_rows + 1 and any(lines[1:]) and (lines[-1].strip() or lines[0] not in lines[1:]):
        del lines[0]
    elif len(lines) == n_rows + 1 and not lines[-1].strip():
        del lines[-1]
    return [unescape_cell(line.strip().strip('"')) for line in lines]


def _join(path: Path, table: Any, names: list[str], n_rows: int, ids: Any) -> list[Any]:
    """Labels of the objects by the column of the table that names them."""
    key = next((name for name in ("id", "row") if name in names), names[0])
    label = "label" if "label" in names else names[names[0] == key]
    if len(names) > 2 and label != "label":
        raise DataFileError(
            f"{path} has {len(names)} columns; labels are one column, an id and a label, or a table whose columns "
            "are called id (or row) and label."
        )
    if label == "label" and any(name == "known" or name.startswith("p_") for name in names):
        warn_user(
            f"{path} has columns as coview predict writes them: if its labels are predictions, they are no truth to "
            "learn from or to check against.",
            UserWarning,
        )
    own = list(map(str, range(n_rows) if key == "row" or ids is None else ids))
    if key in own and key not in ("id", "row"):
        raise DataFileError(f"{path} has no header: its first line names the object {key!r}. Begin it with: id,label")
    keys, labels = (plain({"": table[name]})[""] for name in (key, label))
    label_of = {str(each): value for each, value in zip(keys, labels)}
    if len(label_of) < len(keys):
        raise DataFileError(f"{path} holds {len(keys) - len(label_of)} ids more than once.")
    unknown = sorted(set(label_of).difference(own))
    if len(unknown) == len(label_of):
        hint = " Name the column of ids: --id COLUMN." if ids is None else ""
        raise DataFileError(
            f"{path} labels none of the objects: its ids ({short(keys[0])}, ...) differ from {short(own[0])}, ...{hint}"
        )
    if unknown:
        warn_user(
            f"{len(unknown)} of {len(keys)} ids in {path} are not among the objects ({short(unknown[0])}, ...): their "
            "labels are not used.",
            UserWarning,
        )
    return [label_of.get(each) for each in own]


def _clean(labels: Sequence[Any]) -> Any:
    """Labels of one type: whole numbers where all are, None where there is none.

    A cell of -1 is the number among texts too, as in Python: a file may not tell numbers from texts.
    """
    import numpy as np

    from coview.io.tables import MISSING_CELLS
    from coview.utils.limits import text_array
    from coview.validation import is_gap

    if any(np.ndim(label) for label in labels):
        raise DataFileError("A label is a text or a number, but these are lists. Name a column of one per object.")
    texts = [label.strip() if isinstance(label, str) else label for label in labels]
    kept = [None if is_gap(label) or label in MISSING_CELLS else label for label in texts]
    whole = all(_is_whole(label) for label in kept if label is not None)
    kept = [int(label) if label == "-1" or (whole and label is not None) else label for label in kept]
    kinds = {type(label) for label in kept}
    same = {str(label).casefold(): str(label) for label in kept}
    if twin := next((str(label) for label in kept if same[str(label).casefold()] != str(label)), None):
        other = same[twin.casefold()]
        warn_user(f"The labels {twin!r} and {other!r} differ by capitals only; they are two classes.", UserWarning)
    if kinds == {str}:
        return text_array(kept, "labels")
    return np.asarray(kept) if len(kinds) == 1 else np.fromiter(kept, dtype=object, count=len(kept))


def _is_whole(label: Any) -> bool:
    """Tell whether a label is a whole number, or a text of one; 007 is a name."""
    if isinstance(label, float):
        return label.is_integer()
    return re.fullmatch(r"-?(0|[1-9]\d{0,17})", str(label)) is not None
