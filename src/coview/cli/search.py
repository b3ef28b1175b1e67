"""`coview search`: find objects with words, or those near one; by default code of the installed Python packages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.files import read_input
from coview.cli.options import Json, Objects
from coview.cli.writing import Caption, find_captions, keys_of
from coview.utils.messages import printable

__all__ = ["run_search", "search"]


def search(
    query: Annotated[
        str | None, typer.Argument(help="What to search with: words, or the path of an image.", show_default=False)
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="A saved CrossModalRetriever; by default one of the installed Python packages.")
    ] = None,
    near: Annotated[str | None, typer.Option(help="Id of an object: find those that resemble it.")] = None,
    source: Annotated[str | None, typer.Option(help="View of the query; by default all that read text.")] = None,
    target: Annotated[str | None, typer.Option(help="View to search in; by default all.")] = None,
    k: Annotated[int, typer.Option("-k", "--k", min=1, help="Number of hits.")] = 10,
    table: Annotated[
        Path | None, typer.Option("--table", help="The raw table of the objects, for their captions.")
    ] = None,
    caption: Caption = None,
    why: Annotated[bool, typer.Option("--why", help="Show what each word of the query is worth to each hit.")] = False,
    as_json: Json = False,
) -> None:
    """Search objects with words, with an image, or for those that resemble one of them.

    coview search "wait until a task is cancelled"
    coview search "email client" --model packages.coview --why
    coview search --near gparted --model packages.coview
    """
    if table is None and caption is not None:
        raise ValueError("--caption names a column of the table of the objects: pass it with --table FILE.")
    result = run_search(query, model, source, target, k, near=near, why=why, quiet=as_json)
    if table is not None and model is not None:
        _add_captions(result["hits"], model, table, caption)
    if as_json:
        print(json.dumps(result))
        return
    _show(result)


def run_search(
    query: str | None,
    model: Path | None = None,
    source: str | None = None,
    target: str | None = None,
    k: int = 10,
    *,
    near: str | None = None,
    why: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Search and return plain values, as `coview search --json` prints them."""
    from coview.web.demo import demo_retriever

    if (query is None) == (near is None):
        raise ValueError('Pass either words to search with or --near ID. Example: coview search "wait for a task".')
    if query is not None and not query.strip():
        raise ValueError('The query is empty. Pass some words, for example: coview search "wait for a task".')
    if near is not None and (source or target or why):
        raise ValueError("--near compares all views of two objects: leave out --source, --target and --why.")
    retriever = demo_retriever(quiet) if model is None else _loaded(model)
    if model is None and near is None:
        source, target = source or "words", target or "code"
    if near is not None:
        hits = retriever.near(_as_id(near, retriever.indexed_ids()), k)
    else:
        hits = retriever.search(query, source, target, k)
    rows: list[dict[str, Any]] = [{"id": key, "score": round(score, 6)} for key, score in hits[0]]
    if hits.groups is not None:
        for row, group, name in zip(rows, hits.groups[0].tolist(), hits.group_names[0]):
            row.update({"group": group if name is not None else None, "group_name": name})
    if why and query is not None:
        worth = retriever.explain_words(query, [row["id"] for row in rows], source, target)
        for row, words in zip(rows, worth):
            row["why"] = {word: round(value, 6) for word, value in list(words.items())[:3]}
    asked = {"query": query} if near is None else {"near": near}
    searched = {"source": source, "target": target, "indexed": len(retriever.indexed_ids())}
    return {**asked, **searched, "ignored": hits.ignored[0] if hits.ignored else [], "hits": rows}


def _add_captions(hits: list[dict[str, Any]], path: Path, table: Path, column: str | None) -> None:
    """Put a line on the object to each hit, of the table that holds them."""
    from coview.inspection import inspect

    model, X = inspect(_loaded(path)), read_input(Objects(table=table))
    captions = find_captions(model, X, column)
    if captions is None:
        return
    (keys,) = keys_of(model, X, range(len(captions))).values()
    lines = dict(zip(map(str, keys), captions))
    for hit in hits:
        hit["caption"] = lines.get(str(hit["id"]), "")


def _as_id(text: str, ids: Any) -> Any:
    """Return the id that was typed: a number where the ids are numbers."""
    return int(text) if ids.dtype.kind in "iu" and text.lstrip("-").isdigit() else text


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

    from coview.retrieval.hits import say_ignored

    console = Console(highlight=False, markup=False, soft_wrap=True)
    asked = f"for {result['query']!r}" if "query" in result else f"near {result['near']!r}"
    console.print(printable(f"{result['target'] or 'hits'} {asked}, of {result['indexed']:,} objects"))
    if result["ignored"]:
        console.print(printable(say_ignored(result["ignored"])))
    for row in result["hits"]:
        name, line = row.get("group_name"), row.get("caption")
        about = (f"  {printable(line)}" if line else "") + (f"  [{printable(name)}]" if name else "")
        console.print(f"  {row['score']:.3f}  {printable(row['id'])}{about}")
        for name, value in row.get("why", {}).items():
            console.print(f"           {value:+.3f}  {printable(name)}", style="dim")
