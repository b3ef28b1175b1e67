"""What a model is and how it was made: parameters, versions, seed, and in words what it was chosen from."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from importlib import metadata
from inspect import Parameter, getdoc, signature
from typing import Any

import numpy as np

from coview._version import __version__
from coview.catalog import ESTIMATORS
from coview.editing.log import describe_record
from coview.inspection import Inspection
from coview.inspection.choice import describe_doubt, describe_selection, describe_votes
from coview.utils.messages import cut

__all__ = ["describe_model", "written"]

# <function f at 0x7f..>, <function f.<locals>.<lambda> at 0x7f..>, <package.Class object at 0x7f..>
_IN_MEMORY = re.compile(r"<(?:function (?:[\w<>]+\.)*(\w+)|[\w.<> ]+?) at 0x[0-9a-f]+>")
_QUIET = ("verbose", "n_jobs")  # they change nothing that was learned


def describe_model(inspection: Inspection, saved_with: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the section on the model: its name, parameters, steps before it, versions and seed."""
    class_name = type(inspection.estimator).__name__
    entry = ESTIMATORS.get(class_name)
    document = (getdoc(type(inspection.estimator)) or "").strip().splitlines()
    parameters = inspection.estimator.get_params(deep=False)
    seed = parameters.get("random_state")
    stages = [
        stage
        for stage in (inspection.preparation.front, *inspection.preparation.steps, inspection.estimator)
        if stage is not None
    ]
    alone = inspection.preparation.model is inspection.estimator or len(stages) == 1
    width = sum(view.n_features for view in inspection.views.values())
    chosen = describe_selection(inspection.selection, width)
    return {
        "name": class_name,
        "title": inspection.name,
        "kind": entry.kind if entry else "estimator",
        "summary": entry.summary if entry else "",
        "sentence": " ".join(f"{line[:1].upper()}{line[1:].rstrip('.')}." for line in chosen)
        or (document[0] if document else ""),
        "words": _describe_in_words(inspection, document[0] if document else inspection.name),
        "doubt": describe_doubt(inspection.selection, width),
        "parameters": _parameters(inspection.estimator),
        "steps": [] if alone else [written(stage) for stage in stages],
        "seed": int(seed) if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) else None,
        "takes_seed": "random_state" in parameters,
        "iterations": inspection.training.n_iter,
        "rounds": inspection.training.n_rounds,
        "candidates": dict(inspection.selection.candidates),
        "updates": inspection.structure.updates,
        "edits": [describe_record(record) for record in inspection.structure.edits],
        "held_out": dict(inspection.selection.held_out),
        "versions": {
            "coview": __version__,
            "python": platform.python_version(),
            **{package: metadata.version(package) for package in ("numpy", "scipy", "scikit-learn", "numba")},
        },
        "saved_with": dict(saved_with or {}),
    }


def _describe_in_words(inspection: Inspection, otherwise: str) -> str:
    """How the model was made, in a sentence or two without its evidence."""
    votes, weights = inspection.selection.votes, inspection.selection.candidates.get("weight", [])
    if votes:
        return describe_votes(votes)
    if not weights:
        return otherwise
    used = sum(weight > 0 for weight in weights)
    if used == len(weights):
        return f"{used} methods are combined." if used > 1 else otherwise
    how = "the best one was chosen" if used == 1 else f"the best {used} are combined"
    return f"{len(weights)} methods were tried, and {how}."


def written(value: Any, longest: int = 120) -> str:
    """Return a value as one would type it, cut where it is long.

    Functions are called by their names, not by where they lie in memory; other objects, and functions without a name,
    are "...".

    Examples
    --------
    >>> written({"words": 3}), written("x" * 9, longest=5), written(len)
    ("{'words': 3}", "'xxxx...", '<built-in function len>')
    """
    with np.printoptions(threshold=10, edgeitems=2):
        return cut(_IN_MEMORY.sub(lambda match: match[1] or "...", repr(value)), longest)


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
