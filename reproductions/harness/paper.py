"""A paper: its published figures and its protocol (`paper.toml`), and the code of its experiments (`experiment.py`).

Every combination of experiment, data set, method, setting and seed is one run, described by a `Cell`.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

__all__ = ["BY", "Cell", "Figure", "Note", "Paper", "Table", "load_experiment", "read_paper"]

BY = ("paper", "coview", "baseline")  # whose algorithm a row runs; `[by]` in paper.toml lists the rows of each

_FIGURE = re.compile(r"^(\d+(?:\.\d+)?)(?:\s*±\s*(\d+(?:\.\d+)?))?$")


class Figure(NamedTuple):
    """A published number; `std` is None where the paper gives none."""

    mean: float
    std: float | None
    text: str


class Note(NamedTuple):
    """A remark on some figures of a table; `explained` says whether it tells why they are not the published ones."""

    data: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[Any, ...]  # () for all
    explained: bool | None  # None: it is about something else
    text: str

    def covers(self, row: str, column: Any) -> bool:
        """Return whether the note is about this figure."""
        return row in self.rows and (not self.columns or column in self.columns)


@dataclass(frozen=True)
class Cell:
    """One run: what it measures, on what, how, with which settings and seed."""

    experiment: str
    data: str
    method: str
    setting: tuple[tuple[str, Any], ...]
    seed: int

    def key(self, protocol: str) -> str:
        """Full description as one line of JSON; two runs with the same key are the same run."""
        parts = [protocol, self.experiment, self.data, self.method, dict(sorted(self.setting)), self.seed]
        return json.dumps(parts, separators=(",", ":"))

    def __getitem__(self, name: str) -> Any:
        return dict(self.setting)[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Value of a setting, or the default where the run has no such setting."""
        return dict(self.setting).get(name, default)


@dataclass(frozen=True)
class Table:
    """A table or figure of the paper: where ours come from, and what is printed."""

    name: str
    title: str
    experiment: str
    metrics: tuple[str, ...]
    across: str | None
    rows: Mapping[str, tuple[str, ...]]  # data set -> rows, published ones first
    columns: Mapping[str, tuple[Any, ...]]  # data set -> values of `across`
    published: Mapping[str, Mapping[str, tuple[Figure, ...]]]  # data set -> row -> one figure per column
    claims: tuple[Mapping[str, Any], ...]
    note: str
    notes: tuple[Note, ...]
    by: Mapping[str, str]  # row -> one of BY
    figure: str | None
    figure_rows: tuple[str, ...]
    coview: Mapping[str, str]  # row of the published algorithm -> row of coview's own in its place


@dataclass(frozen=True)
class Paper:
    """All that `paper.toml` says."""

    folder: Path
    raw: Mapping[str, Any]
    tables: tuple[Table, ...]

    @property
    def protocol(self) -> str:
        """Version of the protocol; runs of another version do not count."""
        return str(self.raw["protocol"])

    @property
    def runs(self) -> int:
        """Number of seeds, as in the paper."""
        return int(self.raw["runs"])

    def runs_of(self, experiment: str, runs: int | None = None) -> int:
        """Number of seeds of an experiment: `runs` (as in the paper), or fewer where `paper.toml` says so."""
        wanted = self.runs if runs is None else runs
        return min(wanted, int(self.raw["experiments"][experiment].get("runs", wanted)))

    def title_of(self, data: str) -> str:
        """Name of a data set as the paper prints it."""
        return str(self.raw["data"][data].get("title", data))

    @property
    def unavailable(self) -> dict[str, str]:
        """Data sets of the paper that nobody can have, and why: they are listed, and nothing is run."""
        return {data: spec["unavailable"] for data, spec in self.raw["data"].items() if "unavailable" in spec}

    def cells(self, tables: list[str] | None = None, runs: int | None = None) -> list[Cell]:
        """Every run that the given tables (all by default) need; each once, though two tables may share it."""
        wanted = dict.fromkeys(table.experiment for table in self.tables if tables is None or table.name in tables)
        return [cell for name in wanted for cell in self._cells_of(name, self.runs_of(name, runs))]

    def _cells_of(self, name: str, runs: int) -> Iterator[Cell]:
        spec = self.raw["experiments"][name]
        there = [data for data in spec["data"] if data not in self.unavailable]
        for data, method in itertools.product(there, spec["methods"]):
            if method in spec.get("left_out", {}).get(data, ()):  # the table says "not run"
                continue
            for setting in _settings(spec, data):
                for seed in range(runs):
                    yield Cell(name, data, method, setting, seed)


def read_paper(folder: str | Path) -> Paper:
    """Read `paper.toml`, and refuse what does not fit together before anything is run."""
    folder = Path(folder)
    with open(folder / "paper.toml", "rb") as file:
        raw = tomllib.load(file)
    by = {row: kind for kind in BY for row in raw.get("by", {}).get(kind, ())}
    tables = tuple(_table(name, spec, raw["experiments"], by) for name, spec in raw["tables"].items())
    return Paper(folder, raw, tables)


@cache
def load_experiment(folder: str) -> ModuleType:
    """Load `experiment.py` of a paper's folder: `load(data, options)` and `run(cell, options)`; once per process."""
    path = Path(folder) / "experiment.py"
    spec = importlib.util.spec_from_file_location(f"reproduction_{path.parent.name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{str(path)!r} is no Python module.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _settings(spec: Mapping[str, Any], data: str) -> list[tuple[tuple[str, Any], ...]]:
    grid = spec.get("grids", {}).get(data, spec.get("grid", {}))
    return [tuple(zip(grid, values)) for values in itertools.product(*grid.values())]


def _table(name: str, spec: Mapping[str, Any], experiments: Mapping[str, Any], listed: Mapping[str, str]) -> Table:
    if spec["experiment"] not in experiments:
        raise ValueError(f"Table {name!r} needs experiment {spec['experiment']!r}, which paper.toml does not have.")
    experiment = experiments[spec["experiment"]]
    across = spec.get("across")
    rows, columns, published, coview = {}, {}, {}, spec.get("coview", {})
    by = {**dict.fromkeys(coview, "paper"), **dict.fromkeys(coview.values(), "coview"), **listed}
    for data in experiment["data"]:
        printed = {row: tuple(map(_figure, texts)) for row, texts in spec.get("published", {}).get(data, {}).items()}
        columns[data] = _columns(name, experiment, data, across)
        for row, figures in printed.items():
            if len(figures) != max(len(columns[data]), 1):
                raise ValueError(
                    f"Table {name!r}, {data}, {row}: {len(figures)} published figures for {len(columns[data])} columns."
                )
        published[data] = printed
        plain = [*printed, *spec.get("rows", {}).get(data, [])]
        rows[data] = tuple(dict.fromkeys(row for each in plain for row in (each, coview.get(each, each))))
        for row in rows[data]:
            if listed and row not in by:
                raise ValueError(f"Table {name!r}, {row!r}: whose algorithm is it? List it in [by] of paper.toml.")
            if by.get(row) == "coview" and row in printed:
                raise ValueError(f"Table {name!r}, {row!r}: a row of coview's cannot have published figures.")
    return Table(
        name,
        spec["title"],
        spec["experiment"],
        tuple(spec["metrics"]),
        across,
        {data: names for data, names in rows.items() if names},
        columns,
        published,
        tuple(spec.get("claims", ())),
        spec.get("note", ""),
        tuple(_note(name, note, rows, columns) for note in spec.get("notes", ())),
        by,
        spec.get("figure"),
        tuple(spec.get("figure_rows", ())),
        coview,
    )


def _note(name: str, spec: Mapping[str, Any], rows: Mapping[str, Any], columns: Mapping[str, Any]) -> Note:
    note = Note(
        tuple(spec.get("data", rows)),
        tuple(spec["rows"]),
        tuple(spec.get("columns", ())),
        spec.get("explained"),
        spec["text"],
    )
    for data in note.data:
        wrong = [*(set(note.rows) - set(rows.get(data, ()))), *(set(note.columns) - set(columns.get(data, ())))]
        if wrong:
            raise ValueError(f"Table {name!r} has a note on {wrong[0]!r}, which it does not have for {data!r}.")
    return note


def _columns(name: str, experiment: Mapping[str, Any], data: str, across: str | None) -> tuple[Any, ...]:
    grid = experiment.get("grids", {}).get(data, experiment.get("grid", {}))
    free = [key for key, values in grid.items() if len(values) > 1]
    if [key for key in free if key != across]:
        raise ValueError(f"Table {name!r} has columns for {across!r}, but its experiment varies {', '.join(free)}.")
    return tuple(grid[across]) if across else ()


def _figure(text: str) -> Figure:
    found = _FIGURE.match(text)
    if found is None:
        raise ValueError(f"A published figure is written '93.49 ± 4.54' or '93.49', got {text!r}.")
    return Figure(float(found[1]), None if found[2] is None else float(found[2]), text)
