"""Seeded spherical k-means: against plain NumPy, laws of each combination, ontologies, stopping."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import normalize

from coview import Checkpoint, Ontology, SeededKMeansClassifier, Views, load, save
from coview.assignment.decision_rules import DecisionRule
from coview.assignment.held_out import fit_view_weights
from coview.assignment.label_program import solve_labels
from coview.datasets import make_topic_views
from coview.exceptions import ModelFileError

COMBINATIONS = ("sum", "product", "max_agree", "co_train")
TREE = Ontology.from_tree({"left": ["a", "b"], "right": ["c", "d"]})


def corpus(n=120, n_classes=4, labeled=16, seed=0, **options):
    data = make_topic_views(n, {"words": 60, "links": 30}, n_clusters=n_classes, random_state=seed, **options)
    y = np.full(n, -1)
    rng = np.random.default_rng(seed)
    for k in range(n_classes):
        rows = rng.permutation(np.flatnonzero(data.target == k))[: labeled // n_classes]
        y[rows] = k
    return data.views, y, data.target


def by_hand(views, y, sweeps, combine="sum"):
    """The paper's algorithm 1 with dense arrays; ties go to the lowest index."""
    X = [normalize(matrix.toarray() if sparse.issparse(matrix) else matrix) for matrix in views.values()]
    K = y.max() + 1
    labels = y.copy()
    teachers = [y.copy() for _ in X]
    for _ in range(sweeps + 1):
        centroids = []
        for x, teacher in zip(X, teachers):
            total = np.array([x[teacher == k].sum(axis=0) for k in range(K)])
            length = np.linalg.norm(total, axis=1, keepdims=True)
            centroids.append(total / np.where(length > 0, length, 1))
        scores = [x @ c.T for x, c in zip(X, centroids)]
        total = scores[0] * scores[1] if combine == "product" else scores[0] + scores[1]
        labels = np.where(y >= 0, y, total.argmax(axis=1))
        each = [np.where(y >= 0, y, s.argmax(axis=1)) for s in scores]
        teachers = each[::-1] if combine == "co_train" else [labels, labels]
    return labels, centroids


@pytest.mark.parametrize("combine", ["sum", "product", "co_train"])
@pytest.mark.parametrize("sweeps", [1, 4])
def test_labels_and_centroids_are_those_written_out_by_hand(combine, sweeps):
    X, y, _ = corpus(quality=0.4)
    model = SeededKMeansClassifier(combine, max_iter=sweeps, tol=0).fit(X, y)
    labels, centroids = by_hand(X, y, sweeps, combine)
    assert_array_equal(model.transduction_, labels)
    for found, expected in zip(model.cluster_centers_.values(), centroids):
        assert_allclose(found, expected, atol=1e-10)


def test_max_agree_is_the_program_at_every_sweep():
    X, y, _ = corpus(quality=0.3, agreement=0.5)
    model = SeededKMeansClassifier("max_agree", disagreement_cost=0.04).fit(X, y)
    scores = np.stack(list(model.decision_function_by_view(X).values()), axis=1)
    labels, _ = solve_labels(scores, disagreement_cost=0.04)
    free = y < 0
    assert_array_equal(model.label_sets_[free], labels[free])
    assert (model.label_sets_[free, 0] != model.label_sets_[free, 1]).any()  # some views do differ
    total = np.where(labels.any(axis=1), scores.sum(axis=1), -np.inf)
    assert_array_equal(model.transduction_[free], total.argmax(axis=1)[free])


@pytest.mark.parametrize(("combine", "ontology"), zip(COMBINATIONS, [None, TREE, TREE, None]))
def test_labeled_objects_keep_their_labels(combine, ontology):
    X, y, _ = corpus(quality=0.1)
    names = np.array([*"abcd", None])[y]
    model = SeededKMeansClassifier(combine, ontology).fit(X, names)
    assert_array_equal(model.transduction_[y >= 0], names[y >= 0])


@pytest.mark.parametrize("combine", ["sum", "max_agree"])
@pytest.mark.parametrize("ontology", [None, TREE])
def test_the_objective_never_falls_where_it_must_not(combine, ontology):
    X, y, _ = corpus(300, quality=0.2, agreement=0.6)
    names = np.array([*"abcd", None])[y]
    history = SeededKMeansClassifier(combine, ontology, max_iter=30).fit(X, names).history_["objective"]
    assert len(history) > 3
    assert (np.diff(history) >= -1e-9 * np.abs(history[:-1])).all()


def test_sweeps_end_when_no_bit_flips_and_flips_are_counted():
    X, y, _ = corpus(quality=0.4)
    model = SeededKMeansClassifier().fit(X, y)
    assert model.stopped_by_ == "still" and model.history_["flips"][-1] == 0
    assert model.history_["flips"][0] == 2 * (y < 0).sum()  # one bit in each view of each unlabeled object
    assert len(model.history_["flips"]) == model.n_iter_ == len(model.history_["objective"]) - 1


def test_ties_go_to_the_first_class():
    words = np.array([[1.0, 0], [0, 1], [0, 0], [1, 1], [0, 3]])  # the third has nothing in common with any class
    model = SeededKMeansClassifier().fit(words, [0, 1, -1, -1, -1])
    assert model.transduction_.tolist() == [0, 1, 0, 0, 1]


def signed_views(n=90, seed=0):
    """Two views of values above and below 0 around the vectors of three classes."""
    rng = np.random.default_rng(seed)
    target = np.arange(n) % 3
    parts = [rng.normal(size=(3, 6))[target] + 0.8 * rng.normal(size=(n, 6)) for _ in range(2)]
    return Views(one=parts[0], two=parts[1]), np.where(np.arange(n) < 15, target, -1), target


def test_two_negative_cosines_do_not_make_a_high_product():
    # the last object is like class 0 (cosine .6 in both views) and almost opposite to class 1 (-.99)
    part = np.array([*[[1.0, 0]] * 5, *[[-0.7, 0.7]] * 5, [0.6, -0.8]])
    X = Views(one=part, two=part)
    model = SeededKMeansClassifier("product").fit(X, [0] * 5 + [1] * 5 + [-1])
    assert model.transduction_[-1] == 0 and model.predict(X[[10]])[0] == 0
    assert model.decision_function(X)[-1] < 0  # the lead of class 1


@pytest.mark.parametrize("weights", [None, {"one": 3.0}, {"two": 0.5}, {"one": 0.0}])
def test_a_product_is_that_of_powers_of_positive_cosines(weights):
    X, y, _ = signed_views()
    model = SeededKMeansClassifier("product", view_weights=weights).fit(X, y)
    cosines = [normalize(X[name]) @ model.cluster_centers_[name].T for name in X.names]
    powers = [model.view_weights_[name] for name in X.names]
    expected = np.prod([np.clip(c, 0, None) ** w for c, w in zip(cosines, powers)], axis=0)
    assert_allclose(model.decision_function(X), expected, atol=1e-12)
    assert_array_equal(model.transduction_[y < 0], expected.argmax(axis=1)[y < 0])


@pytest.mark.parametrize("combine", COMBINATIONS)
def test_an_absent_view_says_nothing(combine):
    """An object without words is judged by its links alone, in the fit and after it."""
    X, y, _ = corpus()
    present = np.ones((len(X), 2), dtype=bool)
    gone = np.flatnonzero(y < 0)[:20]
    present[gone, 0] = False
    words = X["words"].toarray()
    words[gone] = 0
    partial = Views(words=words, links=X["links"], present=present)
    model = SeededKMeansClassifier(combine).fit(partial, y)
    assert not model.label_sets_[gone, 0].any()
    assert_array_equal(model.predict(partial)[gone], model.predict(partial.select("links"))[gone])


def test_three_views_work():
    data = make_topic_views(90, {"a": 30, "b": 30, "c": 30}, n_clusters=3, random_state=0)
    y = np.where(np.arange(90) < 15, data.target, -1)
    for combine in COMBINATIONS:
        model = SeededKMeansClassifier(combine).fit(data.views, y)
        assert np.mean(model.transduction_ == data.target) > 0.9


def test_millions_of_features_need_no_dense_data():
    rng = np.random.default_rng(0)
    n, wide = 40, 2_000_000
    y = np.arange(n) % 2
    columns = rng.integers(0, wide // 2, size=(n, 30)) + (y * wide // 2)[:, None]
    columns[:, :10] = np.arange(10) + (y * wide // 2)[:, None]  # what the class has in common
    X = sparse.csr_array((np.ones(n * 30, np.float32), (np.repeat(np.arange(n), 30), columns.ravel())), shape=(n, wide))
    model = SeededKMeansClassifier().fit(X, np.where(np.arange(n) < 6, y, -1))
    assert_array_equal(model.transduction_, y)


@pytest.mark.parametrize("combine", COMBINATIONS)
def test_engines_and_threads_give_the_same_labels(combine):
    X, y, _ = corpus(quality=0.3)
    plain = SeededKMeansClassifier(combine, engine="reference").fit(X, y)
    for jobs in (1, 2):
        model = SeededKMeansClassifier(combine, n_jobs=jobs).fit(X, y)
        assert_array_equal(model.transduction_, plain.transduction_)
        assert_allclose(model.cluster_centers_["words"], plain.cluster_centers_["words"], atol=1e-12)


# -- ontologies


def test_ancestors_follow_and_predictions_are_the_most_specific_labels():
    X, y, target = corpus()
    names = np.array([*"abcd", None])[y]
    for combine in COMBINATIONS:
        model = SeededKMeansClassifier(combine, TREE).fit(X, names)
        assert model.classes_.tolist() == list(TREE.labels)
        assert np.mean(model.transduction_ == np.array(list("abcd"))[target]) > 0.9
        sets = model.predict_labels(X)
        assert not np.any(TREE.count_broken(sets))
        assert_array_equal(sets, TREE.indicators(model.predict(X)))


def test_sets_per_view_are_those_of_the_program():
    X, y, _ = corpus()
    model = SeededKMeansClassifier("max_agree", TREE).fit(X, np.array([*"abcd", None])[y])
    found = model.predict_labels_by_view(X)
    expected, _ = solve_labels(np.stack(list(model.decision_function_by_view(X).values()), axis=1), ontology=TREE)
    assert list(found) == ["words", "links"]
    assert_array_equal(np.stack(list(found.values()), axis=1), expected)


def test_internal_labels_sets_and_indicators_can_be_given():
    X, y, _ = corpus()
    names = [None if k < 0 else "left" if k == 0 and i % 2 else "abcd"[k] for i, k in enumerate(y)]
    by_name = SeededKMeansClassifier(ontology=TREE).fit(X, names)
    by_set = SeededKMeansClassifier(ontology=TREE).fit(X, [set() if name is None else {name} for name in names])
    by_row = SeededKMeansClassifier(ontology=TREE).fit(X, TREE.indicators(names).astype(int))
    assert_array_equal(by_name.transduction_, by_set.transduction_)
    assert_array_equal(by_name.transduction_, by_row.transduction_)
    known = np.array([name is not None for name in names])
    assert_array_equal(by_name.transduction_[known], np.array(names)[known])


def test_broken_constraints_are_counted():
    X, y, _ = corpus()
    names = np.array([*"abcd", None])[y]
    soft = SeededKMeansClassifier(ontology=TREE, subset_cost=0.1, mutex_cost=0.1).fit(X, names)
    assert soft.n_violations_ == np.sum(TREE.count_broken(soft.label_sets_)) > 0
    hard = SeededKMeansClassifier(ontology=TREE, subset_cost=200.0, mutex_cost=200.0).fit(X, names)
    assert hard.n_violations_ == 0


def test_an_object_that_nothing_fits_has_no_label():
    words = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    model = SeededKMeansClassifier(ontology=Ontology.from_tree(["a", "b"])).fit(words, ["a", "b", None])
    assert model.transduction_.tolist() == ["a", "b", None]
    numbers = SeededKMeansClassifier(ontology=Ontology.from_tree([3, 5])).fit(words, [3, 5, -1])
    assert numbers.transduction_.tolist() == [3, 5, -1]


def test_a_graph_that_is_no_tree_works():
    graph = Ontology.from_edges([("bat", "mammal"), ("bat", "flier"), ("bird", "flier"), ("dog", "mammal")])
    X, y, target = corpus(n_classes=3, labeled=12)
    names = np.array(["bat", "bird", "dog", None])[y]
    for combine in ("sum", "max_agree"):
        model = SeededKMeansClassifier(combine, graph).fit(X, names)
        assert np.mean(model.transduction_ == np.array(["bat", "bird", "dog"])[target]) > 0.9
        assert not np.any(graph.count_broken(model.predict_labels(X)))


def test_a_model_with_an_ontology_is_saved_and_loaded(tmp_path):
    X, y, _ = corpus()
    model = SeededKMeansClassifier("max_agree", TREE).fit(X, np.array([*"abcd", None])[y])
    save(model, tmp_path / "model.coview")
    back = load(tmp_path / "model.coview")
    assert back.ontology == TREE
    assert_array_equal(back.predict_labels(X), model.predict_labels(X))


# -- stopping


def test_early_stopping_takes_the_number_of_sweeps_that_held_out_labels_advise():
    X, y, _ = corpus(400, labeled=80, quality=0.12, seed=1)
    whole = SeededKMeansClassifier().fit(X, y)
    early = SeededKMeansClassifier(early_stopping=True, random_state=0).fit(X, y)
    curve = early.history_["held_out"]
    assert early.n_iter_ == int(np.argmax(curve)) < whole.n_iter_


def test_one_label_per_class_cannot_be_held_out():
    X, y, _ = corpus(labeled=4)
    with pytest.warns(UserWarning, match="two labeled objects"):
        model = SeededKMeansClassifier(early_stopping=True).fit(X, y)
    assert model.stopped_by_ == "still"


# -- wrong input


def test_labels_that_the_ontology_lacks_are_named():
    X, _, _ = corpus()
    with pytest.raises(ValueError, match="Unknown label 'z'"):
        SeededKMeansClassifier(ontology=TREE).fit(X, ["z"] * len(X))
    with pytest.raises(ValueError, match="no label"):
        SeededKMeansClassifier(ontology=TREE).fit(X, [None] * len(X))
    with pytest.raises(ValueError, match="2 for 120 objects"):
        SeededKMeansClassifier(ontology=TREE).fit(X, ["a", "b"])


def test_a_resumed_fit_has_the_history_of_one_that_was_not_interrupted(tmp_path):
    X, y, _ = corpus(quality=0.2)

    def fail(sweep):
        if sweep.number == 3:
            raise ConnectionError

    model = SeededKMeansClassifier(random_state=0, max_iter=5, tol=0)
    whole = SeededKMeansClassifier(random_state=0, max_iter=5, tol=0).fit(X, y)
    with pytest.raises(ConnectionError):
        model.set_callbacks(Checkpoint(tmp_path / "fit.ckpt", every=1), fail).fit(X, y)
    with pytest.raises(ModelFileError, match=r"fit\.ckpt"):  # of other labels
        model.set_callbacks(Checkpoint(tmp_path / "fit.ckpt", every=1)).fit(X, np.where(y >= 0, (y + 1) % 4, y))
    model.set_callbacks(Checkpoint(tmp_path / "fit.ckpt", every=1)).fit(X, y)
    assert model.history_["flips"] == whole.history_["flips"] and len(whole.history_["flips"]) == 5
    np.testing.assert_allclose(model.history_["objective"], whole.history_["objective"])


# -- Weights of views by held-out objects: a poor view counts less, noise changes nothing, the model uses its choice


def scores_of(n, noise, seed, classes=4):
    """Scores of as many views as there are noises, and the labels."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    parts = [0.3 * np.eye(classes)[truth] + level * rng.random((n, classes)) for level in noise]
    return np.stack(parts, axis=1), truth


def data_with_a_loud_view(n=240, seed=0):
    """A view of many words that tell the class, and one of a single feature each: large cosines that tell nothing."""
    rng = np.random.default_rng(seed)
    target = np.arange(n) % 3
    topics = rng.dirichlet(np.full(80, 0.2), 3)
    words = np.array([rng.multinomial(25, 0.3 * topics[k] + 0.7 / 80) for k in target], dtype=float)
    loud = np.eye(20)[rng.integers(0, 20, n)]
    y = np.where(np.arange(n) < 90, target, -1)
    return Views(words=words, loud=loud), y, target


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["sum", "product", "max_agree", "co_train"]))
def test_weights_never_lose_held_out_objects(seed, combine):
    scores, truth = scores_of(80, (0.4, 0.9, 0.6), seed)
    present, rule = np.ones((80, 3), dtype=bool), DecisionRule(combine)
    weights = fit_view_weights(rule, scores, present, truth)

    def right(w):
        weighed = scores ** w[:, None] if combine == "product" else scores * w[:, None]
        return np.mean(rule.decide(weighed, rule.assign(weighed, present), present) == truth)

    assert right(weights) >= right(np.ones(3))
    assert_allclose(weights.mean(), 1.0)
    assert weights.max() <= 16 * weights.min() * (1 + 1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_the_order_of_two_views_does_not_matter(seed):
    scores, truth = scores_of(100, (0.3, 1.0), seed)
    present = np.ones((100, 2), dtype=bool)
    there = fit_view_weights(DecisionRule("sum"), scores, present, truth)
    back = fit_view_weights(DecisionRule("sum"), scores[:, ::-1], present, truth)
    assert_allclose(there, back[::-1])


def test_a_loud_view_that_tells_nothing_counts_less():
    X, y, target = data_with_a_loud_view()
    hidden = y < 0
    plain = SeededKMeansClassifier(max_iter=3).fit(X, y)
    model = SeededKMeansClassifier(view_weights="held_out", max_iter=3, random_state=0).fit(X, y)
    assert model.view_weights_["words"] > 1.5 > 0.5 > model.view_weights_["loud"]
    right = [np.mean((found.transduction_ == target)[hidden]) for found in (plain, model)]
    assert right[1] > right[0] + 0.05


def test_chosen_weights_given_by_hand_are_the_same_model(tmp_path):
    X, y, _ = data_with_a_loud_view()
    model = SeededKMeansClassifier(view_weights="held_out", random_state=0).fit(X, y)
    by_hand = SeededKMeansClassifier(view_weights=model.view_weights_).fit(X, y)
    assert_array_equal(model.transduction_, by_hand.transduction_)
    assert_allclose(model.decision_function(X), by_hand.decision_function(X))
    save(model, tmp_path / "model.coview")
    again = load(tmp_path / "model.coview")
    assert_allclose(again.decision_function(X), model.decision_function(X))


def test_labels_that_cannot_be_held_out_leave_the_weights_equal():
    X, _, target = data_with_a_loud_view()
    y = np.full(len(target), -1)
    y[:3] = target[:3]
    with pytest.warns(UserWarning, match="view_weights='held_out' needs a class with at least two labeled objects"):
        model = SeededKMeansClassifier(view_weights="held_out").fit(X, y)
    assert model.view_weights_ == {"words": 1.0, "loud": 1.0}


def test_held_out_objects_of_an_upper_label_agree_with_what_is_below_it():
    """Labels of an upper level alone tell nothing about leaves, but they must not stand in the way of the weights."""
    X, y, _ = data_with_a_loud_view()
    tree = Ontology.from_tree({"left": ["a", "b"], "right": ["c", "d"]})
    names = np.array(["a", "b", "c", None], dtype=object)[y]
    names[:90:2] = np.where(y[:90:2] == 2, "right", "left")
    model = SeededKMeansClassifier(ontology=tree, view_weights="held_out", early_stopping=True, random_state=0)
    model.fit(X, names)
    assert max(model.history_["held_out"]) > 0.6  # half of the objects have an upper label alone
