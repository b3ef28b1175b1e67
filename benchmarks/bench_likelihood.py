"""Time to a likelihood: PLSA with each acceleration beside scikit-learn's NMF, and held-out perplexity beside LDA.

python benchmarks/bench_likelihood.py                    up to 3 million non-zeros; tables under results/
python benchmarks/bench_likelihood.py --large            30 million non-zeros as well: takes half an hour
python benchmarks/bench_likelihood.py --quick            the smallest data only
python benchmarks/bench_likelihood.py climb DATA K DIR   one climb as JSON (called by the above in its own process)
python benchmarks/bench_likelihood.py completion KIND DATA K DIR    one model's perplexities as JSON
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from bench_plsa import likelihood, nmf
from common import in_process, median, part, per_sweep, start, stored, write_parts
from scipy import sparse

ACCELERATIONS = (None, "momentum")
CONVERGED = 1e-6  # gain of a plain sweep, relative, at which a climb is said to have converged
GAPS = (1e-4, 1e-5)
# sweeps at most, and K
CLIMBS = {"cora": (1000, 20), "newsgroups views": (1000, 20), "newsgroups": (150, 64)}
LARGE = {"large": (150, 64)}
HELD_OUT = {"newsgroups views": 20}
LDA = {  # passes over the data after which held-out perplexity is measured
    "coview PLSA": (10, 20, 40),
    "scikit-learn LDA, batch": (5, 10, 20),
    "scikit-learn LDA, online": (1, 2, 5),
    "gensim LdaModel": (1, 2, 5),
    "tomotopy LDAModel": (25, 50, 100),
}
Climb = list[tuple[float, float]]  # processor's seconds, log-likelihood


def corpus(name: str, folder: str) -> sparse.csr_array:
    """Counts in float32: those of a data set that comes with its views side by side, or text-like ones."""
    if name not in ("cora", "newsgroups views"):
        return stored(name, folder)
    from corpora import load_cora, load_newsgroups_views

    views = load_cora().views.select("words") if name == "cora" else load_newsgroups_views().views
    X = sparse.csr_array(views.hstack()).astype(np.float32)
    return X[np.asarray(X.sum(axis=1)).ravel() > 0]


# -- the same model: time to a log-likelihood


def plsa_climb(X: Any, doc: np.ndarray, topics: np.ndarray, acceleration: str | None, sweeps: int) -> Climb:
    """Seconds and log-likelihoods of a fit, of which the set-up is a part; it ends where sweeps gain little."""
    from coview import PLSA

    seen: Climb = []
    begun = time.process_time()

    def watch(sweep: Any) -> None:
        seen.append((time.process_time() - begun, sweep.objective))

    init = {"memberships": doc, "topic_feature": topics}
    settings = {"acceleration": acceleration, "callbacks": [watch], "n_jobs": 1, "verbose": 0}
    PLSA(doc.shape[1], init=init, max_iter=sweeps, tol=CONVERGED, **settings).fit(X)
    return seen


def nmf_iterates(X: Any, doc: np.ndarray, topics: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Factors W, H of scikit-learn's multiplicative updates, sweep by sweep, made with coview's kernels."""
    from coview.engines.cpu import CpuEngine

    engine = CpuEngine(n_jobs=1)
    handle, tiny = engine.prepare(X), np.finfo(np.float32).tiny
    W = (doc * np.asarray(X.sum(axis=1)).reshape(-1, 1)).astype(np.float32)
    H = np.ascontiguousarray(topics.T)  # features x topics
    while True:
        W = np.maximum(W * (engine.ratio_rows(handle, W, H)[0] / H.sum(axis=0)), tiny)
        H = np.maximum(H * (engine.ratio_features(handle, W, H) / W.sum(axis=0)), tiny)
        yield W, H.T


def nmf_climb(X: Any, doc: np.ndarray, topics: np.ndarray, sweeps: int, seconds: float) -> Climb:
    """Log-likelihoods of NMF's iterates with the seconds that scikit-learn takes for so many sweeps."""
    seen: Climb = []
    gained = np.inf
    for number, (W, H) in enumerate(nmf_iterates(X, doc, topics), start=1):
        if number % 5 == 0 or number < 3:
            value = likelihood(X, W, H)
            gained = (value - seen[-1][1]) / abs(value) / 5 if seen else np.inf
            seen.append((number * seconds, value))
        if number >= sweeps or gained < CONVERGED:
            return seen
    return seen


def climb(name: str, k: int, folder: str, sweeps: int) -> dict[str, Any]:
    """Climbs of all from the same start, on one thread."""
    X = corpus(name, folder)
    doc, topics = start(X, k)
    plsa_climb(X[:100], doc[:100], topics, None, 2)  # compiled kernels from here on
    W, H = nmf(X, doc, topics, 2)
    stepped = nmf_iterates(X, doc, topics)
    next(stepped)
    theirs, ours = likelihood(X, W, H), likelihood(X, *next(stepped))
    if abs(ours - theirs) > 1e-6 * abs(theirs):
        raise RuntimeError(
            f"After two sweeps scikit-learn's NMF has a log-likelihood of {theirs}, its iterates {ours}."
        )
    seconds = median(per_sweep(lambda n: nmf(X, doc, topics, n), 1, 1 if X.nnz > 1e7 else 3))
    found = {str(name): plsa_climb(X, doc, topics, name, sweeps) for name in ACCELERATIONS}
    return {"nnz": X.nnz, "NMF": nmf_climb(X, doc, topics, sweeps, seconds), "per sweep": seconds, **found}


def reached(path: Climb, target: float) -> float | None:
    """Seconds until a log-likelihood."""
    return next((seconds for seconds, value in path if value >= target), None)


# -- other models: held-out perplexity by document completion


def completion(kind: str, name: str, k: int, folder: str) -> list[tuple[float, float]]:
    """Processor's seconds of the training and perplexity of the other halves of new documents, by passes."""
    X = corpus(name, folder)
    rng = np.random.default_rng(0)
    order = rng.permutation(X.shape[0])
    train, test = X[order[: int(0.8 * len(order))]], X[order[int(0.8 * len(order)) :]]
    known = test.copy()
    known.data = rng.binomial(test.data.astype(np.int64), 0.5).astype(np.float32)
    hidden = test - known
    known.eliminate_zeros(), hidden.eliminate_zeros()
    words = np.flatnonzero(np.asarray(train.sum(axis=0)).ravel() > 0)
    train, known, hidden = train[:, words], known[:, words], hidden[:, words]
    _trained(kind, train[:50], known, hidden, k, LDA[kind][0])  # all is loaded and compiled from here on
    return [_trained(kind, train, known, hidden, k, passes) for passes in LDA[kind]]


def _trained(kind: str, train: Any, known: Any, hidden: Any, k: int, passes: int) -> tuple[float, float]:
    train_model, mixtures, topics = _models()[kind]
    begun = time.process_time()
    model = train_model(train, k, passes)
    seconds = time.process_time() - begun
    shares, words = mixtures(model, known), topics(model, train.shape[1])
    hidden = hidden.tocoo()
    # a little of the even distribution for all models alike: words of a topic may have no probability at all
    words = 0.999 * words / words.sum(axis=1, keepdims=True) + 0.001 / words.shape[1]
    chances = np.einsum("ij,ij->i", shares[hidden.row], words.T[hidden.col])
    return seconds, float(np.exp(-(hidden.data * np.log(chances)).sum() / hidden.data.sum()))


def _models() -> dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]]:
    def ours(X: Any, k: int, passes: int) -> Any:
        from coview import PLSA

        return PLSA(k, max_iter=passes, tol=0, n_jobs=1, random_state=0, verbose=0).fit(X)

    def sklearn_lda(method: str) -> Callable[..., Any]:
        def train(X: Any, k: int, passes: int) -> Any:
            from sklearn.decomposition import LatentDirichletAllocation

            return LatentDirichletAllocation(k, learning_method=method, max_iter=passes, random_state=0).fit(X)

        return train

    def bags(X: Any) -> list[list[tuple[int, int]]]:
        cuts = zip(X.indptr, X.indptr[1:])
        return [[(int(f), int(c)) for f, c in zip(X.indices[a:b], X.data[a:b])] for a, b in cuts]

    def gensim_lda(X: Any, k: int, passes: int) -> Any:
        from gensim.models import LdaModel

        names = {i: str(i) for i in range(X.shape[1])}
        return LdaModel(bags(X), num_topics=k, passes=passes, random_state=0, id2word=names)

    def gensim_mixtures(model: Any, X: Any) -> np.ndarray:
        gamma, _ = model.inference(bags(X))
        return gamma / gamma.sum(axis=1, keepdims=True)

    def tokens(X: Any) -> list[list[str]]:
        return [[str(f) for f, c in bag for _ in range(c)] for bag in bags(X)]

    def tomotopy_lda(X: Any, k: int, passes: int) -> Any:
        import tomotopy

        model = tomotopy.LDAModel(k=k, seed=0)
        for words in tokens(X):
            model.add_doc(words)
        model.train(passes, workers=1, parallel=tomotopy.ParallelScheme.NONE)
        return model

    def tomotopy_mixtures(model: Any, X: Any) -> np.ndarray:
        documents = [model.make_doc(words) if words else None for words in tokens(X)]
        even = np.full(model.k, 1 / model.k)
        model.infer([document for document in documents if document is not None], workers=1)
        return np.array([even if document is None else document.get_topic_dist() for document in documents])

    def tomotopy_topics(model: Any, width: int) -> np.ndarray:
        topics = np.zeros((model.k, width))
        places = [int(word) for word in model.used_vocabs]
        for k in range(model.k):
            topics[k, places] = model.get_topic_word_dist(k)
        return topics

    def transformed(model: Any, X: Any) -> np.ndarray:
        return model.transform(X)

    return {
        "coview PLSA": (ours, transformed, lambda model, width: model.topic_feature_["x"]),
        "scikit-learn LDA, batch": (sklearn_lda("batch"), transformed, lambda model, width: model.components_),
        "scikit-learn LDA, online": (sklearn_lda("online"), transformed, lambda model, width: model.components_),
        "gensim LdaModel": (gensim_lda, gensim_mixtures, lambda model, width: model.get_topics()),
        "tomotopy LDAModel": (tomotopy_lda, tomotopy_mixtures, tomotopy_topics),
    }


# -- tables


def climbs(here: str, folder: str, corpora: dict[str, tuple[int, int]]) -> dict[str, Any]:
    rows: list[list[Any]] = []
    notes = [
        "Processor's seconds of one thread from the same start. Converged: the lower of where NMF and plain sweeps end "
        f"(a sweep gains less than {CONVERGED:g}, or the number of sweeps given). Ratio = NMF's time / ours.",
        "NMF's log-likelihoods are those of its iterates made with coview's kernels (equal to scikit-learn's after two "
        "sweeps, which is checked), its times the number of sweeps x scikit-learn's measured seconds per sweep.",
    ]
    for name, (sweeps, k) in corpora.items():
        found = in_process(here, "climb", name, str(k), folder, str(sweeps))
        ends = {method: found[method][-1][1] for method in (*map(str, ACCELERATIONS), "NMF")}
        converged = min(ends["None"], ends["NMF"])
        for gap in GAPS:
            target = converged - gap * abs(converged)
            theirs = reached(found["NMF"], target)
            for method in map(str, ACCELERATIONS):
                ours = reached(found[method], target)
                ratio = theirs / ours if ours and theirs else "-"
                rows.append([name, found["nnz"], k, method, f"{gap:g}", ours or "-", theirs or "-", ratio])
        told = ", ".join(f"{(end - converged) / abs(converged):+.1e} {method}" for method, end in ends.items())
        notes.append(
            f"{name}, K = {k}: at most {sweeps} sweeps; NMF takes {found['per sweep']:.3g} s a sweep. Where each "
            f"ends, relative to the converged (higher is better): {told}."
        )
        print(notes[-1], flush=True)
    head = ["data", "non-zeros", "K", "acceleration", "within", "coview PLSA, s", "NMF mu/KL, s", "ratio"]
    return part("Time to a likelihood: PLSA beside scikit-learn's NMF, one thread, same start", head, rows, notes)


def perplexities(here: str, folder: str) -> dict[str, Any]:
    rows: list[list[Any]] = []
    notes = [
        "Document completion: 80 % of the documents are trained on; mixtures of the others come from a random half of "
        "their tokens, the perplexity is that of the other half. Every topic gets 0.1 % of the even distribution.",
        "Models differ: LDA has priors, PLSA has none and ends by memorizing its documents when sweeps go on. Each "
        "infers mixtures in its own way, tomotopy by one Gibbs sample.",
    ]
    absent = [kind for kind in ("gensim LdaModel", "tomotopy LDAModel") if find_spec(kind.split()[0]) is None]
    notes += [f"{kind} is not installed here, and was left out." for kind in absent]
    for name, k in HELD_OUT.items():
        for kind, passes in LDA.items():
            if kind in absent:
                continue
            found = in_process(here, "completion", kind, name, str(k), folder)
            for number, (seconds, perplexity) in zip(passes, found["points"]):
                rows.append([name, k, kind, number, seconds, round(perplexity)])
                print(rows[-1], flush=True)
    head = ["data", "K", "model", "passes", "training, s", "held-out perplexity"]
    return part("Held-out perplexity by time, one thread", head, rows, notes)


def main(quick: bool, large: bool) -> None:
    here = str(Path(__file__))
    corpora = {"cora": CLIMBS["cora"]} if quick else {**CLIMBS, **(LARGE if large else {})}
    name = "likelihood_quick" if quick else "likelihood"
    with tempfile.TemporaryDirectory() as folder:
        tables = [climbs(here, folder, corpora)]
        write_parts(name, tables)  # before peers are asked, one of which may fail
        tables.append(perplexities(here, folder))
    write_parts(name, tables)


if __name__ == "__main__":
    if sys.argv[1:2] == ["climb"]:
        print(json.dumps(climb(sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))))
    elif sys.argv[1:2] == ["completion"]:
        print(json.dumps({"points": completion(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])}))
    else:
        main("--quick" in sys.argv, "--large" in sys.argv)
