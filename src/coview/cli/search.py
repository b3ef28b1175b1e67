"""`coview search`: find objects with words, or those near one; by default code of the installed Python packages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.files import check_there, read_input
from coview.cli.options import Json, Objects
from coview.cli.writing import keys_of
from coview.utils.messages import printable

__all__ = ["search"]


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
    table: Annotated[Path | None, typer.Option("--table", help="The raw table of the objects, to show them.")] = None,
    why: Annotated[bool, typer.Option("--why", help="Show what each word of the query is worth to each hit.")] = False,
    as_json: Json = False,
) -> None:
    """Search objects with words, with an image, or for those that resemble one of them.

    The words come first, and the model is an option, since without one the installed Python packages are searched.

    coview search "wait until a task is cancelled"
    coview search "email client" --model packages.coview --why
    coview search --near gparted --model packages.coview
    """
    if (not (query or "").strip() and near is None) or (query is not None and near is not None):
        raise ValueError('Pass either words to search with or --near ID. Example: coview search "wait for a task".')
    if near is not None and (source or target or why):
        raise ValueError("--near compares all views of two objects: leave out --source, --target and --why.")
    retriever = _load_retriever(model, quiet=as_json)
    if model is None and near is None:
        source, target = source or "words", target or "code"
    ids = retriever.indexed_ids()
    if near is not None:
        is_number = ids.dtype.kind in "iu" and near.lstrip("-").isdigit()
        hits = retriever.near(int(near) if is_number else near, k)
    else:
        hits = retriever.search(query, source, target, k)
    rows: list[dict[str, Any]] = [{"id": key, "score": round(score, 6)} for key, score in hits[0]]
    if hits.groups is not None:
        for row, group, name in zip(rows, hits.groups[0].tolist(), hits.group_names[0]):
            row.update({"group": group if name is not None else None, "group_name": name})
    if why:
        worth = retriever.explain_words(query, [row["id"] for row in rows], source, target)
        for row, words in zip(rows, worth):
            row["why"] = {word: round(value, 6) for word, value in list(words.items())[:3]}
    if table is not None and model is not None:
        _add_captions(rows, retriever, table)
    asked = {"query": query} if near is None else {"near": near}
    result: dict[str, Any] = {**asked, "source": source, "target": target, "indexed": len(ids)}
    result |= {"ignored": hits.ignored[0] if hits.ignored else [], "hits": rows}
    print(json.dumps(result) if as_json else "\n".join(map(printable, _format_hits(result))))


def _load_retriever(path: Path | None, quiet: bool) -> Any:
    if path is None:
        from coview.web.demo import demo_retriever

        return demo_retriever(quiet)

    check_there(path)

    from coview import inspect, load
    from coview.retrieval.retriever import CrossModalRetriever

    model = load(path)
    if not isinstance(model, CrossModalRetriever):
        raise ValueError(
            f"{path} holds {inspect(model).name}, which cannot search. Fit a model that can: "
            "coview fit CrossModalRetriever TABLE"
        )
    return model


def _add_captions(hits: list[dict[str, Any]], retriever: Any, table: Path) -> None:
    """Add a line on the object to each hit, of the table that holds them."""
    from coview import inspect

    model, X = inspect(retriever), read_input(Objects(table))
    if (captions := model.preparation.captions(X)) is not None:
        (keys,) = keys_of(model, X, range(len(captions))).values()
        lines = dict(zip(map(str, keys), captions))
        for hit in hits:
            hit["caption"] = lines.get(str(hit["id"]), "")


def _format_hits(result: dict[str, Any]) -> list[str]:
    from coview.retrieval.hits import say_ignored

    asked = f"for {result['query']!r}" if "query" in result else f"near {result['near']!r}"
    lines = [f"{result['target'] or 'hits'} {asked}, of {result['indexed']:,} objects"]
    lines += [say_ignored(result["ignored"])] if result["ignored"] else []
    for row in result["hits"]:
        name, line = row.get("group_name"), row.get("caption")
        about = (f"  {line}" if line else "") + (f"  [{name}]" if name else "")
        lines.append(f"  {row['score']:.3f}  {row['id']}{about}")
        lines += [f"           {value:+.3f}  {word}" for word, value in row.get("why", {}).items()]
    return lines
