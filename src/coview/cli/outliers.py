"""`coview outliers`: a model file and data to a table of the objects that no topic or cluster explains."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.files import ids_of, plain
from coview.cli.options import Config, Data, EscapeFormulas, Json, Sep, Table, View
from coview.cli.predict import AllDigits, Model, Out, load_objects, run_to_table
from coview.utils.progress import tell
from coview.utils.warn import warn_user

__all__ = ["outliers", "run_outliers"]


def outliers(
    ctx: typer.Context,
    model: Model = None,
    view: View = None,
    data: Data = None,
    table: Table = None,
    sep: Sep = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            help="Usual objects that were not in the fit, a file of the same kind as --table or --data; by default the "
            "bulk of the objects tells what is usual.",
        ),
    ] = None,
    false_alarm: Annotated[
        float, typer.Option("--false-alarm", help="Share of usual objects that may be called outliers by chance.")
    ] = 0.01,
    every: Annotated[bool, typer.Option("--all", help="List every object with its score, outlier or not.")] = False,
    out: Out = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 0,
    all_digits: AllDigits = False,
    escape_formulas: EscapeFormulas = True,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List the objects that no topic or cluster explains, the clearest first.

    One half of an object is predicted from the other half. "score" says how far the likelihood of an object lies above
    that of usual objects of its length, in standard deviations; it is negative for outliers. "name" is the group that
    is nearest. A warning says so where there are no more of them than by chance.
    """
    run_to_table(ctx, config, as_json, run_outliers)


def run_outliers(
    model: Path | None,
    view: Any = None,
    data: Path | None = None,
    table: Path | None = None,
    sep: str | None = None,
    reference: Path | None = None,
    false_alarm: float = 0.01,
    every: bool = False,
    seed: int = 0,
) -> dict[str, list[Any]]:
    """Return the columns that `coview outliers` writes."""
    fitted, X = load_objects(model, "outliers", view, data, table, sep)
    usual = None
    if reference is not None:
        if view:
            raise ValueError(
                "--reference is one file, as --table or --data are: pass the objects by these, not by --view."
            )
        _, usual = load_objects(
            model,
            "outliers",
            None,
            Path(reference) if table is None else None,
            None if table is None else Path(reference),
            sep,
        )
    tell("finding outliers")
    found = fitted.outliers(X, reference=usual, false_alarm=false_alarm, random_state=seed)
    ids = ids_of(X, fitted.id_column)
    key = "row" if ids is None else "id"

    def named(rows: list[int]) -> dict[str, list[Any]]:
        return {key: rows if ids is None else plain({key: [ids[row] for row in rows]})[key]}

    if every:
        scores = {"score": found.scores.tolist(), "p_value": found.p_values.tolist()}
        return {**named(list(range(len(found.scores)))), "outlier": (found.scores < found.threshold).tolist(), **scores}
    if not found.exceeds_chance:
        warn_user(f"{found.describe()}.", UserWarning)
    return {**named(found["row"]), **{name: part for name, part in found.items() if name not in ("row", "id")}}
