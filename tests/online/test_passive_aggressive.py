"""The online classifier: what fit, partial_fit and the parameters promise."""

import joblib
import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import linear_model
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.utils.fixes import parse_version

from coview import MultiViewPassiveAggressiveClassifier, Views, load, save
from coview.datasets import make_topic_views
from coview.exceptions import ViewsError
from coview.online import passive_aggressive

Classifier = MultiViewPassiveAggressiveClassifier


def corpus(n_classes=2, n=240, seed=0):
    data = make_topic_views(n_objects=n, n_clusters=n_classes, random_state=seed)
    return data.views, data.target


# -- one view is what Crammer et al. wrote, and what scikit-learn has


@pytest.mark.parametrize(("loss", "rate"), [("pa1", "pa1"), ("pa2", "pa2")])
def test_one_view_is_scikit_learns_passive_aggressive(loss, rate):
    X, y = corpus()
    matrix = X["view1"].toarray() / 10
    ours = Classifier(C=0.3, loss=loss, shuffle=False).fit(matrix, y)
    common = {"fit_intercept": False, "shuffle": False, "max_iter": 1, "tol": None}
    if parse_version(sklearn.__version__) >= parse_version("1.8"):
        theirs = SGDClassifier(loss="hinge", penalty=None, learning_rate=rate, eta0=0.3, **common)
    else:  # there the same learner has a class of its own
        loss_name = {"pa1": "hinge", "pa2": "squared_hinge"}[rate]
        theirs = linear_model.PassiveAggressiveClassifier(C=0.3, loss=loss_name, **common)
    theirs.fit(matrix, y)
    assert_allclose(ours.coef_["x"], theirs.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_views_without_coupling_are_concatenated_views_at_four_times_C(fit_intercept):
    X, y = corpus()
    settings = {"shuffle": False, "average": True, "fit_intercept": fit_intercept}
    two = Classifier(C=4 * 0.05, coupling=0.0, **settings).fit(X, y)
    one = Classifier(C=0.05, **settings).fit(X.hstack(), y)
    assert_allclose(two.decision_function(X), one.decision_function(X.hstack()), rtol=1e-9, atol=1e-12)
    assert_allclose(two.intercept_, one.intercept_, rtol=1e-9, atol=1e-12)


# -- batches


@pytest.mark.parametrize(("n_classes", "settings"), [(2, {}), (4, {"average": True, "fit_intercept": True})])
def test_any_cut_into_batches_gives_one_pass_of_fit(n_classes, settings):
    X, y = corpus(n_classes)
    whole = Classifier(shuffle=False, **settings).fit(X, y)
    parts = Classifier(**settings)
    for batch in np.split(np.arange(len(y)), [1, 2, 50, 180]):
        parts.partial_fit(X[batch], y[batch], classes=np.unique(y))
    for name in X.names:
        assert_allclose(parts.coef_[name], whole.coef_[name], rtol=1e-10, atol=1e-12)
    assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-10, atol=1e-12)
    assert parts.t_ == whole.t_ == len(y)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_fit_with_few_scores_in_memory_at_once_is_the_same(monkeypatch, n_classes):
    X, y = corpus(n_classes)
    whole = Classifier(max_iter=3, random_state=0).fit(X, y)
    monkeypatch.setattr(passive_aggressive, "_SCORES", 100)
    parts = Classifier(max_iter=3, random_state=0).fit(X, y)
    for name in X.names:
        assert_allclose(parts.coef_[name], whole.coef_[name], rtol=1e-10, atol=1e-12)
    assert parts.n_iter_ == whole.n_iter_
    for key, values in whole.history_.items():
        assert_allclose(parts.history_[key], values, rtol=1e-12)


@pytest.mark.parametrize(
    ("n_classes", "value", "message"), [(2, 1e70, "as large as 1e[+]70"), (4, 1e200, "as large as 1e[+]200")]
)
def test_values_beyond_computing_are_refused_where_they_are_read_once(n_classes, value, message):
    X, y = corpus(n_classes)
    wild = X["view1"].toarray()
    wild[7, 3] = value
    views = Views(view0=X["view0"], view1=wild)
    model = Classifier(random_state=0)
    for learn in (model.fit, model.partial_fit, model.predict_then_learn):
        with pytest.raises(ViewsError, match=f"View 'view1' has values {message}"):
            learn(views, y)
        assert not hasattr(model, "classes_") and not hasattr(model, "view_names_")
    model.partial_fit(X, y)
    before = model.coef_
    for learn in (model.partial_fit, model.predict_then_learn):
        with pytest.raises(ViewsError, match="has values as large as"):
            learn(views, y)
    for name, weights in before.items():
        assert_array_equal(model.coef_[name], weights)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_averages_can_be_turned_on_and_off_between_batches(n_classes):
    X, y = corpus(n_classes)
    plain = Classifier().partial_fit(X, y)
    model = Classifier().partial_fit(X[:120], y[:120], classes=np.unique(y))
    first = model.coef_
    model.set_params(average=True).partial_fit(X[120:], y[120:])
    late = Classifier().partial_fit(X[:120], y[:120], classes=np.unique(y))
    steps = [late.partial_fit(X[i : i + 1], y[i : i + 1]).coef_ for i in range(120, len(y))]
    for name in X.names:  # the mean over rounds, of which the first 120 have the weights of their end
        rounds = [first[name]] * 120 + [step[name] for step in steps]
        assert_allclose(model.coef_[name], np.mean(rounds, axis=0), rtol=1e-9, atol=1e-12)
    model.set_params(average=False).partial_fit(X[:1], [None])
    for name in X.names:
        assert_allclose(model.coef_[name], plain.coef_[name], rtol=1e-12)


def test_classes_given_up_front_are_all_that_may_come():
    X, y = corpus(2)
    model = Classifier().partial_fit(X, y, classes=[0, 1, 2])
    assert model.decision_function(X).shape == (len(y), 3)
    with pytest.raises(ValueError, match="7, which is not one of the classes"):
        model.partial_fit(X[[0]], [7])
    with pytest.raises(ValueError, match="differ from those of earlier batches"):
        model.partial_fit(X[[0]], [1], classes=[0, 1, 2, 3])


def test_unlabeled_objects_are_passed_over():
    X, y = corpus(3)
    hidden = y.astype(float)
    hidden[::2] = np.nan
    known = ~np.isnan(hidden)
    with_gaps, without = Classifier(shuffle=False).fit(X, hidden), Classifier(shuffle=False).fit(X[known], y[known])
    for name in X.names:
        assert_allclose(with_gaps.coef_[name], without.coef_[name], rtol=1e-10, atol=1e-12)
    assert Classifier().partial_fit(X, y).partial_fit(X[:3], [None, None, None]).t_ == len(y) + 3


# -- views that are missing, empty, or not given


def test_a_missing_view_takes_no_part():
    X, y = corpus(2)
    present = np.ones((len(y), 2), dtype=bool)
    present[::2, 1] = False
    second = X["view1"].toarray()
    second[::2] = 0
    partial = Views(view0=X["view0"], view1=second, present=present)
    model = Classifier(shuffle=False).fit(partial, y)
    assert np.isfinite(model.decision_function(partial)).all()
    batch = Classifier().partial_fit(X[:1], y[:1], classes=[0, 1])
    weights = batch.coef_["view1"]
    batch.partial_fit(X[1:50].select("view0"), y[1:50])
    assert_array_equal(batch.coef_["view1"], weights)


def test_the_vote_is_the_mean_of_the_views():
    X, y = corpus(3)
    model = Classifier(fit_intercept=True, random_state=0).fit(X, y)
    each = model.decision_function_by_view(X)
    assert list(each) == list(X.names)
    assert_allclose(model.decision_function(X), np.mean(list(each.values()), axis=0))
    by_hand = sum(X[name] @ model.coef_[name].T for name in X.names) / len(X.names) + model.intercept_
    assert_allclose(model.decision_function(X), by_hand)


# -- parameters


def test_the_update_of_the_paper_is_for_two_views():
    X, y = corpus(2)
    model = Classifier(update="paper", shuffle=False).fit(X, y)
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="two views, got 1"):
        Classifier(update="paper").fit(X.select("view1"), y)
    for setting in ({"loss": "pa2"}, {"gate": False}, {"fit_intercept": True}):
        with pytest.raises(ValueError, match="update='paper'"):
            Classifier(update="paper", **setting).fit(X, y)


def test_class_weights_multiply_C():
    X, y = corpus(2)
    weighted = Classifier(C=0.1, class_weight={0: 3.0, 1: 3.0}, shuffle=False).fit(X, y)
    plain = Classifier(C=0.1 * 3.0, shuffle=False).fit(X, y)
    assert_allclose(weighted.coef_["view1"], plain.coef_["view1"], rtol=1e-10, atol=1e-12)
    with pytest.raises(ValueError, match="balanced"):
        Classifier(class_weight="balanced").partial_fit(X, y)


def test_a_class_of_no_weight_is_never_learned():
    X, y = corpus(3)
    model = Classifier(class_weight={1: 0.0}, shuffle=False).fit(X, y)
    known = y != 1
    other = Classifier(shuffle=False).partial_fit(X[known], y[known], classes=[0, 1, 2])
    assert_allclose(model.coef_["view1"], other.coef_["view1"], rtol=1e-10, atol=1e-12)


def test_passes_end_when_nothing_changes():
    X, y = corpus(2)
    model = Classifier(C=10.0, max_iter=500, random_state=0).fit(X, y)
    assert model.n_iter_ < 500 and model.history_["updates"][-1] == 0
    assert len(model.history_["objective"]) == model.n_iter_ + 1
    assert model.score(X, y) == 1.0


# -- weights


@pytest.mark.parametrize("mapped", [False, True])
def test_a_loaded_model_learns_on_like_the_saved_one(mapped, tmp_path):
    X, y = corpus(3)
    model = Classifier(average=True, fit_intercept=True, random_state=0).fit(X[:100], y[:100])
    (joblib.dump if mapped else save)(model, path := tmp_path / "online.coview")
    back = joblib.load(path, mmap_mode="r") if mapped else load(path)
    for each in (model, back):
        each.partial_fit(X[100:], y[100:])
    assert_array_equal(back.decision_function(X), model.decision_function(X))


def test_a_grid_search_over_views_works():
    X, y = corpus(2)
    search = GridSearchCV(Classifier(random_state=0), {"C": [0.01, 1.0], "coupling": [0.0, 0.5]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9


def test_parameters_set_between_batches_are_checked():
    model = MultiViewPassiveAggressiveClassifier().partial_fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="'loss' parameter"):
        model.set_params(loss="none").partial_fit(np.eye(4), [0, 1, 0, 1])


def test_a_third_class_keeps_what_two_have_learned():
    X, y = corpus(2)
    model = Classifier(average=True, fit_intercept=True).partial_fit(X, y)
    before = model.decision_function(X)
    kept = model._memory["weights"]["view1"].copy()
    model.partial_fit(Views({name: matrix[[0]] * 0 for name, matrix in X.items()}), [7])
    after = model.decision_function(X)
    assert model.classes_.tolist() == [0, 1, 7]
    wide = model._memory["weights"]["view1"]
    assert_allclose(wide[:, 1] - wide[:, 0], kept[:, 0])
    # one more round, in which only the intercept moved: averages are over one round more
    assert np.corrcoef(after[:, 1] - after[:, 0], before)[0, 1] > 0.999
