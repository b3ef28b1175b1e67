"""The experiments of the clustering paper of 2012: one function per method, one run per call.

A run returns ``{metric: {row: value}}`` in percent; a method that gives several rows of a table (best view, all views
side by side, consensus) gives them all in one run. Settings come from the cell, options of the data set from
`paper.toml`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import minmax_scale
from sklearn.utils import Bunch

from coview import (
    PLSA,
    AutoClustering,
    CCAClustering,
    PairwiseCoPLSA,
    SpectralClusteringViews,
    SphericalKMeans,
    UnitRows,
    Views,
    VotingPLSA,
)
from coview.datasets import load_leaves, load_mfeat, load_reuters_multilingual
from coview.metrics import clustering_accuracy, normalized_mutual_info
from coview.plsa.likeliest_start import likeliest_arrays
from coview.validation import base_seed

LOADERS = {"reuters": load_reuters_multilingual, "mfeat": load_mfeat, "leaves": load_leaves}
PAPER_WEIGHT = 0.07  # the best one on Reuters, as figure 2 of the paper says
REDUCED = 100  # topics to which the paper reduces views before CCA

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


# -- methods of table 1: labels of each row


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
    return PLSA(k, **_loop(options, seed)).fit(views).memberships_.argmax(axis=1)


def _cca(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    """CCA of the two views; where they are wide, of views that PLSA reduced first, as in the paper."""
    two = views.select(*options["two"])
    if not options["reduce"]:
        return {"CCAMC": CCAClustering(k, random_state=seed).fit(two).labels_}
    reduced = {}
    for name in two.names:
        model = PLSA(REDUCED, max_iter=50, random_state=seed, n_jobs=1)
        reduced[name] = model.fit(two.select(name)).memberships_
    return {
        "CCAMC": CCAClustering(k, random_state=seed).fit(Views(reduced)).labels_,
        "CCAMC, not reduced": CCAClustering(k, random_state=seed).fit(two).labels_,
    }


def _voting(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    rows = {"VPLSA": "two", "VPLSA(3)": "three"}
    return {
        row: VotingPLSA(k, **_loop(options, seed)).fit(views.select(*options[chosen])).labels_
        for row, chosen in rows.items()
        if chosen in options
    }


def _spectral(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {"PCoSC": SpectralClusteringViews(k, random_state=seed).fit(views.select(*options["two"])).labels_}


def _coplsa(number: int, form: str = "") -> Method:
    """CoPLSA of two or three views as it is by default, with the published step, or from another start."""
    settings = {
        "": {},
        "published step": {"coupling": PAPER_WEIGHT, "step": "paper", "schedule": "joint", "init": "random"},
        "link start": {"init": "link"},
    }[form]
    name = f"CoPLSA({number})" + (f", {form}" if form else "")

    def labels(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
        chosen = views.select(*options["two" if number == 2 else "three"])
        found = {"coupling": options["weight"], **settings}
        model = PairwiseCoPLSA(k, view_weights=1 / number, **found, **_loop(options, seed)).fit(chosen)
        return {name: model.labels_by_view_[options["best"]], f"{name}, consensus": model.labels_}

    return labels


# -- not in the paper


def _spherical(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {
        "Spherical k-means+BOVF": SphericalKMeans(k, random_state=seed).fit(views.select(options["best"])).labels_,
        "Spherical k-means+CTVF": SphericalKMeans(k, random_state=seed).fit(views.select(*options["two"])).labels_,
    }


def _auto(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    model = AutoClustering(k, random_state=seed)
    return {"Consensus, auto": model.fit(views.select(*options["two"])).labels_}


def _start(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {
        "Start of CoPLSA(2)": _start_of(views.select(*options["two"]), k, seed),
        "Start of CoPLSA(3)": _start_of(views.select(*options["three"]), k, seed),
    }


def _start_of(views: Views, k: int, seed: int) -> np.ndarray:
    """The clustering at which CoPLSA begins."""
    ordered = views.select(*sorted(views.names))
    return np.asarray(likeliest_arrays(ordered, k, base_seed(seed), {}, 1)["memberships"].argmax(axis=1))


def _drawn_to_each_other(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    model = SpectralClusteringViews(k, method="co-regularized", random_state=seed)
    return {"PCoSC, pairwise form": model.fit(views.select(*options["two"])).labels_}


# -- all views at once


def _side_by_side(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {
        "K-means, side by side": _kmeans_of(views, k, seed),
        "PLSA, side by side": _plsa_of(views, k, seed, options),
        "Spherical k-means, side by side": SphericalKMeans(k, random_state=seed).fit(views).labels_,
    }


def _cca_of_all(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {"CCAMC": CCAClustering(k, random_state=seed).fit(views).labels_}


def _spectral_of_all(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {"PCoSC": SpectralClusteringViews(k, random_state=seed).fit(views).labels_}


def _voting_of_all(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {"VPLSA": VotingPLSA(k, **_loop(options, seed)).fit(views).labels_}


def _coplsa_of_all(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    shares = 1 / len(views.names)  # weights of the views that sum to one, as in the paper
    model = PairwiseCoPLSA(k, coupling=options["weight"], view_weights=shares, **_loop(options, seed)).fit(views)
    return {
        "CoPLSA": model.labels_by_view_[options["best"]],
        "CoPLSA, consensus": model.labels_,
        "Start of CoPLSA": _start_of(views, k, seed),
    }


def _auto_of_all(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return {"Consensus, auto": AutoClustering(k, random_state=seed).fit(views).labels_}


METHODS: dict[str, Method] = {
    "Kmeans": _kmeans,
    "PLSA": _plsa,
    "CCAMC": _cca,
    "VPLSA": _voting,
    "PCoSC": _spectral,
    "CoPLSA2": _coplsa(2),
    "CoPLSA3": _coplsa(3),
    "Published2": _coplsa(2, "published step"),
    "Published3": _coplsa(3, "published step"),
    "Link2": _coplsa(2, "link start"),
    "Link3": _coplsa(3, "link start"),
    "Start": _start,
    "PCoSCPairs": _drawn_to_each_other,
    "Spherical": _spherical,
    "Auto": _auto,
    "SideBySideAll": _side_by_side,
    "CCAMCAll": _cca_of_all,
    "PCoSCAll": _spectral_of_all,
    "VPLSAAll": _voting_of_all,
    "CoPLSAAll": _coplsa_of_all,
    "AutoAll": _auto_of_all,
}
