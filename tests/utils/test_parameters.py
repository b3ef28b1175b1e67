"""Constraints of parameters: every parameter of every cataloged class has some, and `fit` refuses nonsense by name."""

import math
from inspect import signature

import numpy as np
import pytest
from sklearn.cluster import KMeans

from coview import PLSA, MultiViewPLSA
from coview.catalog import ESTIMATORS, TRANSFORMERS, resolve
from coview.exceptions import ParameterError
from coview.utils import fitted_state as rules
from coview.utils.fitted_state import StateMismatch, check_state, fitted_state
from coview.utils.parameters import (
    ANYTHING,
    NONE,
    SECONDS,
    SHARED,
    TRUTH,
    check_parameters,
    check_value,
    frequency,
    integer,
    number,
    one_of,
    one_or_by_view,
)
from coview.utils.parameters import _constraints_of as constraints_of

CLASSES = [*ESTIMATORS, *TRANSFORMERS]


class Nonsense:
    """What no parameter may be."""


def parameters(name: str) -> list[str]:
    return [parameter for parameter in signature(resolve(name).__init__).parameters if parameter != "self"]


def satisfies(constraints, value) -> bool:
    try:
        check_value("x", value, constraints)
    except ParameterError:
        return False
    return True


@pytest.mark.parametrize("name", CLASSES)
def test_every_parameter_has_constraints_that_its_default_satisfies(name):
    assert set(parameters(name)) <= set(constraints_of(resolve(name)))
    check_parameters(resolve(name)())


@pytest.mark.parametrize("name", CLASSES)
def test_nonsense_is_refused_by_name_before_the_data_are_looked_at(name):
    cls, value = resolve(name), Nonsense()
    for parameter in parameters(name):
        constraints = constraints_of(cls)[parameter]
        if constraints is ANYTHING or satisfies(constraints, value):
            continue
        with pytest.raises(
            ParameterError, match=rf"^The '{parameter}' parameter of {name} must be .* Got .* instead\."
        ):
            cls(**{parameter: value}).fit(None, None)


def test_the_command_line_has_its_own_name_for_a_parameter():
    with pytest.raises(ParameterError) as caught:
        MultiViewPLSA(0).fit(np.eye(4))
    words = caught.value.worded("cli", lambda name: f"--{name}")
    assert words.startswith("--n_clusters must be an int in the range [1, 2147483647]")


@pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_transform", "fit_predict"])
def test_every_way_to_fit_checks(method):
    model = (PLSA if method == "partial_fit" else MultiViewPLSA)(2, n_init=0)
    with pytest.raises(ParameterError, match=rf"^The 'n_init' parameter of {type(model).__name__} must be"):
        getattr(model, method)(np.eye(4))


@pytest.mark.parametrize(
    ("constraints", "good", "bad"),
    [
        (integer(), [1, np.int64(3), 2**31 - 1, True], [0, 1.0, "1", None, float("nan"), 2**31]),
        (integer(most=3), [1, 3], [0, 4]),
        (number(), [0, 0.5, np.float32(2), 1e300], [-1, float("inf"), float("nan"), "1", None]),
        (number(least=None), [-1e300], [-float("inf")]),
        (number(above=0, most=1), [1e-9, 1], [0, 1.1]),
        (number(below=1), [0, 0.99], [1, -0.1]),
        (one_of("a", None), ["a", None, np.str_("a")], ["b", 0, ["a"]]),
        (one_or_by_view(number() | NONE), [1, {"words": 2, "links": None}, {}], [{"words": "a"}, [1]]),
        (frequency(), [1, 0.5, 0.0, 1.0], [0, 1.5, -1, "auto"]),
        (TRUTH, [True, np.False_], [0, 1, None, "yes"]),
        (SECONDS, [1, 0.1, None], [0, -1, float("nan")]),
        (SHARED["random_state"], [0, None, np.random.RandomState(0), np.random.default_rng(0)], [-1, 2**32, 0.5, "a"]),
    ],
)
def test_constraints(constraints, good, bad):
    assert all(satisfies(constraints, value) for value in good)
    assert not any(satisfies(constraints, value) for value in bad)


# -- Rules for fitted attributes: each says in one sentence what does not fit, and nothing that fits is refused

VIEWS = {
    "view_names_": ["a", "b"],
    "n_features_by_view_": {"a": 2, "b": 3},
    "feature_names_by_view_": {"b": np.array(["x", "y", "z"])},
    "n_features_in_": 5,
}


def refuses(rule, value, why, **others):
    described = {**{name: rules.anything() for name in others}, "x_": rule}
    with pytest.raises(StateMismatch, match=why):
        check_state(described, {**others, "x_": value})


def passes(rule, *values):
    for value in values:
        check_state({"x_": rule}, {"x_": value})


def test_sizes_of_one_name_agree_everywhere():
    described = {"centers_": rules.floats("clusters", "features"), "scale_": rules.floats("features")}
    check_state(described, {"centers_": np.zeros((2, 3)), "scale_": np.ones(3)})
    with pytest.raises(StateMismatch, match="scale_ has 4 features, but centers_ has 3"):
        check_state(described, {"centers_": np.zeros((2, 3)), "scale_": np.ones(4)})
    with pytest.raises(StateMismatch, match="scale_ is not there"):
        check_state(described, {"centers_": np.zeros((2, 3))})


@pytest.mark.parametrize(("bad", "order"), [(math.nan, "C"), (math.inf, "F"), (-math.inf, "C")])
def test_numbers_that_are_not_finite_are_found_wherever_they_are(bad, order):
    for at in [(0, 0), (399, 500), (200, 77)]:
        array = np.zeros((400, 501), order=order)
        array[at] = bad
        refuses(rules.floats(None, None), array, rf"x_ holds .*{bad:g}.*, but must hold finite numbers")
        refuses(rules.floats(None, None), array[:, ::-1], "must hold finite numbers")


def test_floats_are_floats():
    passes(rules.floats(3), np.zeros(3), np.zeros(3, np.float32))
    passes(rules.floats(0), np.zeros(0))
    refuses(rules.floats(3), np.zeros(3, np.int64), "x_ is int64")
    refuses(rules.floats(3, dtype=np.float32), np.zeros(3), "x_ is float64")
    refuses(rules.floats(3), [0.0, 1.0, 2.0], "x_ is list")
    refuses(rules.floats(3), np.zeros((3, 1)), "has 2 dimension")
    refuses(rules.floats(2, low=0), np.array([0.0, -1e-9]), "holds -1e-09")
    passes(rules.floats(2, logarithms=True), np.array([-math.inf, 0.0]))


def test_integers_stay_below_a_size_that_is_told_later():
    described = {"labels_": rules.integers("objects", below="clusters"), "centers_": rules.floats("clusters")}
    check_state(described, {"labels_": np.array([0, 1, 1]), "centers_": np.zeros(2)})
    with pytest.raises(StateMismatch, match="labels_ has values from 0 to 2, but must have some from 0 to 1"):
        check_state(described, {"labels_": np.array([0, 2, 1]), "centers_": np.zeros(2)})
    refuses(rules.integers(2), np.array([-1, 0]), "must have some from 0 to inf")
    refuses(rules.integers(2, rising=True), np.array([1, 1]), "do not rise")
    refuses(rules.integers(2, dtype=np.int64), np.array([1, 2], np.int32), "x_ is int32")


def test_views_are_named_and_counted_alike():
    check_state(rules.FITTED_VIEWS, VIEWS)
    for change, why in [
        ({"view_names_": ["a", "a"]}, "view_names_ has a name twice"),
        ({"view_names_": ["a", "c"]}, r"by_view_ has the keys \['a', 'b'\], but view_names_ has \['a', 'c'\]"),
        ({"view_names_": ["a", "b", "c"]}, r"has the keys \['a', 'b'\], but view_names_ has \['a', 'b', 'c'\]"),
        ({"n_features_in_": 6}, "n_features_in_ is 6, but the views have 5 features"),
        ({"n_features_by_view_": {"a": 2, "b": 4}}, "has 3 features of 'b', but n_features_by_view_.*has 4"),
        ({"n_features_by_view_": {"a": 0, "b": 3}}, "at least 1"),
        ({"n_features_by_view_": [2, 3]}, "must be a dict"),
        ({"feature_names_by_view_": {"a": np.array([1, 2])}}, "must be an array of the kinds UO"),
    ]:
        with pytest.raises(StateMismatch, match=why):
            check_state(rules.FITTED_VIEWS, {**VIEWS, **change})


def test_order_counts_where_it_is_said_to():
    described = {**rules.FITTED_VIEWS, "weights_": rules.by_view(rules.weight(), ordered=True)}
    check_state(described, {**VIEWS, "weights_": {"a": 1.0, "b": 2}})
    with pytest.raises(StateMismatch, match=r"weights_ has the keys \['b', 'a'\], but view_names_ has \['a', 'b'\]"):
        check_state(described, {**VIEWS, "weights_": {"b": 1.0, "a": 2}})
    with pytest.raises(StateMismatch, match=r"weights_\['b'\] is inf"):
        check_state(described, {**VIEWS, "weights_": {"a": 1.0, "b": math.inf}})


def test_records_have_their_keys_and_no_others():
    rule = rules.record(metric=rules.choice("cosine", "euclidean"), mean=rules.optional(rules.floats(2)))
    passes(rule, {"metric": "cosine"}, {"metric": "cosine", "mean": np.zeros(2)})
    refuses(rule, {}, r"has the keys \[\], but must have \['metric', 'mean'\]")
    refuses(rule, {"metric": "cosine", "more": 1}, r"has the keys \['metric', 'more'\]")
    refuses(rule, {"metric": "angle"}, "must be one of 'cosine', 'euclidean'")


def test_an_estimator_inside_takes_what_it_is_given():
    model = KMeans(2, n_init=1, random_state=0).fit(np.eye(4))
    passes(rules.estimator(features="features", methods=["predict"]), model)
    refuses(rules.estimator(methods=["predict_proba"]), model, "must be an estimator that has predict_proba")
    refuses(rules.estimator(), "KMeans", "must be an estimator")
    described = {"model_": rules.estimator(features="features"), "scale_": rules.floats("features")}
    with pytest.raises(StateMismatch, match=r"scale_ has 3 features, but model_\.n_features_in_ has 4"):
        check_state(described, {"model_": model, "scale_": np.ones(3)})


def test_vocabularies_give_each_word_a_column():
    passes(rules.vocabulary(), {"a": 1, "b": np.int64(0)})
    for bad in ({"a": 0, "b": 2}, {"a": 0, "b": 0}, {"a": -1}, ["a"]):
        refuses(rules.vocabulary(), bad, "columns from 0 on")


def test_the_nearer_class_has_the_last_word():
    class Base:
        _fitted_state = {"a_": rules.count(), "b_": rules.count()}

    class Derived(Base):
        _fitted_state = {"b_": None, "c_": rules.flag()}

    assert list(fitted_state(Derived)) == ["a_", "c_"]
