"""`coview info`: this installation, or what a model file holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.options import Json
from coview.cli.summary import summarize_fit

__all__ = ["about_here", "info"]


def info(
    model: Annotated[Path | None, typer.Argument(help="A model file to look into.")] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show all parameters and fitted attributes of a model.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show versions, cores, engines and models; or what is inside a model file."""
    if model is None:
        about = about_here()
        lines = [f"{name}: {value}" for name, value in about.items() if name != "models"]
        lines += ["models:", *(f"  {name}: {summary}" for name, summary in about["models"].items())]
        print(json.dumps(about) if as_json else "\n".join(lines))
        return

    from coview import load
    from coview.io.models import outline
    from coview.utils.limits import shown_bytes

    if verbose:
        print(json.dumps(outline(model), indent=None if as_json else 1))
        return

    from coview import inspect

    fitted = inspect(load(model))
    if as_json:
        from coview.report.report import describe

        print(json.dumps(describe(fitted.preparation.model)))
    else:
        about = outline(model)
        steps = "".join(f"{step['model']}, then " for step in about.get("steps", [])[:-1])
        print(steps + "\n".join(summarize_fit(fitted)))
        print(f"Written by coview {about['versions'].get('coview', '?')}, {shown_bytes(about['bytes'])}.")
        print("All parameters and attributes: --verbose")


def about_here() -> dict[str, Any]:
    """Return what `coview info --json` prints."""
    import os
    import platform
    from importlib import metadata, util

    from coview._version import __version__
    from coview.catalog import ESTIMATORS

    optional = ("matplotlib", "pandas", "polars", "mudata", "torch", "dask", "usearch", "skimage", "fastapi")
    found = {name: util.find_spec(name) is not None for name in (*optional, "distributed")}
    # ask the driver, not torch: importing that takes seconds
    cuda = found["torch"] and Path("/proc/driver/nvidia/version").exists()
    engines = {"cpu": True, "reference": True, "dask": found["dask"] and found["distributed"], "cuda": cuda}
    return {
        "coview": __version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
        "optional": [name for name in optional if found[name]],
        "engines": [name for name, there in engines.items() if there],
        "cores": os.cpu_count(),
        "models": {name: entry.summary for name, entry in sorted(ESTIMATORS.items())},
    }
