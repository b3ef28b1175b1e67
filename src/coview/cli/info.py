"""`coview info`: this installation, or what a model file holds; arrays are not loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.options import Json
from coview.utils.messages import printable

__all__ = ["about_here", "grid", "info"]


def info(
    model: Annotated[Path | None, typer.Argument(help="A model file to look into.")] = None, as_json: Json = False
) -> None:
    """Show versions, cores, engines and models; or what is inside a model file."""
    from coview.io.models import outline

    about = about_here() if model is None else outline(model)
    if as_json:
        print(json.dumps(about))
        return
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    console.print(grid("coview" if model is None else str(model), about))
    for step in about.get("steps", []):
        console.print(grid(step["model"], step))


def grid(title: str, rows: dict[str, Any]) -> Any:
    """Return a table of names and values."""
    from rich.table import Table

    table = Table(title=printable(title), show_header=False)
    for key, value in rows.items():
        if key == "steps":
            value = ", ".join(step["model"] for step in value)
        elif isinstance(value, dict):
            shown = {name: part for name, part in value.items() if name != "history_" and not _is_plumbing(rows, name)}
            value = "\n".join(f"{name}: {_text(key, name, part)}" for name, part in shown.items())
            if key == "parameters" and not value:
                continue
        table.add_row(printable(key), printable(_short(value), lines=True))
    return table


def _is_plumbing(rows: dict[str, Any], name: str) -> bool:
    """Whether a name is one of Pipeline's own parameters, which say nothing of the model."""
    return rows.get("model") == "Pipeline" and name in ("memory", "transform_input", "verbose")


def _text(section: str, name: str, value: Any) -> str:
    """A value in one line; where it says which columns a view is made of, as words."""
    if section == "parameters" and name in ("text", "columns", "groups") and isinstance(value, dict):
        return ", ".join(f"{view} from {_short(columns)}" for view, columns in value.items())
    return _short(value)


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_short(part)}" for name, part in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def about_here() -> dict[str, Any]:
    """Return what `coview info --json` prints."""
    import platform
    from importlib import metadata, util

    from coview._version import __version__
    from coview.catalog import ESTIMATORS
    from coview.datasets.files import data_home
    from coview.engines.threads import thread_count

    versions = {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    optional = ("matplotlib", "pandas", "polars", "mudata", "torch", "dask", "usearch", "skimage", "fastapi")
    engines = ["cpu", "reference"]
    engines += ["dask"] if util.find_spec("dask") and util.find_spec("distributed") else []
    engines += ["cuda"] if _has_cuda() else []
    return {
        "coview": __version__,
        "python": platform.python_version(),
        **versions,
        "optional": [name for name in optional if util.find_spec(name)],
        "engines": engines,
        "threads": thread_count(None),
        "models": {name: entry.summary for name, entry in sorted(ESTIMATORS.items())},
        "data home": str(data_home()),
    }


def _has_cuda() -> bool:
    """Ask the driver, not torch: importing that takes seconds."""
    from importlib import util

    return util.find_spec("torch") is not None and Path("/proc/driver/nvidia/version").exists()
