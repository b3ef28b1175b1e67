"""Prevalence of a model's groups over time, by a number and by a category: mean memberships, with intervals.

Objects are put into bins by what is known of them beside the views: a date, a number, a category. The prevalence of a
group in a bin is its mean membership there. The interval is that of the mean of n objects and of two more, one that has
the group and one that has not (after Agresti and Coull, 1998): none of 80 objects may mean 3 %. It says nothing of what
another fit would find.

    mean +- 1.96 s / sqrt(n + 2),     mean and s over the n + 2 memberships

An object whose cell holds several values, as a list, counts in the bin of each. One whose cell is empty counts in none,
and how many these are is said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.preprocessing.columns import as_table, as_years, read_dates
from coview.utils.messages import cut, quantity, short
from coview.utils.tables import ResultTable
from coview.utils.warn import warn_user
from coview.views.views import NamedViews

__all__ = ["Bins", "group_prevalence", "make_bins", "named_columns", "read_dated"]

LEAST_PERIODS, MOST_PERIODS = 4, 24  # of time
N_BINS = 8  # of numbers
FEW_NUMBERS = 12  # different numbers that are bins of their own
MOST_CATEGORIES = 30
SHOWN_GROUPS, NAME_LETTERS = 6, 24  # of a printed table
FEW = 20  # objects of a period, on average: with fewer, longer periods say more
DAYS, MONTHS = 0, (1, 3, 12, 120, 1200)  # days, and longer periods in months, up to centuries
NORMAL = 1.96  # standard errors of an interval at 95 %
MOSTLY = 0.5  # share of dates above which other texts are mistakes
SEVERAL = (list, tuple, set, frozenset, np.ndarray)  # cells of several values
_MONTH = re.compile(r"\d{4}(-\d{2})?")  # or a year, as text


@dataclass(frozen=True, eq=False)
class Bins:
    """Values in bins: the bin of each (-1 for none), a label and a place on the axis of each bin."""

    kind: str  # "time", "number" or "category"
    codes: np.ndarray
    labels: list[str]
    places: np.ndarray  # years, means of numbers, or positions


def group_prevalence(
    keys: Sequence[Any],
    names: Sequence[str],
    memberships: np.ndarray,
    values: Any,
    *,
    by: str = "value",
    n_bins: int | None = None,
) -> ResultTable:
    """Return the prevalence of groups, from memberships (objects x groups) and a value of each object.

    Examples
    --------
    >>> table = group_prevalence([0, 1], ["sea", "fox"], np.eye(2)[[0, 0, 1, 1]], ["a", "a", "a", "b"])
    >>> table["value"][::2], table.shares.round(2).tolist()
    (['a', 'b'], [[0.67, 0.33], [0.0, 1.0]])
    """
    values, objects = _single_values(values)
    bins, n = make_bins(values, by, n_bins), len(memberships)
    objects = np.arange(len(bins.codes)) if objects is None else objects
    if (n_given := int(objects.max(initial=-1)) + 1) != n:
        raise ViewsError(f"by must have one value for each of the {n:,} objects, got {n_given:,} values.")
    members = [np.unique(objects[bins.codes == b]) for b in range(len(bins.labels))]
    found = [_mean_and_interval(np.asarray(memberships[rows], dtype=np.float64)) for rows in members]
    shares, low, high = (np.array(part) for part in zip(*found))
    counts, n_missing = np.array([len(rows) for rows in members]), n - len(np.unique(objects[bins.codes >= 0]))
    if n_missing:
        warn_user(
            f"{n_missing:,} of {quantity(n, 'object')} {'has' if n_missing == 1 else 'have'} no value of {by!r}, and "
            f"{'is' if n_missing == 1 else 'are'} left out.",
            UserWarning,
            inside=True,
        )
    columns = {
        "value": np.repeat(bins.labels, len(keys)).tolist(),
        "group": [str(key) for key in keys] * len(members),
        "name": list(names) * len(members),
        **{name: part.ravel().tolist() for name, part in (("share", shares), ("low", low), ("high", high))},
        "n_objects": np.repeat(counts, len(keys)).tolist(),
    }
    title = f"Prevalence of {quantity(len(keys), 'group')} by {by}: {quantity(len(members), 'value')} of "
    title += quantity(n - n_missing, "object")
    if n_missing:
        title += f"; {n_missing:,} more without a value"
    if len(keys) > SHOWN_GROUPS:
        title += f"; {quantity(len(keys) - SHOWN_GROUPS, 'group')} not shown"
    head = [by, "objects", *(cut(str(name), NAME_LETTERS) for name in names[:SHOWN_GROUPS])]
    cells = [
        [f"{s:.2f}" + ("" if np.isnan(a) else f" ({a:.2f}-{b:.2f})") for s, a, b in zip(*row)][:SHOWN_GROUPS]
        for row in found
    ]
    rows = [[label, f"{count:,}", *line] for label, count, line in zip(bins.labels, counts, cells)]
    facts = {"by": by, "bins": bins, "n_objects": n, "n_missing": n_missing, "counts": counts}
    return ResultTable(columns, title, (head, rows), shares=shares, low=low, high=high, **facts)


def _single_values(values: Any) -> tuple[Any, np.ndarray | None]:
    """Values of cells that hold several, one by one, and whose they are; others as they are, and None."""
    column = isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping))
    if not column or getattr(values, "ndim", 1) != 1 or not any(isinstance(cell, SEVERAL) for cell in values):
        return values, None
    cells = [(list(cell) or [None]) if isinstance(cell, SEVERAL) else [cell] for cell in values]
    single = [value for cell in cells for value in cell]
    return single, np.repeat(np.arange(len(cells)), [len(cell) for cell in cells])


def _mean_and_interval(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of each column and its interval; NaN of a single row, which says nothing of others."""
    mean, ends = rows.mean(axis=0), np.array([[0.0], [1.0]])
    if len(rows) < 2:
        return mean, mean * np.nan, mean * np.nan
    more = np.vstack([rows, np.broadcast_to(ends, (2, rows.shape[1]))])
    wide = NORMAL * more.std(axis=0, ddof=1) / np.sqrt(len(more))
    middle = more.mean(axis=0)
    return mean, np.clip(middle - wide, 0.0, mean), np.clip(middle + wide, mean, 1.0)


def named_columns(
    X: Any,
    names: Sequence[Any],
    lists: Mapping[Any, Callable[[str], list[str]]] | None = None,
    parameter: str = "by",
) -> dict[str, Any]:
    """Return columns of a raw table by name.

    Texts of columns that are `lists` become the items that the function of the column splits them into. Messages say
    which `parameter` named the columns.

    Examples
    --------
    >>> named_columns({"body": ["red fox"], "venue": ["north"]}, ["venue"])
    {'venue': ['north']}
    >>> named_columns({"tags": ["red;blue", None]}, ["tags"], lists={"tags": lambda text: text.split(";")})
    {'tags': [['red', 'blue'], None]}
    """
    if isinstance(X, NamedViews) or X is None:
        raise ViewsError(
            f"{parameter} names the column {names[0]!r}, but X is no table with such columns. Pass the values of all "
            "objects."
        )
    table = as_table(X)
    table.check_has(list(names), f" for {parameter}")
    found: dict[str, Any] = {}
    for name in names:
        split = (lists or {}).get(name, lambda text: text)
        found[str(name)] = [split(cell) if isinstance(cell, str) else cell for cell in table.cells(name)]
    return found


# -- bins


def make_bins(values: Any, by: str = "value", n_bins: int | None = None) -> Bins:
    """Put objects into bins: dates by day, month, quarter, year or longer, numbers by quantiles, others by category.

    Examples
    --------
    >>> bins = make_bins(["2024-01-15", "2024-02-20", None, "2024-02-02"])
    >>> bins.kind, bins.labels, bins.codes.tolist()
    ('time', ['2024-01-15', '2024-02-02', '2024-02-20'], [0, 2, -1, 1])
    """
    cells = [None if isinstance(cell, str) and not cell.strip() else cell for cell in as_table({by: values}).cells(by)]
    if all(cell is None for cell in cells):
        raise ViewsError(f"{by!r} has no value: all {len(cells):,} of them are missing.")
    dates, shortest = read_dated(cells, by)
    if dates is not None:
        return _periods(dates, n_bins or MOST_PERIODS, [part for part in (DAYS, *MONTHS) if part >= shortest])
    column = as_table({by: cells}).column(by)
    if column.ndim == 1 and column.dtype.kind in "iuf":
        if np.isinf(column).any():
            raise ViewsError("by must hold finite numbers, got an infinite one. Leave such values out.")
        return _numbers(column.astype(np.float64), n_bins)
    if any(isinstance(cell, (*SEVERAL, dict)) for cell in cells):
        raise ViewsError("by must hold dates, numbers or categories, got lists.")
    return _categories(cells, n_bins or MOST_CATEGORIES, by)


def read_dated(cells: list[Any], by: str) -> tuple[np.ndarray | None, int]:
    """Return dates, where cells are dates but for a few (as missing), and the shortest period that they tell apart."""
    known, shortest = [cell for cell in cells if cell is not None], DAYS
    if all(isinstance(cell, str) and _MONTH.fullmatch(cell) for cell in known):
        shortest = 1 if any(len(cell) > 4 for cell in known) else 12
        cells = [cell and f"{cell}-01-01"[:10] for cell in cells]
    dates = read_dates(cells)
    if len(np.unique(first := dates[~np.isnat(dates)])) > 1 and (first == first.astype("datetime64[Y]")).all():
        shortest = 12  # years, written as their first days
    bad = [cell for cell, none in zip(cells, np.isnat(dates)) if none and cell is not None]
    if len(bad) >= MOSTLY * len(known):
        return None, shortest
    if bad:
        warn_user(
            f"{len(bad):,} of {len(known):,} values of {by!r} are no dates, such as {short(bad[0])}, and are left out. "
            "Write dates as 2026-11-15, 2026-11 or 2026.",
            UserWarning,
            inside=True,
        )
    return dates, shortest


def _periods(dates: np.ndarray, most: int, periods: Sequence[int]) -> Bins:
    """The shortest periods of which there are not too many, with enough objects, but two where dates differ."""
    known = ~np.isnat(dates)
    days, years = dates[known].astype("datetime64[D]"), as_years(dates[known])
    periods = [period for period in periods if len(np.unique(_period_of(days, period))) > 1] or periods[:1]
    for period, next_one in zip(periods, [*periods[1:], periods[-1]]):
        found, codes = np.unique(_period_of(days, period), return_inverse=True)
        longer = len(np.unique(_period_of(days, next_one)))
        if len(found) <= most and (len(days) >= FEW * len(found) or longer < LEAST_PERIODS):
            break
    all_codes = np.full(len(dates), -1)
    all_codes[known] = codes
    places = np.array([years[codes == p].mean() for p in range(len(found))])
    return Bins("time", all_codes, [_period_label(int(value), period) for value in found], places)


def _period_of(days: np.ndarray, months: int) -> np.ndarray:
    """Number of the period of so many months that each day is in; the day itself without months."""
    if not months:
        return days.astype(np.int64)
    return (days.astype("datetime64[M]").astype(np.int64) + 1970 * 12) // months


def _period_label(value: int, months: int) -> str:
    if not months:
        return str(np.datetime64(value, "D"))
    year, part = divmod(value * months, 12)
    if months > 12:
        return f"{year}s"
    return f"{year:04d}" + {1: f"-{part + 1:02d}", 3: f" Q{part // 3 + 1}", 12: ""}[months]


def _numbers(column: np.ndarray, n_bins: int | None) -> Bins:
    """Each number, where there are few; else bins of equally many objects, and those of frequent numbers."""
    known = ~np.isnan(column)
    values = column[known]
    edges, counts = np.unique(values, return_counts=True)
    if len(edges) > (FEW_NUMBERS if n_bins is None else n_bins):
        edges = _edges(edges, counts, n_bins or N_BINS)
    codes = np.full(len(column), -1)
    codes[known] = np.searchsorted(edges, values, side="right") - 1
    parts = [column[codes == b] for b in range(len(edges))]
    ends = [[f"{end:.0f}" if end % 1 == 0 else f"{end:.4g}" for end in (part.min(), part.max())] for part in parts]
    labels = [low if low == high else f"{low} to {high}" for low, high in ends]
    return Bins("number", codes, labels, np.array([part.mean() for part in parts]))


def _edges(different: np.ndarray, counts: np.ndarray, n_bins: int) -> np.ndarray:
    """First number of each bin: a bin is full with an equal share of what is left, or with one frequent number."""
    edges, left, held = [different[0]], float(counts.sum()), 0.0
    for value, count in zip(different, counts.astype(np.float64)):
        room = (left + held) / max(n_bins - len(edges) + 1, 1)
        if held and len(edges) < n_bins and held + count / 2 > room:
            edges.append(value)
            held = 0.0
        held += count
        left -= count
    return np.array(edges)


def _categories(cells: list[Any], most: int, by: str) -> Bins:
    """Categories, the most frequent first; what is rare is one more."""
    names = [None if cell is None else str(cell).strip() for cell in cells]
    counts = Counter(name for name in names if name is not None)
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    kept = ranked if len(ranked) <= most else ranked[: most - 1]
    others = ranked[len(kept) :]
    rest = sum(counts[name] for name in others)
    if 2 * rest > counts.total():
        warn_user(
            f"{by!r} has {len(ranked):,} different values. The {len(kept)} most frequent are shown; the others are "
            f"{rest:,} of {counts.total():,}. Is it a category? Dates are written as 2026-11-15; where a cell "
            "holds several values, make it a list.",
            UserWarning,
            inside=True,
        )
    labels = [*kept, f"{len(others):,} others"] if others else kept
    places = {name: i for i, name in enumerate(kept)}
    codes = np.array([-1 if name is None else places.get(name, len(kept)) for name in names])
    return Bins("category", codes, labels, np.arange(len(labels), dtype=np.float64))
