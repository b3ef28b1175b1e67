"""Multi-view PLSA against twice a PLSA sweep, and multi-view naive Bayes against scikit-learn's per view.

python benchmarks/bench_multiview.py [--quick]
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import in_process, median, per_sweep, seconds, stored, write

REPEATS = 3


def sweeps(X: Any, size: str, k: int) -> dict[str, Any]:
    """Seconds per sweep: PLSA with k topics on one view; multi-view PLSA with k clusters and k topics on two such."""
    from coview import PLSA, MultiViewPLSA, Views

    two = Views(a=X, b=X)
    rng = np.random.default_rng(0)
    init = {"memberships": rng.dirichlet(np.ones(k), X.shape[0]).astype(np.float32)}
    PLSA(k, max_iter=1, n_jobs=1, random_state=0).fit(X[:100])
    one_view, two_views = [], []
    for _ in range(REPEATS):
        one_view += per_sweep(
            lambda n: PLSA(k, max_iter=n, tol=0, algorithm="published", n_jobs=1, random_state=0).fit(X), 3, 1
        )
        two_views += per_sweep(
            lambda n: MultiViewPLSA(k, k, init=init, max_iter=n, tol=0, n_jobs=1, random_state=0).fit(two), 3, 1
        )
    return {"nnz": int(X.nnz), "plsa": one_view, "multiview": two_views}


def naive_bayes(X: Any, size: str, k: int) -> dict[str, Any]:
    """Seconds of fit + predict_proba on two views, k classes."""
    from sklearn.naive_bayes import MultinomialNB

    from coview import MultiViewNaiveBayes, Views

    y = np.random.default_rng(0).integers(0, k, X.shape[0])
    two = Views(a=X, b=X)

    def ours() -> None:
        MultiViewNaiveBayes().fit(two, y).predict_proba(two)

    def theirs() -> None:
        sum(MultinomialNB().fit(view, y).predict_proba(view) for view in two.values())

    pairs = [(seconds(ours), seconds(theirs)) for _ in range(REPEATS)]
    return {"ours": [a for a, _ in pairs], "theirs": [b for _, b in pairs]}


def main(quick: bool) -> None:
    here, scratch = str(Path(__file__)), tempfile.TemporaryDirectory()
    size = "newsgroups" if quick else "large"
    rows: list[list[Any]] = []
    for k in (20, 64):
        found = in_process(here, "sweeps", size, str(k), scratch.name)
        twice, ours = 2 * median(found["plsa"]), median(found["multiview"])
        rows.append(
            [
                f"MultiViewPLSA sweep, 2 views, {k} clusters, {k} topics",
                size,
                ours,
                "2 x PLSA sweep",
                twice,
                ours / twice,
            ]
        )
        found = in_process(here, "naive_bayes", size, str(k), scratch.name)
        ours, theirs = median(found["ours"]), median(found["theirs"])
        rows.append(
            [f"MultiViewNaiveBayes, 2 views, {k} classes", size, ours, "MultinomialNB per view", theirs, ours / theirs]
        )
        print(rows[-2:], flush=True)
    head = ["what", "data", "coview, s", "peer", "peer, s", "coview / peer"]
    notes = ["Medians of three, in turn in one process, one thread, float32. Naive Bayes: fit and predict_proba."]
    write(
        "multiview_quick" if quick else "multiview",
        "Multi-view models: cost beside their single-view peers",
        head,
        rows,
        notes,
    )


if __name__ == "__main__":
    jobs = {"sweeps": sweeps, "naive_bayes": naive_bayes}
    if len(sys.argv) > 1 and sys.argv[1] in jobs:
        print(json.dumps(jobs[sys.argv[1]](stored(sys.argv[2], sys.argv[4]), sys.argv[2], int(sys.argv[3]))))
    else:
        main("--quick" in sys.argv)
