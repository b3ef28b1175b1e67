"""What an archived estimator is, in plain values and without its arrays: classes, parameters, shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.utils.archive import Packed

__all__ = ["outlined"]

_SHOWN = 20  # parts of a list or dict that an outline shows


def outlined(node: Packed) -> dict[str, Any]:
    """One packed estimator in plain values; the estimators inside it by their names."""
    params, attributes = node.get("params", {}), node.get("attributes", {})
    found: dict[str, Any] = {"model": node.get("class"), "parameters": {k: _plain(v) for k, v in params.items()}}
    steps = params.get("steps")
    if isinstance(steps, list):
        parts = [step[1] for step in steps if isinstance(step, tuple) and isinstance(step[1], Packed)]
        found["parameters"].pop("steps")
        return {**found, "steps": [outlined(part) for part in parts]}
    return {**found, "fitted": {k: _plain(v) for k, v in attributes.items() if not k.startswith("_")}}


def _plain(value: Any) -> Any:
    """A value of an outline as JSON knows it; of what is long, the beginning."""
    if isinstance(value, Packed) and "params" in value:
        inner = outlined(value)
        return inner if "steps" in inner else inner["model"]
    if isinstance(value, dict):
        first = {str(key): _plain(part) for key, part in list(value.items())[:_SHOWN]}
        return first if len(value) <= _SHOWN else {**first, "...": f"{len(value)} in all"}
    if isinstance(value, (list, tuple)):
        short = [_plain(part) for part in value[:_SHOWN]]
        return short if len(value) <= _SHOWN else [*short, f"... {len(value)} in all"]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    return value.item() if isinstance(value, np.generic) else value
