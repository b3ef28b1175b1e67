"""`AutoClassifier` under an ontology: consistent sets, probabilities that add up, labels of any level."""

import copy
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from coview import ConcatenatedViews, MultiViewNaiveBayes, Ontology, TfidfViews, inspect, load, save
from coview.assignment.levels import LEAVES
from coview.auto.ontology import LevelPool
from coview.datasets import make_topic_views
from coview.exceptions import ModelFileError
from coview.inspection.labels import label_tree

TREE = Ontology.from_tree({"animal": {"mammal": ["cat", "dog"], "reptile": []}, "plant": ["fern", "oak"]})
DAG = Ontology.from_edges([("bat", "mammal"), ("bat", "flier"), ("cat", "mammal"), ("wasp", "flier")])
NAMES = np.array(["cat", "dog", "fern", "oak"])


def candidates():
    svm = make_pipeline(TfidfViews(), ConcatenatedViews(LinearSVC(random_state=0), unlabeled="drop"))
    return [("svm", svm), ("bayes", MultiViewNaiveBayes())]


def pool_of(ontology, ends):
    """A pool of ends alone, by name."""
    model = SimpleNamespace(classes_=np.array(sorted(ontology.index(end) for end in ends)), view_names_=["a"])
    return LevelPool(ontology, {LEAVES: model}, {LEAVES: 1.0})


@pytest.fixture(scope="module")
def data():
    return make_topic_views(160, {"words": 60, "links": 30}, n_clusters=4, quality=0.3, random_state=1)


@pytest.fixture(scope="module")
def labels(data):
    """Labels of 48 objects, every third of them at an inner node only."""
    y = np.array([*NAMES, None], dtype=object)[np.where(np.arange(160) < 48, data.target, -1)]
    for i in range(0, 48, 3):
        y[i] = "mammal" if y[i] in ("cat", "dog") else "plant"
    return y


@pytest.fixture(scope="module")
def model(data, labels, fit_auto):
    return fit_auto(candidates(), data.views, labels, ontology=TREE)


def every_consistent_set(ontology):
    some = (set(part) for n in range(len(ontology) + 1) for part in combinations(ontology.labels, n))
    return [labels for labels in some if not ontology.broken(labels)]


@pytest.mark.parametrize("confidence", [0.5, 0.8])
@pytest.mark.parametrize(
    ("ontology", "ends"),
    [(TREE, TREE.leaves), (TREE, ("cat", "plant")), (DAG, DAG.leaves)],
    ids=["tree", "ends", "dag"],
)
def test_sets_are_the_optimum_of_the_label_program(ontology, ends, confidence):
    pool = pool_of(ontology, ends)
    shares = np.random.default_rng(0).dirichlet(np.full(len(ends), 0.4), 40)
    P, found = shares @ pool.above, pool.label_sets(shares, confidence)
    for row, mine in zip(P, found):
        gains = dict(zip(ontology.labels, row - confidence))
        for i in np.flatnonzero(~pool.above.any(axis=0)):
            gains[ontology.labels[i]] = -1.0  # no example, no gain
        best = max(sum(gains[label] for label in some) for some in every_consistent_set(ontology))
        assert sum(gains[ontology.labels[i]] for i in np.flatnonzero(mine)) == pytest.approx(best)


@pytest.mark.parametrize("ontology", [TREE, DAG], ids=["tree", "dag"])
def test_sets_break_nothing_and_say_less_as_confidence_rises(ontology):
    pool = pool_of(ontology, ontology.leaves)
    shares = np.random.default_rng(1).dirichlet(np.full(len(ontology.leaves), 0.5), 200)
    ended, before = np.ones(200, dtype=bool), None
    for confidence in np.linspace(0, 1, 21):
        sets = pool.label_sets(shares, confidence)
        assert not np.any(ontology.count_broken(sets))
        at_end = sets[:, pool.ends].any(axis=1)
        assert not (at_end & ~ended).any()
        assert (np.where(sets, shares @ pool.above, 1.0) >= confidence - 1e-6).all()
        if before is not None:
            assert not (sets & ~before).any()
        ended, before = at_end, sets if confidence >= 0.5 else None
    np.testing.assert_array_equal(pool.label_sets(shares, 0.0), pool.above[shares.argmax(axis=1)])


def test_probabilities_of_inner_labels_are_sums_of_leaves(model, data):
    P = model.predict_proba(data.views)
    columns = dict(zip(model.classes_, P.T))
    for label in TREE.labels:
        leaves = [leaf for leaf in TREE.leaves if label in TREE.close(leaf)]
        np.testing.assert_allclose(columns[label], sum(columns[leaf] for leaf in leaves), atol=1e-12)
    np.testing.assert_allclose(sum(columns[leaf] for leaf in TREE.leaves), 1)


def test_labels_below_a_node_without_examples_share_its_probability():
    pool = pool_of(TREE, ("cat", "plant"))
    found = pool.probabilities(np.array([[0.3, 0.7]]))[0]
    expected = {"animal": 0.3, "mammal": 0.3, "cat": 0.3, "plant": 0.7, "fern": 0.35, "oak": 0.35}
    np.testing.assert_allclose(found, [expected.get(label, 0.0) for label in TREE.labels])


def test_a_class_without_labels_is_never_predicted(model, data):
    assert "reptile" in model.classes_
    found = model.predict_labels(data.views)
    assert not found[:, TREE.index("reptile")].any()


def test_answers_stop_at_a_node_below_which_nothing_is_labeled(data, fit_auto):
    y = np.array(["cat", "dog", "plant", "plant", None], dtype=object)[np.where(np.arange(160) < 40, data.target, -1)]
    model = fit_auto(candidates(), data.views, y, ontology=TREE)
    assert set(model.predict(data.views)) == {"cat", "dog", "plant"}


def test_without_weight_for_the_levels_above_the_answer_is_the_flat_one(data, fit_auto):
    y = np.array([*NAMES, None], dtype=object)[np.where(np.arange(160) < 48, data.target, -1)]
    flat = fit_auto(candidates(), data.views, y)
    model = fit_auto(candidates(), data.views, y, ontology=TREE)
    assert list(model.level_weights_) == ["leaves", "level 1", "level 2"]
    model.level_weights_ = {level: float(level == LEAVES) for level in model.level_weights_}
    leaves = [TREE.index(name) for name in flat.classes_]
    np.testing.assert_allclose(model.predict_proba(data.views)[:, leaves], flat.predict_proba(data.views), atol=1e-9)


def test_labels_of_inner_nodes_are_learned_from(fit_auto):
    hard = make_topic_views(240, {"words": 400}, n_clusters=4, length=[15], quality=0.4, random_state=0)
    animal = hard.target < 2
    y = np.full(240, None, dtype=object)
    for code, name in enumerate(NAMES):
        y[np.flatnonzero(hard.target == code)[:2]] = name
    more = [label or ("animal" if animal[i] else "plant") if i < 120 else None for i, label in enumerate(y)]

    def share_found(y):
        model = fit_auto(candidates(), hard.views, y, ontology=TREE)
        return np.mean(model.predict_labels(hard.views[120:])[:, TREE.index("animal")] == animal[120:])

    assert share_found(more) > share_found(y) + 0.05


def test_no_given_label_is_contradicted(model, labels):
    given = TREE.indicators(labels)
    pool = model._levels()
    sets = pool.label_sets(model.memberships_[:, pool.ends], 0.0)
    assert not (given & ~sets).any()


def test_views_by_themselves_have_consistent_sets(model, data):
    by_view = model.predict_labels_by_view(data.views)
    assert list(by_view) == ["words", "links"]
    for name, sets in by_view.items():
        assert sets.any()
        assert not np.any(TREE.count_broken(sets))
        np.testing.assert_array_equal(sets, model.predict_labels(data.views.select(name)))
    assert (by_view["words"] != by_view["links"]).any()


def test_inspection_counts_objects_of_every_label(model, data):
    tree = label_tree(inspect(model), data.views)
    counts = {line["label"]: line["count"] for line in tree["lines"]}
    assert counts["animal"] == counts["mammal"] == counts["cat"] + counts["dog"]
    assert counts["animal"] + counts["plant"] == 160


def test_inspection_shows_the_candidates_of_the_lowest_level_alone(model):
    line = next(line for line in repr(inspect(model)).split("\n") if "by weight" in line)
    assert "level 1" not in line
    weights = [float(part.split()[-1]) for part in line.split(": ")[1].split(";")[0].split(", ")]
    assert sum(weights) == pytest.approx(1, abs=0.02)
    assert any(name.startswith("level 1: ") for name in inspect(model).selection.candidates["name"])


def test_a_file_whose_levels_do_not_fit_is_refused(model, tmp_path):
    broken = copy.copy(model)
    broken.level_weights_ = {LEAVES: 1.0}
    with pytest.raises(ModelFileError, match="other levels"):  # save refuses what load would
        save(broken, tmp_path / "m.coview")
    save(model, tmp_path / "m.coview")
    again = load(tmp_path / "m.coview")
    np.testing.assert_array_equal(again.transduction_, model.transduction_)
    assert again.ontology == TREE


def test_one_label_per_class_leaves_the_weights_of_the_levels_at_their_prior(data, fit_auto):
    y = np.full(160, None, dtype=object)
    for code, name in enumerate(NAMES):
        y[np.flatnonzero(data.target == code)[0]] = name
    model = fit_auto(candidates(), data.views, y, ontology=TREE)
    assert model.level_weights_ == {"leaves": 1.0, "level 1": 0.5, "level 2": 0.5}
    assert model.n_held_out_ == 0
    assert np.isnan(model.accuracy_)
