"""AutoClassifier: near its best candidate, useless candidates dropped, any views, links, files."""

import copy
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from coview import (
    AutoClassifier,
    ConcatenatedViews,
    MultiViewNaiveBayes,
    SeededKMeansClassifier,
    Views,
    inspect,
    load,
    make_report,
    save,
)
from coview.auto import classifier as module
from coview.auto.experts import propose_experts
from coview.auto.held_out import PreparedViews, class_scores, fit_expert
from coview.auto.pooling import sharpened
from coview.datasets import make_topic_views
from coview.exceptions import InterruptedFitWarning
from coview.metrics import expected_calibration_error

LINEAR = ConcatenatedViews(LogisticRegression(), unlabeled="drop")
UNKNOWN = "not known: too few labels to hold out"
DUMMY = ConcatenatedViews(DummyClassifier(strategy="prior"), unlabeled="drop")


def few(target: np.ndarray, per_class: int) -> np.ndarray:
    """So many labels of each class, the first ones; -1 for all other objects."""
    y = np.full(len(target), -1)
    for code in np.unique(target):
        y[np.flatnonzero(target == code)[:per_class]] = code
    return y


def why_dropped(model: AutoClassifier) -> dict[str, str | None]:
    return dict(zip(model.candidates_["name"], model.candidates_["dropped"]))


def weights(model: AutoClassifier) -> dict[str, float]:
    return dict(zip(model.candidates_["name"], model.candidates_["weight"]))


@pytest.fixture(scope="module")
def counts():
    return make_topic_views(n_objects=150, n_clusters=3, quality=0.6, random_state=0)


@pytest.fixture(scope="module")
def fitted(counts):
    return AutoClassifier(random_state=0, cv=3).fit(counts.views, few(counts.target, 5))


def test_weights_sum_to_one_and_kept_candidates_have_one(fitted):
    kept = {name for name, weight in weights(fitted).items() if weight > 0}
    assert kept == set(fitted.estimators_) == set(fitted.temperatures_)
    assert_allclose(sum(weights(fitted).values()), 1)
    assert all((why is None) == (name in kept) for name, why in why_dropped(fitted).items())


def test_given_labels_stay(counts, fitted):
    y = few(counts.target, 5)
    assert_array_equal(fitted.transduction_[y >= 0], y[y >= 0])
    assert_array_equal(fitted.memberships_[y >= 0].argmax(axis=1), y[y >= 0])


def test_probabilities_of_any_view_are_probabilities(counts, fitted):
    for names in (["view1"], ["view0"], ["view1", "view0"]):
        probabilities = fitted.predict_proba(counts.views.select(*names))
        assert_allclose(probabilities.sum(axis=1), 1)
        assert np.mean(fitted.classes_[probabilities.argmax(axis=1)] == counts.target) > 0.6


def test_who_knows_nothing_loses_its_weight(counts, fit_auto):
    given = [("nothing", DUMMY), ("linear", LINEAR)]
    found = {n: fit_auto(given, counts.views, few(counts.target, n)) for n in (1, 5, 20)}
    assert weights(found[1])["nothing"] == 0.5 > weights(found[5])["nothing"] > weights(found[20])["nothing"]
    assert weights(found[20])["nothing"] < 0.2
    alone = fit_auto(given[1:], counts.views, few(counts.target, 20))
    assert np.mean(found[20].transduction_ == alone.transduction_) > 0.98


def test_one_label_per_class_is_enough(counts):
    y = few(counts.target, 1)
    model = AutoClassifier(random_state=0).fit(counts.views, y)
    assert model.n_held_out_ == 0 and np.isnan(model.accuracy_) and np.isnan(model.calibration_error_)
    assert model.accuracy_interval_ == (0, 1) and model.accuracy_by_view_ == {}
    assert np.mean(model.transduction_[y < 0] == counts.target[y < 0]) > 0.8


@pytest.mark.filterwarnings("ignore:.*only one labeled object")
def test_labels_that_cannot_be_held_out_leave_the_accuracy_open(counts, fit_auto):
    """Some more classes with one label each."""
    target = np.where(np.arange(150) >= 110, 3 + np.arange(150) % 10, counts.target)
    given = [("bayes", MultiViewNaiveBayes())]
    for n_lone, known in ((10, False), (1, True)):
        y = few(np.where(target >= 3 + n_lone, counts.target, target), 8)
        y[y >= 3] = few(y, 1)[y >= 3]
        model = fit_auto(given, counts.views, y)
        low, high = model.accuracy_interval_
        lone, n_held_out = n_lone / np.count_nonzero(y >= 0), model.n_held_out_
        assert np.isnan(model.accuracy_) != known and high - low > lone
        if known:
            found = model.candidates_["accuracy"][0]  # of the one candidate, on what was held out
            assert low < model.accuracy_ < high and model.accuracy_ == pytest.approx((1 - lone) * found)
        assert (
            "not known: too many classes have one label" in repr(inspect(model))
        ) != known and f"{n_held_out} held-out labels" in repr(inspect(model))


def test_the_interval_covers_what_labels_by_chance_are_worth(counts, fit_auto):
    covered = []
    for seed in range(8):
        target = np.random.default_rng(seed).permutation(counts.target)
        y = few(target, 15)
        model = fit_auto([("bayes", MultiViewNaiveBayes()), ("linear", LINEAR)], counts.views, y, random_state=seed)
        low, high = model.accuracy_interval_
        covered.append(low < np.mean(model.transduction_[y < 0] == target[y < 0]) < high)
    assert sum(covered) >= 7


def test_a_candidate_that_fails_is_dropped_with_the_reason(counts, fit_auto):
    signed = counts.views.map({"view1": lambda matrix: -matrix})
    given = [("bayes", MultiViewNaiveBayes()), ("linear", LINEAR)]
    model = fit_auto(given, signed, few(counts.target, 4))
    assert "negative values" in why_dropped(model)["bayes"]
    assert list(model.estimators_) == ["linear"]


def test_where_all_fail_the_last_error_is_told(counts, fit_auto):
    signed = counts.views.map({"view1": lambda matrix: -matrix})
    with pytest.raises(ValueError, match=r"No candidate could be fitted.*negative values"):
        fit_auto([("bayes", MultiViewNaiveBayes())], signed, few(counts.target, 4))


def test_the_reported_calibration_error_is_that_of_unlabeled_objects_of_the_fit(fit_auto):
    data = make_topic_views(n_objects=900, n_clusters=3, quality=0.25, random_state=1)
    y = few(data.target, 100)
    model = fit_auto([("bayes", MultiViewNaiveBayes()), ("linear", LINEAR)], data.views, y)
    hidden = y < 0
    found = expected_calibration_error(data.target[hidden], model.memberships_[hidden])
    assert abs(found - model.calibration_error_) < 0.05
    assert abs(np.mean(model.predict(data.views)[hidden] == data.target[hidden]) - model.accuracy_) < 0.06


def linked(alike: bool, n: int = 200, seed: int = 0) -> tuple[Views, np.ndarray]:
    """Objects with few words each, linked to others of their class, or to any."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    words = rng.poisson(np.where(np.arange(40)[None] % 2 == y[:, None], 0.6, 0.3))
    ends = [rng.choice(np.flatnonzero(y == y[i]) if alike else n, 4) for i in range(n)]
    links = sparse.csr_array((np.ones(4 * n), (np.repeat(np.arange(n), 4), np.concatenate(ends))), shape=(n, n))
    links = sparse.csr_array(((links + links.T) > 0).astype(float))
    ids = np.array([f"page {i}" for i in range(n)])
    views = Views(words=sparse.csr_array(words * 1.0), links=links, ids=ids, feature_names={"links": ids})
    return views, y


@pytest.fixture(scope="module")
def smoothing(fit_auto):
    """A model of linked objects, and these."""
    X, y = linked(alike=True)
    return fit_auto(["latent", "graph", "near centers", "near linear"], X, few(y, 20), cv=2), X


def test_links_among_alike_objects_are_used_and_may_be_absent_later(smoothing):
    model, X = smoothing
    assert model.links_["view"] == "links" and model.links_["join"]
    assert any(name.startswith("near") for name in model.estimators_)
    assert "graph" in why_dropped(model) and "graph" not in model.links_["why"]  # of neighbors, beside the links
    assert_allclose(model.predict_proba(X.select("words")).sum(axis=1), 1)


def test_without_unlabeled_objects_or_with_links_new_objects_are_as_those_of_the_fit(smoothing, counts, fit_auto):
    labeled = fit_auto(["latent", "centers"], counts.views, counts.target, cv=2)
    assert labeled.new_temperature_ == smoothing[0].new_temperature_ == 1


def test_links_among_any_objects_are_left_out_with_the_reason():
    X, y = linked(alike=False)
    model = AutoClassifier(random_state=0, cv=2).fit(X, few(y, 4))
    assert not model.links_["join"] and "not alike enough" in model.links_["why"]
    assert not model.links_["used"]
    assert not any(name.startswith("near") for name in model.candidates_["name"])


def test_links_that_are_named_are_used_where_held_out_labels_find_them_good(fit_auto):
    X, y = linked(alike=True)
    words = np.random.default_rng(0).poisson(0.5, (200, 40))
    blind = Views(words=words, links=X["links"], ids=X.ids, feature_names={"links": X.ids})
    model = fit_auto(["latent: words", "near centers"], blind, few(y, 20), links="links")
    assert not model.links_["join"] and model.links_["used"]
    assert model.links_["why"].startswith("the parameter links names them; ")
    assert not fit_auto(["margins"], X, few(y, 5), links="links").links_["used"]


def test_links_of_one_direction_smooth_in_both(fit_auto):
    X, y = linked(alike=True)
    codes = few(y, 10)
    one_way = X.map({"links": lambda part: sparse.csr_array(sparse.triu(part))})
    models = [fit_auto(["near linear"], each, codes, links="links") for each in (X, one_way)]
    assert_allclose(models[0].memberships_, models[1].memberships_)
    alone = np.concatenate([models[1].predict_proba(one_way[[i]]) for i in range(60, 70)])
    both = np.concatenate([models[0].predict_proba(X[[i]]) for i in range(60, 70)])
    assert_allclose(alone, both)  # fitted objects are known by those that link to them, too


def test_one_class_and_no_view_of_links_by_that_name_are_refused(counts):
    with pytest.raises(ValueError, match="no view of links 'friends'"):
        AutoClassifier(links="friends").fit(counts.views, few(counts.target, 3))
    with pytest.raises(ValueError, match="y holds one class only"):
        AutoClassifier().fit(counts.views, np.where(counts.target == 0, 0, -1))


def test_an_object_without_any_view_gets_the_shares_of_the_classes(counts, fitted):
    X = counts.views[:3].map(lambda matrix: sparse.csr_array(matrix.toarray() * np.array([[1.0], [0.0], [1.0]])))
    gap = Views(dict(X.items()), present=dict.fromkeys(X.names, np.array([True, False, True])))
    assert_allclose(fitted.predict_proba(gap)[1], fitted.class_prior_)


def test_a_new_object_with_nothing_in_any_sparse_view_is_as_one_without_views(counts, fitted):
    keep = np.array([[1.0], [0.0]])
    blank = counts.views[:2].map(lambda matrix: sparse.csr_array(matrix.toarray() * keep))
    half = Views({name: blank[name] if name == "view0" else counts.views[:2][name] for name in blank.names})
    stored = blank.map(lambda matrix: sparse.csr_array((np.zeros(1), [0], [0, 0, 1]), shape=matrix.shape))
    whole, found, part = (fitted.predict_proba(each) for each in (counts.views[:2], blank, half))
    assert_allclose(found, [whole[0], fitted.class_prior_], rtol=1e-4, atol=1e-6)  # in single precision
    assert_allclose(fitted.predict_proba(stored)[1], fitted.class_prior_)
    assert not np.allclose(part[1], fitted.class_prior_)


def test_zeros_of_dense_views_are_values():
    rng, y = np.random.default_rng(0), np.arange(90) % 3
    X = Views(size=rng.normal(size=(90, 4)) + y[:, None], shape=rng.normal(size=(90, 3)) - y[:, None])
    model = AutoClassifier(random_state=0, cv=2).fit(X, few(y, 6))
    zeros = X[:1].map(np.zeros_like)
    assert not np.allclose(model.predict_proba(zeros), model.class_prior_, atol=0.05)


def test_an_object_without_words_is_known_by_its_links(smoothing):
    model, X = smoothing
    words = sparse.csr_array((2, X["words"].shape[1]))
    links = sparse.csr_array(X["links"][:2].toarray() * np.array([[1.0], [0.0]]))
    by_links, unknown = model.predict_proba(Views(words=words, links=links))
    assert_allclose(unknown, model.class_prior_)
    assert by_links.max() > model.class_prior_.max() + 0.1


@pytest.mark.parametrize("part", ["temperatures_", "exponents_", "seen_views_"])
def test_parts_that_name_other_candidates_are_refused(fitted, part, tmp_path):
    model = copy.copy(fitted)
    setattr(model, part, {f"another {name}": value for name, value in getattr(fitted, part).items()})
    with pytest.raises(ValueError, match=f"{part}.*has the keys"):
        save(model, tmp_path / "model.coview")


def test_inspect_and_report_say_what_was_chosen(counts, fitted):
    answer = inspect(fitted)
    assert answer.kind == "class" and answer.selection.candidates is fitted.candidates_
    assert_allclose(answer.features("view1").sum(axis=1), 1)
    text = make_report(fitted, counts.views).html
    assert all(name in text for name in fitted.candidates_["name"])


def test_an_inspection_shows_candidates_with_their_weights_and_the_held_out_accuracy(counts, fitted, fit_auto):
    heaviest = max(fitted.candidates_["weight"])
    name = fitted.candidates_["name"][fitted.candidates_["weight"].index(heaviest)]
    *_, chosen, measured = repr(inspect(fitted)).split("\n")
    assert chosen.startswith(f"  candidates by weight: {name} {heaviest:.2f}")
    low, high = fitted.accuracy_interval_
    assert measured == f"  accuracy: {fitted.accuracy_:.2f} ({low:.2f} to {high:.2f} at 95 %, 15 held-out labels)"
    lone = fit_auto([("bayes", MultiViewNaiveBayes())], counts.views, few(counts.target, 1))
    assert repr(inspect(lone)).endswith("candidates by weight: bayes 1.00\n  accuracy: " + UNKNOWN)


def test_a_time_budget_drops_what_there_is_no_time_for(counts):
    model = AutoClassifier(time_budget=1e-6, random_state=0).fit(counts.views, few(counts.target, 4))
    assert len(model.estimators_) >= 1
    assert any("time budget" in str(why) for why in why_dropped(model).values())


def test_objects_that_no_label_reaches_do_not_drop_the_graph(fit_auto):
    rng = np.random.default_rng(0)
    target = np.arange(120) // 30
    X = Views(sizes=100.0 * target[:, None] + rng.normal(size=(120, 2)), words=rng.poisson(0.2, size=(120, 8)))
    y = np.where((np.arange(120) % 30 < 6) & (target < 3), target, -1)  # nobody knows the last group
    model = fit_auto(["graph", "latent"], X, y, cv=2)
    row = model.candidates_["name"].index("graph")
    assert not str(model.candidates_["dropped"][row]).startswith("could not be fitted")
    assert np.isfinite(model.candidates_["log_loss"][row])


def test_memberships_of_the_fit_leave_out_who_lacks_the_view(fit_auto):
    data = make_topic_views(90, n_clusters=3, random_state=0)
    there = np.arange(90) % 4 > 0
    arrays = {"view0": data.views["view0"], "view1": sparse.csr_array(data.views["view1"].multiply(there[:, None]))}
    X = Views(arrays, present={"view0": np.ones(90, bool), "view1": there})
    y = np.where(np.arange(90) < 20, data.target, -1)
    names = ["margins", "latent", "latent: view0", "latent: view1", "centers"]  # the same of known objects as of new
    model = fit_auto(names, X, y, cv=2)
    model.new_temperature_ = 1.0  # as in the fit
    hidden = y < 0
    assert_allclose(model.memberships_[hidden], model.predict_proba(X)[hidden], atol=1e-6)


def test_constant_scores_can_be_saved(counts, fit_auto, tmp_path):
    y = few(counts.target, 5)
    model = fit_auto([("nothing", DUMMY)], counts.views, y, cv=2)
    save(model, tmp_path / "model.coview")
    assert load(tmp_path / "model.coview").temperatures_ == model.temperatures_


def test_few_held_out_labels_say_nothing_of_calibration(counts, fit_auto):
    few_labels, more = (fit_auto(["centers"], counts.views, few(counts.target, n)) for n in (4, 20))
    assert few_labels.n_held_out_ == 12 and np.isnan(few_labels.calibration_error_)
    assert not np.isnan(few_labels.accuracy_) and not np.isnan(more.calibration_error_)


def test_the_best_on_held_out_labels_is_fitted_in_time(counts, fit_auto, monkeypatch):
    """The clock goes on by a second at every fit: one fold of both and one last fit is all that there is time for."""
    fits = []
    monkeypatch.setattr("coview.engines.loop.time.monotonic", lambda: float(len(fits)))
    for cls in (DummyClassifier, LogisticRegression):
        monkeypatch.setattr(cls, "fit", lambda *given, fit=cls.fit, **more: (fits.append(1), fit(*given, **more))[1])
    given = [("nothing", DUMMY), ("linear", LINEAR)]
    model = fit_auto(given, counts.views, few(counts.target, 5), cv=5, time_budget=4.0)
    assert "linear" in model.estimators_ and len(fits) <= 4


class Stopped(SeededKMeansClassifier):
    """A user presses Ctrl-C while it is fitted."""

    def fit(self, X, y):
        warnings.warn("The fit was interrupted.", InterruptedFitWarning, stacklevel=2)
        return super().fit(X, y)


def test_a_fit_that_was_interrupted_inside_is_not_hushed_up(counts, fit_auto):
    given, y = [("stopped", Stopped())], few(counts.target, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptedFitWarning)  # as on the command line, where nothing is then written
        with pytest.raises(InterruptedFitWarning):
            fit_auto(given, counts.views, y, cv=2)
    with pytest.warns(InterruptedFitWarning):
        fit_auto(given, counts.views, y, cv=2)


def with_vectors(counts, far: float) -> Views:
    """Vectors beside counts that tell the classes the better, the farther these are apart."""
    rng = np.random.default_rng(0)
    return Views(**counts.views, vector=rng.normal(size=(150, 6)) + far * np.eye(6)[counts.target])


def test_topics_are_of_counts_alone_and_vectors_have_experts_of_their_own(counts, fit_auto):
    X = with_vectors(counts, 3)
    seen = {expert.name: expert.views for expert in propose_experts(X, None, 0)}
    for name in ("topics", "centers", "margins: counts", "graph: counts", "latent: counts"):
        assert seen[name] == ("view0", "view1")
    assert seen["graph"] == seen["latent"] == seen["margins"] == ("view0", "view1", "vector")
    assert seen["graph: vector"] == seen["latent: vector"] == ("vector",)
    some = ["topics", "centers", "latent: counts", "latent", "latent: vector"]
    model = fit_auto(some, X, few(counts.target, 5), cv=2)
    assert all(names == list(seen[name]) for name, names in model.seen_views_.items())
    assert_allclose(model.predict_proba(X.select("vector")).sum(axis=1), 1)


def test_an_object_is_answered_by_those_that_see_what_it_has(counts, fit_auto):
    """A candidate counts as far as an object has its views: one of words alone counts more where the rest is absent."""
    model = fit_auto(["latent", "latent: view1"], counts.views, few(counts.target, 5))
    model.candidates_["weight"], model.product_share_ = [0.5, 0.5], 0.0
    scores = {
        name: softmax(
            class_scores(part, counts.views.select("view1"), model.classes_) / model.temperatures_[name], axis=1
        )
        for name, part in model.estimators_.items()
    }
    mean = (0.25 * scores["latent"] + 0.5 * scores["latent: view1"]) / 0.75
    told = model.predict_proba(counts.views.select("view1"))
    assert_allclose(told, sharpened(sharpened(mean, model.pool_temperature_), model.new_temperature_), rtol=1e-6)


@pytest.fixture(scope="module")
def uneven():
    """Texts that tell the class, a category and numbers that hint at it; a model, and new objects."""
    rng, y = np.random.default_rng(0), np.arange(800) % 4
    words = rng.poisson(0.08 + 0.9 * (np.arange(60)[None] % 4 == y[:, None]))
    category = np.eye(8)[np.where(rng.random(800) < 0.4, y, rng.integers(8, size=800))]
    numbers = rng.normal(size=(800, 3)) + 0.6 * np.eye(4)[y][:, :3]
    X = Views(text=sparse.csr_array(words * 1.0), category=sparse.csr_array(category), numbers=numbers)
    model = AutoClassifier(random_state=0).fit(X[:400], np.where(np.arange(400) < 60, y[:400], -1))
    return model, X[400:], y[400:]


@pytest.mark.parametrize("names", [["text", "category", "numbers"], ["text"]])
def test_answers_for_new_objects_are_about_as_sure_as_they_are_right(uneven, names):
    model, X, y = uneven
    some = X.select(*names)
    sure, right = model.predict_proba(some).max(axis=1).mean(), np.mean(model.predict(some) == y)
    assert abs(sure - right) < 0.05
    assert model.new_temperature_ != 1


def test_held_out_labels_that_are_found_from_a_view_alone_are_told(fitted):
    table = dict(zip(fitted.candidates_["name"], fitted.candidates_["accuracy"]))
    assert fitted.accuracy_by_view_ == {view: table[f"latent: {view}"] for view in fitted.view_names_}
    assert inspect(fitted).selection.accuracy_by_view == fitted.accuracy_by_view_


def test_objects_are_scored_alone_as_among_all_others(counts):
    """Held-out objects are scored by themselves: an object's scores do not depend on who else is asked."""
    X, y = counts.views, few(counts.target, 5)
    for candidate in propose_experts(X, None, 0):
        _, rest, ready = PreparedViews(X).behind(candidate)
        model = fit_expert(rest, ready, y, np.arange(3))
        some = np.array([1, 70, 149])
        whole = class_scores(model, ready, np.arange(3))[some]
        alone = class_scores(model, ready[some], np.arange(3))
        single = any(part.dtype == np.float32 for part in ready.values())
        assert_allclose(
            alone, whole, rtol=1e-5 if single else 1e-7, atol=1e-5 if single else 1e-9, err_msg=candidate.name
        )


def test_a_view_that_shares_nothing_is_used_where_labels_speak_for_it():
    rng = np.random.default_rng(0)
    side, classes = np.arange(150) % 2, np.repeat(np.arange(3), 50)  # two views know the side, one the class
    one, two = (rng.normal(size=(150, 8)) + 3 * np.eye(8)[side] for _ in range(2))
    three = rng.normal(size=(150, 8)) + 3 * np.eye(8)[classes]
    y = np.where(np.arange(150) % 5 == 0, classes, -1)
    model = AutoClassifier(random_state=0).fit(Views(one=one, two=two, three=three), y)
    assert np.mean(model.transduction_ == classes) > 0.9


def test_random_labels_are_told_from_real_ones(counts, fit_auto):
    y = few(counts.target, 20)
    shuffled = y.copy()
    shuffled[y >= 0] = np.random.default_rng(0).permutation(y[y >= 0])
    real, chance = (fit_auto(["margins", "latent", "centers"], counts.views, labels) for labels in (y, shuffled))
    assert real.accuracy_interval_[0] > 0.6 and chance.accuracy_interval_[0] < 1 / 3 < chance.accuracy_interval_[1]
    assert chance.memberships_[y < 0].max(axis=1).mean() < 0.6 < real.memberships_[y < 0].max(axis=1).mean()


def test_a_handful_of_new_objects_does_not_decide_how_sure_answers_are():
    data = make_topic_views(60, n_clusters=8, length=8, quality=0.4, random_state=1)
    y = np.where(np.arange(60) < 54, data.target, -1)  # one of the six is left out, which alone would settle e^4
    model = AutoClassifier(random_state=0).fit(data.views, y)
    assert 0.5 < model.new_temperature_ < 2


def test_a_narrow_sparse_view_with_negatives_is_heard(tmp_path):
    data = make_topic_views(120, n_clusters=3, random_state=0)
    rng = np.random.default_rng(0)
    narrow = sparse.csr_array(rng.normal(size=(120, 2)) * (rng.uniform(size=(120, 2)) < 0.3))
    X = Views({"words": data.views["view0"], "shift": narrow})
    model = AutoClassifier(random_state=0).fit(X, np.where(np.arange(120) < 30, data.target, -1))
    assert not any(str(why).startswith("could not be fitted") for why in model.candidates_["dropped"])


def test_those_that_are_left_are_as_sure_as_before_where_some_cannot_be_fitted_in_the_end(counts, monkeypatch):
    names, y = ["margins", "latent", "centers"], few(counts.target, 12)
    whole = module._fit_whole
    for lost in ((), ("margins", "latent")):

        def fit(expert, *given, lost=lost):
            if expert.name in lost:
                raise ValueError("lost")
            return whole(expert, *given)

        monkeypatch.setattr(module, "_fit_whole", fit)
        monkeypatch.setattr(
            module, "propose_experts", lambda *args: [each for each in propose_experts(*args) if each.name in names]
        )
        model = AutoClassifier(random_state=0).fit(counts.views, y)
        assert set(model.estimators_) == set(names) - set(lost)
        hidden = y < 0
        sure = model.memberships_[hidden].max(axis=1).mean()
        assert abs(sure - np.mean(model.transduction_[hidden] == counts.target[hidden])) < 0.12
        assert sum(model.candidates_["weight"]) == pytest.approx(1)


def test_objects_that_no_candidate_sees_have_the_prior(counts, fit_auto):
    model = fit_auto(["latent: view0"], counts.views, few(counts.target, 5))
    assert_allclose(model.predict_proba(counts.views.select("view1")), np.tile(model.class_prior_, (150, 1)))
