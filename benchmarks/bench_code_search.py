"""Words look for code among the functions of installed Python packages: which model finds it.

python benchmarks/bench_code_search.py              every row, then the table
python benchmarks/bench_code_search.py ROW ...      some rows by number; those that are there are not made again
python benchmarks/bench_code_search.py table        the table of the rows that are there

Half of the source files teach; docstrings of the other half look for code among that half, both ways round. A hit is
right if it is of the same subpackage but of another file. Rows are kept in the folder that COVIEW_BENCH names.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import write
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import make_pipeline

from coview import CoPLSA, CrossModalRetriever, LinkPLSA, MultiViewCCA, TfidfViews
from coview.datasets import load_python_packages
from coview.metrics import mean_average_precision

SWEEPS = 100


class SideBySideLSA(TransformerMixin, BaseEstimator):
    """Singular directions of all views side by side; an object without a view counts as empty there."""

    def __init__(self, n_components: int = 100) -> None:
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None) -> SideBySideLSA:
        whole = sparse.hstack(list(X.values()), format="csr")
        directions = TruncatedSVD(self.n_components, random_state=0).fit(whole).components_
        cuts = np.cumsum([matrix.shape[1] for matrix in X.values()])[:-1]
        self.parts_ = dict(zip(X.names, np.split(directions, cuts, axis=1)))
        return self

    def transform(self, X: Any) -> np.ndarray:
        return sum(matrix @ self.parts_[name].T for name, matrix in X.items())


def weighed(model: Any) -> Any:
    return make_pipeline(TfidfViews(sublinear_tf=True), model)


def cca(**options: Any) -> Any:
    return weighed(MultiViewCCA(100, random_state=0, **options))


def topics(cls: Any, n_components: int, seed: int = 0) -> Any:
    return weighed(cls(n_components, max_iter=SWEEPS, random_state=seed))


def starts(cls: Any, n_components: int) -> list[Any]:
    return [topics(cls, n_components, seed) for seed in range(8)]


ROWS: dict[str, Callable[[], CrossModalRetriever]] = {
    "shared words, BM25 (`lexical=1`)": lambda: CrossModalRetriever(cca(), lexical=1.0),
    "LSA of both views side by side, 100 dimensions": lambda: CrossModalRetriever(
        weighed(SideBySideLSA(100)), lexical=0
    ),
    "CCA as in the textbook, `MultiViewCCA(100, power=0)`": lambda: CrossModalRetriever(cca(power=0), lexical=0),
    "`MultiViewCCA(100)`, `lexical=0`": lambda: CrossModalRetriever(cca(), lexical=0),
    "`MultiViewCCA(100)` (default, `lexical=0.6`)": lambda: CrossModalRetriever(cca()),
    "`MultiViewCCA(100)`, `lexical=0.3`": lambda: CrossModalRetriever(cca(), lexical=0.3),
    "`CoPLSA(100)`": lambda: CrossModalRetriever(topics(CoPLSA, 100), lexical=0),
    "`LinkPLSA(100)`": lambda: CrossModalRetriever(topics(LinkPLSA, 100), lexical=0),
    "`CoPLSA(50)`, eight starts": lambda: CrossModalRetriever(starts(CoPLSA, 50), lexical=0),
    "`LinkPLSA(50)`, eight starts": lambda: CrossModalRetriever(starts(LinkPLSA, 50), lexical=0),
    "`LinkPLSA(50)`, eight starts, `lexical=0.5`": lambda: CrossModalRetriever(starts(LinkPLSA, 50), lexical=0.5),
    "`MultiViewCCA(100)` and `LinkPLSA(50)`, eight of each": lambda: CrossModalRetriever(
        [cca()] * 8 + starts(LinkPLSA, 50), lexical=0
    ),
    "the same, `lexical=0.3`": lambda: CrossModalRetriever([cca()] * 8 + starts(LinkPLSA, 50), lexical=0.3),
}


def measure(name: str) -> dict[str, Any]:
    """Mean over both halves of the average precision within 10 ranks, and of how often the own code is in them."""
    corpus = load_python_packages()
    X, target, groups = corpus.views, corpus.target, corpus.groups
    found: dict[str, Any] = {"map": [], "own": [], "objects": len(X)}
    for train, test in StratifiedGroupKFold(2, shuffle=True, random_state=0).split(X, target, groups):
        retriever = ROWS[name]().fit(X[train])
        retriever.clear().add(X[test])
        same_file = groups[test][:, None] == groups[test]
        relevant = (target[test][:, None] == target[test]) & ~same_file
        scores = retriever.similarities(X[test], "words", "code")
        found["map"].append(mean_average_precision(np.where(same_file, -np.inf, scores), relevant, at=10))
        own = retriever.search(X[test], "words", "code", k=10).ids == X.ids[test][:, None]
        found["own"].append(float(own.any(axis=1).mean()))
    return found


def table() -> None:
    rows: list[list[Any]] = []
    for i, name in enumerate(ROWS):
        path = _folder() / f"code_search_{i}.json"
        if path.exists():
            found = json.loads(path.read_text())
            rows.append([name, f"{np.mean(found['map']):.3f}", f"{np.mean(found['own']):.3f}"])
    notes = [
        "Half of the source files teach, the docstrings of the other half look for code among that half; means of both "
        "ways round. MAP@10: a hit is right if it is of the same subpackage but of another file; code of the same file "
        "is left out.",
        f"tf-idf weights with sublinear_tf=True and {SWEEPS} sweeps in all rows. The corpus changes with the versions "
        "of the packages.",
    ]
    write(
        "code_search",
        "Finding code with words",
        ["what is compared", "MAP@10", "own code in the first 10"],
        rows,
        notes,
    )


def _folder() -> Path:
    folder = Path(os.environ.get("COVIEW_BENCH", Path(tempfile.gettempdir()) / "coview_bench"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    words = sys.argv[1:]
    for i, name in enumerate(ROWS):
        path = _folder() / f"code_search_{i}.json"
        if (not words or str(i) in words) and not path.exists():
            path.write_text(json.dumps(measure(name)))
            print(i, name, path.read_text(), flush=True)
    if not words or "table" in words:
        table()
