"""Topics that people read: coherence beside LDA and NMF, and what 100,000 documents take after the fit.

python benchmarks/bench_topics.py               tables under results/
python benchmarks/bench_topics.py --coherence   without the large table

Coherence (NPMI, c_v) is that of the ten first words of each topic over whole documents of the same corpus. LinkPLSA
sees words and a second view (links, or the names in code), the others see the words. tomotopy is left out where it is
not installed.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from bench_auto_classifier import SETS
from common import part, write_parts
from corpora import load_citeseer, load_cora
from scipy import sparse
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer

from coview import EachView, LinkPLSA, TableViews, TfidfViews, Views, inspect, make_report, name_groups
from coview.datasets import load_python_packages
from coview.inspection.features import Features, rank_features
from coview.metrics import topic_coherence, topic_diversity

K, SEEDS = 20, (0, 1, 2)
CORPORA = {"Python packages": load_python_packages, "Cora": load_cora, "CiteSeer": load_citeseer}
DOCUMENTS, WORDS, VOCABULARY, TOPICS = 100_000, 60, 17_000, 50


# -- coherence


def link_plsa(views: Views, words: Any, seed: int) -> np.ndarray:
    return LinkPLSA(K, init="nmf", random_state=seed).fit(views).topic_feature_["words"]


def over_background(views: Views, words: Any, seed: int) -> np.ndarray:
    return LinkPLSA(K, background=0.9, random_state=seed).fit(views).topic_feature_["words"]


def of_presence(views: Views, words: Any, seed: int) -> np.ndarray:
    return over_background(EachView(Binarizer()).fit_transform(views), words, seed)


def from_random(views: Views, words: Any, seed: int) -> np.ndarray:
    return LinkPLSA(K, random_state=seed).fit(views).topic_feature_["words"]


def weighted(views: Views, words: Any, seed: int) -> np.ndarray:
    model = LinkPLSA(K, init="nmf", random_state=seed).fit(TfidfViews().fit_transform(views))
    return model.topic_feature_["words"]


def lda(views: Views, words: Any, seed: int) -> np.ndarray:
    return LatentDirichletAllocation(K, random_state=seed).fit(words).components_


def nmf(views: Views, words: Any, seed: int) -> np.ndarray:
    settings = {"solver": "mu", "beta_loss": "kullback-leibler", "init": "nndsvda", "max_iter": 200}
    return NMF(K, random_state=seed, **settings).fit(words).components_


def nmf_weighted(views: Views, words: Any, seed: int) -> np.ndarray:
    return (
        NMF(K, init="nndsvd", random_state=seed, max_iter=200).fit(TfidfTransformer().fit_transform(words)).components_
    )


def tomotopy_lda(views: Views, words: Any, seed: int) -> np.ndarray:
    import tomotopy

    model = tomotopy.LDAModel(k=K, seed=seed + 1)
    for first, last in zip(words.indptr, words.indptr[1:]):
        bag = zip(words.indices[first:last], words.data[first:last])
        document = [str(word) for word, count in bag for _ in range(int(count))]
        if document:
            model.add_doc(document)
    model.train(500, workers=1)
    topics = np.zeros((K, words.shape[1]))
    places = [int(word) for word in model.used_vocabs]
    for k in range(K):
        topics[k, places] = model.get_topic_word_dist(k)
    return topics


METHODS: dict[str, Callable[[Views, Any, int], np.ndarray]] = {
    "LinkPLSA, two views, background=0.9, counts as 0 and 1": of_presence,
    "LinkPLSA, two views, background=0.9": over_background,
    'LinkPLSA, two views, init="nmf"': link_plsa,
    "LinkPLSA, two views": from_random,
    'LinkPLSA, two views, tf-idf, init="nmf"': weighted,
    "LatentDirichletAllocation": lda,
    "tomotopy LDAModel": tomotopy_lda,
    "NMF of counts (KL)": nmf,
    "NMF of tf-idf": nmf_weighted,
}


def distinctive(topics: np.ndarray, n: int = 10) -> np.ndarray:
    """Weights of the features that set a topic apart, as reports show them: n of each topic, the first the largest."""
    shown = np.zeros_like(topics)
    best = rank_features(Features(topics / topics.sum(axis=1, keepdims=True), probabilities=True), n)
    for row, order in zip(shown, best):
        row[order] = np.arange(len(order), 0, -1)
    return shown


def coherences() -> dict[str, Any]:
    rows = []
    methods = {name: fit for name, fit in METHODS.items() if "tomotopy" not in name or find_spec("tomotopy")}
    for corpus, load in CORPORA.items():
        views = load().views
        words = sparse.csr_matrix(views["words"]).astype(np.float64)
        for name, fit in methods.items():
            found, begun = [], time.process_time()
            topics = [fit(views, words, seed) for seed in SEEDS]
            seconds = (time.process_time() - begun) / len(SEEDS)
            for weights in topics:
                npmi, c_v = (topic_coherence(weights, words, measure=measure).mean() for measure in ("npmi", "c_v"))
                found.append((npmi, c_v, topic_coherence(distinctive(weights), words).mean(), topic_diversity(weights)))
            rows.append([corpus, name, *np.round(np.mean(found, axis=0), 3).tolist(), round(seconds, 1)])
            print(rows[-1], flush=True)
    notes = [
        f"K = {K}, means over the seeds {list(SEEDS)}; all methods with their defaults but for what is named.",
        "NPMI, distinctive: of the ten words that set a topic apart (weight x log of weight over mean weight), as the "
        "report and the explorer show them, for all methods alike. Diversity: share of different words among the "
        "first 25.",
    ]
    if not find_spec("tomotopy"):
        notes.append("tomotopy is not installed here, and was left out.")
    head = ["corpus", "method", "NPMI", "c_v", "NPMI, distinctive", "diversity", "seconds of the processor"]
    return part("Coherence of topics at equal K", head, rows, notes)


def others() -> dict[str, Any]:
    """Coherence on collections that nothing was chosen on; the first of their views are the words."""
    names = {
        "NewsGv2": "view1",
        "Wikipedia, words and images": "words",
        "Debian packages, 10,000": "words",
    }
    methods = [of_presence, over_background, link_plsa, from_random, nmf_weighted]
    called = {fit: name for name, fit in METHODS.items()}
    rows = []
    for corpus, view in names.items():
        given, _ = SETS[corpus]()
        views = Views({"words" if name == view else name: matrix for name, matrix in given.items()})
        words = sparse.csr_matrix(views["words"]).astype(np.float64)
        for fit in methods:
            topics = [fit(views, words, seed) for seed in SEEDS]
            found = [
                (
                    topic_coherence(each, words).mean(),
                    topic_coherence(each, words, measure="c_v").mean(),
                    topic_diversity(each),
                )
                for each in topics
            ]
            rows.append([corpus, called[fit].replace(", two views", ""), *np.round(np.mean(found, axis=0), 3).tolist()])
            print(rows[-1], flush=True)
    notes = [
        f"K = {K}, means over the seeds {list(SEEDS)}; the share of the background was chosen on the collections above."
    ]
    return part("Coherence on other collections", ["corpus", "method", "NPMI", "c_v", "diversity"], rows, notes)


def groups() -> dict[str, Any]:
    """Whether a background changes the groups: as many topics as classes, objects in their largest one."""
    rows = []
    for corpus, load in CORPORA.items():
        data = load()
        k = len(data.target_names)
        for share in (0.0, 0.9):
            model = LinkPLSA(k, init="nmf", background=share, random_state=0).fit(data.views)
            found = normalized_mutual_info_score(data.target, model.memberships_.argmax(axis=1))
            rows.append([corpus, k, share, round(float(found), 3)])
            print(rows[-1], flush=True)
    return part(
        "Classes found with a background", ["corpus", "topics", "background", "NMI"], rows, ['init="nmf", seed 0.']
    )


# -- a large table after the fit


def table(n: int) -> dict[str, Any]:
    """Texts of a made corpus with dates and venues that go with the topics."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    names = np.array(["".join(letters[[j // 676, j // 26 % 26, j % 26, j % 7]]) + "er" for j in range(VOCABULARY)])
    topics = rng.dirichlet(np.full(VOCABULARY, 0.01), size=TOPICS)
    ends = np.cumsum(topics, axis=1)
    main = rng.integers(TOPICS, size=n)
    other = rng.integers(TOPICS, size=n)
    texts = []
    for d in range(n):
        here = np.searchsorted(ends[main[d]], rng.random(WORDS - 15))
        there = np.searchsorted(ends[other[d]], rng.random(15))
        texts.append(" ".join(names[np.minimum(np.concatenate([here, there]), VOCABULARY - 1)]))
    days = np.datetime64("2020-01-01") + np.minimum(rng.integers(1500, size=n) + 5 * main, 1800)
    return {"text": texts, "date": days.astype(str).tolist(), "venue": [f"venue {k % 12}" for k in (main + other) // 2]}


def large() -> dict[str, Any]:
    X = table(DOCUMENTS)
    rows: list[list[Any]] = []

    def timed(what: str, call: Callable[[], Any]) -> Any:
        clock, work = time.perf_counter(), time.process_time()
        answer = call()
        rows.append([what, time.perf_counter() - clock, time.process_time() - work])
        print(rows[-1], flush=True)
        return answer

    model = make_pipeline(TableViews({"words": "text"}), LinkPLSA(TOPICS, random_state=0))
    timed("fit, texts to words included", lambda: model.fit(X))
    timed("names", lambda: name_groups(model, X))
    timed("report: groups, quality, prevalence by both", lambda: make_report(model, X, by=["date", "venue"]).html)
    rows.append(["names and report together", *(rows[-1][i] + rows[-2][i] for i in (1, 2))])
    timed("quality: NPMI, c_v, diversity, exclusivity", lambda: inspect(model).quality(X))
    timed("prevalence by date, with intervals", lambda: inspect(model).prevalence(X, by="date"))
    timed("prevalence by venue, with intervals", lambda: inspect(model).prevalence(X, by="venue"))
    timed("hierarchy", lambda: inspect(model).hierarchy())
    notes = [
        f"{DOCUMENTS:,} made texts of {WORDS} words, {VOCABULARY:,} words, {TOPICS} topics; two cores.",
        "Each number asked for by itself reads the raw texts again and places all of them; the report does so once.",
    ]
    return part("After the fit: 100,000 documents", ["what", "seconds", "seconds of the processor"], rows, notes)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tables = [coherences(), others(), groups(), *([] if "--coherence" in sys.argv else [large()])]
    write_parts("topics", tables)
