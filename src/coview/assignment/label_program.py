"""`solve_labels`: the best label sets of objects from the scores of their views; exact, without a solver per object.

For one object with scores s (views x labels), over y in {0, 1}, with the cost d of a disagreement (Dalvi and Cohen
2016, equations 7 and 8 without an ontology, 9 and 10 with one; d is their alpha_2, the other costs their alpha_3, and
alpha_1 is 1):

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

from coview.assignment.constraint_graph import count_tables, list_candidate_sets, plan_tree
from coview.assignment.ontology import Ontology
from coview.engines.protocol import Team, count_threads
from coview.validation import check_number, check_option
from coview.views.views import presence_patterns

__all__ = [
    "DEFAULT_COSTS",
    "Costs",
    "label_objective",
    "solve_labels",
    "solve_with",
    "team_of",
]

_MOST_CHOICES = 5e7  # combinations that a kernel may look at for one object: about what HiGHS takes for it

Solution = tuple[np.ndarray, np.ndarray, np.ndarray]  # labels, objective, and which objects are solved


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
    solver : {"auto", "milp"}, default="auto"
        "auto" takes the fastest exact way: without an ontology a closed form for two views, or a dynamic program over
        the labels; a dynamic program over a tree; a search through the label sets that may be best; HiGHS where there
        are too many. "milp" calls HiGHS for each object.
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
    check_option("solver", solver, ("auto", "milp"))
    if ontology is not None and len(ontology) != values.shape[2]:
        raise ValueError(f"scores has {values.shape[2]} labels, but the ontology has {len(ontology)}.")
    return solve_with(team_of(n_jobs), values, costs, ontology, present, solver)


@lru_cache(maxsize=8)
def team_of(n_jobs: int | None) -> Team:
    """Threads for a number of jobs; kept, since counting what is allowed takes longer than thousands of objects."""
    return Team(count_threads(n_jobs))


def solve_with(
    team: Team,
    values: np.ndarray,
    costs: Costs,
    ontology: Ontology | None,
    present: Any = None,
    solver: str = "auto",
) -> tuple[np.ndarray, np.ndarray]:
    """`solve_labels` of checked arguments by given threads: for those who call it often."""
    labels = np.zeros(values.shape, dtype=bool)
    objective = np.zeros(len(values))
    # a view that an object lacks is no variable of its program: objects with the same views are solved together
    for rows, views in presence_patterns(_check_present(present, values.shape)):
        place = np.ix_(rows, views)
        part = values if len(rows) == len(values) and len(views) == values.shape[1] else values[place]
        ways = [] if solver == "milp" else _list_solvers(part.shape, costs, ontology, team)
        labels[place], objective[rows] = _solve_in_turn(part, ways, costs, ontology)
    return labels, objective


def label_objective(
    scores: np.ndarray, labels: np.ndarray, costs: Costs = DEFAULT_COSTS, ontology: Ontology | None = None
) -> np.ndarray:
    """Return the objective of given labels, by the formula."""
    on = np.asarray(labels, dtype=bool)
    count = on.sum(axis=1)
    # of n views with a label on, n (V - n) pairs of views differ in it
    apart = (count * (on.shape[1] - count)).sum(axis=1)
    if ontology is None:
        paid = costs.mutex * np.abs(on.sum(axis=2) - 1).sum(axis=1)
    else:
        subset, mutex = ontology.count_broken(on)
        paid = (costs.subset * subset + costs.mutex * mutex).sum(axis=1)
    return np.where(on, scores, 0.0).sum(axis=(1, 2), dtype=np.float64) - costs.disagreement * apart - paid


def _check_scores(scores: Any) -> np.ndarray:
    values = np.asarray(scores)
    if values.ndim != 3 or 0 in values.shape[1:]:
        raise ValueError(f"scores must have shape (n_objects, n_views, n_labels), got {values.shape}.")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("scores contain NaN or infinity. Every score must be finite.")
    return np.ascontiguousarray(values)


def _check_present(present: Any, shape: tuple[int, ...]) -> np.ndarray:
    if present is None:
        return np.ones(shape[:2], dtype=bool)
    mask = np.asarray(present, dtype=bool)
    if mask.shape != shape[:2]:
        raise ValueError(f"present must have shape {shape[:2]}, got {mask.shape}.")
    return mask


def _solve_in_turn(
    scores: np.ndarray, ways: list[Callable[[np.ndarray], Solution]], costs: Costs, ontology: Ontology | None
) -> tuple[np.ndarray, np.ndarray]:
    """Solve by one way after the other, each for the objects that those before it left; HiGHS takes what remains."""
    labels, objective = np.zeros(scores.shape, dtype=bool), np.zeros(len(scores))
    # the fast ways rest on conditions that most objects meet, and say which ones do not
    left = np.arange(len(scores))
    for way in ways:
        chosen, reached, solved = way(scores if len(left) == len(scores) else scores[left])
        labels[left[solved]], objective[left[solved]] = chosen[solved], reached[solved]
        left = left[~solved]
        if not len(left):
            return labels, objective
    labels[left] = _solve_milp(scores[left].astype(np.float64), costs, ontology)
    objective[left] = label_objective(scores[left], labels[left], costs, ontology)
    return labels, objective


def _list_solvers(
    shape: tuple[int, ...], costs: Costs, ontology: Ontology | None, team: Team
) -> list[Callable[[np.ndarray], Solution]]:
    """Return the ways to solve the objects, fastest first."""
    from coview.kernels import labels as kernels  # numba takes a second to load: not for who only loads a model

    _, n_views, n_labels = shape
    if ontology is None:
        # 4^V steps of a label: states of the views times sets of views that take it
        closed: list[Any] = [partial(_solve_two_views, costs=costs)] if n_views == 2 else []
        flat = partial(_run, kernel=kernels.solve_flat, costs=(costs.disagreement, costs.mutex), plan=(), team=team)
        return [*closed, flat] if n_labels * 4.0**n_views <= _MOST_CHOICES else closed
    tree = plan_tree(ontology)
    if tree is None:
        return [partial(_solve_sets, costs=costs, ontology=ontology, team=team)]
    plan = tree.order, tree.node_ptr, tree.group_ptr, tree.members
    # the cost grows with (cap + 1)^V: a small cap first, and a larger one for the objects that it cannot solve
    largest = int(np.diff(tree.group_ptr).max())
    # members of a group that are on in a view: one is enough for most objects, three for nearly all
    caps = sorted({min(cap, largest) for cap in (1, 3, largest)})
    return [
        partial(_run, kernel=kernels.solve_tree, costs=costs, plan=(*plan, *count_tables(n_views, cap), cap), team=team)
        for cap in caps
        if n_labels * 4.0**n_views * (cap + 1.0) ** n_views <= _MOST_CHOICES
    ]


def _run(scores: np.ndarray, kernel: Callable[..., None], costs: Any, plan: tuple[Any, ...], team: Team) -> Solution:
    labels = np.zeros(scores.shape, dtype=bool)
    objective, solved = np.zeros(len(scores)), np.zeros(len(scores), dtype=bool)
    fixed = scores.view()
    fixed.flags.writeable = False  # one compiled kernel serves every caller
    team.map(
        lambda start, stop: kernel(fixed, *costs, *plan, labels, objective, solved, start, stop), _pieces(len(scores))
    )
    return labels, objective, solved


def _solve_two_views(scores: np.ndarray, costs: Costs) -> Solution:
    """Two views: the best common label, unless the views' own favorites win by more than 2 d.

    Right where a second label or none never pays: mutex >= max s + d and mutex >= d - max_i s_i of each view.
    """
    d, mutex = costs.disagreement, costs.mutex
    # two different favorites differ in two labels, which costs 2 d
    total = scores.sum(axis=1, dtype=np.float64)
    common, favorites = total.argmax(axis=1), scores.argmax(axis=2)
    together = np.take_along_axis(total, common[:, None], axis=1)[:, 0]
    own = np.take_along_axis(scores, favorites[:, :, None], axis=2)[:, :, 0].astype(np.float64)
    apart = own.sum(axis=1) - 2 * d
    labels = np.zeros(scores.shape, dtype=bool)
    chosen = np.where((apart > together)[:, None], favorites, common[:, None])
    np.put_along_axis(labels, chosen[:, :, None], True, axis=2)
    solved = (mutex >= own.max(axis=1) + d) & (mutex >= d - own.min(axis=1))
    return labels, np.maximum(apart, together), solved


def _solve_sets(scores: np.ndarray, costs: Costs, ontology: Ontology, team: Team) -> Solution:
    n, n_views, n_labels = scores.shape
    objective, chosen = np.zeros(n), np.zeros((n, n_views), dtype=np.int64)
    others = (n_views - 1) * costs.disagreement
    # bounds in quarters of the larger cost, upwards: the sets of one block of objects serve the next
    unit = max(costs.subset, costs.mutex) / 4 or 1.0
    # g and h of `constraint_graph`
    bounds = max(float(scores.max()), 0.0) + others, others - min(float(scores.min()), 0.0)
    kept = list_candidate_sets(ontology, *(float(np.ceil(b / unit)) * unit for b in bounds), costs.subset, costs.mutex)
    if kept is None or float(len(kept[0])) ** n_views > _MOST_CHOICES:
        return np.zeros(scores.shape, dtype=bool), objective, np.zeros(n, dtype=bool)
    sets, paid = kept
    on = sets.astype(np.float64)
    apart = costs.disagreement * (on @ (1 - on.T) + (1 - on) @ on.T)

    from coview.kernels.labels import choose_sets

    def solve(start: int, stop: int) -> None:
        worth = scores[start:stop].reshape(-1, n_labels).astype(np.float64) @ on.T - paid
        worth = worth.reshape(stop - start, n_views, len(sets))
        choose_sets(worth, apart, chosen[start:stop], objective[start:stop])

    team.map(solve, _pieces(n))
    return sets[chosen], objective, np.ones(n, dtype=bool)


def _pieces(n: int, rows: int = 1024) -> list[tuple[int, int]]:
    return [(start, min(start + rows, n)) for start in range(0, n, rows)]


# -- HiGHS


def _solve_milp(scores: np.ndarray, costs: Costs, ontology: Ontology | None) -> np.ndarray:
    """Labels (n_objects, n_views, n_labels) by one call of HiGHS per object."""
    n, n_views, n_labels = scores.shape
    matrix, upper, charged = _constraints(n_views, n_labels, ontology)
    integer = np.zeros(matrix.shape[1])
    integer[: n_views * n_labels] = 1
    bounds = optimize.Bounds(0, np.where(integer > 0, 1.0, np.inf))
    rule = optimize.LinearConstraint(matrix, -np.inf, upper)
    weights = np.concatenate([np.zeros(n_views * n_labels), np.array(costs)[charged]])
    labels = np.zeros(scores.shape, dtype=bool)
    for i in range(n):
        weights[: n_views * n_labels] = -scores[i].ravel()
        # HiGHS stops within 1e-6 of the optimum; of a larger objective that is a smaller part
        scale = 1e3 / max(float(np.abs(weights).max()), 1e-300)
        solution = optimize.milp(
            weights * scale, integrality=integer, bounds=bounds, constraints=rule, options={"mip_rel_gap": 0.0}
        )
        if solution.x is None:
            raise RuntimeError(f"HiGHS found no labels for object {i}: {solution.message}")
        labels[i] = solution.x[: n_views * n_labels].reshape(n_views, n_labels) > 0.5
    return labels


def _constraints(n_views: int, n_labels: int, ontology: Ontology | None) -> tuple[Any, np.ndarray, np.ndarray]:
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
        # |a - b| <= z as two rows
        for i in range(n_labels):
            charge(0, 0, {y[v, i]: 1, y[w, i]: -1}, {y[v, i]: -1, y[w, i]: 1})
    for v in range(n_views):
        if ontology is None:
            charge(2, 1, dict.fromkeys(y[v], 1.0))
            charge(2, -1, dict.fromkeys(y[v], -1.0))
            continue
        for child, parent in ontology.subset_codes:
            charge(1, 0, {y[v, child]: 1, y[v, parent]: -1})
        for a, b in ontology.mutex_codes:
            charge(2, 1, {y[v, a]: 1, y[v, b]: 1})
    entries = [(r, int(c), value) for r, row in enumerate(rows) for c, value in row.items()]
    r, c, values = zip(*entries) if entries else ((), (), ())
    matrix = sparse.coo_array((values, (r, c)), shape=(len(rows), size + len(charged))).tocsr()
    return matrix, np.array(upper, dtype=float), np.array(charged, dtype=np.int64)
