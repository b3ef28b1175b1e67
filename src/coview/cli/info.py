"""`coview info`: this installation, or what a model file holds; arrays are not loaded, but to name and count groups."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.options import Json
from coview.utils.messages import cut, printable

__all__ = ["about_here", "grid", "info", "summarized"]

LARGEST = 64 << 20  # bytes of a model file that is loaded to count its groups
MOST_GROUPS = 50
CUT = 500  # characters of a list of classes
TOLD = (
    "n_features_by_view_",
    "likelihood_",
    "scaling_",
    "view_names_",
    "n_features_in_",
    "classes_",
    "candidates_",
    "links_",
)


def info(
    model: Annotated[Path | None, typer.Argument(help="A model file to look into.")] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show all parameters and fitted attributes of a model, at length.")
    ] = False,
    hierarchy: Annotated[
        bool, typer.Option("--hierarchy", help="Show the topics, clusters or classes of a model as a tree.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show versions, cores, engines and models; or what is inside a model file."""
    from coview.io.models import outline

    if hierarchy and model is None:
        raise ValueError("--hierarchy needs a model file. Example: coview info model.coview --hierarchy")
    tree = _tree_of(model) if hierarchy and model is not None else None
    about = about_here() if model is None else outline(model)
    if as_json:
        print(json.dumps(about | ({} if tree is None else {"hierarchy": _tree_as_json(tree)})))
        return
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    if tree is not None:
        console.print(repr(tree), soft_wrap=True)
        return
    shown = (lambda part: part) if verbose or model is None else summarized
    console.print(grid("coview" if model is None else str(model), shown(about)))
    for step in about.get("steps", []):
        console.print(grid(step["model"], shown(step)))
    if model is not None and (groups := _groups_of(model)):
        console.print(grid("groups", groups))
    if model is not None and not verbose:
        console.print(
            printable(f"All that was fitted: coview info {shlex.quote(str(model))} --verbose"), soft_wrap=True
        )


def _tree_of(path: Path) -> Any:
    from coview.inspection import inspect
    from coview.io.models import load

    return inspect(load(path)).hierarchy()


def _tree_as_json(tree: Any) -> dict[str, Any]:
    """Groups, and which two are joined at which distance: the groups are numbered first, then the joins."""
    joins = [{"joined": [int(a), int(b)], "distance": float(d), "size": int(n)} for a, b, d, n in tree.linkage]
    return {"groups": [str(key) for key in tree.keys], "names": tree.names, "joins": joins}


def _groups_of(path: Path) -> dict[str, str]:
    """Names of a model's groups by key, with the number of training objects; of files that are read in a moment."""
    from coview.exceptions import CoviewError
    from coview.inspection import inspect
    from coview.io.models import load

    if path.stat().st_size > LARGEST:
        return {}
    try:
        fitted = inspect(load(path))
        names, sizes = fitted.group_names, fitted.group_sizes
    except (CoviewError, ValueError, TypeError, ImportError):  # what it is was said above
        return {}
    if sizes is None or fitted.retriever is not None:
        return {}
    own = [name if name != key else "" for key, name in zip(fitted.groups, names)]
    rows = {key: f"{name} ({size:,})" if name else f"{size:,}" for key, name, size in zip(fitted.groups, own, sizes)}
    more = {"...": f"{len(rows):,} in all"} if len(rows) > MOST_GROUPS else {}
    return {**dict(list(rows.items())[:MOST_GROUPS]), **more}


def summarized(about: dict[str, Any]) -> dict[str, Any]:
    """Return what a person asks first of a model in an outline: its settings, views, classes and candidates.

    Of the other fitted attributes only the names are told. Parameters that are None say nothing.
    """
    if "steps" in about or "fitted" not in about:
        return about
    from coview.inspection.choice import describe_links, describe_scaling

    fitted = about["fitted"]
    rows: dict[str, Any] = {"model": _called(about)}
    rows["parameters"] = {
        name: cut(_text("parameters", name, value), CUT // 5)
        for name, value in about["parameters"].items()
        if value is not None
    }
    if isinstance(widths := fitted.get("n_features_by_view_"), dict):
        features = {name: f"{width:,} features" if isinstance(width, int) else width for name, width in widths.items()}
        for attribute, words in (("likelihood_", str), ("scaling_", describe_scaling)):
            taken = fitted.get(attribute)
            for name, value in taken.items() if isinstance(taken, dict) else ():
                if name in features:
                    features[name] = f"{features[name]}, {words(value)}"
        rows["views"] = features
    if (classes := fitted.get("classes_")) is not None:
        rows["classes"] = cut(_short(classes), CUT)
    if isinstance(table := fitted.get("candidates_"), dict):
        rows["candidates"] = "\n".join(_candidate_lines(table))
    if isinstance(links := fitted.get("links_"), dict) and {"view", "n_links", "join", "why"} <= links.keys():
        rows["links"] = describe_links(links)
    others = {name: value for name, value in fitted.items() if name not in TOLD and not isinstance(value, dict)}
    plain = {name: value for name, value in others.items() if isinstance(value, (int, float)) and value == value}
    rows |= {"measured": {name: f"{value:.4g}" for name, value in plain.items()}} if plain else {}
    rest = [name for name in fitted if name not in TOLD and name not in plain]
    rows |= {"also fitted": ", ".join(rest)} if rest else {}
    return rows | {name: value for name, value in about.items() if name not in ("model", "parameters", "fitted")}


def _called(about: dict[str, Any]) -> Any:
    """The class of a model; of an edited one that of the model inside, as `Inspection.title` has it."""
    inside = about["parameters"].get("estimator") if about["model"] == "EditedModel" else None
    if isinstance(inside, dict) and inside.get("steps"):
        inside = inside["steps"][-1]["model"]
    if not isinstance(inside, str):
        return about["model"]
    return f"Edited {inside}" if about["fitted"].get("edits_") else inside


def _candidate_lines(table: dict[str, Any]) -> list[str]:
    """Those that have a weight, the heaviest first, and how many others there were."""
    weights = [weight if isinstance(weight, (int, float)) else 0.0 for weight in table["weight"]]  # one may be "..."
    order = sorted((i for i, weight in enumerate(weights) if weight > 0), key=lambda i: -weights[i])
    lines = [f"{table['name'][i]}: {weights[i]:.2g}, {table['method'][i]}" for i in order]
    others = len(weights) - len(order)
    return [*lines, *([f"and {others} without weight"] if others else [])]


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
    if section == "parameters" and name == "tokens" and isinstance(value, dict):
        return ", ".join(f"{view} from {_list_column(source)}" for view, source in value.items())
    if section == "parameters" and name in ("text", "columns", "groups") and isinstance(value, dict):
        return ", ".join(f"{view} from {_short(columns)}" for view, columns in value.items())
    return _short(value)


def _list_column(source: Any) -> str:
    """A column of lists, with what stands between the items where that was given.

    Examples
    --------
    >>> _list_column("tags"), _list_column(["tags", ";"])
    ('tags', "tags split by ';'")
    """
    return f"{source[0]} split by {source[1]!r}" if isinstance(source, list) and len(source) == 2 else _short(source)


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
    from coview.datasets.python_packages import find_user_cache
    from coview.engines.protocol import count_threads

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
        "threads": count_threads(None),
        "models": {name: entry.summary for name, entry in sorted(ESTIMATORS.items())},
        "cache": str(find_user_cache()),
    }


def _has_cuda() -> bool:
    """Ask the driver, not torch: importing that takes seconds."""
    from importlib import util

    return util.find_spec("torch") is not None and Path("/proc/driver/nvidia/version").exists()
