"""All figures on one page, with dates, and those measured before beside them: `python benchmarks/speed.py`.

Read from results/*.json and, for the figures before, from the history of these files; written to results/speed.md.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from common import RESULTS


@dataclass(frozen=True)
class Figures:
    """A column of a table of results that is a ratio to a peer, and the columns that say of what."""

    of: tuple[str, ...]
    value: str
    better: str = "higher"


FIGURES = {
    "plsa": Figures(("data", "K"), "ratio"),
    "fold_in": Figures(("new objects", "K", "peer"), "ratio"),
    "likelihood": Figures(("data", "K", "algorithm", "within"), "ratio"),
    "multiview": Figures(("what", "data", "peer"), "coview / peer", "lower"),
    "vectors": Figures(("topics",), "both / (texts + BLAS)", "lower"),
    "pairs": Figures(("what", "objects", "pairs", "topics"), "NumPy / coview"),
    "clustering": Figures(("what", "objects"), "coview times faster"),
    "labels": Figures(("what", "objects", "peer"), "peer / coview"),
    "stream": Figures(("what", "peer"), "coview / peer"),
    "stream_parse": Figures(("what", "peer"), "coview / peer"),
    "scale": Figures(("what", "data", "K", "beside"), "ratio", "lower"),
    "serve": Figures(("service", "load of 64 clients"), "requests a second"),
    "search": Figures(("what", "objects"), "ms a query, processor", "lower"),
    "cuda": Figures(("precision", "non-zeros", "K"), "ratio to CPU"),
    "vectors_cuda": Figures(("topics",), "both / (texts + BLAS)", "lower"),
    "starts_cuda": Figures(("model", "engine"), "ratio to cpu"),
}


def tables(stored: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Tables of a file of results."""
    yield stored
    yield from stored.get("more", [])


def read(stored: dict[str, Any], figures: Figures) -> dict[tuple[str, ...], tuple[float, str]]:
    """Value and date of each figure of a file, by what it is of."""
    found = {}
    for table in tables(stored):
        columns = table.get("columns", [])
        if not {*figures.of, figures.value} <= set(columns):
            continue
        for row in table["rows"]:
            cells = dict(zip(columns, row))
            try:
                value = float(cells[figures.value])
            except ValueError:
                continue
            key = tuple(str(cells[name]) for name in figures.of)
            found[key] = value, table.get("machine", {}).get("date", "")
    return found


def earlier(name: str) -> Iterator[dict[str, Any]]:
    """Versions of a file of results that were committed before, the newest first."""
    path = f"results/{name}.json"
    log = subprocess.run(
        ["git", "log", "--format=%H", "--", path], cwd=RESULTS.parent, capture_output=True, text=True, check=True
    )
    for commit in log.stdout.split():
        show = ["git", "show", f"{commit}:./{path}"]
        run = subprocess.run(show, cwd=RESULTS.parent, capture_output=True, text=True, check=False)
        if run.returncode == 0:
            yield json.loads(run.stdout)


def section(name: str, figures: Figures) -> list[str]:
    """Lines of one file of results; those of coview beside itself are left out."""
    stored = json.loads((RESULTS / f"{name}.json").read_text())
    now = {key: found for key, found in read(stored, figures).items() if found[0] != 1.0}
    before: dict[tuple[str, ...], tuple[float, str]] = {}
    for version in earlier(name):
        for key, found in read(version, figures).items():
            if key in now and found != now[key]:
                before.setdefault(key, found)
    lines = [
        f"## {stored['title']}",
        "",
        f"*{figures.value}*: {figures.better} is better.",
        "",
    ]
    lines += ["| what | now | measured | before | measured |", "|---|---|---|---|---|"]
    for key, (value, date) in now.items():
        told = ", ".join(part if part[:1].isalpha() else f"{column} {part}" for column, part in zip(figures.of, key))
        old, when = before.get(key, (None, ""))
        lines.append(f"| {told} | {value:.3g} | {date} | {'' if old is None else f'{old:.3g}'} | {when} |")
    return [*lines, ""]


def main() -> None:
    lines = [
        "# Speed at a glance",
        "",
        "Every figure of the tables below, and what that table said before. Machines are named there: where they",
        "differ, ratios to a peer in the same run can be compared, times cannot.",
        "",
    ]
    for name, figures in FIGURES.items():
        if (RESULTS / f"{name}.json").exists():
            lines += section(name, figures)
    lines += ["## Quality, memory and whole jobs", "", "| table | measured | processor |", "|---|---|---|"]
    for path in sorted(RESULTS.glob("*.json")):
        stored = json.loads(path.read_text())
        if path.stem not in FIGURES and "title" in stored:
            machine = stored.get("machine", {})
            lines.append(f"| {stored['title']} | {machine.get('date', '')} | {machine.get('processor', '')} |")
    lines.append("")
    (RESULTS / "speed.md").write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
