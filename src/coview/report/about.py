"""What a model is and how to make it again: parameters, versions, seed, code and commands."""

from __future__ import annotations

import inspect
import platform
import re
import shlex
from importlib import metadata
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline

from coview._version import __version__
from coview.catalog import ESTIMATORS, TRANSFORMERS
from coview.report.reader import Reader
from coview.report.typed import shown

__all__ = ["about_model", "how_to_reproduce"]

_QUIET = ("verbose", "callbacks", "n_jobs")  # they change nothing that was learned


def about_model(reader: Reader) -> dict[str, Any]:
    """Return the section on the model: its name, parameters, steps before it, versions and seed.

    Examples
    --------
    >>> from coview import PLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=50, random_state=0).views
    >>> found = about_model(Reader(PLSA(4, random_state=7).fit(X)))
    >>> found["name"], found["seed"], found["parameters"][0]
    ('PLSA', 7, {'name': 'n_components', 'value': '4', 'default': '10', 'changed': True})
    """
    core, name = reader.core, type(reader.core).__name__
    entry = ESTIMATORS.get(name)
    document = (inspect.getdoc(type(core)) or "").strip().splitlines()
    seed = getattr(core, "random_state", None)
    return {
        "name": name,
        "kind": entry.kind if entry else "estimator",
        "summary": entry.summary if entry else "",
        "sentence": document[0] if document else "",
        "parameters": _parameters(core),
        "steps": _steps(reader.model),
        "seed": int(seed) if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) else None,
        "takes_seed": "random_state" in core.get_params(deep=False),
        "sweeps": _number(getattr(core, "n_iter_", None)),
        "candidates": _candidates(core),
        "rounds": _number(getattr(core, "t_", None)),
        "versions": {
            "coview": __version__,
            "python": platform.python_version(),
            **{package: metadata.version(package) for package in ("numpy", "scipy", "scikit-learn", "numba")},
        },
    }


def _candidates(core: Any) -> dict[str, float] | None:
    """Weight of each candidate that the model was chosen from, 0 for those that were dropped."""
    table = getattr(core, "candidates_", None)
    return dict(zip(table["name"], map(float, table["weight"]))) if table else None


def how_to_reproduce(
    reader: Reader,
    *,
    model_path: str | None = None,
    data: dict[str, str] | str | None = None,
    labels: str | None = None,
    table: str | None = None,
) -> dict[str, Any]:
    """Return code and commands that fit the model again and write its report.

    Parameters
    ----------
    reader : Reader
        The model.
    model_path : str, optional
        Where it is saved.
    data : str or {view: path}, optional
        Folder of views, or a file for each view.
    labels : str, optional
        File of labels.
    table : str, optional
        File of a raw table, in the place of `data`.

    Examples
    --------
    >>> from coview import PLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=50, random_state=0).views
    >>> found = how_to_reproduce(Reader(PLSA(4, random_state=7).fit(X)), data="pages")
    >>> print(found["code"])
    from coview import PLSA, read_views, save
    <BLANKLINE>
    X = read_views("pages")
    model = PLSA(n_components=4, random_state=7)
    model.fit(X)
    save(model, "model.coview")
    model.report(X, path="report.html")
    """
    needs_y = reader.noun == "class" or is_regressor(reader.core)
    saved = model_path or "model.coview"
    notes = []
    if reader.core.get_params(deep=False).get("random_state", 0) is None:
        notes.append("random_state is not set: another fit may end elsewhere. Set it to a number to repeat a fit.")
    return {
        "code": _code(reader, needs_y, saved, data, labels, table),
        "commands": _commands(reader, needs_y, saved, data, labels, table),
        "notes": notes,
    }


def _code(reader: Reader, needs_y: bool, saved: str, data: Any, labels: str | None, table: str | None) -> str:
    model, own = reader.model, reader.model is reader.core
    with config_context(print_changed_only=True):
        made = _call(model) if own else " ".join(repr(model).split())
    read = "read_views" if table is None else "read_table"
    named = set(re.findall(r"\b([A-Z]\w+)\(", made))
    ours = sorted(named & {*ESTIMATORS, *TRANSFORMERS})
    lines = [f"from coview import {', '.join([*ours, *([] if own else ['make_report']), read, 'save'])}"]
    lines += sorted(_sklearn_imports(model, named))
    source = table if table is not None else "folder" if data is None else data
    lines += ["", f"X = {read}({_quoted(source)})"]
    if needs_y:
        lines.append(f"y = ...  # one label per object{'' if labels is None else f', from {labels}'}")
    given = "X, y" if needs_y else "X"
    lines += [f"model = {made}", f"model.fit({given})", f"save(model, {_quoted(saved)})"]
    last = f'model.report({given}, path="report.html")' if own else f'make_report(model, {given}).save("report.html")'
    return "\n".join([*lines, last])


def _sklearn_imports(model: Any, named: set[str]) -> set[str]:
    """Lines that import what a model holds of scikit-learn, from where it is public."""
    parts = [model, *model.get_params(deep=True).values()]
    classes = {type(part) for part in parts if type(part).__name__ in named}
    return {
        f"from {'.'.join(word for word in cls.__module__.split('.') if not word.startswith('_'))} import {cls.__name__}"
        for cls in classes
        if cls.__module__.startswith("sklearn.")
    }


def _call(model: Any) -> str:
    """The call that makes a model, with the parameters that are not the defaults."""
    changed = {row["name"]: row["value"] for row in _parameters(model) if row["changed"]}
    return f"{type(model).__name__}({', '.join(f'{name}={value}' for name, value in changed.items())})"


def _commands(reader: Reader, needs_y: bool, saved: str, data: Any, labels: str | None, table: str | None) -> list[str]:
    if table is not None:
        source = ["--table", table]
    elif isinstance(data, dict):
        source = [part for view, path in data.items() for part in ("--view", f"{view}={path}")]
    elif data is not None:
        source = ["--data", str(data)]
    else:
        source = [part for view in reader.view_names for part in ("--view", f"{view}={view}.npz")]
    truth = ["--labels", labels or "labels.csv"] if needs_y or labels else []
    report = shlex.join(["coview", "report", saved, *source, *truth, "--out", "report.html"])
    core, entry = reader.core, ESTIMATORS.get(type(reader.core).__name__)
    if reader.core is not reader.model or entry is None:
        return [report]
    settings = [row for row in _parameters(core) if row["changed"]]
    if any(not isinstance(getattr(core, row["name"]), (int, float, str, bool)) for row in settings):
        return [report]  # a dict of arrays or an estimator is more than a command line can say
    chosen = [part for row in settings for part in ("--set", f"{row['name']}={getattr(core, row['name'])}")]
    fit = shlex.join(["coview", "fit", type(core).__name__, *source, *(truth if needs_y else []), *chosen])
    return [f"{fit} {shlex.join(['--out', saved])}", report]


def _parameters(core: Any) -> list[dict[str, Any]]:
    rows = []
    defaults = inspect.signature(type(core)).parameters
    for name in defaults:  # in the order of the constructor, not of the alphabet
        value, default = getattr(core, name, None), defaults[name].default
        known = default is not inspect.Parameter.empty
        changed = not known or shown(value) != shown(default)
        if name in _QUIET and not changed:
            continue
        row = {"name": name, "value": shown(value), "default": shown(default) if known else "", "changed": changed}
        rows.append(row)
    return rows


def _steps(model: Any) -> list[dict[str, str]]:
    inside = getattr(model, "best_estimator_", model)
    if not isinstance(inside, Pipeline):
        return []
    return [{"name": str(name), "value": shown(step)} for name, step in inside.steps]


def _number(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, np.integer)) else None


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) and '"' not in value else repr(value)
