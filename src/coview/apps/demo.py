"""The demonstration: topics in the words and the code of the Python packages that are installed anyway."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

__all__ = ["run_demo", "show_demo"]


def run_demo(n_topics: int, seed: int, *, quiet: bool = False) -> dict[str, Any]:
    """Fit PLSA on `load_python_packages` and return what `show_demo` prints."""
    from coview import PLSA, load_python_packages, normalized_mutual_info

    if not quiet:
        print("Reading the Python packages on this machine (parsed, never imported) ...", file=sys.stderr)
    corpus = load_python_packages()
    views, target = corpus.views, corpus.target
    clock = time.perf_counter()
    model = PLSA(n_topics, random_state=seed, verbose=0 if quiet else 1).fit(views)
    seconds = time.perf_counter() - clock
    words, code = (model.top_features(view, 6) for view in ("words", "code"))
    main_topic = model.doc_topic_.argmax(axis=1)
    alone = {}
    for view in views.names:
        part = PLSA(n_topics, random_state=seed).fit(views.select(view))
        alone[view] = float(normalized_mutual_info(target, part.doc_topic_.argmax(axis=1)))
    topics = []
    for topic in np.argsort(-np.bincount(main_topic, minlength=n_topics), kind="stable"):
        members = main_topic == topic
        counts = np.bincount(target[members], minlength=len(corpus.target_names))
        topics.append(
            {
                "topic": int(topic),
                "objects": int(members.sum()),
                "package": str(corpus.target_names[counts.argmax()]) if members.any() else "",
                "share": float(counts.max() / max(1, counts.sum())),
                "words": [name for name, _ in words[topic]],
                "code": [name for name, _ in code[topic]],
            }
        )
    return {
        "objects": len(views),
        "labels": len(corpus.target_names),
        "views": views.n_features,
        "versions": dict(corpus.versions),
        "sweeps": model.n_iter_,
        "seconds": round(seconds, 3),
        "log_likelihood": [model.history_["objective"][0], model.history_["objective"][-1]],
        "agreement_with_packages": {
            "both views": float(normalized_mutual_info(target, main_topic)),
            **{f"{view} alone": value for view, value in alone.items()},
        },
        "topics": topics,
    }


def show_demo(found: dict[str, Any], console: Any) -> None:
    """Print the demonstration as a table."""
    from rich.table import Table

    widths = ", ".join(f"{width} {view} features" for view, width in found["views"].items())
    console.print(
        f"\n[bold]{found['objects']} functions and classes[/bold] of {found['labels']} packages, two views of each: "
        f"{widths}. Nobody told PLSA which package is which.\n"
    )
    table = Table(title=f"{len(found['topics'])} topics, largest first")
    for heading, style in (
        ("objects", "dim"),
        ("mostly", "bold"),
        ("words of the docstring", ""),
        ("names in the code", "cyan"),
    ):
        table.add_column(heading, style=style, justify="right" if heading == "objects" else "left")
    for topic in found["topics"]:
        mostly = f"{topic['package']} {100 * topic['share']:.0f} %" if topic["objects"] else "-"
        table.add_row(str(topic["objects"]), mostly, " ".join(topic["words"]), " ".join(topic["code"]))
    console.print(table)
    start, end = found["log_likelihood"]
    scores = ", ".join(f"{name} {value:.2f}" for name, value in found["agreement_with_packages"].items())
    console.print(
        f"\n{found['sweeps']} sweeps in {found['seconds']:.2f} s; log-likelihood {start:,.0f} -> {end:,.0f}.\n"
        f"Agreement of topics with packages (normalised mutual information): {scores}.\n"
        "Next: [bold]python -c 'import coview; help(coview.PLSA)'[/bold], or see examples/.\n"
    )
