"""The classifier to trust where nobody knows which pipeline suits the data: several, weighed by held-out labels.

Every candidate (`pipelines.py`) says what it thinks of labeled objects whose labels it has not seen (`judging.py`).
Those answers calibrate it and give its weight (`pooling.py`). Those with a weight are fitted to all labels, and their
calibrated probabilities, by weight, are the answer. With one label per class nothing can be held out. Then the prior of
a candidate times a power of what the views say of its classes is its weight. Under an ontology all of this is done for
each of its levels (`ontology.py`). For new objects, and from some of the views, the answer is as sure as it agrees
with what the fit says with all views (`subsets.py`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from coview.assignment.label_sets import check_ontology, label_array, named_labels
from coview.assignment.ontology import Ontology
from coview.auto.candidates import FAILURES, SCALING, comparable_sample, view_scalings
from coview.auto.cross_validation import (
    FittedFold,
    FoldPlan,
    FoldScores,
    asked_of_all,
    best_so_far,
    class_scores,
    deal_folds,
    fit_candidate,
    fitted_scores,
)
from coview.auto.judging import UNNEEDED, Judge, kept_candidates, nested_probabilities, too_late, weigh
from coview.auto.labels_along_links import labels_along_links
from coview.auto.links import LINK_EVIDENCE, NAMED_LINKS, find_links, judge_links
from coview.auto.ontology import LEAVES, LevelPool, check_levels, read_levels
from coview.auto.pipelines import (
    LINKED,
    PipelineCandidate,
    asked_pipelines,
    comparable,
    given_pipelines,
    needed_view,
    propose_pipelines,
    seen_views,
    self_training_pipeline,
)
from coview.auto.pooling import (
    agreeing_temperature,
    class_factors,
    fit_pool_temperature,
    log_loss,
    matching_temperature,
    pool,
    sharpened,
    with_class_factors,
)
from coview.auto.self_training import CANNOT_FOLLOW, self_train, worth_self_training
from coview.auto.subsets import (
    ALONE,
    ASKED,
    WITHOUT,
    Asked,
    SubsetEvidence,
    Told,
    asked_of,
    gather_evidence,
    temperature_of_new,
    temperatures_of_objects,
)
from coview.auto.table import CandidateTable, candidate_table, left_out
from coview.base import MultiViewEstimator
from coview.classification.view_evidence import STRANGERS, strange_views
from coview.classification.wrapper import in_type_of
from coview.clustering.relations import RELATIONS, check_alignment
from coview.engines.loop import NO_DEADLINE, Deadline
from coview.engines.protocol import few_threads
from coview.exceptions import InterruptedFitWarning
from coview.inspection import Inspection
from coview.inspection.adapters import unused_views
from coview.inspection.choice import describe_accuracy
from coview.inspection.features import cluster_frequencies, cluster_means, features_of_means
from coview.inspection.known import objects_by_view
from coview.metrics import expected_calibration_error
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import NONE, TEXT, TRUTH, instance, integer
from coview.utils.parameters import number as real_number
from coview.utils.progress import print_line, tell
from coview.utils.remembered import remembering
from coview.utils.sampling import sample_positions
from coview.utils.warn import silenced
from coview.validation import LabeledScoreMixin, base_seed, encode_labels, warn_of_lone_labels
from coview.views.views import Views

__all__ = ["AutoClassifier"]

FOLDS, MANY_LABELS, FEW_LABELS = 5, 200, 30  # a fold fewer of fewer labels: each takes a fit of every candidate
CALIBRATED = 30  # fewest of them that a calibration error is measured by
POOL_RANGE = (1e-3, 1e3)  # of its temperature
SPARE = 1e-6  # weight of a candidate that answers only where no other can
TABLE = ("name", "method", "weight", "accuracy", "log_loss", "reliability", "seconds", "without", "dropped")
STRANGE = {"alone": "shares nothing with the others, and labels do not speak for it"}
UNLIKELY = "the views do not support its classes as well as those of the others"
LONE = 0.1  # share of the labels that cannot be held out, above which the others do not speak for all
NORMAL = 1.96  # standard deviations on either side that hold 95 %


def _check_kept(checker: rules.Checker, value: Any, where: str) -> None:
    if checker.state.get("ontology") is not None:
        return check_levels(checker, value, where)
    names = checker.state.get("candidates_", {}).get("name", ())
    if not isinstance(value, dict) or not value or not set(value) <= set(names):
        checker.refuse(where, "has an estimator that is no candidate, or none")
    checker.check(rules.mapping(rules.estimator()), value, where)
    for other in ("temperatures_", "seen_views_"):
        said = checker.state.get(other)
        if not isinstance(said, dict) or set(said) != set(value):
            checker.refuse(other, f"has other names than {where}")


@shared_parameters
class AutoClassifier(LabeledScoreMixin, ClassifierMixin, MultiViewEstimator):
    """Classify from few labels by the pipelines that find held-out labels best: a default if none is known to fit.

    Parameters
    ----------
    candidates : None or list of names and (name, estimator), default=None
        Classifiers of all views to choose from, pipelines among them. None proposes some for the data: multi-view PLSA
        ("topics"), seeded k-means ("centers"), a linear support vector machine ("margins"), logistic regression on
        singular vectors of all views ("latent") and of each ("latent: VIEW"), labels spread over neighbors ("graph"),
        and over links "near centers", "near latent" and "near linear". Any of these names stands for that candidate.
        With None, where labels are few and there are links, or many objects that a linear candidate tells best, a last
        classifier ("self-training") learns from what these say of some thousands of objects, and has half of the
        weight.
    links : str, False or None, default=None
        View of links among the objects, whose columns are the objects: candidates that smooth features over it take
        part. None looks for such a view, and leaves them out where its links join objects that are no more alike than
        others and whose labels do not agree; False leaves them out.
    ontology : Ontology or None, default=None
        What is below what, and what excludes what, among the labels. Then y holds labels of any level: the most
        specific one that is known of an object, or a set of them, and what is above follows. Candidates are weighed and
        fitted once for the lowest labels and once for each level above; their probabilities are multiplied, by weights
        that held-out labels give them. Every object belongs to one of the lowest labels that have examples.
    confidence : float, default=0.0
        With an ontology: least probability of a label that is predicted. Where none of the lowest labels is so
        probable, the answer is the lowest of all labels that is, and likelier than not; and none (-1 or None) where not
        even one of the top is. May be set after the fit.
    cv : int or None, default=None
        Largest number of folds in which labels are held out. None: 5, 4 of fewer than 200 labels, 3 of fewer than
        30.
    time_budget : float or None, default=None
        Seconds that `fit` may take. Cheap candidates come first, and one whose turn never comes is dropped
        (`candidates_` says so). Where there is no time to fit all that have a weight, the one that finds most held-out
        labels is fitted first.
    <shared: random_state>
    verbose : int or None, default=None
        1 writes to standard error which candidate is being fitted, a line each, such as "AutoClassifier, fold 1/4,
        topics: 0.2 s", and in the end the weights, the largest first; 0 nothing. None shows where the fit stands in
        notebooks and on the command line, once it takes more than a moment.

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
        The classes, sorted; with an ontology its labels, in their order.
    transduction_ : ndarray (n_objects,)
        Class of each training object: its label, or the likeliest class; with an ontology as `predict` says, but never
        against a label that was given.
    memberships_ : ndarray (n_objects, n_classes)
        Probability of each class for the training objects; 1 at a given label. With an ontology those of the lowest
        labels with examples, 0 for the others.
    candidates_ : dict of lists
        A table, which prints as one, with one row per candidate: "name", "method" (its classifier), "weight" (0 where
        it was dropped), "accuracy" and "log_loss" on held-out labels, "reliability" where there are none, "seconds" of
        one fit, "without" (the views that it leaves out, and why, or None), and "dropped" (why, or None). With an
        ontology the candidates of all levels, those above the lowest by names such as "level 1: topics".
    estimators_ : dict
        Fitted pipelines of the candidates that were kept, each of the views in `seen_views_`:
        ``estimators_[name].predict(X.select(*seen_views_[name]))``. One of almost no weight answers where the others
        cannot, as those that need links where links are not given. Default ones were fitted to sparse views in
        single precision (float32), where that loses no digit. With an ontology an `AutoClassifier`
        by level, "leaves" and those above such as "level 1", whose classes are positions in `classes_`.
    level_weights_ : dict of float
        With an ontology, the exponent of each level's probabilities; else empty.
    temperatures_ : dict of float
        What the scores of each kept candidate are divided by to be logarithms of probabilities. With an ontology this
        and `seen_views_` are in the models of the levels, and empty here.
    pool_temperature_ : float
        What the logarithms of the candidates' mean probability are divided by: several candidates together are surer
        than their mean (below 1), or less sure. `memberships_` have it; with self-training, the combination with it is
        as sure as the one without, and where both give a training object the same class, `memberships_` are those
        without. With an ontology that of each level is in its model, and this is 1.
    new_temperature_ : float
        The same for `predict_proba` of objects that have all views: topics and neighbors are less sure of objects that
        they were not fitted to, and hardly less right. The answer is as sure as it agrees with `memberships_`, on a
        sample of unlabeled objects that the candidates have not seen; those that need links count as in the fit. It is
        `pool_temperature_` where there is one view only.
    subset_temperatures_ : dict of dicts of float
        The same where objects have some of the views only: under "alone", by view, with that view alone; under
        "without" with all views but that one, of more than three views only without the best; other subsets are between
        these. The answer is then as sure as these views agree with all of them, on a sample of unlabeled objects. A new
        object with nothing in a sparse view, as a text of unknown words, is taken to lack it. With an ontology it is in
        the models of the levels.
    accuracy_by_view_ : dict of float
        Share of objects that are classified rightly from each view alone, as far as the model can tell: by the
        probabilities that it gives with all views. A view is left out where nobody can answer from it, and all are
        where the accuracy with all views is not known. With an ontology it is in the models of the levels.
    scaling_ : dict of str
        How default candidates that are kept see each view: "tf-idf" (counts, weighted; "topics" may see them as they
        are), "unit length" (it looks weighted by tf-idf already; only "centers" applies it again), "standard", "pareto"
        or "centered", as in `AutoClustering`.
    seen_views_ : dict of lists
        Names of the views that each kept candidate looks at.
    accuracy_ : float
        Share of held-out labels that the combination finds; candidates are dropped, calibrated and weighed without
        them (nested cross-validation). A label that is the only one of its class cannot be held out, and counts as not
        found; where more than a tenth of the labels are such, the accuracy is not known (NaN). Self-training is not in
        it.
    accuracy_interval_ : tuple of two floats
        Where the accuracy is, at 95 % (Wilson's interval for the held-out labels). Labels that cannot be held out are
        none found at its lower end and all at its upper one: with one label per class these are 0 and 1.
    calibration_error_ : float
        Expected calibration error of the same probabilities (`expected_calibration_error`): of objects in the fit whose
        label is not known to it, as in `memberships_`; that of new objects is not measured. NaN of fewer than 30
        held-out labels, which say hardly anything of it, and where the accuracy is not known.
    n_held_out_ : int
        Number of labels that were held out once.
    links_ : dict or None
        The view of links, if there is one, and whether they join alike objects: "view", "n_links", "alike_by_view",
        "together_by_view", "join" and "why", as in `AutoClustering`; and "used": features are smoothed over links that
        do, over those whose labels agree (where no view says that links join alike objects, held-out labels are found
        again over links better than from any other view), and over those that the parameter `links` names. With an
        ontology it is that of the lowest labels.
    view_relations_ : dict of lists
        A table with one row per view, whether it belongs to the others, as in `AutoClustering`: "view" and "verdict",
        one word for each view: "shares" (it belongs to the others), "alone" (structure
        of its own, and nothing shared: a warning asks whether its rows are in the order of the others), "noise"
        (neither: half of its columns says nothing of the other half, or there are no halves) and "unknown" (nothing
        shared, and why cannot be told: few objects, or no other view with structure). Where others
        share, default candidates leave out a view that is "alone" or "noise", unless held-out labels can be told from
        it; "topics" and "centers" ask the same again to choose their `view_weights_`.
    class_prior_ : ndarray (n_classes,)
        Share of each class among the labels: the answer for an object without any view, and for a new one whose rows of
        sparse views are all empty, unless a labeled object was so. With an ontology, of the lowest labels with
        examples, and the answer is that of the levels.
    class_factors_ : ndarray (n_classes,)
        What the candidates' mean probability of each class is multiplied by before it is brought to sum one:
        ``((n + 5) / (n.max() + 5)) ** (1 / 3)`` for n labels of each class. Default candidates treat all classes alike,
        and a frequent class is the better guess where they hardly know. All are 1 where every class has as many labels,
        where there is one candidate only, and where some of yours are among them. With an ontology they are in the
        models of the levels, and 1 here.
    class_means_ : dict of ndarray (n_classes, n_features of the view)
        Mean of each feature over the objects of a class, rows brought to sum one first: what the classes are about.
    class_frequencies_ : dict of ndarray (n_classes, n_features of the view)
        Share of a class's objects that have the feature.
    <shared: fitted views>

    See Also
    --------
    AutoClustering : The same without any labels.
    SeededKMeansClassifier : Under an ontology, objects with several lowest labels, or none.

    Notes
    -----
    Weights and temperatures come from labels that were held out. There are few of them where labels are few, so the
    weights then stay near those that did well on other data. Where none can be held out, since no class has two, those
    weights are multiplied by the third power of "reliability": how well the classes that a candidate gives to all
    objects are predicted from the views, as in `AutoClustering`.

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
    >>> round(sum(model.candidates_["weight"]), 2)
    1.0

    Under an ontology labels of any level are learned from, and predicted where the lowest is uncertain:

    >>> from coview import Ontology
    >>> tree = Ontology.from_tree({"animal": ["cat", "dog"], "oak": []})
    >>> known = np.array(["cat", "dog", "oak", None])[y]
    >>> known[np.isin(known, ["cat", "dog"]) & (np.arange(120) < 6)] = "animal"
    >>> model = AutoClassifier(ontology=tree, random_state=0).fit(data.views, known)
    >>> model.predict(data.views[20:24]).tolist(), model.predict_labels(data.views[20:22]).astype(int).tolist()
    (['cat', 'oak', 'oak', 'dog'], [[1, 1, 0, 0], [0, 0, 0, 1]])
    >>> P = dict(zip(model.classes_, model.predict_proba(data.views).T))
    >>> bool(np.allclose(P["animal"], P["cat"] + P["dog"]))
    True
    >>> careful = model.set_params(confidence=0.95).predict(data.views)
    >>> set(careful) <= {"cat", "dog", "oak", "animal", None}
    True
    """

    _models_counts = False  # candidates that model counts are proposed for counts only
    candidates_: CandidateTable
    estimators_: dict[str, Any]
    links_: dict[str, Any] | None
    temperatures_: dict[str, float]
    seen_views_: dict[str, list[str]]
    level_weights_: dict[str, float]
    view_relations_: dict[str, list[Any]]
    pool_temperature_: float
    new_temperature_: float
    subset_temperatures_: dict[str, dict[str, float]]
    accuracy_by_view_: dict[str, float]
    accuracy_interval_: tuple[float, float]
    _fitted_state = {
        "classes_": rules.labels("classes"),
        "class_prior_": rules.shares("classes"),
        "class_factors_": rules.floats("classes", low=1e-6, high=1),
        "transduction_": rules.values("objects"),
        "memberships_": rules.shares("objects", "classes"),
        "candidates_": candidate_table("accuracy", "log_loss", "reliability", "seconds"),
        "estimators_": rules.custom(_check_kept),
        "level_weights_": rules.mapping(rules.real(0, 1e6)),
        "ontology": rules.or_none(rules.custom(check_ontology)),
        "temperatures_": rules.mapping(rules.real(1e-12, 1e12)),
        "pool_temperature_": rules.real(*POOL_RANGE),
        "new_temperature_": rules.real(1e-6, 1e6),
        "subset_temperatures_": rules.record(
            **dict.fromkeys((ALONE, WITHOUT), rules.by_view(rules.real(1e-6, 1e6), some=True))
        ),
        "accuracy_by_view_": rules.by_view(rules.real(0, 1), some=True),
        "scaling_": SCALING,
        "seen_views_": rules.mapping(rules.view_names(some=True)),
        "accuracy_": rules.real(nan=True),
        "accuracy_interval_": rules.sequence(rules.real(0, 1), 2),
        "calibration_error_": rules.real(nan=True),
        "n_held_out_": rules.count(),
        "links_": LINK_EVIDENCE,
        "_empty_rows_tell": rules.optional(rules.flag()),
        "view_relations_": RELATIONS,
        "class_means_": rules.by_view(rules.floats("classes", "features of {view}")),
        "class_frequencies_": rules.by_view(rules.floats("classes", "features of {view}")),
    }
    _parameters = {
        "candidates": instance(list, tuple) | NONE,
        "links": TEXT | TRUTH | NONE,
        "ontology": instance(Ontology) | NONE,
        "confidence": real_number(most=1),
        "cv": integer(2) | NONE,
    }

    def __init__(
        self,
        candidates: Any = None,
        *,
        links: Any = None,
        ontology: Ontology | None = None,
        confidence: float = 0.0,
        cv: int | None = None,
        time_budget: float | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.candidates = candidates
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
            raise ValueError(
                f"y has labels of one class only, {self.classes_.tolist()[0]!r}. Label objects of at least two classes."
            )
        warn_of_lone_labels(codes, self.classes_)
        self.view_relations_ = check_alignment(comparable_sample(views, seed), seed)
        self._fit_codes(views, codes, FoldPlan.of(views, codes, self._n_folds(codes), seed), seed, deadline)
        return self

    def _fit_codes(
        self, views: Views, codes: np.ndarray, plan: FoldPlan, seed: int, deadline: Deadline
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit to codes of `classes_`; return the objects that were held out, and the probabilities given to them."""
        counts = np.bincount(codes[codes >= 0], minlength=len(self.classes_))
        self.class_prior_ = counts / counts.sum()
        filled = np.any(list(objects_by_view(views).values()), axis=0)
        self._empty_rows_tell = bool((~filled & views.present.any(axis=1) & (codes >= 0)).any())
        self.level_weights_ = {}
        dropped: dict[str, str] = {}
        self.links_ = None
        asked = None if self.candidates is None else asked_pipelines(self.candidates)
        candidates: list[PipelineCandidate] = []
        links, strangers = None, []
        if asked is None or any(estimator is None for _, estimator in asked):
            links, why = self._choose_links(views, codes, seed, deadline)
            strangers = self._strangers(views, codes, seed)
            candidates, dropped = propose_pipelines(views, links, seed, set(strangers) - {links})
            dropped.update(why)
        if asked is not None:
            candidates, dropped = given_pipelines(self.candidates, candidates, dropped, seed)
        if self.links_ is not None:
            self.links_["used"] = any(needed_view(each.estimator) is not None for each in candidates)
        # of a candidate that has not converged its held-out labels speak
        with few_threads(len(views), len(counts)), silenced(but=InterruptedFitWarning), remembering():
            judged = Judge(plan, self.classes_, seed, deadline, self.time_budget, self._log).judge(candidates)
            weights, held_out = self._weigh(judged, plan)
            joined = self.links_ is not None and bool(self.links_["join"])
            heaviest, follower = judged[int(np.argmax(weights))].candidate, None
            if asked is None and worth_self_training(codes, joined, heaviest.is_linear):
                follower = self_training_pipeline(views, links, set(strangers) - {links})
            self._fit_kept(judged, weights, plan, seed, deadline, follower)
        given = {name for name, estimator in asked or () if estimator is not None}
        kept = [model for name, model in self.estimators_.items() if name not in given and isinstance(model, Pipeline)]
        self.scaling_ = view_scalings(step for pipeline in kept for _, step in pipeline.steps)
        self._fill_table(judged, dropped, views, codes)
        own = self.memberships_.argmax(axis=1)
        self.transduction_ = self.classes_[own]
        self.class_means_ = cluster_means(views, own, len(counts))
        self.class_frequencies_ = cluster_frequencies(views, own, len(counts))
        return held_out

    def _n_folds(self, codes: np.ndarray) -> int:
        """Number of folds for these labels, -1 for none."""
        if self.cv is not None:
            return int(self.cv)
        return FOLDS - sum(int(np.count_nonzero(codes >= 0)) < bound for bound in (MANY_LABELS, FEW_LABELS))

    def _strangers(self, views: Views, codes: np.ndarray, seed: int) -> list[str]:
        """Views that share nothing with the others, and from which the labels cannot be told."""
        names, verdicts = self.view_relations_["view"], self.view_relations_["verdict"]
        strangers = [name for name, verdict in zip(names, verdicts) if verdict in STRANGERS]
        if not strangers or "shares" not in verdicts:
            return []
        return strange_views(comparable(views.select(*strangers)), codes, len(self.classes_), seed)

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
        """Compute calibrated class probabilities from some or all of the fitted views; rows sum to one.

        They are those of new objects; `memberships_` has those of the training objects. An object with nothing in any
        view, as a text of unknown words, has `class_prior_` (with an ontology, those of its levels combined), unless
        one of the labeled objects had nothing in any view either: then that is something to learn from. In dense views
        0 is a value, and links are something. Candidates that smooth over links do so among the objects of one call,
        too, where these link to each other. With an ontology the probabilities of its leaves sum to one, and every
        other label has the sum of the leaves below it.
        """
        check_is_fitted(self, "estimators_")
        views = self._new_views(X)
        if self.ontology is not None:
            levels = self._levels()
            return in_type_of(views, levels.probabilities(levels.predict_shares(views)))
        weights = dict(zip(self.candidates_["name"], self.candidates_["weight"]))
        filled, answers = objects_by_view(views), []
        for name, model in self.estimators_.items():
            some = seen_views(views, self.seen_views_[name], needed_view(model))
            if some is None:
                continue
            found = softmax(class_scores(model, some, self.classes_) / self.temperatures_[name], axis=1)
            told = some.present if vars(self).get("_empty_rows_tell") else np.array([filled[v] for v in some.names]).T
            answers.append((weights[name] * told.any(axis=1), found))
        temperatures = self._temperatures(self._described(views, filled), self.new_temperature_)
        return in_type_of(views, pool(answers, self.class_prior_, len(views), self.class_factors_, temperatures))

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
        """Predict the label sets (n_objects, n_classes) of each view by itself, by the exact label program.

        With an ontology labels gain their probability by that view alone less `confidence`, or less 1/2 where that is
        more; a label that one view has and another has not costs 0.2, and no constraint is broken. A view may have no
        label. Without one every view has its most probable class. A view that no candidate looks at is not there.
        """
        check_is_fitted(self, "estimators_")
        views = self._used(self._new_views(X))
        if self.ontology is None:
            return self._opinions({name: self.predict_labels(views.select(name)) for name in views.names})
        levels = self._levels()
        labels, _ = levels.solve(levels.scores_by_view(views, self.confidence), views.present)
        return self._opinions({name: labels[:, v] for v, name in enumerate(views.names)})

    def _inspect(self) -> Inspection:
        """Answer `inspect`: classes, and the candidates that they were found by."""
        answer = super()._inspect()
        training = replace(answer.training, memberships=self.memberships_)
        if self.ontology is not None:
            levels = self._levels()
            training = replace(training, label_sets=self._training_sets())
            answer = replace(
                answer,
                ontology=self.ontology,
                _memberships=lambda X: levels.in_columns(levels.predict_shares(self._new_views(X))),
                _label_sets=self.predict_labels,
                _judge_labels=lambda X, labels: levels.judge(self._used(self._new_views(X)), labels, self.confidence),
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
            candidates=self.candidates_,
            relations=self.view_relations_,
            accuracy_by_view=dict(self.accuracy_by_view_),
            scalings=dict(vars(self).get("scaling_", {})),
            held_out=held_out,
            training=training,
            _features=lambda view: features_of_means(self.class_means_[view], self.class_frequencies_[view], "class"),
        )

    def _unused_views(self) -> list[str]:
        """Views that no candidate that is kept looks at."""
        if self.ontology is not None:
            by_level = [set(model._unused_views()) for model in self.estimators_.values()]
            return [view for view in self.view_names_ if all(view in unused for unused in by_level)]
        used = [set(self.seen_views_[name]) - set(unused_views(model)) for name, model in self.estimators_.items()]
        return [view for view in self.view_names_ if not any(view in some for some in used)]

    def _used(self, views: Views) -> Views:
        """Those of the views that are used; all where none is."""
        return views.select(*(self._opinions(dict(views.items())) or views.names))

    # -- under an ontology

    def _fit_levels(self, views: Views, y: Any, seed: int, deadline: Deadline) -> AutoClassifier:
        """Fit an `AutoClassifier` to each level of the labels, and weigh the levels by held-out labels."""
        assert self.ontology is not None
        labels = read_levels(y, len(views), self.ontology)
        self.classes_ = label_array(self.ontology)
        warn_of_lone_labels(labels.given, self.classes_)
        self.view_relations_ = check_alignment(comparable_sample(views, seed), seed)
        plan = FoldPlan.of(views, labels.given, self._n_folds(labels.given), seed)
        self.estimators_, self.level_weights_, held_out = {}, {}, {}
        for turn, level in enumerate(labels.levels):
            codes, positions = labels.codes(level)
            self._log(f"{level}: {len(positions)} classes")
            model = clone(self).set_params(ontology=None)
            model._fit_views(views)
            model.classes_, model.view_relations_ = positions, self.view_relations_
            share = deadline.share(1 / (len(labels.levels) - turn))
            held_out[level] = model._fit_codes(views, codes, plan.relabeled(codes), seed, share)
            self.estimators_[level] = model
        lowest = self.estimators_[LEAVES]
        self.links_, self.scaling_ = lowest.links_, lowest.scaling_
        self.temperatures_, self.seen_views_, self.pool_temperature_, self.new_temperature_ = {}, {}, 1.0, 1.0
        self.subset_temperatures_, self.accuracy_by_view_ = {ALONE: {}, WITHOUT: {}}, {}
        codes = labels.codes(LEAVES)[0]
        evidence = self._levels().weigh(held_out, codes, self._n_folds(labels.given))
        self.level_weights_ = evidence.weights
        self._score(evidence.codes, evidence.probabilities, plan.relabeled(codes).lone)
        levels = self._levels()
        self.candidates_ = levels.candidates()
        self.class_prior_ = levels.in_columns(lowest.class_prior_[None])[0]
        self.class_factors_ = np.ones(len(self.classes_))
        shares = (
            levels.shares({level: model.memberships_ for level, model in self.estimators_.items()}) * labels.allowed
        )
        self.memberships_ = levels.in_columns(shares / shares.sum(axis=1, keepdims=True))
        self.transduction_ = named_labels(levels.lowest(self._training_sets()), self.classes_)
        self.class_means_ = levels.by_label(lambda model: model.class_means_)
        self.class_frequencies_ = levels.by_label(lambda model: model.class_frequencies_)
        return self

    def _levels(self) -> LevelPool:
        assert self.ontology is not None
        return LevelPool(self.ontology, self.estimators_, self.level_weights_)

    def _training_sets(self) -> np.ndarray:
        levels = self._levels()
        return levels.label_sets(self.memberships_[:, levels.ends], self.confidence)

    # -- pieces

    def _choose_links(
        self, views: Views, codes: np.ndarray, seed: int, deadline: Deadline
    ) -> tuple[str | None, dict[str, str]]:
        """View of links to smooth over: one that was named, joins alike objects or joins labels; or why there is none.

        Where it was named, held-out labels decide.
        """
        links = find_links(views, self.links)
        if links is None:
            return None, {}
        evidence = judge_links(views, links, len(self.classes_), seed)
        if self.links is not None:
            why = evidence.why if evidence.join else f"{NAMED_LINKS}; {evidence.why}"
            evidence = replace(evidence, used=True, why=why)
        elif not evidence.join:
            told = labels_along_links(views, links, codes, len(self.classes_), seed, deadline)
            evidence = replace(evidence, used=told.agree, why=f"{evidence.why}; {told.why}")
        self.links_ = vars(evidence).copy()
        return (links, {}) if evidence.used else (None, dict.fromkeys(LINKED, evidence.why))

    def _weigh(self, judged: list[FoldScores], plan: FoldPlan) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Weight of each candidate by what it says of held-out objects; and these with what all say, as is scored."""
        codes = plan.whole.codes
        alive = [i for i, each in enumerate(judged) if each.dropped is None]
        if not alive:
            last = next(each.error for each in judged if each.error is not None)
            raise ValueError(f"No candidate could be fitted. The last error was: {last}") from last
        rows = asked_of_all([judged[i] for i in alive], codes)
        counts = np.bincount(codes[codes >= 0], minlength=len(self.classes_))
        by_default = len(alive) > 1 and not any(judged[i].candidate.as_given for i in alive)
        self.class_factors_ = class_factors(counts) if by_default else np.ones(len(self.classes_))
        weights = np.zeros(len(judged))
        weights[alive] = weigh([judged[i] for i in alive], codes)
        own, views = codes[rows], plan.whole.prepared.views
        combined = nested_probabilities(judged, codes, rows, self._n_folds(own), views)
        combined, folds = with_class_factors(combined, self.class_factors_), deal_folds(own, self._n_folds(own), 0)
        self.pool_temperature_ = 1.0
        if len(alive) > 1:  # one alone is calibrated already
            self.pool_temperature_ = fit_pool_temperature(combined, own)
            temperatures = {n: fit_pool_temperature(combined[folds != n], own[folds != n]) for n in np.unique(folds)}
            for number, temperature in temperatures.items():
                combined[folds == number] = sharpened(combined[folds == number], temperature)
        self._score(own, combined, plan.lone)
        return weights, (rows, combined)

    def _score(self, own: np.ndarray, combined: np.ndarray, lone: float) -> None:
        """Fill `accuracy_`, its interval and `calibration_error_`; a share of the labels, `lone`, is of other classes.

        The accuracy counts these as not found, as they would be in a fold, and so would be objects of classes without a
        label, of which there are as many if labels are drawn at random. The interval reaches up to all of them found.
        """
        found, known = int(np.count_nonzero(combined.argmax(axis=1) == own)), lone <= LONE
        low, high = _wilson_interval(found, len(own))
        low, high = self.accuracy_interval_ = ((1 - lone) * low, (1 - lone) * high + lone)
        self.n_held_out_, self.accuracy_, self.calibration_error_ = len(own), float("nan"), float("nan")
        if len(own) and known:
            self.accuracy_ = (1 - lone) * found / len(own)
        told = {"accuracy": self.accuracy_, "low": low, "high": high, "n_labels": len(own)}
        self._log(f"accuracy {describe_accuracy(told)}")
        if len(own) >= CALIBRATED and known:
            self.calibration_error_ = expected_calibration_error(own, combined, classes=np.arange(combined.shape[1]))

    def _fit_kept(
        self,
        judged: list[FoldScores],
        weights: np.ndarray,
        plan: FoldPlan,
        seed: int,
        deadline: Deadline,
        follower: PipelineCandidate | None,
    ) -> None:
        """Fit those with a weight to all labels; fills `estimators_`, `memberships_` and the weights that are left.

        A follower learns from what they say, and joins `judged`.
        """
        prepared, codes = plan.whole.prepared, plan.whole.codes
        self.estimators_, self.temperatures_, self.seen_views_ = {}, {}, {}
        fitted: list[tuple[FoldScores, FittedFold]] = []
        answers: list[tuple[np.ndarray, np.ndarray]] = []
        kept = kept_candidates(judged, weights, prepared.views)
        best = best_so_far(judged, codes)
        if deadline != NO_DEADLINE and best is not None:  # the others only if there is time for them too
            first = next(i for i, each in enumerate(judged) if each is best)
            if first in kept or deadline.left() < sum(max(judged[i].seconds, default=0.0) for i in kept):
                kept = [first, *(i for i in kept if i != first)]
        prepared.keep([judged[i].candidate for i in kept] + ([follower] if follower is not None else []))
        for turn, i in enumerate(kept):
            each = judged[i]
            name = each.candidate.name
            tell(f"last fit, {name}", turn, len(kept))
            if self.estimators_ and deadline.left() < max(each.seconds, default=0.0):
                each.dropped = too_late(self.time_budget)
                continue
            began = time.monotonic()
            try:
                steps, rest, views = prepared.behind(each.candidate)
                mine = max(
                    deadline.share(1 / (len(kept) - turn)).left(), min(deadline.left(), max(each.seconds, default=0.0))
                )
                seconds = None if deadline == NO_DEADLINE else max(mine, 1e-9)
                model = each.model or fit_candidate(rest, views, codes, self.classes_, seconds)
                found = softmax(fitted_scores(model, views, self.classes_) / each.temperature, axis=1)
            except FAILURES as error:
                each.dropped, each.error = f"could not be fitted: {error}", error
                self._log(f"last fit, {name}: {each.dropped}")
                continue
            each.seconds.append(time.monotonic() - began)
            self._log(f"last fit, {name}: {each.seconds[-1]:.1f} s")
            each.weight = max(float(weights[i]), SPARE)
            answers.append((each.weight * each.candidate.sees(prepared.views), found))
            fitted.append((each, FittedFold(model, rest, views, codes, plan.whole.rows)))
            self.estimators_[name] = _whole(steps, model)
            self.temperatures_[name] = each.temperature
            self.seen_views_[name] = list(each.candidate.views or prepared.views.names)
        if not self.estimators_:
            raise ValueError(f"No candidate could be fitted. The last error was: {judged[kept[-1]].error}")
        if not self.n_held_out_:  # the candidates' agreement is all that is known
            mean = pool(answers, self.class_prior_, len(codes), self.class_factors_)[codes < 0]
            opinions = [each.opinions[codes < 0] for each in judged if each.opinions is not None]
            self.pool_temperature_ = agreeing_temperature(mean, opinions)
        self.memberships_ = pool(answers, self.class_prior_, len(codes), self.class_factors_, self.pool_temperature_)
        if follower is not None:
            self._self_train(follower, judged, fitted, answers, plan, seed, deadline)
        total = sum(each.weight for each in judged)
        for each in judged:
            each.weight /= total
        self._temper_subsets(fitted, answers, plan, seed, deadline)
        views = prepared.views
        if not views.present.all():
            own = self._temperatures(dict(zip(views.names, views.present.T)), self.pool_temperature_)
            lacking = np.flatnonzero((~views.present).any(axis=1))
            part = pool(answers, self.class_prior_, len(codes), self.class_factors_, own)
            self.memberships_[lacking] = part[lacking]
        labeled = np.flatnonzero(codes >= 0)
        self.memberships_[labeled] = np.eye(len(self.classes_))[codes[labeled]]

    def _self_train(
        self,
        follower: PipelineCandidate,
        judged: list[FoldScores],
        fitted: list[tuple[FoldScores, FittedFold]],
        answers: list[tuple[np.ndarray, np.ndarray]],
        plan: FoldPlan,
        seed: int,
        deadline: Deadline,
    ) -> None:
        """Let a follower learn from `memberships_`, and give it as much weight as all others have; lists grow by it."""
        prepared, codes, before = plan.whole.prepared, plan.whole.codes, self.memberships_
        each = FoldScores(follower, np.full(before.shape, np.nan))
        judged.append(each)
        tell(f"last fit, {follower.name}")
        if deadline.left() < max(seconds for other, _ in fitted for seconds in other.seconds):
            each.dropped = too_late(self.time_budget)
            return
        began = time.monotonic()
        asked, found = _some_unlabeled(codes, seed), None
        try:
            found = self_train(follower, prepared, codes, before, self.class_factors_, self.classes_, asked, seed)
            each.dropped = CANNOT_FOLLOW if found is None else None
        except FAILURES as error:
            each.dropped, each.error = f"could not be fitted: {error}", error
        each.seconds.append(time.monotonic() - began)
        self._log(f"last fit, {follower.name}: {each.dropped or f'{each.seconds[-1]:.1f} s'}")
        if found is None:
            return
        each.weight = sum(other.weight for other in judged)
        answers.append((each.weight * follower.sees(prepared.views), found.probabilities))
        fitted.append((each, FittedFold(found.model, found.rest, found.views, codes, plan.whole.rows)))
        self.estimators_[follower.name] = _whole(found.steps, found.model)
        self.temperatures_[follower.name] = each.temperature
        self.seen_views_[follower.name] = list(follower.views or prepared.views.names)
        mean, free = pool(answers, self.class_prior_, len(codes), self.class_factors_), found.compared
        matched = matching_temperature(mean[free], before[free].max(axis=1), self.pool_temperature_)
        self.pool_temperature_ = float(np.clip(matched, *POOL_RANGE))
        whole = pool(answers, self.class_prior_, len(codes), self.class_factors_, self.pool_temperature_)
        self.memberships_ = before.copy()
        differ = np.flatnonzero(whole.argmax(axis=1) != before.argmax(axis=1))
        self.memberships_[differ] = whole[differ]

    def _temper_subsets(
        self,
        fitted: list[tuple[FoldScores, FittedFold]],
        answers: list[tuple[np.ndarray, np.ndarray]],
        plan: FoldPlan,
        seed: int,
        deadline: Deadline,
    ) -> None:
        """Fill `new_temperature_`, `subset_temperatures_` and `accuracy_by_view_` by objects that are new to the asked.

        These are unlabeled ones, which the model itself tells the classes of; where they are few, also those whose
        labels were held out in the first fold.
        """
        views, codes, sources = plan.whole.prepared.views, plan.whole.codes, []
        some, hidden = _some_unlabeled(codes, seed), plan.first_fold
        lots = [(some, self.memberships_[some], fitted)]
        if len(some) < ASKED:
            held = hidden[sample_positions(len(hidden), ASKED, seed)]
            first = [(each, each.first_fold) for each, _ in fitted if each.first_fold is not None]
            lots.append((held, np.eye(len(self.classes_))[codes[held]], first))
        for rows, targets, models in lots:
            takes = sum(max(each.seconds, default=0.0) for each, _ in models)
            if len(rows) and len(views.names) > 1 and deadline.left() > takes:
                kept = [self._ask(each, fold, rows) for each, fold in models]
                told: list[Asked | Told] = [each for each in kept if each is not None]
                if models is fitted:
                    told += [
                        Told(views.names, each.weight, each.weight * (answer[0][rows] > 0), answer[1][rows])
                        for (each, _), answer in zip(models, answers)
                        if needed_view(each.candidate.estimator) is not None
                    ]
                weight = sum(each.weight for each, _ in models)
                sources.append(
                    SubsetEvidence(told, weight, targets, views.present[rows], views.names, self.class_factors_)
                )
        self.new_temperature_ = temperature_of_new(sources, views.names, self.classes_, self.pool_temperature_)
        self.subset_temperatures_, by_view = gather_evidence(
            sources, views.names, self.classes_, self.pool_temperature_
        )
        # judged by probabilities from all views
        self.accuracy_by_view_ = {} if np.isnan(self.accuracy_) else self._opinions(by_view)

    def _ask(self, each: FoldScores, fold: FittedFold, rows: np.ndarray) -> Asked | None:
        """Prepare to ask a candidate for some objects; None where it cannot be."""
        places = np.searchsorted(fold.rows, rows)
        try:
            return asked_of(
                each.candidate,
                fold.model,
                fold.rest,
                fold.views,
                fold.codes,
                places,
                self.classes_,
                each.weight,
                each.temperature,
            )
        except FAILURES:
            return None

    def _described(self, views: Views, filled: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Who has a view, and something in it; links, of which an object may have none, count as they are."""
        linked = {needed_view(model) for model in self.estimators_.values()}
        given = dict(zip(views.names, views.present.T))
        return {name: given[name] if name in linked else some for name, some in filled.items()}

    def _temperatures(self, described: Mapping[str, np.ndarray], usual: float) -> np.ndarray:
        """Temperature of each object (a column) by the views that it has; `usual` of who has all of them."""
        names = list(self.view_names_)
        present = np.zeros((len(next(iter(described.values()))), len(names)), dtype=bool)
        for name, some in described.items():
            present[:, names.index(name)] = some
        return temperatures_of_objects(self.subset_temperatures_, usual, names, present)

    def _why_light(self) -> str:
        return UNNEEDED if self.n_held_out_ else UNLIKELY

    def _fill_table(
        self, judged: list[FoldScores], skipped: Mapping[str, str], views: Views, codes: np.ndarray
    ) -> None:
        table: dict[str, list[Any]] = {key: [] for key in TABLE}
        by_any = {name for each in judged for name in each.candidate.views or views.names}
        verdicts = zip(self.view_relations_["view"], self.view_relations_["verdict"])
        strangers = {name: STRANGE.get(verdict, verdict) for name, verdict in verdicts if name not in by_any}
        for each in judged:
            seen = each.candidate.views or views.names
            rows = np.flatnonzero(each.judged)
            told = each.scores[rows].argmax(axis=1) == codes[rows]
            line = (
                each.candidate.name,
                each.candidate.method,
                each.weight,
                float(np.mean(told)) if rows.size else float("nan"),
                log_loss(each.probabilities(rows), codes[rows]) if rows.size else float("nan"),
                each.reliability,
                float(np.median(each.seconds)) if each.seconds else float("nan"),
                left_out(views.names, seen, each.candidate.why, strangers),
                each.dropped if each.weight == 0 and each.dropped else None if each.weight > 0 else self._why_light(),
            )
            for key, value in zip(TABLE, line):
                table[key].append(value)
        for name, why in skipped.items():
            for key, value in zip(TABLE, (name, None, 0.0, *[float("nan")] * 4, None, why)):
                table[key].append(value)
        self.candidates_ = CandidateTable(table)
        lines = sorted(zip(*(table[key] for key in ("weight", "name", "dropped"))), key=lambda line: -line[0])
        for weight, name, why in lines:
            self._log(f"weight {weight:.2f}, {name}" + (f": {why}" if why else ""))
        tell("fitted")

    def _log(self, text: str) -> None:
        if self.verbose:
            print_line(f"AutoClassifier, {text}")


def _some_unlabeled(codes: np.ndarray, seed: int) -> np.ndarray:
    """Unlabeled objects that are asked about as if they were new."""
    unlabeled = np.flatnonzero(codes < 0)
    return unlabeled[sample_positions(len(unlabeled), ASKED, seed)]


def _whole(steps: list[Any], model: Any) -> Any:
    """Pipeline of fitted steps and a fitted estimator behind them."""
    if not steps:
        return model
    rest = model.steps if isinstance(model, Pipeline) else [("classifier", model)]
    names = [type(step).__name__.lower() for step in steps]
    named = [
        (name if names.count(name) == 1 else f"{name}-{i + 1}", step)
        for i, (name, step) in enumerate(zip(names, steps))
    ]
    return Pipeline([*named, *rest])


def _wilson_interval(found: int, count: int) -> tuple[float, float]:
    """Wilson's interval at 95 % of a share, of which so many were found: of none, from 0 to 1.

    Examples
    --------
    >>> [tuple(round(end, 3) for end in _wilson_interval(found, count)) for found, count in ((90, 100), (10, 10))]
    [(0.826, 0.945), (0.722, 1.0)]
    """
    spread = NORMAL * np.sqrt(found * (count - found) / max(count, 1) + NORMAL**2 / 4)
    low, high = np.clip((found + NORMAL**2 / 2 + np.array([-spread, spread])) / (count + NORMAL**2), 0, 1).tolist()
    return low, high
