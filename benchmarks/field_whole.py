"""Whole sets, as the field's papers cluster them: published figures, peers at their defaults, coview without labels.

Published figures are in `published_clustering.toml`, each with its source; coview's are those of `bench_auto.py`. Peers
see all columns of the sets, prepared as in `field_methods.py`; what they reach is stored in `results/field_whole.json`.
"""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, machine, median, part
from corpora import (
    load_citeseer,
    load_cora,
    load_leaves,
    load_mfeat,
    load_pubmed,
    load_reuters_multilingual,
    load_webkb,
    load_webkb_course,
    load_wikipedia_linqs,
)
from field_methods import AUTO, METHODS, corpus, prepare

PUBLISHED = Path(__file__).with_name("published_clustering.toml")
MEASURED = RESULTS / "field_whole.json"
SEEDS, SLOW = 3, 3  # seconds of a fit from which one seed must do
MOST_DENSE = 2000  # objects: from there on a fit of most peers takes a minute and more
DATA: dict[str, Callable[[], Any]] = {  # by the names that `bench_auto.py` gives them
    "Cora": partial(corpus, load_cora),
    "CiteSeer": partial(corpus, load_citeseer),
    "Pubmed": partial(corpus, load_pubmed),
    "Wikipedia, links": partial(corpus, load_wikipedia_linqs),
    "mfeat": partial(corpus, load_mfeat),
    "leaves": partial(corpus, load_leaves),
    "Reuters, 1,200": partial(corpus, load_reuters_multilingual),
    "course pages": partial(corpus, load_webkb_course),
    "Cornell": partial(corpus, load_webkb, university="cornell", task="classes"),
    "Wisconsin": partial(corpus, load_webkb, university="wisconsin", task="classes"),
}
SPARSE = {("scikit-learn", "KMeans"), ("scikit-learn", "Spectral")}
DENSE = {
    ("mvlearn", "Spectral rbf"),
    ("mvlearn", "CoRegSpectral rbf"),
    ("polyview", "CoRegSpectral"),
    ("imml", "NEMO"),
    ("cca-zoo", "MCCA 0.01, k-means"),
}


@lru_cache(1)
def load(name: str) -> tuple[dict[str, Any], dict[str, Any], np.ndarray]:
    views, y = DATA[name]()
    return *prepare(views), np.unique(y, return_inverse=True)[1]


# -- what is measured


def known() -> dict[str, Any]:
    return json.loads(MEASURED.read_text()) if MEASURED.exists() else {"machine": {}, "sizes": {}, "cells": {}}


def ours() -> dict[str, Any]:
    """NMI of `AutoClustering` on the sets of `bench_auto.py`, and what each set was used for."""
    stored = json.loads((RESULTS / "auto.json").read_text())
    auto, used = (stored["columns"].index(name) for name in ("auto", "used for"))
    return {row[0]: (row[auto], row[used]) for row in stored["rows"]}


def todo(data: str, wanted: set[tuple[str, str]]) -> Iterator[tuple[str, str, Callable[..., Any]]]:
    given = load(data)[0]
    for library in sorted({library for library, _ in wanted}):
        try:
            methods = dict(METHODS[library](list(given)))
        except ImportError as error:
            print(library, "is not at hand:", error, flush=True)
            continue
        yield from ((library, name, methods[name]) for whose, name in sorted(wanted) if whose == library)


def measure(one: Callable[..., Any], minutes: float, only: list[str]) -> bool:
    """Fit what is missing, quick methods and small sets first; False where time was up. What failed stays failed."""
    found, until = known(), time.time() + 60 * minutes
    for data in DATA:
        if data not in found["sizes"]:
            given, _, y = load(data)
            found["sizes"][data] = [len(y), len(given), int(y.max()) + 1]
    by_size = sorted(DATA, key=lambda data: found["sizes"][data][0])
    rounds = [(data, SPARSE) for data in by_size]
    rounds += [(data, DENSE) for data in by_size if found["sizes"][data][0] <= MOST_DENSE]
    rounds += [(data, {("coview", AUTO)}) for data in DATA if data not in ours()]
    for data, wanted in rounds:
        for library, name, method in todo(data, wanted):
            key = f"{data} | {library} | {name}"
            cells = found["cells"].setdefault(key, [])
            while len(cells) < SEEDS and not any("failed" in cell or cell["seconds"] > SLOW for cell in cells):
                if not all(word in key for word in only):
                    break
                if time.time() > until:
                    print("stopped for now; call again to go on", flush=True)
                    return False
                cell = one(data, method, len(cells))
                cell.pop("candidates", None)
                cells.append(cell)
                found["machine"] = machine()
                MEASURED.write_text(json.dumps(found, indent=1) + "\n")
                print(key, cell, flush=True)
    return True


# -- tables


def score(found: dict[str, Any], data: str, library: str, name: str) -> float | None:
    """Median NMI over the seeds of a method that never failed."""
    cells = found["cells"].get(f"{data} | {library} | {name}", [])
    return median([cell["scores"][0] for cell in cells]) if cells and all("scores" in c for c in cells) else None


def parts() -> list[dict[str, Any]]:
    """The leaderboard, and the published figures that it sums up."""
    published = tomllib.loads(PUBLISHED.read_text())
    return [_leaderboard(published["figures"]), _figures(published)]


def _leaderboard(figures: list[dict[str, Any]]) -> dict[str, Any]:
    found, auto = known(), ours()
    rows: list[list[Any]] = []
    gaps: dict[str, float] = {}
    for data, (objects, views, classes) in found["sizes"].items():
        plain = [score(found, data, "scikit-learn", name) for name in ("KMeans", "Spectral")]
        others = {pair: score(found, data, *pair) for pair in sorted(DENSE)}
        others = {pair: value for pair, value in others.items() if value is not None}
        top = max(others, key=others.get, default=None)
        reported = [f for f in figures if f["data"] == data and "nmi" in f]
        same = [f for f in reported if "differs" not in f]
        most, other = (max(some, key=lambda f: f["nmi"], default=None) for some in (same, reported))
        nmi, used = auto.get(data, (score(found, data, "coview", AUTO), "not used"))
        if nmi is not None and other:
            gaps[data] = nmi - (most or other)["nmi"]
        rows.append(
            [
                data, objects, views, classes, *map(_number, plain),
                f"{_number(others[top])} ({' '.join(top)})" if top else "",
                "; ".join(_best(f) for f in {id(f): f for f in (most, other) if f}.values()),
                f"{_number(median([f['nmi'] for f in reported]))} of {len(reported)}" if reported else "",
                _number(nmi), used,
            ]
        )  # fmt: skip
    ahead = [data for data, gap in gaps.items() if gap > 0.005]
    behind = [f"{data} by {-gap:.3f}" for data, gap in gaps.items() if gap < -0.005]
    failed = sorted(
        f"{key}: {cell['failed'].splitlines()[0][:60]}"
        for key, cells in found["cells"].items()
        for cell in cells
        if "failed" in cell
    )
    return part(
        "Whole sets, beside published figures",
        ["data", "objects", "views", "classes", "k-means", "spectral clustering", "best of other libraries",
         "published, best", "published, median", "coview, auto", "coview used it for"],
        rows,
        [
            "NMI, whole sets, k = number of classes. Peers at their defaults, medians of 3 seeds (one for fits of more "
            f"than {SLOW} s), at most 60 s of the processor a fit; k-means and spectral clustering (scikit-learn) of "
            "all views beside each other, each with the same weight, tf-idf or variance 1. The best of the other "
            "libraries is picked with labels, one method of a kind each; but for three of them on Cora they were not "
            f"tried on more than {MOST_DENSE:,} objects, where a fit takes a minute and more.",
            "Published figures are what papers report of their own and of other methods: mostly tuned with labels, set "
            "by set, or without a word on how settings were chosen. 'Best' is the best of those that could be read in "
            "a text, not of all there are. They are listed below with their sources and with what differs.",
            "coview's is `AutoClustering` with its defaults and without labels, one seed, from `results/auto.json`. "
            "What smooths over links and weighs views was settled with an eye on sets marked seen, by the same scores: "
            "nothing is tuned by set, but these sets are no test of it either.",
            "coview against the best published of the same set (of another version, where there is no other), NMI: "
            f"ahead on {len(ahead)} ({', '.join(ahead) or 'none'}), behind "
            f"on {len(behind)} ({'; '.join(behind) or 'none'}) of {len(gaps)}.",
            "Empty cells were not measured.",
            f"Left out where they failed: {'; '.join(failed) or 'none'}.",
        ],
        found["machine"],
    )  # fmt: skip


def _best(figure: dict[str, Any]) -> str:
    return f"{_number(figure['nmi'])} ({figure['method']}{', on another version' if 'differs' in figure else ''})"


def _figures(published: dict[str, Any]) -> dict[str, Any]:
    sources = published["sources"]
    number = {key: place for place, key in enumerate(sources, start=1)}
    rows = [
        [f["data"], f["method"], _number(f.get("nmi")), _number(f.get("acc")), f"[{number[f['source']]}]",
         f.get("differs", "")]
        for f in published["figures"]
    ]  # fmt: skip
    notes = [
        f"[{number[key]}] {said['authors']}: {said['title']}, {said['where']}. Read in: {said['read']}. Picked: "
        f"{said['picked']}."
        for key, said in sources.items()
    ]
    return part("Published figures", ["data", "method", "NMI", "ACC", "source", "differs"], rows, notes, about={})


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
