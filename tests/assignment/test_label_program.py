"""`solve_labels` against HiGHS and against trying everything: thousands of random instances of every kind.

Optima are compared, not labels: ties are genuine.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from coview.assignment.label_program import Costs, label_objective, solve_labels
from coview.assignment.ontology import Ontology

_spec = importlib.util.spec_from_file_location("oracle", Path(__file__).with_name("oracle.py"))
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

DEFAULT = Costs()
TREE = Ontology.from_tree({"a": ["b", "c"], "d": ["e", "f", {"g": ["h"]}]})


def draw_scores(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Cosines, ties, zeros, negative and large scores in turn."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.random(shape)
    if kind == 1:
        return rng.choice([0.0, 0.25, 0.5, 1.0], size=shape)
    if kind == 2:
        return rng.normal(size=shape)
    return rng.choice([-3.0, -0.5, 0.0, 0.5, 4.0], size=shape)


def draw_costs(rng: np.random.Generator) -> Costs:
    return DEFAULT if rng.random() < 0.4 else Costs(*rng.choice([0.0, 0.05, 0.1, 0.5, 1.0, 2.0, 4.0], size=3).tolist())


def draw_tree(rng: np.random.Generator, n: int) -> Ontology:
    """A forest of uneven depth, with exclusive siblings or without."""
    edges = [(i, int(rng.integers(i))) for i in range(1, n) if rng.random() < 0.75]
    return Ontology.from_edges(edges, labels=range(n), exclusive=bool(rng.random() < 0.8))


def draw_graph(rng: np.random.Generator, n: int) -> Ontology:
    """Any acyclic graph, with some exclusions that it allows."""
    edges = [(i, j) for i in range(n) for j in range(i) if rng.random() < 0.3]
    free = Ontology(range(n), edges)
    apart = []
    for i in range(n):
        for j in range(i):
            together = free.reach[i, j] or (free.reach[:, i] & free.reach[:, j]).any()
            if not together and rng.random() < 0.4:
                apart.append((i, j))
    return Ontology(range(n), edges, apart)


def named(costs):
    return {f"{name}_cost": value for name, value in costs._asdict().items()}


def assert_best(scores, costs, ontology, expected, **options):
    labels, objective = solve_labels(scores, ontology=ontology, **named(costs), **options)
    assert_allclose(objective, expected, rtol=0, atol=1e-9)
    assert_allclose(label_objective(scores, labels, costs, ontology), objective, rtol=0, atol=1e-9)


# -- against HiGHS: 20 + 12 + 12 structures, 1,000 objects


KINDS = [("flat", seed) for seed in range(20)] + [(kind, seed) for kind in ("tree", "graph") for seed in range(12)]


@pytest.mark.parametrize(("kind", "seed"), KINDS)
def test_optima_are_those_of_highs(kind, seed):
    rng = np.random.default_rng([["flat", "tree", "graph"].index(kind) + 1, seed])
    if kind == "flat":
        n_views = 2 if seed % 2 else int(rng.integers(1, 5))
        n_labels = int(rng.integers(1, 7 if n_views < 4 else 5))
        scores, costs, ontology = draw_scores(rng, (30, n_views, n_labels)), draw_costs(rng), None
    else:
        n_views, n_labels = int(rng.integers(1, 4)), int(rng.integers(2, 8 if kind == "tree" else 7))
        ontology, costs = (draw_tree if kind == "tree" else draw_graph)(rng, n_labels), draw_costs(rng)
        scores = draw_scores(rng, (20, n_views, n_labels))
    assert_best(scores, costs, ontology, oracle.highs_optimum(scores, costs, ontology))


def test_highs_itself_is_one_of_the_solvers():
    rng = np.random.default_rng(4)
    for ontology in (None, TREE):
        scores = rng.normal(size=(8, 2, len(TREE)))
        expected = solve_labels(scores, ontology=ontology)[1]
        assert_best(scores, DEFAULT, ontology, expected, solver="milp")


@pytest.mark.parametrize("n_views", [5, 7])
def test_many_views_of_a_tree_are_those_of_highs(n_views):
    rng = np.random.default_rng(n_views)
    tree = Ontology.from_tree({"a": ["b", "c"]})
    scores = rng.random((6, n_views, 3))
    assert_best(scores, DEFAULT, tree, oracle.highs_optimum(scores, DEFAULT, tree))


def everything(scores, costs, ontology):
    n_views, n_labels = scores.shape[1:]
    codes = np.arange(1 << (n_views * n_labels))
    choices = ((codes[:, None] >> np.arange(n_views * n_labels)) & 1).astype(bool).reshape(-1, n_views, n_labels)
    return [label_objective(np.broadcast_to(s, choices.shape), choices, costs, ontology).max() for s in scores]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n_views=st.integers(1, 4), kind=st.sampled_from(["flat", "tree", "graph"]))
def test_optima_are_what_trying_everything_finds(seed, n_views, kind):
    rng = np.random.default_rng([5, seed])
    n_labels = int(rng.integers(1, 10 // n_views + 1))
    scores, costs = draw_scores(rng, (3, n_views, n_labels)), draw_costs(rng)
    ontology = None if kind == "flat" else (draw_tree if kind == "tree" else draw_graph)(rng, n_labels)
    assert_best(scores, costs, ontology, everything(scores, costs, ontology))


# -- what is known of the solutions


def test_two_views_agree_unless_their_favorites_are_worth_it():
    scores = np.array([[[0.9, 0.5], [0.5, 0.9]], [[0.9, 0.75], [0.5, 0.9]]])
    labels, objective = solve_labels(scores)  # 1.8 - 1.4 = 0.4 is not more than twice the cost; 0.25 neither
    assert_array_equal(labels.argmax(axis=2), [[0, 0], [1, 1]])
    apart, _ = solve_labels(scores, disagreement_cost=0.18)  # 0.36: now the first is worth it
    assert_array_equal(apart.argmax(axis=2), [[0, 1], [1, 1]])
    assert_allclose(objective, [1.4, 1.65])


def test_exclusive_labels_can_both_be_worth_it_under_soft_constraints():
    tree = Ontology.from_tree(["a", "b"])
    assert solve_labels([[[3.0, 3.0]]], ontology=tree)[0].all()
    assert solve_labels([[[3.0, 3.0]]], ontology=tree, mutex_cost=20.0)[0].sum() == 1


def test_large_costs_make_constraints_hard():
    rng = np.random.default_rng(0)
    for ontology in (TREE, draw_graph(rng, 8)):
        labels, _ = solve_labels(rng.normal(size=(200, 2, 8)), ontology=ontology, subset_cost=1e3, mutex_cost=1e3)
        assert not np.any(ontology.count_broken(labels)) and labels.any()


def test_an_absent_view_has_no_label_and_differs_from_nothing():
    rng = np.random.default_rng(0)
    scores = rng.random((30, 3, len(TREE)))
    present = rng.random((30, 3)) < 0.6
    for ontology in (None, TREE):
        labels, objective = solve_labels(scores, ontology=ontology, present=present)
        assert not labels[~present].any()
        for i in range(30):
            if present[i].any():
                alone = solve_labels(scores[i : i + 1, present[i]], ontology=ontology)
                assert_array_equal(labels[i, present[i]], alone[0][0])
                assert objective[i] == pytest.approx(alone[1][0], rel=1e-12)


@pytest.mark.parametrize("ontology", [None, TREE, draw_graph(np.random.default_rng(1), len(TREE))])
def test_the_number_of_threads_changes_nothing(ontology):
    scores = np.random.default_rng(0).normal(size=(9000, 2, len(TREE)))
    one, two = (solve_labels(scores, ontology=ontology, n_jobs=jobs) for jobs in (1, 2))
    assert_array_equal(one[0], two[0])
    assert_array_equal(one[1], two[1])


def test_float32_scores_are_taken_as_they_are():
    scores = np.random.default_rng(0).random((50, 2, len(TREE))).astype(np.float32)
    for ontology in (None, TREE):
        single, double = (solve_labels(s, ontology=ontology)[1] for s in (scores, scores.astype(np.float64)))
        assert single.dtype == np.float64
        assert_allclose(single, double, atol=1e-12)


def test_wrong_scores_are_refused_with_a_sentence():
    with pytest.raises(ValueError, match="n_objects, n_views, n_labels"):
        solve_labels(np.ones((2, 3)))
    with pytest.raises(ValueError, match="NaN or infinity"):
        solve_labels(np.full((1, 1, 2), np.nan))
