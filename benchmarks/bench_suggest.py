"""Whether labels that `suggest_labels` names help more than as many random ones, or the most uncertain ones.

python benchmarks/bench_suggest.py [--draws=10,11,12] [--folder=FOLDER] [set ...]

Half of the objects can be labeled, the other half is for testing. A draw begins with one label per class; each of five
rounds adds as many labels as there are classes (at least five) and fits again. What is found on a set is kept in
FOLDER; without names all sets run that are not kept yet, and then the table is written. `COVIEW_DATA` names the folder
of the collections.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench_auto import Data, of, reuters
from common import write
from corpora import load_cora, load_mfeat, load_newsgroups_views, load_webkb
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from coview import (
    AutoClassifier,
    ConcatenatedViews,
    SeededKMeansClassifier,
    TfidfViews,
    UnitRows,
    inspect,
    suggest_labels,
)
from coview.auto.preparation import counted_views
from coview.datasets import make_topic_views

ROUNDS = 5
SETTLED_ON = ("Cora", "Reuters, 1,200")


def made() -> Data:
    data = make_topic_views(600, n_clusters=8, quality=0.35, random_state=1)
    return data.views, np.asarray(data.target)


SETS: dict[str, Callable[[], Data]] = {
    "Cora": lambda: of(load_cora()),
    "Reuters, 1,200": lambda: reuters(1200),
    "Cornell, five classes": lambda: of(load_webkb("cornell", task="classes")),
    "NewsGv2": lambda: of(load_newsgroups_views("v2")),
    "mfeat": lambda: of(load_mfeat()),
    "made": made,
}
WITH_AUTO = ("Cornell, five classes",)


def models(name: str, views: Any) -> dict[str, Callable[[], Any]]:
    """Cheap classifiers, and AutoClassifier on some sets."""
    counted = counted_views(views)
    steps = [TfidfViews(views=counted)] if counted else [UnitRows()]

    def linear() -> Any:
        classifier = LogisticRegression(C=10, max_iter=200)
        return make_pipeline(*steps, ConcatenatedViews(classifier, unlabeled="drop"))

    found: dict[str, Callable[[], Any]] = {
        "seeded k-means": lambda: make_pipeline(*steps, SeededKMeansClassifier(random_state=0)),
        "logistic regression": linear,
    }
    return {**found, "AutoClassifier": lambda: AutoClassifier(random_state=0)} if name in WITH_AUTO else found


def by_margin(model: Any, X: Any, y: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    free = np.flatnonzero(y < 0)
    best = np.sort(inspect(model).memberships(X[free]), axis=1)
    return free[np.argsort(best[:, -1] - best[:, -2], kind="stable")[:n]]


def by_chance(model: Any, X: Any, y: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(np.flatnonzero(y < 0))[:n]


def by_suggestion(model: Any, X: Any, y: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    named = np.where(y < 0, None, y.astype(object))  # -1 is a class for logistic regression
    return suggest_labels(model, X, n, y=named).indices


WAYS = {"random": by_chance, "margin": by_margin, "suggest_labels": by_suggestion}


def measure(views: Any, target: np.ndarray, make: Callable[[], Any], draw: int) -> dict[str, list[float]]:
    """Accuracy on the other half after each round, by each way to choose."""
    codes = np.unique(target, return_inverse=True)[1]
    n_classes = int(codes.max()) + 1
    rng = np.random.default_rng(draw)
    test, pool = np.split(rng.permutation(len(codes)), [len(codes) // 2])
    first = np.full(len(codes), -1)
    for code in range(n_classes):
        first[rng.permutation(pool[codes[pool] == code])[:1]] = code
    start = make().fit(views, _given(first))
    found = {}
    for way, choose in WAYS.items():
        y, model, chance = first.copy(), start, np.random.default_rng(draw)
        found[way] = [float(np.mean(model.predict(views[test]) == codes[test]))]
        for _ in range(ROUNDS):
            rows = pool[choose(model, views[pool], y[pool], max(n_classes, 5), chance)]
            y[rows] = codes[rows]
            model = make().fit(views, _given(y))
            found[way].append(float(np.mean(model.predict(views[test]) == codes[test])))
    return found


def _given(y: np.ndarray) -> np.ndarray:
    return np.where(y < 0, np.nan, y)


def kept(name: str, folder: Path) -> Path:
    return folder / ("".join(c if c.isalnum() else "_" for c in name) + ".json")


def table(folder: Path) -> None:
    rows: list[list[Any]] = []
    draws = set()
    for name in SETS:
        if not kept(name, folder).exists():
            continue
        cells = json.loads(kept(name, folder).read_text())
        for model in dict.fromkeys(cell["model"] for cell in cells):
            mine = [cell for cell in cells if cell["model"] == model]
            draws |= {cell["draw"] for cell in mine}
            curves = {way: np.mean([cell[way] for cell in mine], axis=0) for way in WAYS}
            last = [round(float(curves[way][-1]), 3) for way in WAYS]
            mean = [round(float(curves[way][1:].mean()), 3) for way in WAYS]
            seen = "yes" if name in SETTLED_ON else "no"
            rows.append([name, seen, model, len(mine), round(float(curves["random"][0]), 3), *last, *mean])
    fresh = [row for row in rows if row[1] == "no"]
    gains = {peer: [row[7] - row[at] for row in fresh] for at, peer in ((5, "random"), (6, "margin"))}
    overall = [row[10] - row[8] for row in fresh]
    write(
        "suggest",
        "Labels that suggest_labels names, beside random ones and the most uncertain ones: accuracy on other objects",
        [
            *("data", "settled on", "classifier", "draws", "at the start"),
            *(f"{way}, round {ROUNDS}" for way in WAYS),
            *(f"{way}, mean of the rounds" for way in WAYS),
        ],
        rows,
        [
            f"One label per class at the start; {ROUNDS} rounds of as many labels as classes, at least five.",
            f"On sets that nothing was settled on, after the last round {np.mean(gains['random']):+.3f} over random "
            f"choice in the mean (worst {min(gains['random']):+.3f}) and {np.mean(gains['margin']):+.3f} over the most "
            f"uncertain ones (worst {min(gains['margin']):+.3f}); over all rounds {np.mean(overall):+.3f} over random "
            f"choice (worst {min(overall):+.3f}).",
            f"Draws {sorted(draws)}, the first of them where there are fewer; the rule was settled on "
            f"{' and '.join(SETTLED_ON)}, draws 0 to 4. Draws 0 to 9 of Cornell were looked at; nothing was changed.",
        ],
    )


def main(words: list[str]) -> None:
    options = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
    folder = Path(options.get("folder") or Path(tempfile.gettempdir()) / "coview_suggest")
    folder.mkdir(parents=True, exist_ok=True)
    draws = [int(word) for word in options.get("draws", "10,11,12").split(",")]
    asked = [word for word in words if not word.startswith("--")]
    warnings.simplefilter("ignore")
    for name in asked or [name for name in SETS if not kept(name, folder).exists()]:
        views, target = SETS[name]()
        cells = []
        for model, make in models(name, views).items():
            for draw in draws:
                cells.append({"model": model, "draw": draw, **measure(views, target, make, draw)})
                print(name, model, draw, *(f"{way} {cells[-1][way][-1]:.3f}" for way in WAYS), flush=True)
        kept(name, folder).write_text(json.dumps(cells))
    if not asked:
        table(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
