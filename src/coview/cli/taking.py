"""How a command takes its options: in groups, and with its outputs checked before any work."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any

from coview.cli.writing import check_outputs

__all__ = ["take_options"]


def take_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of each of its parameters that is a dataclass of options; check what it writes to."""
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for name, each in inspect.signature(command, eval_str=True).parameters.items():
        if is_dataclass(each.annotation):
            groups[name] = each.annotation
            options: Any = each.annotation
            parameters += inspect.signature(options, eval_str=True).parameters.values()
        else:
            parameters.append(each)
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]

    @wraps(command)
    def with_groups(**values: Any) -> None:
        check_outputs(command.__name__, values)
        filled = {
            name: kind(**{each.name: values.pop(each.name) for each in fields(kind) if each.name in values})
            for name, kind in groups.items()
        }
        command(**filled, **values)

    with_groups.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_groups.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_groups
