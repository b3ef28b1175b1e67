"""The one view that serves an estimator best: by cross-validation with labels, by the silhouette without."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import silhouette_score
from sklearn.model_selection import cross_val_score

from coview.classification.wrapper import SingleViewWrapper, in_type_of
from coview.exceptions import ViewsError
from coview.inspection import Features, Inspection, describe_estimator
from coview.inspection.features import described_features
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.inner import fitting
from coview.utils.parameters import integer
from coview.utils.sampling import list_splits
from coview.validation import base_seed
from coview.views.arrays import for_sklearn, take_rows
from coview.views.views import PLAIN

__all__ = ["BestView"]


def _check_best(checker: rules.Checker, value: Any, where: str) -> None:
    if value not in checker.state.get("estimators_", ()):
        checker.refuse(where, f"is {value!r}, which is no view with an estimator")


@shared_parameters
class BestView(SingleViewWrapper):
    """Fit a single-view estimator on the view that suits it best.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A classifier, regressor or clusterer of one matrix; None is `MultinomialNB`.
    cv : int, default=3
        Number of folds of the cross-validation that compares the views for classifiers and regressors. With fewer
        labeled objects of every class than folds, there are fewer folds; with one per class, the training objects
        themselves are scored.
    unlabeled : {"auto", "drop"}, default="auto"
        What a classifier sees of objects without label (None or NaN in y): "drop" leaves them out, "auto" passes them
        to semi-supervised estimators only. In y, -1 marks such an object too if the estimator is semi-supervised or
        `unlabeled` is "drop"; otherwise it is a class like any other. The folds are of labeled objects.
    <shared: random_state>

    Attributes
    ----------
    best_view_ : str
        Name of the chosen view.
    best_estimator_ : estimator
        The estimator fitted on it.
    view_scores_ : dict
        Score of each view: the estimator's own, by cross-validation; of a clusterer the mean silhouette (on at most
        2,000 objects).
    estimators_ : dict
        The estimator fitted on each view.
    classes_ : ndarray
        The classes of a classifier, sorted.
    labels_ : ndarray (n_objects,)
        Those of the chosen estimator, where it has them; label -1 for objects that lack its view.
    <shared: fitted views>

    Notes
    -----
    Each view is judged and fitted on the objects that have it. A classifier or regressor predicts an object from the
    best view that the object has (zeros of the best view given, if it has none); clusters of different views have
    nothing to do with each other, so there an object that lacks the chosen view is refused.

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
        "estimators_": rules.by_view(rules.estimator(features="features of {view}"), some=True),
        "view_scores_": rules.by_view(rules.real(nan=True), some=True),
        "best_view_": rules.custom(_check_best),
    }
    _parameters = {"cv": integer()}

    def __init__(
        self, estimator: Any = None, *, cv: int = 3, unlabeled: str = "auto", random_state: Any = None
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.unlabeled = unlabeled
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> BestView:
        """Fit the estimator on each view and choose the best one.

        Parameters
        ----------
        X : Views or what becomes Views
            Training objects.
        y : array-like, optional
            Labels or targets.
        """
        views = self._fit_views(X)
        rows, target = self._learn_from(y, len(views))
        self.estimators_: dict[str, Any] = {}
        self.view_scores_: dict[str, float] = {}
        for v, name in enumerate(views.names):
            # zeros of objects that lack the view would teach it a class of the empty
            have = np.flatnonzero(views.present[rows, v])
            if not have.size:
                continue
            matrix, mine = for_sklearn(take_rows(views[name], rows[have])), None if target is None else target[have]
            with fitting(self._inner(), f"view {name!r}"):
                self.estimators_[name] = clone(self._inner()).fit(matrix, mine)
                self.view_scores_[name] = self._judge(self.estimators_[name], matrix, mine)
        if not self.estimators_:
            raise ViewsError("No labeled object has any view. Pass labeled objects with at least one view.")
        self.best_view_ = max(self.view_scores_, key=lambda name: self.view_scores_[name])
        if hasattr(self.best_estimator_, "labels_"):
            self.labels_ = np.full(len(views), -1)
            self.labels_[views.present[:, views.names.index(self.best_view_)]] = self.best_estimator_.labels_
        return self

    @property
    def best_estimator_(self) -> Any:
        """The estimator fitted on the chosen view."""
        return self.estimators_[self.best_view_]

    def _inspect(self) -> Inspection:
        """Answer `inspect`: groups are those of the best view's estimator."""

        def features(view: str) -> Features | None:
            if view in self._unused_views():
                return None
            answer = describe_estimator(self.estimators_[view], {})
            same = not is_classifier(self) or len(answer.groups) == len(self.classes_)
            return described_features(answer, PLAIN) if same else None

        inner = describe_estimator(self.best_estimator_, {})
        return self._described(inner, _view_weights=dict(self.view_scores_), _features=features)

    def _unused_views(self) -> list[str]:
        """Views without an estimator; of a clusterer all but the best, as others have other groups."""
        used = self.estimators_ if is_classifier(self) or is_regressor(self) else [self.best_view_]
        return [view for view in self.view_names_ if view not in used]

    # -- choosing

    def _judge(self, model: Any, matrix: Any, target: Any) -> float:
        if is_regressor(model):
            return float(np.mean(cross_val_score(clone(model), matrix, target, cv=self.cv)))
        if is_classifier(model):
            return self._judge_classifier(model, matrix, target)
        labels = model.labels_ if hasattr(model, "labels_") else model.predict(matrix)
        some = {"sample_size": min(len(labels), 2000), "random_state": base_seed(self.random_state)}
        try:
            return float(silhouette_score(matrix, labels, **some))
        except ValueError:  # one cluster, or one for each object: as bad as a silhouette gets
            return -1.0

    def _judge_classifier(self, model: Any, matrix: Any, target: np.ndarray) -> float:
        """Score by folds of the labeled objects, the unlabeled being in every training set."""
        has_label = target >= 0 if self._learns_codes else np.ones(len(target), dtype=bool)
        known, others = np.flatnonzero(has_label), np.flatnonzero(~has_label)
        counts = np.unique(target[known], return_counts=True)[1]
        if len(counts) == 1 or min(self.cv, counts.max()) == 1:
            return float(model.score(take_rows(matrix, known), target[known]))
        # no more folds than the largest class has labels: others would have nothing to be judged by
        splits = list_splits(min(self.cv, int(counts.max())), target[known], classifier=True)
        # a semi-supervised estimator learns from unlabeled objects as in the final fit
        pairs = [(np.concatenate([known[train], others]), known[test]) for train, test in splits]
        return float(np.mean(cross_val_score(clone(model), matrix, target, cv=pairs)))

    # -- predicting

    def _apply(self, method: str, X: Any) -> Any:
        views = self._new_views(X)
        supervised = is_classifier(self) or is_regressor(self)
        ranked = (
            sorted(self.estimators_, key=lambda name: -self.view_scores_[name]) if supervised else [self.best_view_]
        )
        usable = [name for name in ranked if name in views]
        has = views.present[:, [views.names.index(name) for name in usable]]
        if not usable or not (supervised or has.all()):
            raise ViewsError(f"BestView chose view {self.best_view_!r}: pass it, of every object that is asked about.")
        if not supervised:
            rows = for_sklearn(views[self.best_view_], self.best_estimator_)
            return in_type_of(views, self._ask(self.best_estimator_, method, rows, f"view {self.best_view_!r}"))
        first = has.argmax(axis=1)  # the best view given, of zeros, for an object that has none of these
        parts = {}
        for v in np.unique(first):
            rows = np.flatnonzero(first == v)
            parts[usable[v]] = rows, self._aligned(usable[v], method, for_sklearn(take_rows(views[usable[v]], rows)))
        # one call for all objects of a view; back into their order by sorting the rows
        answers = np.concatenate([answer for _, answer in parts.values()])
        order = np.argsort(np.concatenate([rows for rows, _ in parts.values()]))
        return in_type_of(views, answers[order])

    def _aligned(self, name: str, method: str, matrix: Any) -> np.ndarray:
        """Answer of one view's estimator, with one column for each class of the whole model."""
        model = self.estimators_[name]
        answer = self._ask(model, method, matrix, f"view {name!r}")
        if method == "predict" or len(model.classes_) == len(self.classes_):
            return answer
        # a class that the view has not met has probability 0, but no such decision value
        if method == "decision_function":
            raise ViewsError(f"The estimator of view {name!r} knows only {len(model.classes_)} classes.")
        whole = np.zeros((len(answer), len(self.classes_)), dtype=answer.dtype)
        whole[:, np.searchsorted(self.classes_, self._named(model.classes_))] = answer
        return whole
