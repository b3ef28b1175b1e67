"""`solve_labels`: the best label sets of objects from the scores of their views; exact, without a solver per object.

For one object with scores s (views x labels), over y in {0, 1}, with the cost d of a disagreement:

    maximize  sum_v sum_i y_vi s_vi  -  d sum_{v<w} sum_i |y_vi - y_wi|  -  sum_v cost of what y_v breaks

With an ontology a view pays `subset_cost` for each subset pair and `mutex_cost` for each mutex pair that it breaks, and
nothing asks for a label. Without one it pays `mutex_cost` times |n_v - 1|, n_v its number of labels: one label each,
but softly.

The general case, and the yardstick of all other solvers, is a mixed integer program for HiGHS:

    maximize   sum s y - d sum a - sum cost z
    subject to a >= |y_v - y_w|;   with an ontology  z >= y_child - y_parent,  z >= y_a + y_b - 1  in each view;
               without  sum_i y_i <= 1 + z,  sum_i y_i >= 1 - z'  in each view;   y in {0, 1}, the others >= 0
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, sparse

from coview.assignment.constraint_graph import Component, Pairs, candidate_sets, components, count_tables
from coview.assignment.ontology import Ontology
from coview.engines.threads import Team, thread_count
from coview.kernels import labels as kernels
from coview.validation import check_number, check_option
from coview.views.views import presence_patterns

__all__ = [
    "DEFAULT_COSTS",
    "SOLVERS",
    "Costs",
    "label_objective",
    "solve_labels",
    "solve_with",
    "team_of",
]

SOLVERS = ("auto", "two_views", "partitions", "labels", "tree", "sets", "milp")
_ROWS = 4096  # objects per piece of work of a thread
_MOST_SETS = 2048
_MOST_CHOICES = 5e7  # combinations of sets over the views that a search may have to look at
_MOST_STATES = 1 << 22  # numbers that the tree program may keep for one object
_SCALE = 1e3  # HiGHS stops within 1e-6 of the optimum; of a larger objective that is a smaller part

Solution = tuple[np.ndarray, np.ndarray, np.ndarray]  # labels, objective, solved


class Costs(NamedTuple):
    """What the label program charges, in units of the scores."""

    disagreement: float = 0.2
    subset: float = 2.0
    mutex: float = 2.0

    @classmethod
    def checked(cls, disagreement_cost: Any, subset_cost: Any, mutex_cost: Any) -> Costs:
        """Return the costs, or say which of them is not a finite number of at least 0."""
        values = {"disagreement_cost": disagreement_cost, "subset_cost": subset_cost, "mutex_cost": mutex_cost}
        return cls(*(check_number(name, value) for name, value in values.items()))


DEFAULT_COSTS = Costs()


def solve_labels(
    scores: Any,
    *,
    disagreement_cost: float = 0.2,
    subset_cost: float = 2.0,
    mutex_cost: float = 2.0,
    ontology: Ontology | None = None,
    solver: str = "auto",
    present: Any = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the optimal labels of each object in each view.

    Parameters
    ----------
    scores : array-like (n_objects, n_views, n_labels)
        How well each label fits; any real numbers.
    disagreement_cost : float, default=0.2
        Cost of a label that one view has and another has not, for each such pair of views.
    subset_cost : float, default=2.0
        Cost of a label without one that the ontology puts above it, in each view.
    mutex_cost : float, default=2.0
        Cost of two labels that exclude each other, in each view; without an ontology, of each label more or less than
        one.
    ontology : Ontology or None, default=None
        Constraints among the labels, in the order of ``ontology.labels``. Without one, each view should have one label.
    solver : {"auto", "two_views", "partitions", "labels", "tree", "sets", "milp"}, default="auto"
        "auto" takes the fastest that is exact for the object at hand. "two_views" is a closed form, "partitions" the
        best partition of the views with one label each, "labels" a dynamic program over the labels for any costs
        (these three without ontology), "tree" a dynamic program over a tree, "sets" goes through the label sets
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
    ([[[1, 0], [1, 0]]], [1.1])
    >>> tree = Ontology.from_tree({"Animal": ["Dog", "Cat"]})
    >>> solve_labels([[[0.2, 0.8, 0.7]]], ontology=tree)[0].astype(int).tolist()
    [[[1, 1, 0]]]
    """
    values = _check_scores(scores)
    costs = Costs.checked(disagreement_cost, subset_cost, mutex_cost)
    check_option("solver", solver, SOLVERS)
    if ontology is not None and len(ontology) != values.shape[2]:
        raise ValueError(f"scores has {values.shape[2]} labels, but the ontology has {len(ontology)}.")
    return solve_with(team_of(n_jobs), values, costs, ontology, present, solver)


@lru_cache(maxsize=8)
def team_of(n_jobs: int | None) -> Team:
    """Threads for a number of jobs; kept, since counting what is allowed takes longer than thousands of objects."""
    return Team(thread_count(n_jobs))


def solve_with(
    team: Team,
    values: np.ndarray,
    costs: Costs,
    ontology: Ontology | None,
    present: Any = None,
    solver: str = "auto",
) -> tuple[np.ndarray, np.ndarray]:
    """`solve_labels` of checked arguments by given threads: for those who call it often."""
    work = _Program(costs, solver, team)
    labels = np.zeros(values.shape, dtype=bool)
    objective = np.zeros(len(values))
    for rows, views in presence_patterns(_checked_present(present, values.shape)):
        whole = len(rows) == len(values) and len(views) == values.shape[1]
        part = values if whole else np.ascontiguousarray(values[np.ix_(rows, views)])
        chosen, reached = work.flat(part) if ontology is None else work.constrained(part, ontology)
        if whole:
            return chosen, reached
        labels[np.ix_(rows, views)] = chosen
        objective[rows] = reached
    return labels, objective


def label_objective(
    scores: np.ndarray, labels: np.ndarray, costs: Costs = DEFAULT_COSTS, ontology: Ontology | None = None
) -> np.ndarray:
    """Return the objective of given labels, by the formula."""
    pairs = None if ontology is None else (ontology.subset_codes, ontology.mutex_codes)
    return _objective(scores, np.asarray(labels, dtype=bool), costs, pairs)


def _objective(scores: np.ndarray, on: np.ndarray, costs: Costs, pairs: tuple[Any, Any] | None) -> np.ndarray:
    count = on.sum(axis=1)
    apart = (count * (on.shape[1] - count)).sum(axis=1)
    if pairs is None:
        paid = costs.mutex * np.abs(on.sum(axis=2) - 1).sum(axis=1)
    else:
        child, parent = np.asarray(pairs[0], dtype=np.int64).reshape(-1, 2).T
        a, b = np.asarray(pairs[1], dtype=np.int64).reshape(-1, 2).T
        paid = costs.subset * (on[..., child] & ~on[..., parent]).sum(axis=(1, 2))
        paid = paid + costs.mutex * (on[..., a] & on[..., b]).sum(axis=(1, 2))
    return np.where(on, scores, 0.0).sum(axis=(1, 2), dtype=np.float64) - costs.disagreement * apart - paid


def _check_scores(scores: Any) -> np.ndarray:
    try:
        values = np.asarray(scores)
    except ValueError:  # lists of different lengths
        values = np.array(None)
    if values.ndim != 3 or 0 in values.shape[1:]:
        raise ValueError(f"scores must have shape (n_objects, n_views, n_labels), got {values.shape}.")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(values.sum(dtype=np.float64)) and not np.isfinite(values).all():
            raise ValueError("scores contain NaN or infinity. Every score must be finite.")
    return np.ascontiguousarray(values)


def _checked_present(present: Any, shape: tuple[int, ...]) -> np.ndarray:
    if present is None:
        return np.ones(shape[:2], dtype=bool)
    mask = np.asarray(present, dtype=bool)
    if mask.shape != shape[:2]:
        raise ValueError(f"present must have shape {shape[:2]}, got {mask.shape}.")
    return mask


class _Program:
    """One call: the costs, the solver asked for, and the threads."""

    def __init__(self, costs: Costs, solver: str, team: Team) -> None:
        self.costs, self.solver, self.team = costs, solver, team

    # -- without ontology

    def flat(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n_views = scores.shape[1]
        fitting: dict[str, Callable[..., None]] = {}
        if n_views == 2:
            fitting["two_views"] = kernels.two_views
        if n_views <= 8 and not (n_views == 2 and self.solver == "auto"):
            fitting["partitions"] = kernels.partitions
        if n_views <= 6:
            fitting["labels"] = kernels.label_program
        if self.solver != "auto":
            fitting = {name: kernel for name, kernel in fitting.items() if name == self.solver}
            if not fitting and self.solver != "milp":
                raise ValueError(
                    f"solver={self.solver!r} does not support {n_views} views without an ontology. Use 'auto'."
                )
        return self._in_turn(scores, [self._kernel(kernel) for kernel in fitting.values()], None)

    def _kernel(self, kernel: Callable[..., None]) -> Callable[[np.ndarray], Solution]:
        costs = self.costs.disagreement, self.costs.mutex
        return lambda scores: self._run(scores, lambda *out: kernel(_fixed(scores), *costs, *out))

    # -- with an ontology

    def constrained(self, scores: np.ndarray, ontology: Ontology) -> tuple[np.ndarray, np.ndarray]:
        if not (self.costs.subset and self.costs.mutex):  # constraints that cost nothing bind nothing
            subset, mutex = ontology.subset if self.costs.subset else (), ontology.mutex if self.costs.mutex else ()
            ontology = Ontology(ontology.labels, subset, mutex)
        parts = components(ontology)
        if len(parts) == 1:
            return self._component(scores, parts[0])
        labels = np.zeros(scores.shape, dtype=bool)
        objective = np.zeros(len(scores))
        for part in parts:
            chosen, reached = self._component(np.ascontiguousarray(scores[:, :, part.codes]), part)
            labels[:, :, part.codes] = chosen
            objective += reached
        return labels, objective

    def _component(self, scores: np.ndarray, part: Component) -> tuple[np.ndarray, np.ndarray]:
        ways: list[Callable[[np.ndarray], Solution]] = []
        if part.tree is not None and self.solver in ("auto", "tree"):
            ways += [partial(self._tree, part, cap) for cap in self._caps(part, scores.shape[1])]
        if self.solver in ("auto", "sets"):
            ways.append(partial(self._sets, part))
        if not ways and self.solver != "milp":
            raise ValueError(
                f"solver={self.solver!r} does not support this ontology with {scores.shape[1]} views. Use 'auto'."
            )
        return self._in_turn(scores, ways, (part.subset, part.mutex))

    def _caps(self, part: Component, n_views: int) -> list[int]:
        """Numbers of exclusive siblings to reckon with: a few, all; as long as the states can be kept."""
        assert part.tree is not None
        largest = part.tree.largest
        size = [len(part.codes) * 2**n_views * (cap + 1) ** n_views for cap in range(largest + 1)]
        caps = [cap for cap in sorted({min(3, largest), largest}) if size[cap] <= _MOST_STATES]
        # of many views only one member at a time can be followed; that is enough for most objects
        return caps or [cap for cap in (min(1, largest),) if size[cap] <= _MOST_STATES]

    def _tree(self, part: Component, cap: int, scores: np.ndarray) -> Solution:
        tree = part.tree
        assert tree is not None
        plan = (tree.order, tree.node_ptr, tree.group_ptr, tree.members, *count_tables(scores.shape[1], cap), cap)
        return self._run(scores, lambda *out: kernels.tree_program(_fixed(scores), *self.costs, *plan, *out))

    def _sets(self, part: Component, scores: np.ndarray) -> Solution:
        n, n_views, n_labels = scores.shape
        labels, objective = np.zeros(scores.shape, dtype=bool), np.zeros(n)
        others = (n_views - 1) * self.costs.disagreement
        most, least = max(float(scores.max()), 0.0), min(float(scores.min()), 0.0)
        kept = candidate_sets(part, most + others, others - least, self.costs.subset, self.costs.mutex, _MOST_SETS)
        if kept is None or len(kept[0]) ** n_views > _MOST_CHOICES:
            return labels, objective, np.zeros(n, dtype=bool)
        sets, paid = kept
        on = sets.astype(np.float64)
        apart = self.costs.disagreement * (on @ (1 - on.T) + (1 - on) @ on.T)
        chosen = np.zeros((n, n_views), dtype=np.int64)
        rows = max(1, min(_ROWS, (1 << 22) // (n_views * len(sets))))

        def solve(start: int, stop: int) -> None:
            worth = scores[start:stop].reshape(-1, n_labels).astype(np.float64) @ on.T - paid
            worth = worth.reshape(stop - start, n_views, len(sets))
            kernels.choose_sets(worth, apart, chosen[start:stop], objective[start:stop], 0, stop - start)

        self.team.map(solve, _pieces(n, rows))
        return sets[chosen], objective, np.ones(n, dtype=bool)

    # -- for all

    def _run(self, scores: np.ndarray, kernel: Callable[..., None]) -> Solution:
        labels = np.zeros(scores.shape, dtype=bool)
        objective, solved = np.zeros(len(scores)), np.zeros(len(scores), dtype=bool)
        pieces = _pieces(len(scores), _ROWS)
        self.team.map(lambda start, stop: kernel(labels, objective, solved, start, stop), pieces)
        return labels, objective, solved

    def _in_turn(
        self, scores: np.ndarray, ways: list[Callable[[np.ndarray], Solution]], pairs: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """One solver after the other, each for the objects that those before it left; HiGHS takes what remains."""
        labels, objective = np.zeros(scores.shape, dtype=bool), np.zeros(len(scores))
        left = np.arange(len(scores))
        for way in ways:
            whole = len(left) == len(scores)
            chosen, reached, solved = way(scores if whole else scores[left])
            if whole and solved.all():
                return chosen, reached
            done = left[solved]
            labels[done], objective[done] = chosen[solved], reached[solved]
            left = left[~solved]
            if not len(left):
                return labels, objective
        if self.solver not in ("auto", "milp"):
            raise ValueError(
                f"solver={self.solver!r} is not exact for {len(left)} of {len(scores)} objects with these costs and "
                "scores. Use 'auto'."
            )
        remaining = scores[left].astype(np.float64)
        labels[left] = _solve_milp(remaining, self.costs, pairs)
        objective[left] = _objective(remaining, labels[left], self.costs, pairs)
        return labels, objective


def _pieces(n: int, rows: int) -> list[tuple[int, int]]:
    return [(start, min(start + rows, n)) for start in range(0, n, rows)]


def _fixed(array: np.ndarray) -> np.ndarray:
    """Read-only, so that one compiled kernel serves every caller."""
    view = array.view()
    view.flags.writeable = False
    return view


# -- HiGHS


def _solve_milp(scores: np.ndarray, costs: Costs, pairs: tuple[Pairs, Pairs] | None) -> np.ndarray:
    """Labels (n_objects, n_views, n_labels) by one call of HiGHS per object.

    `pairs` are the subset and the mutex pairs of an ontology, None without one.
    """
    n, n_views, n_labels = scores.shape
    matrix, upper, charged = _constraints(n_views, n_labels, pairs)
    integer = np.zeros(matrix.shape[1])
    integer[: n_views * n_labels] = 1
    bounds = optimize.Bounds(0, np.where(integer > 0, 1.0, np.inf))
    rule = optimize.LinearConstraint(matrix, -np.inf, upper)
    weights = np.concatenate([np.zeros(n_views * n_labels), np.array(costs)[charged]])
    labels = np.zeros(scores.shape, dtype=bool)
    for i in range(n):
        weights[: n_views * n_labels] = -scores[i].ravel()
        scale = _SCALE / max(float(np.abs(weights).max()), 1e-300)
        solution = optimize.milp(
            weights * scale, integrality=integer, bounds=bounds, constraints=rule, options={"mip_rel_gap": 0.0}
        )
        if solution.x is None:
            raise RuntimeError(f"HiGHS found no labels for object {i}: {solution.message}")
        labels[i] = solution.x[: n_views * n_labels].reshape(n_views, n_labels) > 0.5
    return labels


@lru_cache(maxsize=32)
def _constraints(n_views: int, n_labels: int, pairs: tuple[Pairs, Pairs] | None) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows matrix @ x <= upper; x = labels, differences, slacks; and which of `Costs` each x after the labels pays."""
    size = n_views * n_labels
    y = np.arange(size).reshape(n_views, n_labels)
    rows: list[dict[int, float]] = []
    upper: list[float] = []
    charged: list[int] = []

    def charge(cost: int, bound: float, *sums: dict[int, float]) -> None:
        """Add a variable that pays for what the sums exceed the bound by."""
        rows.extend({**part, size + len(charged): -1.0} for part in sums)
        upper.extend([bound] * len(sums))
        charged.append(cost)

    for v, w in combinations(range(n_views), 2):
        for i in range(n_labels):
            charge(0, 0, {y[v, i]: 1, y[w, i]: -1}, {y[v, i]: -1, y[w, i]: 1})
    for v in range(n_views):
        if pairs is None:
            charge(2, 1, dict.fromkeys(y[v], 1.0))
            charge(2, -1, dict.fromkeys(y[v], -1.0))
            continue
        for child, parent in pairs[0]:
            charge(1, 0, {y[v, child]: 1, y[v, parent]: -1})
        for a, b in pairs[1]:
            charge(2, 1, {y[v, a]: 1, y[v, b]: 1})
    entries = [(r, int(c), value) for r, row in enumerate(rows) for c, value in row.items()]
    r, c, values = zip(*entries) if entries else ((), (), ())
    matrix = sparse.coo_array((values, (r, c)), shape=(len(rows), size + len(charged))).tocsr()
    return matrix, np.array(upper, dtype=float), np.array(charged, dtype=np.int64)
