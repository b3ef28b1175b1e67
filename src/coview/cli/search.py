"""`coview search`: find objects by one view with words in another; by default code of the installed Python packages.

The retriever of the default corpus is learned once, and kept in the user's cache folder for the next call.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

RECIPE = 1  # part of the cache's key: raise it whenever the same corpus would give another retriever

__all__ = ["build_demo_retriever", "run_search", "search"]


def search(
    query: Annotated[str, typer.Argument(help="What to search with: words, or the path of an image.")],
    model: Annotated[
        Path | None, typer.Option(help="A saved CrossModalRetriever; by default one of the installed Python packages.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="View of the query.")] = None,
    target: Annotated[str | None, typer.Option(help="View to search in.")] = None,
    k: Annotated[int, typer.Option("-k", "--k", min=1, help="Number of hits.")] = 10,
    why: Annotated[bool, typer.Option("--why", help="Say what made each hit match.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a machine to read.")] = False,
) -> None:
    """Search one view of objects with another: code with words, texts with an image."""
    found = run_search(query, model, source, target, k, why=why, quiet=as_json)
    if as_json:
        print(json.dumps(found))
        return
    _show(found)


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
    from coview.retrieval.feature_parts import USUAL

    if not query.strip():
        raise ValueError('The query is empty. Give some words, for example: coview search "wait for a task".')
    retriever = build_demo_retriever(quiet) if model is None else _loaded(model)
    if model is None:
        source, target = source or "words", target or "code"
    elif source is None and len(retriever.view_names_) > 1:
        listed = ", ".join(retriever.view_names_)
        raise ValueError(f"Say which view the query belongs to: --source one of {listed}.")
    hits = retriever.search(query, source, target, k)
    rows: list[dict[str, Any]] = [{"id": key, "score": round(score, 6)} for key, score in hits[0]]
    for row in rows if why else []:
        parts = retriever.explain(query, row["id"], source, target, by="auto").contributions
        best = [part for part in parts.items() if part[0] != USUAL][:3]
        best.append(("all else", sum(parts.values()) - sum(value for _, value in best)))
        row["why"] = {name: round(value, 6) for name, value in best}
    return {"query": query, "source": source, "target": target, "indexed": len(retriever.indexed_ids()), "hits": rows}


def build_demo_retriever(quiet: bool = False, cache: Path | None = None) -> Any:
    """Return a retriever of the code of the installed Python packages by the words of their documentation.

    It is learned once and then read from a file in `cache`, by default a folder of the user's cache. A file that is
    damaged or of another corpus or version is not used; a folder that cannot be written costs the next call seconds.
    """
    from sklearn.pipeline import make_pipeline

    from coview import CrossModalRetriever, MultiViewCCA, TfidfViews
    from coview.datasets import load_python_packages
    from coview.datasets.fetch import user_cache

    with _saying("Reading the Python packages on this machine (parsed, never imported)", quiet):
        corpus = load_python_packages()
    path = (user_cache() / "search" if cache is None else cache) / f"{_key(corpus.content_hash)}.coview"
    found = _from_cache(path)
    if found is None:
        with _saying("Learning a common space of words and code, once", quiet):
            model = make_pipeline(TfidfViews(sublinear_tf=True), MultiViewCCA(100, random_state=0))
            found = CrossModalRetriever(model, lexical=0.3).fit(corpus.views)
        _into_cache(found, path)
    return found


def _key(content_hash: str) -> str:
    import sklearn

    from coview import __version__

    parts = json.dumps([RECIPE, content_hash, __version__, sklearn.__version__])
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _from_cache(path: Path) -> Any:
    """The retriever in a file, or None where there is none that can be used."""
    from coview import CrossModalRetriever, load
    from coview.exceptions import CoviewError

    if not path.is_file():
        return None
    try:
        found = load(path)
    except (CoviewError, OSError):  # whatever is wrong with it, it is made anew
        return None
    return found if isinstance(found, CrossModalRetriever) else None


def _into_cache(retriever: Any, path: Path) -> bool:
    """Tell whether the retriever could be kept; those of older corpora and versions go."""
    from coview import save

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save(retriever, path)
        for old in path.parent.glob("*.coview"):
            if old != path:
                old.unlink(missing_ok=True)
    except OSError:
        return False
    return True


@contextmanager
def _saying(what: str, quiet: bool) -> Iterator[None]:
    """Say on standard error what is being done: with a moving sign on a terminal, else in a line."""
    if quiet:
        yield
        return
    if not sys.stderr.isatty():
        print(f"{what} ...", file=sys.stderr)
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def _loaded(path: Path) -> Any:
    from coview import CrossModalRetriever, load

    model = load(path)
    if not isinstance(model, CrossModalRetriever):
        raise ValueError(
            f"{path} holds a {type(model).__name__}; search needs a saved CrossModalRetriever. Fit one: "
            "coview fit CrossModalRetriever ..."
        )
    return model


def _show(found: dict[str, Any]) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(f"{found['target'] or 'hits'} for {found['query']!r}, of {found['indexed']:,} objects")
    for row in found["hits"]:
        console.print(f"  {row['score']:.3f}  {row['id']}")
        for name, value in row.get("why", {}).items():
            console.print(f"           {value:+.3f}  {name}", style="dim")
