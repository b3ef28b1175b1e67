"""The experiments of the clustering paper of 2012: one function per method, one run per call.

A run returns ``{metric: {row: value}}`` in percent; a method that gives several rows of a table (best view, all views
side by side, consensus) gives them all in one run. Settings come from the cell, options of the data set from
`paper.toml`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import Bunch

from coview import (
    PLSA,
    PairwiseCoPLSA,
    UnitRows,
    Views,
    VotingPLSA,
    clustering_accuracy,
    load_leaves,
    load_mfeat,
    load_reuters_multilingual,
    normalized_mutual_info,
)

LOADERS = {"reuters": load_reuters_multilingual, "mfeat": load_mfeat, "leaves": load_leaves}
PAPER_WEIGHT = 0.07  # the best one on Reuters, as figure 2 of the paper says
REDUCED = 100  # topics to which the paper reduces views before CCA

Values = dict[str, dict[str, float]]


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
    if weighting == "l2":
        corpus.views = UnitRows().fit_transform(corpus.views)
    return corpus


def _loop(options: dict[str, Any], seed: int) -> dict[str, Any]:
    acceleration = options.get("acceleration")
    return {"max_iter": options["sweeps"], "acceleration": acceleration, "random_state": seed, "n_jobs": 1}


# -- methods of table 1: labels of each row


def _kmeans(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    def clusters(matrix: Any) -> np.ndarray:
        return KMeans(k, n_init=1, random_state=seed).fit_predict(matrix)

    return {
        "K-means+BOVF": clusters(views[options["best"]]),
        "K-means+CTVF": clusters(views.select(*options["two"]).hstack()),
    }


def _plsa(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    def clusters(part: Views) -> np.ndarray:
        model = PLSA(k, **_loop(options, seed))
        return model.fit(part).doc_topic_.argmax(axis=1)

    return {
        "PLSA+BOVF": clusters(views.select(options["best"])),
        "PLSA+CTVF": clusters(views.select(*options["two"])),
    }


def _cca(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    """CCA of the two views; where they are wide, of views that PLSA reduced first, as in the paper."""
    from coview import CCAClustering

    two = views.select(*options["two"])
    if not options["reduce"]:
        return {"CCAMC": CCAClustering(k, random_state=seed).fit(two).labels_}
    reduced = {}
    for name in two.names:
        model = PLSA(REDUCED, max_iter=50, random_state=seed, n_jobs=1)
        reduced[name] = model.fit(two.select(name)).doc_topic_
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
    from coview import CoRegularizedSpectralClustering

    return {"PCoSC": CoRegularizedSpectralClustering(k, random_state=seed).fit(views.select(*options["two"])).labels_}


def _coplsa(views: Views, k: int, seed: int, options: dict[str, Any], number: int, step: str) -> dict[str, np.ndarray]:
    chosen = views.select(*options["two" if number == 2 else "three"])
    published = {"weight": PAPER_WEIGHT, "step": "paper", "schedule": "joint", "init": "random"}
    model = PairwiseCoPLSA(
        k,
        **(published if step == "paper" else {"weight": options["weight"]}),
        **_loop(options, seed),
    ).fit(chosen)
    name = f"CoPLSA({number})" + (", published step" if step == "paper" else "")
    return {name: model.labels_by_view_[options["best"]], f"{name}, consensus": model.labels_}


def _coplsa2(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return _coplsa(views, k, seed, options, 2, "safeguarded")


def _coplsa3(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return _coplsa(views, k, seed, options, 3, "safeguarded")


def _published2(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return _coplsa(views, k, seed, options, 2, "paper")


def _published3(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    return _coplsa(views, k, seed, options, 3, "paper")


# -- not in the paper


def _spherical(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    from coview import SphericalKMeans

    return {
        "Spherical k-means+BOVF": SphericalKMeans(k, random_state=seed).fit(views.select(options["best"])).labels_,
        "Spherical k-means+CTVF": SphericalKMeans(k, random_state=seed).fit(views.select(*options["two"])).labels_,
    }


def _auto(views: Views, k: int, seed: int, options: dict[str, Any]) -> dict[str, np.ndarray]:
    from coview import ConsensusClustering

    model = ConsensusClustering(k, estimators="auto", random_state=seed)
    return {"Consensus, auto": model.fit(views.select(*options["two"])).labels_}


METHODS = {
    "Kmeans": _kmeans,
    "PLSA": _plsa,
    "CCAMC": _cca,
    "VPLSA": _voting,
    "PCoSC": _spectral,
    "CoPLSA2": _coplsa2,
    "CoPLSA3": _coplsa3,
    "Published2": _published2,
    "Published3": _published3,
    "Spherical": _spherical,
    "Auto": _auto,
}
