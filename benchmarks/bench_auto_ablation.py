"""What each part of `AutoClassifier` and `AutoClustering` is worth: the same collections without it.

python benchmarks/bench_auto_ablation.py [--folder=FOLDER] [variant ...]

Collections are dealt into two halves by the hash of their names. What is settled on one half is reported on the other,
and a part stays if both bear it out. A fifth of the unlabeled objects is left out of the fits, as new ones. What is
found is kept in FOLDER; the tables hold all that is there. `COVIEW_DATA` names the folder of the collections.
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
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from bench_auto import CHECKING, CHOOSING, FRESH, Data
from bench_auto_classifier import SETS
from common import write
from corpora import data_home, load_webkb_course
from sklearn.feature_extraction.text import CountVectorizer

from coview import AutoClassifier, AutoClustering, Views
from coview.auto import classifier, clustering, experts, pooling, votes
from coview.clustering import links, view_graphs
from coview.metrics import expected_calibration_error, normalized_mutual_info

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
    first = name.replace(",", "").removeprefix("made: ").split()[0]
    return int(hashlib.md5(b"Newsgroups" if first.startswith(("News", "20")) else first.encode()).hexdigest(), 16) % 2


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
    change_experts(lambda found: [each for each in found if not each.name.startswith(names)])


def change_experts(change: Callable[[list[Any]], list[Any]]) -> None:
    propose = experts.propose_experts
    classifier.propose_experts = lambda *args: change(propose(*args))


def weigh_kinds() -> None:
    """Priors of each kind, as they were before."""
    kinds = {"topics": 20.0, "near": 12.0, "centers": 4.0, "graph": 2.0, "margins": 0.5}
    change_experts(
        lambda found: [
            replace(each, prior=each.prior * kinds.get(each.name.split()[0].strip(":"), 1.0) / max(each.prior, 1.0))
            for each in found
        ]
    )


def be_alike() -> None:
    experts.LEADING = 1.0


def trust_the_mean() -> None:
    pooling.fit_pool_temperature = lambda shares, codes: 1.0


def trust_the_fit(self: Any, *args: Any) -> None:
    self.new_temperature_ = 1.0


def trust_no_product() -> None:
    settle = pooling.Pool.fit
    pooling.Pool.fit = lambda *args: replace(settle(*args), trust=0.0)  # type: ignore[method-assign]


def stop_early() -> None:
    """Topics end after 60 iterations, as they did before."""
    topics = experts._topics

    def sooner(views: Views) -> Any:
        return topics(views).set_params(multiviewplsaclassifier__max_iter=60)

    experts._topics = sooner


def take_all_links() -> None:
    links.ENOUGH = 0.0


def keep_parts(*kept: int) -> None:
    """Graphs of the views, or some of these, of all side by side, and the sum: from the end, -2 is side by side."""
    whole = view_graphs.NeighborGraphEstimator._all_graphs

    def graphs(self: Any, views: Any, weights: Any) -> Any:
        found, heft = whole(self, views, weights)
        if len(views.names) == 1:
            return found, heft
        chosen = [*range(len(views.names) * (0 in kept)), *(len(heft) + i for i in kept if i < 0)]
        return [[of_scale[i] for i in chosen] for of_scale in found], heft[chosen] / heft[chosen].sum()

    view_graphs.NeighborGraphEstimator._all_graphs = graphs  # type: ignore[method-assign]


def no_tokens() -> None:
    clustering.token_weights = lambda views: []


def take_scales(*scales: float) -> None:
    """Some scales, in two rounds where words are weighed: one scale alone is in both."""
    scales = scales if len(scales) > 1 else 2 * scales
    votes.GraphVoter.__init__.__kwdefaults__["scales"] = votes.SCALES = clustering.SCALES = scales


def vote(times: int) -> None:
    votes.GraphVoter.cluster.__defaults__ = (times,)


def weigh_words_once() -> None:
    AutoClustering._weighs_words = lambda self: False  # type: ignore[method-assign]


def count_alike() -> None:
    """Views of noise count as all others."""
    clustering.weigh_by_relations = lambda relations: dict.fromkeys(relations["view"], 1.0)


VARIANTS: dict[str, Callable[[], Any]] = {
    WHOLE: lambda: None,
    "no topics": lambda: leave_out("topics"),
    "no centers": lambda: leave_out("centers", "near centers"),
    "no graphs": lambda: leave_out("graph"),
    "no latent": lambda: leave_out("latent"),
    "no margins": lambda: leave_out("margins"),
    "no single views": lambda: leave_out("latent: ", "graph: ", "margins: "),
    "no links": lambda: leave_out("near"),
    "all links": take_all_links,
    "equal priors": be_alike,
    "a prior for each kind": weigh_kinds,
    "no product": trust_no_product,
    "60 iterations": stop_early,
    "no temperature of the pool": trust_the_mean,
    "none of new objects": lambda: setattr(classifier.AutoClassifier, "_temper", trust_the_fit),
}
VOTES: dict[str, Callable[[], Any]] = {
    WHOLE: lambda: None,
    "no tokens": no_tokens,
    "views alone": lambda: keep_parts(0),
    "views and sum": lambda: keep_parts(0, -1),
    "views and side by side": lambda: keep_parts(0, -2),
    "sum and side by side": lambda: keep_parts(-2, -1),
    "three scales": lambda: take_scales(0.5, 1.0, 2.0),
    "one scale": lambda: take_scales(1.0),
    "ten at each scale": lambda: vote(10),
    "noise counts": count_alike,
    "words by idf alone": weigh_words_once,
}


def measure(name: str, labels: float, seed: int) -> dict[str, float]:
    """Accuracy and calibration error on unlabeled and on new objects, and the accuracy as the model estimates it."""
    views, target = load(name)
    codes = np.unique(target, return_inverse=True)[1]
    y = drawn(codes, labels, seed)
    free = np.flatnonzero(y < 0)
    new = np.sort(np.random.default_rng(7 + seed).choice(free, min(len(free) // 5, 1000), replace=False))
    old = np.setdiff1d(np.arange(len(codes)), new)
    model = AutoClassifier(random_state=0).fit(views[old], y[old])
    hidden = y[old] < 0
    found = {"estimated": model.accuracy_}
    for when, truth, shares in (
        ("", codes[old][hidden], model.memberships_[hidden]),
        ("new ", codes[new], model.predict_proba(views[new])),
    ):
        found[f"{when}accuracy"] = float(np.mean(model.classes_[shares.argmax(axis=1)] == truth))
        found[f"{when}calibration"] = expected_calibration_error(truth, shares, classes=model.classes_)
    return found


def cluster(name: str, seed: int) -> dict[str, float]:
    views, target = {**CHOOSING, **CHECKING, **FRESH}[name]()
    codes = np.unique(target, return_inverse=True)[1]
    model = AutoClustering(codes.max() + 1, random_state=seed).fit(views)
    return {"accuracy": normalized_mutual_info(codes, model.labels_)}


def read(folder: Path, variant: str) -> dict[tuple[Any, ...], dict[str, float]]:
    """Return what was found with a variant, by half, data, labels and draw."""
    path = folder / f"{variant}.jsonl"
    cells = map(json.loads, path.read_text().splitlines() if path.exists() else ())
    return {(cell["half"], cell["data"], cell["labels"], cell["draw"]): cell for cell in cells}


def table(folder: Path, result: str, title: str, notes: list[str]) -> None:
    whole = read(folder, WHOLE)
    if not whole:
        return
    others = {path.stem: read(folder, path.stem) for path in sorted(folder.glob("*.jsonl")) if path.stem != WHOLE}
    figures = [figure for figure in FIGURES if figure in next(iter(whole.values()))]
    rows: list[list[Any]] = []
    gaps: dict[tuple[int, str], list[float]] = defaultdict(list)
    for side, data, labels in sorted({key[:3] for key in whole}):
        keys = [key for key in whole if key[:3] == (side, data, labels)]
        means = [round(float(np.mean([whole[key][figure] for key in keys])), 3) for figure in figures]
        for name, cells in others.items():
            found = [[cells[key][figure] - whole[key][figure] for figure in figures] for key in keys if key in cells]
            gaps[side, name] += [np.mean(found, axis=0)] if found else []
            means.append(f"{np.mean(found, axis=0)[0]:+.3f}" if found else "")  # type: ignore[arg-type]
        share = f"{labels:.0%}" if labels < 1 else int(labels)
        rows.append([side, data, *([share] if labels else []), len(keys), *means])
    blank = [""] * (len(rows[0]) - 2 - len(others))
    for figure, title_of in enumerate(figures):
        for side in (0, 1):
            shown = (f"{np.mean(gaps[side, name], axis=0)[figure]:+.4f}" if gaps[side, name] else "" for name in others)
            rows.append([side, f"mean: {title_of}", *blank, *shown])
    head = ["half", "data", *(["labels"] if blank[len(figures) + 1 :] else []), "draws", *figures]
    write(result, title, [*head, *others], rows, notes)


FIGURES = ("accuracy", "calibration", "new accuracy", "new calibration")
DEALT = (
    "Differences from the whole. The collections are dealt into two halves by the hash of their names: what is settled "
    "on one half is reported on the other, and a part stays if both bear it out."
)


def write_tables(folder: Path) -> None:
    table(
        folder / "classes",
        "auto_ablation",
        "AutoClassifier with one change: accuracy on unlabeled objects, and how far it is from that of the whole",
        [DEALT, "New: a fifth of the unlabeled objects, left out of the fit. Draws 100 and 101 of the labels."],
    )
    table(
        folder / "clusters",
        "auto_votes",
        "AutoClustering with one change: normalized mutual information, and how far it is from that of the whole",
        [DEALT, "Accuracy is the normalized mutual information. Draws are of the seed, 0 and 1. No labels are used."],
    )


def run(folder: Path, task: str, variant: str, name: str, labels: float, draw: int) -> None:
    """Keep what a variant finds; one variant a process, since it changes the package."""
    (VARIANTS if task == "classes" else VOTES)[variant]()
    cell: dict[str, Any] = {"data": name, "half": half(name), "labels": labels, "draw": draw}
    cell |= measure(name, labels, draw) if task == "classes" else cluster(name, draw)
    path = folder / task / f"{variant}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(cell) + "\n")


def tasks() -> list[tuple[str, str, str, float, int]]:
    """All that there is to run: task, variant, data, labels, draw."""
    cells = [(name, labels) for name, shares in CELLS.items() for labels in shares]
    sets = [*CHOOSING, *CHECKING, *FRESH]
    return [
        *(("classes", variant, *cell, draw) for variant in VARIANTS for cell in cells for draw in (100, 101)),
        *(("clusters", variant, name, 0.0, seed) for variant in VOTES for name in sets for seed in (0, 1)),
    ]


def main(words: list[str]) -> None:
    options = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
    if "help" in options:
        print(__doc__)
        return
    folder = Path(options.get("folder") or Path(tempfile.gettempdir()) / "coview_auto_ablation")
    warnings.simplefilter("ignore")
    asked = [word for word in words if not word.startswith("--")]
    with ProcessPoolExecutor(2, max_tasks_per_child=1) as pool:
        waiting = [pool.submit(run, folder, *task) for task in tasks() if not asked or task[1] in asked]
        for done in waiting:
            done.result()
    write_tables(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
