"""The command line: `coview demo`, `coview search`, `coview stream`, `coview info`, `coview datasets`.

Bad input ends with exit code 2 and one sentence on standard error; `--json` prints what a machine can read.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

from coview.apps.search import search
from coview.apps.stream import stream
from coview.exceptions import CoviewError

__all__ = ["app", "main"]

app = typer.Typer(
    help="Multi-view learning: several feature sets per object.",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback()
def _common(
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.", is_eager=True)] = False,
) -> None:
    if version:
        from coview._version import __version__

        print(__version__)
        raise typer.Exit


Json = Annotated[bool, typer.Option("--json", help="Print JSON for a machine to read.")]


def main() -> None:
    """Run the command line; what coview refuses becomes one sentence and exit code 2."""
    try:
        app()
    except (CoviewError, ValueError, OSError) as error:
        Console(stderr=True).print(f"coview: {error}", style="red", highlight=False, markup=False)
        sys.exit(2)


@app.command(epilog="Example: coview demo --topics 12")
def demo(
    topics: Annotated[int, typer.Option(min=1, help="Number of topics.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the start.")] = 0,
    as_json: Json = False,
) -> None:
    """Find topics in the documentation and code of the Python packages on this machine (offline)."""
    from coview.apps.demo import run_demo, show_demo

    found = run_demo(topics, seed, quiet=as_json)
    if as_json:
        print(json.dumps(found))
    else:
        show_demo(found, Console())


app.command(epilog='Example: coview search "largest eigenvalues of a sparse matrix" -k 5')(search)


app.command(epilog="Example: coview stream mail.jsonl --label kind --every 500 --save mail.coview")(stream)


@app.command(epilog="Example: coview info --json")
def info(as_json: Json = False) -> None:
    """Show versions, cores and the engines that can run here."""
    _show("coview", _info(), as_json)


@app.command(epilog="Example: coview datasets")
def datasets(as_json: Json = False) -> None:
    """List the data sets that coview can load or make."""
    from coview import datasets as package

    found: dict[str, Any] = {}
    for name in package.__all__:
        if name.startswith(("load_", "make_")):
            found[name] = (getattr(package, name).__doc__ or "").strip().splitlines()[0]
    _show("data sets", found, as_json)


def _show(title: str, rows: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(rows))
        return
    from rich.table import Table

    table = Table(title=title, show_header=False)
    for key, value in rows.items():
        table.add_row(key, str(value))
    Console().print(table)


def _info() -> dict[str, Any]:
    import platform
    from importlib import metadata, util

    from coview._version import __version__
    from coview.catalog import ESTIMATORS
    from coview.datasets.fetch import data_home
    from coview.engines.threads import thread_count

    versions = {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    optional = ("matplotlib", "pandas", "polars", "mudata")
    return {
        "coview": __version__,
        "python": platform.python_version(),
        **versions,
        "optional": ", ".join(name for name in optional if util.find_spec(name)) or "none",
        "engines": "cpu, reference",
        "threads": thread_count(None),
        "estimators": ", ".join(sorted(ESTIMATORS)),
        "data home": str(data_home()),
    }


if __name__ == "__main__":
    main()
