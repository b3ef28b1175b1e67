"""One way to ask every kind of model."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from coview import PLSA, ConcatenatedViews, MultiViewNaiveBayes, TfidfViews
from coview.report.objects import typical_objects
from coview.report.reader import Reader, sample_rows


def test_groups_are_what_the_model_predicts(model, data):
    X, _ = data
    reader = Reader(model)
    codes = reader.read(X).codes
    if reader.noun is None:
        assert codes is None
    elif hasattr(model, "predict"):
        assert_array_equal(np.array(reader.names)[codes], np.asarray(model.predict(X)).astype(str))
    else:
        assert_array_equal(codes, model.transform(X).argmax(axis=1))


def test_what_is_remembered_of_the_fit_has_a_row_for_each_object(model, data):
    X, _ = data
    found = Reader(model).training()
    assert all(len(part) == len(X) for part in (found.scores, found.codes) if part is not None)


def test_distances_from_clusters_are_turned_round(data):
    X, _ = data
    model = ConcatenatedViews(KMeans(3, n_init=1, random_state=0)).fit(X)
    reading = Reader(model).read(X)
    assert reading.by_group
    assert_array_equal(reading.scores, -model.transform(X))
    nearest = [int(np.argmin(np.where(reading.codes == g, model.transform(X)[:, g], np.inf))) for g in range(3)]
    assert typical_objects(reading, 3, n=1) == [[row] for row in nearest]


def test_two_classes_get_two_columns(data):
    X, y = data
    two = np.where(y == "cat", "cat", "other")
    model = ConcatenatedViews(LinearSVC()).fit(X, two)
    reading = Reader(model).read(X)
    assert reading.scores.shape == (60, 2)
    assert_array_equal(reading.scores.argmax(axis=1), reading.codes)


@pytest.mark.parametrize("wrap", ["pipeline", "search"])
def test_what_stands_around_a_model_is_taken_off(wrap, data):
    X, y = data
    if wrap == "pipeline":
        model = make_pipeline(TfidfViews(), PLSA(3, max_iter=5, random_state=0)).fit(X)
        reader = Reader(model)
        assert reader.noun == "topic"
        assert_array_equal(reader.read(reader.views(X)).scores, model.transform(X))
    else:
        model = GridSearchCV(MultiViewNaiveBayes(), {"alpha": [0.5, 1.0]}, cv=2).fit(X, y)
        assert_array_equal(Reader(model).core.classes_, model.classes_)


def test_samples_are_the_same_each_time_and_without_repeats():
    rows = sample_rows(1000, 50)
    assert_array_equal(rows, sample_rows(1000, 50))
    assert len(set(rows.tolist())) == 50 and (np.diff(rows) > 0).all()
