"""Names of classes that look like mistakes are told of; those of ordinary classes never are."""

import warnings

import numpy as np
import pytest

from coview import MultiViewPassiveAggressiveClassifier
from coview.utils.label_names import describe_doubtful
from coview.validation import encode_labels


@pytest.mark.parametrize(
    ("rare", "frequent"),
    [("shiping", "shipping"), ("Shiping", "shipping"), ("shpiping", "shipping"), ("complaimt", "complaint")],
)
def test_a_rare_misspelling_is_named_with_the_class_that_was_meant(rare, frequent):
    (sentence,) = describe_doubtful([rare, frequent, "other"], [2, 16, 5])
    assert sentence == (
        f"Classes {rare!r} (2 objects) and {frequent!r} (16) look alike. If they are one class, give them one label."
    )


@pytest.mark.parametrize(
    ("rare", "frequent"),
    [
        ("cat1", "cat2"),
        ("class10", "class11"),
        ("female", "male"),
        ("abnormal", "normal"),
        ("inactive", "active"),
        ("asymmetric", "symmetric"),
        ("import", "export"),
        ("north", "south"),
        ("horse", "house"),
        ("positive", "negative"),
        ("comp.sys.mac", "comp.sys.ibm"),
        ("grade B", "grade A"),
        ("grade a", "Grade B"),
        ("grade A+", "grade A"),
        ("grade_B", "grade_A"),
        ("level I", "level II"),
        ("level IV", "level V"),
        ("section (b)", "section (a)"),
        ("classB", "classA"),
        ("typeIII", "typeII"),
        ("группа Б", "группа А"),
    ],
)
def test_different_classes_are_not_taken_for_misspellings(rare, frequent):
    assert describe_doubtful([rare, frequent], [2, 200]) == []


@pytest.mark.parametrize(
    ("rare", "frequent"), [("shiping A", "shipping A"), ("complains", "complaint"), ("animals", "animal")]
)
def test_a_last_letter_that_is_part_of_a_word_may_be_a_slip(rare, frequent):
    assert "look alike" in describe_doubtful([rare, frequent], [2, 200])[0]


def test_nor_is_one_that_is_not_rare():
    assert describe_doubtful(["shiping", "shipping"], [8, 16]) == []


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [("Billing", "billing", "case"), ("login ", "login", "blanks"), ("App  Crash", "app crash", "case and blanks")],
)
def test_other_capitals_and_blanks_are_told_of(one, other, how):
    (sentence,) = describe_doubtful([one, other], [1, 38])
    assert f"{one!r} (1 object) and {other!r} (38) differ only in {how}." in sentence


def test_a_mark_of_missing_labels_is_told_of_where_it_is_the_most_frequent_class():
    assert "'unknown' (9 objects) looks like" in describe_doubtful(["a", "unknown"], [3, 9])[0]
    assert describe_doubtful(["a", "unknown"], [9, 3]) == []
    assert "'nan'" in describe_doubtful(["a", "nan"], [9, 3])[0]  # of astype(str)


def test_as_many_classes_as_objects_are_told_of():
    ids = [f"T{i:05d}" for i in range(100)]
    assert describe_doubtful(ids, [1] * 100)[0].startswith("100 of 100 classes have a single object ('T00000', ...)")
    assert describe_doubtful(list(range(60)), [1] * 20 + [3] * 40) == []


def test_nearly_as_many_classes_as_objects_are_told_of_unless_labels_are_few():
    ids = [f"T{i:05d}" for i in range(40)]
    (sentence,) = describe_doubtful(ids, [2] * 40)
    assert sentence.startswith("80 objects have 40 different labels ('T00000', ...)")
    assert describe_doubtful(ids, [2] * 40, 100) == [sentence]  # most objects have a label
    assert describe_doubtful(ids, [2] * 40, 1000) == []  # two labels of each class, as one begins with
    assert describe_doubtful(ids, [1] * 40, 1000) == []  # or one
    assert describe_doubtful(ids, [3] * 40) == []
    assert describe_doubtful(ids[:10], [2] * 10) == []


def test_labels_of_a_batch_may_be_rare():
    ids = [f"T{i:05d}" for i in range(100)]
    assert describe_doubtful(ids, [1] * 100, batch=True) == []
    X = np.eye(100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultiViewPassiveAggressiveClassifier().partial_fit(X, ids, classes=ids)
    with pytest.warns(UserWarning, match="100 of 100 classes have a single object"):
        MultiViewPassiveAggressiveClassifier().fit(X, ids)


def test_labels_are_encoded_as_they_are_and_warned_of_once():
    y = ["Billing", "billing", "billing", None]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        codes, classes = encode_labels(y)
    assert classes.tolist() == ["Billing", "billing"]
    assert codes.tolist() == [0, 1, 1, -1]
    assert len(caught) == 1


def test_amounts_are_refused_in_our_words():
    with pytest.raises(ValueError, match=r"y looks continuous, with 50 different numbers such as 0.5.* Bin it first"):
        encode_labels(np.arange(50) + 0.5)
