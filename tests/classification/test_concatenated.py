from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import is_classifier, is_clusterer, is_regressor
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import silhouette_score
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags

from coview import ConcatenatedViews, Views
from coview.classification.best_view import BestView
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


# -- The best view


def corpus_of_best_view(n: int = 90) -> tuple[Views, np.ndarray]:
    """A view of noise, a fair one and a good one."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    fair, good = rng.gamma(0.5, size=(3, 10)), rng.gamma(0.3, size=(3, 20))
    return Views(
        noise=rng.poisson(2.0, size=(n, 8)) * 1.0, good=rng.poisson(6 * good[y]) * 1.0, fair=rng.poisson(fair[y]) * 1.0
    ), y


def test_the_scores_are_those_of_cross_validation():
    X, y = corpus_of_best_view()
    model = BestView(MultinomialNB(), cv=4).fit(X, y)
    for name, part in X.items():
        expected = cross_val_score(MultinomialNB(), part, y, cv=4).mean()
        assert_allclose(model.view_scores_[name], expected)
    assert model.best_view_ == "good"
    assert model.best_estimator_ is model.estimators_["good"]
    assert_allclose(model.predict_proba(X), MultinomialNB().fit(X["good"], y).predict_proba(X["good"]))


def test_without_the_best_view_the_next_best_predicts():
    X, y = corpus_of_best_view()
    model = BestView().fit(X, y)
    assert_array_equal(model.predict(X.drop("good")), MultinomialNB().fit(X["fair"], y).predict(X["fair"]))


def test_each_object_is_predicted_from_the_best_view_that_it_has():
    X, y = corpus_of_best_view()
    model = BestView().fit(X, y)
    present = np.ones((len(X), 3), dtype=bool)
    present[:5, X.names.index("good")] = False
    arrays = {name: part.copy() for name, part in X.items()}
    arrays["good"][:5] = 0
    found = model.predict_proba(Views(arrays, present=present))
    assert_allclose(found[:5], model.predict_proba(X.select("fair"))[:5])
    assert_allclose(found[5:], model.predict_proba(X)[5:])


def test_a_semi_supervised_estimator_is_chosen_by_its_labeled_objects():
    X, y = corpus_of_best_view()
    target = np.where(np.arange(90) < 30, y, -1)
    model = BestView(SelfTrainingClassifier(MultinomialNB()), cv=2).fit(X, target)
    assert model.best_view_ == "good"
    part = X["good"]
    folds = [np.arange(15), np.arange(15, 30)]
    expected = []
    for held in folds:  # a fold without its labels; the unlabeled objects stay
        train = np.setdiff1d(np.arange(90), held)
        fitted = SelfTrainingClassifier(MultinomialNB()).fit(part[train], target[train])
        expected.append(fitted.score(part[held], y[held]))
    assert_allclose(model.view_scores_["good"], np.mean(expected))
    assert len(model.best_estimator_.transduction_) == 90
    assert model.classes_.tolist() == [0, 1, 2]


def test_clusterers_are_chosen_by_silhouette():
    X, _ = corpus_of_best_view()
    model = BestView(KMeans(3, n_init=3, random_state=0)).fit(X)
    for name, part in X.items():
        assert_allclose(model.view_scores_[name], silhouette_score(part, model.estimators_[name].labels_))
    assert model.view_scores_[model.best_view_] == max(model.view_scores_.values())
    with pytest.raises(ValueError, match=f"chose view '{model.best_view_}'"):
        model.predict(X.drop(model.best_view_))
    assert_array_equal(model.labels_, model.best_estimator_.labels_)
    assert_array_equal(model.fit_predict(X), model.labels_)


@pytest.mark.parametrize(
    ("names", "inner"),
    [
        (np.array([5, 6, 7]), LabelSpreading("knn")),
        (np.array(["ant", "bee", "cat"]), SelfTrainingClassifier(MultinomialNB(), threshold=0.9999)),
    ],
    ids=["spreads", "trains"],
)
def test_objects_that_lack_the_best_view_are_predicted_from_another(names, inner):
    X, y = corpus_of_best_view()
    present = np.ones((len(y), 3), dtype=bool)
    present[::7, X.names.index("good")] = False
    X = Views({name: part * present[:, [v]] for v, (name, part) in enumerate(X.items())}, present=present)
    labels = np.array([None if i % 4 else names[code] for i, code in enumerate(y)], dtype=object)
    model = BestView(inner).fit(X, labels)
    assert model.best_view_ == "good" and len(model.best_estimator_.transduction_) == present[:, 1].sum() < len(y)
    found = model.predict(X)
    assert found.dtype == model.classes_.dtype and set(found) <= set(names)
    assert np.mean(found[1::7] == names[y][1::7]) > 0.9


class WithSharedTags(MultinomialNB):
    """An estimator that returns the same tags each time."""

    shared = get_tags(MultinomialNB())

    def __sklearn_tags__(self):
        return self.shared


@pytest.mark.parametrize("wrapper", [BestView, ConcatenatedViews])
def test_wrapping_an_estimator_does_not_change_its_tags(wrapper):
    tags = WithSharedTags.shared
    tags.target_tags.multi_output = True
    before = deepcopy(tags)
    wrapped = get_tags(wrapper(WithSharedTags()))
    assert not wrapped.target_tags.multi_output and wrapped.estimator_type == "classifier"
    wrapped.input_tags.sparse, wrapped.classifier_tags.poor_score = None, True
    assert tags == before


def test_a_class_that_a_view_never_saw_has_probability_zero_there():
    X, y = corpus_of_best_view()
    present = np.ones((len(X), 3), dtype=bool)
    present[y == 2, 1] = False
    arrays = {name: part.copy() for name, part in X.items()}
    arrays["good"][y == 2] = 0
    model = BestView().fit(Views(arrays, present=present), y)
    assert_allclose(model.predict_proba(X.select("good"))[:, 2], 0)
    assert_allclose(model.predict_proba(X.select("good")).sum(axis=1), 1)
