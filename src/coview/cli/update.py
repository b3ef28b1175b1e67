"""`coview update`: new rows for a model file, what has become of its topics, and the updated model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from coview.cli.files import read_input, report_views
from coview.cli.options import Json, Model, Objects
from coview.cli.predict import load_objects
from coview.cli.taking import take_options
from coview.utils.jsonable import to_jsonable
from coview.utils.messages import printable
from coview.utils.progress import progress, tell

__all__ = ["update"]


@take_options
def update(
    *,
    model: Model,
    objects: Objects,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Model file to write; without it the events are shown only.")
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option("--reference", help="Old rows, a file like DATA: topics that lead as many of them are not new."),
    ] = None,
    strength: Annotated[
        float | None,
        typer.Option(
            "--strength", help="How many rows the old topics count as; by default those they were learned from."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Teach a model of topics new rows, and show which topics were kept, drifted, were born, split, merged or died.

    Numbers, edits and names that you gave stay, and new topics get new numbers. DATA holds the new rows only.
    """
    with progress(verbose=0 if as_json else None):
        about, X = load_objects(model, objects)

        from coview import save
        from coview.editing import update as learn

        report_views(about.preparation.front, X)
        tell("updating")
        old = None if reference is None else read_input(Objects(reference))
        found = learn(about.preparation.model, X, reference=old, strength=strength)
        if out is not None:
            save(found.model, out)
    if as_json:
        print(json.dumps(to_jsonable(found)))
        return
    saved = "Nothing was written: add -o FILE." if out is None else f"{out}: the updated model."
    print(printable(f"{found}\n{saved}", lines=True))
