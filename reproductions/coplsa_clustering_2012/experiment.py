"""The experiments of the clustering paper of 2012: one function per method, one run per call.

A run returns ``{metric: {row: value}}`` in percent; a method that gives several rows of a table (best view, all views
side by side, consensus) gives them all in one run. Settings come from the cell, options of the data set from
`paper.toml`. Rows with the paper's names run the paper's algorithms; coview's own have the names of its classes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from corpora import load_leaves, load_mfeat, load_reuters_multilingual
from scipy.sparse.linalg import eigsh
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import minmax_scale, normalize
from sklearn.utils import Bunch

from coview import (
    PLSA,
    AutoClustering,
    CCAClustering,
    LinkPLSA,
    PairwiseCoPLSA,
    SpectralClusteringViews,
    SphericalKMeans,
    UnitRows,
    Views,
    VotingPLSA,
)
from coview.metrics import clustering_accuracy, normalized_mutual_info
from coview.plsa.starts import FitContext, find_likeliest_arrays
from coview.validation import base_seed

LOADERS = {"reuters": load_reuters_multilingual, "mfeat": load_mfeat, "leaves": load_leaves}
PAPER_STRENGTH = 0.07  # lambda: the best one on Reuters, as figure 2 of the paper says
REDUCED = 100  # topics to which the paper reduces views before CCA
SPECTRAL_STRENGTH, SPECTRAL_ROUNDS = 0.05, 10  # Kumar et al. find 0.01 to 0.05 and few rounds enough

Values = dict[str, dict[str, float]]
Method = Callable[[Views, int, int, dict[str, Any]], dict[str, np.ndarray]]


def load(data: str, options: dict[str, Any]) -> Bunch:
    """Views and target of a data set, weighted as `paper.toml` says; kept in memory."""
    return _load(options["loader"], options["weighting"])


def run(cell: Any, options: dict[str, Any]) -> Values:
    """Make one run."""
    options = {**options, **dict(cell.setting)}
    data = load(cell.data, options)
    found = METHODS[cell.method](data.views, len(np.unique(data.target)), cell.seed, options)
    return {
        "ACC": {row: 100 * clustering_accuracy(data.target, labels) for row, labels in found.items()},
        "NMI": {row: 100 * normalized_mutual_info(data.target, labels, average="max") for row, labels in found.items()},
    }


@cache
def _load(loader: str, weighting: str) -> Bunch:
    corpus = LOADERS[loader]()
    whole = corpus.views.present.all(axis=1)  # one leaf lacks a view, which not every method can bear
    corpus.views, corpus.target = corpus.views[whole], corpus.target[whole]
    if weighting == "range":  # columns of very different scales, some of them negative: each from 0 to 1
        corpus.views = Views({name: minmax_scale(matrix) for name, matrix in corpus.views.items()})
    if weighting in ("l2", "range"):
        corpus.views = UnitRows().fit_transform(corpus.views)
    return corpus


def _loop(options: dict[str, Any], seed: int) -> dict[str, Any]:
    return {"max_iter": options["sweeps"], "random_state": seed, "n_jobs": 1}


# -- the paper's methods: labels of each row


def _kmeans(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {
        "K-means+BOVF": KMeans(k, n_init=1, random_state=seed).fit_predict(views[options["best"]]),
        "K-means+CTVF": _kmeans_of(views.select(*options["two"]), k, seed),
    }


def _kmeans_of(views: Views, k: int, seed: int) -> np.ndarray:
    return KMeans(k, n_init=1, random_state=seed).fit_predict(views.hstack())


def _plsa(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {
        "PLSA+BOVF": _plsa_of(views.select(options["best"]), k, seed, options),
        "PLSA+CTVF": _plsa_of(views.select(*options["two"]), k, seed, options),
    }


def _plsa_of(views: Views, k: int, seed: int, options: dict[str, Any]) -> np.ndarray:
    """EM from a random start."""
    return PLSA(k, init="random", algorithm="published", **_loop(options, seed)).fit(views).memberships_.argmax(axis=1)


def _cca(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    """CCA of two views that PLSA reduced first, then k-means of the best view's canonical variates, as in the paper.

    Beside it coview's regularized CCA, of the same reduced views and of the views as they are.
    """
    two, reduced = views.select(*options["two"]), {}
    for name in two.names:
        model = PLSA(REDUCED, init="random", algorithm="published", max_iter=50, random_state=seed, n_jobs=1)
        reduced[name] = model.fit(two.select(name)).memberships_
    other = next(name for name in two.names if name != options["best"])
    variates = _canonical_variates(reduced[options["best"]], reduced[other], k)
    return {
        "CCAMC": KMeans(k, n_init=1, random_state=seed).fit_predict(variates),
        "CCAClustering, reduced": CCAClustering(k, random_state=seed).fit(Views(reduced)).labels_,
        "CCAClustering": CCAClustering(k, random_state=seed).fit(two).labels_,
    }


def _canonical_variates(first: np.ndarray, second: np.ndarray, n_components: int) -> np.ndarray:
    """Canonical variates of the first of two matrices: plain CCA, without what has no variance."""
    bases = []
    for matrix in (first, second):
        left, values, _ = np.linalg.svd(matrix - matrix.mean(axis=0), full_matrices=False)
        bases.append(left[:, values > 1e-8 * values[0]])
    rotation, _, _ = np.linalg.svd(bases[0].T @ bases[1])
    return np.asarray(bases[0] @ rotation[:, :n_components])


def _voting(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    rows = {"VPLSA": "two", "VPLSA(3)": "three"}
    return {
        row: VotingPLSA(k, **_loop(options, seed)).fit(views.select(*options[chosen])).labels_
        for row, chosen in rows.items()
        if chosen in options
    }


def _spectral(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    """Kumar et al.: every view's eigenvectors drawn to the other's, on graphs of all pairs; the best view's clusters.

    An edge weighs exp(-d^2 / 2 s^2), s the median distance. Each U_v in turn is the leading eigenvectors of
    D^-1/2 A D^-1/2 + strength U_w U_w', rows then scaled to length 1.
    """
    two = views.select(*options["two"])
    graphs = {name: _gaussian_graph(matrix) for name, matrix in two.items()}
    vectors = {name: _leading(graph, k, seed) for name, graph in graphs.items()}
    for _ in range(SPECTRAL_ROUNDS):
        for name, graph in graphs.items():
            pull = sum(part @ part.T for other, part in vectors.items() if other != name)
            vectors[name] = _leading(graph + SPECTRAL_STRENGTH * pull, k, seed)
    return {"PCoSC": KMeans(k, n_init=1, random_state=seed).fit_predict(normalize(vectors[options["best"]]))}


def _gaussian_graph(matrix: Any) -> np.ndarray:
    distances = pairwise_distances(matrix)
    weights = np.exp(-(distances**2) / (2 * np.median(distances) ** 2))
    root = np.sqrt(weights.sum(axis=1))
    return np.asarray(weights / root[:, None] / root)


def _leading(matrix: np.ndarray, k: int, seed: int) -> np.ndarray:
    start = np.random.default_rng(seed).random(len(matrix))
    return np.asarray(eigsh(matrix, k, which="LA", v0=start)[1])


def _coplsa(number: int, apart: bool = False) -> Method:
    """CoPLSA of two or three views as published: random start, eq. 13.

    An object begins at the same mixture in all views or, `apart`, at one of its own in each: the paper does not say.
    """

    def labels(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
        strength = options.get("strength", PAPER_STRENGTH)
        rng = np.random.default_rng(seed)
        each = {name: rng.dirichlet(np.ones(k), len(views)) for name in options["two" if number == 2 else "three"]}
        start = {"memberships_by_view": each} if apart else "random"
        model = _fit_pairs(views, k, seed, options, number, coupling=strength, algorithm="published", init=start)
        name = f"CoPLSA({number})" + (", starts apart" if apart else "")
        return {name: model.labels_by_view_[options["best"]]}

    return labels


def _fit_pairs(
    views: Views, k: int, seed: int, options: dict[str, Any], number: int, **settings: Any
) -> PairwiseCoPLSA:
    """Fit two or three views whose weights sum to one, as in the paper."""
    chosen = views.select(*options["two" if number == 2 else "three"])
    return PairwiseCoPLSA(k, view_weights=1 / number, **settings, **_loop(options, seed)).fit(chosen)


# -- not in the paper


def _pairwise(number: int, form: str = "") -> Method:
    """coview's model by default, or from another start."""
    name = f"PairwiseCoPLSA({number})" + (f", {form}" if form else "")

    def labels(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
        settings = (
            {"init": _link_start(views.select(*options["two" if number == 2 else "three"]), k, seed)} if form else {}
        )
        model = _fit_pairs(views, k, seed, options, number, coupling=options["weight"], **settings)
        return {name: model.labels_by_view_[options["best"]], f"{name}, consensus": model.labels_}

    return labels


def _link_start(views: Views, k: int, seed: int) -> dict[str, Any]:
    """Mixtures and topics after some sweeps of link-PLSA from a random start."""
    link = LinkPLSA(k, likelihood="multinomial", init="random", max_iter=20, tol=0, random_state=seed, n_jobs=1)
    link.fit(views)
    return {"memberships_by_view": link.memberships_, "topic_feature": link.topic_feature_}


def _plsa_half_steps(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    """PLSA in alternating half-steps, as by default in coview."""
    forms = {"BOVF": views.select(options["best"]), "CTVF": views.select(*options["two"])}
    models = {name: PLSA(k, init="random", **_loop(options, seed)).fit(form) for name, form in forms.items()}
    return {f"PLSA in half-steps+{name}": model.memberships_.argmax(axis=1) for name, model in models.items()}


def _cca_of_two(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {"CCAClustering": CCAClustering(k, random_state=seed).fit(views.select(*options["two"])).labels_}


def _spectral_neighbors(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    """Spectral clustering on graphs of nearest neighbors."""
    model = SpectralClusteringViews(k, random_state=seed)
    return {"SpectralClusteringViews": model.fit(views.select(*options["two"])).labels_}


def _spherical(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {
        "Spherical k-means+BOVF": SphericalKMeans(k, random_state=seed).fit(views.select(options["best"])).labels_,
        "Spherical k-means+CTVF": SphericalKMeans(k, random_state=seed).fit(views.select(*options["two"])).labels_,
    }


def _auto(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    model = AutoClustering(k, random_state=seed)
    return {"AutoClustering": model.fit(views.select(*options["two"])).labels_}


def _start(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {
        "Start of PairwiseCoPLSA(2)": _start_of(views.select(*options["two"]), k, seed),
        "Start of PairwiseCoPLSA(3)": _start_of(views.select(*options["three"]), k, seed),
    }


def _start_of(views: Views, k: int, seed: int) -> np.ndarray:
    """The clustering at which coview's model begins."""
    ordered = views.select(*sorted(views.names))
    return np.asarray(
        find_likeliest_arrays(ordered, k, FitContext(base_seed(seed)), {}, 1)["memberships"].argmax(axis=1)
    )


def _drawn_to_each_other(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    model = SpectralClusteringViews(k, method="co-regularized", random_state=seed)
    return {"SpectralClusteringViews, each other": model.fit(views.select(*options["two"])).labels_}


# -- all views at once


def _side_by_side(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {
        "K-means, side by side": _kmeans_of(views, k, seed),
        "PLSA, side by side": PLSA(k, init="random", **_loop(options, seed)).fit(views).memberships_.argmax(axis=1),
        "Spherical k-means, side by side": SphericalKMeans(k, random_state=seed).fit(views).labels_,
    }


def _cca_of_all(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {"CCAClustering": CCAClustering(k, random_state=seed).fit(views).labels_}


def _spectral_of_all(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {"SpectralClusteringViews": SpectralClusteringViews(k, random_state=seed).fit(views).labels_}


def _voting_of_all(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {"VPLSA": VotingPLSA(k, **_loop(options, seed)).fit(views).labels_}


def _pairwise_of_all(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    shares = 1 / len(views.names)  # weights of the views that sum to one, as in the paper
    model = PairwiseCoPLSA(k, coupling=options["weight"], view_weights=shares, **_loop(options, seed)).fit(views)
    return {
        "PairwiseCoPLSA": model.labels_by_view_[options["best"]],
        "PairwiseCoPLSA, consensus": model.labels_,
        "Start of PairwiseCoPLSA": _start_of(views, k, seed),
    }


def _auto_of_all(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {"AutoClustering": AutoClustering(k, random_state=seed).fit(views).labels_}


METHODS: dict[str, Method] = {
    "Kmeans": _kmeans,
    "PLSA": _plsa,
    "CCA": _cca,
    "VPLSA": _voting,
    "PCoSC": _spectral,
    "CoPLSA2": _coplsa(2),
    "CoPLSA3": _coplsa(3),
    "CoPLSA2Apart": _coplsa(2, apart=True),
    "Pairwise2": _pairwise(2),
    "Pairwise3": _pairwise(3),
    "PairwiseLink2": _pairwise(2, "link start"),
    "PairwiseLink3": _pairwise(3, "link start"),
    "Start": _start,
    "PLSAHalfSteps": _plsa_half_steps,
    "CCAClustering": _cca_of_two,
    "Spectral": _spectral_neighbors,
    "SpectralEachOther": _drawn_to_each_other,
    "Spherical": _spherical,
    "Auto": _auto,
    "SideBySideAll": _side_by_side,
    "CCAClusteringAll": _cca_of_all,
    "SpectralAll": _spectral_of_all,
    "VPLSAAll": _voting_of_all,
    "PairwiseAll": _pairwise_of_all,
    "AutoAll": _auto_of_all,
}
