"""Clustering: spherical k-means, co-regularized spectral clustering and co-regularized PLSA, beside their peers.

python benchmarks/bench_clustering.py [--quick] [--peers=FOLDER]             everything, one after the other
python benchmarks/bench_clustering.py STEP ... [--quick] [--peers=FOLDER]    some steps, see STEPS below, and table

FOLDER holds mvlearn 0.5.0 and spherecluster 0.1.7 (`pip install --no-deps --target FOLDER mvlearn spherecluster`).
Their requirements do not fit today's scikit-learn. Of mvlearn only the clustering modules are loaded, as they are. The
archived spherecluster runs as it is too, on stand-ins for the parts of scikit-learn 0.20 that it calls and that are
gone (`spherecluster` below). Without FOLDER their lines are left out, and the notes say so. What the steps measured
is kept in the folder that the variable COVIEW_BENCH names, by default one for temporary files.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import in_process, median, text_parts, write
from scipy import sparse
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.preprocessing import normalize

REPEATS = 3
SWEEPS = 20


def processor_seconds(call: Callable[[], Any]) -> float:
    """Seconds of processor time: everything here runs on one thread, and other work on the machine does not count."""
    clock = time.process_time()
    call()
    return time.process_time() - clock


def mvlearn(folder: str) -> Any:
    """mvlearn's clustering modules, without the rest of the package."""
    package = types.ModuleType("mvlearn")
    package.__path__ = [str(Path(folder) / "mvlearn")]
    sys.modules["mvlearn"] = package
    import mvlearn.cluster

    return mvlearn.cluster


def spherecluster(folder: str) -> Any:
    """spherecluster's k-means, unchanged, with today's functions under the names by which it imports them.

    The step that takes the time, nearest centers of sparse rows, is scikit-learn's own compiled loop as it was then.
    """
    import importlib

    import joblib

    now = importlib.import_module("sklearn.cluster._kmeans")  # where the functions of k_means_ are today

    def labels_inertia(X: Any, weight: Any, norms: Any, centers: Any, **_: Any) -> Any:
        return now._labels_inertia(X, weight, np.ascontiguousarray(centers))

    def centers_sparse(X: Any, weight: Any, labels: Any, n_clusters: int, distances: Any) -> Any:
        onto = sparse.csr_array((weight, (labels, np.arange(len(labels)))), shape=(n_clusters, len(labels)))
        return (onto @ X).toarray() / np.maximum(onto.sum(axis=1), 1)[:, None]

    def init_centroids(X: Any, k: int, init: Any, random_state: Any, x_squared_norms: Any) -> Any:
        return init if not isinstance(init, str) else kmeans_plusplus(X, k, random_state=random_state)[0]

    old = types.ModuleType("sklearn.cluster.k_means_")
    old.__dict__.update(
        _check_sample_weight=lambda X, weight: np.ones(X.shape[0]) if weight is None else weight,
        _init_centroids=init_centroids,
        _labels_inertia=labels_inertia,
        _tolerance=now._tolerance,
        _validate_center_shape=lambda X, k, centers: None,
    )
    loops = types.ModuleType("sklearn.cluster._k_means")
    loops.__dict__.update(_centers_sparse=centers_sparse)
    external = types.ModuleType("sklearn.externals")
    package = types.ModuleType("spherecluster")
    package.__path__ = [str(Path(folder) / "spherecluster")]
    for name, module in (("cluster.k_means_", old), ("cluster._k_means", loops), ("externals", external)):
        sys.modules[f"sklearn.{name}"] = module
    sys.modules["sklearn.externals.joblib"] = joblib
    sys.modules["spherecluster"] = package
    sys.modules["sklearn.cluster"].__dict__["_k_means"] = loops
    vars(np)["infty"] = np.inf  # gone from NumPy 2
    from spherecluster.spherical_kmeans import SphericalKMeans

    return SphericalKMeans


def texts(quick: bool) -> Any:
    from coview import SphericalKMeans

    X = next(text_parts("newsgroups", np.float64))
    X = X[: 5000 if quick else X.shape[0]]
    SphericalKMeans(20, n_init=1, max_iter=2, random_state=0).fit(X[:500])
    return X


def compared(fits: dict[str, Callable[[int], Any]], X: Any) -> dict[str, Any]:
    """Seconds of each fit, in turn for each seed, and the mean cosine of objects and their centers at the end."""
    rows = normalize(X)
    found: dict[str, Any] = {name: {"seconds": [], "cosine": [], "sweeps": []} for name in fits}
    for seed in range(REPEATS):
        for name, fit in fits.items():
            models: list[Any] = []
            found[name]["seconds"].append(processor_seconds(lambda s=seed, f=fit, out=models: out.append(f(s))))
            model = models[0]
            centers = model.cluster_centers_["x"] if name == "coview" else model.cluster_centers_
            found[name]["cosine"].append(float((rows @ normalize(centers).T).max(axis=1).mean()))
            found[name]["sweeps"].append(int(model.n_iter_))
    return found


def sphere(quick: bool, folder: str) -> dict[str, Any]:
    """The same starts and the same number of sweeps for all."""
    from coview import SphericalKMeans

    X = texts(quick)
    rows = normalize(X)
    starts = [kmeans_plusplus(rows[:2000], 20, random_state=seed)[0] for seed in range(REPEATS)]
    starts = [start.toarray() if sparse.issparse(start) else start for start in starts]
    same: dict[str, Any] = {"n_init": 1, "max_iter": SWEEPS}  # or until nothing moves, for all of them
    fits: dict[str, Callable[[int], Any]] = {
        "coview": lambda s: SphericalKMeans(20, init=starts[s], tol=1e-15, **same).fit(X),
        "scikit-learn": lambda s: KMeans(20, init=starts[s], tol=0, **same).fit(rows),
    }
    if folder:
        peer = spherecluster(folder)
        fits["spherecluster"] = lambda s: peer(20, init=starts[s], tol=0, **same).fit(X)
    return {"rows": X.shape[0], "found": compared(fits, X)}


def whole(quick: bool, folder: str) -> dict[str, Any]:
    """Each with its own start and until its own rule says that it is done."""
    from coview import SphericalKMeans

    X = texts(quick)
    rows = normalize(X)
    fits: dict[str, Callable[[int], Any]] = {
        "coview": lambda s: SphericalKMeans(20, n_init=1, max_iter=300, random_state=s).fit(X),
        "scikit-learn": lambda s: KMeans(20, n_init=1, max_iter=300, random_state=s).fit(rows),
    }
    if folder:
        peer = spherecluster(folder)
        fits["spherecluster"] = lambda s: peer(20, n_init=1, random_state=s).fit(X)
    return {"rows": X.shape[0], "found": compared(fits, X)}


def two_views(quick: bool, folder: str) -> dict[str, Any]:
    """Spherical k-means of two views; mvlearn's takes dense ones only."""
    from coview import SphericalKMeans, Views

    small = texts(True)[:1000]
    small = small[:, np.flatnonzero(np.diff(small.tocsc().indptr) > 3)]
    views = Views(even=small[:, ::2], odd=small[:, 1::2])

    def ours(seed: int) -> None:
        SphericalKMeans(20, n_init=1, random_state=seed).fit(views)

    found: dict[str, Any] = {"shape": list(small.shape)}
    found["coview"] = [processor_seconds(lambda s=s: ours(s)) for s in range(REPEATS)]
    if folder:
        parts = [matrix.toarray() for matrix in views.values()]
        peer = mvlearn(folder).MultiviewSphericalKMeans
        found["mvlearn"] = [
            processor_seconds(lambda s=s: peer(20, n_init=1, random_state=s).fit(parts)) for s in range(REPEATS)
        ]
    return found


def digits() -> tuple[Any, np.ndarray, str]:
    """Multiple Features where it is at hand, else blobs of the same size."""
    from corpora import load_mfeat

    from coview.datasets import make_blobs_views
    from coview.exceptions import DataFileError

    try:
        corpus = load_mfeat()
        return corpus.views, corpus.target, "mfeat"
    except DataFileError:
        corpus = make_blobs_views(2000, n_views=6, n_clusters=10, n_features=60, std=6.0, random_state=0)
        return corpus.views, corpus.target, "blobs"


def spectral(quick: bool, folder: str) -> dict[str, Any]:
    from coview import SpectralClusteringViews
    from coview.metrics import normalized_mutual_info

    X, y, name = digits()
    k = len(np.unique(y))
    found: dict[str, Any] = {"data": name, "rows": len(X), "lines": []}

    def line(what: str, fit: Callable[[int], Any], repeats: int = REPEATS) -> None:
        times, scores = [], []
        for seed in range(repeats):
            labels: list[Any] = []
            times.append(processor_seconds(lambda s=seed, out=labels: out.append(fit(s))))
            scores.append(normalized_mutual_info(y, labels[0]))
        found["lines"].append([what, times, float(np.mean(scores))])

    for method in ("co-regularized-centroid", "co-regularized", "stacked"):
        line(
            f"coview, {method}",
            lambda s, method=method: SpectralClusteringViews(k, method=method, random_state=s).fit_predict(X),
        )
    if folder:
        peer, parts = mvlearn(folder).MultiviewCoRegSpectralClustering, list(X.values())
        for affinity in ("nearest_neighbors",) if quick else ("nearest_neighbors", "rbf"):
            line(
                f"mvlearn 0.5, {affinity}",
                lambda s, a=affinity: peer(k, affinity=a, random_state=s).fit_predict(parts),
                repeats=1,  # a minute each
            )
    return found


def large(quick: bool, folder: str) -> dict[str, Any]:
    """Many objects: nothing of objects x objects may be built."""
    import resource

    from coview import SpectralClusteringViews
    from coview.datasets import make_blobs_views

    n = 5000 if quick else 20_000
    X = make_blobs_views(n, n_views=2, n_clusters=10, n_features=30, std=4.0, random_state=0).views
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spent = processor_seconds(lambda: SpectralClusteringViews(10, random_state=0).fit(X))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"rows": n, "seconds": spent, "more_mib": (after - before) / 1024}


def growth(quick: bool, folder: str) -> dict[str, Any]:
    """Seconds of a sweep of PairwiseCoPLSA for more and more pairs, and for more and more non-zeros."""
    from coview import PairwiseCoPLSA
    from coview.datasets import make_topic_views

    n, base = (4000, 100_000) if quick else (20_000, 500_000)
    sweeps = 4

    def data(length: int) -> Any:
        return make_topic_views(n, {"words": 5000, "links": 2000}, 10, length=length, random_state=0).views

    def measure(X: Any, pairs: int) -> dict[str, Any]:
        def fit(count: int) -> float:
            share = 2 * pairs / (n * min(n - 1, 8192))  # pairs lie inside blocks
            model = PairwiseCoPLSA(
                10, pair_fraction=share, init="random", max_iter=count, tol=0, n_init=1, n_jobs=1, random_state=0
            )
            return processor_seconds(lambda: model.fit(X))

        spent = [(fit(1 + sweeps) - fit(1)) / sweeps for _ in range(REPEATS)]
        return {"pairs": pairs, "nonzeros": int(sum(matrix.nnz for matrix in X.values())), "seconds": spent}

    X = data(40)
    measure(X[:500], 1000)
    by_pairs = [measure(X, pairs) for pairs in (base, 2 * base, 4 * base, 8 * base)]
    by_nonzeros = [measure(data(length), base) for length in (40, 80, 160, 320)]
    return {"rows": n, "pairs": by_pairs, "nonzeros": by_nonzeros}


STEPS = {
    "sphere": sphere,
    "whole": whole,
    "two_views": two_views,
    "spectral": spectral,
    "large": large,
    "growth": growth,
}


def table(quick: bool) -> None:
    """Write what the steps measured."""
    got = {step: json.loads(_stored(step, quick).read_text()) for step in STEPS if _stored(step, quick).exists()}
    rows: list[list[Any]] = []
    notes = [f"Processor seconds on one thread, medians of {REPEATS} seeds (mvlearn's spectral clustering: one)."]
    for step in ("sphere", "whole"):
        if step in got:
            rows += _sphere_rows(step, got[step])
    if "whole" in got:
        notes.append(
            "Spherical k-means: 20 clusters of text-like counts, one start; quality is the mean cosine of an object "
            "with its own center. Same start: from the same centers for each seed, until nothing moves or for "
            f"{SWEEPS} sweeps. Whole fit: each with its own start and its own rule to stop. "
            "scikit-learn's k-means is that of rows of length 1, whose centers stay inside the sphere."
        )
    if "two_views" in got:
        rows += _two_view_rows(got["two_views"])
    if "spectral" in got:
        rows += _spectral_rows(got["spectral"])
        notes.append(
            f"Co-regularized spectral clustering: {got['spectral']['data']}, six views; quality is the mutual "
            "information with the classes, normalized; 'times faster' is that of co-regularized-centroid."
        )
    if "large" in got:
        many = got["large"]
        rows.append(["co-regularized spectral, coview, centroid, two views", many["rows"], many["seconds"], "", ""])
        notes.append(
            f"The fit of {many['rows']:,} objects took {many['more_mib']:.0f} MiB more than the data; "
            f"one matrix of objects x objects would take {many['rows'] ** 2 * 8 / 2**20:,.0f} MiB."
        )
    if "growth" in got:
        rows += _growth_rows(got["growth"], notes)
    if not any("mvlearn" in row[0] for row in rows):
        notes.append("mvlearn and spherecluster were not at hand (--peers): their lines are left out.")
    head = ["what", "objects", "seconds", "quality", "coview times faster"]
    write("clustering_quick" if quick else "clustering", "Clustering", head, rows, notes)


def _sphere_rows(step: str, part: dict[str, Any]) -> list[list[Any]]:
    what = "spherical k-means, same start" if step == "sphere" else "spherical k-means, whole fit"
    ours = median(part["found"]["coview"]["seconds"])
    rows = []
    for name, line in part["found"].items():
        spent = median(line["seconds"])
        sweeps = f", {median(line['sweeps']):.0f} sweeps"
        label = {"scikit-learn": "scikit-learn KMeans", "spherecluster": "spherecluster 0.1.7"}.get(name, name)
        cosine = f"{median(line['cosine']):.4f}"
        rows.append([f"{what}, {label}{sweeps}", part["rows"], spent, cosine, f"{spent / ours:.1f}"])
    return rows


def _two_view_rows(part: dict[str, Any]) -> list[list[Any]]:
    n, ours = part["shape"][0], median(part["coview"])
    rows = [["spherical k-means, two sparse views, coview", n, ours, "", "1.0"]]
    if "mvlearn" in part:
        slow = median(part["mvlearn"])
        rows.append(["spherical k-means, the same views, dense, mvlearn 0.5", n, slow, "", f"{slow / ours:.1f}"])
    return rows


def _spectral_rows(part: dict[str, Any]) -> list[list[Any]]:
    ours = median(part["lines"][0][1])
    return [
        [f"co-regularized spectral, {what}", part["rows"], median(times), f"{score:.3f}", f"{median(times) / ours:.1f}"]
        for what, times, score in part["lines"]
    ]


def _growth_rows(part: dict[str, Any], notes: list[str]) -> list[list[Any]]:
    rows = []
    for by in ("pairs", "nonzeros"):
        for line in part[by]:
            what = f"PairwiseCoPLSA, one sweep, {line['pairs']:,} pairs, {line['nonzeros']:,} non-zeros"
            rows.append([what, part["rows"], median(line["seconds"]), "", ""])
    said = []
    for by, unit in (("pairs", "million pairs"), ("nonzeros", "million non-zeros")):
        size = np.array([line[by] for line in part[by]]) / 1e6
        spent = np.array([median(line["seconds"]) for line in part[by]])
        slope, base = np.polyfit(size, spent, 1)
        apart = float(np.abs(base + slope * size - spent).max() / spent.max())
        steps = ", ".join(f"{cost:.2f}" for cost in np.diff(spent) / np.diff(size))
        said.append(f"{slope:.2f} s per {unit} (from one size to the next {steps}), at most {apart:.0%} off the line")
    notes.append("PairwiseCoPLSA: a straight line through the sizes costs " + ", and ".join(said) + ".")
    return rows


def _stored(step: str, quick: bool) -> Path:
    folder = Path(os.environ.get("COVIEW_BENCH", Path(tempfile.gettempdir()) / "coview_bench"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"clustering_{step}{'_quick' if quick else ''}.json"


def main(steps: list[str], quick: bool, folder: str) -> None:
    for step in steps:
        if step == "table":
            table(quick)
            continue
        found = in_process(str(Path(__file__)), "step", step, "1" if quick else "0", folder, threads=1)
        _stored(step, quick).write_text(json.dumps(found))
        print(step, "measured", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["step"]:
        print(json.dumps(STEPS[sys.argv[2]](sys.argv[3] == "1", sys.argv[4])))
    else:
        words = [part for word in sys.argv[1:] for part in (word.split("=", 1) if "--peers=" in word else [word])]
        where = words.pop(words.index("--peers") + 1) if "--peers" in words else ""
        main([w for w in words if not w.startswith("-")] or [*STEPS, "table"], "--quick" in words, where)
