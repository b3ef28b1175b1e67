"""How far `AutoClassifier` is from the best of its pipelines, which is picked with all labels.

python benchmarks/bench_auto_classifier.py [--draws=41,42,43] [--folder=FOLDER] [set ...]

What is found on a set is kept in FOLDER, so that the table can be made in pieces; without names all sets run that are
not kept yet, and then the table is written. `COVIEW_DATA` names the folder of the collections.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench_auto import Data, of, reuters, some
from common import write
from corpora import (
    load_citeseer,
    load_cora,
    load_debian_packages,
    load_leaves,
    load_mfeat,
    load_newsgroups_views,
    load_pubmed,
    load_webkb,
    load_wikipedia_retrieval,
)
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from coview import AutoClassifier, ConcatenatedViews, TableViews, TfidfViews
from coview.auto.experts import Expert, propose_experts
from coview.auto.held_out import class_scores, fit_expert
from coview.datasets import load_python_packages
from coview.metrics import expected_calibration_error

SHARES = (0.01, 0.05, 0.1)
NEAR = 0.012  # of the best pipeline, which no user can know: what is promised
BASELINE = "linear SVM"  # on tf-idf of all views side by side, no candidate
LARGE = 20_000  # objects above which only candidates with a weight are fitted alone
UNIVERSITIES = ("cornell", "washington", "texas", "wisconsin")


def debian(n: int | None) -> Data:
    """Words, titles and dependencies of the packages that this machine knows; classes are sections."""
    corpus = load_debian_packages(n)
    front = TableViews({"words": "description", "title": "title"}, tokens={"deps": "depends"}, id="name")
    return front.fit_transform(corpus.table), np.asarray(corpus.target)


SETS: dict[str, Callable[[], Data]] = {
    **{name.capitalize(): (lambda name=name: of(load_webkb(name))) for name in UNIVERSITIES},
    "Cora": lambda: of(load_cora()),
    "CiteSeer": lambda: of(load_citeseer()),
    "mfeat": lambda: of(load_mfeat()),
    "leaves": lambda: of(load_leaves()),
    "Reuters, 1,200": lambda: reuters(1200),
    "Python packages": lambda: of(load_python_packages()),
    "Wikipedia, words and images": lambda: of(load_wikipedia_retrieval(), "words", "image"),
    "NewsGv2": lambda: of(load_newsgroups_views("v2")),
    "NewsGv4": lambda: of(load_newsgroups_views("v4")),
    "Pubmed, 3,000": lambda: some(load_pubmed(), 3000),
    "Debian packages, 10,000": lambda: debian(10_000),
    "Debian packages, all": lambda: debian(None),
}
FEWER = {"Debian packages, 10,000": SHARES[:1], "Debian packages, all": SHARES[:1]}
BARS = {
    "Cora": (0.78, 0.83, 0.85),
    "CiteSeer": (0.71, 0.73, 0.74),
    "Cornell": (0.94, 0.95, 0.96),
    "Washington": (0.93, 0.94, 0.94),
    "NewsGv2": (0.98, 0.98, 0.98),
    "NewsGv4": (1.0, 1.0, 1.0),
}


def drawn(target: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the classes, and the same with a share of each class labeled, rounded up, -1 for all others."""
    rng, codes = np.random.default_rng(seed), np.unique(target, return_inverse=True)[1]
    y = np.full(len(codes), -1)
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        y[rows[: int(np.ceil(share * len(rows)))]] = code
    return codes, y


def measure(views: Any, target: np.ndarray, share: float, seed: int) -> dict[str, Any]:
    """Accuracy on unlabeled objects of the whole and of each candidate alone, and processor seconds of both."""
    codes, y = drawn(target, share, seed)
    hidden, classes = y < 0, np.arange(codes.max() + 1)
    clock = time.process_time()
    model = AutoClassifier(random_state=0).fit(views, y)
    found: dict[str, Any] = {"seconds": time.process_time() - clock, "candidates": {}, "alone": {}}
    found["auto"] = float(np.mean(model.transduction_[hidden] == codes[hidden]))
    found["held out"] = model.accuracy_
    found["calibration"] = expected_calibration_error(codes[hidden], model.memberships_[hidden], classes=classes)
    found["weights"] = dict(zip(model.candidates_["name"], model.candidates_["weight"]))
    links = model.links_["view"] if model.links_ and model.links_["used"] else None
    plain = make_pipeline(TfidfViews(), ConcatenatedViews(LinearSVC(random_state=0), unlabeled="drop"))
    candidates = [*propose_experts(views, links, 0), Expert(BASELINE, plain, tuple(views.names))]
    for candidate in candidates:
        if len(y) > LARGE and not (candidate.name == BASELINE or found["weights"][candidate.name]):
            continue
        clock = time.process_time()
        try:
            seen = views.select(*candidate.views)
            scores = class_scores(fit_expert(candidate.estimator, seen, y, classes), seen, classes)
        except ValueError:  # told of in candidates_
            continue
        found["candidates"][candidate.name] = float(np.mean(scores[hidden].argmax(axis=1) == codes[hidden]))
        found["alone"][candidate.name] = time.process_time() - clock
    return found


def spent_alone(cell: dict[str, Any]) -> float | None:
    """Seconds of all pipelines with a weight, each fitted alone; None where one of them was not."""
    weighed = [name for name, weight in cell["weights"].items() if weight]
    return sum(cell["alone"][name] for name in weighed) if set(weighed) <= set(cell["alone"]) else None


def kept(name: str, folder: Path) -> Path:
    return folder / ("".join(c if c.isalnum() else "_" for c in name) + ".json")


def table(folder: Path) -> None:
    rows: list[list[Any]] = []
    gaps, ratios, pooled = [], [], []
    draws = set()
    for name in SETS:
        if not kept(name, folder).exists():
            continue
        cells = json.loads(kept(name, folder).read_text())
        for share in SHARES:
            mine = [cell for cell in cells if cell["share"] == share]
            if not mine:
                continue
            draws |= {cell["draw"] for cell in mine}
            every = {each for cell in mine for each in cell["candidates"]}
            means = {each: np.mean([cell["candidates"].get(each, 0.0) for cell in mine]) for each in every}
            best = max(means, key=lambda each: means[each])
            auto, calibration = (float(np.mean([cell[key] for cell in mine])) for key in ("auto", "calibration"))
            gap = auto - float(means[best])
            most = [max(cell["weights"], key=cell["weights"].get) for cell in mine]
            times = [
                cell["seconds"] / cell["alone"][heavy] for cell, heavy in zip(mine, most) if heavy in cell["alone"]
            ]
            whole = [cell["seconds"] / spent for cell in mine if (spent := spent_alone(cell)) is not None]
            gaps.append(gap)
            ratios += times
            pooled += whole
            bar = BARS.get(name, (None,) * 3)[SHARES.index(share)]
            shown = [
                round(auto, 3),
                round(means[BASELINE], 3) if BASELINE in means else "",
                round(float(means[best]), 3),
            ]
            spent = [round(float(np.mean([cell["seconds"] for cell in mine])), 1)]
            spent += [round(float(np.median(each)), 1) if each else "" for each in (times, whole)]
            facts = [best, round(gap, 3), bar or "", most[0], round(calibration, 3)]
            rows.append([name, f"{share:.0%}", len(mine), *shown, *facts, *spent])
    near, far = sum(gap >= -NEAR for gap in gaps), sum(gap < -0.03 for gap in gaps)
    head = ["data", "labels", "draws", "auto", "linear SVM", "best pipeline", "which", "gap", "bar", "most weight"]
    write(
        "auto_classifier",
        "AutoClassifier beside the best of its pipelines: accuracy on unlabeled objects",
        [*head, "calibration error", "seconds", "times the heaviest alone", "times all with a weight, once"],
        rows,
        [
            f"Within {NEAR} of the best pipeline, picked with all labels, on {near} of {len(gaps)} cells, more than "
            f".03 below on {far}, {np.mean(gaps):+.4f} in the mean.",
            f"{np.median(ratios):.1f} times the time of the heaviest pipeline alone in the median, more than ten times "
            f"it in {np.mean(np.array(ratios) > 10):.0%} of the fits; {np.median(pooled):.1f} times that of all "
            "pipelines with a weight, each fitted once, which are the result.",
            f"Draws of the labels {sorted(draws)}; what is believed before any label was settled on draws 0 to 3, 15 "
            "to 24, 31 to 33 and 100 to 102, and on made data.",
            "The bar is for the mean of ten draws. random_state=0; seconds of the processor.",
            "A pipeline alone is fitted to the views as they are, most of them in double precision; AutoClassifier "
            "fits its candidates to sparse views in single precision.",
        ],
    )


def main(words: list[str]) -> None:
    if "--help" in words:
        print(__doc__)
        return
    options = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
    folder = Path(options.get("folder") or Path(tempfile.gettempdir()) / "coview_auto_classifier")
    folder.mkdir(parents=True, exist_ok=True)
    draws = [int(word) for word in options.get("draws", "41,42,43").split(",")]
    asked = [word for word in words if not word.startswith("--")]
    warnings.simplefilter("ignore")
    for name in asked or [name for name in SETS if not kept(name, folder).exists()]:
        views, target = SETS[name]()
        cells = []
        for share in FEWER.get(name, SHARES):
            for draw in draws:
                cells.append({"share": share, "draw": draw, **measure(views, target, share, draw)})
                print(name, share, draw, round(cells[-1]["auto"], 3), round(max(cells[-1]["candidates"].values()), 3))
        kept(name, folder).write_text(json.dumps(cells))
    if not asked:
        table(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
