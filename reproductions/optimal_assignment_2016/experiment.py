"""The experiments of the 2016 paper on optimal assignment: one function per experiment, one run per call.

A run returns ``{metric: {row: value}}`` in percent. All rows of a run see the same labeled objects. Settings come from
the cell, options of the data set from `paper.toml`. Rows with the paper's names run the paper's algorithms; coview's
own have the names of its classes, or say what differs.
"""

from __future__ import annotations

import math
import time
from functools import cache
from typing import Any

import numpy as np
from corpora import (
    load_citeseer,
    load_cora,
    load_leaves,
    load_newsgroups_views,
    load_pubmed,
    load_webkb,
    load_wikipedia_linqs,
)
from corpora.pubmed_links import directed, read_arcs
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.naive_bayes import ComplementNB
from sklearn.svm import LinearSVC
from sklearn.utils import Bunch

from coview import (
    ConcatenatedViews,
    MultiViewNaiveBayes,
    MultiViewPLSAClassifier,
    NeighborViews,
    Ontology,
    SeededKMeansClassifier,
    TfidfViews,
    UnitRows,
    Views,
)
from coview.exceptions import DataFileError
from coview.metrics import hierarchical_f1, view_agreement

Values = dict[str, dict[str, float]]

_LOADERS = {
    "cora": lambda links: load_cora(links=links),
    "citeseer": lambda links: load_citeseer(links=links),
    "webkb": lambda links: load_webkb("all", links, "classes"),
    "wikipedia": lambda links: load_wikipedia_linqs(links=links),
    "pubmed": lambda links: load_pubmed(links=links),
    "leaves": lambda links: load_leaves(),
    "newsgroups": lambda links: load_newsgroups_views("posts", weighting="l2", remove=()),
}


def load(data: str, options: dict[str, Any]) -> Bunch:
    """Views and target of a data set; kept in memory. What the paper used and nobody can have any more is refused."""
    if "unavailable" in options:
        raise DataFileError(f"{options['title']} cannot be had. {options['unavailable']}")
    where = options["loader"], options.get("links", "symmetric"), tuple(options.get("views", ()))
    if options.get("directed"):
        return _directed(*where)
    return _weighted(*where) if options.get("weighting") == "tfidf" else _load(*where)


def run(cell: Any, options: dict[str, Any]) -> Values:
    """Make one run."""
    data = load(cell.data, options)
    return EXPERIMENTS[cell.experiment](data, cell, options)


@cache
def _load(loader: str, links: str, views: tuple[str, ...]) -> Bunch:
    corpus = _LOADERS[loader](links)
    if views:
        corpus.views = corpus.views.select(*views)
    return corpus


@cache
def _weighted(loader: str, links: str, views: tuple[str, ...]) -> Bunch:
    """Words times log(objects / objects with the word)."""
    corpus = _load(loader, links, views)
    words = sparse.csr_array(corpus.views["words"], dtype=np.float64)
    having = np.maximum(np.bincount(words.indices, minlength=words.shape[1]), 1)
    scaled = words @ sparse.dia_array((np.log(len(corpus.target) / having)[None], [0]), shape=(words.shape[1],) * 2)
    others = {name: matrix for name, matrix in corpus.views.items() if name != "words"}
    return Bunch(views=Views({"words": scaled, **others}), target=corpus.target)


@cache
def _directed(loader: str, links: str, views: tuple[str, ...]) -> Bunch:
    """Links with the direction that this copy of Pubmed has lost: a paper by those that it cites."""
    corpus = _load(loader, links, views)
    cites = directed(corpus.views["links"], read_arcs())
    return Bunch(views=Views(words=corpus.views["words"], links=cites), target=corpus.target)


def draw_labels(target: np.ndarray, rate: float, seed: int) -> np.ndarray:
    """Target with all but a share of the objects set to -1: drawn at random, but at least one of each class."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(target))
    kept = list(order[: round(rate * len(target))])
    for k in np.setdiff1d(np.unique(target), target[kept]):
        kept.append(next(i for i in order if target[i] == k))
    labels = np.full(len(target), -1)
    labels[kept] = target[kept]
    return labels


def draw_by_class(target: np.ndarray, rate: float, seed: int) -> np.ndarray:
    """Target with all but ceil(rate n_k) objects of each class k set to -1."""
    rng = np.random.default_rng(seed)
    labels = np.full(len(target), -1)
    for k in np.unique(target):
        rows = rng.permutation(np.flatnonzero(target == k))
        labels[rows[: math.ceil(round(rate * len(rows), 6))]] = k
    return labels


def _model(combine: str = "sum", ontology: Ontology | None = None, **options: Any) -> SeededKMeansClassifier:
    return SeededKMeansClassifier(combine, ontology, n_jobs=1, **options)


# -- table 2: flat methods


def _flat(data: Bunch, cell: Any, options: dict[str, Any]) -> Values:
    labels = draw_labels(data.target, cell["rate"], cell.seed)
    found, seconds = _flat_rows(data.views, labels)
    values = _scores(found, data.target, labels)
    values["agreement"] = {"V1 = V2": 100 * view_agreement(found["V1"], found["V2"])}
    values["seconds"] = seconds
    return values


def _flat_rows(views: Views, labels: np.ndarray, **options: Any) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Labels by each flat method, and its processor time. The views are in the paper's order: the better one first."""
    first, second = views.names[:2]
    given = {
        "V1": ("sum", views.select(first)),
        "V2": ("sum", views.select(second)),
        "V12": ("sum", views.hstack()),
        "COTRAIN": ("co_train", views),
        "PRODSCORE": ("product", views),
        "SUMSCORE": ("sum", views),
        "MAXAGREE": ("max_agree", views),
    }
    found, seconds = {}, {}
    for row, (combine, form) in given.items():
        started = time.process_time()
        model = _model(combine, **options).fit(form, labels)
        seconds[row] = time.process_time() - started
        found[row] = model.transduction_
        if row == "COTRAIN":  # the published figures are those of the second view's labels
            scores = model.decision_function_by_view(views)[second]
            found["COTRAIN, sum"] = model.transduction_
            found[row] = np.where(labels < 0, model.classes_[scores.argmax(axis=1)], labels)
    return found, seconds


def _scores(found: dict[str, np.ndarray], target: np.ndarray, labels: np.ndarray) -> Values:
    hidden = labels == -1
    kinds = {"all objects": np.ones_like(hidden), "unlabeled": hidden}
    return {
        f"{average} F1, {kind}": {
            row: 100 * float(f1_score(target[rows], y[rows], average=average)) for row, y in found.items()
        }
        for kind, rows in kinds.items()
        for average in ("macro", "micro")
    }


# -- table 4: an ontology

EQUATION_9 = {"subset_cost": 1.0, "mutex_cost": 1.0}  # beside scores that count 1; coview's costs are 2 by default


def _hierarchy(data: Bunch, cell: Any, options: dict[str, Any]) -> Values:
    labels = draw_by_class(data.target, cell["rate"], cell.seed)
    names = data.target_names
    known = np.array([*names, None], dtype=object)[labels]
    ontology = Ontology.from_edges([(str(group), top) for group, top in data.hierarchy.items()])
    first, second = data.views.names
    forms = {"V12": data.views.hstack(), "V1": data.views.select(second), "V2": data.views.select(first)}
    found, seconds, sweeps = {}, {}, {}
    flips: Values = {}
    for row in options["rows"][cell.method]:
        name = row.partition(", ")[0]
        plain = name.removeprefix("Hier-")
        combine = {"PROD": "product", "MAX": "max_agree", "COTRAIN": "co_train"}.get(plain, "sum")
        costs = EQUATION_9 if row in ("Hier-SUM", "Hier-PROD") else {}  # Hier-MAX: eq. 10, whose costs are coview's
        started = time.process_time()
        model = _model(combine, ontology if name != plain else None, max_iter=options["sweeps"], **costs)
        model.fit(forms.get(plain, data.views), known)
        seconds[row], sweeps[row] = time.process_time() - started, float(model.n_iter_)
        found[row] = np.array([str(label) for label in model.transduction_])
        if row == "COTRAIN":  # as in table 2: the labels of the weaker view
            found["COTRAIN, sum"] = found[row]
            scores = model.decision_function_by_view(data.views)[first]
            found[row] = np.where(labels < 0, model.classes_[scores.argmax(axis=1)].astype(str), found[row])
        bits = model.history_["flips"] + [0.0] * (options["sweeps"] - model.n_iter_)
        for number, changed in enumerate(bits, 1):
            flips.setdefault(f"bits flipped, sweep {number}", {})[row] = changed
    values = {**_tree_scores(found, data, labels), "seconds": seconds, "sweeps": sweeps, **flips}
    if {"V1", "V2"} <= set(found):
        values["agreement"] = {"V1 = V2": 100 * view_agreement(found["V1"], found["V2"])}
        sizes = np.bincount(data.target, minlength=len(names))
        values["objects of the class"] = {str(name): float(size) for name, size in zip(names, sizes)}
    return values


_HELD_OUT = {"view_weights": "held_out", "early_stopping": True, "validation_fraction": 1 / 3}


def _weighed(data: Bunch, cell: Any, options: dict[str, Any]) -> Values:
    """The same with views weighed and sweeps chosen by held-out labeled objects, beside single-level classifiers."""
    labels = draw_by_class(data.target, cell["rate"], cell.seed)
    names = data.target_names
    texts = np.array([*names, None], dtype=object)[labels]
    ontology = Ontology.from_edges([(str(group), top) for group, top in data.hierarchy.items()])
    found = {}
    for row, tree in {"SeededKMeansClassifier": None, "SeededKMeansClassifier, ontology": ontology}.items():
        model = _model("sum", tree, **_HELD_OUT, max_iter=5, random_state=cell.seed)
        found[row] = np.array([str(label) for label in model.fit(data.views, texts).transduction_])
    for row, classifier in {"linear SVM": LinearSVC(), "complement naive Bayes": ComplementNB()}.items():
        joined = ConcatenatedViews(classifier, unlabeled="drop").fit(data.views, labels)
        found[row] = names[joined.predict(data.views)].astype(str)
    return _tree_scores(found, data, labels)


def _tree_scores(found: dict[str, np.ndarray], data: Bunch, labels: np.ndarray) -> Values:
    names = data.target_names
    hidden, true = labels == -1, names[data.target].astype(str)
    return {
        "leaf macro F1": {
            row: 100 * float(f1_score(true[hidden], y[hidden], average="macro", labels=names))
            for row, y in found.items()
        },
        "leaf micro F1": {row: 100 * float(np.mean(true[hidden] == y[hidden])) for row, y in found.items()},
        "hierarchical F1": {
            row: 100 * hierarchical_f1(true[hidden], y[hidden], dict(data.hierarchy)) for row, y in found.items()
        },
    }


# -- links as words, and words smoothed over links (not in the paper)


def _neighbors(data: Bunch, cell: Any, options: dict[str, Any]) -> Values:
    labels = draw_by_class(data.target, cell["rate"], cell.seed)
    plain, near = _smoothed_of(options["loader"], options.get("links", "symmetric"))
    words, seed = near.select("words_near"), cell.seed

    def kmeans(views: Views, **settings: Any) -> np.ndarray:
        return _model(max_iter=3, random_state=seed, **settings).fit(views, labels).transduction_

    def plsa(views: Views, **settings: Any) -> np.ndarray:
        return MultiViewPLSAClassifier(8, random_state=seed, n_jobs=1, **settings).fit(views, labels).transduction_

    known = labels >= 0
    bayes = MultiViewNaiveBayes(0.03).fit(words[known], labels[known])
    start = bayes.predict_proba(words)
    both = UnitRows().fit_transform(NeighborViews(**_LABELS).fit_transform(plain, labels))
    logistic = ConcatenatedViews(LogisticRegression(C=10, max_iter=200), unlabeled="drop")
    found = {
        "SphericalKMeans": kmeans(plain, **_HELD_OUT),
        "SphericalKMeans, near": kmeans(near.select("words", "words_near", "links_near"), **_HELD_OUT),
        "SphericalKMeans, near, labels": kmeans(
            both.select("words_near", "labels_near"),
            view_weights={"labels_near": 0.06},
            early_stopping=True,
            validation_fraction=0.1,
        ),
        "MultiViewNaiveBayes": MultiViewNaiveBayes(0.01).fit(plain[known], labels[known]).predict(plain),
        "MultiViewNaiveBayes, near": bayes.predict(words),
        "MultiViewPLSA": plsa(plain, max_iter=30),
        "MultiViewPLSA, near": plsa(words, max_iter=10, init={"memberships": 0.999 * start + 0.001 / start.shape[1]}),
        "LogisticRegression": logistic.fit(plain, labels).predict(plain),
        "LogisticRegression, near": logistic.fit(words, labels).predict(words),
    }
    hidden = labels == -1
    return {"accuracy": {row: 100 * float(np.mean((y == data.target)[hidden])) for row, y in found.items()}}


# these, the weight of the labels and the settings of naive Bayes and PLSA: chosen on draws with seeds 100 to 109
_LABELS = {"hops": 10, "restart": 0.2, "tol": 0.01, "labels": True, "label_prior": 0.1}


@cache
def _smoothed_of(loader: str, links: str) -> tuple[Views, Views]:
    """Words by tf-idf and links; and with both smoothed over the links."""
    weighed = TfidfViews(views="words").fit_transform(_load(loader, links, ()).views)
    near = NeighborViews(hops=10, restart=0.1, tol=0.01, views=["words", "links"]).fit_transform(weighed)
    return weighed, UnitRows(views=["words_near", "links_near"]).fit_transform(near)


EXPERIMENTS = {"flat": _flat, "hierarchy": _hierarchy, "weighed": _weighed, "neighbors": _neighbors}
