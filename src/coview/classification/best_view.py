"""The one view that serves an estimator best: by cross-validation with labels, by an internal index without."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_clusterer, is_regressor
from sklearn.metrics import check_scoring, r2_score, silhouette_score
from sklearn.model_selection import cross_val_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from coview.classification.wrapper import SingleViewWrapper, in_type_of, inner_has, like_inner, training_labels
from coview.exceptions import ViewsError
from coview.inspection import Features, Inspection, describe
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.folds import list_splits
from coview.utils.inner import asking, finite_answer, fitting
from coview.utils.parameters import ARRAY, FUNCTION, NONE, TEXT, integer, object_with, one_of
from coview.utils.routing import metadata_of_rows
from coview.validation import base_seed
from coview.views.arrays import for_sklearn, take_rows
from coview.views.coerce import PLAIN
from coview.views.views import Views

__all__ = ["BestView"]

SILHOUETTE_ROWS = 2000  # of so many objects all distances are taken


def _check_best(checker: rules.Checker, value: Any, where: str) -> None:
    judged, views = (checker.state.get(name, ()) for name in ("estimators_", "view_names_"))
    if value not in judged or not set(judged) <= set(views):
        checker.refuse(where, f"is {value!r}, which is no view with an estimator")


@shared_parameters
class BestView(SingleViewWrapper):
    """Fit a single-view estimator on the view that suits it best.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A classifier, regressor, clusterer or transformer of one matrix; None is `MultinomialNB`.
    cv : int or splitter, default=3
        Cross-validation that compares the views for classifiers and regressors. With fewer labeled objects of every
        class than folds, there are fewer folds; with one per class, the training objects themselves are scored.
    scoring : str, callable or None, default=None
        What to compare in cross-validation; None is the estimator's own score.
    index : {"silhouette", "score"} or callable, default="silhouette"
        What to compare where there are no labels: the mean silhouette of the clusters (on at most 2000 objects), the
        estimator's own score of the training objects, or a function of (matrix, fitted estimator). Higher is better.
    unlabeled : {"auto", "drop", "pass"}, default="auto"
        What a classifier sees of objects without label (None or NaN in y): "drop" leaves them out, "pass" hands them
        over with label -1, "auto" passes them to semi-supervised estimators only. In y, -1 marks such an object too if
        the estimator is semi-supervised or `unlabeled` is not "auto"; otherwise it is a class like any other. The
        folds are of labeled objects.
    <shared: random_state>

    Attributes
    ----------
    best_view_ : str
        Name of the chosen view.
    best_estimator_ : estimator
        The estimator fitted on it.
    view_scores_ : dict
        Score of each view; NaN where there was nothing to choose from.
    estimators_ : dict
        The estimator fitted on each view.
    classes_ : ndarray
        Those of the chosen estimator, where it has them.
    labels_ : ndarray (n_objects,)
        Those of the chosen estimator, where it has them; label -1 for objects that lack its view.
    transduction_ : ndarray (n_objects,)
        Those of the chosen estimator, where it has them; objects that lack its view, or that it has not labeled, have
        the class that `predict` gives them.
    code_book_ : ndarray or None
        The classes by code, where the estimators learned codes of them: scikit-learn's semi-supervised ones do not take
        booleans beside -1, nor all of them texts.
    <shared: fitted views>

    Notes
    -----
    Each view is judged and fitted on the objects that have it. A classifier or regressor predicts an object from the
    best view that the object has (zeros of the best view given, if it has none); clusters and components of different
    views have nothing to do with each other, so there an object that lacks the chosen view is refused.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import Views
    >>> from coview import BestView
    >>> y = np.array([0, 1] * 6)
    >>> X = Views(noise=np.ones((12, 2)), words=np.eye(2)[y])
    >>> model = BestView().fit(X, y)
    >>> model.best_view_, model.view_scores_["words"]
    ('words', 1.0)
    """

    _fitted_state = {
        "estimators_": rules.mapping(like_inner("features of {view}"), "judged views"),
        "view_scores_": rules.mapping(rules.number(nan=True), "judged views"),
        "best_view_": rules.custom(_check_best),
    }
    _parameters = {
        "cv": integer() | object_with("get_n_splits") | ARRAY | NONE,
        "scoring": TEXT | FUNCTION | NONE,
        "index": one_of("silhouette", "score") | FUNCTION,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = 3,
        scoring: Any = None,
        index: Any = "silhouette",
        unlabeled: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.scoring = scoring
        self.index = index
        self.unlabeled = unlabeled
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **metadata: Any) -> BestView:
        """Fit the estimator on each view and choose the best one.

        Parameters
        ----------
        X : Views or what becomes Views
            Training objects.
        y : array-like, optional
            Labels or targets.
        **metadata
            Passed on to the estimator, also in cross-validation: `sample_weight`, and whatever it requests with
            scikit-learn's metadata routing.
        """
        views = self._fit_views(X)
        rows, target = self._target(y, len(views))
        usable = np.arange(len(views)) if rows is None else rows
        target = None if target is None else np.asarray(target)
        whole = self._metadata("fit", metadata, len(views))
        self.estimators_: dict[str, Any] = {}
        self.view_scores_: dict[str, float] = {}
        for v, name in enumerate(views.names):
            have = views.present[usable, v]
            if not have.any():
                continue
            mine, labels = usable[have], None if target is None else target[have]
            matrix = for_sklearn(views[name] if len(mine) == len(views) else take_rows(views[name], mine))
            passed = metadata_of_rows(whole, mine, len(views))
            with fitting(self._inner(), f"view {name!r}"):
                self.estimators_[name] = clone(self._inner()).fit(matrix, labels, **passed)
                self.view_scores_[name] = self._judge(name, matrix, labels, passed) if len(views.names) > 1 else np.nan
        if not self.estimators_:
            raise ViewsError("No labeled object has any view. Pass labeled objects with at least one view.")
        self.best_view_ = max(self.view_scores_, key=lambda name: np.nan_to_num(self.view_scores_[name], nan=-np.inf))
        self._describe(views, usable)
        return self

    @property
    def best_estimator_(self) -> Any:
        """The estimator fitted on the chosen view."""
        return self.estimators_[self.best_view_]

    @available_if(inner_has("score"))
    def score(self, X: Any, y: Any = None, **metadata: Any) -> float:
        """Accuracy over labeled objects, R2 of a regressor; else the score of the chosen estimator on its view.

        `metadata`, such as `sample_weight`, is passed on.
        """
        check_is_fitted(self, "estimators_")
        views = self._new_views(X)
        passed = self._metadata("score", metadata, len(views))
        if is_classifier(self):
            return super().score(X, y, **passed)
        if is_regressor(self):
            return float(r2_score(y, self._apply("predict", X), **passed))
        return float(self.best_estimator_.score(self._chosen_rows(views), y, **passed))

    def _inspect(self) -> Inspection:
        """Answer `inspect`: groups are those of the best view's estimator."""
        inner = describe(self.best_estimator_, {})
        classes = self.classes_.tolist() if is_classifier(self) else []

        def features(view: str) -> Features | None:
            if view not in self.estimators_:
                return None
            answer = describe(self.estimators_[view], {})
            return answer.described_features(PLAIN) if view == self.best_view_ or answer.labels == classes else None

        return self._described(inner, view_weights=dict(self.view_scores_), _features=features)

    def _unused_views(self) -> list[str]:
        """Views without an estimator; of a clusterer or transformer all but the best, as others have other groups."""
        used = self.estimators_ if is_classifier(self) or is_regressor(self) else [self.best_view_]
        return [view for view in self.view_names_ if view not in used]

    # -- choosing

    def _judge(self, name: str, matrix: Any, labels: np.ndarray | None, passed: dict[str, Any]) -> float:
        model = self.estimators_[name]
        if labels is None or not (is_classifier(model) or is_regressor(model)):
            return self._internal(model, matrix)
        folds = self._folds(labels, model)
        if folds is None:
            known = np.flatnonzero(self._labeled(labels))
            return float(check_scoring(model, self.scoring)(model, take_rows(matrix, known), labels[known]))
        settings = {"cv": folds, "scoring": self.scoring, "params": passed or None}
        return float(np.mean(cross_val_score(clone(model), matrix, labels, **settings)))

    def _folds(self, labels: np.ndarray, model: Any) -> list[tuple[np.ndarray, np.ndarray]] | None:
        """Folds of the labeled objects, the unlabeled being in every training set; None where there are too few."""
        rows = np.arange(len(labels))
        if not is_classifier(model):
            return list_splits(self.cv, rows)
        known, others = rows[self._labeled(labels)], rows[~self._labeled(labels)]
        _, codes, counts = np.unique(labels[known].astype(str), return_inverse=True, return_counts=True)
        cv = min(self.cv, int(counts.max())) if isinstance(self.cv, int) else self.cv
        if cv == 1 or len(counts) == 1:
            return None
        splits = list_splits(cv, codes, classifier=True)
        return [(np.concatenate([known[train], others]), known[test]) for train, test in splits]

    def _internal(self, model: Any, matrix: Any) -> float:
        if callable(self.index):
            return float(self.index(matrix, model))
        if self.index == "score":
            if not hasattr(model, "score"):
                raise TypeError(f"index='score' needs an estimator with a score method, got {model!r}.")
            return float(model.score(matrix))
        if not (is_clusterer(model) or hasattr(model, "predict")):  # mixtures predict too
            raise TypeError(f"index='silhouette' needs a clusterer, got {model!r}. Use index='score' or a function.")
        labels = training_labels(model, matrix)
        if not 1 < len(np.unique(labels)) < len(labels):
            return -1.0  # no clusters at all: as bad as a silhouette gets
        rng = np.random.default_rng(base_seed(self.random_state))
        if len(labels) > SILHOUETTE_ROWS:
            rows = np.sort(rng.choice(len(labels), SILHOUETTE_ROWS, replace=False))
            matrix, labels = take_rows(matrix, rows), labels[rows]
            if len(np.unique(labels)) < 2:
                return -1.0
        return float(silhouette_score(matrix, labels))

    def _describe(self, views: Views, usable: np.ndarray) -> None:
        for name in ("classes_", "labels_", "transduction_"):
            self.__dict__.pop(name, None)
        best = self.best_estimator_
        if is_classifier(best):
            known = np.unique(np.concatenate([model.classes_ for model in self.estimators_.values()]))
            self.classes_ = self._named(known)
        mine = usable[views.present[usable, views.names.index(self.best_view_)]]
        if hasattr(best, "labels_"):
            self.labels_ = np.full(len(views), -1)
            self.labels_[mine] = best.labels_
        if hasattr(best, "transduction_"):
            self.transduction_ = self._transduced(
                best.transduction_, mine, len(views), lambda rows: self._apply("predict", views[rows])
            )

    # -- predicting

    def _chosen_rows(self, views: Views) -> Any:
        best = self.best_view_
        if best not in views or not views.present[:, views.names.index(best)].all():
            raise ViewsError(f"BestView chose view {best!r}: every object to be transformed or clustered must have it.")
        return for_sklearn(views[best], self.best_estimator_)

    def _apply(self, method: str, X: Any) -> Any:
        check_is_fitted(self, "estimators_")
        views = self._new_views(X)
        if not (is_classifier(self) or is_regressor(self)):
            rows = self._chosen_rows(views)
            with asking(self.best_estimator_, f"view {self.best_view_!r}"):
                answer = getattr(self.best_estimator_, method)(rows)
            return in_type_of(views, finite_answer(self.best_estimator_, answer, f"view {self.best_view_!r}"))
        ranked = sorted(self.estimators_, key=lambda name: (name != self.best_view_, -self.view_scores_[name]))
        usable = [name for name in ranked if name in views]
        if not usable:
            raise ViewsError(
                f"BestView has no fitted estimator for {', '.join(map(repr, views.names))}. Pass other views."
            )
        has = views.present[:, [views.names.index(name) for name in usable]]
        first = np.where(has.any(axis=1), has.argmax(axis=1), 0)
        result: Any = None
        for v, name in enumerate(usable):
            rows = np.flatnonzero(first == v)
            if rows.size:
                part = self._aligned(name, method, for_sklearn(take_rows(views[name], rows)))
                result = np.empty((len(views), *part.shape[1:]), dtype=part.dtype) if result is None else result
                result[rows] = part
        return in_type_of(views, result)

    def _aligned(self, name: str, method: str, matrix: Any) -> np.ndarray:
        """Output of one view's estimator, with one column for each class of the whole model."""
        model = self.estimators_[name]
        with asking(model, f"view {name!r}"):
            part = np.asarray(getattr(model, method)(matrix))
        finite_answer(model, part, f"view {name!r}")
        if method == "predict":
            return self._named(part).astype(self.classes_.dtype) if is_classifier(self) else part
        if len(model.classes_) == len(self.classes_):
            return part
        if method != "predict_proba":
            raise ViewsError(
                f"The estimator of view {name!r} knows only {len(model.classes_)} of {len(self.classes_)} classes."
            )
        whole = np.zeros((len(part), len(self.classes_)), dtype=part.dtype)
        whole[:, np.searchsorted(self.classes_, self._named(model.classes_))] = part
        return whole
