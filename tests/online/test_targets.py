"""Classes that come later, costs by class, and objects held out."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from coview.online.targets import class_costs, first_classes, known_classes, split_rows
from coview.validation import encode_labels


def test_a_new_class_takes_its_place_among_the_known():
    codes, classes = known_classes([5, 1], 2, np.array([1, 9]), None, False)
    assert codes.tolist() == [1, 0] and classes.tolist() == [1, 5, 9]


def test_known_classes_and_gaps_need_nothing_new():
    codes, classes = known_classes([None, np.nan, 9], 3, np.array([1, 9]), None, False)
    assert codes.tolist() == [-1, -1, 1] and classes.tolist() == [1, 9]


def test_named_classes_must_hold_what_was_seen():
    with pytest.raises(ValueError, match="lacks 9"):
        known_classes([1], 1, np.array([1, 9]), [1, 2], False)
    codes, classes = known_classes([2], 1, np.array([1]), [1, 2, 3], False)
    assert codes.tolist() == [1] and classes.tolist() == [1, 2, 3]


def test_the_wrong_number_of_labels_is_told():
    with pytest.raises(ValueError, match="one label per object"):
        known_classes([1, 1], 3, np.array([1]), None, False)


def test_balanced_costs_are_inverse_to_frequencies():
    codes = np.array([0, 0, 0, 1, -1])
    assert class_costs("balanced", 2.0, np.array(["a", "b"]), codes).tolist() == [2 * 4 / 6, 2 * 4 / 2]


def test_held_out_rows_are_of_every_class_and_never_all_of_one():
    codes = np.r_[np.zeros(50, dtype=int), np.ones(10, dtype=int), [2, -1]]
    learn, held = split_rows(codes, np.flatnonzero(codes >= 0), 0.2, np.random.default_rng(0))
    assert np.bincount(codes[held], minlength=3).tolist() == [10, 2, 0]
    assert sorted([*learn, *held]) == list(range(61))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
@pytest.mark.parametrize("highest", [2, 7, 100])
def test_small_numbers_are_coded_as_all_labels_are(dtype, highest):
    y = np.random.default_rng(0).integers(0, highest, 300).astype(dtype)
    codes, classes = first_classes(y, 300)
    expected, known = encode_labels(y, 300, semi_supervised=False)
    np.testing.assert_array_equal(codes, expected)
    np.testing.assert_array_equal(classes, known)
    assert codes.dtype == expected.dtype and classes.dtype == known.dtype


def test_the_largest_label_of_a_small_type_is_a_label_like_others():
    codes, classes = first_classes(np.array([127, 0, 3, 127], dtype=np.int8), 4)
    assert codes.tolist() == [2, 0, 1, 2] and classes.tolist() == [0, 3, 127]


@pytest.mark.parametrize("y", [[5, 5000, -1], [-7, 3, 3], ["b", "a", None], [0.0, 1.0, 0.0], [True, False, True]])
def test_other_labels_go_the_long_way(y):
    for given in (y, np.array(y, dtype=object) if None in y else np.array(y)):
        for ours, theirs in zip(first_classes(given, 3), encode_labels(given, 3, semi_supervised=False)):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("y", [[1, 1, -1], [-1, -1, -1], [4, 4, 4], [np.nan] * 3])
def test_what_is_wrong_with_one_class_is_told_as_ever(y):
    def said(call):
        try:
            return call(np.array(y), 3)[1].tolist()
        except ValueError as error:
            return str(error)

    assert said(first_classes) == said(partial(encode_labels, semi_supervised=False))


@pytest.mark.parametrize("y", [["b", "a"], ["b", None], ["b", "new"]])
def test_texts_in_a_list_are_coded_as_all_labels_are(y):
    codes, classes = known_classes(y, 2, np.array(["a", "b"]), None, False)
    expected = [classes.tolist().index(label) if label else -1 for label in y]
    assert codes.tolist() == expected and codes.dtype == np.int64


@pytest.mark.parametrize("kind", [list, np.array, tuple, lambda c: np.array(c, dtype=np.int8)])
@pytest.mark.parametrize("classes", [[0, 1], [1, 0], [-1, 3, 7], [3, 3, 7], [False, True]])
@pytest.mark.parametrize("y", [[0, 1, 1], [3, -1, 7], [3, 3, 3]])
def test_classes_named_in_the_first_call_are_coded_as_by_encode_labels(kind, classes, y):
    def coded(call):
        try:
            codes, names = call()
        except ValueError as error:
            return str(error)
        return codes.tolist(), names.tolist(), names.dtype

    named, y = kind(classes), np.array(y)
    expected = coded(lambda: encode_labels(y, 3, encode_labels(named, semi_supervised=False)[1], semi_supervised=False))
    assert coded(lambda: known_classes(y, 3, None, named, False)) == expected
