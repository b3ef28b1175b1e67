"""The experiments of the 2016 paper: one function per method, one run per call.

A run returns ``{metric: {row: value}}`` in percent. Every method gives a similarity of each test image and each test
text in the spaces that it has, and all are measured alike.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from corpora import load_wikipedia_retrieval
from sklearn.base import BaseEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import Bunch

from coview import (
    CoPLSA,
    CrossModalRetriever,
    EachView,
    LinkPLSA,
    SemanticCorrelationMatching,
    TfidfViews,
    UnitRows,
    inspect,
)
from coview.inspection import Inspection
from coview.inspection.reading import can_transform, embed_objects, transform_objects
from coview.metrics import mean_average_precision
from coview.plsa.co_plsa import CoSteps
from coview.plsa.steps import ROW_FLOOR

SWEEPS, TRIAL_SWEEPS, STARTS = 100, 40, 4
CHOICE_SEED = 0  # of the held-out quarter and the starts that choose a weight
DIVERGENCES = {"sKL coPLSA": "skl", "L2 coPLSA": "l2", "L1 coPLSA": "l1", "coview CoPLSA, L1": "l1"}
SPACES = ("topic", "semantic")

Values = dict[str, dict[str, float]]


class AlternatingL1Steps(CoSteps):
    """Steps of L1 as published: equation 13 for the mixtures of one modality after the other."""

    def _moved(
        self, old: np.ndarray, pulls: list[np.ndarray], have: np.ndarray, names: list[str], ops: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        new, couplings = np.array(old), self._couplings(names)
        for v, _ in self._ordered(names):
            own, others = self._columns(v), [w for w in range(len(names)) if w != v]
            near = np.stack([new[:, self._columns(w)] for w in others])
            weights = have[:, others].T * couplings[v, others][:, None]
            moved = np.maximum(_l1_rows(pulls[v] * old[:, own], near, weights), ROW_FLOOR)
            new[:, own] = np.where(have[:, [v]], moved / moved.sum(axis=1, keepdims=True), old[:, own])
        return new, np.zeros(len(old))


def _l1_rows(counts: np.ndarray, near: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mixtures h that maximize sum_k counts log h - sum_w weights |h - near|, by bisection of their multiplier."""
    order = np.argsort(near, axis=0)
    places = np.concatenate([np.zeros((1, *counts.shape)), np.take_along_axis(near, order, 0)])
    steps = np.take_along_axis(np.broadcast_to(weights[:, :, None], near.shape), order, 0)
    total = weights.sum(axis=0)[:, None]
    slopes = np.concatenate([np.zeros((1, *counts.shape)), 2 * np.cumsum(steps, axis=0)]) - total
    low, high = -total, counts.sum(axis=1, keepdims=True) + total

    def at(multiplier: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            free = np.where(multiplier + slopes > 0, counts / (multiplier + slopes), np.inf)
        return np.maximum(free, places).min(axis=0)

    for _ in range(60):
        middle = (low + high) / 2
        above = at(middle).sum(axis=1, keepdims=True) > 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return at(high)


class AlternatingL1(CoPLSA):
    """CoPLSA whose L1 fit takes the modalities in turn, as published."""

    def _steps(self) -> CoSteps:
        steps = super()._steps()
        return AlternatingL1Steps(steps.width, pairs=steps.pairs, divergence=steps.divergence)


def load(data: str, options: dict[str, Any]) -> Bunch:
    """Views "text" and "image" and the categories, for training and testing; kept in memory."""
    return _load(options["text"])


def run(cell: Any, options: dict[str, Any]) -> Values:
    """Make one run."""
    corpus = load(cell.data, options)
    if cell.experiment == "tags":
        return _tags(cell.method, corpus, options, cell.seed)
    if cell.experiment == "joint":
        return _measured(cell.method, _joint(cell.method, corpus, options, cell.seed), corpus.test_target)
    if cell.experiment == "weight":
        model = _coplsa(cell.method, options["topics"], cell["weight"], cell.seed)
        return _measured(cell.method, _search(model, corpus, ("topic",)), corpus.test_target)
    return _measured(cell.method, METHODS[cell.method](corpus, options, cell.seed), corpus.test_target)


@cache
def _load(text: str) -> Bunch:
    corpus = load_wikipedia_retrieval()
    views = corpus.views.select(text, "image").rename({text: "text"})
    is_train = corpus.split == "train"
    return Bunch(
        train=views[is_train],
        test=views[~is_train],
        target=corpus.target[is_train],
        test_target=corpus.target[~is_train],
        target_names=corpus.target_names,
        texts=[text for text, train in zip(corpus.texts, is_train) if not train],
        words=text == "words",
    )


# -- similarities of test images (rows) and test texts (columns), by space


def _link_plsa(options: dict[str, Any], seed: int) -> Any:
    """Link PLSA by plain EM; the paper scales every object to sum to one in each modality."""
    model = LinkPLSA(
        options["topics"],
        likelihood="multinomial",
        init="random",
        max_iter=SWEEPS,
        algorithm="published",
        random_state=seed,
    )
    return make_pipeline(UnitRows("l1"), model)


def _link(corpus: Bunch, options: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    return _search(_link_plsa(options, seed), corpus)


def _co(name: str) -> Any:
    def search(corpus: Bunch, options: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
        weight = chosen_weight(name, options["text"], options["topics"], tuple(options["weights"]))
        return _search(_coplsa(name, options["topics"], weight, seed), corpus)

    return search


def _scm(corpus: Bunch, options: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    roots = EachView({"image": FunctionTransformer(np.sqrt)})
    return _search(make_pipeline(*_weighing(corpus), roots, SemanticCorrelationMatching(random_state=seed)), corpus)


def _retriever(corpus: Bunch, options: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    """Return what coview offers for best results: two kinds of models, one of them with several starts."""
    kernel = EachView({"image": Nystroem("chi2", gamma=1.0, n_components=500, random_state=seed)})
    matching = SemanticCorrelationMatching(300, C={"text": 10.0, "image": 1.0}, random_state=seed)
    # as often as the other model, so that both count alike
    models = [make_pipeline(*_weighing(corpus), kernel, matching)] * STARTS
    models += [_coplsa("sKL coPLSA", options["topics"], 1.0, 100 * seed + start) for start in range(STARTS)]
    return _search(models, corpus)


def _regressions(corpus: Bunch, options: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    text = TfidfViews() if corpus.words else EachView(StandardScaler())
    steps = {
        "text": (text, LogisticRegression(C=10.0 if corpus.words else 1.0, max_iter=1000)),
        "image": (
            EachView(make_pipeline(FunctionTransformer(np.sqrt), StandardScaler())),
            LogisticRegression(C=0.01, max_iter=1000),
        ),
    }
    vectors = {}
    for name, (step, head) in steps.items():
        train = step.fit_transform(corpus.train.select(name))[name]
        head.fit(train, corpus.target)
        apart = head.predict_proba(step.transform(corpus.test.select(name))[name])
        vectors[name] = _unit(apart - head.predict_proba(train).mean(axis=0))
    return {"semantic": vectors["image"] @ vectors["text"].T}


def _joint(method: str, corpus: Bunch, options: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    """Similarities where each test pair is folded in with both modalities: the answer is part of the question."""
    if method == "Link PLSA":
        link = _link_plsa(options, seed)
        link.fit(corpus.train)
        places = [dict.fromkeys(("image", "text"), link.transform(X)) for X in (corpus.train, corpus.test)]
    else:
        model = _coplsa(method, options["topics"], 1.0, seed).fit(corpus.train)
        places = [model.transform_by_view(X) for X in (corpus.train, corpus.test)]
    found: dict[str, dict[str, np.ndarray]] = {space: {} for space in SPACES}
    for view in ("image", "text"):
        train, test = (part[view] for part in places)
        head = LogisticRegression(C=10.0, max_iter=1000).fit(train, corpus.target)
        found["topic"][view] = _unit(test - train.mean(axis=0))
        found["semantic"][view] = _unit(head.predict_proba(test) - head.predict_proba(train).mean(axis=0))
    return {space: parts["image"] @ parts["text"].T for space, parts in found.items()}


METHODS = {
    "LR": _regressions,
    "SCM": _scm,
    "Link PLSA": _link,
    **{name: _co(name) for name in DIVERGENCES},  # "L1 coPLSA" in turn, as published; coview's jointly
    "Retriever": _retriever,
}


# -- pieces


ANSWERS = {"memberships": Inspection.memberships, "embed": embed_objects, "transform": transform_objects}


class Remembered(BaseEstimator):
    """A fitted model that keeps its answers for each view of the same objects."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.inspection = inspect(model)
        self.answers: dict[Any, np.ndarray] = {}

    def __sklearn_clone__(self) -> Remembered:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        if name != "transform" or not can_transform(self.inspection):
            raise AttributeError(name)
        return lambda X: self._once("transform", X)

    def fit(self, X: Any, y: Any = None) -> Remembered:
        return self

    def _inspect(self) -> Inspection:
        own = self.inspection
        return replace(
            own,
            preparation=replace(own.preparation, front=None, steps=()),
            _memberships=own._memberships and (lambda X: self._once("memberships", X)),
            _embed=own._embed and (lambda X: self._once("embed", X)),
        )

    def _once(self, question: str, X: Any) -> np.ndarray:
        key = (question, X.names, X.ids.tobytes())
        if key not in self.answers:
            self.answers[key] = ANSWERS[question](self.inspection, X)
        return self.answers[key]


def _weighing(corpus: Bunch) -> list[Any]:
    return [TfidfViews(sublinear_tf=True, views="text")] if corpus.words else []


def _coplsa(name: str, topics: int, weight: float, seed: int, sweeps: int = SWEEPS) -> CoPLSA:
    model = AlternatingL1 if name == "L1 coPLSA" else CoPLSA
    settings = {"divergence": DIVERGENCES[name], "coupling": weight, "likelihood": "multinomial"}
    settings["algorithm"] = "published"
    return model(topics, **settings, max_iter=sweeps, random_state=seed)


def _search(model: Any, corpus: Bunch, spaces: tuple[str, ...] = SPACES) -> dict[str, np.ndarray]:
    """Similarities in each space; the models are fitted once, and place every object once."""
    fitted = CrossModalRetriever(model).fit(corpus.train, corpus.target)
    known = [Remembered(one) for one in fitted.models_]
    fitted.models_ = known
    found = {}
    for space in spaces:
        retriever = fitted
        if space != "topic":
            retriever = CrossModalRetriever(known, space)
            retriever.fit(corpus.train, corpus.target)
        retriever.clear().add(corpus.test)
        found[space] = retriever.similarities(corpus.test, "image", "text")
    return found


@cache
def chosen_weight(name: str, text: str, topics: int, weights: tuple[float, ...]) -> float:
    """Weight with the highest mean average precision on a quarter of the training pairs, held out once for all runs."""
    corpus = _load(text)
    rows = np.arange(len(corpus.target))
    kept, held = train_test_split(rows, test_size=0.25, stratify=corpus.target, random_state=CHOICE_SEED)
    scores = {}
    for weight in weights:
        model = _coplsa(name, topics, weight, CHOICE_SEED, TRIAL_SWEEPS).fit(corpus.train[kept])
        vectors = {view: model.transform(corpus.train[held].select(view)) for view in ("image", "text")}
        unit = {view: _unit(found - found.mean(axis=0)) for view, found in vectors.items()}
        values = _measured(name, {"topic": unit["image"] @ unit["text"].T}, corpus.target[held])
        scores[weight] = np.mean([rows[name] for metric, rows in values.items() if metric.endswith("full")])
    return max(scores, key=scores.__getitem__)


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _measured(row: str, similarities: dict[str, np.ndarray], target: np.ndarray) -> Values:
    """Mean average precision of both directions: the paper's, over the full ranking, and within the first 10 ranks."""
    measures: dict[str, dict[str, Any]] = {
        "": {"at": 10, "cutoff": "relevant"},
        " full": {},
        " at 10": {"at": 10},
    }
    values: Values = {}
    for space, scores in similarities.items():
        for direction, part in (("i2t", scores), ("t2i", scores.T)):
            for suffix, how in measures.items():
                found = mean_average_precision(part, query_labels=target, item_labels=target, **how)
                values[f"{space} {direction}{suffix}"] = {row: 100 * found}
    return values


def tagger(method: str, corpus: Bunch, options: dict[str, Any], seed: int) -> CrossModalRetriever:
    """Return a fitted retriever that tags images."""
    model: Any = _coplsa("sKL coPLSA", options["topics"], 1.0, seed)
    if method == "Link PLSA":
        model = _link_plsa(options, seed)
    return CrossModalRetriever(model).fit(corpus.train)


def _tags(method: str, corpus: Bunch, options: dict[str, Any], seed: int) -> Values:
    """Share of 10 tags of each test image that are words of the text beside it."""
    names = {str(name): j for j, name in enumerate(corpus.train.feature_names["text"])}
    n_test = len(corpus.test)
    if method == "frequent words":
        counts = np.asarray(corpus.train["text"].sum(axis=0)).ravel()
        rng = np.random.default_rng(seed)
        chosen = {
            "ranked": np.tile(np.argsort(-counts, kind="stable")[:10], (n_test, 1)),
            "drawn": np.array(
                [rng.choice(len(counts), 10, replace=False, p=counts / counts.sum()) for _ in range(n_test)]
            ),
        }
    else:
        retriever, images = tagger(method, corpus, options, seed), corpus.test.select("image")
        chosen = {
            how: np.array(
                [[names[tag] for tag, _ in tags] for tags in retriever.tags(images, 10, how=how, random_state=seed)]
            )
            for how in ("ranked", "drawn")
        }
    there = corpus.test["text"].toarray() > 0
    return {how: {method: 100 * float(np.take_along_axis(there, tags, axis=1).mean())} for how, tags in chosen.items()}
