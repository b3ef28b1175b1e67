"""Whole default fits on a GPU beside the same fits on the cores of its machine, by phase; needs a GPU, says so if none.

python benchmarks/bench_starts_cuda.py [--quick] [--profile] [--only=NAME,NAME] [--engines=cpu,cuda] [--max-iter=N]
    [--objects=N]
"""

from __future__ import annotations

import cProfile
import os
import pstats
import sys
import time
from typing import Any

import numpy as np
from common import write
from scipy import sparse

SUBJECTS = 64
LABELED = 0.01  # of the objects, for the classifier


def two_views(n: int, width: int = 100_000, length: int = 157, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Counts as of text in two views, and the subject of each object: half of its words are the subject's own."""
    from coview import Views

    rng = np.random.default_rng(seed)
    cumulated = np.cumsum(1.0 / np.arange(1, width + 1))
    cumulated /= cumulated[-1]
    own_words = np.array([rng.permutation(width) for _ in range(SUBJECTS)], dtype=np.int32)
    common = rng.permutation(width).astype(np.int32)
    subjects = rng.integers(0, SUBJECTS, n)
    parts = []
    for first in range(0, n, 20_000):
        rows = min(20_000, n - first)
        rank = np.searchsorted(cumulated, rng.random(rows * length)).astype(np.int32)
        own = np.repeat(subjects[first : first + rows], length)
        word = np.where(rng.random(rows * length) < 0.5, common[rank], own_words[own, rank])
        of = np.repeat(np.arange(rows, dtype=np.int32), length)
        parts.append(sparse.csr_array((np.ones(len(word), dtype=np.float32), (of, word)), shape=(rows, width)))
    X = sparse.vstack(parts, format="csr")
    X.sum_duplicates()
    columns = X.tocsc()
    halves = [columns[:, half::2].tocsr() for half in range(2)]
    for half in halves:
        half.sort_indices()
    return Views(a=halves[0], b=halves[1]), subjects


def fits(labels: np.ndarray) -> dict[str, Any]:
    """The default fits by name: a function of an engine, more parameters and the views."""
    from coview import CoPLSA, MultiViewPLSA, MultiViewPLSAClassifier, PairwiseCoPLSA

    plain = {"MultiViewPLSA": MultiViewPLSA, "CoPLSA": CoPLSA, "PairwiseCoPLSA": PairwiseCoPLSA}
    made: dict[str, Any] = {
        name: lambda engine, more, views, model=model: model(engine=engine, random_state=0, **more).fit(views)
        for name, model in plain.items()
    }

    def classifier(engine: str, more: dict[str, Any], views: Any) -> Any:
        return MultiViewPLSAClassifier(engine=engine, random_state=0, **more).fit(views, labels)

    return {**made, "MultiViewPLSAClassifier": classifier}


def main(words: list[str]) -> None:
    import torch

    quick = "--quick" in words
    options = dict(word[2:].split("=") for word in words if "=" in word)
    engines = options.get("engines", "cpu,cuda").split(",")
    if "cuda" in engines and not torch.cuda.is_available():
        print("no GPU here: nothing measured")
        return
    n = int(options.get("objects", 20_000 if quick else 200_000))
    views, subjects = two_views(n)
    labels = np.where(np.random.default_rng(1).random(n) < LABELED, subjects, -1)
    every = fits(labels)
    chosen = options.get("only", ",".join(every)).split(",")
    more = {"max_iter": int(options["max-iter"])} if "max-iter" in options else {}
    few = np.arange(2000)
    rows: list[list[Any]] = []
    nnz = sum(matrix.nnz for matrix in views.values())
    for name in chosen:
        whole_seconds, objective = 0.0, 0.0  # of the first engine
        for engine in engines:
            small = labels[few].copy()
            small[:SUBJECTS] = np.arange(SUBJECTS)
            fits(small)[name](engine, {"max_iter": 2}, views[few])  # compiles the kernels
            profile = cProfile.Profile()
            if "--profile" in words:
                profile.enable()
            began = time.perf_counter()
            model = every[name](engine, more, views)
            whole = time.perf_counter() - began
            profile.disable()
            phases = [model.fit_seconds_[phase] for phase in ("start", "iterations", "end")]
            end = model.history_["objective"][-1]
            if engine == engines[0]:
                whole_seconds, objective = whole, end
            gap = abs(end / objective - 1)
            rows.append([name, engine, *phases, whole, model.n_iter_, whole_seconds / whole, gap])
            print(rows[-1], end, flush=True)
            if "--profile" in words:
                pstats.Stats(profile).sort_stats("cumulative").print_stats(45)
        head = ["model", "engine", "start, s", "sweeps, s", "end, s", "whole fit, s", "sweeps",
                f"ratio to {engines[0]}", "gap of the objective"]  # fmt: skip
        notes = [
            f"{torch.cuda.get_device_name() if torch.cuda.is_available() else 'no GPU'}; CPU engine on "
            f"{os.cpu_count()} cores beside it. {n} objects, two views, {nnz} non-zeros, {SUBJECTS} subjects. Default "
            f"parameters{f' but for {more}' if more else ''}, random_state=0; the classifier has labels of "
            f"{LABELED:.0%} of the objects. One run of each, after a small fit that compiles the kernels. What the "
            "phases leave of the whole fit is the checking of the views. The gap of the objective is relative to the "
            "first engine's: where clusters are not clear, k-means carries rounding on to another end."
        ]
        write("starts_cuda_quick" if quick else "starts_cuda", "Whole default fits on a GPU", head, rows, notes)


if __name__ == "__main__":
    main(sys.argv[1:])
