"""Anchor graphs beside k-means and full graphs of neighbors, as objects become more: quality, time, memory.

python benchmarks/bench_anchor_graphs.py [--quick] [--folder=FOLDER]
python benchmarks/bench_anchor_graphs.py one METHOD OBJECTS FOLDER   one measurement as JSON (called by the above)

Made topics of two views; every method gets the same tf-idf weights. All methods of a size run one after the other in
processes of their own. "anchors, disk" reads the same rows from a folder of shards.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import in_process, peak_memory, write

K = 20
MAKE: dict[str, Any] = {"n_clusters": K, "length": [60, 30], "quality": 0.5}
WIDTHS = {"a": 5000, "b": 3000}
SHARD = 50_000
SIZES = {
    10_000: ("k-means", "graphs", "anchors", "anchors, disk"),
    100_000: ("k-means", "anchors", "anchors, disk"),
    1_000_000: ("k-means", "anchors, disk"),
}
QUICK = {2_000: ("k-means", "graphs", "anchors", "anchors, disk")}
PEER = "k-means"


def make(n: int, folder: str) -> Path:
    """Shards of tf-idf weights and the clusters of the objects, made once."""
    from coview import TfidfViews, write_views
    from coview.datasets import make_topic_views

    path = Path(folder) / f"topics-{n}"
    if not path.exists():
        # topics of all parts are those of one seed; objects of each part are drawn anew
        corpus = make_topic_views(min(n, 100_000), WIDTHS, random_state=0, **MAKE)
        weighting = TfidfViews().fit(corpus.views)
        rng = np.random.default_rng(1)
        profiles = {name: _profiles(corpus, name) for name in WIDTHS}
        targets: list[np.ndarray] = []

        def parts() -> Any:
            if n <= 100_000:
                targets.append(corpus.target)
                yield weighting.transform(corpus.views)
                return
            for first in range(0, n, SHARD):
                y = rng.integers(0, K, min(SHARD, n - first))
                targets.append(y)
                yield weighting.transform(_drawn(y, profiles, rng))

        write_views(parts(), path, rows_per_shard=SHARD)
        np.save(Path(folder) / f"topics-{n}.npy", np.concatenate(targets))
    return path


def _profiles(corpus: Any, name: str) -> np.ndarray:
    """Share of each feature among the objects of each cluster."""
    sums = np.array([np.asarray(corpus.views[name][corpus.target == z].sum(axis=0)).ravel() for z in range(K)])
    return sums / sums.sum(axis=1, keepdims=True)


def _drawn(y: np.ndarray, profiles: dict[str, np.ndarray], rng: np.random.Generator) -> Any:
    """Objects of given clusters: words drawn from the profile of each."""
    from scipy import sparse

    from coview import Views

    views = {}
    for (name, shares), length in zip(profiles.items(), MAKE["length"]):
        bounds = np.cumsum(shares, axis=1)
        words = np.empty((len(y), length), dtype=np.int32)
        for z in range(K):
            rows = np.flatnonzero(y == z)
            drawn = np.searchsorted(bounds[z], rng.random((len(rows), length)))
            words[rows] = np.minimum(drawn, shares.shape[1] - 1)
        of = np.repeat(np.arange(len(y)), length)
        counts = sparse.csr_array((np.ones(words.size), (of, words.ravel())), shape=(len(y), shares.shape[1]))
        counts.sum_duplicates()
        views[name] = counts
    return Views(views)


def fitted(method: str, X: Any) -> np.ndarray:
    """Clusters by one method."""
    from sklearn.cluster import MiniBatchKMeans

    from coview import AnchorGraphClustering, SpectralClusteringViews

    if method == "k-means":
        rows = X.hstack() if not hasattr(X, "parts") else X.collect().hstack()
        return MiniBatchKMeans(K, n_init=10, random_state=0).fit_predict(rows)
    if method == "graphs":
        return SpectralClusteringViews(K, method="stacked", random_state=0).fit(X).labels_
    return AnchorGraphClustering(K, random_state=0).fit(X).labels_


def one(method: str, n: int, folder: str) -> dict[str, Any]:
    from coview import read_views
    from coview.metrics import normalized_mutual_info

    path = make(n, folder)
    X, y = read_views(path), np.load(Path(folder) / f"topics-{n}.npy")
    if method != "anchors, disk" and n <= 100_000 and hasattr(X, "collect"):
        X = X.collect()
    if method.startswith("anchors"):  # compiled kernels are loaded before the clock starts
        fitted(method, X[:1000])
    found: dict[str, Any] = {}
    wall, spent = time.perf_counter(), time.process_time()

    def work() -> None:
        found["labels"] = fitted(method, X)

    memory = peak_memory(work)
    wall, spent = time.perf_counter() - wall, time.process_time() - spent
    return {"nmi": normalized_mutual_info(y, found["labels"]), "s": wall, "cpu": spent, "memory": memory}


def main(words: list[str]) -> None:
    quick = "--quick" in words
    given = [word.partition("=")[2] for word in words if word.startswith("--folder=")]
    with tempfile.TemporaryDirectory() as temporary:
        folder = given[0] if given else temporary
        rows = []
        for n, methods in (QUICK if quick else SIZES).items():
            make(n, folder)
            found = {method: in_process(__file__, "one", method, str(n), folder, threads=2) for method in methods}
            for method, result in found.items():
                ratios = [round(result[name] / found[PEER][name], 2) for name in ("cpu", "memory")]
                figures = [round(result["nmi"], 3), round(result["s"], 1), round(result["cpu"], 1)]
                rows.append([f"{n:,}", method, *figures, round(result["memory"] / 2**20), *ratios])
                print(*rows[-1], flush=True)
    write(
        "anchor_graphs_quick" if quick else "anchor_graphs",
        "Anchor graphs beside k-means and full graphs of neighbors, by number of objects",
        ["objects", "method", "NMI", "seconds", "processor s", "MiB", "time / k-means", "memory / k-means"],
        rows,
        [
            "Made topics: views of 5,000 and 3,000 words, 60 and 30 words per object, 20 clusters, quality .5; tf-idf.",
            "k-means: scikit-learn's MiniBatchKMeans(20, n_init=10) on the views side by side. graphs: "
            'SpectralClusteringViews(method="stacked"). anchors: AnchorGraphClustering(20).',
            "MiB above what the process held before the fit (rows in memory are held before; from disk they are not). "
            "Ratios are of processor seconds and of memory, in the same run.",
        ],
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(one(sys.argv[2], int(sys.argv[3]), sys.argv[4])))
    else:
        main(sys.argv[1:])
