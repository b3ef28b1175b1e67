"""Whether `AutoClustering` and `AutoClassifier` hold what they promise, on six collections, beside the last run.

python benchmarks/auto_check.py [--keep] [set ...]

Each of six seeds draws the labels, is the `random_state`, and makes the made data. Two collections at a time, a thread
each, take about ten minutes. `--keep` stores the figures with which later runs are compared, seed by seed. A collection
that is not at hand is left out (`COVIEW_DATA` names their folder). The exit status is 1 where a figure is worse.
"""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from bench_auto import CHECKING, Data, of, some
from bench_auto_ablation import drawn
from common import RESULTS, in_process, write
from corpora import data_home, load_cora, load_newsgroups_views
from scipy import sparse, stats

from coview import AutoClassifier, AutoClustering, TableViews, TextViews, Views
from coview.datasets import make_topic_views
from coview.exceptions import DataFileError
from coview.metrics import expected_calibration_error, normalized_mutual_info

Values = dict[tuple[str, str], np.ndarray]  # by set and figure, one of each seed
SEEDS = range(6)
NOTICED = 0.01  # what a user would notice; a mean that differs less is as before
FIGURES = {  # and whether more is better
    "clusters: normalized mutual information": True,
    "classes: accuracy on unlabeled objects": True,
    "classes: calibration error": False,
    "classes: how far accuracy_ is from the truth": False,
}


def passages(seed: int) -> Data:
    """A table of texts, dates and a category: passages of speeches, by president."""
    with lzma.open(data_home() / "sotu" / "sotu.csv.xz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))[::5]
    presidents, sizes = np.unique([row["president"] for row in rows], return_counts=True)
    rows = [row for row in rows if row["president"] in presidents[sizes >= 10]]
    table = {name: [row[name] for row in rows] for name in ("text", "date", "party")}
    front = TableViews("text", {"date": "date", "party": "party"})
    return front.fit_transform(table), np.array([row["president"] for row in rows])


def emoji(seed: int) -> Data:
    """Labels and tags in five languages, by group."""
    with gzip.open(data_home() / "emoji" / "emoji.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    texts = {
        language: [f"{row[language]} {row[f'tags_{language}'].replace('|', ' ')}".strip() or None for row in rows]
        for language in ("en", "de", "fr", "es", "fi")
    }
    return TextViews().fit_transform(texts), np.array([row["group"] for row in rows])


def traps(seed: int) -> Data:
    """Words and tags that tell the clusters, vectors that tell them a little, noise, and words of other objects."""
    made = make_topic_views(400, {"words": 400, "tags": 80}, 5, length=[30, 5], quality=[0.3, 0.5], random_state=seed)
    rng = np.random.default_rng(seed)
    extra = {
        "vectors": rng.normal(size=(400, 20)) + 0.7 * np.eye(20)[made.target],
        "noise": rng.normal(size=(400, 15)) * 10.0 ** rng.uniform(-3, 3, 15),
        "others": sparse.csr_array(made.views["words"])[rng.permutation(400)],
    }
    return Views(**made.views, **extra), made.target


SETS: dict[str, tuple[Callable[[int], Data], float]] = {  # the slowest first; labels of each class, or in all
    "texts: 20 Newsgroups, 2,000 posts": (lambda seed: some(load_newsgroups_views("posts"), 2000), 0.05),
    "mixed table: passages of speeches": (passages, 0.1),
    "short texts in five languages: emoji": (emoji, 96),
    "measurements: digits in quarters": (lambda seed: CHECKING["digits, quarters"](), 0.02),
    "links: Cora": (lambda seed: of(load_cora()), 0.02),
    "made: useless views": (traps, 0.05),
}


def measure(name: str) -> dict[str, Any]:
    """Return the figures of a collection, one value for each seed; why not, where it is not at hand."""
    make, labels = SETS[name]
    found: dict[str, Any] = {figure: [] for figure in FIGURES}
    begun = time.process_time()
    for seed in SEEDS:
        try:
            if not seed or make is traps:
                views, target = make(seed)  # what is no draw is read once
        except (DataFileError, OSError) as error:
            return {"absent": str(error)}
        codes = np.unique(target, return_inverse=True)[1]
        clustering = AutoClustering(codes.max() + 1, random_state=seed).fit(views)
        y = drawn(codes, labels, seed)
        model, hidden = AutoClassifier(random_state=seed).fit(views, y), y < 0
        accuracy = float(np.mean(model.transduction_[hidden] == codes[hidden]))
        values = [
            normalized_mutual_info(codes, clustering.labels_),
            accuracy,
            expected_calibration_error(codes[hidden], model.memberships_[hidden], classes=model.classes_),
            abs(model.accuracy_ - accuracy),
        ]
        for figure, value in zip(FIGURES, values):
            found[figure].append(round(float(value), 4))
    return {**found, "seconds": time.process_time() - begun}


def half_width(values: np.ndarray) -> float:
    """Half of the 95 % interval of a mean over seeds."""
    return float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))


def add_means(values: Values, names: list[str]) -> Values:
    """Values of each figure and set, with the mean of the sets first."""
    means = {("mean", figure): np.mean([values[name, figure] for name in names], axis=0) for figure in FIGURES}
    return {**means, **{(name, figure): values[name, figure] for figure in FIGURES for name in names}}


def judge(figure: str, now: np.ndarray, before: np.ndarray) -> str:
    """Say whether a figure is better or worse than before, by the interval of its differences by seed."""
    change = float(np.mean(now - before))
    if not abs(change) > max(NOTICED, half_width(now - before)):
        return "as before"
    return "better" if (change > 0) == FIGURES[figure] else "worse"


def compare(values: Values, kept: dict[str, Any]) -> list[str]:
    """Print each figure beside that of the kept run; return the verdicts."""
    before = {(row[0], row[1]): np.array(row[-1]) for row in kept["rows"]}
    names = [name for name in SETS if all((name, figure) in part for part in (values, before) for figure in FIGURES)]
    old = add_means(before, names) if names else {}
    new = add_means(values, names) if names else {}
    about = ", ".join(f"{name} {version}" for name, version in kept["machine"].items())
    print(f"Mean of {len(SEEDS)} seeds and half of its 95 % interval, beside the run that was kept ({about}):")
    verdicts = []
    for figure in FIGURES:
        print(f"\n{figure}")
        for name in ["mean", *names]:
            now, then = new[name, figure], old[name, figure]
            verdicts.append(judge(figure, now, then))
            difference = f"{np.mean(now - then):+.3f} +- {half_width(now - then):.3f}"
            facts = f"{now.mean():.3f} +- {half_width(now):.3f}, was {then.mean():.3f}: {difference}"
            print(f"  {verdicts[-1]:9}  {name}: {facts}")
    return verdicts


def main(words: list[str]) -> int:
    warnings.simplefilter("ignore")
    names = [word for word in words if word in SETS] or list(SETS)
    if "--one" in words:
        print(json.dumps(measure(names[0])))
        return 0
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(names, pool.map(lambda name: in_process(__file__, "--one", name), names)))
    for name in [name for name in names if "absent" in found[name]]:
        print(f"{name} is not at hand: {found.pop(name)['absent']}")
    values = {(name, figure): np.array(part[figure]) for name, part in found.items() for figure in FIGURES}
    verdicts = []
    if (path := RESULTS / "auto_check.json").exists():
        verdicts = compare(values, json.loads(path.read_text()))
        print("\n" + ", ".join(f"{verdicts.count(kind)} {kind}" for kind in ("better", "as before", "worse")) + ".")
    if "--keep" in words:
        rows = [
            [name, figure, round(float(part.mean()), 3), round(half_width(part), 3), part.round(4).tolist()]
            for (name, figure), part in add_means(values, list(found)).items()
        ]
        write(
            "auto_check",
            "AutoClustering and AutoClassifier on six collections",
            ["data", "figure", "mean", "half of the 95 % interval", "by seed"],
            rows,
            [f"Seeds {min(SEEDS)} to {max(SEEDS)}: of the draw of the labels, of `random_state` and of the made data."],
        )
    return int("worse" in verdicts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
