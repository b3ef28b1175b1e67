"""`coview predict` and `coview transform`: a model file and data to a table."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.config import merge_config, write_config
from coview.cli.inputs import front_of, id_column, read_input
from coview.cli.options import Config, Data, Json, Table, View
from coview.cli.outputs import check_writable, plain, write_table

__all__ = ["predict", "run_predict", "run_transform", "transform"]

Model = Annotated[Path | None, typer.Argument(help="A model file that coview wrote.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Table to write: .csv .tsv .json .jsonl .parquet; else CSV is printed."),
]


def predict(
    ctx: typer.Context,
    model: Model = None,
    view: View = None,
    data: Data = None,
    table: Table = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    out: Out = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Give each object its class or cluster; any non-empty subset of the model's views will do.

    The column "known" is False for objects without anything that the model knows, such as a text of new words only.
    """
    _run(ctx, config, as_json, run_predict)


def transform(
    ctx: typer.Context,
    model: Model = None,
    view: View = None,
    data: Data = None,
    table: Table = None,
    out: Out = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Give each object its topics or coordinates, a column each."""
    _run(ctx, config, as_json, run_transform)


def _run(ctx: typer.Context, config: Path | None, as_json: bool, work: Any) -> None:
    options = merge_config(ctx, config, ("model", "data", "table", "out"))
    out = options.pop("out")
    check_writable(out)
    columns = work(**options)
    if out is not None or not as_json:
        write_table(columns, out)
    if out is not None and not as_json:
        print(f"{out}: {len(next(iter(columns.values()))):,} rows", file=sys.stderr)
    if config is not None:
        write_config(ctx, config, {**options, "out": out})
    if as_json:
        print(json.dumps(plain(columns)))


def run_predict(
    model: Path | None,
    view: Any = None,
    data: Path | None = None,
    table: Path | None = None,
    proba: bool = False,
) -> dict[str, Any]:
    """Return the columns that `coview predict` writes; objects that the model knows nothing of are told of."""
    import numpy as np

    from coview.cli.known import say_unknown, up_to_last

    fitted = _loaded(model, "predict")
    X = _read(fitted, view, data, table)
    last, given, known = up_to_last(fitted, X)
    labels = np.asarray(last.predict(given))
    columns = {"id": _ids(fitted, X, len(labels)), "label": labels}
    if proba:
        if not hasattr(fitted, "predict_proba"):
            raise ValueError(f"{_kind(fitted)} gives no probabilities. Leave --proba out.")
        shares = np.asarray(last.predict_proba(given))
        names = getattr(fitted, "classes_", range(shares.shape[1]))
        columns.update({f"p_{name}": shares[:, j] for j, name in enumerate(names)})
    columns["known"] = known
    warning = say_unknown(known, columns["id"], labels)
    if warning is not None:
        print(f"coview: {warning}", file=sys.stderr)
    return columns


def run_transform(
    model: Path | None, view: Any = None, data: Path | None = None, table: Path | None = None
) -> dict[str, Any]:
    """Return the columns that `coview transform` writes."""
    import numpy as np
    from scipy import sparse

    fitted = _loaded(model, "transform")
    X = _read(fitted, view, data, table)
    found = fitted.transform(X)
    parts = dict(found.items()) if isinstance(found, Mapping) or hasattr(found, "present") else {"": found}
    columns: dict[str, Any] = {}
    for name, part in parts.items():
        dense = np.asarray(part.toarray() if sparse.issparse(part) else part)
        heads = _heads(fitted, dense.shape[1]) if name == "" else [f"{name}:{j}" for j in range(dense.shape[1])]
        columns = columns or {"id": _ids(fitted, X, len(dense))}
        columns.update({head: dense[:, j] for j, head in enumerate(heads)})
    return columns


def _loaded(path: Path | None, method: str) -> Any:
    from coview.io.models import load

    if path is None:
        raise ValueError(f"Name a model file. Example: coview {method} model.coview --data folder --out table.csv")
    model = load(path)
    if not hasattr(model, method):
        other = "transform" if method == "predict" else "predict"
        raise ValueError(f"{path} holds a {_kind(model)}, which has no {method}. Use: coview {other} {path} ...")
    return model


def _read(model: Any, view: Any, data: Path | None, table: Path | None) -> Any:
    raw = front_of(model) is not None
    if raw and table is None:
        raise ValueError("The model was fitted on a raw table: give --table FILE.")
    if not raw and table is not None:
        raise ValueError("The model was fitted on views: give --view NAME=FILE or --data FOLDER.")
    return read_input(view or [], data, table)


def _kind(model: Any) -> str:
    from coview.retrieval.encode import last_step

    return type(last_step(model)).__name__


def _ids(model: Any, X: Any, n_rows: int) -> Any:
    ids = getattr(X, "ids", None)
    if ids is not None:
        return ids
    key = id_column(model)
    if key is not None and key in (list(X) if isinstance(X, Mapping) else list(getattr(X, "columns", []))):
        return list(X[key])
    return range(n_rows)


def _heads(model: Any, width: int) -> list[str]:
    from coview.retrieval.encode import last_step

    last = last_step(model)
    if hasattr(last, "get_feature_names_out"):
        names = last.get_feature_names_out()
        if len(names) == width:
            return [str(name) for name in names]
    return [f"t{j}" for j in range(width)]
