"""`coview search`: find objects by one view with words in another; by default code of the installed Python packages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.options import Json

__all__ = ["run_search", "search"]


def search(
    query: Annotated[str, typer.Argument(help="What to search with: words, or the path of an image.")],
    model: Annotated[
        Path | None, typer.Option(help="A saved CrossModalRetriever; by default one of the installed Python packages.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="View of the query.")] = None,
    target: Annotated[str | None, typer.Option(help="View to search in.")] = None,
    k: Annotated[int, typer.Option("-k", "--k", min=1, help="Number of hits.")] = 10,
    why: Annotated[bool, typer.Option("--why", help="Explain each hit.")] = False,
    as_json: Json = False,
) -> None:
    """Search one view of objects with another: code with words, texts with an image."""
    result = run_search(query, model, source, target, k, why=why, quiet=as_json)
    if as_json:
        print(json.dumps(result))
        return
    _show(result)


def run_search(
    query: str,
    model: Path | None = None,
    source: str | None = None,
    target: str | None = None,
    k: int = 10,
    *,
    why: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Search and return plain values, as `coview search --json` prints them."""
    from coview.retrieval.contributions import AVERAGE
    from coview.web.demo import demo_retriever

    if not query.strip():
        raise ValueError('The query is empty. Pass some words, for example: coview search "wait for a task".')
    retriever = demo_retriever(quiet) if model is None else _loaded(model)
    if model is None:
        source, target = source or "words", target or "code"
    elif source is None and len(retriever.view_names_) > 1:
        listed = ", ".join(retriever.view_names_)
        raise ValueError(f"Specify the view of the query: --source must be one of {listed}.")
    hits = retriever.search(query, source, target, k)
    rows: list[dict[str, Any]] = [{"id": key, "score": round(score, 6)} for key, score in hits[0]]
    for row in rows if why else []:
        parts = retriever.explain(query, row["id"], source, target, by="auto").contributions
        best = [part for part in parts.items() if part[0] != AVERAGE][:3]
        best.append(("all else", sum(parts.values()) - sum(value for _, value in best)))
        row["why"] = {name: round(value, 6) for name, value in best}
    return {"query": query, "source": source, "target": target, "indexed": len(retriever.indexed_ids()), "hits": rows}


def _loaded(path: Path) -> Any:
    from coview import CrossModalRetriever, load

    model = load(path)
    if not isinstance(model, CrossModalRetriever):
        raise ValueError(
            f"{path} holds a {type(model).__name__}; search needs a saved CrossModalRetriever. Fit one: "
            "coview fit CrossModalRetriever ..."
        )
    return model


def _show(result: dict[str, Any]) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(f"{result['target'] or 'hits'} for {result['query']!r}, of {result['indexed']:,} objects")
    for row in result["hits"]:
        console.print(f"  {row['score']:.3f}  {row['id']}")
        for name, value in row.get("why", {}).items():
            console.print(f"           {value:+.3f}  {name}", style="dim")
