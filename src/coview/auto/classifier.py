"""Classification from few labels without a choice of method: several pipelines, weighed by held-out labels.

Every expert (`experts.py`) predicts labeled objects whose labels it has not seen (`held_out.py`). These predictions
calibrate it and give its weight (`pooling.py`). Experts with a weight are fitted to all labels, and their calibrated
probabilities are combined. With one label per class nothing can be held out: weights are then those that suited other
data. With an ontology this is done for each of its levels (`ontology.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from scipy.special import softmax
from scipy.stats import binomtest
from sklearn.base import ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from coview.assignment.label_sets import check_ontology, label_array, named_labels
from coview.assignment.levels import LEAVES, read_levels
from coview.assignment.ontology import Ontology
from coview.auto.experts import Expert, needed_view, propose_experts, seen_views
from coview.auto.held_out import (
    FOLDS,
    HeldOut,
    JudgedExpert,
    PreparedViews,
    class_scores,
    fit_expert,
    fitted_scores,
    judge,
    share_had,
)
from coview.auto.ontology import LevelPool, check_levels
from coview.auto.pooling import STRENGTH, Answer, Pool, fit_temperature, log_loss, matching_temperature, pool
from coview.auto.preparation import SCALING, view_scalings
from coview.auto.table import CandidateTable, candidate_table
from coview.base import MultiViewEstimator
from coview.classification.wrapper import in_type_of
from coview.clustering.links import LINK_EVIDENCE, find_links, judge_links
from coview.engines.loop import Deadline
from coview.engines.protocol import few_threads
from coview.exceptions import InterruptedFitWarning, ParameterError
from coview.inspection import Inspection, Selection
from coview.inspection.adapters import unused_views
from coview.inspection.choice import describe_accuracy
from coview.inspection.features import features_of_means, summarize_groups
from coview.inspection.known import objects_by_view
from coview.metrics import expected_calibration_error
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import NONE, TEXT, TRUTH, instance, integer
from coview.utils.parameters import number as real_number
from coview.utils.progress import print_line, tell
from coview.utils.remembered import remembering
from coview.utils.sampling import deal_folds
from coview.utils.warn import silenced
from coview.validation import LabeledScoreMixin, base_seed, encode_labels, warn_of_lone_labels
from coview.views.views import Views

__all__ = ["AutoClassifier"]

CALIBRATED = 30  # fewest held-out labels that a calibration error is measured by
SPARE = 1e-6  # weight of an expert that answers only where no other can
LONE = 0.1  # share of the labels that cannot be held out, above which the others do not speak for all
UNNEEDED = "would have hardly any weight beside the others"
TABLE = ("name", "method", "weight", "accuracy", "log_loss", "seconds", "dropped")


def _check_kept(checker: rules.Checker, value: Any, where: str) -> None:
    if checker.state.get("ontology") is not None:
        return check_levels(checker, value, where)
    checker.check(rules.mapping(rules.estimator(), "kept"), value, where)
    if not value or not set(value) <= set(checker.state.get("candidates_", {}).get("name", ())):
        checker.refuse(where, "has an estimator that is no candidate, or none")


@shared_parameters
class AutoClassifier(LabeledScoreMixin, ClassifierMixin, MultiViewEstimator):
    """Classify from few labels by several pipelines, weighed by held-out labels.

    A default for data of which nobody knows which method suits it. Candidates are pipelines of single views and of all
    of them; those that predict held-out labels well are fitted to all labels, and their calibrated probabilities are
    combined.

    Parameters
    ----------
    links : str, False or None, default=None
        View of links among the objects, whose columns are the objects. Candidates that smooth features over it are
        added. None finds such a view, and uses it if linked objects are similar; False uses no links.
    ontology : Ontology or None, default=None
        Hierarchy and exclusions among the labels. y then holds labels of any level: the most specific known label of an
        object, or a set of labels. Candidates are weighed for each level, and the probabilities of the levels are
        multiplied. Every object belongs to one of the lowest labels that have examples.
    confidence : float, default=0.0
        With an ontology, the least probability of a predicted label: where no lowest label has it, the lowest label
        above that has it is predicted, or none (-1 or None). May be set after the fit.
    cv : int or None, default=None
        Number of folds of held-out labels; None is 5. No further fold is fitted once 200 labels have been held out.
    time_budget : float or None, default=None
        Seconds that `fit` may take. Cheap candidates come first; `candidates_` says which ones were left out.
    <shared: random_state>
    verbose : int or None, default=None
        1 writes a line for each candidate to standard error, and the weights at the end; 0 nothing. None shows progress
        in notebooks and on the command line, once a fit takes more than a moment.

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
        The classes, sorted; with an ontology its labels, in their order.
    transduction_ : ndarray (n_objects,)
        Class of each training object: its label, or the predicted class.
    memberships_ : ndarray (n_objects, n_classes)
        Probability of each class for the training objects; 1 at a given label.
    candidates_ : dict of lists
        A table with one row per candidate: "name", "method", "weight" (0 if it was dropped), "accuracy" and "log_loss"
        on held-out labels, "seconds" of one fit, and "dropped" (why, or None).
    estimators_ : dict
        Fitted pipelines of the candidates that were kept:
        ``estimators_[name].predict(X.select(*seen_views_[name]))``. With an ontology, an `AutoClassifier` for each
        level, whose classes are positions in `classes_`.
    seen_views_ : dict of lists
        Names of the views that each kept candidate uses.
    accuracy_ : float
        Accuracy on held-out labels, estimated by nested cross-validation. A label that is the only one of its class
        cannot be held out and counts as wrong; NaN if more than a tenth of the labels are such.
    accuracy_interval_ : tuple of two floats
        95 % interval of the accuracy (Wilson). Labels that cannot be held out count as wrong at its lower end and as
        right at its upper end.
    accuracy_by_view_ : dict of float
        Accuracy on held-out labels of the candidates that use one view alone.
    calibration_error_ : float
        Expected calibration error on held-out labels; NaN if fewer than 30 were held out.
    n_held_out_ : int
        Number of labels that were held out once.
    temperatures_ : dict of float
        Divisors of the scores of each kept candidate, which calibrate it.
    exponents_ : dict of float
        Exponents of the candidates' probabilities in their product.
    product_share_ : float
        Share of the product of probabilities in the answer; the rest is their weighted mean. It grows with the number
        of held-out labels.
    pool_temperature_ : float
        Divisor of the logarithms of the mean probabilities: averaged probabilities are under-confident.
    new_temperature_ : float
        Divisor of the logarithms of probabilities of new objects, of which topics and neighbors are less certain than
        of objects of the fit. It is tuned on unlabeled objects that were left out of a fit.
    level_weights_ : dict of float
        With an ontology, the exponent of each level's probabilities; else empty.
    scaling_ : dict of str
        How each view is scaled, as in `AutoClustering`.
    links_ : dict or None
        The view of links and whether linked objects are similar, as in `AutoClustering`.
    class_prior_ : ndarray (n_classes,)
        Share of each class among the labels: the prediction for an object without features.
    class_means_ : dict of ndarray (n_classes, n_features of the view)
        Mean of each feature over the objects of a class; rows of counts are divided by their sums first.
    class_frequencies_ : dict of ndarray (n_classes, n_features of the view)
        Share of a class's objects that have the feature.
    column_moments_ : dict of ndarray (2, n_features of the view)
        Mean and standard deviation of each column of measurements.
    <shared: fitted views>

    See Also
    --------
    AutoClustering : The same without any labels.
    SeededKMeansClassifier : Under an ontology, objects with several lowest labels, or none.

    Notes
    -----
    With one label per class no label can be held out: weights are then those that suited other data. With few labels
    the weights stay near these.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import AutoClassifier
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=120, n_clusters=3, random_state=0)
    >>> y = np.where(np.arange(120) < 15, data.target, -1)
    >>> model = AutoClassifier(random_state=0).fit(data.views, y)
    >>> bool(np.mean(model.transduction_[15:] == data.target[15:]) > 0.9)
    True

    With an ontology, labels of any level are learned from and predicted:

    >>> from coview import Ontology
    >>> tree = Ontology.from_tree({"animal": ["cat", "dog"], "oak": []})
    >>> known = np.array(["cat", "dog", "oak", None])[y]
    >>> known[np.isin(known, ["cat", "dog"]) & (np.arange(120) < 6)] = "animal"
    >>> model = AutoClassifier(ontology=tree, random_state=0).fit(data.views, known)
    >>> model.predict(data.views[20:24]).tolist()
    ['cat', 'oak', 'oak', 'dog']
    """

    _models_counts = False  # candidates that model counts are proposed for counts only
    _contract_rtol = 1e-5  # it works in single precision, on filled views in another order of sums
    candidates_: CandidateTable
    estimators_: dict[str, Any]
    links_: dict[str, Any] | None
    temperatures_: dict[str, float]
    seen_views_: dict[str, list[str]]
    level_weights_: dict[str, float]
    exponents_: dict[str, float]
    product_share_: float
    pool_temperature_: float
    new_temperature_: float
    accuracy_by_view_: dict[str, float]
    accuracy_interval_: tuple[float, float]
    _fitted_state = {
        "classes_": rules.labels("classes"),
        "class_prior_": rules.shares("classes"),
        "transduction_": rules.values("objects"),
        "memberships_": rules.shares("objects", "classes"),
        "candidates_": candidate_table("accuracy", "log_loss", "seconds"),
        "estimators_": rules.custom(_check_kept),
        "level_weights_": rules.mapping(rules.real(0, 1e6)),
        "ontology": rules.or_none(rules.custom(check_ontology)),
        "temperatures_": rules.mapping(rules.real(1e-12, 1e12), "kept"),
        "exponents_": rules.mapping(rules.real(0, 1e6), "kept"),
        "product_share_": rules.real(0, 1),
        "pool_temperature_": rules.real(1e-3, 1e3),
        "new_temperature_": rules.real(1e-3, 1e3),
        "accuracy_by_view_": rules.by_view(rules.real(0, 1), some=True),
        "scaling_": SCALING,
        "seen_views_": rules.mapping(rules.view_names(some=True), "kept"),
        "accuracy_": rules.real(nan=True),
        "accuracy_interval_": rules.sequence(rules.real(0, 1), 2),
        "calibration_error_": rules.real(nan=True),
        "n_held_out_": rules.count(),
        "links_": LINK_EVIDENCE,
        "class_means_": rules.by_view(rules.floats("classes", "features of {view}")),
        "class_frequencies_": rules.by_view(rules.floats("classes", "features of {view}")),
        "column_moments_": rules.by_view(rules.floats(2, "features of {view}"), some=True),
    }
    _parameters = {
        "links": TEXT | TRUTH | NONE,
        "ontology": instance(Ontology) | NONE,
        "confidence": real_number(most=1),
        "cv": integer(2) | NONE,
    }

    def __init__(
        self,
        *,
        links: Any = None,
        ontology: Ontology | None = None,
        confidence: float = 0.0,
        cv: int | None = None,
        time_budget: float | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.links = links
        self.ontology = ontology
        self.confidence = confidence
        self.cv = cv
        self.time_budget = time_budget
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> AutoClassifier:
        """Judge the candidates by held-out labels, weigh them, and fit those that are kept to all labels.

        Parameters
        ----------
        X : Views or what becomes Views
            Training objects, labeled and unlabeled.
        y : array-like
            Their labels; -1, None or NaN for unlabeled objects. With an ontology the most specific label that is known,
            a set of labels, or indicators (n_objects, n_labels).
        """
        deadline = Deadline.after(self.time_budget)
        views = self._fit_views(X)
        seed = base_seed(self.random_state)
        if self.ontology is not None:
            return self._fit_levels(views, y, seed, deadline)
        codes, self.classes_ = encode_labels(y, len(views))
        if len(self.classes_) < 2:
            raise ParameterError(
                f"holds one class only, {self.classes_.tolist()[0]!r}. Label objects of at least two classes.",
                parameter="y",
            )
        warn_of_lone_labels(codes, self.classes_)
        self._fit_codes(views, HeldOut(codes, deal_folds(codes, self.cv or FOLDS, seed)), seed, deadline)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class of each object from some or all of the fitted views.

        With an ontology the lowest label of the set that `predict_labels` gives; -1 or None where it is empty.
        """
        if self.ontology is not None:
            sets = self.predict_labels(X)  # first: it says when the model is not fitted
            return named_labels(self._levels().lowest(sets), self.classes_)
        probabilities = self.predict_proba(X)  # first: it says when the model is not fitted
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute class probabilities from some or all of the fitted views; rows sum to one.

        They are those of new objects, calibrated where all views are given: from a view alone that knows little they
        may be too sure. `memberships_` has those of the training objects. A candidate counts as far as an object has
        the views that it looks at. An object with nothing in any view, as a text of unknown words, has `class_prior_`
        (with an ontology, those of its levels combined). In dense views 0 is a value, and links are something.
        Candidates that smooth over links do so among the objects of one
        call, too, where these link to each other. With an ontology the probabilities of its leaves sum to one, and
        every other label has the sum of the leaves below it.
        """
        views = self._new_views(X)
        if self.ontology is not None:
            levels = self._levels()
            return in_type_of(views, levels.probabilities(levels.predict_shares(views)))
        weights = dict(zip(self.candidates_["name"], self.candidates_["weight"]))
        filled, nothing = objects_by_view(views), np.zeros(len(views))
        # the prior, which is left where no candidate sees any view
        answers: list[Answer] = [(nothing, nothing, np.tile(self.class_prior_, (len(views), 1)))]
        for name, model in self.estimators_.items():
            names = self.seen_views_[name]
            some = seen_views(views, names, needed_view(model))
            if some is not None:
                found = softmax(class_scores(model, some, self.classes_) / self.temperatures_[name], axis=1)
                had = share_had(filled, names)
                answers.append((weights[name] * had, self.exponents_[name] * had, found))
        return in_type_of(views, self._pool(answers, self.new_temperature_))

    def predict_labels(self, X: Any) -> np.ndarray:
        """Predict consistent label sets as booleans (n_objects, n_classes).

        With an ontology the most probable of the lowest labels and what is above it, where its probability reaches
        `confidence`, else all labels that reach it and are likelier than not. Without one the class alone.
        """
        check_is_fitted(self, "estimators_")
        if self.ontology is None:
            return np.asarray(self.predict_proba(X).argmax(axis=1)[:, None] == np.arange(len(self.classes_)))
        levels = self._levels()
        return levels.label_sets(levels.predict_shares(self._new_views(X)), self.confidence)

    def predict_labels_by_view(self, X: Any) -> dict[str, np.ndarray]:
        """Predict the label sets (n_objects, n_classes) of each view by itself, as `predict_labels` of it alone.

        A view that no candidate looks at is not there.
        """
        views = self._new_views(X)
        used = self._opinions(dict(views.items())) or views.names  # all where none is used
        return self._opinions({name: self.predict_labels(views.select(name)) for name in used})

    def _inspect(self) -> Inspection:
        """Answer `inspect`: classes, and the candidates that they were found by."""
        answer = super()._inspect()
        training = replace(answer.training, memberships=self.memberships_)
        if self.ontology is not None:
            levels = self._levels()
            training = replace(training, label_sets=self._training_sets())
            answer = replace(
                answer,
                _memberships=lambda X: levels.in_columns(levels.predict_shares(self._new_views(X))),
                _label_sets=self.predict_labels,
            )
        held_out = {
            "accuracy": self.accuracy_,
            **dict(zip(("low", "high"), self.accuracy_interval_)),
            "n_labels": self.n_held_out_,
            "largest_class": float(self.class_prior_.max()),
            "calibration_error": self.calibration_error_,
        }
        return replace(
            answer,
            selection=Selection(
                candidates=self.candidates_, accuracy_by_view=dict(self.accuracy_by_view_), held_out=held_out
            ),
            structure=replace(answer.structure, ontology=self.ontology, scalings=dict(vars(self).get("scaling_", {}))),
            training=training,
            _features=lambda view: features_of_means(
                self.class_means_[view], self.class_frequencies_[view], self.column_moments_.get(view), "class"
            ),
        )

    def _unused_views(self) -> list[str]:
        """Views that no candidate that is kept looks at."""
        if self.ontology is not None:
            by_level = [set(model._unused_views()) for model in self.estimators_.values()]
            return [view for view in self.view_names_ if all(view in unused for unused in by_level)]
        used = [set(self.seen_views_[name]) - set(unused_views(model)) for name, model in self.estimators_.items()]
        return [view for view in self.view_names_ if not any(view in some for some in used)]

    # -- the fit

    def _fit_codes(
        self, views: Views, held_out: HeldOut, seed: int, deadline: Deadline
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit to codes of `classes_`; return the objects that were held out, and the probabilities given to them."""
        codes, n_classes = held_out.codes, len(self.classes_)
        counts = np.bincount(codes[codes >= 0], minlength=n_classes)
        self.class_prior_, self.level_weights_ = counts / counts.sum(), {}
        experts = propose_experts(views, self._find_links(views, seed), seed)
        # of an expert that has not converged its held-out labels speak
        with few_threads(len(views), n_classes), silenced(but=InterruptedFitWarning), remembering():
            prepared = PreparedViews(views)
            judged, new = judge(experts, prepared, held_out, self.classes_, deadline, self._late(), self._log)
            told = self._weigh(judged, held_out)
            self._fit_kept(judged, prepared, codes, deadline)
        self._temper(judged, views, new)
        if self.links_ is not None:
            self.links_["used"] = any(needed_view(model) is not None for model in self.estimators_.values())
        self.scaling_ = view_scalings(step for model in self.estimators_.values() for _, step in model.steps)
        self._fill_table(judged, codes)
        own = self.memberships_.argmax(axis=1)
        self.transduction_ = self.classes_[own]
        described = summarize_groups(views, own, n_classes, self.scaling_)
        self.class_means_, self.class_frequencies_, self.column_moments_ = described
        return told

    def _find_links(self, views: Views, seed: int) -> str | None:
        """View of links that join similar objects, or that the user names; fills `links_`."""
        self.links_, links = None, find_links(views, self.links)
        if links is None:
            return None
        evidence = judge_links(views, links, len(self.classes_), seed, bool(self.links))
        self.links_ = vars(evidence).copy()
        return links if evidence.used else None

    def _weigh(self, judged: list[JudgedExpert], held_out: HeldOut) -> tuple[np.ndarray, np.ndarray]:
        """Give each expert its temperature and weight by held-out labels; these objects, and what all say of them."""
        alive = [each for each in judged if each.dropped is None]
        if not alive:
            _refuse(judged)
        stack = np.array([each.scores for each in alive])
        rows = np.flatnonzero(~np.isnan(stack[:, :, 0]).any(axis=0))
        scores, own = stack[:, rows], held_out.codes[rows]
        prior = np.array([each.expert.prior for each in alive])
        settled = Pool.fit(scores, own, prior)
        for each, temperature, weight, exponent in zip(alive, settled.temperatures, settled.weights, settled.exponents):
            each.temperature, each.weight, each.exponent = float(temperature), float(weight), float(exponent)
        self.pool_temperature_, self.product_share_ = settled.temperature, settled.trust
        combined = Pool.nested(scores, own, prior, held_out.folds[rows])
        self._score(own, combined, held_out.lone)
        alone = [(each.expert.views, part.argmax(axis=1) == own) for each, part in zip(alive, scores)]
        found = [(names[0], float(right.mean())) for names, right in alone if len(names) == 1 < len(self.view_names_)]
        self.accuracy_by_view_ = {}
        for name, share in found if len(own) else []:
            self.accuracy_by_view_[name] = max(share, self.accuracy_by_view_.get(name, 0.0))
        return rows, combined

    def _score(self, own: np.ndarray, combined: np.ndarray, lone: float) -> None:
        """Fill `accuracy_`, its interval and `calibration_error_`; a share of the labels, `lone`, is of other classes.

        The accuracy counts these as not found, as they would be in a fold, and so would be objects of classes without a
        label, of which there are as many if labels are drawn at random. The interval reaches up to all of them found.
        """
        found, known = int(np.count_nonzero(combined.argmax(axis=1) == own)), lone <= LONE
        low, high = binomtest(found, len(own)).proportion_ci(method="wilson") if len(own) else (0.0, 1.0)
        low, high = self.accuracy_interval_ = float((1 - lone) * low), float((1 - lone) * high + lone)
        self.n_held_out_, self.accuracy_, self.calibration_error_ = len(own), float("nan"), float("nan")
        if len(own) and known:
            self.accuracy_ = (1 - lone) * found / len(own)
        told = {"accuracy": self.accuracy_, "low": low, "high": high, "n_labels": len(own)}
        self._log(f"accuracy {describe_accuracy(told)}")
        if len(own) >= CALIBRATED and known:
            self.calibration_error_ = expected_calibration_error(own, combined, classes=np.arange(combined.shape[1]))

    def _fit_kept(
        self, judged: list[JudgedExpert], prepared: PreparedViews, codes: np.ndarray, deadline: Deadline
    ) -> None:
        """Fit experts with a weight to all labels; fills `estimators_`, `memberships_` and the weights of these."""
        views, answers = prepared.views, list[Answer]()
        self.estimators_, self.temperatures_, self.exponents_, self.seen_views_ = {}, {}, {}, {}
        kept = _kept(judged, views)
        for turn, each in enumerate(kept):
            name = each.expert.name
            tell(f"last fit, {name}", turn, len(kept))
            if self.estimators_ and deadline.left() < np.nan_to_num(each.seconds):
                each.dropped = self._late()
                continue
            given = prepared, codes, self.classes_, deadline.share(1 / (len(kept) - turn)).seconds()
            found = each.attempt(f"last fit, {name}", self._log, _fit_whole, *given)
            if found is None:
                continue
            self.estimators_[name], scores = found
            self.seen_views_[name] = list(each.expert.views)
            if not self.n_held_out_:
                each.temperature = fit_temperature(scores[codes < 0], codes[:0])
            each.weight, each.exponent = max(each.weight, SPARE), max(each.exponent, SPARE)
            self.temperatures_[name], self.exponents_[name] = each.temperature, each.exponent
            answers.append(each.answer(views, scores))
        if not self.estimators_:
            _refuse(kept)
        if len(answers) == 1:  # the others could not be fitted in the end
            self.pool_temperature_, self.product_share_ = 1.0, 0.0
        whole, left = sum(each.exponent for each in kept), sum(self.exponents_.values())
        self.exponents_ = {name: exponent * whole / left for name, exponent in self.exponents_.items()}
        total = sum(each.weight for each in judged if each.expert.name in self.estimators_)
        for each in judged:
            each.weight = each.weight / total if each.expert.name in self.estimators_ else 0.0
        free = codes < 0
        if not self.n_held_out_ and len(answers) > 1 and free.any():  # their agreement is all that is known
            mean = self._pool(answers)[free]
            agree = [part[free].argmax(axis=1) == mean.argmax(axis=1) for *_, part in answers]
            self.pool_temperature_ *= matching_temperature(mean, float(np.mean(agree)))
        self.memberships_ = self._pool(answers)
        labeled = np.flatnonzero(codes >= 0)
        self.memberships_[labeled] = np.eye(len(self.classes_))[codes[labeled]]

    def _temper(self, judged: list[JudgedExpert], views: Views, new: np.ndarray) -> None:
        """Fill `new_temperature_`: experts say of objects that they were not fitted to what `memberships_` say."""
        self.new_temperature_ = 1.0
        kept = [each for each in judged if each.expert.name in self.estimators_]
        told = [(each, each.of_new) for each in kept if each.of_new is not None]
        if len(told) == len(kept):  # what needs links has not been asked for new objects
            answers = self._pool([each.answer(views[new], scores) for each, scores in told])
            found = matching_temperature(answers, float(self.memberships_[new, answers.argmax(axis=1)].mean()))
            self.new_temperature_ = found ** (len(new) / (len(new) + STRENGTH))  # of few objects hardly any is learned

    def _pool(self, answers: list[Answer], last: float = 1.0) -> np.ndarray:
        """Probabilities by what the candidates say of some objects."""
        power = sum(self.exponents_.values())
        return pool(answers, self.class_prior_, self.pool_temperature_, power, self.product_share_, last)

    def _fill_table(self, judged: list[JudgedExpert], codes: np.ndarray) -> None:
        lines: list[tuple[Any, ...]] = []
        for each in judged:
            rows = np.flatnonzero(~np.isnan(each.scores[:, 0]))
            accuracy = loss = float("nan")
            if rows.size:
                accuracy = float(np.mean(each.scores[rows].argmax(axis=1) == codes[rows]))
                loss = log_loss(softmax(each.scores[rows] / each.temperature, axis=1), codes[rows])
            expert, why = each.expert, None if each.weight > 0 else each.dropped or UNNEEDED
            lines.append((expert.name, expert.method, each.weight, accuracy, loss, each.seconds, why))
        self.candidates_ = CandidateTable({key: list(column) for key, column in zip(TABLE, zip(*lines))})
        for name, _, weight, *_, why in sorted(lines, key=lambda line: -line[2]):
            self._log(f"weight {weight:.2f}, {name}" + (f": {why}" if why else ""))
        tell("fitted")

    def _late(self) -> str:
        return f"not fitted within the time budget of {self.time_budget or 0:g} seconds"

    def _log(self, text: str) -> None:
        if self.verbose:
            print_line(f"AutoClassifier, {text}")

    # -- under an ontology

    def _fit_levels(self, views: Views, y: Any, seed: int, deadline: Deadline) -> AutoClassifier:
        """Fit an `AutoClassifier` to each level of the labels, and weigh the levels by held-out labels."""
        assert self.ontology is not None
        labels = read_levels(y, len(views), self.ontology)
        self.classes_ = label_array(self.ontology)
        warn_of_lone_labels(labels.given, self.classes_)
        whole = HeldOut(labels.given, deal_folds(labels.given, self.cv or FOLDS, seed))
        self.estimators_, self.level_weights_, held_out = {}, {}, {}
        for turn, level in enumerate(labels.levels):
            codes, positions = labels.codes(level)
            self._log(f"{level}: {len(positions)} classes")
            model = clone(self).set_params(ontology=None)
            model._fit_views(views)
            model.classes_ = positions
            share = deadline.share(1 / (len(labels.levels) - turn))
            held_out[level] = model._fit_codes(views, whole.relabeled(codes), seed, share)
            self.estimators_[level] = model
        lowest = self.estimators_[LEAVES]
        self.links_, self.scaling_ = lowest.links_, lowest.scaling_
        self.temperatures_, self.exponents_, self.seen_views_, self.accuracy_by_view_ = {}, {}, {}, {}
        self.pool_temperature_ = self.new_temperature_ = 1.0
        self.product_share_ = 0.0
        codes = labels.codes(LEAVES)[0]
        evidence = self._levels().weigh(held_out, codes, whole.folds)
        self.level_weights_ = evidence.weights
        self._score(evidence.codes, evidence.probabilities, whole.relabeled(codes).lone)
        levels = self._levels()
        self.candidates_ = levels.candidates()
        self.class_prior_ = levels.in_columns(lowest.class_prior_[None])[0]
        shares = levels.shares({level: model.memberships_ for level, model in self.estimators_.items()})
        shares = shares * labels.allowed
        self.memberships_ = levels.in_columns(shares / shares.sum(axis=1, keepdims=True))
        self.transduction_ = named_labels(levels.lowest(self._training_sets()), self.classes_)
        self.class_means_ = levels.by_label(lambda model: model.class_means_)
        self.class_frequencies_ = levels.by_label(lambda model: model.class_frequencies_)
        self.column_moments_ = lowest.column_moments_
        return self

    def _levels(self) -> LevelPool:
        assert self.ontology is not None
        return LevelPool(self.ontology, self.estimators_, self.level_weights_)

    def _training_sets(self) -> np.ndarray:
        levels = self._levels()
        return levels.label_sets(self.memberships_[:, levels.ends], self.confidence)


def _kept(judged: list[JudgedExpert], views: Views) -> list[JudgedExpert]:
    """Experts to fit, the heaviest first: those with some weight, and who answers from a view that they cannot."""
    order = sorted((each for each in judged if each.dropped is None), key=lambda each: -each.weight)
    kept = [each for each in order if each.weight > 0]
    for name in views.names:
        alone = views.select(name)
        if not any(each.expert.sees(alone) for each in kept):
            kept += [each for each in order if each.expert.sees(alone)][:1]
    return kept


def _refuse(judged: list[JudgedExpert]) -> NoReturn:
    last = next(each.error for each in judged[::-1] if each.error is not None)
    raise ValueError(f"No candidate could be fitted. The last error was: {last}") from last


def _fit_whole(
    expert: Expert, prepared: PreparedViews, codes: np.ndarray, classes: np.ndarray, seconds: float | None
) -> tuple[Any, np.ndarray]:
    """Return a pipeline that is fitted to all labels, and its scores of all objects."""
    steps, rest, views = prepared.behind(expert)
    model = fit_expert(rest, views, codes, classes, seconds)
    named = [(f"{type(step).__name__.lower()}-{i + 1}", step) for i, step in enumerate(steps)]
    return Pipeline([*named, *model.steps]), fitted_scores(model, views, np.arange(len(views)), classes)
