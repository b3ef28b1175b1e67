"""What each kind of expert and each rule of `AutoClassifier` is worth: the same collections without it.

python benchmarks/bench_auto_ablation.py [--draws=100,101] [--folder=FOLDER] [variant ...]

Collections are dealt into two halves by the hash of their names. A rule is settled on half 0 and reported on half 1.
What is found is kept in FOLDER; the table holds all that is there. `COVIEW_DATA` names the folder of the collections.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import sys
import tarfile
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from bench_auto import Data
from bench_auto_classifier import SETS
from common import write
from corpora import data_home, load_webkb_course
from sklearn.feature_extraction.text import CountVectorizer

from coview import AutoClassifier, Views
from coview.auto import classifier, experts, pooling
from coview.metrics import expected_calibration_error

WHOLE = "as it is"
CELLS: dict[str, tuple[float, ...]] = {  # shares of each class that are labeled, or numbers of labels in all
    **dict.fromkeys(("Cornell", "Washington", "Wisconsin", "mfeat", "Cora", "CiteSeer"), (0.01, 0.05)),
    "Texas": (0.05,),
    "leaves": (0.01, 0.1),
    "Reuters, 1,200": (0.01, 0.05),
    "NewsGv2": (0.01,),
    "Python packages": (0.05,),
    "Pubmed, 3,000": (0.01,),
    "WebKB course": (0.01,),
    "Newsgroups, 4,000 posts, words": (0.05,),
    "Newsgroups, 4,000 posts, words and vectors": (0.05,),
    "Emoji groups": (20, 96),
}


def newsgroups(n: int, vectors: bool) -> Data:
    """Words of some posts, and the mean of their word vectors."""
    folder = Path(data_home()) / "newsgroups20"
    with tarfile.open(folder / "20news-bydate.tar.xz") as tar:
        posts = sorted((item.name, tar.extractfile(item).read()) for item in tar.getmembers() if item.isfile())  # type: ignore[union-attr]
    rows = np.sort(np.random.default_rng(0).choice(len(posts), n, replace=False))
    texts = [posts[i][1].decode("latin-1").partition("\n\n")[2] for i in rows]
    views = {"words": CountVectorizer(min_df=3).fit_transform(texts)}
    if vectors:
        views["vectors"] = np.load(folder / "glove.npz")["vectors"][rows].astype(np.float64)
    return Views(views), np.array([posts[i][0].split("/")[-2] for i in rows])


def emoji() -> Data:
    """Labels and tags of emoji in five languages, a view each, and the groups of emoji."""
    with gzip.open(Path(data_home()) / "emoji" / "emoji.csv.gz", "rt", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    views = {}
    for language in ("en", "de", "fr", "es", "fi"):
        texts = [f"{row[language]} {row[f'tags_{language}'].replace('|', ' ')}" for row in table]
        views[language] = CountVectorizer(min_df=2).fit_transform(texts)
    return Views(views), np.array([row["group"] for row in table])


def course() -> Data:
    corpus = load_webkb_course()
    return corpus.views, np.asarray(corpus.target)


@cache
def load(name: str) -> Data:
    own: dict[str, Callable[[], Data]] = {
        "WebKB course": course,
        "Newsgroups, 4,000 posts, words": lambda: newsgroups(4000, False),
        "Newsgroups, 4,000 posts, words and vectors": lambda: newsgroups(4000, True),
        "Emoji groups": emoji,
    }
    return (own[name] if name in own else SETS[name])()


def half(name: str) -> int:
    """Half of a collection, by the hash of the first word of its name."""
    first = name.replace(",", "").split()[0]
    return int(hashlib.md5(b"Newsgroups" if first.startswith("News") else first.encode()).hexdigest(), 16) % 2


def drawn(codes: np.ndarray, labels: float, seed: int) -> np.ndarray:
    """Codes of a share of each class, rounded up, or of so many objects and at least one of each class; others -1."""
    rng, y = np.random.default_rng(seed), np.full(len(codes), -1)
    if labels < 1:
        for code in np.unique(codes):
            rows = rng.permutation(np.flatnonzero(codes == code))
            y[rows[: int(np.ceil(labels * len(rows)))]] = code
        return y
    order = rng.permutation(len(codes))
    first = order[np.unique(codes[order], return_index=True)[1]]
    others = rng.permutation(np.setdiff1d(order, first))
    rows = np.concatenate([first, others])[: int(labels)]
    y[rows] = codes[rows]
    return y


def leave_out(*names: str) -> None:
    propose = experts.propose_experts

    def proposed(*args: Any, **settings: Any) -> Any:
        return [each for each in propose(*args, **settings) if not each.name.startswith(names)]

    classifier.propose_experts = proposed


def leave_out_single_views() -> None:
    leave_out("latent: ", "graph: ")


def make_priors_equal() -> None:
    experts.LEADING = 1.0


def trust_the_mean() -> None:
    pooling.LOG_POOL_T, pooling.POOL_STRENGTH = 0.0, 1e9


VARIANTS: dict[str, Callable[[], None]] = {
    WHOLE: lambda: None,
    "no experts of single views": leave_out_single_views,
    "no topics": lambda: leave_out("topics"),
    "no centers": lambda: leave_out("centers"),
    "no graphs": lambda: leave_out("graph"),
    "no latent": lambda: leave_out("latent"),
    "no margins": lambda: leave_out("margins"),
    "no links": lambda: leave_out("near"),
    "equal priors": make_priors_equal,
    "no temperature of the pool": trust_the_mean,
}


def measure(name: str, labels: float, seed: int) -> dict[str, float]:
    views, target = load(name)
    codes = np.unique(target, return_inverse=True)[1]
    y = drawn(codes, labels, seed)
    hidden = y < 0
    model = AutoClassifier(random_state=0).fit(views, y)
    error = expected_calibration_error(codes[hidden], model.memberships_[hidden], classes=model.classes_)
    right = float(np.mean(model.transduction_[hidden] == codes[hidden]))
    return {"accuracy": right, "calibration": error, "estimated": model.accuracy_}


def read(folder: Path, variant: str) -> dict[tuple[Any, ...], dict[str, float]]:
    """Return what was found with a variant, by half, data, labels and draw."""
    path = folder / f"{variant}.jsonl"
    cells = map(json.loads, path.read_text().splitlines() if path.exists() else ())
    return {(cell["half"], cell["data"], cell["labels"], cell["draw"]): cell for cell in cells}


def table(folder: Path) -> None:
    whole = read(folder, WHOLE)
    if not whole:
        return
    others = {path.stem: read(folder, path.stem) for path in sorted(folder.glob("*.jsonl")) if path.stem != WHOLE}
    rows: list[list[Any]] = []
    gaps: dict[tuple[int, str], list[float]] = defaultdict(list)
    for side, data, labels in sorted({key[:3] for key in whole}):
        keys = [key for key in whole if key[:3] == (side, data, labels)]
        facts = [np.mean([whole[key][figure] for key in keys]) for figure in ("accuracy", "calibration")]
        row = [
            side,
            data,
            f"{labels:.0%}" if labels < 1 else int(labels),
            len(keys),
            *(round(float(x), 3) for x in facts),
        ]
        for name, cells in others.items():
            lost = [cells[key]["accuracy"] - whole[key]["accuracy"] for key in keys if key in cells]
            row.append(f"{np.mean(lost):+.3f}" if lost else "")
            gaps[side, name] += [float(np.mean(lost))] if lost else []
        rows.append(row)
    for side in (0, 1):
        shown = (f"{np.mean(gaps[side, name]):+.4f}" if gaps[side, name] else "" for name in others)
        rows.append([side, "mean", "", "", "", "", *shown])
    write(
        "auto_ablation",
        "AutoClassifier with one change: accuracy on unlabeled objects, and how far it is from that of the whole",
        ["half", "data", "labels", "draws", "accuracy", "calibration error", *others],
        rows,
        [
            "Differences are on the draws of labels that both were measured with. The collections are dealt into two "
            "halves by the hash of their names: what is settled on one half is reported on the other.",
            "Before: with self-training, labels along links, factors of classes, relations of views, reliability, "
            "joint topics of words and vectors, and topics and centers judged with some of the unlabeled objects. "
            "Other changes were measured beside the code of a few commits earlier.",
        ],
    )


def main(words: list[str]) -> None:
    options = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
    if "help" in options:
        print(__doc__)
        return
    folder = Path(options.get("folder") or Path(tempfile.gettempdir()) / "coview_auto_ablation")
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for variant in [word for word in words if not word.startswith("--")]:
        VARIANTS[variant]()  # one variant a process: it changes the package
        for draw in [int(word) for word in options.get("draws", "100,101").split(",")]:
            for name, shares in CELLS.items():
                for labels in shares:
                    cell = {"data": name, "half": half(name), "labels": labels, "draw": draw}
                    cell |= measure(name, labels, draw)
                    with (folder / f"{variant}.jsonl").open("a") as file:
                        file.write(json.dumps(cell) + "\n")
                    print(variant, name, labels, draw, round(cell["accuracy"], 3), flush=True)
    table(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
