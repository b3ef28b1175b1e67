"""Clusters and classes of words and vectors: a Gaussian view in the model beside what else can be done with vectors.

python benchmarks/bench_embeddings.py [--objects=500] [--seeds=3] [--part=peers|sphere]

COVIEW_DATA names the folder of the data; COVIEW_MOFA a Python with mofapy2, where this one has none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, median, part, write_parts
from corpora import load_cora, load_mfeat, load_newsgroups_views, load_reuters_multilingual, load_wikipedia_retrieval
from scipy import sparse
from scipy.special import softmax
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import KBinsDiscretizer, normalize

from coview import AutoClustering, EachView, LinkPLSA, MultiViewPLSA, Views

WIDTH, WORDS = 64, 2000  # of made vectors; of words for the methods that need them dense
MOFA = """
import sys, numpy as np
from mofapy2.run.entry_point import entry_point
views = [[part] for part in np.load(sys.argv[1]).values()]
model = entry_point()
model.set_data_options(scale_views=True)
model.set_data_matrix(views, likelihoods=["gaussian"] * len(views))
model.set_model_options(factors=int(sys.argv[3]))
model.set_train_options(iter=100, convergence_mode="fast", seed=1, quiet=True)
model.build(); model.run()
np.save(sys.argv[2], model.model.nodes["Z"].getExpectation())
"""


# -- data


def lsa(words: Any, width: int = WIDTH) -> np.ndarray:
    """Vectors of length 1 by truncated SVD of tf-idf: embeddings that can be made on every machine."""
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(sparse.csr_matrix(words))
    return normalize(TruncatedSVD(width, random_state=0).fit_transform(weighted))


def some(words: Any, target: np.ndarray, n: int) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """Some objects, and their words that are in at least three of them."""
    rows = np.sort(np.random.default_rng(0).choice(len(target), min(n, len(target)), replace=False))
    words = sparse.csr_array(words)[rows]
    return words[:, np.flatnonzero((words > 0).sum(axis=0) >= 3)], np.asarray(target)[rows], rows


def wikipedia(n: int) -> tuple[Views, np.ndarray]:
    data = load_wikipedia_retrieval()
    words, target, _ = some(data.views["words"], data.target, n)
    return Views(words=words, vector=lsa(words)), target


def images(n: int) -> tuple[Views, np.ndarray]:
    data = load_wikipedia_retrieval()
    words, target, rows = some(data.views["words"], data.target, n)
    return Views(words=words, vector=data.views["image"][rows]), target


def reuters(n: int) -> tuple[Views, np.ndarray]:
    """Words of one language, vectors of the translation."""
    data = load_reuters_multilingual()
    first, second = list(data.views.names)[:2]
    words, target, rows = some(data.views[first], data.target, n)
    return Views(words=words, vector=lsa(sparse.csr_array(data.views[second])[rows])), target


def newsgroups(n: int) -> tuple[Views, np.ndarray]:
    data = load_newsgroups_views()
    words, target, rows = some(data.views[data.views.names[0]], data.target, n)
    return Views(words=words, vector=lsa(sparse.csr_array(data.views[data.views.names[-1]])[rows])), target


def cora(n: int) -> tuple[Views, np.ndarray]:
    data = load_cora()
    words, target, _ = some(data.views["words"], data.target, n)
    return Views(words=words, vector=lsa(words)), target


def digits(n: int) -> tuple[Views, np.ndarray]:
    """Two views of numbers: no words."""
    data = load_mfeat()
    rows = np.sort(np.random.default_rng(0).choice(len(data.target), n, replace=False))
    parts = {name: np.asarray(data.views[name][rows], dtype=float) for name in ("fourier", "karhunen")}
    return Views({name: (X - X.mean(axis=0)) / X.std(axis=0) for name, X in parts.items()}), data.target[rows]


def made(n: int, quality: float, size: float) -> tuple[Views, np.ndarray]:
    rng = np.random.default_rng(0)
    target = rng.integers(5, size=n)
    base, own = rng.dirichlet(np.ones(600)), rng.dirichlet(np.full(600, 0.1), 5)
    words = np.array([rng.multinomial(50, quality * own[z] + (1 - quality) * base) for z in target])
    vector = size * rng.normal(size=(5, WIDTH))[target] + rng.normal(size=(n, WIDTH))
    return Views(words=sparse.csr_array(words.astype(float)), vector=vector), target


PEERS: dict[str, Callable[[int], tuple[Views, np.ndarray]]] = {
    "made, both good": lambda n: made(n, 0.35, 0.4),
    "made, words noise": lambda n: made(n, 0.0, 0.6),
    "made, vectors noise": lambda n: made(n, 0.5, 0.0),
    "Wikipedia, words and images": images,
    "Reuters, words and vectors": reuters,
    "digits, two views of numbers": digits,
}
SPHERE = {"Wikipedia": wikipedia, "Reuters": reuters, "20 Newsgroups": newsgroups, "Cora": cora}


# -- methods


def dense(X: Views) -> list[np.ndarray]:
    """Views as numbers of about one size: logarithms of the most frequent words, vectors as they are."""
    parts = []
    for matrix in X.values():
        if sparse.issparse(matrix):
            frequent = np.sort(np.argsort(-np.asarray(matrix.sum(axis=0)).ravel())[:WORDS])
            matrix = np.log1p(matrix[:, frequent].toarray())
        centered = matrix - matrix.mean(axis=0)
        parts.append(centered / np.sqrt((centered**2).sum(axis=1).mean()))
    return parts


def gaussian_mixture(X: Views, k: int, seed: int) -> np.ndarray:
    rows = np.hstack(dense(X))
    rows = TruncatedSVD(min(30, rows.shape[1] - 1), random_state=seed).fit_transform(rows)
    return GaussianMixture(k, covariance_type="diag", reg_covar=1e-4, random_state=seed).fit_predict(rows)


def bins(X: Views, k: int, seed: int) -> np.ndarray:
    names = [name for name, matrix in X.items() if not sparse.issparse(matrix)]
    counts = EachView(KBinsDiscretizer(), views=names).fit_transform(X)
    return MultiViewPLSA(k, 16, n_jobs=1, random_state=seed).fit(counts).labels_


def mofa(X: Views, k: int, seed: int) -> np.ndarray | None:
    python = os.environ.get("COVIEW_MOFA", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "views.npz", Path(folder) / "factors.npy"
        np.savez(data, *dense(X))
        run = subprocess.run([python, "-c", MOFA, str(data), str(out), str(k)], capture_output=True, check=False)
        if run.returncode:
            return None
        return KMeans(k, n_init=5, random_state=seed).fit_predict(np.load(out))


def clusters(model: Any, X: Any) -> np.ndarray:
    return model.fit(X).memberships_.argmax(axis=1)


METHODS: dict[str, Callable[[Views, int, int], np.ndarray | None]] = {
    "MultiViewPLSA": lambda X, k, seed: clusters(MultiViewPLSA(k, 16, n_jobs=1, random_state=seed), X),
    "LinkPLSA, likeliest start": lambda X, k, seed: clusters(
        LinkPLSA(k, init="likeliest", n_jobs=1, random_state=seed), X
    ),
    "AutoClustering": lambda X, k, seed: AutoClustering(k, random_state=seed).fit(X).labels_,
    "KBinsDiscretizer, MultiViewPLSA": bins,
    "one concatenated Gaussian view": lambda X, k, seed: clusters(
        MultiViewPLSA(k, n_jobs=1, random_state=seed, likelihood="gaussian"), np.hstack(dense(X))
    ),
    "k-means, concatenated": lambda X, k, seed: KMeans(k, n_init=5, random_state=seed).fit_predict(np.hstack(dense(X))),
    "GaussianMixture, concatenated": gaussian_mixture,
    "MOFA, k-means": mofa,
}


def cpu_seconds() -> float:
    """Processor time of this process and of those that it waited for: MOFA runs in one of its own."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def peers(n: int, seeds: int) -> dict[str, Any]:
    rows = []
    for name, load in PEERS.items():
        X, target = load(n)
        k = len(np.unique(target))
        for method, run in METHODS.items():
            scores, times = [], []
            for seed in range(1 if run is mofa else seeds):
                begun = cpu_seconds()
                found = run(X, k, seed)
                times.append(cpu_seconds() - begun)
                if found is not None:
                    scores.append(float(normalized_mutual_info_score(target, found)))
            rows.append([name, method, *([median(scores), median(times)] if scores else ["not installed", ""])])
            print(rows[-1], flush=True)
    notes = [
        f"At most {n} objects, medians of {seeds} seeds (MOFA: one), one thread, all methods in the same run.",
        "Concatenated: logarithms of at most 2000 words beside the vectors, each view of mean squared length 1; the "
        "Gaussian mixture after SVD to 30 columns. MOFA: as many factors as clusters, then k-means.",
        "Weights of vectors are those that the models find (coview.plsa.dense); no labels are used.",
    ]
    return part("Clusters of words and vectors", ["data", "method", "NMI", "CPU seconds"], rows, notes)


# -- Gaussian or von Mises-Fisher


def directions(
    words: Any | None, vectors: np.ndarray, start: np.ndarray, k: int, sphere: bool, codes: np.ndarray | None
) -> np.ndarray:
    """Mixture of k groups by EM: multinomial words, and vectors that are Gaussian or, on the sphere, von Mises-Fisher.

    Both have one spread for all groups. Beside words a vector counts as many tokens as its text has, at the most.
    """
    n, m = vectors.shape
    share = 1.0 if words is None else min(1.0, float(words.sum()) / n / m)
    members = 0.9 * np.eye(k)[start] + 0.1 / k
    for _ in range(30):
        if codes is not None:
            members[codes >= 0] = np.eye(k)[codes[codes >= 0]]
        sizes = members.sum(axis=0)[:, None] + 1e-9
        means = members.T @ vectors / sizes
        if sphere:
            lengths = np.linalg.norm(means, axis=1, keepdims=True) + 1e-12
            mean_length = float((sizes * lengths).sum() / n)
            kappa = mean_length * (m - mean_length**2) / max(1 - mean_length**2, 1e-9)
            density = kappa * vectors @ (means / lengths).T
        else:
            variance = (float((vectors**2).sum()) - float((sizes * means**2).sum())) / (n * m)
            density = (vectors @ means.T - (means**2).sum(axis=1) / 2) / max(variance, 1e-12)
        joint = share * density + np.log(sizes[:, 0] / n)
        if words is not None:
            totals = np.asarray(words.sum(axis=0)).ravel()
            counts = np.asarray((words.T @ members).T) + totals * len(totals) / totals.sum()
            joint = joint + words @ np.log(counts / counts.sum(axis=1, keepdims=True)).T
        members = softmax(joint, axis=1)
    return members.argmax(axis=1)


def sphere(n: int, seeds: int) -> dict[str, Any]:
    rows = []
    for name, load in SPHERE.items():
        X, target = load(n)
        k, (words, vectors) = len(np.unique(target)), (sparse.csr_array(X["words"]), normalize(X["vector"]))
        codes = np.unique(target, return_inverse=True)[1]
        for beside in (None, words):
            found: dict[str, list[float]] = {}
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                few = np.full(len(codes), -1)
                for z in range(k):
                    few[rng.choice(np.flatnonzero(codes == z), 2, replace=False)] = z
                begin = KMeans(k, n_init=1, random_state=seed).fit_predict(vectors)
                nearest = (vectors @ np.array([vectors[few == z].mean(axis=0) for z in range(k)]).T).argmax(axis=1)
                for kind, flag in (("Gaussian", False), ("von Mises-Fisher", True)):
                    free = directions(beside, vectors, begin, k, flag, None)
                    labeled = directions(beside, vectors, nearest, k, flag, few)
                    found.setdefault(kind + " NMI", []).append(float(normalized_mutual_info_score(codes, free)))
                    right = (labeled == codes)[few < 0]
                    found.setdefault(kind + " accuracy", []).append(float(right.mean()))
            told = "vectors" if beside is None else "words and vectors"
            order = [f"{kind} {what}" for what in ("NMI", "accuracy") for kind in ("Gaussian", "von Mises-Fisher")]
            rows.append([name, told, *(median(found[key]) for key in order)])
            print(rows[-1], flush=True)
    head = ["data", "views", "Gaussian NMI", "von Mises-Fisher NMI", "Gaussian accuracy", "von Mises-Fisher accuracy"]
    notes = [
        f"Truncated SVD of tf-idf, {WIDTH} columns, rows of length 1; at most {n} objects, medians of {seeds} seeds.",
        "Mixtures of groups by EM from the same start, one spread for all groups; accuracy from two labels per class.",
        "Wikipedia and Reuters were looked at first; 20 Newsgroups and Cora are the check.",
    ]
    return part("Rows of length 1: Gaussian or von Mises-Fisher", head, rows, notes)


def main(words: list[str]) -> None:
    options = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
    n, seeds = int(options.get("objects", "500")), int(options.get("seeds", "3"))
    wanted, makers = options.get("part"), {"peers": peers, "sphere": sphere}
    path = RESULTS / "embeddings.json"
    old: dict[str, Any] = json.loads(path.read_text()) if wanted and path.exists() else {}
    known = {table["title"]: table for table in [old, *old.get("more", [])] if table}
    tables = [make(n, seeds) for name, make in makers.items() if wanted in (None, name)]
    known.update({table["title"]: table for table in tables})
    write_parts("embeddings", list(known.values()))


if __name__ == "__main__":
    main(sys.argv[1:])
