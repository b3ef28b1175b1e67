"""What the columns of a table are, by what is in them: `guess_columns` says which views `TableViews` is to make."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.preprocessing.columns import (
    Table,
    as_table,
    find_missing,
    find_odd_cell,
    is_number_or_date,
    read_dates,
    read_vectors,
)
from coview.preprocessing.vectorizer import TextVectorizer, are_lists, find_separators, holds_ideographs
from coview.utils.messages import listed

__all__ = ["GuessedColumns", "guess_columns"]

_ID = re.compile(r"(?:^|[^a-zA-Z])(?i:id|key|uid|uuid|guid|doi)$|[a-z](?:Id|ID|Key)$")
# what people call what they want to predict
_LABEL = re.compile(
    r"(?:^|[^a-zA-Z])(?i:y|labels?|class|classes|category|categories|target|kind|type|genre|section|topic|cluster"
    r"|(?:sub)?group|subcategory|subclass)$"
)
_SAMPLE = 5_000  # rows
_FEW = 0.2  # of the rows: a label comes again and again
_SHARED = 0.5  # of the rows: categories come again, texts do not
_FEWEST_GAPS, _MOST_CLASSES = 0.5, 30  # of the rows, and values: a category that few rows have is likely a label
_FEWEST_WORDS = 1.25  # of texts, in the mean
_LONGEST_CATEGORY = 6  # words, at the median
_ODD = "it holds {!r} among numbers or dates: leave such cells empty"


@dataclass
class GuessedColumns:
    """Columns by what they are: the parameters of `TableViews`, and what is left out and why."""

    text: dict[str, Any] = field(default_factory=dict)
    tokens: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, list[Any]] = field(default_factory=dict)
    id: Any = None
    labels: list[Any] = field(default_factory=list)
    unused: dict[Any, str] = field(default_factory=dict)


def guess_columns(X: Any, id: Any = None, leave_out: Collection[Any] = ()) -> GuessedColumns:
    """Return what each column of a table is, by its values; its name decides only on ids and labels.

    Texts, lists and vectors are a view each. Categories are one view, and numbers one. Labels are no view, since
    clusters would only find them again: columns of few values that are called so (label, class, target, kind, ...), and
    unless the labels are known, categories of which half of the rows have none, and next to texts, lists or vectors all
    columns of few categories. Dates and years are no view either where there are other columns: groups are looked at
    over time, but would be periods if they knew it.

    Parameters
    ----------
    X : table
        What `TableViews` takes. Of many rows, a sample is looked at.
    id : str, optional
        Column that names the objects; else one of unique values without blanks that is called so, or the first column.
    leave_out : collection of columns, optional
        Columns that are known to be no views, such as the labels.

    Examples
    --------
    >>> table = {"key": ["a", "b", "c", "d"], "body": ["a red fox", "blue sea", "the old fox den", "a salty sea"],
    ...          "tags": ["new;red", "sea;new", "red;new", "sea;new"], "job": ["cook", "cook", "maid", "maid"],
    ...          "sent": ["Jun 12 1998", None, "May 1 1999", "Jun 2 1998"]}
    >>> found = guess_columns(table)
    >>> found.id, found.text, found.tokens, found.labels
    ('key', {'body': 'body'}, {'tags': 'tags'}, ['job'])
    >>> found.unused
    {'sent': 'it holds dates: see report --by'}
    """
    whole = as_table(X)
    found = GuessedColumns(id=_find_id(whole) if id is None else id)
    ids = None if found.id not in whole.sources else {str(cell) for cell in whole.cells(found.id)}
    table = whole.take(np.unique(np.linspace(0, whole.n_rows - 1, _SAMPLE).astype(int)))
    groups: dict[str, list[Any]] = {"gaps": [], "few categories": [], "categories": [], "numbers": [], "dates": []}
    for name in table.names:
        if name == found.id or name in leave_out:
            continue
        kind, why = _find_kind(table, name, ids, whole)
        if kind == "unused":
            found.unused[name] = why
        elif kind == "label":
            found.labels.append(name)
        elif kind in groups:
            groups[kind].append(name)
        else:
            target: Any = {"text": found.text, "tokens": found.tokens}.get(kind)
            view = _free_name(str(name), found)
            if target is None:
                found.columns[view] = [name]
            else:
                target[view] = name
    gaps, few, rich = (
        groups.pop("gaps"),
        groups.pop("few categories"),
        bool(found.text or found.tokens or found.columns),
    )
    if leave_out:
        few += gaps
    else:
        found.labels += [*gaps, *(few if rich else [])]
    if leave_out or not rich:
        groups["categories"] = [*few, *groups["categories"]]
    if rich or groups["categories"] or groups["numbers"]:
        found.unused |= dict.fromkeys(groups.pop("dates"), "it holds dates: see report --by")
    for kind, names in groups.items():
        if names:
            found.columns[_free_name(str(names[0]) if len(names) == 1 else kind, found)] = names
    if not (found.text or found.tokens or found.columns):
        raise ViewsError(
            f"None of the columns {listed(table.names)} can be read as a view.",
            python="Name those to use in text=, tokens= or columns=.",
            cli="Name those to use by --text, --tokens or --columns.",
        )
    return found


def _free_name(name: str, found: GuessedColumns) -> str:
    """A name for a view that no other view has; what is typed as NAME=COLUMN has no = in NAME."""
    name = name.replace("=", "_").strip()
    while name in (*found.text, *found.tokens, *found.columns):
        name += "_"
    return name


def _find_id(table: Table) -> Any:
    """The column that names the objects: unique values without blanks, and a name that says so or the first place."""
    first = next((name for name in table.names if str(name).strip()), None)  # pandas writes its index without a name
    for name in sorted(table.names, key=lambda name: not _ID.search(str(name))):
        named = bool(_ID.search(str(name)))
        if not str(name).strip() or not (named or name == first):
            continue
        cells = table.cells(name)
        plain = all(isinstance(cell, (str, int)) and not isinstance(cell, bool) for cell in cells)
        if not plain or len(set(map(str, cells))) < len(cells):
            continue
        counted = cells == list(range(cells[0], cells[0] + len(cells))) if isinstance(cells[0], int) else False
        if named or counted or all(isinstance(cell, str) and len(cell.split()) == 1 for cell in cells):
            return name
    return None


def _find_kind(table: Table, name: Any, ids: Collection[str] | None, whole: Table) -> tuple[str, str]:
    """What a column is: text, tokens, vector, categories, numbers, dates, label or unused; of unused ones also why."""
    if not str(name).strip():
        return "unused", "its name is empty: give it one to use it"
    cells = _filled_cells(table, name)
    if not cells:
        return "unused", "it has hardly any values"
    lists = [isinstance(cell, (list, tuple, np.ndarray)) for cell in cells]
    if all(lists):
        return _find_kind_of_lists(table, name, cells)
    if any(lists) or any(isinstance(cell, dict) for cell in cells):
        return "unused", "it holds records, or lists and other values"
    different = len({str(cell) for cell in cells})
    if different == 1:
        return "unused", "it has one value"
    few = different <= max(2, _FEW * len(cells))
    if few and _LABEL.search(str(name)) and not isinstance(cells[0], float):
        return "label", ""
    texts = all(isinstance(cell, str) for cell in cells)
    # one that is no number or date may be outside of the sample
    beyond = texts and table.n_rows < whole.n_rows and all(map(is_number_or_date, cells))
    if odd := find_odd_cell(_filled_cells(whole, name)) if beyond else None:
        return "unused", _ODD.format(odd[:30])
    values = table.column(name)
    if values.dtype != object:
        if _ID.search(str(name)):
            return "unused", "its numbers are names"
        dates = str(name).lower() == "year" or not np.isnat(read_dates(cells[:1])[0])
        return ("dates" if dates else "numbers"), ""
    if ids is not None and _are_links(cells, ids):
        return "tokens", ""
    if texts and (odd := find_odd_cell(cells)):
        return "unused", _ODD.format(odd[:30])
    kind, why = _find_kind_of_texts(cells, different) if texts else ("categories", "")
    if kind == "categories" and different <= _MOST_CLASSES and len(cells) <= (1 - _FEWEST_GAPS) * table.n_rows:
        return "gaps", ""
    return ("few categories" if few and kind == "categories" else kind), why


def _filled_cells(table: Table, name: Any) -> list[Any]:
    return [cell for cell in table.cells(name) if cell is not None and str(cell).strip()]


def _find_kind_of_lists(table: Table, name: Any, cells: list[Any]) -> tuple[str, str]:
    items = [item for cell in cells for item in cell]
    numbers = all(isinstance(item, (int, float, np.number)) and not isinstance(item, bool) for item in items)
    if items and numbers and any(isinstance(item, (float, np.floating)) for item in items):
        if len({len(cell) for cell in cells}) > 1:
            return "unused", "its lists of numbers have several lengths"
        values = read_vectors(name, table.sources[name])
        return (
            ("vector", "")
            if values is not None and not find_missing(values).all()
            else ("unused", "it has hardly any values")
        )
    if not all(isinstance(item, (str, int, np.integer)) for item in items):
        return "unused", "its lists hold neither texts nor numbers"
    return ("tokens", "") if items else ("unused", "it has hardly any values")


def _find_kind_of_texts(cells: list[str], different: int) -> tuple[str, str]:
    if are_lists(cells):
        return "tokens", ""
    words = [len(cell.split()) for cell in cells]
    if np.median(words) <= _LONGEST_CATEGORY and different <= _SHARED * len(cells):
        return "categories", ""
    if np.mean(words) >= _FEWEST_WORDS or holds_ideographs(cells):
        return "text", ""
    return "unused", "nearly every row has a value of its own"


def _are_links(cells: list[Any], ids: Collection[str]) -> bool:
    """Tell whether most items of a column are ids of the rows, one or several a cell."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    if len(texts) < len(cells):
        return False
    split = TextVectorizer(separator=find_separators(texts)).build_tokenizer()
    items = {item for text in texts for item in split(text)}
    return len(items) > 1 and 2 * len(items.intersection(ids)) > len(items)
