"""Asking a model: `inspect`, and the adapters for pipelines, searches and estimators of scikit-learn.

What scikit-learn's conventions say of an estimator (`classes_`, `predict_proba`, `labels_`, `transform`, ...) becomes
the contract here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_clusterer, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import ViewsTypeError
from coview.inspection.contract import Inspection, answers, numbered
from coview.inspection.features import Features
from coview.inspection.memberships import both_sides, label_codes, near_centers, softmax
from coview.inspection.records import Structure, Training
from coview.utils.fitted_state import find_attribute
from coview.utils.messages import short
from coview.views.inputs import ViewInput
from coview.views.views import PLAIN

__all__ = ["conventional_weights", "describe_estimator", "inspect", "unused_views"]


def inspect(model: Any) -> Inspection:
    """Describe a fitted model of any kind in a uniform way.

    Parameters
    ----------
    model : estimator
        A fitted estimator of coview or scikit-learn, a Pipeline that ends in one, or a search.

    Returns
    -------
    Inspection
        The answer.

    Examples
    --------
    >>> from coview import MultiViewPLSA, inspect
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> inspection = inspect(MultiViewPLSA(3, 5, random_state=0).fit(X))
    >>> inspection.kind, inspection.groups, list(inspection.views)
    ('cluster', ['0', '1', '2'], ['view0', 'view1'])
    >>> inspection.features("view0").shape, inspection.memberships(X.select("view1")).shape
    ((3, 500), (60, 3))
    """
    try:
        check_is_fitted(model)
    except TypeError as error:
        raise ViewsTypeError(
            f"A fitted estimator is needed, got {short(model)}. Example: inspect(PLSA(10).fit(X))."
        ) from error
    *before, estimator = _steps_of(model)
    inspection = (
        estimator._inspect() if answers(estimator) else describe_estimator(estimator, _views_taken(estimator, before))
    )
    front = before.pop(0) if before and makes_views(before[0]) else None
    unused, inside = unused_views(estimator), inspection.preparation
    has_curves = bool(inspection.training.history) or not inspection.selection.candidates
    given = {**inspection.structure.given_names, **vars(estimator).get("group_names_", {})}
    return replace(
        inspection,
        preparation=replace(
            inside,
            model=model,
            views=inspection.views,
            inputs=_inputs(front, tuple(before), inspection),
            front=inside.front if front is None else front,
            steps=(*before, *inside.steps),  # of an estimator around a pipeline, those inside come last
            unused_views=unused,
            takes_lazy=getattr(estimator, "_takes_lazy", False),
        ),
        unused_views=unused,
        training=_complete(inspection.training, estimator, unused, has_curves),
        structure=replace(inspection.structure, given_names=given),
        # a copy of an estimator of coview that has some of its groups alone
        _keeping=(lambda groups: inspect(estimator._keeping(groups)))
        if find_attribute(estimator, "_group_rows")
        else inspection._keeping,
        _transform=getattr(estimator, "transform", None) if inspection._transform is None else inspection._transform,
    )


def unused_views(model: Any) -> tuple[str, ...]:
    """Return the views that an estimator, or the last one of a pipeline, does not use, as far as it tells."""
    told = find_attribute(_steps_of(model)[-1], "_unused_views")
    return () if told is None else tuple(told())


def _complete(training: Training, estimator: Any, unused: tuple[str, ...], has_curves: bool) -> Training:
    """What is kept of the fit, with ids of the same objects and iterations, without opinions of unused views."""
    by_view = {view: part for view, part in training.memberships_by_view.items() if view not in unused}
    known = training.codes if training.memberships is None else training.memberships
    ids, sweeps = vars(estimator).get("_object_ids"), getattr(estimator, "n_iter_", None)
    same = ids is not None and known is not None and training.ids is None and len(known) == len(ids)
    return replace(
        training,
        memberships_by_view=by_view,
        ids=ids if same else training.ids,
        n_iter=training.n_iter if sweeps is None or not has_curves else int(np.max(sweeps)),
    )


def _steps_of(model: Any) -> list[Any]:
    """Return the steps of a pipeline, also of pipelines and searches inside it, or the model itself."""
    inside = model if answers(model) else getattr(model, "best_estimator_", model)  # of a search
    if not isinstance(inside, Pipeline):
        return [inside]
    steps = [step for _, step in inside.steps if step not in (None, "passthrough")]
    return [inner for step in steps for inner in _steps_of(step)]


def _views_taken(estimator: Any, before: list[Any]) -> dict[str, ViewInput]:
    """Return the views of an estimator of the user's own behind coview's transformers; empty if it takes a matrix."""
    if hasattr(estimator, "n_features_in_"):  # scikit-learn has seen a matrix
        return {}
    last = next((step for step in reversed(before) if hasattr(step, "n_features_by_view_")), None)
    return {} if last is None else {view: ViewInput(view, 0) for view in last.n_features_by_view_}


def makes_views(step: Any) -> bool:
    """Tell whether a step of a pipeline starts from raw text or tables."""
    return hasattr(step, "view_inputs") or hasattr(step, "build_analyzer")


def describe_estimator(estimator: Any, views: Mapping[str, ViewInput]) -> Inspection:
    """Describe an estimator by scikit-learn's conventions: `classes_`, `predict_proba`, `labels_`, `transform`, ...

    Parameters
    ----------
    estimator : fitted estimator
        One that follows the conventions, whether it takes a matrix or views.
    views : dict of ViewInput
        The views that it takes; empty for the one matrix of an estimator of scikit-learn.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> inspection = describe_estimator(KMeans(2, random_state=0).fit([[0.0], [0.1], [5.0]]), {})
    >>> inspection.kind, inspection.groups, inspection.features("x").ravel().round(2).tolist()
    ('cluster', ['0', '1'], [0.05, 5.0])
    """
    inputs = dict(views) or _matrix_input(estimator)
    predict, probabilities, margins, transform = (
        getattr(estimator, name, None) for name in ("predict", "predict_proba", "decision_function", "transform")
    )
    common: dict[str, Any] = {"views": inputs, "_features": _conventional_features(estimator, inputs)}
    if is_regressor(estimator):
        return Inspection(estimator, "value", ["value"], _predict=predict, **common)
    graded = Structure(probabilities=probabilities is not None)
    if is_classifier(estimator):
        labels = np.asarray(estimator.classes_).tolist()
        if probabilities is None and margins is not None:
            probabilities = lambda X: softmax(both_sides(margins(X)))  # noqa: E731
        counts = getattr(estimator, "class_count_", None)  # of naive Bayes
        transduction = getattr(estimator, "transduction_", None)
        training = Training(
            codes=None if transduction is None else label_codes(transduction, labels),
            n_labels=None if counts is None else round(float(np.sum(counts))),
        )
        common |= {"training": training, "structure": graded, "_memberships": probabilities, "_predict": predict}
        return Inspection(estimator, "class", [str(label) for label in labels], labels, **common)
    if get_tags(estimator).estimator_type == "density_estimator":
        count = len(getattr(estimator, "weights_", ()))  # of a mixture
        return Inspection(
            estimator, "cluster", **numbered(count), structure=graded, _memberships=probabilities, **common
        )
    labels_ = getattr(estimator, "labels_", None)
    if is_clusterer(estimator) or labels_ is not None:
        known = np.asarray([] if labels_ is None else labels_).astype(np.int64)
        # may have been set anew: there are never more than objects
        asked = int(getattr(estimator, "n_clusters", 0) or 0)
        count = max(int(known.max(initial=-1)) + 1, min(asked, len(known) or asked))
        if not views and transform is not None and hasattr(estimator, "cluster_centers_"):  # distances from the centers
            common["_memberships"] = lambda X: near_centers(estimator.transform(X))
            common["_keeping"] = lambda groups: replace(
                describe_estimator(estimator, views),
                _memberships=lambda X: near_centers(estimator.transform(X)[:, groups]),
            )
        training = Training(codes=None if labels_ is None else known)
        return Inspection(
            estimator, "cluster", **numbered(count), training=training, _predict=predict, _embed=transform, **common
        )
    count = int(getattr(estimator, "n_components_", 0) or len(getattr(estimator, "components_", ())))
    return Inspection(estimator, "component", **numbered(count), _memberships=transform, **common)


def conventional_weights(estimator: Any, view: str | None = None) -> Features | None:
    """Return groups x features of an estimator that keeps them by scikit-learn's names, or None.

    Parameters
    ----------
    estimator : fitted estimator
        One that keeps a matrix under such a name, or one matrix per view.
    view : str, optional
        The view, of one that keeps a dict.
    """

    def kept(name: str) -> Any:
        value = getattr(estimator, name, None)
        value = value.get(view) if isinstance(value, Mapping) else value
        return value if value is None or sparse.issparse(value) else np.asarray(value)

    if (logs := kept("feature_log_prob_")) is not None:
        return Features(np.exp(logs), True, "p(feature)")
    if (coefficients := kept("coef_")) is not None and is_classifier(estimator):
        return Features(both_sides(coefficients), False, "coefficient")
    for name, origin in (("cluster_centers_", "center"), ("components_", "component")):
        if (weights := kept(name)) is not None:
            return Features(weights, False, origin)
    return None


def _conventional_features(estimator: Any, inputs: Mapping[str, ViewInput]) -> Callable[[str], Features | None]:
    def features(view: str) -> Features | None:
        weights = conventional_weights(estimator, view)
        if weights is None or view not in inputs or weights.weights.shape[-1] != inputs[view].n_features:
            return None
        return weights

    return features


def _matrix_input(estimator: Any) -> dict[str, ViewInput]:
    width = int(getattr(estimator, "n_features_in_", 0))
    return {PLAIN: ViewInput(PLAIN, width, getattr(estimator, "feature_names_in_", None))}


def _inputs(front: Any, steps: tuple[Any, ...], inspection: Inspection) -> dict[str, ViewInput]:
    """What the model takes: as the front makes it, as the first step takes it, or as the estimator does."""
    if front is not None and hasattr(front, "view_inputs"):
        return front.view_inputs()
    if front is not None:  # a vectorizer of scikit-learn
        names = front.get_feature_names_out() if hasattr(front, "get_feature_names_out") else None
        width = len(names) if names is not None else inspection.views[PLAIN].n_features
        return {PLAIN: ViewInput(PLAIN, width, names, front)}
    first = next((step for step in steps if hasattr(step, "n_features_by_view_")), None)
    if first is None:
        return inspection.preparation.inputs or inspection.views
    inputs = {}
    for view, width in first.n_features_by_view_.items():
        known = inspection.views.get(view)
        same = known is not None and known.feature_names is not None and len(known.feature_names) == width
        inputs[view] = ViewInput(view, width, known.feature_names if same and known is not None else None)
    return inputs
