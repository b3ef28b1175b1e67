"""Checks of the multi-view contract: what users may count on, whatever model of coview they pick.

As `sklearn.utils.estimator_checks` does for one matrix, for a model of your own too. It derives from
`coview.base.MultiViewEstimator`, whose `_fit_views` and `_new_views` take in its data::

    from coview.testing import parametrize_with_checks

    @parametrize_with_checks([MyModel(n_clusters=3)])
    def test_contract(check):
        check()

Every check works on 60 objects of three groups with two views of counts, "words" and "links".
"""

from __future__ import annotations

import inspect as python
import tempfile
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from coview.base import MultiViewEstimator
from coview.catalog import ESTIMATORS
from coview.exceptions import ViewsError
from coview.inspection import inspect
from coview.io.models import load, save
from coview.views.views import Views

__all__ = ["check_estimator", "generate_checks", "parametrize_with_checks"]

N_WORDS, N_LINKS = 24, 15
OUTPUTS = ("transform", "predict", "predict_proba", "decision_function")
BY_VIEW = ("transform_by_view", "predict_proba_by_view", "predict_labels_by_view", "decision_function_by_view")


def check_estimator(estimator: Any) -> None:
    """Check that an estimator keeps the multi-view contract.

    Parameters
    ----------
    estimator : estimator
        A model that derives from `coview.base.MultiViewEstimator`, with small settings: it is fitted some twenty times,
        on 60 objects of three groups.

    Raises
    ------
    AssertionError
        Of the first check that fails.

    See Also
    --------
    parametrize_with_checks : One test of pytest for each check.
    sklearn.utils.estimator_checks.check_estimator : Checks with one matrix, which estimators of coview pass too.

    Examples
    --------
    >>> from coview import SphericalKMeans
    >>> from coview.testing import check_estimator
    >>> check_estimator(SphericalKMeans(3, random_state=0))
    """
    for check in generate_checks(estimator):
        check()


def generate_checks(estimator: Any) -> Iterator[Callable[[], None]]:
    """Yield the checks of an estimator; each is called without arguments and raises where it fails.

    Parameters
    ----------
    estimator : estimator
        As in `check_estimator`.

    Examples
    --------
    >>> from coview import PLSA
    >>> from coview.testing import generate_checks
    >>> next(generate_checks(PLSA(3))).func.__name__
    'check_clone'
    """
    assert isinstance(estimator, MultiViewEstimator), (
        f"{type(estimator).__name__} must derive from coview.base.MultiViewEstimator, by which models take in views."
    )
    case = _Case(estimator)
    for check in CHECKS:
        yield partial(_explained(check), case)


def _explained(check: Callable[[_Case], None]) -> Callable[[_Case], None]:
    """Return a check whose failure says in words which law the estimator breaks."""

    @wraps(check)
    def explained(case: _Case) -> None:
        try:
            check(case)
        except Exception as error:
            law = (check.__doc__ or "").strip()
            said = f"{type(case.estimator).__name__} fails {check.__name__}. {law}\n{type(error).__name__}: {error}"
            raise AssertionError(said) from error

    return explained


def parametrize_with_checks(estimators: Iterable[Any]) -> Any:
    """Return a decorator of pytest that calls a test with each check of each estimator.

    Parameters
    ----------
    estimators : iterable of estimators
        As in `check_estimator`.

    Examples
    --------
    >>> from coview import PLSA
    >>> from coview.testing import parametrize_with_checks
    >>> @parametrize_with_checks([PLSA(3, random_state=0)])
    ... def test_contract(check):
    ...     check()
    """
    import pytest

    checks = [
        pytest.param(check, id=f"{type(estimator).__name__}-{check.func.__name__}")  # type: ignore[attr-defined]
        for estimator in estimators
        for check in generate_checks(estimator)
    ]
    return pytest.mark.parametrize("check", checks)


class _Case:
    """An estimator, objects to fit it to, and one fit that the checks share: none may change it."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @cached_property
    def y(self) -> np.ndarray:
        return np.arange(60) % 3

    @cached_property
    def X(self) -> Any:
        rng = np.random.default_rng(3)
        words, links = rng.gamma(0.3, size=(3, N_WORDS)), rng.gamma(0.3, size=(3, N_LINKS))
        return Views(
            words=sparse.csr_array(rng.poisson(8 * words[self.y]).astype(float)),
            links=sparse.csr_array(rng.poisson(6 * links[self.y]).astype(float)),
        )

    def new(self, **settings: Any) -> Any:
        """Return the estimator, not fitted."""
        model = clone(self.estimator)
        if "random_state" in model.get_params():
            settings = {"random_state": 0, **settings}
        return model.set_params(**settings)

    def fit(self, X: Any, **settings: Any) -> Any:
        return self.new(**settings).fit(X, self.y)

    @cached_property
    def model(self) -> Any:
        return self.fit(self.X)

    @cached_property
    def expected(self) -> dict[str, np.ndarray]:
        return _compute_outputs(self.model, self.X)


def _compute_outputs(model: Any, X: Any) -> dict[str, np.ndarray]:
    return {name: np.asarray(getattr(model, name)(X)) for name in OUTPUTS if hasattr(model, name)}


def _assert_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray], rtol: float = 1e-6) -> None:
    assert found.keys() == expected.keys(), f"got {list(found)}, expected {list(expected)}"
    for name, value in found.items():
        assert_allclose(value, expected[name], rtol=rtol, atol=1e-8 if rtol else 0.0, err_msg=name)


def _assert_refused(call: Callable[[], Any], words: str) -> None:
    """A ValueError whose message holds some words."""
    try:
        call()
    except ValueError as error:
        assert words in str(error), f"the message should hold {words!r}, got: {error}"  # noqa: PT017
        return
    raise AssertionError(f"ValueError expected, with {words!r} in its message")


def _first_output(model: Any) -> Any:
    return next(getattr(model, name) for name in OUTPUTS if hasattr(model, name))


# -- fit


def check_same_seed_same_result(case: _Case) -> None:
    """The same data and `random_state` give the same model, to the last bit."""
    again = _compute_outputs(case.fit(case.X), case.X)
    assert again, f"an estimator needs one of the methods {', '.join(OUTPUTS)}"
    _assert_same(again, case.expected, rtol=0)


def check_forms_of_input(case: _Case) -> None:
    """Dense and sparse matrices of every format and frames give the same model."""
    X = case.X.map(lambda matrix: sparse.csr_array(matrix * (matrix > 2)))  # filled views may be treated otherwise
    dense = {view: matrix.toarray() for view, matrix in X.items()}
    forms: list[Any] = [dense, Views({view: matrix.tocsc() for view, matrix in X.items()})]
    try:
        import pandas as pd
    except ImportError:
        pass
    else:
        forms.append(Views({view: pd.DataFrame(matrix) for view, matrix in dense.items()}))
        forms.append(pd.concat({view: pd.DataFrame(matrix) for view, matrix in dense.items()}, axis=1))
    try:
        import polars as pl
    except ImportError:
        pass
    else:
        forms.append(Views({view: pl.DataFrame(matrix) for view, matrix in dense.items()}))
    expected = _compute_outputs(case.fit(X), X)
    for form in forms:
        _assert_same(_compute_outputs(case.fit(form), form), expected, case.model._contract_rtol)


def check_single_precision(case: _Case) -> None:
    """Single precision stays single precision."""
    X = case.X.map(lambda matrix: matrix.astype(np.float32))
    for name, value in _compute_outputs(case.fit(X), X).items():
        if name in ("transform", "predict_proba"):
            assert value.dtype == np.float32, f"{name} gives {value.dtype} of float32"


def check_set_output(case: _Case) -> None:
    """`set_output` changes the form of what `transform` gives, and nothing else."""
    try:
        import pandas  # noqa: F401
    except ImportError:
        return
    if hasattr(case.estimator, "set_output"):
        model = case.new().set_output(transform="pandas").fit(case.X, case.y)
        _assert_same(_compute_outputs(model, case.X), case.expected, model._contract_rtol)


def check_inputs_are_left_alone(case: _Case) -> None:
    """Neither `fit` nor any output writes into its input, sparse or dense."""
    for form in (sparse.csr_array.copy, sparse.csr_array.toarray):
        X = {view: form(matrix) for view, matrix in case.X.items()}  # no Views, which are read-only
        y = case.y.copy()
        _compute_outputs(case.new().fit(X, y), X)
        for view, matrix in X.items():
            for found, expected in zip(_get_arrays(matrix), _get_arrays(form(case.X[view])), strict=True):
                assert_array_equal(found, expected, err_msg=view)
        assert_array_equal(y, case.y)


def _get_arrays(matrix: Any) -> list[np.ndarray]:
    return [matrix.data, matrix.indices, matrix.indptr] if sparse.issparse(matrix) else [matrix]


def check_clone(case: _Case) -> None:
    """A clone keeps the parameters and forgets the fit."""
    copy = clone(case.model)
    assert repr(copy.get_params()) == repr(case.model.get_params())
    fitted = [name for name in vars(copy) if name.endswith("_")]
    assert not fitted, f"a clone has {', '.join(fitted)}"


def check_save_and_load(case: _Case) -> None:
    """A loaded model is the saved one; models that are not in the catalog of coview have no model files."""
    if type(case.estimator).__name__ not in ESTIMATORS:
        return
    with tempfile.TemporaryDirectory() as folder:
        save(case.model, Path(folder) / "model.coview")
        again = load(Path(folder) / "model.coview")
    assert type(again) is type(case.model)
    assert repr(again.get_params()) == repr(case.model.get_params())
    _assert_same(_compute_outputs(again, case.X), case.expected, rtol=0)


def check_object_lacking_a_view(case: _Case) -> None:
    """Objects that lack a view are used, or refused with a sentence about views."""
    present = np.ones((60, 2), dtype=bool)
    present[:10, 0] = False
    X = _without(case.X, present)
    try:
        model = case.fit(X)
    except ValueError as error:
        assert "view" in str(error).lower() and str(error).endswith("."), f"not a sentence about views: {error}"  # noqa: PT017
        return
    for name, value in _compute_outputs(model, X).items():
        assert len(value) == 60 and np.isfinite(value).all(), name


def check_failed_fit(case: _Case) -> None:
    """A first fit that fails leaves no fitted model, and a later one the model of the fit before."""
    model = case.new()
    for method in ("fit", "partial_fit"):
        if hasattr(model, method):
            _fail(model, case, method)
            for name in ("inspect", *OUTPUTS):
                call: Any = partial(inspect, model) if name == "inspect" else getattr(model, name, None)
                try:
                    if call is not None:
                        call() if name == "inspect" else call(case.X)
                except NotFittedError:
                    continue
                assert call is None, f"{name} answers after a fit that failed"
    fitted = deepcopy(case.model)
    groups = inspect(fitted).groups
    _fail(fitted, case, "fit", case.X.rename({"words": "other"}))
    _assert_same(_compute_outputs(fitted, case.X), case.expected, rtol=0)
    assert inspect(fitted).groups == groups and list(inspect(fitted).views) == list(case.X.names)


def _fail(model: Any, case: _Case, method: str, X: Any = None) -> None:
    """Fit a model by a method that fails once the views are known."""
    cls = type(getattr(model, "estimator", None) or model)  # an edited model leaves its views to the model inside
    cls = cls if hasattr(cls, "_fit_views") else type(model)
    known = cls._fit_views

    def broken(self: Any, X: Any) -> None:
        known(self, X)
        raise ViewsError("broken.")

    options = {"classes": [0, 1, 2]} if method == "partial_fit" and is_classifier(model) else {}
    with mock.patch.object(cls, "_fit_views", broken):
        _assert_refused(lambda: getattr(model, method)(case.X if X is None else X, case.y, **options), "broken")


# -- new rows and views


def check_order_of_rows(case: _Case) -> None:
    """Predictions go with their rows, whatever their order."""
    order = np.random.default_rng(0).permutation(60)
    found = _compute_outputs(case.model, case.X[order])
    _assert_same(found, {name: value[order] for name, value in case.expected.items()})


def check_order_of_views(case: _Case) -> None:
    """New views are matched by name."""
    _assert_same(_compute_outputs(case.model, case.X.select("links", "words")), case.expected)


def check_order_of_columns(case: _Case) -> None:
    """New columns are matched by name, where both have names."""
    names = [f"w{j}" for j in range(N_WORDS)]
    turned = case.X.map({"words": lambda matrix: matrix[:, ::-1]})
    named = Views(dict(case.X.items()), feature_names={"words": names})
    model = case.fit(named)
    found = _compute_outputs(model, Views(dict(turned.items()), feature_names={"words": names[::-1]}))
    _assert_same(found, _compute_outputs(model, named))


def check_subset_of_views(case: _Case) -> None:
    """Each view alone predicts."""
    for view in case.X.names:
        for name, value in _compute_outputs(case.model, case.X.select(view)).items():
            assert len(value) == 60 and np.isfinite(value).all(), f"{name} of {view} alone"


def check_absent_views(case: _Case) -> None:
    """An object has one answer, whether its views are not given or marked absent, alone or among others."""
    sizes = np.random.default_rng(4).lognormal(np.arange(9).reshape(3, 3)[case.y] % 4)
    X = Views(**dict(case.X.items()), sizes=sparse.csr_array(sizes))
    model = case.fit(X)
    subsets = [("words",), ("sizes",), ("words", "links"), ("links", "sizes")]
    has = np.array([[view in subset for view in X.names] for subset in subsets])
    kinds = np.arange(60) // 3 % len(subsets)
    mixed = _without(X, has[kinds])
    for kind, subset in enumerate(subsets):
        expected = _compute_answers(model, X.select(*subset), subset)
        _assert_same(_compute_answers(model, _without(X, np.tile(has[kind], (60, 1))), subset), expected)
        rows = np.flatnonzero(kinds == kind)
        among_others = {name: value[rows] for name, value in _compute_answers(model, mixed, subset).items()}
        _assert_same(among_others, {name: value[rows] for name, value in expected.items()})


def _without(X: Views, present: np.ndarray) -> Views:
    """Return the same objects, of which some lack views."""
    arrays = {name: sparse.csr_array(X[name].multiply(present[:, [v]])) for v, name in enumerate(X.names)}
    return Views(arrays, present=present)


def _compute_answers(model: Any, X: Views, views: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Return what a model says of objects, by all their views and by each of some."""
    found = _compute_outputs(model, X)
    by_view = {name: getattr(model, name)(X) for name in BY_VIEW if hasattr(model, name)}
    by_view["memberships"] = inspect(model).memberships_by_view(X)
    return found | {f"{name} {view}": part[view] for name, part in by_view.items() for view in views if view in part}


def check_unknown_views(case: _Case) -> None:
    """A view of another name or width, and no rows, are refused with a sentence."""
    method = _first_output(case.model)
    _assert_refused(lambda: method(case.X.rename(words="images")), "'images'")
    narrow = case.X.map({"words": lambda matrix: matrix[:, 1:]})
    _assert_refused(lambda: method(narrow), f"'words' has {N_WORDS - 1} features")
    _assert_refused(lambda: method(case.X[[]]), "0 rows")


# -- what a model says


def check_inspect(case: _Case) -> None:
    """`inspect` names groups and views, and its memberships are shares of the groups."""
    answer = inspect(case.model)
    assert list(answer.views) == list(case.X.names)
    assert len(answer.groups) == len(answer.labels) > 0
    memberships = answer.memberships(case.X)
    if memberships is not None:
        assert np.shape(memberships) == (60, len(answer.groups)) and np.isfinite(memberships).all()


def check_view_without_weight(case: _Case) -> None:
    """A view of weight 0 changes no prediction and has no opinion."""
    if "view_weights" not in python.signature(type(case.estimator).__init__).parameters:
        return
    silent, *heard = case.X.names
    model = case.fit(case.X, view_weights={silent: 0.0})
    answer = inspect(model)
    assert answer.unused_views == (silent,)
    assert list(answer.memberships_by_view(case.X)) == heard
    for name in BY_VIEW:
        if hasattr(model, name):
            assert list(getattr(model, name)(case.X)) == heard, name
    assert not answer.known(case.X.select(silent)).any()
    other = case.X.map({silent: lambda matrix: matrix[::-1]})
    _assert_same(_compute_outputs(model, other), _compute_outputs(model, case.X))


CHECKS: tuple[Callable[[_Case], None], ...] = (
    check_clone,
    check_inputs_are_left_alone,  # the others would give a model what an earlier one has spoiled
    check_same_seed_same_result,
    check_forms_of_input,
    check_single_precision,
    check_set_output,
    check_save_and_load,
    check_object_lacking_a_view,
    check_failed_fit,
    check_order_of_rows,
    check_order_of_views,
    check_order_of_columns,
    check_subset_of_views,
    check_absent_views,
    check_unknown_views,
    check_inspect,
    check_view_without_weight,
)
