"""Every public function and every question to a fitted model, with one argument that is nonsense.

An answer must be finite, and an error one of coview's own.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable
from copy import deepcopy
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from coview import (
    LinkPLSA,
    MultiViewPLSAClassifier,
    SphericalKMeans,
    as_views,
    compare,
    edit,
    inspect,
    metrics,
    name_groups,
    select_clusters,
    set_group_names,
    solve_labels,
    suggest_labels,
)
from coview.datasets import make_topic_views
from fuzz._cases import command_line, described, is_ours, search
from fuzz.estimators import VALUES, not_finite_in

SECONDS = 30  # of the processor, that a case may take
# NaN where there is nothing relevant, no pair of words or no feature: that is what they say of themselves
MAY_BE_NAN = (
    "mean_average_precision",
    "topic_coherence",
    "topic_coherence of texts",
    "topic_diversity",
    "topic_exclusivity",
)
ROWS = 40

Call = tuple[Callable[..., Any], dict[str, Any]]
FunctionCase = tuple[str, str, Any]  # a function, one of its arguments, and what is put there


@cache
def calls() -> dict[str, Call]:
    """Return functions by name, each with arguments that are fine."""
    made = make_topic_views(n_objects=ROWS, n_clusters=3, random_state=0)
    X, y = made.views, made.target
    words = X[X.names[0]]
    few = np.array([label if i < 9 else None for i, label in enumerate(y.tolist())], dtype=object)
    topics = LinkPLSA(3, max_iter=5, random_state=0).fit(X)
    classes = MultiViewPLSAClassifier(max_iter=5, random_state=0).fit(X, few)
    clusters = SphericalKMeans(3, random_state=0).fit(X)
    weights = topics.topic_feature_[X.names[0]]
    scores = np.random.default_rng(0).random((4, 6))
    found: dict[str, Call] = {
        "mean_average_precision": (
            metrics.mean_average_precision,
            {"scores": scores, "relevant": scores > 0.5, "at": 3, "cutoff": "rank"},
        ),
        "clustering_accuracy": (metrics.clustering_accuracy, {"y_true": y, "y_pred": y}),
        "expected_calibration_error": (
            metrics.expected_calibration_error,
            {"y_true": y, "probabilities": classes.predict_proba(X), "classes": [0, 1, 2], "n_bins": 10},
        ),
        "normalized_mutual_info": (
            metrics.normalized_mutual_info,
            {"y_true": y, "y_pred": y, "average": "max"},
        ),
        "pairwise_f1": (metrics.pairwise_f1, {"y_true": y, "y_pred": y}),
        "topic_coherence": (
            metrics.topic_coherence,
            {"topics": weights, "reference": words, "measure": "npmi", "n_features": 5},
        ),
        "topic_diversity": (metrics.topic_diversity, {"topics": weights, "n_features": 5}),
        "topic_exclusivity": (metrics.topic_exclusivity, {"topics": weights, "n_features": 5}),
        "suggest_labels": (suggest_labels, {"model": classes, "X": X, "n": 3}),
        "select_clusters": (
            partial(select_clusters, n_jobs=1, time_budget=2),
            {"X": X, "n_clusters": [2, 3], "n_repeats": 2},
        ),
        "compare": (partial(compare, n_jobs=1), {"X": X, "y": y, "methods": ["naive_bayes"], "cv": 2, "n_repeats": 1}),
        "solve_labels": (solve_labels, {"scores": scores}),
        "inspect": (inspect, {"model": topics}),
        "name_groups": (name_groups, {"model": topics, "X": X, "namer": None, "n_words": 2}),
        "set_group_names": (set_group_names, {"model": topics, "names": {0: "a"}}),
        "as_views": (as_views, {"X": X}),
    }
    edits: dict[str, dict[str, Any]] = {
        "merge": {"groups": [0, 1], "name": "a"},
        "rename": {"group": 0, "name": "a"},
        "drop": {"group": 0},
        "mark_noise": {"group": 0},
        "reduce": {"n": 2, "X": X},
        "preview": {"edit": {"edit": "merge", "groups": [0, 1]}, "X": X},
    }
    for name, model in (("topics", topics), ("clusters", clusters)):
        found |= {f"edit({name}).{each}": (partial(_edited, model, each), given) for each, given in edits.items()}
    for name, model in (("topics", topics), ("classes", classes), ("clusters", clusters)):
        asked = inspect(model)
        by = np.arange(ROWS)
        questions: dict[str, dict[str, Any]] = {
            "memberships": {"X": X},
            "predict": {"X": X},
            "features": {"view": X.names[0]},
            "feature_names": {"view": X.names[0]},
            "prevalence": {"X": X, "by": by, "n_bins": 3},
            "quality": {"X": X, "n_features": 5},
            "outliers": {"X": X, "reference": X, "false_alarm": 0.05, "random_state": 0},
            "hierarchy": {},
        }
        for question, arguments in questions.items():
            found[f"{name}.{question}"] = getattr(asked, question), arguments
    return {name: call for name, call in found.items() if call[1]}


def _edited(model: Any, method: str, /, **arguments: Any) -> Any:
    """Make one edit, of a model that stays as it is."""
    return getattr(edit(model), method)(**arguments)


def _call(name: str, argument: str, value: Any) -> Any:
    """Call a function with one argument replaced; a model that it may name the groups of is a copy."""
    function, arguments = calls()[name]
    given = {**arguments, argument: value}
    return function(**{key: deepcopy(each) if key == "model" else each for key, each in given.items()})


@cache
def values() -> list[Any]:
    """Return what may be put in the place of an argument."""
    made = make_topic_views(n_objects=ROWS, n_clusters=3, random_state=0)
    return [
        *VALUES, made.views, made.target, made.views[:5], {"words": np.eye(3)}, np.zeros((0, 3)),
        np.full((ROWS, 3), np.nan), np.full(ROWS, np.inf), ["x"] * ROWS, [None] * ROWS, ["2020-01-01"] * ROWS, "2020",
        sparse.csr_array(np.eye(ROWS)), LinkPLSA(2), object(), -np.ones((3, 500)),
        np.zeros(ROWS, dtype="datetime64[D]"), list(range(ROWS - 1)), [[1], [2, 3]], [["a"], "b"],
    ]  # fmt: skip


def make_case(seed: int, number: int) -> FunctionCase:
    """Return a function, one of its arguments, and what is put there; the same for the same seed and number."""
    rng = np.random.default_rng([seed, number])
    names = list(calls())
    name = names[number % len(names)]
    arguments = list(calls()[name][1])
    return name, arguments[rng.integers(len(arguments))], values()[rng.integers(len(values()))]


def run_case(case: FunctionCase) -> str:
    """Call and look; return what is wrong, or nothing."""
    name, argument, value = case
    if name == "compare" and argument == "methods" and (value is None or isinstance(value, str)):
        return ""  # all methods: right, and long
    try:
        answer = _call(name, argument, value)
        repr(answer)
    except NotFittedError as error:
        return "" if argument == "model" else described(error)
    except Exception as error:
        measure = calls()[name][0].__module__.startswith("coview.metrics")  # NumPy's and SciPy's sentences will do
        fine = is_ours(error) or (measure and isinstance(error, (TypeError, ValueError)))
        return "" if fine else described(error)
    if not isinstance(answer, (np.ndarray, float)):
        return ""
    if name in MAY_BE_NAN:
        answer = np.nan_to_num(answer, nan=0.0, posinf=np.inf, neginf=-np.inf)
    where = not_finite_in(answer, "the answer")
    return f"NaN or infinity in {where}" if where else ""


def main(seed: int = 0, count: int | None = None, seconds: float | None = None) -> list[str]:
    """Run cases until there are so many or so much time is spent; return failures, one sentence each."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        limits = SECONDS, None
        return search("functions", make_case, run_case, _shown, seed=seed, count=count, seconds=seconds, limits=limits)


def _shown(case: FunctionCase) -> str:
    name, argument, value = case
    return " ".join(f"{name}({argument}={value!r:.80})".split())


def show(seed: int, number: int) -> None:
    """Run one case here, and show its traceback."""
    name, argument, value = make_case(seed, number)
    print(name, argument, repr(value)[:200])
    try:
        print(repr(_call(name, argument, value))[:500])
    except Exception:
        traceback.print_exc()


if __name__ == "__main__":
    sys.exit(command_line("functions", __doc__, main, show))
