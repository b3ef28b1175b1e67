"""The demonstration: what two views of the installed Python packages say together that neither says alone.

Four acts on `load_python_packages`: clusters without labels, classes from one label each, code found with plain words,
and a report to keep.
"""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.options import Json
from coview.utils.messages import printable
from coview.utils.progress import print_line, progress, tell

__all__ = ["QUERIES", "demo", "run_demo"]

QUERIES = (
    "scale features to zero mean",
    "roots of a polynomial",
    "run a coroutine until it is done",
    "read a matlab file",
    "random forest of decision trees",
)
_SAMPLES = 5  # of one label per package


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("coview-demo"),
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    as_json: Json = False,
) -> None:
    """Cluster, classify and search the Python packages on this machine by two views (offline, under a minute)."""
    with progress(verbose=0 if as_json else None):
        results = run_demo(out, seed)
    print(json.dumps(results) if as_json else "\n".join(map(printable, _format_results(results))))


def run_demo(out: Path, seed: int = 0) -> dict[str, Any]:
    """Run the demonstration and return what it found; the report goes to ``out/report.html``."""
    from coview import inspect
    from coview.datasets import load_python_packages
    from coview.web.demo import demo_retriever

    begun = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)  # refuses what is no folder before the work
    print_line("Reading the Python packages on this machine (parsed, never imported)")
    corpus = load_python_packages()
    tell("clustering them without labels")
    clustering, model = _cluster(corpus, seed)
    tell("learning the packages from one label each")
    few, n_labels = _classify(corpus, seed)
    tell("finding code with plain words")
    retriever = demo_retriever(quiet=True)
    queries = {query: [str(hit) for hit, _ in retriever.search(query, "words", "code", 3)[0]] for query in QUERIES}
    tell("writing the report")
    model.report(corpus.views, corpus.target_names[corpus.target]).save(out / "report.html")
    fitted = inspect(model)
    return {
        "objects": len(corpus.views),
        "labels": len(corpus.target_names),
        "views": corpus.views.n_features,
        "clustering_nmi": clustering,
        "clusters": dict(zip(fitted.group_names, fitted.group_sizes)),
        "few_labels_accuracy": few,
        "labeled_objects": n_labels,
        "queries": queries,
        "report": str(out / "report.html"),
        "seconds": round(time.perf_counter() - begun, 1),
    }


def _weight(corpus: Any) -> tuple[Any, dict[str, Any]]:
    """Weighted views, and the matrices that a method for one view is given: of each view, and of both side by side."""
    from sklearn.pipeline import make_pipeline

    from coview import TfidfViews, UnitRows

    weighted = make_pipeline(TfidfViews(sublinear_tf=True), UnitRows()).fit_transform(corpus.views)
    return weighted, {
        **{f"{name} alone": weighted[name] for name in corpus.views.names},
        "concatenated": weighted.hstack(),
    }


def _cluster(corpus: Any, seed: int) -> tuple[dict[str, float], Any]:
    """Normalized mutual information of clusters and packages, by method; and the model of both views."""
    from sklearn.cluster import KMeans

    from coview import MultiViewPLSA
    from coview.metrics import normalized_mutual_info

    n_clusters = len(corpus.target_names)
    model = MultiViewPLSA(n_clusters, random_state=seed).fit(corpus.views)
    found = {
        f"{name}, k-means": KMeans(n_clusters, n_init=3, random_state=seed).fit_predict(matrix)
        for name, matrix in _weight(corpus)[1].items()
    }
    found["both views, MultiViewPLSA"] = model.labels_
    return {name: float(normalized_mutual_info(corpus.target, labels)) for name, labels in found.items()}, model


def _classify(corpus: Any, seed: int) -> tuple[dict[str, float], int]:
    """Accuracy from one label a package, over the objects of files without a labeled one; mean of some samples."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    from coview import MultiViewPLSAClassifier, SeededKMeansClassifier

    target = corpus.target
    weighted, single = _weight(corpus)
    models: dict[str, tuple[Any, Any]] = {
        "both views, MultiViewPLSAClassifier": (MultiViewPLSAClassifier(random_state=seed), corpus.views),
        "both views, SeededKMeansClassifier": (SeededKMeansClassifier(random_state=seed), weighted),
    }
    scores: dict[str, list[float]] = {}
    for sample in range(_SAMPLES):
        rng = np.random.default_rng((seed, sample))
        chosen = np.array([rng.choice(np.flatnonzero(target == k)) for k in np.unique(target)])
        elsewhere = ~np.isin(corpus.groups, corpus.groups[chosen])
        partly = np.full(len(target), -1)
        partly[chosen] = target[chosen]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # scikit-learn wonders at one object a class
            found = {
                f"{name}, logistic regression": LogisticRegression(C=100, max_iter=300)
                .fit(matrix[chosen], target[chosen])
                .predict(matrix)
                for name, matrix in single.items()
            }
            found |= {name: model.fit(data, partly).predict(data) for name, (model, data) in models.items()}
        for name, labels in found.items():
            scores.setdefault(name, []).append(float((labels == target)[elsewhere].mean()))
    return {name: float(np.mean(values)) for name, values in scores.items()}, len(chosen)


def _format_results(results: dict[str, Any]) -> list[str]:
    widths = ", ".join(f"{width:,} {view} features" for view, width in results["views"].items())
    share = results["labeled_objects"] / results["objects"]
    return [
        f"{results['objects']:,} functions and classes of {results['labels']} packages, with two views each: {widths}.",
        *("", "Clusters without labels: agreement with the packages (NMI)", *_draw_bars(results["clustering_nmi"])),
        *("", "The clusters, with the number of objects"),
        *(f"  {name} ({size:,})" for name, size in results["clusters"].items()),
        *("", f"Packages from one label each ({share:.1%} labeled): accuracy in files without a label"),
        *_draw_bars(results["few_labels_accuracy"]),
        *("", "Code found with plain words"),
        *(f"  {query}: {', '.join(hits)}" for query, hits in results["queries"].items()),
        *("", f"Done in {results['seconds']:.0f} s. The report of the clustering: {results['report']}"),
        'Next: coview search "cubic spline" or coview fit --help.',
    ]


def _draw_bars(scores: dict[str, float]) -> list[str]:
    width = max(map(len, scores))
    return [f"  {name:{width}}  {'█' * round(30 * score):30}  {score:.3f}" for name, score in scores.items()]
