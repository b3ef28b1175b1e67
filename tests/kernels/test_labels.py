"""Kernels of label sets: conditions that they rely on, and choices against trying all of them."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from coview.assignment.constraint_graph import count_tables, plan_tree
from coview.assignment.ontology import Ontology
from coview.kernels.labels import choose_sets, solve_flat, solve_tree


def run(kernel, scores, costs, *plan):
    labels = np.zeros(scores.shape, dtype=bool)
    objective, solved = np.zeros(len(scores)), np.zeros(len(scores), dtype=bool)
    scores.flags.writeable = False  # as callers give them: one compiled kernel
    kernel(scores, *costs, *plan, labels, objective, solved, 0, len(scores))
    return labels, objective, solved


def test_a_call_touches_its_own_rows_only():
    scores = np.random.default_rng(0).random((6, 2, 3))
    scores.flags.writeable = False
    labels = np.zeros(scores.shape, dtype=bool)
    objective, solved = np.full(6, -7.0), np.zeros(6, dtype=bool)
    solve_flat(scores, 0.2, 2.0, labels, objective, solved, 2, 4)
    assert labels.any(axis=(1, 2)).tolist() == solved.tolist() == [False, False, True, True, False, False]
    assert (objective[[0, 1, 4, 5]] == -7).all()


def test_the_tree_program_says_when_its_cap_is_too_low():
    tree = plan_tree(Ontology.from_tree(["a", "b", "c"]))
    scores = np.array([[[0.5, 0.4, 0.1]], [[9.0, 9.0, 0.1]], [[9.0, 9.0, 9.0]]])
    for cap, expected in ((1, [True, False, False]), (2, [True, False, False]), (3, [True, True, True])):
        plan = (tree.order, tree.node_ptr, tree.group_ptr, tree.members, *count_tables(1, cap), cap)
        labels, _, solved = run(solve_tree, scores, (0.2, 2.0, 2.0), *plan)
        assert solved.tolist() == expected
    assert labels.sum(axis=(1, 2)).tolist() == [1, 2, 3]  # a third label costs two pairs


def test_count_tables_count_exclusive_pairs():
    step, price = count_tables(2, 2)
    assert step.tolist() == [0, 1, 3, 4]
    counts = [(state % 3, state // 3) for state in range(9)]
    for state, q in product(range(9), range(4)):
        joined = [v for v in (0, 1) if (q >> v) & 1]
        full = any(counts[state][v] == 2 for v in joined)
        assert price[state, q] == (-1 if full else sum(counts[state][v] for v in joined))


def test_choose_sets_is_the_best_of_all_choices():
    rng = np.random.default_rng(0)
    values, apart = rng.normal(size=(20, 3, 5)), rng.random((5, 5))
    apart += apart.T
    chosen, objective = np.zeros((20, 3), dtype=np.int64), np.zeros(20)
    choose_sets(values, apart, chosen, objective)
    for n in range(20):
        worth = {
            c: sum(values[n, v, c[v]] for v in range(3)) - apart[c[0], c[1]] - apart[c[0], c[2]] - apart[c[1], c[2]]
            for c in product(range(5), repeat=3)
        }
        assert_allclose(objective[n], max(worth.values()))
        assert_array_equal(chosen[n], max(worth, key=worth.get))
