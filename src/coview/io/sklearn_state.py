"""What fitted estimators of scikit-learn look like, by its conventions, for those that model files may hold.

Compiled code of scikit-learn trusts the sizes of fitted arrays: neighbors among no rows end the process. So a model
file holds a fitted estimator only where its arrays are held against ``n_features_in_``, ``classes_`` and each other by
the rules below, or go nowhere but through NumPy, SciPy and other estimators. In all of them numbers must be finite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from inspect import getattr_static, ismethoddescriptor, isroutine
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin
from sklearn.preprocessing import TargetEncoder

from coview.io.libsvm_state import LIBSVM_STATE
from coview.io.patterns import check_quick
from coview.utils import fitted_state as rules

__all__ = ["check_pattern", "check_sklearn", "is_known"]

# by bytes of a number: what a few steps after each other make of such numbers, squared and divided, is still finite
_LARGEST = {2: 7e4, 4: 1e16, 8: 1e40}
_SMALLEST = 1e-40  # by which is divided
# what may be NaN or infinite in a model that is whole: scores of constant features, failed folds, gaps to be filled
_MAY_BE_NAN = ("cv_results_", "scores_", "pvalues_", "statistics_", "bin_edges_", "_fill_value")
_LABELS = ("categories_", "classes_")  # may be any numbers, which are only compared
_VECTOR = rules.floats("features")
_POSITIVE = rules.floats("features", low=_SMALLEST)


# what answers by NumPy, SciPy, kernels that check shapes, or other estimators alone: whole modules, and single classes
_MODULES = frozenset((
    "compose", "covariance", "cross_decomposition", "decomposition", "discriminant_analysis", "dummy",
    "feature_extraction", "feature_selection", "frozen", "impute", "kernel_approximation", "kernel_ridge",
    "linear_model", "manifold", "mixture", "model_selection", "multiclass", "multioutput", "naive_bayes", "pipeline",
    "preprocessing", "random_projection",
))  # fmt: skip
_CLASSES = frozenset((
    "AdaBoostClassifier", "AdaBoostRegressor", "AffinityPropagation", "AgglomerativeClustering", "BaggingClassifier",
    "BaggingRegressor", "BernoulliRBM", "DBSCAN", "LinearSVR", "MeanShift", "NearestCentroid",
    "NeighborhoodComponentsAnalysis", "SelfTrainingClassifier", "SpectralBiclustering", "SpectralClustering",
    "SpectralCoclustering", "StackingClassifier", "StackingRegressor", "VotingClassifier", "VotingRegressor",
))  # fmt: skip


def is_known(cls: type) -> bool:
    """Tell whether enough is known of a class of scikit-learn for fitted ones to be read from a file.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> is_known(KMeans), is_known(RandomForestClassifier)
    (True, False)
    """
    name, module = cls.__name__, cls.__module__.split(".")[1]
    return name in _BY_CLASS or name in LIBSVM_STATE or name in _CLASSES or module in _MODULES


def check_sklearn(model: Any) -> None:
    """Refuse a fitted estimator of scikit-learn whose parameters or attributes do not fit.

    Raises
    ------
    rules.StateMismatch
        One sentence without a full stop says what is wrong.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> model = KMeans(2, n_init=1, random_state=0).fit(np.eye(4))
    >>> model.n_features_in_ = 5
    >>> check_sklearn(model)
    Traceback (most recent call last):
    coview.utils.fitted_state.StateMismatch: cluster_centers_ has 4 features, but n_features_in_ has 5
    """
    state, params = vars(model), model.get_params(deep=False)
    try:
        if "_parameter_constraints" in dir(model):  # those without parameters have none
            model._validate_params()
    except ValueError as error:
        raise rules.StateMismatch(str(error).rstrip(".")) from None
    known = LIBSVM_STATE.get(type(model).__name__)
    if known is not None:
        _check_names(model, known)
        if "_sparse" not in state:
            return  # not fitted: it has what its constructor sets
    described = known or {**_GENERAL, **_BY_CLASS.get(type(model).__name__, {})}
    _check_no_methods(model)
    rules.check_state(described, state)
    for name, value in state.items():
        if name not in params and name not in _LABELS:
            _check_finite(value, name, gaps=name in described or name in _MAY_BE_NAN)


def _check_names(model: Any, known: Mapping[str, rules.Rule]) -> None:
    """Refuse attributes that the class is not known to have; before a fit, those that its constructor does not set."""
    fresh = vars(type(model)(**model.get_params(deep=False)))
    for name, value in vars(model).items():
        if "_sparse" in vars(model):
            if name not in known and name not in fresh:
                raise rules.StateMismatch(f"{name} is no attribute of a {type(model).__name__}")
        elif name not in fresh or (value is not fresh[name] and value != fresh[name]):
            raise rules.StateMismatch(f"{name} is there, but the model is not fitted")


def _check_no_methods(model: Any) -> None:
    """Refuse attributes that stand where the class has a method."""
    for name in vars(model):
        there = getattr_static(type(model), name, None)
        if isroutine(there) or ismethoddescriptor(there):
            raise rules.StateMismatch(f"{name} is stored, but is a method of a {type(model).__name__}")


def check_pattern(model: Any) -> None:
    """Refuse a vectorizer whose pattern of words could take forever on a text.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> check_pattern(CountVectorizer())
    >>> check_pattern(CountVectorizer(token_pattern=r"(a+)+b"))
    Traceback (most recent call last):
    coview.utils.fitted_state.StateMismatch: token_pattern is '(a+)+b', which repeats what itself repeats
    """
    pattern = vars(model).get("token_pattern")
    if pattern is None:
        return
    if not isinstance(pattern, str):
        raise rules.StateMismatch(f"token_pattern is of type {type(pattern).__name__}, but must be a text")
    check_quick(pattern, "token_pattern")


def _check_finite(value: Any, where: str, gaps: bool) -> None:
    """Refuse numbers too large to compute with, wherever they are in plain values; and without `gaps`, not finite."""
    if isinstance(value, BaseEstimator):
        return  # checked by itself
    if isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            _check_finite(part, f"{where}[{i}]", gaps)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            _check_finite(part, f"{where}[{key!r}]", gaps)
    elif isinstance(value, (int, float, np.floating)):
        size: Any = abs(value if isinstance(value, int) else float(value))
        if not size <= _LARGEST[8] and not (gaps and not math.isfinite(size)):
            raise rules.StateMismatch(f"{where} is {value}, but must be finite, and no larger than {_LARGEST[8]:g}")
    else:
        array = value.data if sparse.issparse(value) else value
        if isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.size:
            limit = _LARGEST[min(array.dtype.itemsize, 8)]
            low, high = float(array.min()), float(array.max())
            if gaps and not (math.isfinite(low) and math.isfinite(high)):
                array = array[np.isfinite(array)]
                low, high = float(array.min(initial=0)), float(array.max(initial=0))
            if not (-limit <= low and high <= limit):
                raise rules.StateMismatch(
                    f"{where} holds {low:g} to {high:g}, but must hold finite numbers, none larger than {limit:g}"
                )


# -- by class


def _outputs(checker: rules.Checker, value: Any, where: str) -> None:
    """Rows of a linear model: one for two classes, else one for each."""
    classes = checker.state.get("classes_")
    if isinstance(classes, np.ndarray) and isinstance(value, np.ndarray) and value.ndim:
        wanted = 1 if len(classes) == 2 else len(classes)
        if len(value) != wanted:
            checker.refuse(where, f"has {len(value)} rows for {len(classes)} classes")


def _rows(checker: rules.Checker, value: Any, where: str) -> None:
    rule = rules.either(rules.floats("outputs", "features", sparse=True), rules.floats("features"))
    checker.check(rule, value, where)
    if value.ndim == 2:
        _outputs(checker, value, where)


def _intercepts(checker: rules.Checker, value: Any, where: str) -> None:
    checker.check(rules.either(rules.floats("outputs"), rules.number()), value, where)
    _outputs(checker, value, where)


def _category_counts(checker: rules.Checker, value: Any, where: str) -> None:
    """Columns of each feature: its categories, the infrequent ones as one, less the one that is dropped."""
    counts = []
    groups = _of_infrequent(checker, "_infrequent_indices", len(value))
    codes = _of_infrequent(checker, "_default_to_infrequent_mappings", len(value))
    dropped = checker.state.get("_drop_idx_after_grouping")
    for i, names in enumerate(checker.state["categories_"][: len(value)]):
        n = len(names)
        if groups[i] is not None:
            checker.check(rules.integers(None, below=n, rising=True), groups[i], f"_infrequent_indices[{i}]")
            n -= len(groups[i]) - 1
        if codes[i] is not None:
            checker.check(rules.integers(len(names), below=n), codes[i], f"_default_to_infrequent_mappings[{i}]")
        if dropped is not None and i < len(dropped) and dropped[i] is not None:
            checker.check(rules.count(high=n - 1), dropped[i], f"_drop_idx_after_grouping[{i}]")
            n -= 1
        counts.append(n)
    if list(value) != counts or len(value) != len(checker.state["categories_"]):
        checker.refuse(where, "does not count the categories")


def _of_infrequent(checker: rules.Checker, name: str, size: int) -> list[Any]:
    """What an encoder says of the infrequent categories of each feature, None where it has none."""
    if not checker.state.get("_infrequent_enabled"):
        return [None] * size
    checker.check(rules.sequence(rules.plain(), size), checker.state.get(name), name)
    return checker.state[name]


def _numbers(*shape: str | None) -> rules.Rule:
    """Floating or whole numbers, or True and False, in an array or a CSR matrix."""
    inside = rules.floats(*shape, sparse=True)

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        whole = (sparse.issparse(value) or isinstance(value, np.ndarray)) and value.dtype.kind in "biu"
        checker.check(inside, value.astype(np.float64) if whole else value, where)

    return rules.custom(visit)


def _with_gaps(inside: rules.Rule, gaps: Callable[[rules.Checker, np.ndarray], np.ndarray]) -> rules.Rule:
    """What a rule says of all numbers but those where `gaps` is true."""

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            value = np.where(gaps(checker, value), value.dtype.type(1), value)
        checker.check(inside, value, where)

    return rules.custom(visit)


def _of_columns(*names: str, **switches: str) -> dict[str, rules.Rule]:
    """Numbers of a scaler, one for each feature: all of them NaN for a feature without values; scales are positive.

    None where the parameter that switches them off, by their name in `switches`, is false.
    """

    def empty(checker: rules.Checker, value: np.ndarray) -> np.ndarray:
        others = [part for name in names if isinstance(part := checker.state.get(name), np.ndarray)]
        alike = [part for part in others if part.shape == value.shape and part.dtype.kind == "f"]
        return np.logical_and.reduce([np.isnan(part) for part in alike])

    inside = {name: _POSITIVE if name == "scale_" else _VECTOR for name in names}

    def needed(name: str) -> Callable[[Mapping[str, Any]], Any]:
        return lambda state: name not in switches or state.get(switches[name], True)

    return {name: rules.or_none(_with_gaps(rule, empty), needed(name)) for name, rule in inside.items()}


def _idf(checker: rules.Checker, value: Any, where: str) -> None:
    checker.check(rules.estimator(features="words", methods=["transform"]), value, where)


def _steps(checker: rules.Checker, value: Any, where: str) -> None:
    """Steps of a pipeline: what one gives is what the next takes, as far as both say."""
    if not isinstance(value, list) or not value:
        checker.refuse(where, "is no list of steps")
    before: tuple[str, int] | None = None
    for number, step in enumerate(value, start=1):
        pair = isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str)
        if not pair or not (step[1] is None or step[1] == "passthrough" or isinstance(step[1], BaseEstimator)):
            checker.refuse(where, "has a step that is no pair of a name and an estimator")
        if not isinstance(step[1], BaseEstimator):
            continue
        if number < len(value) and "transform" not in dir(type(step[1])):
            checker.refuse(where, f"has {step[0]!r} before the last step, which transforms nothing")
        takes = vars(step[1]).get("n_features_in_")
        if before is not None and takes is not None and takes != before[1]:
            checker.refuse(where, f"has {step[0]!r}, which takes {takes} features, after {before[0]!r} of {before[1]}")
        gives = _width_of(step[1])
        before = None if gives is None else (step[0], gives)


def _width_of(model: Any) -> int | None:
    """Number of features that a transformer gives, where that can be told; a view's transformer gives views."""
    own = vars(model)
    if not type(model).__module__.startswith("sklearn."):
        return None
    if isinstance(own.get("vocabulary_"), dict):
        return len(own["vocabulary_"])
    if isinstance(model, OneToOneFeatureMixin) and not isinstance(model, TargetEncoder):  # one for each class
        return own.get("n_features_in_")
    parts = own.get("components_")
    return len(parts) if isinstance(parts, np.ndarray) else None


def _fewer(checker: rules.Checker, value: Any, where: str) -> None:
    """Neighbors that are asked for, among those that there are; a graph of distances asks for one more."""
    most = int(checker.state.get("n_samples_fit_", 1)) - (checker.state.get("mode") == "distance")
    checker.check(rules.count(1, high=most), value, where)


def _is_estimator(checker: rules.Checker, value: Any, where: str) -> None:
    checker.check(rules.estimator(), value, where)


_GENERAL: dict[str, rules.Rule] = {
    "n_features_in_": rules.optional(rules.count(1, size="features")),
    "feature_names_in_": rules.optional(rules.strings("features")),
    "classes_": rules.optional(rules.either(rules.labels("classes"), rules.sequence(rules.values()), rules.values())),
    **dict.fromkeys(  # the others are learned on by `partial_fit`
        ("coef_", "_standard_coef", "_average_coef"),
        rules.optional(rules.either(rules.floats(None, "features", sparse=True), rules.floats("features"))),
    ),
    "_n_features_out": rules.optional(rules.count(1)),
}
_TABLE = rules.floats("classes", "features")
_CLUSTERS = {
    "cluster_centers_": rules.floats("clusters", "features"),
    "labels_": rules.optional(rules.integers("objects", below="clusters")),
    "n_features_in_": rules.count(1, size="features"),
    "_n_features_out": rules.count(1, size="clusters"),
    "_n_threads": rules.count(1, high=4096),
}
_COUNTED = {
    "classes_": rules.labels("classes"),
    "n_features_in_": rules.count(1, size="features"),
    "class_log_prior_": rules.floats("classes", logarithms=True),
    "class_count_": rules.floats("classes", low=0),
    "feature_count_": rules.floats("classes", "features", low=0),
}
_LINEAR = {
    "classes_": rules.labels("classes"),
    "n_features_in_": rules.count(1, size="features"),
    "coef_": rules.custom(_rows),
    "intercept_": rules.custom(_intercepts),
}
_PARTS = {
    "n_features_in_": rules.count(1, size="features"),
    "components_": rules.floats("components", "features"),
    "n_components_": rules.optional(rules.count(1, size="components")),
    "explained_variance_": rules.optional(rules.floats("components", low=0)),
    "explained_variance_ratio_": rules.optional(rules.floats("components")),
    "singular_values_": rules.optional(rules.floats("components", low=0)),
    "mean_": rules.optional(_VECTOR),
    "noise_variance_": rules.optional(rules.number(0.0)),
}
_WORDS = {"vocabulary_": rules.optional(rules.vocabulary()), "fixed_vocabulary_": rules.optional(rules.flag())}
_NEAREST: dict[str, rules.Rule] = {
    "n_features_in_": rules.count(1, size="features"),
    "n_samples_fit_": rules.count(1, size="objects"),
    "_fit_X": _numbers("objects", "features"),
    "_fit_method": rules.one_of("brute"),
    "_tree": rules.or_none(rules.custom(lambda checker, value, where: checker.refuse(where, "is no tree"))),
    "effective_metric_": rules.text(),
    "effective_metric_params_": rules.mapping(  # weights or variances of features, which no metric counts
        rules.either(rules.number(), rules.flag(), rules.floats("features"), rules.floats("features", "features"))
    ),
}
_NEAREST_CLASSES: dict[str, rules.Rule] = {
    **_NEAREST,
    "classes_": rules.labels("classes"),
    "_y": rules.integers("objects", below="classes"),
}
_NUMBER = {"n_neighbors": rules.custom(_fewer)}
_RADIUS = {"radius": rules.number(0.0)}
_NEAREST_NUMBERS = {**_NEAREST, "_y": rules.either(_numbers("objects"), _numbers("objects", None))}

_SPREAD: dict[str, rules.Rule] = {
    "classes_": rules.labels("classes"),
    "n_features_in_": rules.count(1, size="features"),
    "X_": _numbers("objects", "features"),
    "label_distributions_": _with_gaps(  # NaN where no label arrives
        rules.floats("objects", "classes", low=0), lambda _, value: np.isnan(value)
    ),
    "transduction_": rules.values("objects"),
}

_BY_CLASS: dict[str, dict[str, rules.Rule]] = {
    **dict.fromkeys(("KMeans", "MiniBatchKMeans"), _CLUSTERS),
    "MultinomialNB": {**_COUNTED, "feature_log_prob_": rules.floats("classes", "features", high=1e-3)},
    # the logarithms of what is left are taken, too
    "BernoulliNB": {**_COUNTED, "feature_log_prob_": rules.floats("classes", "features", high=-1e-15)},
    "ComplementNB": {
        **_COUNTED,
        "feature_all_": rules.floats("features", low=0),
        "feature_log_prob_": rules.floats("classes", "features", high=700.0),  # weights, with a sign or without
    },
    **dict.fromkeys(
        ("LogisticRegression", "SGDClassifier", "RidgeClassifier", "LinearSVC", "Perceptron", "LogisticRegressionCV"),
        _LINEAR,
    ),
    "GaussianNB": {
        "classes_": rules.labels("classes"),
        "n_features_in_": rules.count(1, size="features"),
        "theta_": _TABLE,
        "var_": rules.floats("classes", "features", low=_SMALLEST),
        "class_prior_": rules.shares("classes"),
    },
    "DummyClassifier": {
        "classes_": rules.labels("classes"),
        "class_prior_": rules.shares("classes"),
        "n_classes_": rules.count(1, size="classes"),
        "n_outputs_": rules.one_of(1),
        "sparse_output_": rules.flag(),
    },
    **dict.fromkeys(("TruncatedSVD", "NMF", "FastICA"), _PARTS),
    "PCA": {**_PARTS, "mean_": _VECTOR, "explained_variance_": rules.floats("components", low=0)},
    "StandardScaler": {
        "n_features_in_": rules.count(1, size="features"),
        **_of_columns("mean_", "var_", "scale_", mean_="with_mean", var_="with_std", scale_="with_std"),
    },
    "MinMaxScaler": {
        "n_features_in_": rules.count(1, size="features"),
        **_of_columns("min_", "scale_", "data_min_", "data_max_", "data_range_"),
    },
    "MaxAbsScaler": {"n_features_in_": rules.count(1, size="features"), **_of_columns("scale_", "max_abs_")},
    "RobustScaler": {
        "n_features_in_": rules.count(1, size="features"),
        **_of_columns("center_", "scale_", center_="with_centering", scale_="with_scaling"),
    },
    "KNNImputer": {
        "n_features_in_": rules.count(1, size="features"),
        "_fit_X": _with_gaps(rules.floats("objects", "features"), lambda _, value: np.isnan(value)),
    },
    "OPTICS": {
        "n_features_in_": rules.count(1, size="features"),
        **dict.fromkeys(
            ("reachability_", "core_distances_"),
            _with_gaps(rules.floats("objects", low=0), lambda _, value: np.isposinf(value)),
        ),
    },
    "CountVectorizer": _WORDS,
    "TfidfVectorizer": {**_WORDS, "_tfidf": rules.custom(_idf)},
    "TfidfTransformer": {"idf_": rules.optional(_VECTOR, needed=lambda state: state.get("use_idf", True))},
    "OneHotEncoder": {
        "n_features_in_": rules.count(1, size="features"),
        "categories_": rules.sequence(rules.values(), "features"),
        "drop_idx_": rules.or_none(rules.values("features")),
        "_drop_idx_after_grouping": rules.or_none(rules.values("features")),
        "_infrequent_enabled": rules.flag(),
        "_n_features_outs": rules.custom(_category_counts),
    },
    "NearestNeighbors": _NEAREST,
    "KNeighborsClassifier": {**_NEAREST_CLASSES, **_NUMBER},
    "RadiusNeighborsClassifier": {**_NEAREST_CLASSES, **_RADIUS},
    "KNeighborsRegressor": {**_NEAREST_NUMBERS, **_NUMBER},
    "RadiusNeighborsRegressor": {**_NEAREST_NUMBERS, **_RADIUS},
    "KNeighborsTransformer": {**_NEAREST, **_NUMBER},
    "RadiusNeighborsTransformer": {**_NEAREST, **_RADIUS},
    "LocalOutlierFactor": {
        **_NEAREST,
        "n_neighbors_": rules.count(1, size="neighbors"),
        "_distances_fit_X_": rules.floats("objects", "neighbors", low=0),
        "_lrd": rules.floats("objects"),
        "offset_": rules.number(),
    },
    "LabelSpreading": _SPREAD,
    "LabelPropagation": _SPREAD,
    "Pipeline": {"steps": rules.custom(_steps)},
    "GridSearchCV": {"best_estimator_": rules.optional(rules.custom(_is_estimator))},
    "RandomizedSearchCV": {"best_estimator_": rules.optional(rules.custom(_is_estimator))},
}
