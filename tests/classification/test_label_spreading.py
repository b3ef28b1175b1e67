"""Labels over graphs of neighbors: against a linear system; islands, new objects, missing views and files."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from coview import LabelSpreadingClassifier, Views
from coview.classification.label_spreading import spread
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
