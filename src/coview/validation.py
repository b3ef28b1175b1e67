"""Checks of what users pass: parameters, values for all views or for each, random states, labels with gaps.

In labels, None, NaN and an empty text mean "no label" for every estimator; -1 does for semi-supervised ones, and is a
class like any other for supervised ones. The command line reads labels by the same rule.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import MetaEstimatorMixin, is_classifier
from sklearn.exceptions import DataConversionWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from coview.exceptions import LoneLabelWarning, ParameterError, ViewsError
from coview.utils.messages import did_you_mean, listed, short
from coview.utils.parameters import check_value, integer, number, one_of
from coview.utils.warn import unwarned, warn_user

__all__ = [
    "UNLABELED",
    "LabeledScoreMixin",
    "as_label_array",
    "base_seed",
    "check_count",
    "check_enough_objects",
    "check_number",
    "check_option",
    "check_sample_weight",
    "checked_random_state",
    "encode_labels",
    "is_gap",
    "labeled",
    "minus_one_is_unlabeled",
    "per_view",
    "remember_columns",
    "unlabeled_rows",
    "values_by_view",
    "warn_of_lone_labels",
]

UNLABELED = -1


def is_gap(label: Any) -> bool:
    """Tell whether a label stands for "no label": None, NaN, pandas' NA, or an empty text.

    An empty text is what a cell without label becomes in a file, and no name of a class.

    Examples
    --------
    >>> is_gap(None), is_gap(float("nan")), is_gap(""), is_gap("a"), is_gap(0)
    (True, True, True, False, False)
    """
    if isinstance(label, str):
        return not label
    # NA is known by its name, since pandas is not imported here and NA refuses to be compared
    return label is None or type(label).__name__ == "NAType" or bool(label != label)


def as_label_array(labels: Any) -> np.ndarray:
    """Return labels as an array, each in its own type: NumPy would turn [1, "1"] and ["a", None] into texts.

    Examples
    --------
    >>> as_label_array(["a", None])
    array(['a', None], dtype=object)
    """
    if isinstance(labels, np.ma.MaskedArray) and np.ma.is_masked(labels):  # a masked label is none
        whole = labels.data.astype(object)
        whole[np.ma.getmaskarray(labels)] = None
        return whole
    library = type(labels).__module__.partition(".")[0]
    # NumPy would turn whole numbers with gaps into floats
    if library == "pandas" and labels.ndim == 1 and labels.dtype.kind in "iu" and labels.isna().any():
        return np.asarray(labels.to_numpy(dtype=object, na_value=None))
    if library == "polars" and type(labels).__name__ == "Series" and labels.null_count():
        labels = labels.to_list()
    if isinstance(labels, (list, tuple)):
        kinds = {"text" if isinstance(label, str) else "gap" if label is None else "other" for label in labels}
        if len(kinds) > 1:
            return np.fromiter(labels, dtype=object, count=len(labels))
    try:
        return np.asarray(labels)
    except ValueError as error:  # lists of different lengths
        raise ViewsError(f"One label per object is needed, got {short(labels)}.") from error


def base_seed(random_state: Any) -> int:
    """Return one integer from any of scikit-learn's random states; an integer gives the same one every time."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(checked_random_state(random_state).randint(2**31 - 1))


def checked_random_state(random_state: Any) -> np.random.RandomState:
    """Return scikit-learn's random state, or say what it may be."""
    try:
        return check_random_state(random_state)
    except (ValueError, TypeError) as error:
        raise ParameterError(
            f"must be None, an integer from 0 on, or a random generator of NumPy, got {short(random_state)}.",
            parameter="random_state",
        ) from error


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return an integer of at least `least`, or say what was found."""
    return int(check_value(name, value, integer(least)))


def check_number(
    name: str,
    value: Any,
    *,
    least: float = 0.0,
    most: float | None = None,
    positive: bool = False,
) -> float:
    """Return a finite number of at least `least` (or above 0) and up to `most`, or say what was found.

    Examples
    --------
    >>> check_number("tol", 0.5)
    0.5
    """
    return float(check_value(name, value, number(least=least, above=0.0 if positive else None, most=most)))


def check_enough_objects(n_objects: int, n_clusters: int) -> None:
    """Refuse fewer objects than clusters."""
    if n_objects < n_clusters:
        raise ParameterError(
            f"n_clusters={n_clusters} is more than the number of objects (n_samples={n_objects}). "
            "Choose fewer clusters."
        )


def check_option(name: str, value: Any, options: tuple[Any, ...]) -> Any:
    """Return one of some options, or say what they are."""
    return check_value(name, value, one_of(*options))


def per_view(parameter: str, value: Any, names: Sequence[str], *, default: float = 1.0) -> np.ndarray:
    """Return one non-negative number per view from a scalar, a ``{view: number}`` dict, or None."""
    # a dict may name some views alone: the others have the default
    by_view = value if isinstance(value, Mapping) else dict.fromkeys(names, default if value is None else value)
    for name, one in by_view.items():
        if name not in names:
            raise ParameterError(
                f"names view {name!r}, but the views are {listed(names)}.{did_you_mean(name, names)}",
                parameter=parameter,
            )
        check_number(f"{parameter} of view {name!r}", one)
    numbers_by_view = np.array([float(by_view.get(name, default)) for name in names])
    most = numbers_by_view.max()
    # fourth powers of weights are within range, as those of values are (`check_magnitude`)
    if parameter.endswith("weights") and most > 0 and not 1e-60 <= most <= 1e60:
        raise ParameterError(f"must lie between 1e-60 and 1e60, got {short(value)}.", parameter=parameter)
    if not most and parameter.endswith("weights"):
        raise ParameterError(f"must give at least one view a positive weight, got {short(value)}.", parameter=parameter)
    return numbers_by_view


def values_by_view(
    name: str, value: Any, views: Collection[str], check: Callable[..., Any] = check_count, **limits: float
) -> dict[str, Any]:
    """Return one checked value for each view, from a scalar, a mapping that names all of them, or a sequence.

    Examples
    --------
    >>> values_by_view("min_df", 5, ["words", "links"])
    {'words': 5, 'links': 5}
    """
    several = isinstance(value, (Mapping, list, tuple, np.ndarray))
    if isinstance(value, Mapping):
        # all of them: there is no default that would suit a view that was forgotten
        if set(value) != set(views):
            raise ValueError(f"{name} must name every view, {list(views)}, got {list(value)}.")
        values = {view: value[view] for view in views}
    elif several and len(value) != len(views):
        raise ValueError(f"{name} must have one value for each of the {len(views)} views, got {len(value)}.")
    else:
        values = dict(zip(views, value)) if several else dict.fromkeys(views, value)
    for view, one in values.items():
        check(f"{name} of view {view!r}" if several else name, one, **limits)
    return values


def check_sample_weight(sample_weight: Any, n_rows: int) -> np.ndarray | None:
    """Return one finite, non-negative weight per object, or None."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        # scikit-learn takes one weight for all objects too
        weights = np.full(n_rows, weights)
    if weights.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar, one weight per object.")
    if len(weights) != n_rows:
        raise ValueError(f"sample_weight must hold one weight per object: {len(weights)} weights for {n_rows} objects.")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must hold finite weights of at least 0.")
    if not weights.any():
        raise ValueError("sample_weight is zero for every object, so nothing can be learned.")
    return weights


def remember_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Keep the number of columns of one matrix, and the names of a frame's; or compare them with those that are kept.

    As in scikit-learn, whose sentences these are.
    """
    try:
        # the matrix itself was checked by the gate, in sentences that name the view
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except (ValueError, TypeError) as error:
        raise ViewsError(" ".join(str(error).split())) from None


def encode_labels(
    y: Any, n_rows: int | None = None, classes: Any = None, *, semi_supervised: bool = True, batch: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels as codes into the sorted classes, -1 where an object has no label.

    No label is None, NaN, pandas' NA or an empty text, and for semi-supervised estimators the number -1, whatever the
    other labels are. The text "-1" is a class. Names that look like mistakes, such as two spellings of a class, are
    warned of.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels: integers, strings, booleans, floats, or objects of one of these kinds.
    n_rows : int, optional
        Number of objects, to be compared with the length of `y`.
    classes : array-like, optional
        The classes to code against, where they are known before all of the data is (`partial_fit`); then `y` may hold
        no label at all. The classes of `y` by default.
    semi_supervised : bool, default=True
        Whether the number -1 marks an unlabeled object; otherwise it is a class like any other.
    batch : bool, default=False
        Whether more objects come later, so that labels that no two objects share are no reason to warn.

    Returns
    -------
    codes : ndarray of int64 (n_rows,)
        Position of each label in `classes`; -1 without label.
    classes : ndarray
        The classes, sorted.
    """
    labels = _as_column(y)
    if n_rows is not None and len(labels) != n_rows:
        raise ParameterError(
            f"must hold one label per object: {len(labels)} label{'' if len(labels) == 1 else 's'} for {n_rows} "
            f"object{'' if n_rows == 1 else 's'}.",
            parameter="y",
        )
    known = ~_unlabeled(labels, semi_supervised)
    # after the gaps are out: None among texts is no second kind of label
    values = _one_kind(labels[known])
    if classes is None:
        names = _classes_of(labels, values, semi_supervised)
    else:
        named = _as_column(classes)
        # an object of such a class would count as unlabeled ever after
        if _unlabeled(named, semi_supervised).any():
            raise ParameterError(
                f"must not hold {_marks(semi_supervised)}, which mark an unlabeled object here.", parameter="classes"
            )
        names = _sorted(_one_kind(named))
        unknown = sorted(set(values.tolist()) - set(names.tolist()), key=str)
        if unknown:
            raise ParameterError(
                f"holds {short(unknown[0])}, which is not one of the classes {listed(names.tolist())}.", parameter="y"
            )
    codes = np.full(len(labels), UNLABELED, dtype=np.int64)
    if values.size:
        codes[known] = np.searchsorted(names, values.astype(names.dtype, copy=False))
    # of few labels there may be one each
    if classes is None and not batch and len(names) >= 20 and len(labels) < 2 * values.size <= 4 * len(names):
        warn_user(
            f"{values.size:,} objects have {len(names):,} different labels ({short(names[0])}, ...): these look like "
            "ids, dates or amounts, not classes.",
            UserWarning,
        )
    return codes, names


def unlabeled_rows(y: Any, *, semi_supervised: bool = True) -> np.ndarray:
    """Return a mask of the objects without label: None, NaN, "" and, for semi-supervised estimators, -1.

    Examples
    --------
    >>> unlabeled_rows([1, -1, None]).tolist(), unlabeled_rows([1, -1, None], semi_supervised=False).tolist()
    ([False, True, True], [False, False, True])
    """
    return _unlabeled(_as_column(y), semi_supervised)


def labeled(y: Any, *, semi_supervised: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return which objects have a label, and these labels as numbers, texts or booleans that can be compared.

    Examples
    --------
    >>> known, labels = labeled(np.array([True, None, False], dtype=object))
    >>> known.tolist(), labels
    ([True, False, True], array([ True, False]))
    """
    labels = _as_column(y)
    known = ~_unlabeled(labels, semi_supervised)
    if not known.any():
        raise ParameterError(
            f"has no label to score against: all objects are unlabeled ({_marks(semi_supervised)}).", parameter="y"
        )
    return known, _one_kind(labels[known])


def warn_of_lone_labels(codes: np.ndarray, classes: np.ndarray) -> None:
    """Warn of classes with a single labeled object among unlabeled ones, where other classes have more.

    What a model learns of such a class is that object: it may draw in whatever resembles it, or nothing at all.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_of_lone_labels(np.array([0, 0, 1, -1]), np.array(["cat", "dog"]))
    >>> print(caught[0].message)
    Class 'dog' has only one labeled object, others have up to 2: its predictions rest on that object alone. Label more.
    """
    counts = np.bincount(codes[codes >= 0], minlength=len(classes))
    lone = classes[counts == 1].tolist()
    if not lone or counts.max() == 1 or (codes >= 0).all():
        return
    one = len(lone) == 1
    named = listed(lone)
    who = f"Class {named} has only one labeled object" if one else f"Classes {named} have only one labeled object each"
    what = "its predictions rest on that object alone" if one else "their predictions rest on that object alone"
    words = [label for label in lone if str(label).isalpha()]  # "class 2" is no misspelled "class 1"
    hints = "".join(did_you_mean(label, classes[counts > 1].tolist()) for label in words[:5])
    warn_user(f"{who}, others have up to {counts.max()}: {what}. Label more.{hints}", LoneLabelWarning)


class LabeledScoreMixin:
    """A classifier whose targets may have gaps, and its accuracy over the labeled objects."""

    _semi_supervised: bool = True  # whether -1 in y marks an unlabeled object, as in sklearn.semi_supervised

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on X over the objects that have a label in y."""
        known, labels = labeled(y, semi_supervised=self._semi_supervised)
        with unwarned():
            # of all objects: some models predict objects with regard to each other
            predictions = np.asarray(self.predict(X))[known]  # type: ignore[attr-defined]
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(predictions == labels, weights=weights))


def minus_one_is_unlabeled(estimator: Any) -> bool:
    """Tell whether -1 in y marks an unlabeled object for an estimator, any step of a pipeline, or a search's.

    It does unless the estimator is a supervised classifier, for which -1 is a class like any other.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.semi_supervised import LabelSpreading
    >>> minus_one_is_unlabeled(LogisticRegression()), minus_one_is_unlabeled(LabelSpreading())
    (False, True)
    """
    if isinstance(estimator, LabeledScoreMixin):
        return estimator._semi_supervised
    if isinstance(estimator, Pipeline):
        # a step before the classifier may read labels too
        steps = [step for _, step in estimator.steps]
        return minus_one_is_unlabeled(steps[-1]) or any(getattr(step, "_semi_supervised", False) for step in steps)
    # before the wrappers: its self-training is one, around a supervised classifier
    if type(estimator).__module__.startswith("sklearn.semi_supervised"):
        return True
    if isinstance(estimator, MetaEstimatorMixin):  # None inside is a default of scikit-learn's, which is supervised
        inner = estimator.get_params(deep=False).get("estimator")
        if inner is not None:
            return minus_one_is_unlabeled(inner)
    return not is_classifier(estimator)


def _as_column(y: Any) -> np.ndarray:
    """Return labels as one column, each in its own type."""
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None. Pass one label per object, with None "
            "or NaN for unlabeled objects."
        )
    labels = as_label_array(y)
    # as scikit-learn does, with its warning: a column of a frame comes like that
    if labels.ndim == 2 and labels.shape[1] == 1:
        warn_user(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
            "for example using ravel().",
            DataConversionWarning,
        )
        labels = labels.ravel()
    if labels.ndim != 1:
        raise ParameterError(
            f"must hold one label per object: a 1d array, got an array of shape {labels.shape} instead.", parameter="y"
        )
    if not labels.size:
        raise ParameterError("is empty. Pass one label per object.", parameter="y")
    return labels


def _unlabeled(labels: np.ndarray, semi_supervised: bool) -> np.ndarray:
    kind = labels.dtype.kind
    if kind in "iuf":
        return np.isnan(labels) | (labels == UNLABELED) if semi_supervised else np.isnan(labels)
    if kind == "O":
        marks = np.fromiter((label is None for label in labels), dtype=bool, count=len(labels))  # most of few labels
        for i in np.flatnonzero(~marks):
            marks[i] = is_gap(labels[i]) or (semi_supervised and _is_minus_one(labels[i]))
        return marks
    # an empty cell of a file; None cannot be in an array of texts
    if kind == "U":
        return labels == ""
    return np.zeros(len(labels), dtype=bool)


def _is_minus_one(label: Any) -> bool:
    return _kind(label) == "number" and bool(label == UNLABELED)


def _marks(semi_supervised: bool) -> str:
    return "-1, None, NaN or an empty text" if semi_supervised else "None, NaN or an empty text"


def _one_kind(labels: np.ndarray) -> np.ndarray:
    """Return labels that can be sorted: an array of objects becomes one of numbers or of texts."""
    if labels.dtype != object:
        return labels
    kinds = {_kind(label) for label in labels}
    if len(kinds) > 1 or "other" in kinds:
        names = sorted({type(label).__name__ for label in labels})
        raise ParameterError(
            f"mixes labels of different kinds or of an unknown one: Unknown label type ({', '.join(names)}). "
            "Use numbers only, or strings only.",
            parameter="y",
        )
    # from Python values, so that NumPy finds the type that they have in common
    return np.array(labels.tolist())


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "text"
    if isinstance(label, (bool, np.bool_)):
        return "truth"
    return "number" if isinstance(label, numbers.Real) else "other"


def _classes_of(labels: np.ndarray, values: np.ndarray, semi_supervised: bool) -> np.ndarray:
    if not values.size:
        raise ParameterError(
            f"has no label: all {len(labels)} objects are unlabeled ({_marks(semi_supervised)}). Label at least one "
            "object of each class, or cluster without labels.",
            parameter="y",
        )
    classes = _sorted(values)
    with warnings.catch_warnings():  # few labels are the rule here: one of each class is no regression problem
        warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
        warnings.filterwarnings("error", message="Support for labels represented as bytes", category=FutureWarning)
        try:
            check_classification_targets(values)
        except (ValueError, TypeError, FutureWarning) as error:
            if values.dtype.kind == "f":
                raise ParameterError(
                    f"looks continuous, with {len(classes):,} different numbers such as {values[0]:.6g}: it holds no "
                    "classes. Bin it first, such as into low, middle and high. Unknown label type: continuous.",
                    parameter="y",
                ) from None
            raise ParameterError(f"holds no classes: {' '.join(str(error).split())}", parameter="y") from None
    # binary labels as many libraries write them: half of the data would be taken for unlabeled
    if semi_supervised and classes.tolist() == [1] and labels.dtype.kind in "iuf" and (labels == UNLABELED).any():
        raise ParameterError(
            "holds only -1 and 1, but -1 marks an unlabeled object for semi-supervised estimators, so only one class "
            "is left. Write the classes as 0 and 1.",
            parameter="y",
        )
    return classes


def _sorted(labels: np.ndarray) -> np.ndarray:
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ParameterError("contains infinity. Pass classes as integers or strings.", parameter="y")
    return np.unique(labels)
