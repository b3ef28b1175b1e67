"""`AutoClustering` beside one clustering of the same graphs at one scale.

python benchmarks/bench_auto.py [--quick] [--folder=FOLDER] [set ...]

What is found on a set is kept in FOLDER, so that the table can be made in pieces; without names all sets run that are
not kept yet, and then the table is written. `COVIEW_DATA` names the folder of the collections.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import write
from corpora import (
    load_citeseer,
    load_cora,
    load_internet_ads,
    load_leaves,
    load_mfeat,
    load_newsgroups_views,
    load_pubmed,
    load_reuters_multilingual,
    load_webkb,
    load_webkb_course,
    load_wikipedia_linqs,
    load_wikipedia_retrieval,
)
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons

from coview import AutoClustering, SpectralClusteringViews, Views
from coview.auto.preparation import preparation, prepared
from coview.datasets import load_python_packages, make_blobs_views, make_topic_views
from coview.metrics import normalized_mutual_info

Data = tuple[Views, np.ndarray]


def of(corpus: Any, *views: str) -> Data:
    """Views and target of a loaded collection, or some of its views."""
    return corpus.views.select(*views) if views else corpus.views, np.asarray(corpus.target)


def some(corpus: Any, n: int) -> Data:
    """A sample; links to objects outside of it are left out."""
    rows = np.sort(np.random.default_rng(0).choice(len(corpus.target), n, replace=False))
    views = corpus.views[rows]
    if "links" in views:
        views = views.map({"links": lambda part: sparse.csr_array(part)[:, rows]})
    return views, np.asarray(corpus.target)[rows]


def columns(bunch: Any, **parts: Any) -> Data:
    return Views({name: bunch.data[:, part] for name, part in parts.items()}), bunch.target


def images(**cuts: Any) -> Data:
    digits = load_digits()
    n = len(digits.target)
    return Views({name: cut(digits.images).reshape(n, -1) for name, cut in cuts.items()}), digits.target


def fourier(pictures: np.ndarray) -> np.ndarray:
    return np.abs(np.fft.fft2(pictures)).reshape(len(pictures), -1)[:, :40]


def gradient(pictures: np.ndarray) -> np.ndarray:
    parts = [np.diff(pictures, axis=axis).reshape(len(pictures), -1) for axis in (1, 2)]
    return np.hstack(parts)


def rings(n: int, seed: int) -> Data:
    """Three rings in one view, and a view that tells the clusters a little."""
    rng = np.random.default_rng(seed)
    y, angle = np.arange(n) % 3, rng.uniform(0, 2 * np.pi, n)
    ring = (1 + 2.5 * y)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return Views(ring=ring + rng.normal(scale=0.15, size=(n, 2)), weak=0.8 * np.eye(3)[y] + rng.normal(size=(n, 3))), y


def two_rings(n: int, seed: int) -> Data:
    """Two rings in each of two views."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    views = {}
    for name, outer, noise in (("a", 2.5, 0.2), ("b", 2.2, 0.25)):
        angle = rng.uniform(0, 2 * np.pi, n)
        ring = np.array([1.0, outer])[y][:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        views[name] = ring + rng.normal(scale=noise, size=(n, 2))
    return Views(views), y


def moons(n: int, seed: int) -> Data:
    """Two moons in one view, and a view that tells them a little."""
    rng = np.random.default_rng(seed)
    shape, y = make_moons(n, noise=0.08, random_state=seed)
    return Views(moons=shape, weak=np.column_stack([y * 1.5 + rng.normal(size=n), rng.normal(size=n)])), y


def blobs(n: int, sizes: list[int], far: float, seed: int, *, noise: int = 0, scale: float = 0, dims: Any) -> Data:
    """Gaussian clusters; columns times 10^u, u between -scale and scale, and a view of nothing but noise."""
    rng = np.random.default_rng(seed)
    y = rng.choice(len(sizes), n, p=np.array(sizes) / sum(sizes))
    views = {}
    for v, width in enumerate(dims):
        rows = (rng.normal(size=(len(sizes), width)) * far)[y] + rng.normal(size=(n, width))
        views[f"v{v}"] = rows * 10.0 ** rng.uniform(-scale, scale, size=width)
    if noise:
        views["noise"] = rng.normal(size=(n, noise))
    return Views(views), y


def half(n: int, seed: int) -> Data:
    """A good view, a weak one and noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 6, n)
    good = (rng.normal(size=(6, 20)) * 1.2)[y] + rng.normal(size=(n, 20))
    weak = (rng.normal(size=(6, 10)) * 0.48)[y] + rng.normal(size=(n, 10))
    return Views(good=good, weak=weak, noise=rng.normal(size=(n, 15))), y


def texts(n: int, seed: int) -> Data:
    """Counts of words and of a few tags, clusters of unequal size."""
    rng = np.random.default_rng(seed)
    y = rng.choice(5, n, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    words, tags, common = rng.gamma(0.08, size=(5, 1500)), rng.gamma(0.2, size=(5, 300)), rng.gamma(0.3, size=1500)
    words, tags = (part / part.sum(axis=1, keepdims=True) for part in (words, tags))
    mixed = 0.35 * words + 0.65 * common / common.sum()
    views = {
        "words": np.array([rng.multinomial(rng.integers(20, 120), mixed[c]) for c in y]),
        "tags": np.array([rng.multinomial(rng.integers(1, 15), 0.4 * tags[c] + 0.6 / 300) for c in y]),
    }
    return Views({name: sparse.csr_array(part * 1.0) for name, part in views.items()}), y


def elongated(n: int, seed: int) -> Data:
    """Clusters that are long in one direction, another one in each view."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4
    views = {}
    for name, width in (("a", 3), ("b", 5)):
        spread = np.linalg.qr(rng.normal(size=(width, width)))[0] * np.array([3.0] + [0.6] * (width - 1))
        views[name] = (rng.normal(size=(4, width)) * 2.5)[y] + rng.normal(size=(n, width)) @ spread.T
    return Views(views), y


def within(corpus: Any, classes: int, *views: str) -> Data:
    """The largest classes of a collection; links to objects outside of them are left out."""
    target = np.asarray(corpus.target)
    names, sizes = np.unique(target, return_counts=True)
    rows = np.flatnonzero(np.isin(target, names[np.argsort(-sizes, kind="stable")[:classes]]))
    found = corpus.views.select(*views)[rows] if views else corpus.views[rows]
    if "links" in found:
        found = found.map({"links": lambda part: sparse.csr_array(part)[:, rows]})
    return found, target[rows]


def subjects(n: int) -> Data:
    """Posts by the first part of their group's name."""
    corpus = load_newsgroups_views("posts")
    views, y = some(corpus, n)
    return views, np.array([corpus.target_names[group].split(".")[0] for group in y])


def reuters(sample: int, *views: str) -> Data:
    return of(load_reuters_multilingual(sample), *views)


CHOOSING: dict[str, Callable[[], Data]] = {
    "mfeat": lambda: of(load_mfeat()),
    "mfeat, fourier and morphology": lambda: of(load_mfeat(), "fourier", "morphology"),
    "digits, left and right": lambda: images(left=lambda p: p[:, :, :4], right=lambda p: p[:, :, 4:]),
    "wine": lambda: columns(load_wine(), a=slice(0, 6), b=slice(6, None)),
    "wine, every other column": lambda: columns(load_wine(), a=slice(0, None, 2), b=slice(1, None, 2)),
    "Reuters, 1,200": lambda: reuters(1200),
    "Reuters, English and German": lambda: reuters(1200, "english", "german"),
    "NewsGv2": lambda: of(load_newsgroups_views("v2")),
    "Cora": lambda: of(load_cora()),
    "Cornell": lambda: of(load_webkb("cornell", task="classes")),
    "Wisconsin": lambda: of(load_webkb("wisconsin", task="classes")),
    "Python packages": lambda: of(load_python_packages()),
    "internet ads": lambda: of(load_internet_ads()),
    "made: rings": lambda: rings(300, 0),
    "made: moons": lambda: moons(400, 1),
    "made: good, weak, noise": lambda: half(700, 7),
    "made: unequal sizes": lambda: blobs(600, [60, 20, 10, 10], 1.0, 13, dims=(5, 5)),
    "made: scales": lambda: blobs(500, [1] * 4, 1.0, 14, scale=2, dims=(10, 4)),
    "made: noise": lambda: blobs(500, [1] * 4, 0.9, 15, noise=8, dims=(6,)),
}
CHECKING: dict[str, Callable[[], Data]] = {
    "leaves": lambda: of(load_leaves()),
    "leaves, shape and texture": lambda: of(load_leaves(), "shape", "texture"),
    "digits": lambda: images(pixels=lambda p: p, fourier=fourier, gradient=gradient),
    "digits, top and bottom": lambda: images(top=lambda p: p[:, :4], bottom=lambda p: p[:, 4:]),
    "digits, quarters": lambda: images(
        a=lambda p: p[:, :4, :4], b=lambda p: p[:, :4, 4:], c=lambda p: p[:, 4:, :4], d=lambda p: p[:, 4:, 4:]
    ),
    "mfeat, karhunen and zernike": lambda: of(load_mfeat(), "karhunen", "zernike"),
    "mfeat, pixels and profiles": lambda: of(load_mfeat(), "pixel", "profile"),
    "breast cancer": lambda: columns(load_breast_cancer(), mean=slice(0, 10), se=slice(10, 20), worst=slice(20, None)),
    "breast cancer, every other column": lambda: columns(
        load_breast_cancer(), a=slice(0, None, 2), b=slice(1, None, 2)
    ),
    "iris": lambda: columns(load_iris(), sepal=slice(0, 2), petal=slice(2, None)),
    "Reuters, 600": lambda: reuters(600),
    "Reuters, French and Italian": lambda: reuters(1200, "french", "italian"),
    "NewsGv4": lambda: of(load_newsgroups_views("v4")),
    "20 Newsgroups, 2,000 posts": lambda: some(load_newsgroups_views("posts"), 2000),
    "CiteSeer": lambda: of(load_citeseer()),
    "Pubmed, 3,000": lambda: some(load_pubmed(), 3000),
    "Wikipedia, links": lambda: of(load_wikipedia_linqs()),
    "Wikipedia, texts and images": lambda: of(load_wikipedia_retrieval()),
    "Texas": lambda: of(load_webkb("texas", task="classes")),
    "Washington": lambda: of(load_webkb("washington", task="classes")),
    "four universities": lambda: of(load_webkb("all", task="classes")),
    "course pages": lambda: of(load_webkb_course()),
    "made: two rings": lambda: two_rings(500, 2),
    "made: texts": lambda: texts(900, 7),
    "made: unequal sizes, 6": lambda: blobs(800, [40, 25, 15, 10, 6, 4], 1.2, 3, dims=(6, 8)),
    "made: scales, 5": lambda: blobs(600, [1] * 5, 1.2, 4, scale=3, dims=(6, 8)),
    "made: noise, 5": lambda: blobs(600, [1] * 5, 1.1, 5, noise=20, dims=(6, 8)),
}
FRESH: dict[str, Callable[[], Data]] = {
    "mfeat, profiles and zernike": lambda: of(load_mfeat(), "profile", "zernike"),
    "mfeat, pixels and morphology": lambda: of(load_mfeat(), "pixel", "morphology"),
    "mfeat, fourier, karhunen, zernike": lambda: of(load_mfeat(), "fourier", "karhunen", "zernike"),
    "digits, every other column": lambda: images(even=lambda p: p[:, :, ::2], odd=lambda p: p[:, :, 1::2]),
    "leaves, margin and shape": lambda: of(load_leaves(), "margin", "shape"),
    "leaves, 30 species": lambda: within(load_leaves(), 30),
    "iris, lengths and widths": lambda: columns(load_iris(), lengths=[0, 2], widths=[1, 3]),
    "wine, three views": lambda: columns(load_wine(), a=[1, 2, 3, 4], b=[5, 6, 7, 8, 11], c=[0, 9, 10, 12]),
    "breast cancer, mean and worst": lambda: columns(load_breast_cancer(), mean=slice(0, 10), worst=slice(20, None)),
    "Reuters, German, Spanish, Italian": lambda: reuters(1200, "german", "spanish", "italian"),
    "Reuters, English and French": lambda: reuters(1200, "english", "french"),
    "Reuters, 600, English and Spanish": lambda: reuters(600, "english", "spanish"),
    "20 Newsgroups, 2,000 posts by subject": lambda: subjects(2000),
    "NewsGv4, two views": lambda: of(load_newsgroups_views("v4"), "view1", "view3"),
    "Wikipedia, words and images": lambda: of(load_wikipedia_retrieval(), "words", "image"),
    "Wikipedia, links, 8 classes": lambda: within(load_wikipedia_linqs(), 8),
    "Python packages, 8 classes": lambda: within(load_python_packages(), 8),
    "Cora, 4 classes": lambda: within(load_cora(), 4),
    "CiteSeer, 4 classes": lambda: within(load_citeseer(), 4),
    "Pubmed, 1,500": lambda: some(load_pubmed(), 1500),
    "made: blobs": lambda: of(make_blobs_views(500, n_views=3, n_clusters=5, std=[3.0, 5.0, 8.0], random_state=3)),
    "made: topics": lambda: of(make_topic_views(600, n_views=3, n_clusters=5, overlap=0.4, length=30, random_state=3)),
    "made: elongated": lambda: elongated(500, 9),
}
GROUPS = {"seen": {**CHOOSING, **CHECKING}, "fresh": FRESH}
QUICK = ("wine", "Cornell", "made: rings", "iris", "made: two rings")


def measure(name: str) -> dict[str, Any]:
    views, y = {**GROUPS["seen"], **GROUPS["fresh"]}[name]()
    k = len(np.unique(y))
    clock = time.process_time()
    model = AutoClustering(k, random_state=0).fit(views)
    spent = time.process_time() - clock
    ready = prepared(views, preparation(views))
    one = SpectralClusteringViews(k, method="stacked", random_state=0).fit(ready)
    return {
        "auto": normalized_mutual_info(y, model.labels_),
        "one": normalized_mutual_info(y, one.labels_),
        "votes": float(model.memberships_.max(axis=1).mean()),
        "s": spent,
    }


def kept(name: str, folder: Path) -> Path:
    return folder / ("".join(c if c.isalnum() else "_" for c in name) + ".json")


def table(names: list[str], folder: Path, result: str) -> None:
    rows, means = [], []
    for group, sets in GROUPS.items():
        every = []
        for name in [name for name in sets if name in names]:
            found = json.loads(kept(name, folder).read_text())
            every.append(found)
            figures = [round(found[key], 3) for key in ("auto", "one", "votes")]
            rows.append([name, group, *figures, round(found["s"], 1)])
        auto, one = (np.mean([found[key] for found in every]) for key in ("auto", "one"))
        means.append(f"{group}: {auto:.3f} in the mean of {len(every)}, one scale {one:.3f}")
    write(
        result,
        "AutoClustering beside one clustering at one scale: normalized mutual information",
        ["data", "used for", "auto", "one scale", "share of votes", "seconds"],
        rows,
        [
            *means,
            "One scale: `SpectralClusteringViews(method='stacked')` of the same views, weighed alike, links as they "
            "are. Share of votes: how sure an object's cluster is in the mean, as the fit says without labels.",
            "No labels are used by a fit. What smooths over links was settled with an eye on the sets marked seen; "
            "that tokens vote, also on two marked fresh (Wikipedia, words and images; 2,000 posts by subject); that "
            "words weigh by what they tell, on two halves of all sets.",
            "Many sets share objects with others: other columns, views, classes or halves of the same collection.",
            "random_state=0; seconds of the processor.",
        ],
    )


def main(words: list[str]) -> None:
    quick = "--quick" in words
    given = [word.partition("=")[2] for word in words if word.startswith("--folder=")]
    folder = Path(given[0] if given else Path(tempfile.gettempdir()) / "coview_auto")
    folder.mkdir(parents=True, exist_ok=True)
    every = [name for sets in GROUPS.values() for name in sets if not quick or name in QUICK]
    asked = [word for word in words if not word.startswith("--")]
    for name in asked or [name for name in every if not kept(name, folder).exists()]:
        found = measure(name)
        kept(name, folder).write_text(json.dumps(found))
        print(f"{name}: {found['auto']:.3f}, one scale {found['one']:.3f}, {found['s']:.1f} s", flush=True)
    if not asked:
        table(every, folder, "auto_quick" if quick else "auto")


if __name__ == "__main__":
    main(sys.argv[1:])
