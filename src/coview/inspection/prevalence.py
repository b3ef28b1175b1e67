"""Prevalence of a model's groups over time, by a number and by a category: mean memberships, with intervals.

Objects are put into bins by what is known of them beside the views: a date, a number, a category. The prevalence of a
group in a bin is its mean membership there. The interval is that of other objects that could have been drawn in their
place (percentiles of the bootstrap; of many objects its limit, the normal distribution), with one more that has the
group and one that has not: none of 80 objects may mean 3 %. It says nothing of what another fit would find.

An object whose cell holds several values, as a list, counts in the bin of each. One whose cell is empty counts in none,
and how many these are is said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import norm

from coview.exceptions import ViewsError
from coview.preprocessing.columns import as_table, as_years, is_rows, read_dates
from coview.utils.messages import cut, listed, quantity, short
from coview.utils.tables import ColumnTable
from coview.utils.warn import warn_user
from coview.views.arrays import is_frame
from coview.views.views import NamedViews

__all__ = ["Bins", "PrevalenceTable", "check_one_column", "group_prevalence", "make_bins", "named_columns"]

LEAST_PERIODS, MOST_PERIODS = 4, 24  # of time
N_BINS = 8  # of numbers
FEW_NUMBERS = 12  # different numbers that are bins of their own
MOST_CATEGORIES = 30
N_BOOTSTRAP = 1_000
SHOWN_GROUPS, NAME_LETTERS = 6, 24  # of a printed table
FEW = 20  # objects of a period, on average: with fewer, longer periods say more
MANY = 2_000  # objects of a bin whose mean is as good as normal
PERIODS = ("D", "M", "Q", "H", "Y", "decade", "century", "millennium")
MOSTLY = 0.5  # share of dates above which other texts are mistakes
SEVERAL = (list, tuple, set, frozenset, np.ndarray)  # cells of several values
_MONTH = re.compile(r"\d{4}(-\d{2})?")  # or a year, as text


@dataclass(frozen=True)
class Bins:
    """Objects in bins: the bin of each (-1 for none), a label and a place on the axis of each bin.

    Where cells hold several values, `objects` says whose value each code is of.
    """

    kind: str  # "time", "number" or "category"
    codes: np.ndarray
    labels: list[str]
    places: np.ndarray  # years, means of numbers, or positions
    objects: np.ndarray | None = None


class PrevalenceTable(ColumnTable):
    """Prevalence of groups: one row per bin and group, as a dict of lists.

    Parameters
    ----------
    columns : dict of lists
        "value" (the bin), "group", "name", "share", "low", "high" and "n_objects".
    by : str
        What the objects were put into bins by.
    bins : Bins
        The bins.

    Attributes
    ----------
    by, bins
        The same.
    n_objects, n_missing : int
        Objects, and those among them that are in no bin since they have no value.
    counts : ndarray (n_bins,)
        Objects of each bin.
    shares, low, high : ndarray (n_bins, n_groups)
        Prevalence of each group in each bin, and its interval.
    """

    def __init__(self, columns: dict[str, list[Any]], by: str, bins: Bins) -> None:
        super().__init__(columns)
        self.by, self.bins = by, bins

    @property
    def n_objects(self) -> int:
        """Number of objects, with and without a value."""
        return len(self.bins.codes) if self.bins.objects is None else len(np.unique(self.bins.objects))

    @property
    def n_missing(self) -> int:
        """Number of objects without a value, which are in no bin."""
        known = self.bins.codes >= 0
        have = known.sum() if self.bins.objects is None else len(np.unique(self.bins.objects[known]))
        return self.n_objects - int(have)

    @property
    def counts(self) -> np.ndarray:
        """Number of objects of each bin."""
        return self._table("n_objects")[:, 0].astype(np.int64)

    @property
    def shares(self) -> np.ndarray:
        """Prevalence of each group in each bin (bins x groups)."""
        return self._table("share")

    @property
    def low(self) -> np.ndarray:
        """Lower end of the intervals (bins x groups)."""
        return self._table("low")

    @property
    def high(self) -> np.ndarray:
        """Upper end of the intervals (bins x groups)."""
        return self._table("high")

    def _table(self, column: str) -> np.ndarray:
        return np.array(self[column], dtype=np.float64).reshape(len(self.bins.labels), -1)

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        """A line for each bin, and a column for each of the groups, the first ones of many, with their intervals."""
        n = self.counts
        shares, lows, highs = self.shares, self.low, self.high
        groups = range(min(shares.shape[1], SHOWN_GROUPS))
        head = [self.by, "objects", *(cut(str(self["name"][g]), NAME_LETTERS) for g in groups)]
        rows = []
        for b, label in enumerate(self.bins.labels):
            parts = [(shares[b, g], lows[b, g], highs[b, g]) for g in groups]
            cells = [
                f"{share:.2f}" + ("" if np.isnan(low) else f" ({low:.2f}-{high:.2f})") for share, low, high in parts
            ]
            rows.append([label, f"{n[b]:,}", *cells])
        return head, rows

    def _title(self) -> str:
        groups = self.shares.shape[1]
        known = self.n_objects - self.n_missing
        without = (
            f"; {self.n_missing:,} more {'has' if self.n_missing == 1 else 'have'} no value" if self.n_missing else ""
        )
        if (hidden := groups - SHOWN_GROUPS) > 0:
            without += f"; {quantity(hidden, 'more group')} {'is' if hidden == 1 else 'are'} not shown"
        return (
            f"Prevalence of {quantity(groups, 'group')} by {self.by}: {quantity(len(self.bins.labels), 'value')} of "
            f"{quantity(known, 'object')}{without}"
        )


def group_prevalence(
    keys: Sequence[Any],
    names: Sequence[str],
    memberships: np.ndarray,
    values: Any,
    *,
    by: str = "value",
    n_bins: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> PrevalenceTable:
    """Return the prevalence of groups, from memberships (objects x groups) and a value of each object.

    Examples
    --------
    >>> table = group_prevalence([0, 1], ["sea", "fox"], np.eye(2)[[0, 0, 1, 1]], ["a", "a", "a", "b"])
    >>> table["value"][::2], table.shares.round(2).tolist()
    (['a', 'b'], [[0.67, 0.33], [0.0, 1.0]])
    """
    values, objects = _single_values(values)
    if objects is None:
        bins = make_bins(values, len(memberships), by, n_bins)
    else:
        _check_length(int(objects[-1]) + 1 if len(objects) else 0, len(memberships))
        bins = replace(make_bins(values, len(values), by, n_bins), objects=objects)
    columns: dict[str, list[Any]] = {
        name: [] for name in ("value", "group", "name", "share", "low", "high", "n_objects")
    }
    for b, label in enumerate(bins.labels):
        here = np.flatnonzero(bins.codes == b)
        here = here if objects is None else np.unique(objects[here])
        rows = np.asarray(memberships[here], dtype=np.float64)
        low, high = _interval(rows, confidence, np.random.default_rng([seed, b]))
        columns["value"] += [label] * len(keys)
        columns["group"] += [str(key) for key in keys]
        columns["name"] += list(names)
        columns["share"] += rows.mean(axis=0).tolist()
        columns["low"] += low.tolist()
        columns["high"] += high.tolist()
        columns["n_objects"] += [len(rows)] * len(keys)
    table = PrevalenceTable(columns, by, bins)
    if table.n_missing:
        have, are = ("has", "is") if table.n_missing == 1 else ("have", "are")
        warn_user(
            f"{table.n_missing:,} of {quantity(table.n_objects, 'object')} {have} no value of {by!r}, and {are} left "
            "out.",
            UserWarning,
            inside=True,
        )
    return table


def _single_values(values: Any) -> tuple[Any, np.ndarray | None]:
    """Values of cells that hold several, one by one, and whose they are; others as they are, and None."""
    column = isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping))
    if isinstance(values, np.ndarray) and values.ndim != 1:
        column = False
    if not column or not any(isinstance(cell, SEVERAL) for cell in values):
        return values, None
    single: list[Any] = []
    objects: list[int] = []
    for number, cell in enumerate(values):
        # a set has no order, and the bins need none
        several = list(cell) if isinstance(cell, SEVERAL) else [cell]
        single += several or [None]
        objects += [number] * max(len(several), 1)
    return single, np.array(objects)


def _check_length(length: int, n_objects: int) -> None:
    if length != n_objects:
        raise ViewsError(f"by must have one value for each of the {n_objects:,} objects, got {length:,} values.")


def _interval(rows: np.ndarray, confidence: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Interval of the mean of each column; NaN of a single row, which says nothing of others.

    One more object with and one without the group are among those drawn: where all objects are alike, the bootstrap
    alone would leave no doubt at all.
    """
    if len(rows) < 2:
        return np.full(rows.shape[1], np.nan), np.full(rows.shape[1], np.nan)
    rows = np.vstack([rows, np.zeros(rows.shape[1]), np.ones(rows.shape[1])])
    n = len(rows)
    if n > MANY:
        wide = norm.ppf(0.5 + confidence / 2) * rows.std(axis=0, ddof=1) / np.sqrt(n)
        mean = rows.mean(axis=0)
        return np.maximum(mean - wide, 0.0), np.minimum(mean + wide, 1.0)
    drawn = rng.multinomial(n, np.full(n, 1.0 / n), size=N_BOOTSTRAP) @ rows / n
    low, high = np.quantile(drawn, [0.5 - confidence / 2, 0.5 + confidence / 2], axis=0)
    mean = rows[:-2].mean(axis=0)
    return np.minimum(low, mean), np.maximum(high, mean)


def check_one_column(by: Any, X: Any) -> None:
    """Refuse several columns at once: each makes a table of its own.

    Examples
    --------
    >>> check_one_column(["venue", "year"], {"venue": ["north"], "year": [2024]})
    Traceback (most recent call last):
    coview.exceptions.ViewsError: by names 'venue', 'year', but a table is made by one of them: call prevalence once ...
    """
    several = isinstance(by, (Mapping, list, tuple)) and len(by) > 0 and all(isinstance(name, str) for name in by)
    columns = as_table(X).names if several and (is_frame(X) or is_rows(X) or isinstance(X, Mapping)) else []
    if several and (isinstance(by, Mapping) or all(name in columns for name in by)):
        first = next(iter(by))
        one = f"by={first!r}" if first in columns else f"by=the values of {first!r}"
        raise ViewsError(
            f"by names {listed(by)}, but a table is made by one of them: call prevalence once for each, {one}."
        )


def named_columns(
    X: Any, names: Sequence[Any], parameter: str = "by", lists: Mapping[Any, Callable[[str], list[str]]] | None = None
) -> dict[str, Any]:
    """Return columns of a raw table by name; `parameter` is what named them.

    Texts of columns that are `lists` become the items that the function of the column splits them into.

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


def make_bins(values: Any, n_objects: int, by: str = "value", n_bins: int | None = None) -> Bins:
    """Put objects into bins: dates by day, month, quarter, year or longer, numbers by quantiles, others by category.

    Examples
    --------
    >>> bins = make_bins(["2024-01-15", "2024-02-20", None, "2024-02-02"], 4)
    >>> bins.kind, bins.labels, bins.codes.tolist()
    ('time', ['2024-01-15', '2024-02-02', '2024-02-20'], [0, 2, -1, 1])
    """
    cells = [None if isinstance(cell, str) and not cell.strip() else cell for cell in as_table({by: values}).cells(by)]
    _check_length(len(cells), n_objects)
    if all(cell is None for cell in cells):
        raise ViewsError(f"{by!r} has no value: all {n_objects:,} of them are missing.")
    dates, shortest = _as_dates(cells, by)
    if dates is not None:
        periods = PERIODS[PERIODS.index(shortest) :]
        if n_bins is None:  # half-years only where `n_bins` asks for few bins
            periods = tuple(period for period in periods if period != "H")
        return _periods(dates, n_bins or MOST_PERIODS, periods)
    column = as_table({by: cells}).column(by)
    if column.ndim == 1 and column.dtype.kind in "iuf":
        if np.isinf(column).any():
            raise ViewsError("by must hold finite numbers, got an infinite one. Leave such values out.")
        return _numbers(column.astype(np.float64), n_bins)
    if any(isinstance(cell, (*SEVERAL, dict)) for cell in cells):
        raise ViewsError("by must hold dates, numbers or categories, got lists.")
    return _categories(cells, n_bins or MOST_CATEGORIES, by)


def _as_dates(cells: list[Any], by: str) -> tuple[np.ndarray | None, str]:
    """Dates, where cells are dates but for a few, which count as missing; and the shortest period they tell apart."""
    known, shortest = [cell for cell in cells if cell is not None], "D"
    if all(isinstance(cell, str) and _MONTH.fullmatch(cell) for cell in known):
        shortest = "M" if any(len(cell) > 4 for cell in known) else "Y"
        cells = [cell and f"{cell}-01-01"[:10] for cell in cells]
    dates = read_dates(cells)
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


def _periods(dates: np.ndarray, most: int, periods: Sequence[str]) -> Bins:
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


def _period_of(days: np.ndarray, period: str) -> np.ndarray:
    """Number of the period that each day is in."""
    if period == "D":
        return days.astype(np.int64)
    months = days.astype("datetime64[M]").astype(np.int64)
    per = {"M": 1, "Q": 3, "H": 6, "Y": 12, "decade": 120, "century": 1200, "millennium": 12000}[period]
    return (months + 1970 * 12) // per


def _period_label(value: int, period: str) -> str:
    if period == "D":
        return str(np.datetime64(value, "D"))
    if period == "M":
        return f"{value // 12:04d}-{value % 12 + 1:02d}"
    if period == "Q":
        return f"{value // 4:04d} Q{value % 4 + 1}"
    if period == "H":
        return f"{value // 2:04d} H{value % 2 + 1}"
    return {
        "Y": f"{value:04d}",
        "decade": f"{10 * value}s",
        "century": f"{100 * value}s",
        "millennium": f"{1000 * value}s",
    }[period]


def _numbers(column: np.ndarray, n_bins: int | None) -> Bins:
    """Each number, where there are few; else bins of equally many objects, and those of frequent numbers."""
    known = ~np.isnan(column)
    values = column[known]
    different, counts = np.unique(values, return_counts=True)
    if len(different) <= (FEW_NUMBERS if n_bins is None else n_bins):
        codes, labels = np.searchsorted(different, values), _labels(different)
    else:
        edges = _edges(different, counts, N_BINS if n_bins is None else n_bins)
        codes = np.searchsorted(edges, values, side="right") - 1
        low = _labels(different[np.searchsorted(different, edges)])
        last = np.append(np.searchsorted(different, edges[1:]) - 1, len(different) - 1)
        high = _labels(different[last])
        labels = [a if a == b else f"{a} to {b}" for a, b in zip(low, high)]
        labels = labels if len(set(labels)) == len(labels) else [f"{label} ({i})" for i, label in enumerate(labels, 1)]
    all_codes = np.full(len(column), -1)
    all_codes[known] = codes
    return Bins("number", all_codes, labels, np.array([values[codes == b].mean() for b in range(len(labels))]))


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


def _labels(numbers: np.ndarray) -> list[str]:
    """Numbers as texts that differ where the numbers do: with four digits, or as many as it takes."""
    for digits in (4, 6, 9, 12):
        texts = [f"{value:.{digits}g}" if value % 1 or abs(value) >= 1e15 else f"{value:.0f}" for value in numbers]
        if len(set(texts)) == len(set(numbers.tolist())):
            return texts
    return [repr(value) for value in numbers.tolist()]


def _categories(cells: list[Any], most: int, by: str) -> Bins:
    """Categories, the most frequent first; what is rare is one more."""
    names = [None if cell is None else str(cell).strip() for cell in cells]
    counts = Counter(name for name in names if name is not None)
    ranked = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    kept = ranked if len(ranked) <= most else ranked[: most - 1]
    labels = kept if len(kept) == len(ranked) else [*kept, f"{len(ranked) - len(kept):,} others"]
    rest = sum(counts[name] for name in ranked[len(kept) :])
    if 2 * rest > counts.total():
        warn_user(
            f"{by!r} has {len(ranked):,} different values. The {len(kept)} most frequent are shown; the others are "
            f"{rest:,} of {counts.total():,}. Is it a category? Dates are written as 2026-11-15; where a cell "
            "holds several values, make it a list.",
            UserWarning,
            inside=True,
        )
    places = {name: i for i, name in enumerate(kept)}
    codes = np.array([-1 if name is None else places.get(name, len(kept)) for name in names])
    return Bins("category", codes, labels, np.arange(len(labels), dtype=np.float64))
