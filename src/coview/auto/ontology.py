"""`AutoClassifier` under an ontology: one pool of candidates per level, and labels that always fit together.

A label at a leaf is a label of everything above it, and a label at an inner node says something of that level alone. So
the candidates are weighed and fitted once for the leaves and once for each level above them, and their calibrated
probabilities are multiplied. With p_l the probabilities of level l, and l(e) the label above e, or e itself, there:

    p(e)  ~  prod_l p_l(l(e)) ^ w_l        w_l >= 0 of least log loss on held-out labels, near 1 for the leaves,
                                           near 1/2 for the others where labels are few; 0 leaves a level out
    P(i)   =  sum of p(e) over the e that are i or below i

e goes through the lowest labels that have examples, here called ends: mostly leaves. A label that has no examples below
it, but lies below an end, has an equal share of the end's probability with its like; beside others that have examples,
it has none. Every object belongs to one end, so any set that is an end with what is above it breaks no constraint, on
any directed acyclic graph; a level of which some end has several labels is left out.

The answer is the most probable end with what is above it, if its probability reaches `confidence`. If not, it is all
labels that reach `confidence` and are likelier than not. Labels that exclude each other cannot both be, and P never
falls on the way up, so that this is a consistent set; from a confidence of 1/2 on it is the optimum of the label
program of `solve_labels` with scores P(i) - confidence, and one of a higher confidence is part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from coview.assignment.label_sets import check_ontology
from coview.assignment.levels import LEAVES
from coview.assignment.ontology import Ontology
from coview.auto.pooling import TINY, fit_exponents
from coview.auto.table import CandidateTable
from coview.utils import fitted_state as rules
from coview.utils.sampling import each_fold
from coview.views.views import Views

__all__ = ["LevelPool", "check_levels"]

ABOVE = 0.5  # weight of a level above the leaves before any evidence
ROUNDING = 1e-9

HeldOutAnswers = tuple[np.ndarray, np.ndarray]  # objects that were held out, and the probabilities of their classes


@dataclass(frozen=True)
class LevelPool:
    """Classifiers of the levels, whose classes are positions of labels, and what they say together."""

    ontology: Ontology
    models: Mapping[str, Any]
    weights: Mapping[str, float]

    @property
    def ends(self) -> np.ndarray:
        """Positions of the lowest labels that have examples."""
        return np.asarray(self.models[LEAVES].classes_)

    @property
    def above(self) -> np.ndarray:
        """Matrix of bool (ends x labels): the ends and what is above them."""
        return self.ontology.reach[self.ends]

    def shares(self, probabilities: Mapping[str, np.ndarray]) -> np.ndarray:
        """Probabilities of the ends (objects x ends) from those of the classes of each level."""
        total: Any = sum(self.weights[level] * self._logarithms(level, found) for level, found in probabilities.items())
        return np.asarray(softmax(total, axis=1))

    def predict_shares(self, views: Views) -> np.ndarray:
        """Probabilities of the ends of some objects."""
        return self.shares({level: model.predict_proba(views) for level, model in self.models.items()})

    def in_columns(self, shares: np.ndarray) -> np.ndarray:
        """Columns of the ends among those of all labels, 0 for the others."""
        found = np.zeros((len(shares), len(self.ontology)))
        found[:, self.ends] = shares
        return found

    def probabilities(self, shares: np.ndarray) -> np.ndarray:
        """Probabilities of all labels (objects x labels) from those of the ends: sums, and equal shares below."""
        reach = self.ontology.reach
        leaf = reach.sum(axis=0) == 1  # nothing but itself is below it
        spread = self.above.astype(np.float64)
        for row, end in enumerate(self.ends):
            below = reach[:, end] & (np.arange(len(reach)) != end)
            if below.any():
                spread[row, below] = reach[leaf & below].mean(axis=0)[below]
        return shares @ spread

    def label_sets(self, shares: np.ndarray, confidence: float) -> np.ndarray:
        """Labels (objects x labels) of the most probable end, or those that are probable enough and likelier than not.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> tree = Ontology.from_tree({"Animal": ["Dog", "Cat"], "Plant": []})
        >>> pool = LevelPool(tree, {"leaves": SimpleNamespace(classes_=np.array([1, 2, 3]))}, {"leaves": 1.0})
        >>> shares = np.array([[0.3, 0.3, 0.4]])
        >>> [pool.label_sets(shares, confidence).astype(int).tolist() for confidence in (0.4, 0.5, 0.7)]
        [[[0, 0, 0, 1]], [[1, 0, 0, 0]], [[0, 0, 0, 0]]]
        """
        probabilities = shares @ self.above
        sure = (probabilities > 0.5 + ROUNDING) & (probabilities >= confidence - ROUNDING)
        certain = shares.max(axis=1, keepdims=True) >= confidence - ROUNDING
        return np.where(certain, self.above[shares.argmax(axis=1)], sure)

    def lowest(self, sets: np.ndarray) -> np.ndarray:
        """Position of the lowest label of each set, -1 of an empty one."""
        depth = np.where(sets, self.ontology.depth, -1)
        return np.where(sets.any(axis=1), depth.argmax(axis=1), -1)

    def candidates(self) -> CandidateTable:
        """Return the tables of the levels as one, names above the leaves with the level before them."""
        tables = [(level, model.candidates_) for level, model in self.models.items()]
        joined = {key: [value for _, table in tables for value in table[key]] for key in tables[0][1]}
        joined["name"] = [
            name if level == LEAVES else f"{level}: {name}" for level, table in tables for name in table["name"]
        ]
        return CandidateTable(joined)

    def by_label(self, rows: Callable[[Any], Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """One row for every label, by view, from those that the models have for their classes; 0 for no example."""
        found: dict[str, np.ndarray] = {}
        for model in [*self.models.values()][::-1]:
            for view, part in rows(model).items():
                mine = found.setdefault(view, np.zeros((len(self.ontology), part.shape[1]), dtype=part.dtype))
                mine[model.classes_] = part
        return found

    def _logarithms(self, level: str, probabilities: np.ndarray) -> np.ndarray:
        """Logarithms of a level's probabilities, for each end that of its label there."""
        places = self.above[:, self.models[level].classes_].argmax(axis=1)
        return np.log(np.maximum(np.asarray(probabilities, dtype=np.float64), TINY))[:, places]

    def weigh(self, held_out: Mapping[str, HeldOutAnswers], codes: np.ndarray, folds: np.ndarray) -> LevelEvidence:
        """Weights of the levels by objects that were held out at all of them, of which the end is known (codes)."""
        rows = reduce(np.intersect1d, [rows for rows, _ in held_out.values()])
        rows = rows[codes[rows] >= 0]
        own, prior = codes[rows], np.array([1.0 if level == LEAVES else ABOVE for level in held_out])
        stack = np.array(
            [self._logarithms(level, found[np.searchsorted(known, rows)]) for level, (known, found) in held_out.items()]
        )
        weights = dict(zip(held_out, fit_exponents(stack, own, prior).tolist()))
        combined = np.empty((len(own), len(self.ends)))
        for here in each_fold(folds[rows]):
            learned = fit_exponents(stack[:, ~here], own[~here], prior)
            combined[here] = softmax(np.tensordot(learned, stack[:, here], axes=1), axis=1)
        return LevelEvidence(weights, own, combined)


class LevelEvidence(NamedTuple):
    """Weights of the levels, the ends of held-out objects, and their probabilities without an object's own fold."""

    weights: dict[str, float]
    codes: np.ndarray
    probabilities: np.ndarray


def check_levels(checker: rules.Checker, models: Any, where: str) -> None:
    """Hold the models of a file against its ontology: each end must have one label at every level."""
    ontology, weights = checker.state["ontology"], checker.state.get("level_weights_")
    check_ontology(checker, ontology, "ontology")
    if not isinstance(models, dict) or LEAVES not in models or weights is None or set(models) != set(weights):
        checker.refuse(where, "has other levels than level_weights_, or none")
    views = checker.state.get("view_names_")
    for level, model in models.items():
        place = f"{where}[{level!r}]"
        checker.check(rules.estimator(codes="classes", methods=["predict_proba"]), model, place)
        if type(model) is not type(models[LEAVES]) or model.ontology is not None or model.view_names_ != views:
            checker.refuse(place, "is no classifier of the same views without an ontology")
        checker.check(rules.integers(None, below=len(ontology), rising=True), model.classes_, f"{place}.classes_")
    look = list(checker.later)  # positions are held against the number of labels before they are used
    checker.later.clear()
    for each in look:
        each()
    for level, model in models.items():
        if (ontology.reach[models[LEAVES].classes_][:, model.classes_].sum(axis=1) != 1).any():
            checker.refuse(f"{where}[{level!r}]", "has not one class for each of the lowest labels")
