"""The demonstration: what two views of the installed Python packages say together that neither says alone.

Four acts on `load_python_packages`: clusters without labels, classes from one label each, code found with plain words,
and a report to keep.
"""

from __future__ import annotations

import json
import time
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
    from coview import MultiViewPLSA, inspect, make_report
    from coview.datasets import load_python_packages
    from coview.web.demo import demo_retriever

    begun = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)  # refuses what is no folder before the work
    print_line("Reading the Python packages on this machine (parsed, never imported)")
    corpus = load_python_packages()
    tell("clustering them without labels")
    clustering = _compare(corpus, "clustering", "KMeans", "MultiViewPLSA", n_repeats=1, random_state=seed)
    tell("learning the packages from one label each")
    settings = {"groups": corpus.groups, "label_share": 1e-9, "random_state": seed}  # one label of each package
    few = _compare(corpus, "few_labels", "LogisticRegression", "MultiViewPLSAClassifier", **settings)
    tell("finding code with plain words")
    retriever = demo_retriever(quiet=True)
    queries = {query: [str(hit) for hit, _ in retriever.search(query, "words", "code", 3)[0]] for query in QUERIES}
    tell("writing the report")
    model = MultiViewPLSA(len(corpus.target_names), random_state=seed).fit(corpus.views)
    make_report(model, corpus.views, corpus.target_names[corpus.target]).save(out / "report.html")
    fitted = inspect(model)
    return {
        "objects": len(corpus.views),
        "labels": len(corpus.target_names),
        "views": corpus.views.n_features,
        "clustering_nmi": clustering,
        "clusters": dict(zip(fitted.group_names, fitted.group_sizes)),
        "few_labels_accuracy": few,
        "queries": queries,
        "report": str(out / "report.html"),
        "seconds": round(time.perf_counter() - begun, 1),
    }


def _compare(corpus: Any, task: str, other: str, model: str, **settings: Any) -> dict[str, float]:
    """Scores of a method on each view and on all views side by side, and of a model of both views."""
    from coview import compare

    methods = [*(f"{name} {other}" for name in (*corpus.views.names, "concatenated")), model]
    found = compare(
        corpus.views, corpus.target, task=task, methods=methods, n_jobs=1, time_budget=None, verbose=0, **settings
    )
    scores = {row["method"]: row[found.metrics[0]] for row in found.rows}
    return {name: scores[name] for name in methods}


def _format_results(results: dict[str, Any]) -> list[str]:
    widths = ", ".join(f"{width:,} {view} features" for view, width in results["views"].items())
    return [
        f"{results['objects']:,} functions and classes of {results['labels']} packages, with two views each: {widths}.",
        *("", "Clusters without labels: agreement with the packages (NMI)", *_draw_bars(results["clustering_nmi"])),
        *("", "The clusters, with the number of objects"),
        *(f"  {name} ({size:,})" for name, size in results["clusters"].items()),
        *("", "Packages from one label each: accuracy in files without a label"),
        *_draw_bars(results["few_labels_accuracy"]),
        *("", "Code found with plain words"),
        *(f"  {query}: {', '.join(hits)}" for query, hits in results["queries"].items()),
        *("", f"Done in {results['seconds']:.0f} s. The report of the clustering: {results['report']}"),
        'Next: coview search "cubic spline" or coview fit --help.',
    ]


def _draw_bars(scores: dict[str, float]) -> list[str]:
    width = max(map(len, scores))
    return [f"  {name:{width}}  {'█' * round(30 * score):30}  {score:.3f}" for name, score in scores.items()]
