"""What a model is and how to make it again: parameters, versions, seed, code and commands."""

from __future__ import annotations

import math
import platform
import re
import shlex
from collections.abc import Mapping, Sequence
from importlib import metadata
from inspect import Parameter, getdoc, signature
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline

from coview._version import __version__
from coview.catalog import ESTIMATORS, TRANSFORMERS, sklearn_class
from coview.editing.log import describe_record
from coview.inspection import Inspection
from coview.inspection.choice import describe_choice
from coview.preprocessing.columns import read_columns
from coview.preprocessing.embeddings import EmbeddingViews
from coview.preprocessing.tables import TableViews, read_column_groups
from coview.preprocessing.text import TextViews

__all__ = ["describe_model", "describe_reproduction", "written"]

LINE = 96  # letters of a line of code
# <function f at 0x7f..>, <function f.<locals>.<lambda> at 0x7f..>, <package.Class object at 0x7f..>
_IN_MEMORY = re.compile(r"<(?:function (?:[\w<>]+\.)*(\w+)|[\w.<> ]+?) at 0x[0-9a-f]+>")
_TABLE_SETTINGS = ("stop_words", "min_df", "max_df")
_SIGNS = {"\t": "\\t", "\n": "\\n"}
_QUIET = ("verbose", "n_jobs")  # they change nothing that was learned


def describe_model(inspection: Inspection, saved_with: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the section on the model: its name, parameters, steps before it, versions and seed."""
    entry = ESTIMATORS.get(inspection.name)
    document = (getdoc(type(inspection.estimator)) or "").strip().splitlines()
    parameters = inspection.estimator.get_params(deep=False)
    seed = parameters.get("random_state")
    stages = [stage for stage in (inspection.front, *inspection.steps, inspection.estimator) if stage is not None]
    alone = inspection.model is inspection.estimator or len(stages) == 1
    return {
        "name": inspection.name,
        "title": inspection.title,
        "kind": entry.kind if entry else "estimator",
        "summary": entry.summary if entry else "",
        "sentence": describe_choice(
            inspection.candidates,
            inspection.numbers,
            inspection.relations,
            inspection.accuracy_by_view,
            inspection.held_out,
        )
        or (document[0] if document else ""),
        "parameters": _parameters(inspection.estimator),
        "steps": [] if alone else [written(stage) for stage in stages],
        "seed": int(seed) if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) else None,
        "takes_seed": "random_state" in parameters,
        "iterations": inspection.n_iter,
        "rounds": inspection.n_rounds,
        "candidates": dict(inspection.candidates),
        "edits": [describe_record(record) for record in inspection.edits],
        "held_out": dict(inspection.held_out),
        "versions": {
            "coview": __version__,
            "python": platform.python_version(),
            **{package: metadata.version(package) for package in ("numpy", "scipy", "scikit-learn", "numba")},
        },
        "saved_with": dict(saved_with or {}),
    }


def describe_reproduction(
    inspection: Inspection,
    *,
    model_path: str | None = None,
    data: dict[str, str] | str | None = None,
    labels: str | None = None,
    table: str | None = None,
    by: Sequence[str] = (),
    labeled: bool = False,
    stability: bool = False,
    ontology: str | None = None,
) -> dict[str, Any]:
    """Return code and commands that fit the model again and write its report.

    The paths are those of `coview.make_report`; `labeled` says whether the report has labels, `by` which columns of the
    table it shows prevalence by, `stability` whether it shows what other seeds find again, `ontology` the file of the
    classes above the labels.

    Examples
    --------
    >>> from coview import PLSA, inspect
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=50, random_state=0).views
    >>> section = describe_reproduction(inspect(PLSA(4, random_state=7).fit(X)), data="pages")
    >>> print(section["code"])
    from coview import PLSA, make_report, read_views, save
    <BLANKLINE>
    X = read_views("pages")
    model = PLSA(n_components=4, random_state=7)
    model.fit(X)
    save(model, "model.coview")
    make_report(model, X).save("report.html")
    """
    supervised = inspection.kind in ("class", "value")
    saved = model_path or "model.coview"
    labeled = labeled or supervised or labels is not None
    fronts = (TableViews, TextViews, EmbeddingViews)
    if table is None and data is None and isinstance(inspection.front, fronts):
        table = "table.csv"
    beside: dict[str, str] = data if table is not None and isinstance(data, dict) else {}
    if table is not None:
        options = ["--table", table, *_repeated("--view", beside)]
    elif isinstance(data, dict):
        options = _repeated("--view", data)
    elif data is not None:
        options = ["--data", str(data)]
    else:
        options = _repeated("--view", {view: f"{view}.npz" for view in inspection.views})
    truth = ["--labels", labels or "labels.csv"] if labeled else []
    asked = ["--by", ",".join(by)] if by and table is not None else []
    asked += ["--stability"] if stability else []
    asked += ["--ontology", ontology] if ontology is not None else []
    commands = [["coview", "report", saved, *options, *truth, *asked, "--out", "report.html"]]
    steps, settings = _step_options(inspection, beside), _plain_settings(inspection.estimator)
    if steps is not None and settings is not None and inspection.name in ESTIMATORS:
        options += [*steps, *(truth if supervised else []), *_repeated("--set", settings)]
        commands.insert(0, ["coview", "fit", inspection.name, *options, "--out", saved])
    notes = []
    front = inspection.front
    if isinstance(front, EmbeddingViews) or (isinstance(front, TableViews) and front.embeddings is not None):
        commands = []
        notes.append("A model file holds no encoder: after load, set it again with set_params.")
    if inspection.estimator.get_params(deep=False).get("random_state", 0) is None:
        notes.append("random_state is not set, so another fit may give another result. Set it to repeat a fit exactly.")
    if beside:
        notes.append(f"X lacks the vectors of {', '.join(beside.values())}: add them to the table as columns.")
    how = f"{'X, y' if labeled else 'X'}{_by(by, table)}{', stability=True' if stability else ''}"
    how += "" if ontology is None else f", ontology={_quoted(ontology)}"
    read = "read_views" if table is None else "read_table"
    call, names, imports = _constructor(inspection.model)
    code = [
        f"from coview import {', '.join([*names, 'make_report', read, 'save'])}",
        *imports,
        "",
        f"X = {read}({_quoted(table if table is not None else 'folder' if data is None else data)})",
        *([f"y = ...  # one label per object{'' if labels is None else f', from {labels}'}"] if labeled else []),
        f"model = {_wrapped(call, 8)}",
        f"model.fit({'X, y' if supervised else 'X'})",
        *(f"model.apply({record!r}, X)" for record in inspection.edits),
        f"save(model, {_quoted(saved)})",
        f'make_report(model, {how}).save("report.html")',
    ]
    return {"code": "\n".join(code), "commands": [shlex.join(words) for words in commands], "notes": notes}


def written(value: Any, longest: int = 120) -> str:
    """Return a value as one would type it, cut where it is long.

    Examples
    --------
    >>> written({"words": 3}), written("x" * 9, longest=5)
    ("{'words': 3}", "'xxx…")
    """
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    if isinstance(value, Mapping) and any(isinstance(part, np.ndarray) for part in value.values()):
        return "{" + ", ".join(f"{key!r}: {written(part)}" for key, part in value.items()) + "}"
    text = _by_name(" ".join(repr(value).split()))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _parameters(estimator: Any) -> list[dict[str, Any]]:
    """Parameters in the order of the constructor; those that only affect how a fit runs where they were set."""
    rows, values = [], estimator.get_params(deep=False)
    for name, parameter in signature(type(estimator)).parameters.items():
        if name not in values:
            continue
        has_default = parameter.default is not Parameter.empty
        default = written(parameter.default) if has_default else ""
        changed = not has_default or written(values[name]) != default
        if changed or name not in _QUIET:
            rows.append({"name": name, "value": written(values[name]), "default": default, "changed": changed})
    return rows


def _constructor(model: Any) -> tuple[str, list[str], list[str]]:
    """Return the call that makes a model, the names in it that coview has, and the imports of scikit-learn's."""
    with config_context(print_changed_only=True):
        call = _call(model)
    named = set(re.findall(r"\b([A-Za-z_]\w+)\(", call))
    parts = [model, *model.get_params(deep=True).values()]
    foreign = {type(part) for part in parts if type(part).__module__.startswith("sklearn.")}
    imports = {
        f"from {'.'.join(word for word in cls.__module__.split('.') if not word.startswith('_'))} import {cls.__name__}"
        for cls in foreign
        if cls.__name__ in named
    }
    if "make_pipeline" in named:
        imports.add("from sklearn.pipeline import make_pipeline")
    return call, sorted(named & {*ESTIMATORS, *TRANSFORMERS}), sorted(imports)


def _call(model: Any) -> str:
    """The call that makes a model; a pipeline as short as it can be, parameters in the order of the constructor."""
    if isinstance(model, Pipeline) and str(model) == str(make_pipeline(*(step for _, step in model.steps))):
        return f"make_pipeline({', '.join(_call(step) for _, step in model.steps)})"
    if type(model).__name__ in ESTIMATORS:
        values = model.get_params(deep=False)
        inside = {name: _call(value) for name, value in values.items() if isinstance(value, BaseEstimator)}
        rows = [row for row in _parameters(model) if row["changed"]]
        changed = (f"{row['name']}={inside.get(row['name'], row['value'])}" for row in rows)
        return f"{type(model).__name__}({', '.join(changed)})"
    return _by_name(" ".join(repr(model).split()))


def _by_name(text: str) -> str:
    """Functions by their names, not by where they lie in memory; other objects, and functions without a name, as ..."""
    return _IN_MEMORY.sub(lambda match: match[1] or "...", text)


def _wrapped(call: str, before: int = 0, indent: int = 0) -> str:
    """A call in lines that are not too long, where it can be broken after the commas in its outermost brackets."""
    if before + len(call) <= LINE:
        return call
    parts, depth, start, quote = [], 0, 0, ""
    for i, sign in enumerate(call):
        if quote:
            quote = "" if sign == quote and call[i - 1] != "\\" else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "([{":
            depth += 1
            if depth == 1:
                parts.append(call[: i + 1])
                start = i + 1
        elif sign in ")]}":
            depth -= 1
            if depth == 0:
                parts += [call[start:i], call[i:]]
                break
        elif sign == "," and depth == 1:
            parts.append(call[start:i])
            start = i + 1
    if len(parts) < 3 or not parts[1].strip():
        return call
    head, *inside, tail = parts
    gap = " " * (indent + 4)
    lines = [f"{gap}{_wrapped(part.strip(), indent + 5, indent + 4)},\n" for part in inside]
    return f"{head}\n{''.join(lines)}{' ' * indent}{tail}"


def _by(names: Sequence[str], table: str | None) -> str:
    """Argument `by` of a call; columns that are in no table must be brought along."""
    if not names:
        return ""
    return f", by={list(names)!r}" if table is not None else ", by=..."


def _repeated(flag: str, values: Mapping[str, Any]) -> list[str]:
    """Return an option once for each name and value."""
    return [part for name, value in values.items() for part in (flag, f"{name}={value}")]


def _step_options(inspection: Inspection, beside: Mapping[str, str]) -> list[str] | None:
    """Options of the command line for the steps of a pipeline, or None where it has none for them.

    Views beside the table have an option of their own.
    """
    model = inspection.model
    if model is inspection.estimator:
        return []
    if not isinstance(model, Pipeline) or model.steps[-1][1] is not inspection.estimator:
        return None
    steps = [step for _, step in model.steps[:-1]]
    options: list[str] = []
    if steps and steps[0] is inspection.front:
        front = _table_options(steps.pop(0), beside)
        if front is None:
            return None
        options += front
    for step in steps:
        typed = _typed_step(step) if type(step).__name__ in TRANSFORMERS else None
        if typed is None:
            return None
        options += ["--step", typed.removesuffix("()")]
    return options


def _typed_step(step: Any) -> str | None:
    """A transformer as it is typed, with others inside it; None where a setting is more than a command line can say."""
    values = step.get_params(deep=False)
    parts = {row["name"]: _typed_value(values[row["name"]]) for row in _parameters(step) if row["changed"]}
    if None in parts.values():
        return None
    return f"{type(step).__name__}({', '.join(f'{name}={typed}' for name, typed in parts.items())})"


def _typed_value(value: Any) -> str | None:
    """A plain value, a transformer, or a dict of such, as it is typed; None where it cannot be."""
    if _is_plain(value):
        return repr(value)
    if isinstance(value, np.integer | np.floating):
        return _typed_value(value.item())
    if type(value) is dict and all(map(_is_plain, value)):
        parts = {repr(key): _typed_value(part) for key, part in value.items()}
        return None if None in parts.values() else f"{{{', '.join(f'{key}: {typed}' for key, typed in parts.items())}}}"
    return _typed_step(value) if sklearn_class(type(value).__name__) is type(value) else None


def _is_plain(value: Any) -> bool:
    """Whether Python writes a value as it is typed: None, text, a finite number, or a list or tuple of such."""
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value))


def _table_options(front: Any, beside: Mapping[str, str]) -> list[str] | None:
    """``--text``, ``--tokens`` and others that make the same views of a table, or None where they cannot."""
    text: dict[str, Any] = {}
    tokens: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    key: str | None = None
    if isinstance(front, TableViews) and front.vectorizer is None and front.embeddings is None:
        text, tokens = read_columns("text", front.text), read_columns("tokens", front.tokens)
        columns, key = read_column_groups(front.columns), front.id
    elif isinstance(front, TextViews) and front.vectorizer is None:
        tokens = read_columns("tokens", front.tokens)
        text = {view: column for view, column in front.columns_.items() if view not in tokens}
    columns = {view: names for view, names in columns.items() if view not in beside}
    groups = {view: [names] if isinstance(names, str) else list(names) for view, names in columns.items()}
    lists = {view: _list_column(column) for view, column in tokens.items()}
    named = [*text.values(), *(name for names in groups.values() for name in names), *([] if key is None else [key])]
    settings = {row["name"]: _typed(front, row["name"]) for row in _parameters(front) if row["changed"]}
    settings = {name: value for name, value in settings.items() if name in _TABLE_SETTINGS}
    if not (named or lists or beside) or None in lists.values() or None in settings.values():
        return None
    if not all(isinstance(name, str) and "," not in name for name in named):
        return None
    return [
        *_repeated("--text", text),
        *_repeated("--tokens", lists),
        *_repeated("--columns", {view: ",".join(names) for view, names in groups.items()}),
        *([] if key is None else ["--id", key]),
        *(part for name, value in settings.items() for part in (f"--{name.replace('_', '-')}", str(value))),
    ]


def _list_column(column: Any) -> str | None:
    """A column of lists, with its separator where that was set, as it is typed; None where it cannot be."""
    if isinstance(column, str):
        return column
    name, separator = column
    if separator in _SIGNS:
        return f"{name}:{_SIGNS[separator]}"
    return f"{name}:{separator}" if isinstance(separator, str) and re.fullmatch(r"\W+", separator) else None


def _typed(front: Any, name: str) -> str | None:
    """A setting of a table's views as it is typed; None where it cannot be."""
    value = front.get_params(deep=False)[name]
    if value is None:
        return "none"
    if isinstance(value, (list, tuple)):
        words = [str(word) for word in value]
        return ",".join(words) if len(words) > 1 and not any("," in word for word in words) else None
    return str(value) if isinstance(value, (int, float, str)) else None


def _plain_settings(estimator: Any) -> dict[str, Any] | None:
    """The parameters that were set, or None where one is more than a command line can say."""
    values = estimator.get_params(deep=False)
    changed = {row["name"]: values[row["name"]] for row in _parameters(estimator) if row["changed"]}
    return changed if all(isinstance(value, (int, float, str)) for value in changed.values()) else None


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) and '"' not in value else repr(value)
