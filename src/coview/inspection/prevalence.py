"""Prevalence of a model's groups over time, by a number and by a category: mean memberships, with intervals.

Objects are put into bins by what is known of them beside the views: a date, a number, a category. The prevalence of a
group in a bin is its mean membership there. The interval is that of other objects that could have been drawn in their
place (percentiles of the bootstrap; of many objects its limit, the normal distribution): it says nothing of what
another fit would find.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from coview.exceptions import ViewsError
from coview.preprocessing.raw_columns import Column, as_table, read_dates
from coview.utils.messages import cut, short
from coview.utils.tables import ColumnTable

__all__ = ["Bins", "PrevalenceTable", "group_prevalence", "make_bins"]

LEAST_PERIODS, MOST_PERIODS = 4, 24  # of time
N_BINS = 8  # of numbers
FEW_NUMBERS = 12  # different numbers that are bins of their own
MOST_CATEGORIES = 30
N_BOOTSTRAP = 1_000
SHOWN_GROUPS, NAME_LETTERS = 6, 24  # of a printed table
FEW = 20  # objects of a period, on average: with fewer, longer periods say more
MANY = 2_000  # objects of a bin whose mean is as good as normal
PERIODS = ("D", "M", "Q", "Y", "decade", "century")
REST = "other"


@dataclass(frozen=True)
class Bins:
    """Objects in bins: the bin of each (-1 for none), a label and a place on the axis of each bin."""

    kind: str  # "time", "number" or "category"
    codes: np.ndarray
    labels: list[str]
    places: np.ndarray  # years, means of numbers, or positions


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
    shares, low, high : ndarray (n_bins, n_groups)
        Prevalence of each group in each bin, and its interval.
    """

    noun = "row"

    def __init__(self, columns: dict[str, list[Any]], by: str, bins: Bins) -> None:
        super().__init__(columns)
        self.by, self.bins = by, bins

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
        n = np.bincount(self.bins.codes[self.bins.codes >= 0], minlength=len(self.bins.labels))
        groups = range(min(self.shares.shape[1], SHOWN_GROUPS))
        head = [self.by, "objects", *(cut(str(self["name"][g]), NAME_LETTERS) for g in groups)]
        rows = []
        for b, label in enumerate(self.bins.labels):
            parts = [(self.shares[b, g], self.low[b, g], self.high[b, g]) for g in groups]
            cells = [
                f"{share:.2f}" + ("" if np.isnan(low) else f" ({low:.2f}-{high:.2f})") for share, low, high in parts
            ]
            rows.append([label, f"{n[b]:,}", *cells])
        return head, rows

    def _title(self) -> str:
        groups = self.shares.shape[1]
        known, all_of_them = int((self.bins.codes >= 0).sum()), len(self.bins.codes)
        without = f"; {all_of_them - known:,} more have no value" if known < all_of_them else ""
        return (
            f"Prevalence of {groups} groups by {self.by}: {len(self.bins.labels)} values of {known:,} objects{without}"
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
    bins = make_bins(values, len(memberships), by, n_bins)
    columns: dict[str, list[Any]] = {
        name: [] for name in ("value", "group", "name", "share", "low", "high", "n_objects")
    }
    for b, label in enumerate(bins.labels):
        rows = np.asarray(memberships[bins.codes == b], dtype=np.float64)
        low, high = _interval(rows, confidence, np.random.default_rng([seed, b]))
        columns["value"] += [label] * len(keys)
        columns["group"] += [str(key) for key in keys]
        columns["name"] += list(names)
        columns["share"] += rows.mean(axis=0).tolist()
        columns["low"] += low.tolist()
        columns["high"] += high.tolist()
        columns["n_objects"] += [len(rows)] * len(keys)
    return PrevalenceTable(columns, by, bins)


def _interval(rows: np.ndarray, confidence: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Interval of the mean of each column; NaN of a single row, which says nothing of others."""
    n = len(rows)
    if n < 2:
        return np.full(rows.shape[1], np.nan), np.full(rows.shape[1], np.nan)
    if n > MANY:
        wide = norm.ppf(0.5 + confidence / 2) * rows.std(axis=0, ddof=1) / np.sqrt(n)
        mean = rows.mean(axis=0)
        return np.maximum(mean - wide, 0.0), np.minimum(mean + wide, 1.0)
    drawn = rng.multinomial(n, np.full(n, 1.0 / n), size=N_BOOTSTRAP) @ rows / n
    low, high = np.quantile(drawn, [0.5 - confidence / 2, 0.5 + confidence / 2], axis=0)
    return low, high


# -- bins


def make_bins(values: Any, n_objects: int, by: str = "value", n_bins: int | None = None) -> Bins:
    """Put objects into bins: dates by day, month, quarter, year or longer, numbers by quantiles, others by category.

    Examples
    --------
    >>> bins = make_bins(["2024-01-15", "2024-02-20", None, "2024-02-02"], 4)
    >>> bins.kind, bins.labels, bins.codes.tolist()
    ('time', ['2024-01-15', '2024-02-02', '2024-02-20'], [0, 2, -1, 1])
    """
    column = as_table({by: values}, "prevalence").column(by)
    if len(column.values) != n_objects:
        raise ViewsError(
            f"by must have one value for each of the {n_objects:,} objects, got {len(column.values):,} values."
        )
    if column.missing.all():
        raise ViewsError(f"by has no value: all {n_objects:,} of them are missing.")
    years = read_dates(column)
    if years is not None:
        return _periods(years, n_bins or MOST_PERIODS)
    if column.kind == "number":
        return _numbers(column, n_bins or N_BINS)
    if column.kind == "vector" or (column.kind == "other" and not _are_names(column)):
        example = short(column.values[np.flatnonzero(~column.missing)[0]])
        raise ViewsError(f"by must hold dates, numbers or categories, got {column.type_name} such as {example}.")
    return _categories(column, n_bins or MOST_CATEGORIES)


def _are_names(column: Column) -> bool:
    return all(isinstance(value, (str, int, float, bool, np.generic)) for value in column.values[~column.missing])


def _periods(years: Column, most: int) -> Bins:
    """Days, or the shortest longer periods of which there are not too many."""
    known = ~years.missing
    first = np.floor(years.values[known]).astype(np.int64)
    begin = (first - 1970).astype("datetime64[Y]").astype("datetime64[D]")
    length = ((first - 1969).astype("datetime64[Y]").astype("datetime64[D]") - begin).astype(np.int64)
    days = begin + np.floor((years.values[known] - first) * length + 1e-6).astype(np.int64)
    for period in PERIODS:
        found, codes = np.unique(_period_of(days, period), return_inverse=True)
        longer = len(np.unique(_period_of(days, PERIODS[min(PERIODS.index(period) + 1, len(PERIODS) - 1)])))
        if len(found) <= most and (len(days) >= FEW * len(found) or longer < LEAST_PERIODS):
            break
    all_codes = np.full(len(years.values), -1)
    all_codes[known] = codes
    places = np.array([years.values[known][codes == p].mean() for p in range(len(found))])
    return Bins("time", all_codes, [_period_label(int(value), period) for value in found], places)


def _period_of(days: np.ndarray, period: str) -> np.ndarray:
    """Number of the period that each day is in."""
    if period == "D":
        return days.astype(np.int64)
    months = days.astype("datetime64[M]").astype(np.int64)
    per = {"M": 1, "Q": 3, "Y": 12, "decade": 120, "century": 1200}[period]
    return (months + 1970 * 12) // per


def _period_label(value: int, period: str) -> str:
    if period == "D":
        return str(np.datetime64(value, "D"))
    if period == "M":
        return f"{value // 12:04d}-{value % 12 + 1:02d}"
    if period == "Q":
        return f"{value // 4:04d} Q{value % 4 + 1}"
    return {"Y": f"{value:04d}", "decade": f"{10 * value}s", "century": f"{100 * value}s"}[period]


def _numbers(column: Column, n_bins: int) -> Bins:
    """Each number, where there are few; else as many equally large bins as asked for."""
    known = ~column.missing
    values = column.values[known].astype(np.float64)
    different = np.unique(values)
    if len(different) <= max(FEW_NUMBERS, 0):
        codes, labels = np.searchsorted(different, values), [f"{value:g}" for value in different]
    else:
        edges = np.unique(np.quantile(values, np.linspace(0, 1, n_bins + 1)))
        codes = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
        there, codes = np.unique(codes, return_inverse=True)
        labels = [f"{edges[b]:.4g} to {edges[b + 1]:.4g}" for b in there]
    all_codes = np.full(len(column.values), -1)
    all_codes[known] = codes
    return Bins("number", all_codes, labels, np.array([values[codes == b].mean() for b in range(len(labels))]))


def _categories(column: Column, most: int) -> Bins:
    """Categories, the most frequent first; what is rare is one more."""
    names = [None if gap else str(value) for value, gap in zip(column.values, column.missing)]
    counts = Counter(name for name in names if name is not None)
    ranked = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    kept = ranked if len(ranked) <= most else ranked[: most - 1]
    labels = kept if len(kept) == len(ranked) else [*kept, REST]
    places = {name: i for i, name in enumerate(kept)}
    codes = np.array([-1 if name is None else places.get(name, len(kept)) for name in names])
    return Bins("category", codes, labels, np.arange(len(labels), dtype=np.float64))
