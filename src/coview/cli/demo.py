"""The demonstration: what two views of the installed Python packages say together that neither says alone.

Four acts on `load_python_packages`: clusters without labels, classes from one label each, code found with plain words,
and a report to keep.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from coview.utils.messages import printable
from coview.utils.progress import tell

__all__ = ["QUERIES", "run_demo", "show_demo"]

QUERIES = (
    "scale features to zero mean",
    "roots of a polynomial",
    "run a coroutine until it is done",
    "read a matlab file",
    "random forest of decision trees",
)
_DRAWS = 5

Say = Callable[[str], Any]


def run_demo(out: Path, seed: int = 0, say: Say | None = None) -> dict[str, Any]:
    """Run the demonstration and return what it found; the report goes to ``out/report.html``."""
    from coview.datasets import load_python_packages

    act = partial(_act, say)
    begun = time.perf_counter()
    with act("Reading the Python packages on this machine (parsed, never imported)"):
        corpus = load_python_packages()
    with act("Clustering them without labels"):
        clustering, model = _clusters(corpus, seed)
    with act("Learning the packages from one label each"):
        few, labels = _few_labels(corpus, seed)
    with act("Finding code with plain words"):
        queries = _searches()
    with act("Writing the report"):
        report = model.report(corpus.views, corpus.target_names[corpus.target])
        report.save(out / "report.html")
    return {
        "objects": len(corpus.views),
        "labels": len(corpus.target_names),
        "views": corpus.views.n_features,
        "versions": dict(corpus.versions),
        "clustering_nmi": clustering,
        "clusters": _described(corpus, model),
        "few_labels_accuracy": few,
        "labeled_objects": labels,
        "draws": _DRAWS,
        "queries": queries,
        "report": str(out / "report.html"),
        "seconds": round(time.perf_counter() - begun, 1),
    }


@contextmanager
def _act(say: Say | None, title: str) -> Iterator[None]:
    """Say what was done and how long it took."""
    begun = time.perf_counter()
    tell(title)
    yield
    if say is not None:
        say(f"{title}: {time.perf_counter() - begun:.1f} s")


def _plain_methods(corpus: Any, method: str) -> tuple[Any, dict[str, Any]]:
    """Weighted views, and the matrices that a method for one view is given: of each view, and of both side by side."""
    from sklearn.pipeline import make_pipeline

    from coview import TfidfViews, UnitRows

    weighted = make_pipeline(TfidfViews(sublinear_tf=True), UnitRows()).fit_transform(corpus.views)
    single = {f"{name} alone, {method}": weighted[name] for name in corpus.views.names}
    return weighted, {**single, f"concatenated, {method}": weighted.hstack()}


def _clusters(corpus: Any, seed: int) -> tuple[dict[str, float], Any]:
    """Normalized mutual information of clusters and packages, by method; and the model of both views."""
    from sklearn.cluster import KMeans

    from coview import MultiViewPLSA
    from coview.metrics import normalized_mutual_info

    views, target = corpus.views, corpus.target
    n_clusters = len(corpus.target_names)
    scores = {}
    for name, matrix in _plain_methods(corpus, "k-means")[1].items():
        labels = KMeans(n_clusters, n_init=3, random_state=seed).fit_predict(matrix)
        scores[name] = float(normalized_mutual_info(target, labels))
    model = MultiViewPLSA(n_clusters, random_state=seed).fit(views)
    scores["both views, MultiViewPLSA"] = float(normalized_mutual_info(target, model.labels_))
    return scores, model


def _few_labels(corpus: Any, seed: int) -> tuple[dict[str, float], int]:
    """Accuracy from one label a package, over the objects of files without a labeled one; mean of some draws."""
    from sklearn.linear_model import LogisticRegression

    from coview import MultiViewPLSAClassifier, SeededKMeansClassifier

    views, target = corpus.views, corpus.target
    weighted, single = _plain_methods(corpus, "logistic regression")
    ours: dict[str, tuple[Any, Any]] = {
        "both views, MultiViewPLSAClassifier": (MultiViewPLSAClassifier(random_state=seed), views),
        "both views, SeededKMeansClassifier": (SeededKMeansClassifier(random_state=seed), weighted),
    }
    scores: dict[str, list[float]] = {name: [] for name in (*single, *ours)}
    for draw in range(_DRAWS):
        rng = np.random.default_rng((seed, draw))
        chosen = np.array([rng.choice(np.flatnonzero(target == k)) for k in np.unique(target)])
        elsewhere = ~np.isin(corpus.groups, corpus.groups[chosen])
        partly = np.full(len(target), -1)
        partly[chosen] = target[chosen]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # scikit-learn wonders at one object a class
            predictions = {
                name: LogisticRegression(C=100, max_iter=300).fit(matrix[chosen], target[chosen]).predict(matrix)
                for name, matrix in single.items()
            }
            predictions.update({name: model.fit(data, partly).predict(data) for name, (model, data) in ours.items()})
        for name, labels in predictions.items():
            scores[name].append(float((labels == target)[elsewhere].mean()))
    return {name: float(np.mean(values)) for name, values in scores.items()}, len(chosen)


def _searches(k: int = 3) -> dict[str, list[str]]:
    from coview.web.demo import demo_retriever

    retriever = demo_retriever(quiet=True)
    return {query: [str(hit) for hit, _ in retriever.search(query, "words", "code", k)[0]] for query in QUERIES}


def _described(corpus: Any, model: Any, n: int = 8) -> list[dict[str, Any]]:
    """The largest clusters: which package they mostly are, and what marks them in each view."""
    from coview import inspect
    from coview.inspection.features import features_by_view, top_features

    inspection = inspect(model)
    marks = {
        view: top_features(features, inspection.feature_names(view), 5)
        for view, features in features_by_view(inspection).items()
    }
    sizes = np.bincount(model.labels_, minlength=len(inspection.groups))
    rows = []
    for cluster in np.argsort(-sizes, kind="stable")[:n]:
        counts = np.bincount(corpus.target[model.labels_ == cluster], minlength=len(corpus.target_names))
        rows.append(
            {
                "objects": int(sizes[cluster]),
                "package": str(corpus.target_names[counts.argmax()]),
                "share": float(counts.max() / max(1, counts.sum())),
                **{view: [name for name, *_ in best[cluster]] for view, best in marks.items()},
            }
        )
    return rows


# -- as people see it


def show_demo(results: dict[str, Any], console: Any) -> None:
    """Print what `run_demo` found."""
    from rich.markup import escape
    from rich.table import Table

    def shown(text: Any) -> str:
        return escape(printable(text, lines=True))

    widths = ", ".join(f"{width:,} {view} features" for view, width in results["views"].items())
    console.print(
        f"\n[bold]{results['objects']:,} functions and classes[/bold] of {results['labels']} packages, "
        f"with two views each: {widths}.\n"
    )
    _bars(console, "Clusters without labels: agreement with the packages (NMI)", results["clustering_nmi"])
    table = Table(title="The largest clusters, found without knowing the packages", title_justify="left")
    table.add_column("objects", justify="right", style="dim")
    table.add_column("mostly", style="bold")
    table.add_column("words of the docstring")
    table.add_column("names in the code", style="cyan")
    for row in results["clusters"]:
        mostly = f"{row['package']} {100 * row['share']:.0f} %"
        table.add_row(str(row["objects"]), shown(mostly), shown(" ".join(row["words"])), shown(" ".join(row["code"])))
    console.print(table)
    share = 100 * results["labeled_objects"] / results["objects"]
    title = f"Packages from one label each ({share:.1f} % labeled): accuracy in files without a label"
    _bars(console, title, results["few_labels_accuracy"])
    table = Table(title="Code found with plain words", title_justify="left", show_header=False)
    table.add_column(ratio=2)
    table.add_column(ratio=3, overflow="fold", style="cyan")
    for query, hits in results["queries"].items():
        table.add_row(shown(query), shown("\n".join(hits)))
    console.print(table)
    console.print(
        f"\nDone in {results['seconds']:.0f} s. The report of the clustering: [bold]{shown(results['report'])}[/bold]\n"
        'Next: [bold]coview search "cubic spline"[/bold] or [bold]coview fit --help[/bold].\n',
        soft_wrap=True,
    )


def _bars(console: Any, title: str, scores: dict[str, float]) -> None:
    """One bar a method, the best one bold."""
    from rich.table import Table

    best = max(scores.values())
    table = Table(title=title, title_justify="left", show_header=False, box=None, pad_edge=False)
    for name, score in scores.items():
        style = "bold green" if score == best else ""
        table.add_row(f"  {name}", "█" * round(30 * score), f"{score:.3f}", style=style)
    console.print(table)
    console.print()
