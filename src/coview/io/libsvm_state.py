"""What support vector machines of scikit-learn must look like: libsvm trusts their sizes, and reads what they say.

    pairs = classes (classes - 1) / 2,     support vectors = len(support_) = sum(_n_support)

Coefficients are (classes - 1) x (support vectors), those of a regression and of one class 1 x (support vectors), as of
two classes. A precomputed kernel has no support vectors, only their positions among the training objects.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coview.utils import fitted_state as rules

__all__ = ["LIBSVM_STATE"]

_LARGEST_INT = 2**31 - 1  # what compiled code takes


def _fitted_shape(checker: rules.Checker, value: Any, where: str) -> None:
    """Objects and features of the training data; a precomputed kernel has a feature for each object."""
    checker.check(rules.sequence(rules.count(1), 2), value, where)
    checker.size("objects", value[0], where)
    checker.size("features", value[1], where)
    if checker.state.get("kernel") == "precomputed":
        checker.size("features", value[0], where)


def _support(checker: rules.Checker, value: Any, where: str) -> None:
    checker.check(rules.integers("support vectors", below="objects", dtype=np.int32), value, where)


def _vectors(checker: rules.Checker, value: Any, where: str) -> None:
    if checker.state.get("_sparse"):
        checker.check(rules.floats("support vectors", "features", sparse=True, dtype=np.float64), value, where)
        if not sparse.issparse(value) or value.indices.dtype != np.int32 or value.indptr.dtype != np.int32:
            checker.refuse(where, "is no CSR matrix with indices of 4 bytes")
    elif checker.state.get("kernel") == "precomputed":
        checker.check(rules.floats(0, None, dtype=np.float64), value, where)
        _check_order(checker, value, where)
    else:
        checker.check(rules.floats("support vectors", "features", dtype=np.float64), value, where)
        _check_order(checker, value, where)


def _coefficients(checker: rules.Checker, value: Any, where: str) -> None:
    rows = _n_classes(checker, where) - 1
    if not checker.state.get("_sparse"):
        checker.check(rules.floats(rows, "support vectors", dtype=np.float64), value, where)
        _check_order(checker, value, where)
        return
    if sparse.issparse(value) and 0 in value.shape:  # without support vectors, of another shape
        checker.size("support vectors", 0, where)
        return
    checker.check(rules.floats(rows, "support vectors", sparse=True, dtype=np.float64), value, where)
    if not sparse.issparse(value) or value.data.size != value.shape[0] * value.shape[1]:
        checker.refuse(where, "is no CSR matrix that says every coefficient")


def _counts(checker: rules.Checker, value: Any, where: str) -> None:
    """Support vectors of each class; of a sparse regression, memory that nobody wrote."""
    checker.check(rules.integers(_n_classes(checker, where), low=-_LARGEST_INT - 1, dtype=np.int32), value, where)
    if "classes_" in checker.state:
        if (value < 0).any():
            checker.refuse(where, "counts below zero")
        checker.size("support vectors", int(value.sum(dtype=np.int64)), where)
    elif not checker.state.get("_sparse"):
        checker.size("support vectors", int(value[0]), where)


def _of_pairs(checker: rules.Checker, value: Any, where: str) -> None:
    n_classes = _n_classes(checker, where)
    checker.check(rules.floats(n_classes * (n_classes - 1) // 2, dtype=np.float64), value, where)


def _calibration(checker: rules.Checker, value: Any, where: str) -> None:
    """Nothing, or what makes probabilities of the decision values of each pair; read where the model gives some."""
    asked = (checker.state.get("_effective_probability", False), checker.state.get("probability", False))
    if any(answer is not False and answer != "deprecated" for answer in asked):
        _of_pairs(checker, value, where)
    else:
        checker.check(rules.either(rules.floats(0, dtype=np.float64), rules.custom(_of_pairs)), value, where)


def _n_classes(checker: rules.Checker, where: str) -> int:
    classes = checker.state.get("classes_")
    if classes is None:
        return 2
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not 2 <= len(classes) <= 2**15:
        checker.refuse(where, "goes with no list of classes")
    return len(classes)


def _check_order(checker: rules.Checker, value: np.ndarray, where: str) -> None:
    if not value.flags.c_contiguous:
        checker.refuse(where, "is not in the order of rows")


_STATE: dict[str, rules.Rule] = {
    "n_features_in_": rules.count(1, size="features"),
    "feature_names_in_": rules.optional(rules.strings("features")),
    "shape_fit_": rules.custom(_fitted_shape),
    "_sparse": rules.flag(),
    "support_": rules.custom(_support),
    "support_vectors_": rules.custom(_vectors),
    "_n_support": rules.custom(_counts),
    "dual_coef_": rules.custom(_coefficients),
    "_dual_coef_": rules.custom(_coefficients),
    "intercept_": rules.custom(_of_pairs),
    "_intercept_": rules.custom(_of_pairs),
    "_probA": rules.custom(_calibration),
    "_probB": rules.custom(_calibration),
    "_gamma": rules.number(0.0, 1e40),
    "_effective_probability": rules.optional(rules.flag()),
    "fit_status_": rules.count(high=1),
    "_num_iter": rules.integers(None),
    "n_iter_": rules.either(rules.count(), rules.integers(None)),
    # parameters, or what the constructor sets in their place
    "degree": rules.either(rules.count(high=_LARGEST_INT), rules.number(0.0, _LARGEST_INT)),
    "coef0": rules.number(-1e40, 1e40),
    **dict.fromkeys(("C", "nu", "epsilon", "tol", "cache_size"), rules.number()),
    "max_iter": rules.count(-1, high=_LARGEST_INT),
    "shrinking": rules.flag(),
    "probability": rules.either(rules.flag(), rules.one_of("deprecated")),
    "verbose": rules.either(rules.flag(), rules.count()),
}
_CLASSIFIER: dict[str, rules.Rule] = {
    **_STATE,
    "classes_": rules.labels("classes"),
    "class_weight_": rules.floats("classes", low=0.0, dtype=np.float64),
}
_OTHER: dict[str, rules.Rule] = {
    **_STATE,
    "class_weight": rules.optional(rules.one_of(None)),
    "random_state": rules.optional(rules.one_of(None)),
    "class_weight_": rules.optional(rules.floats(0, dtype=np.float64)),
}
LIBSVM_STATE: dict[str, dict[str, rules.Rule]] = {
    "SVC": _CLASSIFIER,
    "NuSVC": _CLASSIFIER,
    "SVR": _OTHER,
    "NuSVR": _OTHER,
    "OneClassSVM": {**_OTHER, "offset_": rules.either(rules.floats(1), rules.number())},
}
