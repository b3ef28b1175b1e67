"""The multi-view contract, for every cataloged estimator: what users may count on whatever model they pick."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import coview
from coview import (
    LinkPLSA,
    Views,
    inspect,
    load,
    save,
)
from coview.catalog import ESTIMATORS, estimators
from coview.exceptions import ViewsError
from coview.inspection.by_view import read_by_view

pytestmark = pytest.mark.no_cover

SMALL = {"n_components": 3, "n_clusters": 3, "max_iter": 20, "tol": 0}
SETTINGS: dict[str, dict[str, object]] = {
    **dict.fromkeys(
        ("PLSA", "LinkPLSA", "CoPLSA", "DualPLSA", "DualPLSAClassifier", "MultiViewPLSA", "MultiViewPLSAClassifier"),
        SMALL,
    ),
    "PairwiseCoPLSA": {**SMALL, "pair_fraction": 0.2},
    "VotingPLSA": SMALL,
    "AutoClustering": {"n_clusters": 3},
    "AutoClassifier": {"cv": 2},
    "ConsensusClustering": {"n_clusters": 3, "tol": 0, "n_init": 3},
    "SeededKMeansClassifier": {"max_iter": 20, "tol": 0},
    "SphericalKMeans": {"n_clusters": 3, "max_iter": 20, "tol": 0},
    "CCAClustering": {"n_clusters": 3},
    "SpectralClusteringViews": {"n_clusters": 3, "n_neighbors": 8, "tol": 0},
    "LabelSpreadingClassifier": {"n_neighbors": 8},
    "EditedModel": {"estimator": LinkPLSA(3, max_iter=20, tol=0, random_state=0)},
    "CoTrainingClassifier": {"max_iter": 3, "pool_size": 20},
}
NAMES = sorted(ESTIMATORS)
OUTPUTS = ("transform", "predict", "predict_proba", "decision_function")
BY_VIEW = ("transform_by_view", "predict_proba_by_view", "predict_labels_by_view", "decision_function_by_view")


def make(name: str, **settings: object):
    cls = estimators()[name]
    allowed = cls().get_params()
    base = {"random_state": 0, **SETTINGS.get(name, {}), **settings}
    return cls(**{key: value for key, value in base.items() if key in allowed})


def corpus(n: int = 60) -> tuple[Views, np.ndarray]:
    """Three groups of objects, two count views that both know the groups."""
    rng = np.random.default_rng(3)
    y = np.arange(n) % 3
    words, links = rng.gamma(0.3, size=(3, 24)), rng.gamma(0.3, size=(3, 15))
    return (
        Views(
            words=sparse.csr_array(rng.poisson(8 * words[y]).astype(float)),
            links=sparse.csr_array(rng.poisson(6 * links[y]).astype(float)),
        ),
        y,
    )


def outputs(model, X) -> dict[str, np.ndarray]:
    return {name: np.asarray(getattr(model, name)(X)) for name in OUTPUTS if hasattr(model, name)}


def assert_same(a: dict[str, np.ndarray], b: dict[str, np.ndarray], rtol: float = 1e-6) -> None:
    assert a.keys() == b.keys() and a
    for name in a:
        assert_allclose(a[name], b[name], rtol=rtol, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_result(name):
    X, y = corpus()
    first, second = (outputs(make(name).fit(X, y), X) for _ in range(2))
    for key in first:
        assert_array_equal(first[key], second[key])


@pytest.mark.parametrize("name", NAMES)
def test_dense_csr_and_frames_agree(name):
    import pandas as pd
    import polars as pl

    X, y = corpus()
    rtol = 1e-6
    if name == "AutoClassifier":  # it moves the zeros of filled views that are dense only; sparse in single precision
        X, rtol = X.map(lambda matrix: sparse.csr_array(matrix * (matrix > 2))), 1e-5
    dense = {view: matrix.toarray() for view, matrix in X.items()}
    expected = outputs(make(name).fit(X, y), X)
    forms = {
        "dense": Views(dense),
        "csc": Views({view: matrix.tocsc() for view, matrix in X.items()}),
        "csr_matrix": Views({view: sparse.csr_matrix(matrix) for view, matrix in X.items()}),
        "pandas": Views({view: pd.DataFrame(matrix) for view, matrix in dense.items()}),
        "polars": Views({view: pl.DataFrame(matrix) for view, matrix in dense.items()}),
        "dict": dense,
        "two-level frame": pd.concat({view: pd.DataFrame(matrix) for view, matrix in dense.items()}, axis=1),
    }
    for form in forms.values():
        assert_same(outputs(make(name).fit(form, y), form), expected, rtol)


@pytest.mark.parametrize("name", NAMES)
def test_float32_stays_float32(name):
    X, y = corpus()
    X32 = X.map(lambda matrix: matrix.astype(np.float32))
    model = make(name).fit(X32, y)
    for key in ("transform", "predict_proba"):
        if hasattr(model, key):
            assert getattr(model, key)(X32).dtype == np.float32


@pytest.mark.parametrize("name", [name for name, cls in estimators().items() if hasattr(cls(), "set_output")])
def test_set_output_changes_what_transform_gives_and_nothing_else(name):
    X, y = corpus()
    plain, framed = outputs(make(name).fit(X, y), X), outputs(make(name).set_output(transform="pandas").fit(X, y), X)
    assert_same(framed, plain)


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_left_alone(name):
    X, y = corpus()
    arrays = {view: matrix.copy() for view, matrix in X.items()}
    kept = {view: matrix.copy() for view, matrix in arrays.items()}
    target = y.copy()
    model = make(name).fit(Views(arrays), target)
    outputs(model, Views(arrays))
    for view, matrix in arrays.items():
        for part in ("data", "indices", "indptr"):
            assert_array_equal(getattr(matrix, part), getattr(kept[view], part))
    assert_array_equal(target, y)


@pytest.mark.parametrize("name", NAMES)
def test_reordering_new_rows_only_reorders_results(name):
    X, y = corpus()
    model = make(name).fit(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = outputs(model, X[order])
    for key, value in outputs(model, X).items():
        assert_allclose(shuffled[key], value[order], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_reordering_views_at_prediction_changes_nothing(name):
    X, y = corpus()
    model = make(name).fit(X, y)
    assert_same(outputs(model, X.select("links", "words")), outputs(model, X))


@pytest.mark.parametrize("name", NAMES)
def test_a_subset_of_views_predicts(name):
    X, y = corpus()
    model = make(name).fit(X, y)
    for view in X.names:
        for value in outputs(model, X.select(view)).values():
            assert len(value) == len(X) and np.isfinite(value).all()


def without(X: Views, present: np.ndarray) -> Views:
    """The same objects, of which some lack views."""
    arrays = {name: sparse.csr_array(X[name].multiply(present[:, [v]])) for v, name in enumerate(X.names)}
    return Views(arrays, present=present)


def answers(model, X: Views, views: tuple[str, ...]) -> dict[str, np.ndarray]:
    """What a model says of objects, and by each of these views."""
    found = outputs(model, X)
    for method in BY_VIEW:
        if hasattr(model, method):
            found |= {f"{method} {view}": value for view, value in getattr(model, method)(X).items() if view in views}
    by_view = inspect(model).memberships_by_view(X)
    return found | {f"memberships {view}": value for view, value in by_view.items() if view in views}


@pytest.mark.parametrize("name", NAMES)
def test_an_object_has_one_answer_whether_views_are_not_given_or_marked_absent(name):
    X, y = corpus()
    sizes = np.random.default_rng(4).lognormal(np.arange(9).reshape(3, 3)[y] % 4)
    X = Views(**dict(X.items()), sizes=sparse.csr_array(sizes))
    model = make(name).fit(X, y)
    subsets = [("words",), ("sizes",), ("words", "links"), ("links", "sizes")]
    has = np.array([[view in subset for view in X.names] for subset in subsets])
    kinds = np.arange(len(X)) // 3 % len(subsets)
    mixed = without(X, has[kinds])
    for kind, subset in enumerate(subsets):
        absent = without(X, np.tile(has[kind], (len(X), 1)))
        expected = answers(model, X.select(*subset), subset)
        assert_same(answers(model, absent, subset), expected)
        rows = np.flatnonzero(kinds == kind)
        among_others = {key: value[rows] for key, value in answers(model, mixed, subset).items()}
        assert_same(among_others, {key: value[rows] for key, value in expected.items()})


@pytest.mark.parametrize("name", NAMES)
def test_an_object_lacking_a_view_works_or_is_refused_with_a_sentence(name):
    X, y = corpus()
    present = np.ones((len(X), 2), dtype=bool)
    present[:10, 0] = False
    words = X["words"].toarray()
    words[:10] = 0
    partial = Views(words=words, links=X["links"], present=present)
    try:
        model = make(name).fit(partial, y)
    except ValueError as error:
        assert "view" in str(error).lower() and str(error).endswith(".")  # noqa: PT017
        return
    for value in outputs(model, partial).values():
        assert len(value) == len(X) and np.isfinite(value).all()


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_view_or_another_width_is_refused(name):
    X, y = corpus()
    model = make(name).fit(X, y)
    method = next(getattr(model, key) for key in OUTPUTS if hasattr(model, key))
    with pytest.raises(ValueError, match="'images'"):
        method(X.rename(words="images"))
    with pytest.raises(ValueError, match="'words' has 23 features"):
        method(X.map({"words": lambda matrix: matrix[:, :23]}))


@pytest.mark.parametrize("name", NAMES)
def test_save_and_load_round_trip(name, tmp_path):
    X, y = corpus()
    model = make(name).fit(X, y)
    save(model, tmp_path / "model.coview")
    back = load(tmp_path / "model.coview")
    assert type(back) is type(model)
    assert repr(back.get_params()) == repr(model.get_params())
    expected = outputs(model, X)
    for key, value in outputs(back, X).items():
        assert_array_equal(value, expected[key])


@pytest.mark.parametrize("name", NAMES)
def test_clone_forgets_the_fit_and_keeps_the_parameters(name):
    X, y = corpus()
    model = make(name).fit(X, y)
    copy = clone(model)
    assert repr(copy.get_params()) == repr(model.get_params())
    assert not [key for key in vars(copy) if key.endswith("_")]


@pytest.mark.parametrize("name", [entry.name for entry in ESTIMATORS.values() if entry.monotone])
@pytest.mark.parametrize("settings", [{}, {"algorithm": "published"}])
def test_the_objective_never_falls(name, settings):
    X, y = corpus()
    history = np.array(make(name, max_iter=60, **settings).fit(X, y).history_["objective"])
    assert len(history) > 10
    assert (np.diff(history) >= -1e-10 * np.abs(history[:-1])).all()


@pytest.mark.parametrize("name", NAMES)
def test_names_are_public_and_documented(name):
    import coview

    assert getattr(coview, name) is estimators()[name]
    assert "Examples" in estimators()[name].__doc__


@pytest.mark.parametrize("name", NAMES)
def test_columns_in_another_order_are_put_in_order_where_names_are_known(name):
    X, y = corpus()
    words = [f"w{j}" for j in range(24)]
    named = Views(dict(X.items()), feature_names={"words": words})
    model = make(name).fit(named, y)
    order = np.arange(24)[::-1]
    turned = Views(words=X["words"][:, order], links=X["links"], feature_names={"words": np.array(words)[order]})
    expected = outputs(model, named)
    for key, found in outputs(model, turned).items():
        assert_allclose(found, expected[key], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_no_object_at_all_is_refused_with_a_sentence(name):
    X, y = corpus()
    model = make(name).fit(X, y)
    method = next(getattr(model, key) for key in OUTPUTS if hasattr(model, key))
    with pytest.raises(ValueError, match="0 rows"):
        method(X[[]])


@pytest.mark.parametrize(
    "name",
    ["PLSA", "LinkPLSA", "CoPLSA", "PairwiseCoPLSA", "VotingPLSA", "DualPLSAClassifier", "MultiViewPLSAClassifier"],
)
def test_reordering_views_at_fit_changes_nothing(name):
    X, y = corpus()
    turned = X.select("links", "words")
    first, second = make(name).fit(X, y), make(name).fit(turned, y)
    assert_same(outputs(first, X), outputs(second, turned), rtol=1e-4)


def fail_to_fit(model, X, y, method="fit", **options):
    """A fit that ends in an error after the views are known."""
    # an edited model leaves its views to the model inside
    cls = type(model.estimator if isinstance(model, coview.EditedModel) else model)
    with pytest.MonkeyPatch.context() as patch:
        known = cls._fit_views

        def broken(self, X):
            known(self, X)
            raise ViewsError("broken")

        patch.setattr(cls, "_fit_views", broken)
        with pytest.raises(ViewsError, match="broken"):
            getattr(model, method)(X, y, **options)


@pytest.mark.parametrize("name", NAMES)
def test_a_first_fit_that_fails_leaves_no_fitted_model(name):
    X, y = corpus()
    model = make(name)
    classes = {"classes": [0, 1, 2]} if ESTIMATORS[name].kind == "classifier" else {}
    for method, options in (("fit", {}), ("partial_fit", classes)):
        if hasattr(model, method):
            fail_to_fit(model, X, y, method, **options)
            with pytest.raises(NotFittedError):
                inspect(model)
    for method in OUTPUTS:
        if hasattr(model, method):
            with pytest.raises(NotFittedError):
                getattr(model, method)(X)


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_that_fails_leaves_the_model_of_the_fit_before(name):
    X, y = corpus()
    model = make(name).fit(X, y)
    expected, groups = outputs(model, X), inspect(model).groups
    fail_to_fit(model, X.rename({"words": "other"})[:40], y[:40])
    assert_same(outputs(model, X), expected, rtol=0)
    assert inspect(model).groups == groups and list(inspect(model).views) == ["words", "links"]


WEIGHED = [name for name, cls in estimators().items() if "view_weights" in cls().get_params()]


@pytest.mark.parametrize("name", WEIGHED)
def test_a_view_of_weight_0_has_no_opinion(name):
    X, y = corpus()
    silent, heard = X.names[0], list(X.names[1:])
    model = make(name, view_weights={silent: 0.0}).fit(X, y)
    answer = inspect(model)
    assert answer.unused_views == (silent,)
    assert list(answer.memberships_by_view(X)) == heard
    assert silent not in answer.training.memberships_by_view
    assert set(read_by_view(answer, X).alone) <= set(heard)
    for method in ("predict_proba", "predict_labels", "decision_function", "transform"):
        if hasattr(model, f"{method}_by_view"):
            assert list(getattr(model, f"{method}_by_view")(X)) == heard
    assert not answer.known(X.select(silent)).any()


@pytest.mark.parametrize("name", WEIGHED)
def test_a_view_without_an_opinion_changes_no_prediction(name):
    X, y = corpus()
    silent = X.names[0]
    model = make(name, view_weights={silent: 0.0}).fit(X, y)
    other = X.map({silent: lambda matrix: matrix[::-1]})
    assert_same(outputs(model, X), outputs(model, other))
