"""Warnings about a user's data name the user's line, however deep in coview they are found."""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from coview import CCAClustering, MultiViewNaiveBayes, SeededKMeansClassifier, TableViews, Views
from coview.exceptions import InterruptedFitWarning
from coview.utils.warn import silenced

X = np.random.default_rng(0).poisson(1.0, (40, 6))
Y = np.arange(40) % 2
NAMES = [f"w{i}" for i in range(6)]


def columns_in_another_order(folder):
    model = CCAClustering(2, random_state=0).fit(Views(a=X, b=X, feature_names={"a": NAMES, "b": NAMES}))
    model.predict(Views(a=X, b=X, feature_names={"a": NAMES[::-1], "b": NAMES}))


def columns_that_are_absent(folder):
    model = MultiViewNaiveBayes().fit(Views(a=X, feature_names={"a": NAMES}), Y)
    model.predict_proba(Views(a=X[:, 1:], feature_names={"a": NAMES[1:]}))


def classes_with_one_label(folder):
    labels = np.full(40, -1)
    labels[:2] = 0, 1
    SeededKMeansClassifier(view_weights="held_out").fit(Views(a=X, b=X), labels)


def categories_that_are_texts(folder):
    TableViews(columns={"facts": ["note"]}).fit_transform({"note": [f"text {i}" for i in range(40)]})


def labels_in_a_column(folder):
    MultiViewNaiveBayes().fit(Views(a=X), Y[:, None])


@pytest.mark.parametrize(
    "work",
    [
        columns_in_another_order,
        columns_that_are_absent,
        classes_with_one_label,
        categories_that_are_texts,
        labels_in_a_column,
    ],
)
def test_the_line_is_the_users(work, tmp_path):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        work(tmp_path)
    assert heard and {each.filename for each in heard} == {__file__}


def test_two_threads_that_are_silent_at_once_leave_the_filters_as_they_were():
    before, both, first_is_out = list(warnings.filters), threading.Barrier(2, timeout=60), threading.Event()

    def work(comes_first):
        with silenced(but=InterruptedFitWarning):
            both.wait()
            if not comes_first:
                assert first_is_out.wait(60)
                warnings.warn("not converged", UserWarning, stacklevel=1)  # still silent: an error if it is not
        first_is_out.set()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inside = list(warnings.filters)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, (True, False)))
        assert warnings.filters == inside
    assert warnings.filters == before
