"""Scores of labeled objects: against scikit-learn's scorers on those objects alone."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.semi_supervised import LabelSpreading

from coview import ConcatenatedViews, CoTrainingClassifier, compare
from coview.datasets import make_topic_views
from coview.metrics import labeled_scorer

DATA = make_topic_views(60, n_clusters=3, n_features=30, length=15, overlap=0.5, random_state=0)
SHOWN = np.arange(60) % 3 == 0


@pytest.mark.parametrize(
    ("scoring", "gap"), [("accuracy", -1), ("f1_macro", np.nan), ("neg_log_loss", None), ("accuracy", "")]
)
def test_only_labeled_objects_count(scoring, gap):
    names = np.array(["ant", "bee", "cat"]) if gap == "" else np.arange(3)
    y = np.where(SHOWN, names[DATA.target].astype(object), gap)
    model = CoTrainingClassifier(max_iter=3, random_state=0).fit(DATA.views, y)
    expected = get_scorer(scoring)(model, DATA.views[SHOWN], names[DATA.target][SHOWN])
    assert labeled_scorer(scoring)(model, DATA.views, y) == expected


def test_minus_one_is_a_class_of_supervised_classifiers():
    signs = np.where(DATA.target == 0, -1, 1)
    model = ConcatenatedViews(LogisticRegression()).fit(DATA.views, signs)
    assert labeled_scorer()(model, DATA.views, signs) == accuracy_score(signs, model.predict(DATA.views))


def test_a_search_takes_it_for_estimators_of_one_matrix_too():
    X, y = DATA.views["view0"].toarray(), np.where(SHOWN, DATA.target, -1)
    search = GridSearchCV(LabelSpreading("knn"), {"n_neighbors": [3, 7]}, scoring=labeled_scorer(), cv=2).fit(X, y)
    misled = GridSearchCV(LabelSpreading("knn"), {"n_neighbors": [3, 7]}, scoring="accuracy", cv=2).fit(X, y)
    assert misled.best_score_ < 0.4 < search.best_score_


def test_compare_scores_labeled_objects_only():
    y = np.where(SHOWN, DATA.target, -1)
    options = {"methods": ["CoTrainingClassifier"], "n_repeats": 2, "time_budget": None, "n_jobs": 1, "random_state": 0}
    by_name, plain, wrapped = (
        compare(DATA.views, y, scoring=scoring, **options).rows[0]
        for scoring in ("accuracy", None, {"accuracy": labeled_scorer()})
    )
    assert by_name["accuracy"] == plain["accuracy"] == wrapped["accuracy"] > 0.4
