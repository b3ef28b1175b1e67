"""`SeededKMeansClassifier`: classes from few labels and several views by optimal assignment of labels.

Seeded spherical k-means (Dalvi and Cohen 2016): see `seeded_kmeans_steps.py` for a sweep, and `decision_rules.py` for
how the views' scores become labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from coview.assignment.decision_rules import COMBINATIONS, DecisionRule
from coview.assignment.held_out import best_sweeps, weigh_views
from coview.assignment.label_program import Costs, label_objective, solve_with, team_of
from coview.assignment.label_sets import (
    LabelTargets,
    broken_constraints,
    check_ontology,
    consistent_sets,
    named_labels,
    read_labels,
)
from coview.assignment.new_clusters import open_clusters
from coview.assignment.ontology import Ontology
from coview.assignment.seeded_kmeans_steps import (
    AssignmentSteps,
    by_class,
    new_names,
    seed_beside,
    seed_centroids,
    unit_views,
)
from coview.base import MultiViewEstimator
from coview.classification.view_evidence import LEARNED, learned_view_weights
from coview.engines.callbacks import LoopMixin, with_callbacks
from coview.engines.deadline import START_SHARE, Deadline
from coview.engines.memory import MemoryHolder
from coview.engines.protocol import Block, Engine
from coview.engines.state import Fit, State, Sweep, Tree
from coview.exceptions import ParameterError
from coview.inspection import SHARPNESS, Features, Inspection, LabelVerdict, Training, describe, one_hot, shares_of
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import NONE, TRUTH, by_view, instance, integer, number, one_of
from coview.validation import LabeledScoreMixin, base_seed, per_view, warn_of_lone_labels
from coview.views.views import Views

__all__ = ["SeededKMeansClassifier"]


class SweepMonitor:
    """A callback of the loop: keeps the number of changed labels, and stops when there are none or enough sweeps."""

    def __init__(self, until_still: bool, most: int | None = None) -> None:
        self.until_still, self.most = until_still, most
        self.flips: list[float] = []
        self.held_out: list[float] = []
        self.reason = ""

    def __call__(self, sweep: Sweep) -> bool:
        self.flips.append(float(sum(int(rows["flips"].sum()) for rows in sweep.state.rows)))
        if self.until_still and self.flips[-1] == 0:
            self.reason = "still"
        elif self.most is not None and sweep.number >= self.most:
            self.reason = "held_out"
        return bool(self.reason)


@shared_parameters
class SeededKMeansClassifier(LabeledScoreMixin, ClassifierMixin, LoopMixin, MultiViewEstimator):
    """Spherical k-means on several views, seeded with few labels, with or without an ontology.

    Labeled objects keep their labels; the others get theirs from the centroids of all views, and the centroids of
    every view learn from them. One view, or several side by side (``X.hstack()``), are the same class.

    Parameters
    ----------
    combine : {"sum", "product", "max_agree", "co_train"}, default="sum"
        How the views' scores (cosines) become labels: the largest sum or product; the exact solution of a program
        that lets views differ at a price; or each view by itself, teaching the next. In a product a cosine below 0
        counts as 0, since two negative ones would make a positive product.
    ontology : Ontology or None, default=None
        Subset and mutual-exclusion constraints among labels. Then y holds the most specific label of an object or a
        set, and what is above follows. Needs no label for every class.
    disagreement_cost : float, default=0.2
        For "max_agree": cost of a label that one view has and another has not, in units of the scores.
    subset_cost : float, default=2.0
        With an ontology: cost of a label without one that the ontology puts above it.
    mutex_cost : float, default=2.0
        With an ontology: cost of two labels that exclude each other. For "max_agree" without an ontology: cost of each
        label of a view more or less than one.
    fallback : {None, "sum"}, default=None
        For "product": where all products are equal, as where no class has features in common with an object in
        every view, or a positive cosine in every view, the first class wins, or the sum decides. Use "sum" for data
        with negative values, where such objects are frequent.
    view_weights : None, float, {view: float}, "held_out" or "auto", default=None
        Factor of each view's scores, or their exponent for "product", where a factor would change nothing; 1 by
        default, and 0 leaves a view out. "held_out" chooses them: labeled objects are left out in folds, and a view
        counts more or less where that clearly gives more of them their label back. "auto" leaves views out that say
        nothing of the classes, by held-out labels and by what views agree on: one label per class may be enough. Not
        with an ontology.
    early_stopping : bool, default=False
        Choose the number of sweeps by held-out agreement: labeled objects are left out in folds, and the number of
        sweeps that finds most of their labels is taken. Learning from unlabeled objects often hurts where a view is
        poor.
    validation_fraction : float, default=0.2
        Share of the labeled objects in each fold of `early_stopping` and of ``view_weights="held_out"``: every labeled
        object is held out once, so that 0.2 makes five folds. At most 0.5.
    n_new_clusters : int or "auto", default=0
        Clusters for unlabeled objects that fit no class, most at a time; "auto" opens as many as there are signs of
        (see `coview.assignment.new_clusters`). They follow the classes in `classes_`. Not with an ontology.
    max_iter : int, default=100
        Most sweeps over the data.
    tol : float, default=1e-8
        Stop when no label changes, or when the objective changes by less than this, relative to itself; 0 runs
        exactly `max_iter` sweeps.
    <shared: engine, n_jobs>
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds of `early_stopping` and of `view_weights`; nothing else is random.
    <shared: verbose>

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
        The classes, sorted; with an ontology its labels, in their order; new clusters last.
    transduction_ : ndarray (n_objects,)
        Label of each training object, the most specific one: its own, or the one found for it. With an ontology, -1 or
        None where nothing fits.
    label_sets_ : ndarray of bool (n_objects, n_views, n_classes)
        Labels of the training objects in each view, as the program chose them.
    view_weights_ : dict of float
        Factor of each view's scores, or their exponent for "product", given or chosen.
    cluster_centers_ : dict of ndarray (n_classes, n_features of the view)
        Centroids of length 1, by view; zero where a class has no features there.
    violations_ : dict of ndarray
        Constraints that `label_sets_` breaks, as columns "object", "view", "kind", "first", "second".
    n_ties_ : int
        Number of unlabeled objects whose best label was tied with another; the first of them won.
    new_classes_ : ndarray
        Classes that were opened for objects that fit no other.
    history_ : dict of lists
        "objective" and "seconds" (entry 0 is the start), "flips" (bits of labels changed in each sweep), and
        "held_out" (agreement after 0, 1, ... sweeps) with early stopping.
    n_iter_ : int
        Number of sweeps.
    <shared: stopped_by_, fitted views>

    References
    ----------
    B. Dalvi, W. W. Cohen: Multi-view hierarchical semi-supervised learning by optimal assignment of sets of labels to
    instances. 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import Ontology, SeededKMeansClassifier, Views
    >>> words = np.array([[3, 0, 0], [0, 3, 1], [2, 1, 0], [0, 0, 2]])
    >>> links = np.array([[1, 0], [0, 1], [1, 0], [0, 2]])
    >>> X = Views(words=words, links=links)
    >>> SeededKMeansClassifier("max_agree").fit(X, ["cat", "dog", None, None]).transduction_.tolist()
    ['cat', 'dog', 'cat', 'dog']
    >>> tree = Ontology.from_tree({"animal": ["cat", "dog"]})
    >>> model = SeededKMeansClassifier(ontology=tree).fit(X, ["cat", "dog", None, None])
    >>> model.predict(X[[2]]).tolist(), model.predict_labels(X[[2]]).astype(int).tolist()
    (['cat'], [[1, 1, 0]])
    """

    _models_counts = False

    _fitted_state = {
        "classes_": rules.labels("classes"),
        "new_classes_": rules.values(),
        "cluster_centers_": rules.by_view(rules.floats("classes", "features of {view}")),
        "label_sets_": rules.booleans("objects", "views", "classes"),
        "transduction_": rules.values("objects"),
        "view_weights_": rules.by_view(rules.weight()),
        "n_ties_": rules.count(),
        "violations_": rules.record(
            **{name: rules.values("violations") for name in ("object", "view", "kind", "first", "second")}
        ),
        "ontology": rules.or_none(rules.custom(check_ontology)),
    }
    _parameters = {
        "combine": one_of(*COMBINATIONS),
        "ontology": instance("an Ontology", Ontology) | NONE,
        "disagreement_cost": number(),
        "subset_cost": number(),
        "mutex_cost": number(),
        "fallback": one_of(None, "sum"),
        "view_weights": by_view(number()) | one_of("held_out", LEARNED) | NONE,
        "early_stopping": TRUTH,
        "validation_fraction": number(above=0, most=0.5),
        "n_new_clusters": integer(0) | one_of("auto"),
    }

    def __init__(
        self,
        combine: str = "sum",
        ontology: Ontology | None = None,
        *,
        disagreement_cost: float = 0.2,
        subset_cost: float = 2.0,
        mutex_cost: float = 2.0,
        fallback: str | None = None,
        view_weights: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        n_new_clusters: Any = 0,
        max_iter: int = 100,
        tol: float = 1e-8,
        engine: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.combine = combine
        self.ontology = ontology
        self.disagreement_cost = disagreement_cost
        self.subset_cost = subset_cost
        self.mutex_cost = mutex_cost
        self.fallback = fallback
        self.view_weights = view_weights
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_new_clusters = n_new_clusters
        self.max_iter = max_iter
        self.tol = tol
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> SeededKMeansClassifier:
        """Learn from labeled and unlabeled objects.

        Parameters
        ----------
        X : Views or what becomes Views
            The objects, labeled or not.
        y : array-like (n_objects,)
            Labels; -1, None or NaN for the unlabeled. With an ontology the most specific label, a set of labels, or
            indicators (n_objects, n_labels).
        """
        deadline = self._deadline()
        if self.n_new_clusters and self.ontology is not None:
            raise ParameterError(
                "must be 0 with an ontology, because new labels cannot be added to it.", parameter="n_new_clusters"
            )
        views = self._fit_views(X)
        targets = read_labels(y, len(views), self.ontology)
        if self.ontology is None:  # else a class has the labels of those below it too
            warn_of_lone_labels(targets.codes, targets.classes)
        weights = None if isinstance(self.view_weights, str) else self.view_weights
        if self.view_weights == LEARNED:
            weights = self._learned_weights(views, targets, deadline.share(START_SHARE))
        self.view_weights_ = dict(zip(self.view_names_, per_view("view_weights", weights, self.view_names_).tolist()))
        return self._fit(X, unit_views(views), targets, deadline)

    def _learned_weights(self, views: Views, targets: LabelTargets, deadline: Deadline) -> dict[str, float]:
        if self.ontology is not None:
            raise ParameterError(
                "cannot be 'auto' with an ontology, whose labels are no classes. Use 'held_out'.",
                parameter="view_weights",
            )
        seed = base_seed(self.random_state)
        return learned_view_weights(views, targets.codes, len(targets.classes), seed, deadline)

    @with_callbacks
    def _fit(self, X: Any, views: Views, targets: LabelTargets, deadline: Deadline) -> SeededKMeansClassifier:
        engine, ready = self._engine(), deadline.share(START_SHARE)
        with engine.limits():
            self.classes_, self.new_classes_ = targets.classes, targets.classes[:0]
            steps = self._steps(len(targets.classes))
            blocks = self._labeled_blocks(views, engine, targets)
            shared = seed_centroids(blocks, engine, steps.n_labels, next(views.values()).dtype)
            seed = base_seed(self.random_state) if self._weighs() or self.early_stopping else 0
            begin = partial(seed_beside, shared=shared, engine=engine, n_labels=len(targets.classes))
            if self._weighs():
                weights = weigh_views(
                    steps, blocks, begin, targets.codes, engine, self._n_folds(), seed, ready.share(0.5)
                )
                self.view_weights_ = dict(zip(self.view_names_, weights.tolist()))
                steps = self._steps(steps.n_labels)
            if self.n_new_clusters:
                steps, blocks, shared = self._explore(views, engine, targets, blocks, shared, ready)
                begin = partial(begin, shared=shared)
            monitor = SweepMonitor(self.tol > 0)
            if self.early_stopping:
                monitor.most, monitor.held_out = best_sweeps(
                    steps, blocks, begin, targets.codes, engine, self._n_folds(), self.max_iter, seed, ready
                )
            fit = self._sweep(X, views, steps, blocks, shared, engine, monitor, deadline)
            self._keep(fit, steps, blocks, engine, monitor)
        return self

    # -- what is known of objects

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most specific label of each object from some or all of the fitted views."""
        check_is_fitted(self, "cluster_centers_")
        return named_labels(np.concatenate([rows["codes"] for rows, _, _ in self._assigned(X)]), self.classes_)

    def predict_labels(self, X: Any) -> np.ndarray:
        """Predict consistent label sets that violate no constraint, as booleans (n_objects, n_classes)."""
        check_is_fitted(self, "cluster_centers_")
        assigned = list(self._assigned(X))
        if self.ontology is None:
            codes = np.concatenate([rows["codes"] for rows, _, _ in assigned])
            return codes[:, None] == np.arange(len(self.classes_))
        return np.concatenate([consistent_sets(rows["labels"], total, self.ontology) for rows, total, _ in assigned])

    def predict_labels_by_view(self, X: Any) -> dict[str, np.ndarray]:
        """Predict the label sets (n_objects, n_classes) that the label program chooses in each view.

        They may differ and softly break constraints. Objects without a view have no label there; views of weight 0 have
        no labels at all.
        """
        check_is_fitted(self, "cluster_centers_")
        assigned = list(self._assigned(X))
        labels = np.concatenate([rows["labels"] for rows, _, _ in assigned])
        return self._opinions({name: labels[:, v] for v, name in enumerate(assigned[0][2])})

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the combined scores (n_objects, n_classes); for two classes, the lead of the second (n_objects,)."""
        check_is_fitted(self, "cluster_centers_")
        total = np.concatenate([total for _, total, _ in self._assigned(X)])
        return total[:, 1] - total[:, 0] if len(self.classes_) == 2 else total

    def decision_function_by_view(self, X: Any) -> dict[str, np.ndarray]:
        """Compute the scores (n_objects, n_classes) of each view: its weight times the cosines with its centroids.

        They are 0 if the view is missing; views of weight 0 have none.
        """
        return self._opinions(self._scores_by_view(X))

    def _scores_by_view(self, X: Any) -> dict[str, np.ndarray]:
        check_is_fitted(self, "cluster_centers_")
        views, engine = unit_views(self._new_views(X)), self._engine()
        steps, shared = self._steps(len(self.classes_), views.names), self._fitted(views, engine)
        blocks = self._each_block(views, engine, steps.n_labels)
        parts = [steps.rule.weighed(steps.scores(block, shared, engine)) for block in blocks]
        return {name: np.concatenate([part[:, v] for part in parts]) for v, name in enumerate(views.names)}

    def _inspect(self) -> Inspection:
        """Answer `inspect`: classes by their centers; under an ontology memberships are those of its leaves."""
        inspection = describe(self, self._view_inputs())
        codes = inspection.codes(self.transduction_)
        by_view = {view: shares_of(self.label_sets_[:, v]) for v, view in enumerate(self.view_names_)}
        return replace(
            inspection,
            training=Training(
                one_hot(codes, len(self.classes_)), by_view, codes, label_sets=np.asarray(self.label_sets_.any(axis=1))
            ),
            view_weights=dict(self.view_weights_),
            history=self.history_,
            ontology=self.ontology,
            n_violations=len(self.violations_["object"]),
            _features=lambda view: Features(self.cluster_centers_[view], False, "center"),
            _memberships=lambda X: self._soft(np.add.reduce(list(self._scores_by_view(X).values()))),
            _memberships_by_view=self._soft_by_view,
            _label_sets=None if self.ontology is None else self.predict_labels,
            _judge_labels=None if self.ontology is None else self._judge_labels,
        )

    def _judge_labels(self, X: Any, labels: np.ndarray) -> LabelVerdict:
        """How far a set of labels of one object is from the optimum of the label program."""
        scores = {view: part[0] for view, part in self._scores_by_view(X).items()}
        table = np.array([list(scores.values())])
        costs = self._costs()
        best, reached = solve_with(team_of(1), table, costs, self.ontology)
        asked = label_objective(table, np.broadcast_to(labels, table.shape), costs, self.ontology)
        chosen = dict(zip(scores, best[0]))
        return LabelVerdict(self._opinions(scores), self._opinions(chosen), float(reached[0]), float(asked[0]))

    def _soft_by_view(self, X: Any) -> dict[str, np.ndarray]:
        return {view: self._soft(cosines) for view, cosines in self.decision_function_by_view(X).items()}

    def _soft(self, cosines: np.ndarray) -> np.ndarray:
        """Memberships that follow cosines; of an ontology's leaves, since what is above them always fits."""
        found = np.exp(SHARPNESS * np.asarray(cosines, dtype=np.float64))
        if self.ontology is not None:
            inner = [self.ontology.index(label) for label in self.ontology.labels if self.ontology.children(label)]
            found[:, inner] = 0
        return found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300)

    # -- pieces

    def _costs(self) -> Costs:
        return Costs.checked(self.disagreement_cost, self.subset_cost, self.mutex_cost)

    def _steps(self, n_labels: int, names: Sequence[str] | None = None) -> AssignmentSteps:
        """Steps for views of the given names, by default all that were fitted."""
        weights = tuple(self.view_weights_[name] for name in names or self.view_names_)
        plain = None if set(weights) == {1.0} else weights
        rule = DecisionRule(self.combine, self._costs(), self.ontology, self.fallback, plain, team_of(self.n_jobs))
        return AssignmentSteps(rule, n_labels)

    def _labeled_blocks(self, views: Views, engine: Engine, targets: LabelTargets) -> list[Block]:
        carried = {"given": targets.given, "code": targets.codes}
        return list(self._each_block(views, engine, targets.given.shape[1], carried))

    def _explore(
        self,
        views: Views,
        engine: Engine,
        targets: LabelTargets,
        blocks: list[Block],
        shared: Tree,
        deadline: Deadline,
    ) -> tuple[AssignmentSteps, list[Block], Tree]:
        """Open clusters for what fits no class: further columns of the centroids and of the labels given."""
        most = None if self.n_new_clusters == "auto" else int(self.n_new_clusters)
        shared = open_clusters(views, targets.codes, shared, engine, blocks, self.view_weights_, most, deadline)
        n_new = next(iter(shared["centroids"].values())).shape[1] - len(targets.classes)
        self.new_classes_ = new_names(targets.classes, n_new)
        self.classes_ = np.concatenate([targets.classes, self.new_classes_]) if n_new else targets.classes
        wide = LabelTargets(self.classes_, np.pad(targets.given, ((0, 0), (0, n_new))), targets.codes)
        return self._steps(len(self.classes_)), self._labeled_blocks(views, engine, wide), shared

    def _weighs(self) -> bool:
        return isinstance(self.view_weights, str) and self.view_weights == "held_out"

    def _n_folds(self) -> int:
        return max(2, round(1 / self.validation_fraction))

    def _sweep(
        self,
        X: Any,
        views: Views,
        steps: AssignmentSteps,
        blocks: list[Block],
        shared: Tree,
        engine: Engine,
        monitor: SweepMonitor,
        deadline: Deadline,
    ) -> Fit:
        """Run the loop; no sweep at all where held-out objects advise against it."""
        if monitor.most == 0:
            state = State([steps.start(block, shared, 0, 0, engine) for block in blocks], shared)
            return Fit(state, stopped_by="held_out")
        fit = self._run_loop(
            X,
            views,
            steps,
            MemoryHolder(blocks, engine),
            lambda restart: (shared, 0),
            {},
            lambda state: {"cluster_centers_": by_class(state.shared, engine)},
            deadline,
            watchers=(monitor,),
        )
        if monitor.reason and fit.stopped_by == "callback":
            fit.stopped_by = monitor.reason
        return fit

    def _keep(
        self, fit: Fit, steps: AssignmentSteps, blocks: list[Block], engine: Engine, monitor: SweepMonitor
    ) -> None:
        """Fitted attributes; labels are those by the final centroids."""
        scored = [steps.scores(block, fit.state.shared, engine) for block in blocks]
        rows = [steps.assign(block, scores, engine) for block, scores in zip(blocks, scored)]
        present = np.concatenate([steps.present(block) for block in blocks])
        self.cluster_centers_ = by_class(fit.state.shared, engine)
        self.label_sets_ = np.concatenate([part["labels"] for part in rows])
        self.transduction_ = named_labels(np.concatenate([part["codes"] for part in rows]), self.classes_)
        self.n_ties_ = int(sum(part["ties"].sum() for part in rows))
        self.violations_ = broken_constraints(self.label_sets_, present, self.view_names_, self.ontology)
        if not fit.history["objective"]:  # no sweep: the start is all there is
            objective = sum(
                steps.rule.objective(scores, part["labels"], steps.present(block)).sum()
                for block, scores, part in zip(blocks, scored, rows)
            )
            fit.history = {"objective": [float(objective)], "seconds": [0.0]}
        self.history_: dict[str, list[float]] = {**fit.history, "flips": monitor.flips}
        if monitor.held_out:
            self.history_["held_out"] = monitor.held_out
        self.n_iter_ = fit.n_iter
        self.stopped_by_ = fit.stopped_by

    def _assigned(self, X: Any) -> Iterator[tuple[Tree, np.ndarray, tuple[str, ...]]]:
        """Row state, combined scores and views of objects, block by block."""
        views, engine = unit_views(self._new_views(X)), self._engine()
        steps, shared = self._steps(len(self.classes_), views.names), self._fitted(views, engine)
        with engine.limits():
            for block in self._each_block(views, engine, steps.n_labels):
                scores = steps.scores(block, shared, engine)
                yield (
                    steps.assign(block, scores, engine),
                    steps.rule.combined(scores, steps.present(block)),
                    views.names,
                )

    def _fitted(self, views: Views, engine: Engine) -> Tree:
        dtype = next(views.values()).dtype
        return {"centroids": {name: engine.asarray(self.cluster_centers_[name].T, dtype) for name in views.names}}
