"""From runs to numbers: mean and standard deviation, the verdict beside a published figure, and the paper's claims."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import ttest_rel

from harness.paper import Figure, Paper, Table
from harness.store import Results

__all__ = ["POINTS", "Claim", "Numbers", "Ours", "check_claims", "column_name", "verdict"]

POINTS = 1.0  # two figures nearer than this are the same, however small the published deviation


class Ours(NamedTuple):
    """Our runs of one cell of a table: values by seed."""

    values: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def std(self) -> float:
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else 0.0


class Claim(NamedTuple):
    """What the paper says in words, whether it holds here, and what was found."""

    text: str
    holds: bool | None  # None: not all runs are there
    found: str
    coview: tuple[bool | None, str] | None = None  # the same with coview's own rows in place of the published ones


def verdict(ours: float, published: Figure) -> str:
    """Say "within" if the means differ by at most the published deviation or `POINTS`, else "above" or "below".

    >>> verdict(93.0, Figure(93.9, 0.2, "93.9 ± 0.2")), verdict(95.0, Figure(93.9, 0.2, "93.9 ± 0.2"))
    ('within', 'above')
    """
    if abs(ours - published.mean) <= max(published.std or 0.0, POINTS):
        return "within"
    return "above" if ours > published.mean else "below"


class Numbers:
    """The kept runs of a paper, looked up by table, data set, row, column and metric."""

    def __init__(self, paper: Paper, results: Results, runs: int) -> None:
        self.paper, self.results, self.runs = paper, results, runs
        self._tables: dict[str, dict[tuple[str, Any, str], dict[str, Ours]]] = {}

    def ours(self, table: Table, data: str, row: str, column: Any, metric: str) -> Ours | None:
        """Values of all runs of one cell of a table, by seed; None if some are missing.

        A row may come in variants, "CoTr_E|u=75": the one with the highest mean is given, as one does who tunes.
        """
        if table.name not in self._tables:
            self._tables[table.name] = self._collect(table)
        return self._tables[table.name].get((data, column, metric), {}).get(row)

    def _collect(self, table: Table) -> dict[tuple[str, Any, str], dict[str, Ours]]:
        values: dict[tuple[str, Any, str], dict[str, dict[int, float]]] = {}
        for cell in self.paper.cells([table.name], self.runs):
            record = self.results.runs.get(cell.key(self.paper.protocol), {"values": {}})
            column = cell[table.across] if table.across else None
            for metric, rows in record["values"].items():
                place = values.setdefault((cell.data, column, metric), {})
                for row, value in rows.items():
                    place.setdefault(row, {})[cell.seed] = value
        runs = self.paper.runs_of(table.experiment, self.runs)
        return {place: self._best(rows, runs) for place, rows in values.items()}

    def _best(self, rows: dict[str, dict[int, float]], runs: int) -> dict[str, Ours]:
        best: dict[str, Ours] = {}
        for row, by_seed in rows.items():
            if len(by_seed) < runs:
                continue
            ours = Ours(np.array([by_seed[seed] for seed in range(runs)]))
            plain = row.partition("|")[0]
            if plain not in best or ours.mean > best[plain].mean:
                best[plain] = ours
        return best

    def of_row(self, table: Table, data: str, row: str, metric: str) -> list[Ours | None]:
        """One row of a table, by column."""
        return [self.ours(table, data, row, column, metric) for column in table.columns[data] or (None,)]


def column_name(table: Table, column: Any) -> str:
    """Head of a column: "rate 0.01", but "view1" where the value speaks for itself."""
    return "" if table.across is None else column if isinstance(column, str) else f"{table.across} {column}"


def check_claims(table: Table, numbers: Numbers) -> Iterator[Claim]:
    """Check what the paper says in words about a table or figure, data set by data set."""
    for spec in table.claims:
        for data in spec.get("data", table.rows):
            where = numbers.paper.title_of(data)
            text = spec["text"] if len(spec.get("data", table.rows)) == 1 else f"{where}: {spec['text']}"
            instead = {**table.coview, **({spec["row"]: spec["ours"]} if "ours" in spec else {})}
            found = _checked(table, data, spec, numbers, {})
            yield Claim(text, *found, _checked(table, data, spec, numbers, instead) if instead else None)


def _checked(
    table: Table, data: str, spec: Mapping[str, Any], numbers: Numbers, instead: Mapping[str, str]
) -> tuple[bool | None, str]:
    """Whether a claim holds, and what was found, with other rows in place of some.

    The claim is about `spec["row"]`, compared with the rows that `spec["against"]` names: if it names none, with those
    that have published figures, or else with all but coview's.
    """
    others = [row for row in table.rows[data] if table.by.get(row) != "coview"]
    plain = dict.fromkeys([*spec.get("against", table.published[data] or others), *filter(None, [spec.get("row")])])
    rows: dict[tuple[str, str], list[Ours]] = {}
    for row, metric in itertools.product(plain, table.metrics):
        values = numbers.of_row(table, data, instead.get(row, row), metric)
        rows[instead.get(row, row), metric] = [ours for ours in values if ours is not None]
    if any(len(values) < max(len(table.columns[data]), 1) for values in rows.values()):
        return None, "not all runs are there"
    if "row" in spec:
        spec = {**spec, "row": instead.get(spec["row"], spec["row"])}
    holds, found = _CHECKS[spec["check"]](table, data, spec, rows)
    return holds is spec.get("expect", True), found


def _highest(table: Table, data: str, spec: Mapping[str, Any], rows: dict[Any, list[Ours]]) -> tuple[bool, str]:
    """Is no other row's mean higher, in any column (or those of `columns`) and metric?"""
    chosen = spec.get("columns", table.columns[data])
    gaps = [
        (ours.mean - other[c].mean, f"{row} {_named(table, data, c, metric)}".strip())
        for metric in table.metrics
        for c, ours in enumerate(rows[spec["row"], metric])
        for (row, kind), other in rows.items()
        if kind == metric and row != spec["row"] and (not chosen or table.columns[data][c] in chosen)
    ]
    gap, against = min(gaps)
    word = "least lead" if gap >= 0 else "behind"
    return gap >= 0, f"{word} {abs(gap):.2f} ({against})"


def _significant(table: Table, data: str, spec: Mapping[str, Any], rows: dict[Any, list[Ours]]) -> tuple[bool, str]:
    """Is it higher than each other row by a paired t-test (two-sided, 5 %), in every column?"""
    metric = table.metrics[0]
    shown, weakest = [], (-1.0, "")
    for c, ours in enumerate(rows[spec["row"], metric]):
        for (row, _), other in rows.items():
            if row == spec["row"]:
                continue
            gaps = ours.values - other[c].values
            same = np.ptp(gaps) < 1e-9  # the test is not defined; a constant lead is as sure as can be
            p = float(gaps[0] <= 0) if same else float(ttest_rel(ours.values, other[c].values).pvalue)
            p = p if gaps.mean() > 0 else 1.0
            shown.append(p < 0.05)
            weakest = max(weakest, (p, f"{row} {_named(table, data, c, metric)}".strip()))
    return all(shown), f"{sum(shown)} of {len(shown)} comparisons; weakest: {weakest[1]}"


def _at_least(table: Table, data: str, spec: Mapping[str, Any], rows: dict[Any, list[Ours]]) -> tuple[bool, str]:
    means = [ours.mean for ours in rows[spec["row"], table.metrics[0]]]
    best = spec["column"] == "best"
    mean = max(means) if best else means[table.columns[data].index(spec["column"])]
    # the paper prints whole numbers here: 93.6 is its 94
    return round(mean) >= spec["value"], f"{mean:.2f}"


def _best_at(table: Table, data: str, spec: Mapping[str, Any], rows: dict[Any, list[Ours]]) -> tuple[bool, str]:
    means = [ours.mean for ours in rows[spec["row"], table.metrics[0]]]
    best = table.columns[data][int(np.argmax(means))]
    asked = means[table.columns[data].index(spec["column"])]
    return best == spec["column"], f"best at {best} ({max(means):.2f}); {asked:.2f} at {spec['column']}"


def _better_at(table: Table, data: str, spec: Mapping[str, Any], rows: dict[Any, list[Ours]]) -> tuple[bool, str]:
    """Is the row higher at one column than at another by a paired t-test (two-sided, 5 %)?"""
    ours = rows[spec["row"], table.metrics[0]]
    here, there = (ours[table.columns[data].index(spec[place])] for place in ("column", "than"))
    same = np.ptp(here.values - there.values) < 1e-9
    p = 1.0 if same else float(ttest_rel(here.values, there.values).pvalue)
    return p < 0.05 and here.mean > there.mean, (
        f"{here.mean:.2f} at {spec['column']}, {there.mean:.2f} at {spec['than']} (p = {p:.2f})"
    )


def _spread(table: Table, data: str, spec: Mapping[str, Any], rows: dict[Any, list[Ours]]) -> tuple[bool, str]:
    means = [ours.mean for ours in rows[spec["row"], table.metrics[0]]]
    return max(means) - min(means) <= spec["value"], f"{min(means):.2f} to {max(means):.2f}"


def _named(table: Table, data: str, column: int, metric: str) -> str:
    parts = [column_name(table, table.columns[data][column])] if table.across else []
    return ", ".join([*parts, *([metric] if len(table.metrics) > 1 else [])])


_CHECKS = {
    "highest": _highest,
    "significant": _significant,
    "at_least": _at_least,
    "best_at": _best_at,
    "better_at": _better_at,
    "spread": _spread,
}
