"""Finding the other view of a package: `CrossModalRetriever` beside BM25 and tf-idf, on the packages that apt knows.

python benchmarks/bench_text_search.py [--objects=10000]

Eight of ten objects teach; the views of the others are looked for among all objects. bm25s is a peer where it is
installed (pip install bm25s).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import median, write
from corpora import load_debian_packages
from sklearn.feature_extraction.text import TfidfVectorizer

from coview import CrossModalRetriever, TableViews
from coview.exceptions import DataFileError

COLUMNS = {"words": "description", "title": "title", "deps": "depends"}
PAIRS = [("words", "title"), ("title", "words"), ("words", "deps"), ("deps", "words")]
K, DRAWS = 10, (0, 1)

Ranker = Callable[[list[str], list[str], list[str]], np.ndarray]  # texts that teach, queries, objects: rows of the best


def tfidf(known: list[str], queries: list[str], objects: list[str]) -> np.ndarray:
    """scikit-learn's tf-idf on the vocabulary of both views."""
    vectorizer = TfidfVectorizer(sublinear_tf=True).fit(known)
    rows, columns = vectorizer.transform(queries), vectorizer.transform(objects)
    return np.vstack([_best((rows[i : i + 500] @ columns.T).toarray()) for i in range(0, len(queries), 500)])


def bm25(known: list[str], queries: list[str], objects: list[str]) -> np.ndarray:
    """bm25s with its defaults and its English stop words."""
    import bm25s

    index = bm25s.BM25()
    index.index(bm25s.tokenize(objects, stopwords="en", show_progress=False), show_progress=False)
    tokens = bm25s.tokenize(queries, stopwords="en", show_progress=False)
    return index.retrieve(tokens, k=K, show_progress=False)[0]


def _best(scores: np.ndarray) -> np.ndarray:
    return np.argsort(-scores, axis=1, kind="stable")[:, :K]


def recalls(n_objects: int, draw: int) -> dict[str, list[float]]:
    """Recall at 10 of each way, by pair of views, and seconds of the processor for all queries of the first pair."""
    table = load_debian_packages(n_objects, random_state=draw).table
    order = np.random.default_rng(draw).permutation(n_objects)
    taught, held = np.sort(order[: n_objects * 4 // 5]), np.sort(order[n_objects * 4 // 5 :])
    rows: dict[str, list[float]] = {}
    for name, rank in (("scikit-learn, tf-idf on a shared vocabulary", tfidf), ("bm25s", bm25)):
        try:
            rows[name] = [_recall(rank, table, taught, held, source, target) for source, target in PAIRS]
        except ImportError:
            rows[name] = []
    for name, lexical in (
        ("`CrossModalRetriever(lexical=0)`", 0.0),
        ("`CrossModalRetriever(lexical=1)`", 1.0),
        ("`CrossModalRetriever()`", 0.6),
    ):
        front = TableViews({"words": "description", "title": "title"}, tokens={"deps": "depends"}, id="name")
        begun = time.process_time()
        retriever = CrossModalRetriever(front, lexical=lexical).fit(_rows(table, taught))
        spent = time.process_time() - begun
        retriever.add(_rows(table, held))
        ids = np.array(table["name"])[held]
        rows[name] = []
        for source, target in PAIRS:
            query = {COLUMNS[source]: _rows(table, held)[COLUMNS[source]]}
            hits = retriever.search(query, source, target, K).ids
            rows[name].append(float((hits == ids[:, None]).any(axis=1).mean()))
        rows[name].append(spent)
    return rows


def _recall(rank: Ranker, table: Any, taught: np.ndarray, held: np.ndarray, source: str, target: str) -> float:
    queries, objects = table[COLUMNS[source]], table[COLUMNS[target]]
    known = [text for column in (queries, objects) for text in np.array(column, dtype=object)[taught]]
    best = rank(known, [queries[row] for row in held], objects)
    return float((best == held[:, None]).any(axis=1).mean())


def _rows(table: Any, rows: np.ndarray) -> dict[str, list[str]]:
    return {name: [column[row] for row in rows] for name, column in table.items()}


if __name__ == "__main__":
    n = next((int(word.split("=")[1]) for word in sys.argv[1:] if word.startswith("--objects=")), 10_000)
    n = 2_000 if "--quick" in sys.argv else n
    try:
        draws = [recalls(n, draw) for draw in DRAWS]
    except DataFileError as error:
        sys.exit(f"Skipped: {error}")
    rows: list[list[Any]] = []
    for name in draws[0]:
        values = [one[name] for one in draws]
        if not values[0]:
            rows.append([name, *["not installed"] * len(PAIRS), "-"])
            continue
        means = [f"{np.mean(column):.3f}" for column in zip(*[value[: len(PAIRS)] for value in values])]
        fits = [value[len(PAIRS)] for value in values if len(value) > len(PAIRS)]
        rows.append([name, *means, f"{median(fits):.1f} s" if fits else "-"])
    write(
        "text_search" if n == 10_000 else f"text_search_{n}",
        f"Finding the other view of {n:,} Debian packages: recall at {K}",
        ["what ranks", *(f"{source} to {target}" for source, target in PAIRS), "fit, processor"],
        rows,
        [
            f"Means over {len(DRAWS)} draws of {n:,} packages. A query is one view of a held-out package (a fifth of "
            "them); the other view is looked for among all packages. The lists of apt change from day to day.",
            "The form of the lexical score was chosen on the first draw; nothing was chosen on the second.",
        ],
    )
