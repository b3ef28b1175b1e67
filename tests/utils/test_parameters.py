"""Kinds of parameters: every parameter of every cataloged class has one, and nonsense is refused by name at `fit`."""

from __future__ import annotations

import re
from inspect import signature

import numpy as np
import pytest
from sklearn.cluster import KMeans

from coview import PLSA, Views
from coview.catalog import ESTIMATORS, TRANSFORMERS, resolve
from coview.exceptions import ParameterError
from coview.utils.parameters import (
    ANYTHING,
    MAPPING,
    NONE,
    SECONDS,
    SHARED,
    TEXT,
    TEXTS,
    TRUTH,
    by_view,
    check_parameters,
    frequency,
    integer,
    list_of,
    number,
    object_with,
    one_of,
)
from coview.utils.parameters import _kinds_of as kinds_of

CLASSES = [*ESTIMATORS, *TRANSFORMERS]


class Nonsense:
    """What no parameter may be."""


def parameters(name: str) -> list[str]:
    return [parameter for parameter in signature(resolve(name).__init__).parameters if parameter != "self"]


@pytest.mark.parametrize("name", CLASSES)
def test_every_parameter_has_a_kind_and_the_defaults_are_of_it(name):
    assert set(parameters(name)) <= set(kinds_of(resolve(name)))
    check_parameters(resolve(name)())


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("value", [Nonsense(), Nonsense, 1j, np.array([np.nan, 1.0]), b"text"])
def test_nonsense_is_refused_by_name_before_the_data_are_looked_at(name, value):
    cls = resolve(name)
    for parameter in parameters(name):
        kind = kinds_of(cls)[parameter]
        if kind is ANYTHING or kind.accepts(value):  # functions may be classes, weights an array
            continue
        with pytest.raises(ParameterError, match=rf"^{parameter} must be .*, got "):
            cls(**{parameter: value}).fit(None, None)


@pytest.mark.parametrize(
    ("parameter", "value", "sentence"),
    [
        ("n_jobs", "a", "n_jobs must be an integer other than 0 or None, got 'a'."),
        ("tol", "a", "tol must be a number of at least 0, got 'a'."),
        ("tol", float("nan"), "tol must be a number of at least 0, got nan."),
        ("random_state", -1, "random_state must be an integer from 0 to 4294967295, a RandomState, a Generator or "
         "None, got -1."),
        ("max_iter", True, "max_iter must be an integer of at least 1, got True."),
        ("verbose", "loud", "verbose must be an integer of at least 0, True, False or None, got 'loud'."),
        ("view_weights", "a", "view_weights must be a number of at least 0, a dict of such values by view or None, "
         "got 'a'."),
        ("algorithm", 3, "algorithm must be one of 'fast', 'published', got 3."),
    ],
)  # fmt: skip
def test_sentences(parameter, value, sentence):
    from coview import MultiViewPLSA

    with pytest.raises(ParameterError, match=f"^{re.escape(sentence)}$"):
        MultiViewPLSA(2, **{parameter: value}).fit(np.eye(4))


@pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_transform", "fit_predict"])
def test_every_way_to_fit_checks(method):
    from coview import MultiViewPLSA

    with pytest.raises(ParameterError, match=r"^n_init must be"):
        getattr(MultiViewPLSA(2, n_init=0), method)(np.eye(4))


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (integer(), [1, np.int64(3), 2**31 - 1], [0, 10**30, 1.0, True, np.True_, "1", None, float("nan")]),
        (number(), [0, 0.5, np.float32(2), 1e300], [-1, float("inf"), float("nan"), 10**400, "1", False, None]),
        (number(above=0, most=1), [1e-9, 1], [0, 1.1]),
        (number(below=1), [0, 0.99], [1, -0.1]),
        (one_of("a", None), ["a", None, np.str_("a")], ["b", 0, np.array("a"), ["a"]]),
        (by_view(number()), [1, {"words": 2}, {}], [{"words": "a"}, [1]]),
        (frequency("texts"), [1, 0.5, 0.0, 1.0], [0, 1.5, -1, True, "auto"]),
        (object_with("a clusterer", "fit_predict"), [KMeans()], [KMeans, 3]),
        (list_of("numbers", number()), [[], (1, 2)], [[-1], {1}, np.ones(2)]),
        (TRUTH, [True, np.False_], [0, 1, None, "yes"]),
        (TEXT, ["a"], ["", b"a", None]),
        (TEXTS, [["a"], ()], ["a", [1]]),
        (MAPPING | NONE, [{}, None], [[], ""]),
        (SECONDS, [1, 0.1, float("inf"), None], [0, -1, float("nan"), True]),
        (SHARED["random_state"], [0, None, np.random.RandomState(0), np.random.default_rng(0)], [-1, 2**32, 0.5, "a"]),
        (SHARED["n_jobs"], [1, -1, None], [0, 1.5, "a", True]),
    ],
)  # fmt: skip
def test_kinds(kind, good, bad):
    assert [value for value in good if not kind.accepts(value)] == []
    assert [value for value in bad if kind.accepts(value)] == []


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (one_of("a", "b", None), "one of 'a', 'b', None"),
        (one_of("a") | integer(0), "'a' or an integer of at least 0"),
        (one_of("a", "b") | MAPPING, "'a', 'b' or a dict"),
        (number(above=0), "a finite positive number"),
        (number() | NONE, "a finite number of at least 0 or None"),
        (number(above=0.5, most=1), "a finite number above 0.5 and at most 1"),
        (number(most=1), "a finite number from 0 to 1"),
        (number(above=0, below=1), "a finite number above 0 and below 1"),
        (TRUTH, "True or False"),
    ],
)
def test_words(kind, words):
    with pytest.raises(ParameterError, match=f"^x must be {re.escape(words)}, got inf\\.$"):
        kind.check("x", float("inf"))


def test_integers_beyond_all_arrays_are_refused_but_seeds_have_their_own_range():
    X = Views(words=np.eye(4))
    with pytest.raises(ParameterError, match=r"n_components must be an integer .*, got 10+\."):
        PLSA(10**30).fit(X)
    assert PLSA(2, max_iter=1, random_state=2**32 - 1).fit(X).n_iter_ == 1
