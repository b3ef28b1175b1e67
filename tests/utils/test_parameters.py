"""Constraints of parameters: every parameter of every cataloged class has some, and `fit` refuses nonsense by name."""

from __future__ import annotations

import re
from inspect import signature

import numpy as np
import pytest

from coview import MultiViewPLSA
from coview.catalog import ESTIMATORS, TRANSFORMERS, resolve
from coview.exceptions import ParameterError
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


@pytest.mark.parametrize(
    ("parameter", "value", "sentence"),
    [
        ("tol", "a", "must be a float in the range [0.0, inf). Got 'a' instead."),
        ("max_iter", 2.5, "must be an int in the range [1, 2147483647]. Got 2.5 instead."),
        ("init", "best", "must be a str among {'likeliest', 'consensus', 'random'} or an instance of "
         "'collections.abc.Mapping'. Got 'best' instead."),
        ("view_weights", "a", "must be a float in the range [0.0, inf), a dict of such values by view or None. Got "
         "'a' instead."),
    ],
)  # fmt: skip
def test_sentences_are_those_of_scikit_learn(parameter, value, sentence):
    whole = f"The {parameter!r} parameter of MultiViewPLSA {sentence}"
    with pytest.raises(ParameterError, match=f"^{re.escape(whole)}$"):
        MultiViewPLSA(2, **{parameter: value}).fit(np.eye(4))


def test_the_command_line_has_its_own_name_for_a_parameter():
    with pytest.raises(ParameterError) as caught:
        MultiViewPLSA(0).fit(np.eye(4))
    words = caught.value.worded("cli", lambda name: f"--{name}")
    assert words.startswith("--n_clusters must be an int in the range [1, 2147483647]")


@pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_transform", "fit_predict"])
def test_every_way_to_fit_checks(method):
    with pytest.raises(ParameterError, match=r"^The 'n_init' parameter of MultiViewPLSA must be"):
        getattr(MultiViewPLSA(2, n_init=0), method)(np.eye(4))


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
