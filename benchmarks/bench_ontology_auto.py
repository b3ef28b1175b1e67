"""What a hierarchy adds to `AutoClassifier`: 20 Newsgroups with 5 % of the labels, beside a linear SVM and hiclass.

python benchmarks/bench_ontology_auto.py [--draws=2,3] [--posts=N] [--folder=FOLDER]

Labels are drawn as in the study of the guide (`reproductions/optimal_assignment_2016`): 5 % of each group. Draws 0 and
1 were looked at while the method was made. With --posts a random part of the posts is used, and two further questions
are asked of it: what are labels of the category alone worth, and what becomes of a group that has no labels at all.
What is found is kept in FOLDER; the table holds all that is there. hiclass takes part where it is installed.
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import write
from corpora import load_newsgroups_views
from scipy import sparse
from sklearn.metrics import f1_score
from sklearn.naive_bayes import ComplementNB
from sklearn.svm import LinearSVC

from coview import AutoClassifier, ConcatenatedViews, Ontology, TfidfViews
from coview.assignment.levels import LEAVES
from coview.metrics import expected_calibration_error, hierarchical_f1

SHARE = 0.05
CONFIDENCES = (0.0, 0.5, 0.8)


def drawn(target: np.ndarray, seed: int) -> np.ndarray:
    """Mask of the labeled posts: a share of each group, rounded up."""
    rng, known = np.random.default_rng(seed), np.zeros(len(target), dtype=bool)
    for group in np.unique(target):
        rows = rng.permutation(np.flatnonzero(target == group))
        known[rows[: math.ceil(round(SHARE * len(rows), 6))]] = True
    return known


class Posts:
    """Posts with the names of their groups, and the scores of answers for those without label."""

    def __init__(self, n_posts: int | None) -> None:
        corpus = load_newsgroups_views("posts", remove=())
        rows = np.arange(len(corpus.target))
        if n_posts:
            rows = np.sort(np.random.default_rng(7).permutation(rows)[:n_posts])
        self.views, self.names = corpus.views[rows], corpus.target_names.astype(str)
        self.truth = self.names[corpus.target[rows]]
        self.above = {str(group): str(top) for group, top in corpus.hierarchy.items()}
        self.ontology = Ontology.from_edges(self.above.items())

    def scores(self, found: np.ndarray, hidden: np.ndarray) -> dict[str, float]:
        found = np.array([str(label) for label in found])
        return {
            "leaf": float(f1_score(self.truth[hidden], found[hidden], average="macro", labels=self.names)),
            "whole": float(hierarchical_f1(self.truth[hidden], found[hidden], self.ontology)),
        }


def others(posts: Posts, known: np.ndarray) -> dict[str, np.ndarray]:
    """Answers of a flat linear SVM, and of hiclass where it is installed, on tf-idf of the views side by side."""
    X = TfidfViews().fit_transform(posts.views)
    y = np.where(known, posts.truth, None)
    found = {"linear SVM": ConcatenatedViews(LinearSVC(), unlabeled="drop").fit(X, y).predict(X)}
    try:
        from hiclass import LocalClassifierPerLevel, LocalClassifierPerNode, LocalClassifierPerParentNode
    except ImportError:
        return found
    joined = sparse.csr_matrix(X.hstack())
    paths = np.array([[posts.above[group], group] for group in posts.truth[known]])
    models = {
        "per parent node, linear SVM": LocalClassifierPerParentNode(LinearSVC()),
        "per parent node, complement naive Bayes": LocalClassifierPerParentNode(ComplementNB()),
        "per node, complement naive Bayes": LocalClassifierPerNode(ComplementNB()),  # these two need probabilities
        "per level, complement naive Bayes": LocalClassifierPerLevel(ComplementNB()),
    }
    for name, model in models.items():
        found[f"hiclass {name}"] = np.asarray(model.fit(joined[known], paths).predict(joined))[:, -1]
    return found


def measure(posts: Posts, draw: int) -> dict[str, Any]:
    """All methods with labels of groups."""
    known = drawn(posts.truth, draw)
    hidden, cell = ~known, {}
    for name, found in others(posts, known).items():
        cell[name] = posts.scores(found, hidden)
    clock = time.process_time()
    model = AutoClassifier(ontology=posts.ontology, random_state=0).fit(posts.views, np.where(known, posts.truth, None))
    seconds = time.process_time() - clock
    flat = model.estimators_[LEAVES]  # the same as without an ontology: tests/auto/test_ontology.py
    cell["AutoClassifier"] = posts.scores(model.classes_[flat.transduction_], hidden)
    cell["AutoClassifier, ontology"] = posts.scores(model.transduction_, hidden)
    codes = np.array([posts.ontology.index(group) for group in posts.truth])
    for name, each in {"AutoClassifier": flat.memberships_, "AutoClassifier, ontology": model.memberships_}.items():
        columns = flat.classes_ if each.shape[1] == len(flat.classes_) else np.arange(each.shape[1])
        cell[name]["calibration"] = float(expected_calibration_error(codes[hidden], each[hidden], classes=columns))
    cell["AutoClassifier, ontology"] |= {"seconds": seconds, "weights": model.level_weights_}
    for confidence in CONFIDENCES[1:]:
        sets = model.set_params(confidence=confidence)._training_sets()
        lowest = model._levels().lowest(sets)
        right = np.array([low >= 0 and posts.ontology.reach[code, low] for low, code in zip(lowest, codes)])
        cell[f"AutoClassifier, ontology, confidence {confidence}"] = {
            "at a group": float(np.mean(np.isin(lowest[hidden], flat.classes_))),
            "right": float(np.mean(right[hidden & (lowest >= 0)])),
        }
    return cell


def measure_inner(posts: Posts, draw: int) -> dict[str, Any]:
    """Every second label is that of the category alone, which the flat classifier cannot use."""
    known = drawn(posts.truth, draw)
    y = np.where(known, posts.truth, None)
    rows = np.flatnonzero(known)[::2]
    y[rows] = [posts.above[group] for group in posts.truth[rows]]
    model = AutoClassifier(ontology=posts.ontology, random_state=0).fit(posts.views, y)
    flat = model.estimators_[LEAVES]
    return {
        "AutoClassifier, half of the labels": posts.scores(model.classes_[flat.transduction_], ~known),
        "AutoClassifier, ontology, the other half of categories": posts.scores(model.transduction_, ~known),
    }


def measure_new(posts: Posts, draw: int, group: str = "sci.space") -> dict[str, Any]:
    """What posts of a group without labels are called, once with some labels of its category for them, once without."""
    known = drawn(posts.truth, draw)
    mine, cell = posts.truth == group, {}
    for name, label in {"no label": None, "label of the category": posts.above[group]}.items():
        y = np.where(known, posts.truth, None)
        y[mine] = np.where(known[mine], label, None)
        model = AutoClassifier(ontology=posts.ontology, random_state=0).fit(posts.views, y)
        for confidence in CONFIDENCES:
            model.set_params(confidence=confidence)
            found = model._levels().lowest(model._training_sets())[mine & ~known]
            top = posts.ontology.index(posts.above[group])
            cell[f"{group}, {name}, confidence {confidence}"] = {
                "category": float(np.mean(found == top)),
                "no answer": float(np.mean(found < 0)),
                "within": float(np.mean(posts.ontology.reach[found, top] & (found >= 0))),
            }
    return cell


def table(folder: Path) -> None:
    rows: list[list[Any]] = []
    for path in sorted(folder.glob("*.json")):
        cells = json.loads(path.read_text())
        draws = ", ".join(sorted(cells))
        for name in dict.fromkeys(name for cell in cells.values() for name in cell):
            mine = [cell[name] for cell in cells.values() if name in cell]
            means = {key: np.mean([each[key] for each in mine]) for key in mine[0] if key != "weights"}
            shown = [round(float(means[key]), 3) if key in means else "" for key in ("leaf", "whole", "calibration")]
            more = "; ".join(f"{key} {means[key]:.2f}" for key in means if key not in ("leaf", "whole", "calibration"))
            if "weights" in mine[0]:
                levels = ", ".join(f"{level} {value:.2f}" for level, value in mine[0]["weights"].items())
                more += f"; weights {levels}"
            rows.append([path.stem, draws, name, *shown, more])
    write(
        "ontology_auto",
        "AutoClassifier under the hierarchy of 20 Newsgroups: 5 % of the labels, scores on the unlabeled posts",
        ["posts", "draws", "method", "leaf macro-F1", "hierarchical F1", "calibration error", "more"],
        rows,
        [
            "The method was made on draws 0 and 1; the draws here are others.",
            '"right": share of the answers that hold, of those at a group or a category; "within": share called by the '
            "category or a group in it.",
        ],
    )


def main(arguments: list[str]) -> None:
    options = dict(each.removeprefix("--").split("=", 1) for each in arguments)
    folder = Path(options.get("folder", "kept_ontology"))
    folder.mkdir(parents=True, exist_ok=True)
    n_posts = int(options["posts"]) if "posts" in options else None
    path = folder / (f"{n_posts}.json" if n_posts else "all.json")
    cells = json.loads(path.read_text()) if path.exists() else {}
    waiting = [draw for draw in options.get("draws", "2,3").split(",") if draw and draw not in cells]
    posts = Posts(n_posts) if waiting else None
    for draw in waiting:
        assert posts is not None
        cells[draw] = measure(posts, int(draw))
        if n_posts:
            cells[draw] |= measure_inner(posts, int(draw)) | measure_new(posts, int(draw))
        path.write_text(json.dumps(cells, indent=1))
        print(draw, json.dumps(cells[draw], indent=1), flush=True)
    table(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
