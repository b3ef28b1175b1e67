"""Labels over graphs of neighbors: against a linear system; islands, new objects, missing views and files."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.naive_bayes import MultinomialNB

from coview import LabelSpreadingClassifier, Views
from coview.classification.co_training import CoTrainingClassifier
from coview.classification.label_spreading import spread
from coview.classification.naive_bayes import MultiViewNaiveBayes
from coview.datasets import make_blobs_views

METHODS = ("concatenated", "sum")


def islands() -> tuple[Views, np.ndarray]:
    """Four groups far from each other, 20 objects each, in both views; nobody has a label of the last."""
    rng = np.random.default_rng(0)
    target = np.arange(80) // 20
    X = Views(
        a=100.0 * target[:, None] + rng.normal(size=(80, 2)), b=np.eye(4)[target] * 100 + rng.normal(size=(80, 4))
    )
    y = np.where((np.arange(80) % 20 < 2) & (target < 3), target, -1)
    y[2] = 0  # three labels of class 0
    return X, y


def two_rings(n: int = 300) -> tuple[Views, np.ndarray]:
    rng = np.random.default_rng(0)
    target, angle = np.arange(n) % 2, rng.uniform(0, 2 * np.pi, n)
    ring = (1 + 3 * target)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return Views(ring=ring + 0.1 * rng.normal(size=(n, 2)), other=target[:, None] + rng.normal(size=(n, 3))), target


def test_many_hops_solve_the_linear_system():
    rng = np.random.default_rng(1)
    upper = np.triu(rng.uniform(size=(12, 12)) * (rng.uniform(size=(12, 12)) < 0.4), 1)
    affinity, labels = (
        upper + upper.T + np.diag(np.full(12, 0.01)),
        np.eye(3)[np.arange(12) % 3] * (np.arange(12) < 6)[:, None],
    )
    root = np.diag(affinity.sum(axis=1) ** -0.5)
    expected = np.linalg.solve(np.eye(12) - 0.8 * root @ affinity @ root, 0.2 * labels)
    assert_allclose(spread(sparse.csr_array(affinity), labels, 200, 0.2), expected, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_where_no_label_reaches_the_shares_of_the_classes_are_the_answer(method):
    X, y = islands()
    model = LabelSpreadingClassifier(5, method=method).fit(X, y)
    assert model.n_unreached_ == 20
    assert_allclose(model.memberships_[60:], np.tile([3 / 7, 2 / 7, 2 / 7], (20, 1)))
    assert_array_equal(model.transduction_[:60], np.arange(60) // 20)
    assert_allclose(model.predict_proba(X)[60:], model.memberships_[60:])


@pytest.mark.parametrize("method", METHODS)
def test_labels_follow_rings_to_new_objects_by_any_view(method):
    X, target = two_rings()
    y = np.where(np.arange(200) < 10, target[:200], -1)
    model = LabelSpreadingClassifier(method=method, view_weights={"ring": 1.0, "other": 0.05}).fit(X[:200], y)
    assert np.mean(model.transduction_ == target[:200]) > 0.9
    assert np.mean(model.predict(X[200:].select("ring")) == target[200:]) > 0.9
    assert_array_equal(model.predict(X[:200]), model.transduction_)


@pytest.mark.parametrize("restart", [0.5, 0.02])
def test_labels_reach_as_far_along_an_arc_as_the_restart_lets_them(restart):
    """With two neighbors each, what reaches an object falls by the same factor with every step: a root of
    (1 - restart) (x^2 + 1) / 2 = x."""
    turn = np.linspace(0, 1.4 * np.pi, 25)
    y = np.full(25, -1)
    y[[0, 24]] = 0, 1
    model = LabelSpreadingClassifier(2, restart=restart, hops=500).fit(np.column_stack([np.cos(turn), np.sin(turn)]), y)
    factor = (1 - np.sqrt(1 - (1 - restart) ** 2)) / (1 - restart)
    assert_allclose(model.memberships_[10], [1 / (1 + factor**4), factor**4 / (1 + factor**4)], rtol=0.02)
    assert LabelSpreadingClassifier(2, hops=1).fit(np.column_stack([np.cos(turn), np.sin(turn)]), y).n_unreached_ > 0


@pytest.mark.parametrize("method", METHODS)
def test_an_object_that_lacks_a_view_is_reached_by_the_other(method):
    data = make_blobs_views(n_objects=90, n_clusters=3, random_state=0)
    first, second = data.views.names
    present = {first: np.arange(90) % 3 > 0, second: np.arange(90) % 5 > 0}
    X = Views({name: part * present[name][:, None] for name, part in data.views.items()}, present=present)
    y = np.where(np.arange(90) < 12, data.target, -1)
    model = LabelSpreadingClassifier(8, method=method).fit(X, y)
    alone = (X.present.sum(axis=1) == 1) & (y < 0)
    assert np.mean(model.transduction_[alone] == data.target[alone]) > 0.8
    nothing = ~X.present.any(axis=1) & (y < 0)
    assert nothing.any()
    assert_allclose(model.memberships_[nothing], np.tile(model.class_prior_, (nothing.sum(), 1)))


def thin_views(metric: str, dtype: type) -> tuple[Views, np.ndarray]:
    """Sparse views, by distances one dense beside them; objects from the 101st on lack some of them."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=150)
    arrays = {name: rng.random((150, 30)) * (rng.random((150, 30)) < 0.2) * (1 + y[:, None]) for name in "abcd"}
    present = rng.random((150, 4)) > 0.3
    present[:100] = True
    found = {
        name: sparse.csr_array((part * present[:, [v]]).astype(dtype)) for v, (name, part) in enumerate(arrays.items())
    }
    if metric != "cosine":
        found["d"] = found["d"].toarray()
    return Views(found, present=present), y


@pytest.mark.parametrize(
    ("metric", "dtype"), [("cosine", np.float64), ("cosine", np.float32), ("centered", np.float64)]
)
def test_sparse_rows_that_lack_views_are_placed_as_those_by_the_reference(metric, dtype):
    X, y = thin_views(metric, dtype)
    fit, new = X[:100], X[90:]  # some of the new ones are fitted
    models = [
        LabelSpreadingClassifier(metric=metric, engine=engine).fit(fit, y[:100]) for engine in ("cpu", "reference")
    ]
    answers = [model.predict_proba(new) for model in models]
    assert_allclose(answers[0], answers[1], rtol=1e-4, atol=1e-5)


# -- Co-training


def corpus(n: int = 200, seed: int = 0, length: float = 1.0) -> tuple[Views, np.ndarray, np.ndarray]:
    """Views, labels, and labels of which only six are known."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    words, links = rng.gamma(0.3, size=(3, 40)), rng.gamma(0.3, size=(3, 30))
    X = Views(
        words=sparse.csr_array(rng.poisson(length * words[y]).astype(float)), links=rng.poisson(length * links[y]) * 1.0
    )
    return X, y, np.where(np.arange(n) < 6, y, -1)


def self_training(X: np.ndarray, target: np.ndarray, rounds: int) -> np.ndarray:
    """One view, no pool: in each round the surest object that is thought to be of each class gets that label."""
    target = target.copy()
    for _ in range(rounds):
        known = target >= 0
        proba = MultinomialNB().fit(X[known], target[known]).predict_proba(X)
        for k in range(proba.shape[1]):
            candidates = [i for i in np.flatnonzero(~known) if proba[i].argmax() == k]
            if candidates:
                target[max(candidates, key=lambda i: proba[i, k])] = k
    return target


def test_one_view_is_self_training():
    X, _, target = corpus(60)
    words = X["words"].toarray() + np.random.default_rng(1).uniform(0, 0.1, size=X["words"].shape)  # no ties
    model = CoTrainingClassifier(pool_size=None, max_iter=5, random_state=0).fit(words, target)
    found = np.where(model.labeled_iter_ < 0, -1, model.transduction_)
    assert_array_equal(found, self_training(words, target, 5))


def test_views_teach_each_other():
    scores = []
    for seed in range(3):
        X, y, target = corpus(seed=seed, length=0.35)
        new = target < 0
        few = MultiViewNaiveBayes().fit(X[~new], target[~new])
        taught = CoTrainingClassifier(max_iter=100, random_state=0).fit(X, target)
        scores.append([(model.predict(X)[new] == y[new]).mean() for model in (few, taught)])
    few, taught = np.mean(scores, axis=0)
    assert taught > few + 0.02


def test_given_labels_never_change_and_rounds_are_recorded():
    X, _, target = corpus()
    model = CoTrainingClassifier(max_iter=4, random_state=0).fit(X, target)
    known = target >= 0
    assert_array_equal(model.transduction_[known], target[known])
    assert_array_equal(model.labeled_iter_ == 0, known)
    assert model.labeled_iter_.max() == 4 and model.n_iter_ == 5
    left = model.labeled_iter_ < 0
    assert left.any()
    assert_array_equal(model.transduction_[left], model.predict(X[left]))
    per_round = np.bincount(model.labeled_iter_[model.labeled_iter_ > 0])[1:]
    assert (per_round <= 2 * 3).all() and (per_round >= 1).all()


def test_numbers_per_class():
    X, _, target = corpus()
    model = CoTrainingClassifier(max_iter=1, n_per_class={0: 4, 1: 0, 2: 1}, random_state=0).fit(X, target)
    found = model.transduction_[model.labeled_iter_ == 1]
    assert not (found == 1).any() and (found == 2).sum() <= 2 and 4 <= (found == 0).sum() <= 8
    more = target.copy()
    more[6:18][corpus()[1][6:18] == 0] = 0  # class 0 has three times the labels of the others
    model = CoTrainingClassifier(max_iter=1, n_per_class="proportional", random_state=0).fit(X, more)
    assert 3 <= (model.transduction_[model.labeled_iter_ == 1] == 0).sum() <= 6


def test_a_missing_view_is_left_out():
    X, _, target = corpus()
    present = np.ones((len(X), 2), dtype=bool)
    present[50:, 1] = False
    links = X["links"].copy()
    links[50:] = 0
    partial = Views(words=X["words"], links=links, present=present)
    model = CoTrainingClassifier(max_iter=5, random_state=0).fit(partial, target)
    assert_allclose(model.predict_proba(partial)[50:], model.predict_proba_by_view(X.select("words"))["words"][50:])
