"""`SeededKMeansClassifier`: classes from few labels and several views by optimal assignment of labels.

Seeded spherical k-means (Dalvi and Cohen 2016, Algorithm 1). Rows of every view have length 1; labeled objects keep
their labels. An iteration, with one centroid per label and view (lines 7, 8 and 10 there):

    scores   s_vi = <x_v, mu_vi>
    labels   y by the rule (sum, product, max_agree, co_train; see `decision_rules.py`)
    learning mu_vi = sum of the x_v with label i, scaled to length 1; one without objects stays as it was

For sum and max_agree both steps raise the same objective (equations 4 and 6), so that it never falls. A product is not
maximized by these centroids (equation 5), and in co-training each view has an objective of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from coview.assignment.decision_rules import COMBINATIONS, DecisionRule
from coview.assignment.held_out import choose_max_iter, weigh_views
from coview.assignment.label_program import Costs, team_of
from coview.assignment.label_sets import LabelTargets, check_ontology, make_consistent, named_labels, read_labels
from coview.assignment.ontology import Ontology
from coview.base import MultiViewEstimator
from coview.classification.view_evidence import LEARNED, learn_view_weights
from coview.engines.checkpoint import Checkpoint
from coview.engines.loop import NO_DEADLINE, START_SHARE, Deadline, Iteration, LoopMixin, Options, run, with_callbacks
from coview.engines.protocol import Block, Engine, Holder, Tree, floating_type
from coview.exceptions import ParameterError
from coview.inspection import SHARPNESS, Features, Inspection, Training, describe_estimator, one_hot, shares_of
from coview.inspection.memberships import label_codes
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import NONE, TRUTH, instance, number, one_of, one_or_by_view
from coview.validation import LabeledScoreMixin, base_seed, per_view, warn_of_lone_labels
from coview.views.arrays import unit_rows
from coview.views.views import Views

__all__ = ["SeededKMeansClassifier"]


@dataclass(frozen=True)
class AssignmentSteps:
    """Rows: labels (n x views x labels), codes; shared: centroids {view: features x labels}, flips by iteration.

    A block carries "given" (labels of labeled objects) and "code" (the most specific of them, -1 is free).
    """

    rule: DecisionRule
    dtype: np.dtype

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree:
        """Labeled objects have their labels, the others none yet."""
        given, codes = ops.to_numpy(block.extra["given"]), ops.to_numpy(block.extra["code"])
        labels = given[:, None, :] & self.present(block)[:, :, None]
        return {"labels": labels, "codes": codes.copy()}

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]:
        """Score, assign, and add up the objects of each label."""
        scores, present = self.scores(block, shared, ops), self.present(block)
        new = self.assign(block, scores, ops)
        if stats is not None:
            # what had no labels yet is judged by its first ones
            before: Any = np.where(rows["labels"].any(axis=(1, 2), keepdims=True), rows["labels"], new["labels"])
            stats["objective"] = stats.get("objective", 0.0) + self.rule.objective(scores, before, present).sum()
            stats["flips"] = stats.get("flips", 0.0) + float((new["labels"] != rows["labels"]).sum())
            sums = stats.setdefault("sums", {})
            taught = self.rule.teaching_labels(new["labels"], present)
            for v, (name, X) in enumerate(block.views.items()):
                onto = ops.asarray(taught[:, v].astype(self.dtype))
                sums[name] = ops.accumulate(X, onto, sums.get(name))
        return new, stats

    def shared_step(self, stats: Tree, shared: Tree, ops: Engine) -> Tree:
        """Centroids of length 1, and the changed labels of one more iteration, which a checkpoint keeps so."""
        before = shared["centroids"]
        return {
            "centroids": {name: _unit_columns(total, before[name]) for name, total in stats["sums"].items()},
            "flips": np.append(ops.to_numpy(shared["flips"]), stats["flips"]),
        }

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float:
        """Objective of the labels of the rows."""
        return float(self.rule.objective(self.scores(block, shared, ops), rows["labels"], self.present(block)).sum())

    def normalize_rows(self, rows: Tree) -> Tree:
        """Labels are never extrapolated."""
        return rows

    def normalize_shared(self, shared: Tree) -> Tree:
        """Centroids are never extrapolated."""
        return shared

    def scores(self, block: Block, shared: Tree, ops: Engine) -> np.ndarray:
        """Cosines (n, views, labels) of a block, which the rule weighs."""
        parts = [ops.to_numpy(ops.project(X, shared["centroids"][name])) for name, X in block.views.items()]
        return np.stack(parts, axis=1)

    def present(self, block: Block) -> np.ndarray:
        """Which rows of a block have which view."""
        return np.column_stack(list(block.present.values()))

    def assign(self, block: Block, scores: np.ndarray, ops: Engine) -> Tree:
        """Labels and codes by given scores; labeled objects keep theirs."""
        present = self.present(block)
        labels = self.rule.assign(scores, present)
        codes = self.rule.decide(scores, labels, present)
        known, given = ops.to_numpy(block.extra["code"]), ops.to_numpy(block.extra["given"])
        fixed = known >= 0
        # semi-supervised: line 6 of Algorithm 1 goes over unlabeled objects alone
        labels[fixed] = given[fixed][:, None, :] & present[fixed][:, :, None]
        codes[fixed] = known[fixed]
        return {"labels": labels, "codes": codes}

    def seeds(self, blocks: list[Block], ops: Engine) -> Tree:
        """Centroids of the labeled objects alone, zero where a class has no features."""
        sums: dict[str, Any] = {}
        for block in blocks:
            onto = ops.asarray(ops.to_numpy(block.extra["given"]).astype(self.dtype))
            for name, X in block.views.items():
                sums[name] = ops.accumulate(X, onto, sums.get(name))
        return {"centroids": {name: _unit_columns(total, total) for name, total in sums.items()}, "flips": np.empty(0)}


def _unit_columns(total: Any, before: Any) -> Any:
    """Columns scaled to length 1; a column of zeros becomes that of `before`. NumPy arrays or tensors."""
    length = (total * total).sum(0) ** 0.5
    empty = length <= 0
    # a class without objects keeps its place, or it could never win one back
    scaled = total / (length + empty)
    if bool(empty.any()):
        scaled[:, empty] = before[:, empty]
    return scaled


class SweepMonitor:
    """A callback of the loop that stops it when no label has changed, or after enough iterations."""

    def __init__(self, until_still: bool, most: int | None) -> None:
        self.until_still, self.most = until_still, most
        self.reason = ""

    def __call__(self, iteration: Iteration) -> bool:
        if self.until_still and iteration.state.shared["flips"][-1] == 0:
            self.reason = "still"
        elif iteration.number == self.most:
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
        counts as 0, since two negative ones would make a positive product; where all products are equal, the first
        class wins.
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
    view_weights : None, float, {view: float}, "held_out" or "auto", default=None
        Factor of each view's scores, or their exponent for "product", where a factor would change nothing; 1 by
        default, and 0 leaves a view out. "held_out" chooses them: labeled objects are left out in folds, and a view
        counts more or less where that clearly gives more of them their label back. "auto" leaves out views that
        share nothing with the others, unless held-out labels can be told from them. Not with an ontology.
    early_stopping : bool, default=False
        Choose the number of iterations by held-out agreement: labeled objects are left out in folds, and the number of
        iterations that finds most of their labels is taken. Worth a try where a view is poor, so that learning from
        unlabeled objects may hurt; with few labels the folds say little, and it may stop too soon.
    validation_fraction : float, default=0.2
        Share of the labeled objects in each fold of `early_stopping` and of ``view_weights="held_out"``: every labeled
        object is held out once, so that 0.2 makes five folds. At most 0.5.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-8
        Stop when no label changes, or when the objective changes by less than this, relative to itself; 0 runs
        exactly `max_iter` iterations.
    <shared: engine, n_jobs>
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds of `early_stopping` and of `view_weights`; nothing else is random.
    <shared: verbose>

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
        The classes, sorted; with an ontology its labels, in their order.
    transduction_ : ndarray (n_objects,)
        Label of each training object, the most specific one: its own, or the one found for it. With an ontology, -1 or
        None where nothing fits.
    label_sets_ : ndarray of bool (n_objects, n_views, n_classes)
        Labels of the training objects in each view, as the program chose them.
    view_weights_ : dict of float
        Factor of each view's scores, or their exponent for "product", given or chosen.
    cluster_centers_ : dict of ndarray (n_classes, n_features of the view)
        Centroids of length 1, by view; zero where a class has no features there.
    n_violations_ : int
        Number of constraints of the ontology that `label_sets_` breaks, over all objects and views.
    history_ : dict of lists
        "objective" and "seconds" (entry 0 is the start), "flips" (bits of labels changed in each iteration), and
        "held_out" (agreement after 0, 1, ... iterations) with early stopping.
    n_iter_ : int
        Number of iterations.
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
        "cluster_centers_": rules.by_view(rules.floats("classes", "features of {view}")),
        "label_sets_": rules.booleans("objects", "views", "classes"),
        "transduction_": rules.values("objects"),
        "view_weights_": rules.by_view(rules.weight()),
        "n_violations_": rules.count(),
        "ontology": rules.or_none(rules.custom(check_ontology)),
    }
    _parameters = {
        "combine": one_of(*COMBINATIONS),
        "ontology": instance(Ontology) | NONE,
        "disagreement_cost": number(),
        "subset_cost": number(),
        "mutex_cost": number(),
        "view_weights": one_or_by_view(number()) | one_of("held_out", LEARNED) | NONE,
        "early_stopping": TRUTH,
        "validation_fraction": number(above=0, most=0.5),
    }

    def __init__(
        self,
        combine: str = "sum",
        ontology: Ontology | None = None,
        *,
        disagreement_cost: float = 0.2,
        subset_cost: float = 2.0,
        mutex_cost: float = 2.0,
        view_weights: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
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
        self.view_weights = view_weights
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
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
        views = self._fit_views(X)
        targets = read_labels(y, len(views), self.ontology)
        if self.ontology is None:  # else a class has the labels of those below it too
            warn_of_lone_labels(targets.codes, targets.classes)
        weights = None if isinstance(self.view_weights, str) else self.view_weights
        if self.view_weights == LEARNED:
            if self.ontology is not None:
                raise ParameterError(
                    "cannot be 'auto' with an ontology, whose labels are no classes. Use 'held_out'.",
                    parameter="view_weights",
                )
            seed, share = base_seed(self.random_state), deadline.share(START_SHARE)
            weights = learn_view_weights(views, targets.codes, len(targets.classes), seed, share)
        self.view_weights_ = dict(zip(self.view_names_, per_view("view_weights", weights, self.view_names_).tolist()))
        return self._fit(X, views.map(unit_rows), targets, deadline)

    @with_callbacks
    def _fit(self, X: Any, views: Views, targets: LabelTargets, deadline: Deadline) -> SeededKMeansClassifier:
        engine = self._engine()
        # a resumed fit must begin where the first one did: with a checkpoint the start takes the time that it needs
        ready = NO_DEADLINE if self._of_kind(Checkpoint) else deadline.share(START_SHARE)
        self.classes_ = targets.classes
        carried = {"given": targets.given, "code": targets.codes}
        folds = targets.codes, max(2, round(1 / self.validation_fraction)), base_seed(self.random_state)
        # threads of BLAS would compete with the threads of the label program
        with engine.limits():
            blocks = list(self._each_block(views, engine, len(self.classes_), carried))
            # weights first: the number of iterations is chosen for the rule that they make
            steps = AssignmentSteps(self._rule(), floating_type(views))
            if self.view_weights == "held_out":
                weights = weigh_views(steps, blocks, engine, *folds, ready.share(0.5))
                self.view_weights_ = dict(zip(self.view_names_, weights.tolist()))
                steps = replace(steps, rule=self._rule())
            most: int | None = None
            curve: list[float] = []
            if self.early_stopping:
                most, curve = choose_max_iter(steps, blocks, engine, *folds, self.max_iter, ready)
            monitor = SweepMonitor(self.tol > 0, most)
            # line 4 of Algorithm 1: centroids of the labeled objects alone
            holder, shared = Holder(blocks, engine), steps.seeds(blocks, engine)
            if most == 0:  # held-out objects advise against any iteration
                fit = run(steps, holder, lambda restart: (shared, 0), Options(0))
                monitor.reason = "held_out"
            else:
                fit = self._run_loop(
                    X,
                    views,
                    steps,
                    holder,
                    lambda restart: (shared, 0),
                    carried,
                    lambda state: {"cluster_centers_": _get_centers(state.shared, engine)},
                    deadline,
                    watchers=(monitor,),
                )
            # labels are those by the final centroids
            rows = [steps.assign(block, steps.scores(block, fit.state.shared, engine), engine) for block in blocks]
        self.cluster_centers_ = _get_centers(fit.state.shared, engine)
        self.label_sets_ = np.concatenate([part["labels"] for part in rows])
        self.transduction_ = named_labels(np.concatenate([part["codes"] for part in rows]), self.classes_)
        self.n_violations_ = 0 if self.ontology is None else int(np.sum(self.ontology.count_broken(self.label_sets_)))
        self.history_ = {
            **fit.history,
            "flips": fit.state.shared["flips"].tolist(),
            **({"held_out": curve} if curve else {}),
        }
        self.n_iter_ = fit.n_iter
        # a stop by the monitor is one by a callback to the loop; a budget or Ctrl-C are told as such
        ended = fit.stopped_by in ("callback", "max_iter")
        self.stopped_by_ = monitor.reason if ended and monitor.reason else fit.stopped_by
        return self

    # -- what is known of objects

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most specific label of each object from some or all of the fitted views."""
        return named_labels(self._over_blocks(X, _decide)[1], self.classes_)

    def predict_labels(self, X: Any) -> np.ndarray:
        """Predict consistent label sets that violate no constraint, as booleans (n_objects, n_classes)."""
        # classes exclude each other: the set is the one label
        if self.ontology is None:
            return self._over_blocks(X, _decide)[1][:, None] == np.arange(len(self.classes_))
        return self._over_blocks(
            X,
            lambda rule, scores, present: make_consistent(
                rule.assign(scores, present), rule.combined(scores, present), rule.ontology
            ),
        )[1]

    def predict_labels_by_view(self, X: Any) -> dict[str, np.ndarray]:
        """Predict the label sets (n_objects, n_classes) that the label program chooses in each view.

        They may differ and softly break constraints. Objects without a view have no label there; views of weight 0 have
        no labels at all.
        """
        names, labels = self._over_blocks(X, DecisionRule.assign)
        return self._opinions({name: labels[:, v] for v, name in enumerate(names)})

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the combined scores (n_objects, n_classes); for two classes, the lead of the second (n_objects,)."""
        total = self._over_blocks(X, DecisionRule.combined)[1]
        return total[:, 1] - total[:, 0] if len(self.classes_) == 2 else total

    def decision_function_by_view(self, X: Any) -> dict[str, np.ndarray]:
        """Compute the scores (n_objects, n_classes) of each view: its weight times the cosines with its centroids.

        They are 0 if the view is missing; views of weight 0 have none.
        """
        return self._opinions(self._scores_by_view(X))

    def _scores_by_view(self, X: Any) -> dict[str, np.ndarray]:
        names, scores = self._over_blocks(X, lambda rule, scores, present: rule.weigh(scores))
        return {name: scores[:, v] for v, name in enumerate(names)}

    def _over_blocks(
        self, X: Any, compute: Callable[[DecisionRule, np.ndarray, np.ndarray], np.ndarray]
    ) -> tuple[Sequence[str], np.ndarray]:
        """Names of the views, and what the decision rule makes of the scores of objects, block by block."""
        check_is_fitted(self, "cluster_centers_")
        # as in the fit: cosines need rows of length 1
        views, engine = self._new_views(X).map(unit_rows), self._engine()
        steps = AssignmentSteps(self._rule(views.names), floating_type(views))
        centers = {name: engine.asarray(self.cluster_centers_[name].T, steps.dtype) for name in views.names}
        shared = {"centroids": centers}
        with engine.limits():
            parts = [
                compute(steps.rule, steps.scores(block, shared, engine), steps.present(block))
                for block in self._each_block(views, engine, len(self.classes_))
            ]
        return views.names, np.concatenate(parts)

    def _inspect(self) -> Inspection:
        """Answer `inspect`: classes by their centers; under an ontology memberships are those of its leaves."""
        inspection = describe_estimator(self, self._view_inputs())
        codes = label_codes(self.transduction_, inspection.labels)
        by_view = {view: shares_of(self.label_sets_[:, v]) for v, view in enumerate(self.view_names_)}
        return replace(
            inspection,
            training=Training(
                one_hot(codes, len(self.classes_)),
                by_view,
                codes,
                label_sets=np.asarray(self.label_sets_.any(axis=1)),
                history=self.history_,
                n_violations=self.n_violations_,
            ),
            _view_weights=dict(self.view_weights_),
            structure=replace(inspection.structure, ontology=self.ontology),
            _features=lambda view: Features(self.cluster_centers_[view], False, "center"),
            _memberships=lambda X: self._soft(np.add.reduce(list(self._scores_by_view(X).values()))),
            _memberships_by_view=self._soft_by_view,
            _label_sets=None if self.ontology is None else self.predict_labels,
        )

    def _soft_by_view(self, X: Any) -> dict[str, np.ndarray]:
        return {view: self._soft(cosines) for view, cosines in self.decision_function_by_view(X).items()}

    def _soft(self, cosines: np.ndarray) -> np.ndarray:
        """Memberships that follow cosines; of an ontology's leaves, since what is above them always fits."""
        # cosines lie close together: without a factor all memberships would be about equal
        found = np.exp(SHARPNESS * np.asarray(cosines, dtype=np.float64))
        if self.ontology is not None:
            found[:, [label not in self.ontology.leaves for label in self.ontology.labels]] = 0
        return found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300)

    def _costs(self) -> Costs:
        return Costs.checked(self.disagreement_cost, self.subset_cost, self.mutex_cost)

    def _rule(self, names: Sequence[str] | None = None) -> DecisionRule:
        """Rule for views of the given names, by default all that were fitted."""
        weights = tuple(self.view_weights_[name] for name in names or self.view_names_)
        # weights of 1 are left out, so that the plain rule has no multiplication more than the paper
        plain = None if set(weights) == {1.0} else weights
        return DecisionRule(self.combine, self._costs(), self.ontology, plain, team_of(self.n_jobs))


def _decide(rule: DecisionRule, scores: np.ndarray, present: np.ndarray) -> np.ndarray:
    return rule.decide(scores, rule.assign(scores, present), present)


def _get_centers(shared: Tree, engine: Engine) -> dict[str, np.ndarray]:
    """Centroids as the estimator shows them: {view: labels x features}."""
    return {name: np.ascontiguousarray(engine.to_numpy(part).T) for name, part in shared["centroids"].items()}
