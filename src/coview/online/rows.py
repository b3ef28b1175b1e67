"""Rows of a stream as {view: features}, whatever file they come from, and their labels."""

from __future__ import annotations

from typing import Any

from coview.exceptions import DataFileError

__all__ = ["PLAIN", "as_text", "gathered", "key_names", "label_of", "take_texts"]

PLAIN = "x"  # the view of features that name no view


def take_texts(row: dict[str, Any], names: list[str]) -> None:
    """Make views of the cells whose columns have these names."""
    plain = row.get(PLAIN, {})
    for name in names:
        if isinstance(plain.get(name), str):
            row[name] = plain.pop(name)
    if not plain:
        row.pop(PLAIN, None)


def gathered(row: dict[str, Any]) -> dict[str, Any]:
    """Views of a row; bare numbers and flags are features of the view "x"."""
    views: dict[str, Any] = {}
    for key, value in row.items():
        if value is None or key == "id":
            continue
        if isinstance(value, dict):
            views[key] = {name: _value(key, name, item) for name, item in value.items() if item is not None}
        elif isinstance(value, (list, str)):
            views[key] = value
        else:
            views.setdefault(PLAIN, {})[key] = float(value)
    return views


def _value(view: str, feature: str, value: Any) -> Any:
    if isinstance(value, str):
        return value
    if not isinstance(value, (int, float)):
        raise DataFileError(f"View {view!r} has {value!r:.60} for {feature!r}; a number or a text is needed.")
    return float(value)


def label_of(value: Any, textual: bool) -> Any:
    """A label, None where there is none; with `textual`, numbers as text, since a table does not tell them apart."""
    if isinstance(value, float):
        if value != value:
            return None
        return as_text(value) if textual else int(value) if value.is_integer() else value
    if isinstance(value, str) and not value.strip():
        return None
    return value


def key_names(rows: list[dict[str, Any]], most: int = 8) -> str:
    """Names of keys and columns for a message: of views as they are, of cells in the view "x" by themselves."""
    found: dict[str, None] = {}
    for row in rows:
        for key, value in row.items():
            plain = key == PLAIN and isinstance(value, dict)
            found.update(dict.fromkeys(value if plain else [key]))
    names = [repr(name) for name in found]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "") or "none"


def as_text(label: float) -> str:
    return str(int(label)) if label.is_integer() else repr(label)
