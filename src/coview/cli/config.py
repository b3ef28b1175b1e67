"""`--config run.toml` records a run where the file is absent, and repeats it where it is there."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from coview.exceptions import DataFileError
from coview.utils.atomic import atomic_path
from coview.utils.messages import cut

__all__ = ["merge_config", "write_config"]

_NEVER = ("config", "as_json")  # how a run is shown is not part of it


def merge_config(ctx: Any, config: Path | None, paths: tuple[str, ...]) -> dict[str, Any]:
    """Return the options of a command: of the command line, else of the file, else the defaults.

    `paths` names the options that are paths.
    """
    options = {name: value for name, value in ctx.params.items() if name not in _NEVER}
    if config is None or not config.exists():
        return options
    try:
        stored = tomllib.loads(config.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise DataFileError(
            f"{config} is no text, so it is not the TOML file of a run. Name another file after --config; one that is "
            "absent is written."
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise DataFileError(f"{config} is not TOML: {cut(str(error))}.") from None
    command = stored.pop("command", ctx.info_name)
    if command != ctx.info_name:
        raise DataFileError(f"{config} records a run of `coview {command}`, not of `coview {ctx.info_name}`.")
    for name, value in stored.items():
        if name not in options:
            raise DataFileError(f"{config} sets {name!r}; `coview {command}` has {', '.join(options)}.")
        source = ctx.get_parameter_source(name)
        if source is None or source.name == "DEFAULT":
            options[name] = Path(value) if name in paths else value
    return options


def write_config(ctx: Any, config: Path, options: dict[str, Any]) -> None:
    """Record the options that are set; a file that is there stays as it is."""
    if config.exists():
        return
    lines = [f"command = {json.dumps(ctx.info_name)}"]
    for name, value in options.items():
        if value is None or value == [] or value == ():
            continue
        if isinstance(value, (list, tuple)):
            lines.append(f"{name} = [{', '.join(json.dumps(str(each), ensure_ascii=False) for each in value)}]")
        elif isinstance(value, (bool, int, float)):
            lines.append(f"{name} = {json.dumps(value)}")
        else:
            lines.append(f"{name} = {json.dumps(str(value), ensure_ascii=False)}")
    with atomic_path(config) as beside:
        beside.write_text("\n".join(lines) + "\n", encoding="utf-8")
