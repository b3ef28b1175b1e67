"""How well a retriever finds: every view asked for every other, and a few searches to look at."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from coview.report.objects import words_of_objects
from coview.report.reader import sample_rows
from coview.utils.jsonable import plain
from coview.views.views import Views

__all__ = ["is_retriever", "searches"]

QUERIES = 200
SHOWN = 5
HITS = 10


def is_retriever(core: Any) -> bool:
    """Tell whether a model searches."""
    return hasattr(core, "search") and hasattr(core, "indexed_ids") and hasattr(core, "shelf_")


def searches(core: Any, views: Views | None, y: np.ndarray | None = None, seed: int = 0) -> dict[str, Any]:
    """Return the section on searching: how often an object's one view finds its other, and some searches.

    Parameters
    ----------
    core : CrossModalRetriever
        Fitted.
    views : Views, optional
        Objects that are indexed; some of them become queries.
    y : ndarray of int, optional
        Codes of their labels; -1 for none.

    Examples
    --------
    >>> from coview import CrossModalRetriever, LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(60, {"words": 30, "image": 20}, n_clusters=3, random_state=0).views
    >>> found = searches(CrossModalRetriever(LinkPLSA(3, random_state=0)).fit(X), X)
    >>> [(pair["source"], pair["target"]) for pair in found["pairs"]]
    [('words', 'image'), ('image', 'words')]
    """
    found: dict[str, Any] = {"indexed": len(core.indexed_ids()), "pairs": [], "examples": []}
    if views is None:
        return found
    ids = np.arange(len(views)) if views.ids is None else np.asarray(views.ids)
    rows_of = {key: row for row, key in enumerate(ids.tolist())}
    names = [name for name in views.names if name in core.view_names_]
    for source, target in permutations(names, 2):
        there = set(np.asarray(core.indexed_ids(target)).tolist())
        asked = np.flatnonzero(views.present[:, views.names.index(source)])
        asked = np.array([row for row in asked.tolist() if ids[row] in there], dtype=np.int64)
        if not len(asked):
            continue
        asked = asked[sample_rows(len(asked), QUERIES, seed)]
        hits = core.search(views[asked].select(source), source, target, min(HITS, len(there)))
        found["pairs"].append(_row(source, target, ids[asked], hits, asked, y, rows_of))
        if not found["examples"]:
            found["examples"] = _examples(views, asked[:SHOWN], ids, hits, source, target, rows_of, core)
    return plain(found)


def _row(
    source: str, target: str, keys: np.ndarray, hits: Any, asked: np.ndarray, y: np.ndarray | None, rows_of: Any
) -> dict[str, Any]:
    own = hits.ids == keys[:, None]
    row: dict[str, Any] = {
        "source": source,
        "target": target,
        "n_queries": len(keys),
        "first": float(own[:, 0].mean()),
        "among": float(own.any(axis=1).mean()),
        "k": int(hits.ids.shape[1]),
    }
    if y is not None:
        labels = np.array([[y[rows_of[key]] if key in rows_of else -1 for key in line] for line in hits.ids.tolist()])
        same = (labels == y[asked][:, None])[y[asked] >= 0]
        row["same_label"] = float(same.mean()) if same.size else None
    return row


def _examples(
    views: Views, rows: np.ndarray, ids: np.ndarray, hits: Any, source: str, target: str, rows_of: Any, core: Any
) -> list[dict[str, Any]]:
    names = {**getattr(core, "feature_names_by_view_", {}), **views.feature_names}
    told = words_of_objects(views.select(source), rows.tolist(), names)
    lines = []
    for place, row in enumerate(rows.tolist()):
        best = hits[place][:SHOWN]
        known = [rows_of[key] for key, _ in best if key in rows_of]
        about = dict(zip(known, words_of_objects(views.select(target), known, names, n=5)))
        lines.append(
            {
                "query": ids[row],
                "source": source,
                "target": target,
                "words": told[place].get(source, []),
                "hits": [
                    {
                        "id": key,
                        "score": score,
                        "own": key == ids[row],
                        "words": about.get(rows_of.get(key), {}).get(target, []),
                    }
                    for key, score in best
                ],
            }
        )
    return lines
