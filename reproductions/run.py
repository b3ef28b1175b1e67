"""Run a paper's experiments again and set ours beside theirs.

    python reproductions/run.py mvplsa_2012                  # what is missing, then table.md and figures
    python reproductions/run.py mvplsa_2012 --fresh          # forget the kept runs first
    python reproductions/run.py mvplsa_2012 --quick          # 2 runs of each, into mvplsa_2012/quick
    python reproductions/run.py mvplsa_2012 --only table3    # the runs of one table

The data are looked for in the folder that COVIEW_DATA names, and downloaded if they are not there. Kill it when you
like: every run is kept as soon as it ends, and the next call goes on from there.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness.figures import draw_figures
from harness.paper import read_paper
from harness.store import Results
from harness.summary import Numbers
from harness.table import table_text
from harness.work import absent_data, fill, missing_cells
from rich.console import Console

HERE = Path(__file__).resolve().parent
QUICK_RUNS = 2


def main(argv: list[str] | None = None) -> int:
    """Run what the arguments ask for; return the exit status: 2 for a wrong name, else 0."""
    options = _arguments().parse_args(argv)
    console = Console(stderr=True)
    folder = Path(options.papers) / options.paper
    if not (folder / "paper.toml").is_file():
        known = ", ".join(sorted(path.parent.name for path in Path(options.papers).glob("*/paper.toml")))
        console.print(f"There is no paper {options.paper!r}; there are: {known}.")
        return 2
    paper = read_paper(folder)
    names = [table.name for table in paper.tables]
    wrong = [name for name in options.only or [] if name not in names]
    if wrong:
        console.print(f"{options.paper} has no table {wrong[0]!r}; it has: {', '.join(names)}.")
        return 2
    runs = options.runs or (QUICK_RUNS if options.quick else paper.runs)
    out = Path(options.out) if options.out else folder if runs == paper.runs else folder / "quick"
    if options.fresh:
        (out / "results.jsonl").unlink(missing_ok=True)
    results = Results(out / "results.jsonl")
    cells = paper.cells(options.only, runs)
    missing = missing_cells(paper, cells, results)
    console.print(f"{paper.raw['title']}: {len(cells) - len(missing):,} of {len(cells):,} runs are there.")
    absent = absent_data(paper, missing)
    for data, reason in absent.items():
        console.print(f"Skipping {paper.title_of(data)}. {reason}", highlight=False)
    fill(paper, [cell for cell in missing if cell.data not in absent], results, options.jobs, console)
    numbers = Numbers(paper, results, runs)
    out.mkdir(parents=True, exist_ok=True)
    (out / "table.md").write_text(table_text(paper, numbers, absent), encoding="utf-8")
    draw_figures(paper, numbers, out / "figures")
    console.print(f"Wrote {out / 'table.md'}.", highlight=False)
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Run a paper's experiments again and set ours beside theirs.")
    parser.add_argument("paper", help="name of a folder in reproductions/, such as mvplsa_2012")
    parser.add_argument("--only", nargs="+", metavar="TABLE", help="make the runs of these tables only")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_RUNS} runs of each, into the folder quick/")
    parser.add_argument("--fresh", action="store_true", help="forget the kept runs and make all again")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (2)")
    parser.add_argument(
        "--runs",
        type=int,
        help="number of seeds (as in the paper); another number goes into quick/ too",
    )
    parser.add_argument("--out", help="folder for results, table and figures (that of the paper)")
    parser.add_argument("--papers", default=str(HERE), help="folder that holds the papers (reproductions/)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
