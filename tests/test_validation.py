import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.preprocessing import LabelEncoder
from sklearn.semi_supervised import SelfTrainingClassifier

from coview import BestView, CoTrainingClassifier, MultiViewNaiveBayes, MultiViewPLSAClassifier, SeededKMeansClassifier
from coview.datasets import make_topic_views
from coview.exceptions import LoneLabelWarning
from coview.validation import check_sample_weight, encode_labels, per_view, warn_of_lone_labels

NAN = float("nan")


@pytest.mark.parametrize(
    ("y", "codes", "classes"),
    [
        ([2, 0, -1, 2], [1, 0, -1, 1], [0, 2]),
        (np.array([2.0, np.nan, 0.0, -1.0]), [1, -1, 0, -1], [0.0, 2.0]),
        (["b", None, "a"], [1, -1, 0], ["a", "b"]),
        (["b", NAN, "a"], [1, -1, 0], ["a", "b"]),
        (["b", -1, "a", "-1"], [2, -1, 1, 0], ["-1", "a", "b"]),
        ([1, None, 0], [1, -1, 0], [0, 1]),
        ([True, None, False], [1, -1, 0], [False, True]),
        (np.array(["x", None, NAN, "y"], dtype=object), [0, -1, -1, 1], ["x", "y"]),
        (np.array([3, 5], dtype=np.uint8), [0, 1], [3, 5]),
        (["b", "", None, "a"], [1, -1, -1, 0], ["a", "b"]),
    ],
)
def test_labels_of_every_kind(y, codes, classes):
    found, names = encode_labels(y)
    assert_array_equal(found, codes)
    assert found.dtype == np.int64
    assert names.tolist() == classes


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(["b", None, "a"], dtype="category"),
        pd.Series(["b", pd.NA, "a"], dtype="string"),
        pl.Series(["b", None, "a"]),
    ],
)
def test_series_keep_their_gaps(y):
    codes, classes = encode_labels(y)
    assert codes.tolist() == [1, -1, 0]
    assert classes.tolist() == ["a", "b"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 5)), min_size=1).filter(lambda y: any(v is not None for v in y)))
def test_labeled_objects_are_coded_as_scikit_learn_does(y):
    codes, classes = encode_labels(y)
    labeled = [value for value in y if value is not None]
    encoder = LabelEncoder().fit(labeled)
    assert_array_equal(classes, encoder.classes_)
    assert_array_equal(codes[codes >= 0], encoder.transform(labeled))
    assert_array_equal(codes < 0, [value is None for value in y])


def test_given_classes_are_the_code_book():
    codes, classes = encode_labels(["c", None], classes=["c", "abcdef", "b"])
    assert codes.tolist() == [2, -1]
    assert classes.tolist() == ["abcdef", "b", "c"]
    assert encode_labels([-1, -1], classes=[0, 1])[0].tolist() == [-1, -1]  # a batch may have no label
    with pytest.raises(ValueError, match="'d', which is not one of the classes"):
        encode_labels(["d"], classes=["a", "b"])
    with pytest.raises(ValueError, match="2 labels for 3 objects"):
        encode_labels([0, 1], n_rows=3)


def test_a_column_is_flattened_with_a_warning():
    with pytest.warns(DataConversionWarning, match="column-vector"):
        codes, _ = encode_labels(np.array([[0], [1]]))
    assert codes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([-1, None, NAN], "all 3 objects are unlabeled"),
        (None, "requires y to be passed, but the target y is None"),
        *(([], "empty"), (np.zeros((3, 2)), r"shape \(3, 2\)"), (["a", 1], "mixes labels")),
        *(([object()], "Unknown label type"), (np.array([0.5, 1.5]), "Unknown label type")),
        *((np.array([1.0, np.inf]), "infinity"), ([-1, 1, 1], "0 and 1")),
    ],
)
def test_bad_targets_are_refused(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        encode_labels(y)


@pytest.mark.parametrize(("classes", "semi_supervised"), [([-1, 1], True), ([0, np.nan], True), ([0, np.nan], False)])
def test_a_mark_of_the_unlabeled_is_no_class(classes, semi_supervised):
    with pytest.raises(ValueError, match=r"classes must not hold .* mark an unlabeled object"):
        encode_labels([1, 1], 2, classes, semi_supervised=semi_supervised)


def test_one_number_serves_every_view_and_a_dict_fills_up_with_the_default():
    np.testing.assert_array_equal(per_view("view_weights", 2, ["a", "b"]), [2, 2])
    np.testing.assert_array_equal(per_view("view_weights", {"b": 3}, ["a", "b"]), [1, 3])
    np.testing.assert_array_equal(per_view("view_weights", None, ["a", "b"]), [1, 1])


def test_sample_weights_are_one_finite_number_per_object():
    np.testing.assert_array_equal(check_sample_weight(2.0, 3), [2, 2, 2])
    for bad in ([1, 2], [1, -1, 1], [0, 0, 0], [[1, 1, 1]], [1, np.nan, 1]):
        with pytest.raises(ValueError, match=r"(?i)sample"):
            check_sample_weight(bad, 3)


FEW_LABELS = {
    "plsa": MultiViewPLSAClassifier(3, max_iter=2, random_state=0),
    "k-means": SeededKMeansClassifier(max_iter=2),
    "co-training": CoTrainingClassifier(max_iter=2, random_state=0),
}


@pytest.fixture(scope="module")
def topics():
    return make_topic_views(60, {"words": 20, "links": 15}, n_clusters=3, random_state=0)


def keep_labels(target, counts):
    """Labels of so many objects of each class, None for the others."""
    y = np.full(len(target), None)
    for label, count in enumerate(counts):
        y[np.flatnonzero(target == label)[:count]] = "abc"[label]
    return y


@pytest.mark.parametrize("model", FEW_LABELS.values(), ids=FEW_LABELS)
def test_a_class_with_one_labeled_object_is_told_of_once(model, topics):
    with pytest.warns(LoneLabelWarning) as heard:
        model.fit(topics.views, keep_labels(topics.target, (4, 1, 3)))
    assert [(str(each.message), each.filename) for each in heard if each.category is LoneLabelWarning] == [
        (
            "Class 'b' has only one labeled object, others have up to 4: its predictions rest on that object alone. "
            "Label more.",
            __file__,
        )
    ]
    with pytest.warns(
        UserWarning, match="Classes 'a', 'b' have only one labeled object each, others have up to 2: their"
    ):
        model.fit(topics.views, keep_labels(topics.target, (1, 1, 2)))


def test_a_lone_label_that_is_nearly_a_larger_class_is_asked_about():
    with pytest.warns(LoneLabelWarning, match=r"Label more\. Did you mean 'science'\?$"):
        warn_of_lone_labels(np.array([0, 1, 1, -1]), np.array(["scince", "science"]))


@pytest.mark.parametrize("model", [FEW_LABELS["k-means"], FEW_LABELS["co-training"]], ids=["k-means", "co-training"])
def test_folds_and_models_inside_are_silent_of_lone_labels(model, topics):
    y = keep_labels(topics.target, (4, 1, 3))
    folds = [(np.arange(60), np.flatnonzero(y != None)[:3])] * 2  # noqa: E711
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        cross_val_score(model, topics.views, y, cv=folds, error_score="raise")
    assert [each for each in heard if each.category is LoneLabelWarning] == []
    with pytest.warns(LoneLabelWarning) as heard:
        model.fit(topics.views, y)
    assert [each.filename for each in heard if each.category is LoneLabelWarning] == [__file__]


def test_folds_of_a_choice_of_views_are_silent_of_lone_labels(topics):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BestView(SelfTrainingClassifier(MultinomialNB())).fit(topics.views, keep_labels(topics.target, (4, 1, 3)))


@pytest.mark.parametrize("counts", [(1, 1, 1), (2, 2, 3), (20, 20, 20)], ids=["one each", "two", "all"])
@pytest.mark.parametrize("model", [FEW_LABELS["plsa"], FEW_LABELS["k-means"], MultiViewNaiveBayes()], ids=str)
def test_as_many_labels_of_each_class_are_no_matter(model, counts, topics):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(topics.views, keep_labels(topics.target, counts))
