"""Whether `audit_labels` finds labels that were flipped, beside cleanlab's `find_label_issues`.

python benchmarks/bench_audit.py [--draws=0,1] [--folder=FOLDER] [set ...]

5 and 10 % of the labels are flipped: to any other class at random, or to the class that is most confused with the true
one. cleanlab (`pip install cleanlab`; without it its columns are empty) ranks the labels by probabilities of logistic
regression on the weighted views side by side, held out in the same folds; and by those of the audit. What is found on a
set is kept in FOLDER; without names all sets run that are not kept yet, and then the table is written. `COVIEW_DATA`
names the folder of the collections.
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
from auto_check import emoji
from bench_auto import Data, of, reuters
from common import write
from corpora import load_citeseer, load_cora, load_mfeat, load_webkb
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline

from coview import ConcatenatedViews, audit_labels
from coview.auto.held_out import class_scores, fit_expert
from coview.auto.preparation import preparation
from coview.preprocessing.weighting import UnitRows
from coview.utils.sampling import deal_folds

SETTLED_ON = ("Cora", "Reuters, 1,200", "WebKB, four universities", "emoji, five languages")
SETS: dict[str, Callable[[], Data]] = {
    "Cora": lambda: of(load_cora()),
    "Reuters, 1,200": lambda: reuters(1200),
    "mfeat": lambda: of(load_mfeat()),
    "CiteSeer": lambda: of(load_citeseer()),
    "WebKB, four universities": lambda: of(load_webkb("all", task="classes")),
    "emoji, five languages": lambda: emoji(0),
}
FLIPS = [(kind, rate) for kind in ("random", "pairs") for rate in (0.05, 0.1)]


def held_out(views: Any, y: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Probabilities by logistic regression of the views side by side, weighted and with rows of length 1."""
    classes = np.arange(y.max() + 1)
    found = np.full((len(y), len(classes)), np.nan)
    model = make_pipeline(
        *preparation(views), UnitRows(), ConcatenatedViews(LogisticRegression(max_iter=500), unlabeled="drop")
    )
    for fold in range(5):
        rows = np.flatnonzero(folds == fold)
        fitted = fit_expert(model, views, np.where(folds == fold, -1, y), classes)
        found[rows] = np.exp(class_scores(fitted, views[rows], classes))
    return found / found.sum(axis=1, keepdims=True)


def most_confused(found: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The class that each class is most confused with, by the mean probabilities of its objects."""
    mean = np.array([np.nanmean(found[codes == code], axis=0) for code in range(found.shape[1])])
    np.fill_diagonal(mean, -1)
    return mean.argmax(axis=1)


def flip(codes: np.ndarray, kind: str, rate: float, partner: np.ndarray, draw: int) -> np.ndarray:
    rng, y = np.random.default_rng(draw), codes.copy()
    rows = rng.choice(len(codes), round(rate * len(codes)), replace=False)
    k = codes.max() + 1
    y[rows] = partner[codes[rows]] if kind == "pairs" else (codes[rows] + rng.integers(1, k, len(rows))) % k
    return y


def by_cleanlab(shares: np.ndarray, y: np.ndarray, bad: np.ndarray) -> tuple[float | None, float | None]:
    """Average precision of cleanlab as it is by default, and the best of its ways to find and to rank issues.

    What it finds comes first.
    """
    try:
        from cleanlab.filter import find_label_issues
        from cleanlab.rank import get_label_quality_scores
    except ImportError:
        return None, None
    found = []
    for method in ("normalized_margin", "self_confidence"):
        ranked = 1 - get_label_quality_scores(y, shares, method=method)
        found.append(average_precision_score(bad, ranked))
        for by in ("prune_by_noise_rate", "prune_by_class", "both", "confident_learning"):
            issues = find_label_issues(y, shares, filter_by=by, n_jobs=1)
            found.append(average_precision_score(bad, ranked + issues))
    # found by the noise rate, as by default, and ranked by margins
    return float(found[1]), float(max(found))


def measure(views: Any, codes: np.ndarray, draws: list[int]) -> list[dict[str, Any]]:
    clean = held_out(views, codes, deal_folds(codes, 5, 99))
    partner, cells = most_confused(clean, codes), []
    for draw in draws:
        for kind, rate in FLIPS:
            y = flip(codes, kind, rate, partner, draw)
            began = time.process_time()
            audit = audit_labels(None, views, y, random_state=draw)
            spent, order = time.process_time() - began, np.argsort(audit.indices)
            rows, bad = audit.indices[order], (y != codes)[audit.indices[order]]
            doubt, flipped = -order, [row for row in audit.rows if y[row["row"]] != codes[row["row"]]]
            peer = held_out(views, y, deal_folds(y, 5, draw))[rows]
            cells.append(
                {
                    "kind": kind,
                    "rate": rate,
                    "draw": draw,
                    "audit": float(average_precision_score(bad, doubt)),
                    **dict(zip(("default", "cleanlab"), by_cleanlab(peer, y[rows], bad))),
                    "same": by_cleanlab(audit.probabilities[order], y[rows], bad)[1],
                    "listed": audit.n_doubted / int(bad.sum()),
                    "right": float(np.mean([row["suggested"] == codes[row["row"]] for row in flipped[:50]])),
                    "s": spent,
                }
            )
            print({name: round(v, 3) if isinstance(v, float) else v for name, v in cells[-1].items()}, flush=True)
    return cells


def kept(name: str, folder: Path) -> Path:
    return folder / ("".join(c if c.isalnum() else "_" for c in name) + ".json")


def table(folder: Path) -> None:
    rows, draws = [], set()
    for name in SETS:
        if not kept(name, folder).exists():
            continue
        cells = json.loads(kept(name, folder).read_text())
        draws |= {cell["draw"] for cell in cells}
        for kind, rate in FLIPS:
            mine = [cell for cell in cells if (cell["kind"], cell["rate"]) == (kind, rate)]

            def mean(key: str, mine: list[dict[str, Any]] = mine) -> Any:
                values = [cell[key] for cell in mine]
                return "" if None in values else round(float(np.mean(values)), 3)

            seen = "yes" if name in SETTLED_ON else "no"
            rows.append(
                [
                    name,
                    seen,
                    kind,
                    f"{100 * rate:.0f} %",
                    *map(mean, ("audit", "default", "cleanlab", "same", "listed")),
                ]
            )
            rows[-1] += [mean("right"), mean("s")]
    places = {"default": 5, "best": 6}
    ahead = {peer: [row[4] - row[at] for row in rows if row[at] != ""] for peer, at in places.items()}
    notes = [
        "cleanlab: `find_label_issues` as it is by default, ranked by margins; best: of ten ways to find and rank "
        "issues, picked with the flips known. By probabilities of logistic "
        "regression on the weighted views side by side, rows of length 1, the same folds.",
        "cleanlab, same probabilities: the same by what all witnesses of the audit say together.",
        "listed: the number of labels that the audit calls more likely wrong than right, as a share of those flipped; "
        "right: how often the suggested class is the true one, of the fifty flipped labels that are doubted most.",
        f"Draws {sorted(draws)}; seconds of the processor. The rule was settled on draw 0 of {', '.join(SETTLED_ON)}.",
    ]
    for peer, gains in ahead.items():
        if gains:
            worst = f"worst {min(gains):+.3f}, ahead in {sum(gain > 0 for gain in gains)} of {len(gains)}"
            notes.insert(0, f"Over cleanlab ({peer}) {np.mean(gains):+.3f} in the mean, {worst}.")
    head = [
        "data",
        "settled on",
        "flips",
        "rate",
        "audit_labels",
        "cleanlab",
        "cleanlab, best",
        "cleanlab, best, same probabilities",
        "listed",
    ]
    write("audit", "Labels flipped on purpose: average precision", [*head, "right", "seconds"], rows, notes)


def main(words: list[str]) -> None:
    options = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
    folder = Path(options.get("folder") or Path(tempfile.gettempdir()) / "coview_audit")
    folder.mkdir(parents=True, exist_ok=True)
    draws = [int(word) for word in options.get("draws", "0,1").split(",")]
    asked = [word for word in words if not word.startswith("--")]
    warnings.simplefilter("ignore")
    for name in asked or [name for name in SETS if not kept(name, folder).exists()]:
        views, target = SETS[name]()
        codes = np.unique(target, return_inverse=True)[1]
        print(name, flush=True)
        kept(name, folder).write_text(json.dumps(measure(views, codes, draws)))
    if not asked:
        table(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
