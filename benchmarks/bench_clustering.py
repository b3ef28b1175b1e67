"""Clustering: spherical k-means and co-regularised spectral clustering, beside scikit-learn and mvlearn.

python benchmarks/bench_clustering.py [--quick] [--peers FOLDER]

FOLDER holds mvlearn 0.5.0 unpacked (`pip download mvlearn==0.5.0 --no-deps`, then unzip the wheel): its requirements do
not fit today's scikit-learn, but its clustering modules run, and only they are loaded. Without it these lines are left
out. The archived spherecluster 0.1.7 needs modules that scikit-learn has removed; its sweeps are those of its
k-means, each followed by scaling the centres, so that k-means on rows of length 1 stands for it here.
"""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
from common import in_process, median, text_parts, write
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

REPEATS = 3


def processor_seconds(call: Any) -> float:
    """Seconds of processor time: everything here runs on one thread, and other work on the machine does not count."""
    import time

    clock = time.process_time()
    call()
    return time.process_time() - clock


def peers(folder: str) -> Any:
    """mvlearn's clustering modules, without the rest of the package."""
    package = types.ModuleType("mvlearn")
    package.__path__ = [str(Path(folder) / "mvlearn")]
    sys.modules["mvlearn"] = package
    import mvlearn.cluster

    return mvlearn.cluster


def digits() -> tuple[Any, np.ndarray, str]:
    """Multiple Features where it is at hand, else blobs of the same size."""
    from coview import load_mfeat, make_blobs_views
    from coview.exceptions import DataFileError

    try:
        corpus = load_mfeat()
        return corpus.views, corpus.target, "mfeat"
    except DataFileError:
        corpus = make_blobs_views(2000, n_views=6, n_clusters=10, n_features=60, std=6.0, random_state=0)
        return corpus.views, corpus.target, "blobs"


def sphere(quick: str, folder: str) -> dict[str, Any]:
    """Same data, same number of starts, each with its own default stopping rule."""
    from coview import SphericalKMeans, Views

    X = next(text_parts("newsgroups", np.float64))
    X = X[: 5000 if quick == "1" else X.shape[0]]
    rows, k = normalize(X), 20
    SphericalKMeans(k, n_init=1, max_iter=2, n_jobs=1, random_state=0).fit(X[:500])
    found: dict[str, Any] = {"rows": X.shape[0]}
    models: dict[str, Any] = {}

    def ours(seed: int) -> None:
        models["ours"] = SphericalKMeans(k, n_init=1, max_iter=300, tol=1e-6, n_jobs=1, random_state=seed).fit(X)

    def theirs(seed: int) -> None:
        models["sklearn"] = KMeans(k, n_init=1, max_iter=300, tol=0, algorithm="lloyd", random_state=seed).fit(rows)

    found["ours"] = [processor_seconds(lambda s=s: ours(s)) for s in range(REPEATS)]
    found["sklearn"] = [processor_seconds(lambda s=s: theirs(s)) for s in range(REPEATS)]
    centres = normalize(models["sklearn"].cluster_centers_)
    found["cosine_ours"] = models["ours"].history_["objective"][-1] / X.shape[0]
    found["cosine_sklearn"] = float((rows @ centres.T).max(axis=1).mean())
    found["sweeps"] = [models["ours"].n_iter_, models["sklearn"].n_iter_]
    if folder:
        small = X[:1000]
        kept = np.flatnonzero(np.diff(small.tocsc().indptr) > 3)
        small = small[:, kept]
        parts = [np.asarray(small[:, ::2].todense()), np.asarray(small[:, 1::2].todense())]
        views = Views(even=small[:, ::2], odd=small[:, 1::2])
        peer = peers(folder).MultiviewSphericalKMeans
        found["small"] = [
            processor_seconds(lambda s=s: SphericalKMeans(k, n_init=1, n_jobs=1, random_state=s).fit(views))
            for s in range(REPEATS)
        ]
        found["mvlearn"] = [
            processor_seconds(lambda s=s: peer(k, n_init=1, random_state=s).fit(parts)) for s in range(REPEATS)
        ]
        found["small_shape"] = list(small.shape)
    return found


def spectral(quick: str, folder: str) -> dict[str, Any]:
    from coview import CoRegularizedSpectralClustering, normalized_mutual_info

    X, y, name = digits()
    k = len(np.unique(y))
    found: dict[str, Any] = {"data": name, "rows": len(X), "lines": []}

    def line(what: str, fit: Any, repeats: int = REPEATS) -> None:
        times, scores = [], []
        for seed in range(repeats):
            labels: list[Any] = []
            times.append(processor_seconds(lambda s=seed, out=labels: out.append(fit(s))))
            scores.append(normalized_mutual_info(y, labels[0]))
        found["lines"].append([what, times, float(np.mean(scores))])

    for form in ("centroid", "pairwise"):
        line(
            f"coview, {form}",
            lambda s, form=form: CoRegularizedSpectralClustering(k, form=form, random_state=s).fit_predict(X),
        )
    if folder:
        peer = peers(folder).MultiviewCoRegSpectralClustering
        parts = list(X.values())
        for affinity in ("nearest_neighbors",) if quick == "1" else ("nearest_neighbors", "rbf"):
            line(
                f"mvlearn 0.5, {affinity}",
                lambda s, a=affinity: peer(k, affinity=a, random_state=s).fit_predict(parts),
                repeats=1,  # a minute each
            )
    return found


def large(quick: str, folder: str) -> dict[str, Any]:
    """Many objects: nothing of objects x objects may be built."""
    import resource

    from coview import CoRegularizedSpectralClustering, make_blobs_views

    n = 5000 if quick == "1" else 20_000
    X = make_blobs_views(n, n_views=2, n_clusters=10, n_features=30, std=4.0, random_state=0).views
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spent = processor_seconds(lambda: CoRegularizedSpectralClustering(10, random_state=0).fit(X))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"rows": n, "seconds": spent, "more_mib": (after - before) / 1024}


def main(quick: bool, folder: str) -> None:
    here, flag = str(Path(__file__)), "1" if quick else "0"
    ball, cut, many = (in_process(here, job, flag, folder, threads=1) for job in ("sphere", "spectral", "large"))
    base = median(ball["sklearn"])
    ours = median(ball["ours"])
    rows = [
        ["spherical k-means, coview", ball["rows"], ours, f"{ball['cosine_ours']:.4f}", f"{base / ours:.1f}"],
        ["k-means on unit rows, scikit-learn", ball["rows"], base, f"{ball['cosine_sklearn']:.4f}", "1"],
    ]
    if "mvlearn" in ball:
        n, slow, fast = ball["small_shape"][0], median(ball["mvlearn"]), median(ball["small"])
        rows += [
            ["spherical k-means, coview, two sparse views", n, fast, "", f"{slow / fast:.1f}"],
            ["spherical k-means, mvlearn 0.5, the same, dense", n, slow, "", "1"],
        ]
    peer = min((median(times) for what, times, _ in cut["lines"] if "mvlearn" in what), default=float("nan"))
    for what, times, score in cut["lines"]:
        rows.append(
            [f"co-regularised, {what}", cut["rows"], median(times), f"{score:.3f}", f"{peer / median(times):.1f}"]
        )
    rows.append(["co-regularised, coview, centroid, two views", many["rows"], many["seconds"], "", ""])
    notes = [
        f"Processor seconds, medians of {REPEATS} seeds (mvlearn's spectral: one), one thread. "
        "Quality is the mean cosine with the own centre "
        f"for k-means (20 clusters, one start, {ball['sweeps'][0]} and {ball['sweeps'][1]} sweeps), and mutual "
        f"information with the classes for co-regularised clustering ({cut['data']}, six views). 'Faster' compares "
        "with the peer below; for co-regularised clustering with the quicker of mvlearn's two graphs.",
        f"The last line took {many['more_mib']:.0f} MiB more than the data.",
    ]
    head = ["what", "objects", "seconds", "quality", "times faster"]
    write("clustering_quick" if quick else "clustering", "Clustering", head, rows, notes)


if __name__ == "__main__":
    jobs = {"sphere": sphere, "spectral": spectral, "large": large}
    if len(sys.argv) > 1 and sys.argv[1] in jobs:
        print(json.dumps(jobs[sys.argv[1]](*sys.argv[2:4])))
    else:
        where = sys.argv[sys.argv.index("--peers") + 1] if "--peers" in sys.argv else ""
        main("--quick" in sys.argv, where)
