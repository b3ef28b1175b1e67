"""`solve_labels`: the best label sets of objects from the scores of their views; exact, without a solver per object.

For one object with scores s (views x labels), over y in {0, 1}:

    maximize  a1 sum_v sum_i y_vi s_vi  -  a2 sum_{v<w} sum_i |y_vi - y_wi|  -  a3 sum_v broken(y_v)

Without an ontology broken(y_v) = |n_v - 1|, n_v the number of labels of view v: one label each, but softly. With an
ontology it is the number of subset and mutex pairs that y_v breaks, and nothing asks for a label.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from coview.assignment.ontology import Ontology
from coview.assignment.parts import Part, count_tables, parts_of
from coview.assignment.programs import solve_milp
from coview.assignment.sets import useful_sets
from coview.engines.threads import Team, thread_count
from coview.kernels import labels as kernels

__all__ = ["SOLVERS", "check_alpha", "label_objective", "presence_patterns", "solve_labels", "solve_with", "team_of"]

SOLVERS = ("auto", "two_views", "partitions", "labels", "tree", "sets", "milp")
_ROWS = 4096  # objects per piece of work of a thread
_MOST_SETS = 2048
_MOST_CHOICES = 5e7  # combinations of sets over the views that a search may have to look at
_MOST_STATES = 1 << 22  # numbers that the tree programme may keep for one object

Alpha = tuple[float, float, float]
Found = tuple[np.ndarray, np.ndarray, np.ndarray]  # labels, objective, solved


def solve_labels(
    scores: Any,
    *,
    alpha: Any = (0.5, 0.1, 1.0),
    ontology: Ontology | None = None,
    solver: str = "auto",
    present: Any = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the best labels of each object in each view.

    Parameters
    ----------
    scores : array-like (n_objects, n_views, n_labels)
        How well each label fits; any real numbers.
    alpha : (float, float, float), default=(0.5, 0.1, 1.0)
        Weights of the scores, of differences between views, and of broken constraints; none below 0.
    ontology : Ontology or None, default=None
        Constraints among the labels, in the order of ``ontology.labels``. Without one, each view should have one label.
    solver : {"auto", "two_views", "partitions", "labels", "tree", "sets", "milp"}, default="auto"
        "auto" takes the fastest that is exact for the object at hand. "two_views" is a closed form, "partitions" the
        best partition of the views with one label each, "labels" a dynamic programme over the labels for any weights
        (these three without ontology), "tree" a dynamic programme over a tree, "sets" goes through the label sets
        that may be best, "milp" calls HiGHS once per object.
    present : array-like of bool (n_objects, n_views), optional
        Views that take part; an absent one has no label and differs from nothing. All of them by default.
    n_jobs : int or None, default=None
        Threads; None takes all cores. The result does not depend on it.

    Returns
    -------
    labels : ndarray of bool (n_objects, n_views, n_labels)
        The best labels; where several choices are equally good, one of them.
    objective : ndarray (n_objects,)
        What they reach.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import Ontology, solve_labels
    >>> scores = np.array([[[0.9, 0.1], [0.2, 0.3]]])
    >>> labels, objective = solve_labels(scores)
    >>> labels.astype(int).tolist(), objective.round(2).tolist()
    ([[[1, 0], [1, 0]]], [0.55])
    >>> tree = Ontology.from_tree({"Animal": ["Dog", "Cat"]})
    >>> solve_labels([[[0.2, 0.8, 0.7]]], ontology=tree)[0].astype(int).tolist()
    [[[1, 1, 0]]]
    """
    values = _check_scores(scores)
    weights = check_alpha(alpha)
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {solver!r}.")
    if ontology is not None and len(ontology) != values.shape[2]:
        raise ValueError(f"scores are of {values.shape[2]} labels, but the ontology has {len(ontology)}.")
    return solve_with(team_of(n_jobs), values, weights, ontology, present, solver)


@lru_cache(maxsize=8)
def team_of(n_jobs: int | None) -> Team:
    """Threads for a number of jobs; kept, since counting what is allowed takes longer than thousands of objects."""
    return Team(thread_count(n_jobs))


def solve_with(
    team: Team,
    values: np.ndarray,
    alpha: Alpha,
    ontology: Ontology | None,
    present: Any = None,
    solver: str = "auto",
) -> tuple[np.ndarray, np.ndarray]:
    """`solve_labels` of checked arguments by given threads: for those who call it often."""
    work = _Work(alpha, solver, team)
    labels = np.zeros(values.shape, dtype=bool)
    objective = np.zeros(len(values))
    for rows, views in presence_patterns(present, values.shape):
        whole = len(rows) == len(values) and len(views) == values.shape[1]
        part = values if whole else np.ascontiguousarray(values[np.ix_(rows, views)])
        found, reached = work.flat(part) if ontology is None else work.constrained(part, ontology)
        if whole:
            return found, reached
        labels[np.ix_(rows, views)] = found
        objective[rows] = reached
    return labels, objective


def label_objective(
    scores: np.ndarray, labels: np.ndarray, alpha: Any = (0.5, 0.1, 1.0), ontology: Ontology | None = None
) -> np.ndarray:
    """What given labels reach, by the formula.

    Examples
    --------
    >>> import numpy as np
    >>> label_objective(np.array([[[0.9, 0.1], [0.2, 0.3]]]), np.array([[[1, 0], [0, 1]]], dtype=bool)).round(2)
    array([0.4])
    """
    a1, a2, a3 = check_alpha(alpha)
    on = np.asarray(labels, dtype=bool)
    count = on.sum(axis=1)
    apart = (count * (on.shape[1] - count)).sum(axis=1)
    if ontology is None:
        broken = np.abs(on.sum(axis=2) - 1).sum(axis=1)
    else:
        broken = ontology.n_broken(on).sum(axis=1)
    return a1 * np.where(on, scores, 0.0).sum(axis=(1, 2), dtype=np.float64) - a2 * apart - a3 * broken


def check_alpha(alpha: Any) -> Alpha:
    """Return the three weights, or say what is wrong with them."""
    try:
        weights = tuple(float(value) for value in alpha)
    except (TypeError, ValueError):
        weights = ()
    if len(weights) != 3 or not all(0 <= value < math.inf for value in weights):
        raise ValueError(
            f"alpha must be three numbers of at least 0 (scores, differences, broken constraints), got {alpha!r}."
        )
    return weights[0], weights[1], weights[2]


def _check_scores(scores: Any) -> np.ndarray:
    values = np.asarray(scores)
    if values.ndim != 3 or 0 in values.shape[1:]:
        raise ValueError(f"scores must be of shape (n_objects, n_views, n_labels), got {values.shape}.")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(values.sum(dtype=np.float64)) and not np.isfinite(values).all():
            raise ValueError("scores hold NaN or infinity. Every score must be a finite number.")
    return np.ascontiguousarray(values)


def presence_patterns(present: Any, shape: tuple[int, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows that have the same views, and those views."""
    n, n_views = shape[:2]
    if not n:
        return []
    if present is None:
        return [(np.arange(n), np.arange(n_views))]
    mask = np.asarray(present, dtype=bool)
    if mask.shape != (n, n_views):
        raise ValueError(f"present must be of shape {(n, n_views)}, got {mask.shape}.")
    if mask.all():
        return [(np.arange(n), np.arange(n_views))]
    # rows are told apart by one number each, or by themselves where that would not fit
    bits = mask @ (1 << np.arange(n_views)) if n_views < 63 else np.unique(mask, axis=0, return_inverse=True)[1].ravel()
    kinds, first = np.unique(bits, return_index=True)
    found = [(np.flatnonzero(bits == kind), np.flatnonzero(mask[row])) for kind, row in zip(kinds, first)]
    return [(rows, views) for rows, views in found if len(views)]


class _Work:
    """One call: the weights, the solver asked for, and the threads."""

    def __init__(self, alpha: Alpha, solver: str, team: Team) -> None:
        self.alpha, self.solver, self.team = alpha, solver, team

    # -- without ontology

    def flat(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n_views = scores.shape[1]
        fitting: dict[str, Callable[..., None]] = {}
        if n_views == 2:
            fitting["two_views"] = kernels.two_views
        if n_views <= 8 and not (n_views == 2 and self.solver == "auto"):
            fitting["partitions"] = kernels.partitions
        if n_views <= 6:
            fitting["labels"] = kernels.label_programme
        if self.solver != "auto":
            fitting = {name: kernel for name, kernel in fitting.items() if name == self.solver}
            if not fitting and self.solver != "milp":
                raise ValueError(
                    f"solver={self.solver!r} does not fit {n_views} views without an ontology. Use 'auto'."
                )
        return self._in_turn(scores, [self._kernel(kernel) for kernel in fitting.values()], None)

    def _kernel(self, kernel: Callable[..., None]) -> Callable[[np.ndarray], Found]:
        return lambda scores: self._run(scores, lambda *out: kernel(_fixed(scores), *self.alpha, *out))

    # -- with an ontology

    def constrained(self, scores: np.ndarray, ontology: Ontology) -> tuple[np.ndarray, np.ndarray]:
        if self.alpha[2] == 0:  # constraints that cost nothing bind nothing
            ontology = Ontology(ontology.labels)
        parts = parts_of(ontology)
        if len(parts) == 1:
            return self._part(scores, parts[0])
        labels = np.zeros(scores.shape, dtype=bool)
        objective = np.zeros(len(scores))
        for part in parts:
            found, reached = self._part(np.ascontiguousarray(scores[:, :, part.codes]), part)
            labels[:, :, part.codes] = found
            objective += reached
        return labels, objective

    def _part(self, scores: np.ndarray, part: Part) -> tuple[np.ndarray, np.ndarray]:
        ways: list[Callable[[np.ndarray], Found]] = []
        if part.tree is not None and self.solver in ("auto", "tree"):
            ways += [partial(self._tree, part, cap) for cap in self._caps(part, scores.shape[1])]
        if self.solver in ("auto", "sets"):
            ways.append(partial(self._sets, part))
        if not ways and self.solver != "milp":
            raise ValueError(
                f"solver={self.solver!r} does not fit this ontology with {scores.shape[1]} views. Use 'auto'."
            )
        return self._in_turn(scores, ways, (part.subset, part.mutex))

    def _caps(self, part: Part, n_views: int) -> list[int]:
        """Numbers of exclusive siblings to reckon with: a few, all; as long as the states can be kept."""
        assert part.tree is not None
        largest = part.tree.largest
        size = [len(part.codes) * 2**n_views * (cap + 1) ** n_views for cap in range(largest + 1)]
        found = [cap for cap in sorted({min(3, largest), largest}) if size[cap] <= _MOST_STATES]
        # of many views only one member at a time can be followed; that is enough for most objects
        return found or [cap for cap in (min(1, largest),) if size[cap] <= _MOST_STATES]

    def _tree(self, part: Part, cap: int, scores: np.ndarray) -> Found:
        tree = part.tree
        assert tree is not None
        plan = (tree.order, tree.node_ptr, tree.group_ptr, tree.members, *count_tables(scores.shape[1], cap), cap)
        return self._run(scores, lambda *out: kernels.tree_programme(_fixed(scores), *self.alpha, *plan, *out))

    def _sets(self, part: Part, scores: np.ndarray) -> Found:
        a1, a2, a3 = self.alpha
        n, n_views, n_labels = scores.shape
        labels, objective = np.zeros(scores.shape, dtype=bool), np.zeros(n)
        others = (n_views - 1) * a2
        unit = a3 or 1.0  # without weight there are no constraints left
        most, least = max(float(scores.max()), 0.0), min(float(scores.min()), 0.0)
        found = useful_sets(part, (a1 * most + others) / unit, (others - a1 * least) / unit, _MOST_SETS)
        if found is None or len(found[0]) ** n_views > _MOST_CHOICES:
            return labels, objective, np.zeros(n, dtype=bool)
        sets, broken = found
        on = sets.astype(np.float64)
        apart = a2 * (on @ (1 - on.T) + (1 - on) @ on.T)
        chosen = np.zeros((n, n_views), dtype=np.int64)
        rows = max(1, min(_ROWS, (1 << 22) // (n_views * len(sets))))

        def solve(start: int, stop: int) -> None:
            worth = a1 * (scores[start:stop].reshape(-1, n_labels).astype(np.float64) @ on.T) - a3 * broken
            worth = worth.reshape(stop - start, n_views, len(sets))
            kernels.choose_sets(worth, apart, chosen[start:stop], objective[start:stop], 0, stop - start)

        self.team.map(solve, _pieces(n, rows))
        return sets[chosen], objective, np.ones(n, dtype=bool)

    # -- for all

    def _run(self, scores: np.ndarray, kernel: Callable[..., None]) -> Found:
        labels = np.zeros(scores.shape, dtype=bool)
        objective, solved = np.zeros(len(scores)), np.zeros(len(scores), dtype=bool)
        pieces = _pieces(len(scores), _ROWS)
        self.team.map(lambda start, stop: kernel(labels, objective, solved, start, stop), pieces)
        return labels, objective, solved

    def _in_turn(
        self, scores: np.ndarray, ways: list[Callable[[np.ndarray], Found]], pairs: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """One solver after the other, each for the objects that those before it left; HiGHS takes what remains."""
        labels, objective = np.zeros(scores.shape, dtype=bool), np.zeros(len(scores))
        left = np.arange(len(scores))
        for way in ways:
            whole = len(left) == len(scores)
            found, reached, solved = way(scores if whole else scores[left])
            if whole and solved.all():
                return found, reached
            done = left[solved]
            labels[done], objective[done] = found[solved], reached[solved]
            left = left[~solved]
            if not len(left):
                return labels, objective
        if self.solver not in ("auto", "milp"):
            raise ValueError(
                f"solver={self.solver!r} is not exact for {len(left)} of {len(scores)} objects with these weights and "
                "scores. Use 'auto'."
            )
        remaining = scores[left].astype(np.float64)
        labels[left] = solve_milp(remaining, self.alpha, pairs)
        objective[left] = _reached(remaining, labels[left], self.alpha, pairs)
        return labels, objective


def _reached(scores: np.ndarray, labels: np.ndarray, alpha: Alpha, pairs: Any) -> np.ndarray:
    if pairs is None:
        return label_objective(scores, labels, alpha)
    return label_objective(scores, labels, alpha, Ontology(range(scores.shape[2]), *pairs))


def _pieces(n: int, rows: int) -> list[tuple[int, int]]:
    return [(start, min(start + rows, n)) for start in range(0, n, rows)]


def _fixed(array: np.ndarray) -> np.ndarray:
    """Read-only, so that one compiled kernel serves every caller."""
    view = array.view()
    view.flags.writeable = False
    return view
