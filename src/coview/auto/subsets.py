"""How sure `AutoClassifier` is of new objects, and from some of the views: as sure as it agrees with the fit.

Candidates are calibrated with all views. One view of a few categories then says with certainty what is right a third of
the time. So for each view alone, and for all views without it, a sample of unlabeled objects is asked for once more.
With m(z | i) the probability of class z for object i by all views, and z(i) the likeliest class by a subset S,

    r_S = mean over i of m(z(i) | i)         how often S is right, as far as the model can tell
    T_S : mean over i of max_z p_S(z | i)^(1 / T_S) / Z = r_S

with a little belief that T_S is the temperature of all views. No label is needed, and the likeliest class stays. Where
nearly all objects are labeled, labels that were held out in the first fold take the place of m.

The objects must be new to who is asked: a graph finds an object among its own neighbors, whatever the view, and topics
know its words. So no object of the sample is a neighbor, and topics are fitted again without it, by a few sweeps of
some thousands of objects; of very many objects none matters. Classifiers that learn from labels alone have not seen
unlabeled objects, and centers of classes hardly notice one.

The same sample is asked for with all views, which gives the temperature of new objects: topics know the words of the
objects that they were fitted to, and are less sure of others. Of classifiers that learn from labels alone it is the
one of the fit. Candidates that need links are not asked again: they say what the fit says, as they smooth a new object
over its links like one of the fit (of one-directional links it has those that lead to others only), and learn from
labels alone or hardly notice one object.

Between one view and all but one, log T_S goes from the least of its views alone to the most of all without one that it
lacks. How far is told by what each view says alone, 1 / T_v: where two good views are missing, two poor ones together
say hardly more than the better of them. Of views that say as much as each other, it is in proportion to their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from coview.auto.candidates import FAILURES
from coview.auto.cross_validation import LARGE, class_scores, few_unlabeled, fit_candidate
from coview.auto.pipelines import PER_CLASS, PipelineCandidate, needed_view
from coview.auto.pooling import matching_temperature, pool
from coview.classification.label_spreading import LabelSpreadingClassifier
from coview.classification.wrapper import last_step
from coview.plsa.multiview import MultiViewPLSAClassifier
from coview.views.views import Views

__all__ = [
    "ALONE",
    "ASKED",
    "WITHOUT",
    "Asked",
    "SubsetEvidence",
    "Told",
    "asked_of",
    "gather_evidence",
    "temperature_of_new",
    "temperatures_of_objects",
]

ASKED = 120  # objects
ALL_ASKED = 3  # views: of more, all without one are asked for the best view only
SWEEPS = 15  # of topics that are fitted without them
HEARD = 0.9  # least share of the weights that must have been asked with all views
ALONE, WITHOUT = "alone", "without"


@dataclass(frozen=True)
class Asked:
    """A kept candidate, fitted without having seen some objects, and these objects as its classifier takes them."""

    candidate: PipelineCandidate
    model: Any
    views: Views
    weight: float
    temperature: float

    def answer(self, names: Sequence[str], classes: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Weights and probabilities of the objects from views of these names; None where it cannot tell or fails."""
        chosen = [name for name in self.views.names if name in names]
        if not chosen:
            return None
        some = self.views.select(*chosen)
        try:
            found = softmax(class_scores(self.model, some, classes) / self.temperature, axis=1)
        except FAILURES:
            return None
        return self.weight * some.present.any(axis=1), found


@dataclass(frozen=True)
class Told:
    """What the fit says of some objects by a kept candidate that needs links, which lead out of a sample."""

    names: Sequence[str]
    weight: float
    weights: np.ndarray
    probabilities: np.ndarray

    def answer(self, names: Sequence[str], classes: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Weights and probabilities of the objects from views of these names; None unless these are all."""
        return (self.weights, self.probabilities) if set(self.names) <= set(names) else None


def asked_of(
    candidate: PipelineCandidate,
    model: Any,
    rest: Any,
    views: Views,
    codes: np.ndarray,
    rows: np.ndarray,
    classes: np.ndarray,
    weight: float,
    temperature: float,
) -> Asked | None:
    """Prepare to ask a fitted candidate for some of its training objects as if they were new; None where it cannot be.

    `model` is `rest` after the fit to `views` and `codes`, behind the steps that read no labels.
    """
    if needed_view(candidate.estimator) is not None:
        return None  # it knows objects by their links, which lead out of a sample
    others = np.setdiff1d(np.arange(len(codes)), rows)
    last = last_step(model)
    if isinstance(last, LabelSpreadingClassifier):
        model = _with_last(model, _without_neighbors(last, rows))
    elif isinstance(last, MultiViewPLSAClassifier) and len(codes) <= LARGE and (codes[others] >= 0).any():
        shorter = clone(last).set_params(
            max_iter=min(int(last.max_iter), SWEEPS), view_weights=dict(last.view_weights_)
        )
        others = others[few_unlabeled(codes[others], PER_CLASS, 0)]
        model = fit_candidate(_with_last(rest, shorter), views[others], codes[others], classes)
    return Asked(candidate, model, views[rows], weight, temperature)


def _with_last(model: Any, last: Any) -> Any:
    """Give a pipeline another last step, also one inside a pipeline; of one that is none, the step."""
    if not isinstance(model, Pipeline):
        return last
    name, inner = model.steps[-1]
    return Pipeline([*model.steps[:-1], (name, _with_last(inner, last))])


def _without_neighbors(graph: LabelSpreadingClassifier, rows: np.ndarray) -> LabelSpreadingClassifier:
    """Return the same fitted graph, where new objects are compared with all but these training objects."""
    other = copy(graph)
    other.neighbor_rows_ = {name: np.setdiff1d(near, rows) for name, near in graph.neighbor_rows_.items()}
    return other


@dataclass(frozen=True)
class SubsetEvidence:
    """What some objects say of subsets of the views: by subset, probabilities and how probable the likeliest class is.

    `kept` are the candidates that were asked, `weight` that of all, `targets` the probabilities by all views, or 1 at a
    label, `present` says who has which view, in the order of `names`, and `factors` are those of the classes.
    """

    kept: Sequence[Asked | Told]
    weight: float
    targets: np.ndarray
    present: np.ndarray
    names: Sequence[str]
    factors: np.ndarray

    def of(self, subset: Sequence[str], classes: np.ndarray, least: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of objects that have all of these views, and those of their likeliest class by all views.

        There are none where those that answer have less than the `least` share of the weight.
        """
        told = [(each.weight, each.answer(subset, classes)) for each in self.kept]
        answers = [answer for _, answer in told if answer is not None]
        n = len(self.targets)
        if not answers or sum(weight for weight, answer in told if answer is not None) < least * self.weight:
            return np.empty((0, len(classes))), np.empty(0)
        known = self.present[:, [name in subset for name in self.names]].all(axis=1)
        known &= np.sum([weights for weights, _ in answers], axis=0) > 0
        mean = pool(answers, np.full(len(classes), 1 / len(classes)), n, self.factors)[known]
        return mean, self.targets[known, mean.argmax(axis=1)]


def gather_evidence(
    evidence: Iterable[SubsetEvidence], names: Sequence[str], classes: np.ndarray, usual: float
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Temperatures of each view alone and of all without it, and how often each alone is right; `usual` is that of all.

    Where nobody was asked there is none.
    """
    sources = list(evidence)

    def fit(subset: list[str]) -> tuple[float, float]:
        return _match(sources, subset, classes, usual)

    alone = {name: fit([name]) for name in names}
    temperatures = {ALONE: {name: found for name, (found, _) in alone.items()}, WITHOUT: {}}
    if len(names) == 2:
        temperatures[WITHOUT] = dict(zip(names, [*temperatures[ALONE].values()][::-1]))
    elif len(names) > 2:
        best = max(names, key=lambda name: np.nan_to_num(alone[name][1]))
        for name in names if len(names) <= ALL_ASKED else [best]:  # of many views, only one is hard to do without
            temperatures[WITHOUT][name] = fit([other for other in names if other != name])[0]
    return temperatures, {name: right for name, (_, right) in alone.items() if not np.isnan(right)}


def temperature_of_new(
    evidence: Iterable[SubsetEvidence], names: Sequence[str], classes: np.ndarray, usual: float
) -> float:
    """Temperature of objects that are new, with all views; `usual` where candidates of some weight cannot be asked."""
    return _match(list(evidence), names, classes, usual, HEARD)[0]


def _match(
    sources: Sequence[SubsetEvidence], subset: Sequence[str], classes: np.ndarray, usual: float, least: float = 0.0
) -> tuple[float, float]:
    """Temperature of a subset of the views, and how often it is right; the usual one and NaN where nobody was asked."""
    parts = [each.of(subset, classes, least) for each in sources]
    found, wanted = (np.concatenate([part[i] for part in parts]) if parts else np.empty(0) for i in (0, 1))
    if not len(wanted):
        return usual, float("nan")
    return matching_temperature(found, wanted, usual), float(wanted.mean())


def temperatures_of_objects(
    known: Mapping[str, Mapping[str, float]], usual: float, names: Sequence[str], present: np.ndarray
) -> np.ndarray:
    """Temperature of each object (a column) by the views that it has; `usual` of who has all of them.

    Examples
    --------
    >>> known = {"alone": {"a": 4.0, "b": 1.0, "c": 2.0}, "without": {"a": 1.0, "b": 3.0, "c": 1.0}}
    >>> present = np.array([[True, True, True], [True, False, False], [True, False, True]])
    >>> temperatures_of_objects(known, 0.5, ["a", "b", "c"], present).ravel()
    array([0.5, 4. , 3. ])
    """
    patterns, which = np.unique(present, axis=0, return_inverse=True)
    found = [_of_pattern(known, usual, names, pattern) for pattern in patterns]
    return np.array(found)[which.ravel(), None]


def _of_pattern(
    known: Mapping[str, Mapping[str, float]], usual: float, names: Sequence[str], pattern: np.ndarray
) -> float:
    there = [name for name, has in zip(names, pattern) if has]
    lacking = [name for name, has in zip(names, pattern) if not has]
    if not there or not lacking:
        return usual
    if len(there) == 1:
        return known[ALONE].get(there[0], usual)
    if len(lacking) == 1:
        return known[WITHOUT].get(lacking[0], usual)
    told, missed = ([1 / known[ALONE].get(name, usual) for name in part] for part in (there, lacking))
    least = np.log(1 / max(told))
    most = np.log(max(known[WITHOUT].get(name, usual) for name in lacking))
    added = sum(told) - max(told)
    return float(np.exp(least + (most - least) * added / (added + sum(missed) - min(missed))))
