"""From the scores of several views to labels: sum, product, maximal agreement, and labels for each other.

With s_vi the score of label i in view v of one object and w_v the weight of the view, over the views that it has:

    sum         label of the largest sum_v w_v s_vi, the same in all views: SUMSCORE
    product     label of the largest prod_v max(s_vi, 0)^w_v, the same in all views: PRODSCORE
    max_agree   labels of each view by `solve_labels`: w_v s_vi, less the costs of differences and broken constraints
    co_train    label of the largest s_vi in each view; another view's centroids learn from it

A weight is an exponent in a product, where a factor would be the same for all labels. Scores below 0 count as 0 there:
two negative ones would make a positive product, and the label that is least alike in both views would win.

With an ontology, sum and product are the program of `solve_labels` with one view, that of the combined scores.

Names in capitals, and MAXAGREE and COTRAIN, are those of Dalvi and Cohen (2016), sections 2.3 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coview.assignment.label_program import DEFAULT_COSTS, Costs, label_objective, solve_with
from coview.assignment.ontology import Ontology
from coview.engines.protocol import Team
from coview.views.views import presence_patterns

__all__ = ["COMBINATIONS", "DecisionRule"]

COMBINATIONS = ("sum", "product", "max_agree", "co_train")


@dataclass(frozen=True)
class DecisionRule:
    """How scores become labels.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[[0.9, 0.1], [0.2, 0.3]]])
    >>> DecisionRule("sum").assign(scores)[0].astype(int).tolist()
    [[1, 0], [1, 0]]
    >>> DecisionRule("co_train").assign(scores)[0].astype(int).tolist()
    [[1, 0], [0, 1]]
    """

    combine: str = "sum"
    costs: Costs = DEFAULT_COSTS
    ontology: Ontology | None = None
    weights: tuple[float, ...] | None = None  # of the views, in the order of the scores; None: 1 each
    team: Team = field(default_factory=lambda: Team(1))

    def weigh(self, scores: np.ndarray) -> np.ndarray:
        """Scores times the weights of their views."""
        if self.weights is None:
            return scores
        return scores * np.asarray(self.weights, dtype=scores.dtype)[:, None]

    def combined(self, scores: np.ndarray, present: np.ndarray | None = None) -> np.ndarray:
        """One score per object and label: the sum, or the product, over the views that an object has."""
        if self.combine != "product":
            return self.weigh(scores).sum(axis=1)  # an absent view scores 0
        factors = np.maximum(scores, 0)
        if self.weights is not None:
            factors = factors.astype(np.float64) ** np.asarray(self.weights)[:, None]  # powers of small cosines
        if present is not None:
            # an absent view must not make the product 0
            factors = np.where(present[:, :, None], factors, factors.dtype.type(1))
        return np.asarray(factors.prod(axis=1))

    def assign(self, scores: np.ndarray, present: np.ndarray | None = None) -> np.ndarray:
        """Labels (n_objects, n_views, n_labels) of each view."""
        if self.combine == "max_agree":
            return self._solve(self.weigh(scores), present)
        if self.combine == "co_train":
            labels, weighed = np.zeros(scores.shape, dtype=bool), self.weigh(scores)
            for v in range(scores.shape[1]):
                labels[:, v] = self._solve_one(weighed[:, v])
        else:
            labels = np.repeat(self._solve_one(self.combined(scores, present))[:, None], scores.shape[1], axis=1)
        if present is not None:
            labels &= present[:, :, None]
        return labels

    def objective(self, scores: np.ndarray, labels: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Return the objective of given labels, which assigning and learning both raise for sum and max_agree."""
        # each view pays for its own labels, in a program of the views that are there
        if self.combine == "max_agree":
            total, weighed = np.zeros(len(scores)), self.weigh(scores)
            for rows, views in presence_patterns(present):
                place = np.ix_(rows, views)
                total[rows] = label_objective(weighed[place], labels[place], self.costs, self.ontology)
            return total
        if self.combine == "co_train":
            return np.where(labels, self.weigh(scores), 0).sum(axis=(1, 2), dtype=np.float64)
        on = np.asarray(labels.any(axis=1))
        gain = np.where(on, self.combined(scores, present), 0).sum(axis=1, dtype=np.float64)
        if self.ontology is None:
            return gain
        subset, mutex = self.ontology.count_broken(on)
        return gain - self.costs.subset * subset - self.costs.mutex * mutex

    def decide(self, scores: np.ndarray, labels: np.ndarray, present: np.ndarray | None = None) -> np.ndarray:
        """Label of each object, as a position; -1 where the set is empty.

        The most specific of the labels that are on in any view; of several the one with the highest combined score,
        and of equals the first.
        """
        total = self.combined(scores, present).astype(np.float64)
        # what is above a label always scores at least as well by its wider centroid: only the lowest may win
        if self.ontology is not None:
            total[~self.ontology.most_specific(np.asarray(labels.any(axis=1)))] = -np.inf
        elif self.combine == "max_agree":
            total[~labels.any(axis=1)] = -np.inf
        codes = total.argmax(axis=1)
        if self.ontology is not None:
            codes[~labels.any(axis=(1, 2))] = -1
        return codes

    def teaching_labels(self, labels: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Labels that each view's centroids learn from: its own, or in co-training those of the view before it.

        Where an object lacks that view, the one before it, and so on.
        """
        if self.combine != "co_train" or labels.shape[1] == 1:
            return labels
        n_views = labels.shape[1]
        # predictions of one view teach the next (Bickel and Scheffer 2004); of more than two, in a ring
        taught = labels.copy()
        for v in range(n_views):
            waiting = np.ones(len(labels), dtype=bool)
            for back in range(1, n_views):
                source = (v - back) % n_views
                rows = np.flatnonzero(waiting & present[:, source])
                taught[rows, v] = labels[rows, source]
                waiting[rows] = False
        return taught

    def _solve_one(self, scores: np.ndarray) -> np.ndarray:
        """Labels (n_objects, n_labels) by one score each."""
        if self.ontology is not None:
            return self._solve(scores[:, None], None)[:, 0]
        labels = np.zeros(scores.shape, dtype=bool)
        labels[np.arange(len(scores)), scores.argmax(axis=1)] = True
        return labels

    def _solve(self, scores: np.ndarray, present: Any) -> np.ndarray:
        return solve_with(self.team, np.ascontiguousarray(scores), self.costs, self.ontology, present)[0]
