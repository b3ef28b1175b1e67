"""Hierarchical F1 against scikit-learn on label sets that were closed by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    get_scorer,
    label_ranking_average_precision_score,
)
from sklearn.model_selection import GridSearchCV
from sklearn.semi_supervised import LabelSpreading

from coview import ConcatenatedViews, CoTrainingClassifier, compare
from coview.datasets import make_topic_views
from coview.metrics import expected_calibration_error, hierarchical_f1, labeled_scorer, mean_average_precision

TREE = {"cat": "mammal", "dog": "mammal", "mammal": "animal", "hen": "animal", "oak": "plant"}


def closed(labels, parents):
    """Labels with all ancestors, one step at a time."""
    result = set(labels)
    while True:
        more = result | {parent for label in result for parent in parents.get(label, ())}
        if more == result:
            return result
        result = more


@st.composite
def cases(draw):
    """A random directed acyclic graph (parents have larger numbers) and two non-empty label sets per object."""
    n_labels, n_objects = draw(st.integers(1, 7)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    parents = {i: [j for j in range(i + 1, n_labels) if rng.random() < 0.4] for i in range(n_labels)}
    sets = [[set(rng.integers(n_labels, size=rng.integers(1, 4)).tolist()) for _ in range(n_objects)] for _ in "tp"]
    return parents, sets[0], sets[1]


@settings(deadline=None, max_examples=40)
@given(case=cases())
def test_equals_scikit_learn_on_closed_sets(case):
    parents, truth, found = case
    true_sets, pred_sets = ([closed(labels, parents) for labels in sets] for sets in (truth, found))
    names = sorted(set().union(*true_sets, *pred_sets))
    assume(len(names) > 1)  # scikit-learn takes one column for a binary problem
    indicators = [np.array([[name in labels for name in names] for labels in sets]) for sets in (true_sets, pred_sets)]
    assert hierarchical_f1(truth, found, parents) == pytest.approx(f1_score(*indicators, average="micro"))
    assert hierarchical_f1(found, truth, parents) == hierarchical_f1(truth, found, parents)
    assert hierarchical_f1(truth, truth, parents) == 1.0
    assert hierarchical_f1(true_sets, found, parents) == hierarchical_f1(truth, found, parents)


def test_every_form_of_ontology_is_the_same():
    pairs = list(TREE.items())
    forms = [TREE, {child: [parent] for child, parent in pairs}, SimpleNamespace(subset=pairs)]
    assert {hierarchical_f1(["cat", "oak", "hen"], ["dog", "oak", "oak"], form) for form in forms} == {8 / 14}


def test_gaps_are_empty_sets():
    found = ["cat", None, float("nan")]
    assert hierarchical_f1(["cat", "cat", "oak"], found, TREE) == hierarchical_f1(
        [{"cat"}, {"cat"}, {"oak"}], [{"cat"}, set(), set()], TREE
    )


def test_deep_hierarchies():
    chain = {i: i + 1 for i in range(1500)}
    assert hierarchical_f1([0], [1], chain) == pytest.approx(3000 / 3001)


@pytest.mark.parametrize(
    ("ontology", "cycle"),
    [
        ({"Dog": "Animal", "Animal": "Dog"}, r"(Animal > Dog > Animal|Dog > Animal > Dog)\."),
        ({"Dog": "Dog"}, r"Dog > Dog\."),
        ({"x": "a", "a": "b", "b": "c", "c": "a", "c2": "x"}, r"cycle: (a > c > b > a|b > a > c > b|c > b > a > c)\."),
    ],
)
def test_cycles_are_refused_and_shown(ontology, cycle):
    with pytest.raises(ValueError, match=cycle):
        hierarchical_f1(["Dog"], ["Dog"], ontology)


# -- Expected calibration error: by hand, and of probabilities that are true


def test_bins_by_hand():
    shares = np.array([[0.6, 0.4], [0.6, 0.4], [0.1, 0.9], [0.1, 0.9]])
    # bin of .6: one of two right, gap .1; bin of .9: both right, gap .1
    assert_allclose(expected_calibration_error([0, 1, 1, 1], shares, n_bins=2), 0.1)


def test_true_probabilities_have_almost_none_and_overconfident_ones_have_much():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), 5000)
    y = np.array([rng.choice(3, p=row) for row in shares])
    sharp = shares**4 / (shares**4).sum(axis=1, keepdims=True)
    assert expected_calibration_error(y, shares) < 0.03
    assert expected_calibration_error(y, sharp) > 0.15


def test_names_of_the_classes():
    shares = np.array([[0.8, 0.2], [0.2, 0.8]])
    assert_allclose(expected_calibration_error(["b", "a"], shares, classes=["b", "a"]), 0.2)
    assert_allclose(expected_calibration_error(["b", "a"], shares), 0.8)


# -- Scores of labeled objects: against scikit-learn's scorers on those objects alone

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


# -- Average precision against scikit-learn and a plain loop


def by_hand(scores, relevant, at=None, cutoff="rank"):
    """Walk down the ranking of one query."""
    ranked = sorted(range(len(scores)), key=lambda j: (-scores[j], j))
    hits, total = 0, 0.0
    at = at or len(scores)
    for rank, item in enumerate(ranked, start=1):
        if relevant[item]:
            hits += 1
            if (rank if cutoff == "rank" else hits) <= at:
                total += hits / rank
    return total / min(hits, at) if hits else np.nan


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    relevant = rng.random((20, 30)) < 0.3
    relevant[:, 0] = True
    return rng.permutation(600).reshape(20, 30) / 600, relevant


def test_equals_scikit_learn_without_ties(case):
    scores, relevant = case
    assert mean_average_precision(scores, relevant) == pytest.approx(
        label_ranking_average_precision_score(relevant, scores)
    )
    expected = np.mean([average_precision_score(r, s) for r, s in zip(relevant, scores)])
    assert mean_average_precision(scores, relevant) == pytest.approx(expected)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 12), st.sampled_from([None, 1, 3, 10]), st.booleans())
def test_equals_a_walk_down_the_ranking(seed, n_queries, n_items, at, by_rank):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, size=(n_queries, n_items))  # many ties
    relevant = rng.random((n_queries, n_items)) < 0.4
    relevant[0, 0] = True
    cutoff = "rank" if by_rank else "relevant"
    expected = np.nanmean([by_hand(s, r, at, cutoff) for s, r in zip(scores, relevant)])
    assert mean_average_precision(scores, relevant, at=at, cutoff=cutoff) == pytest.approx(expected)


def test_labels_give_the_same_as_the_matrix():
    rng = np.random.default_rng(2)
    queries, items = rng.choice(["a", "b", "c"], size=15), rng.choice(["a", "b", "c"], size=40)
    scores = rng.random((15, 40))
    expected = mean_average_precision(scores, queries[:, None] == items, at=10)
    assert mean_average_precision(scores, query_labels=queries, item_labels=items, at=10) == pytest.approx(
        expected, rel=1e-12
    )


def test_unsigned_and_boolean_scores_are_ranked_downwards():
    for dtype in (np.uint8, bool):
        assert mean_average_precision(np.array([[0, 1]], dtype=dtype), [[0, 1]]) == 1.0


def test_minus_infinity_ranks_last():
    assert mean_average_precision([[-np.inf, -1e300]], [[0, 1]]) == 1.0
