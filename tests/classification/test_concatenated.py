from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import is_classifier, is_clusterer, is_regressor
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import MultinomialNB
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import LinearSVC

from coview import Views
from coview.classification.best_view import BestView
from coview.classification.concatenated import ConcatenatedViews
from coview.exceptions import ViewsError


def corpus(n: int = 60) -> tuple[Views, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    words, links = rng.gamma(0.3, size=(3, 24)), rng.gamma(0.3, size=(3, 15))
    return Views(
        words=sparse.csr_array(rng.poisson(4 * words[y]).astype(float)), links=rng.poisson(3 * links[y]) * 1.0
    ), y


def test_it_is_the_estimator_on_the_glued_views():
    X, y = corpus()
    glued = sparse.hstack([X["words"], X["links"]]).tocsr()
    expected = MultinomialNB().fit(glued, y).predict_proba(glued)
    assert_allclose(ConcatenatedViews().fit(X, y).predict_proba(X), expected)


def test_weights_and_unit_rows_are_applied_per_view():
    X, y = corpus()
    glued = np.hstack([normalize(X["words"].toarray()), 0.5 * normalize(X["links"])])
    model = ConcatenatedViews(LogisticRegression(), view_weights={"links": 0.5}, normalize="l2").fit(X, y)
    expected = LogisticRegression().fit(glued, y).predict_proba(glued)
    assert_allclose(model.predict_proba(X), expected, rtol=1e-3, atol=1e-4)


def test_it_is_what_it_wraps():
    assert is_classifier(ConcatenatedViews(LogisticRegression()))
    assert is_regressor(ConcatenatedViews(Ridge()))
    assert is_clusterer(ConcatenatedViews(KMeans()))
    svm = ConcatenatedViews(LinearSVC())
    assert hasattr(svm, "decision_function") and not hasattr(svm, "predict_proba")
    assert not hasattr(ConcatenatedViews(AgglomerativeClustering()), "predict")


def test_clusterers_regressors_and_transformers():
    X, y = corpus()
    clusters = ConcatenatedViews(KMeans(3, n_init=1, random_state=0)).fit(X)
    assert_array_equal(clusters.labels_, clusters.predict(X))
    assert_array_equal(clusters.fit_predict(X), clusters.labels_)
    assert ConcatenatedViews(Ridge()).fit(X, y.astype(float)).score(X, y) > 0.5
    assert ConcatenatedViews(TruncatedSVD(2)).fit(X).transform(X).shape == (60, 2)


@pytest.mark.parametrize("strings", [False, True])
def test_a_semi_supervised_classifier_sees_all_objects(strings):
    X, y = corpus()
    target = np.array(["a", "b", "c"], dtype=object)[y] if strings else y.astype(float)
    target[12:] = None if strings else np.nan
    model = ConcatenatedViews(SelfTrainingClassifier(MultinomialNB())).fit(X, target)
    assert len(model.estimator_.transduction_) == 60
    assert (model.predict(X) == (np.array(["a", "b", "c"])[y] if strings else y)).mean() > 0.9


def test_dropping_can_be_asked_for():
    X, y = corpus()
    target = np.where(np.arange(60) < 12, y, -1)
    with pytest.warns(UserWarning, match="y contains no unlabeled samples"):
        dropped = ConcatenatedViews(SelfTrainingClassifier(MultinomialNB()), unlabeled="drop").fit(X, target)
    assert len(dropped.estimator_.transduction_) == 12
    left_out = ConcatenatedViews(unlabeled="drop").fit(X, target)
    assert left_out.classes_.tolist() == [0, 1, 2] and left_out.score(X, target) == left_out.score(X[:12], y[:12])


def test_weights_reach_the_estimator_with_their_rows():
    X, y = corpus()
    names = np.array(["a", "b", "c"], dtype=object)[y]
    names[30:] = None
    weights = np.random.default_rng(0).uniform(0.1, 5, 60)
    model = ConcatenatedViews(LogisticRegression()).fit(X, names, sample_weight=weights)
    rows = X.hstack()
    expected = LogisticRegression().fit(rows[:30], names[:30].astype(str), sample_weight=weights[:30])
    assert_allclose(model.predict_proba(X), expected.predict_proba(rows), rtol=1e-4, atol=1e-6)
    right = model.predict(X) == names
    assert model.score(X, names, sample_weight=weights) == pytest.approx(np.average(right[:30], weights=weights[:30]))


@pytest.mark.parametrize("wrapper", [ConcatenatedViews, BestView])
def test_minus_one_is_what_the_estimator_inside_takes_it_for(wrapper):
    X, y = corpus()
    signs = np.where(y > 0, 1, -1)
    for inner in (MultinomialNB(), BaggingClassifier(n_estimators=2, random_state=0)):  # the second has one by default
        assert wrapper(inner).fit(X, signs).classes_.tolist() == [-1, 1]
    model = wrapper(MultinomialNB()).fit(X, signs)
    assert model.predict(X).tolist() == np.where(wrapper(MultinomialNB()).fit(X, y > 0).predict(X), 1, -1).tolist()
    assert model.score(X, signs) == np.mean(model.predict(X) == signs)
    with pytest.raises(ValueError, match="only -1 and 1, but -1 marks an unlabeled object"):
        wrapper(SelfTrainingClassifier(MultinomialNB())).fit(X, signs)


@pytest.mark.parametrize("model", [ConcatenatedViews(), BestView()], ids=["concatenated", "best"])
def test_negative_values_are_refused_by_the_name_of_their_view(model):
    X, y = corpus()
    with pytest.raises(ViewsError, match=r"passed to MultinomialNB, .*view 'links' has a minimum of -3"):
        model.fit(Views(words=X["words"], links=X["links"] - 3), y)


@pytest.mark.parametrize(
    ("model", "where"),
    [(ConcatenatedViews(KMeans(99)), "the views side by side"), (BestView(KMeans(99)), "view 'words'")],
    ids=["concatenated", "best"],
)
def test_what_the_estimator_inside_cannot_be_fitted_on_is_named(model, where):
    with pytest.raises(ViewsError, match=f"KMeans cannot be fitted on {where}: n_samples=60"):
        model.fit(corpus()[0])


def test_an_absent_view_counts_as_zeros():
    X, y = corpus()
    model = ConcatenatedViews().fit(X, y)
    blank = Views(words=X["words"], links=np.zeros_like(X["links"]))
    assert_allclose(model.predict_proba(X.select("words")), model.predict_proba(blank))
