"""Kernels of label sets: conditions that they rely on, and choices against trying all of them."""

import io
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_svmlight_file

from coview.assignment.constraint_graph import count_tables, plan_tree
from coview.assignment.ontology import Ontology
from coview.kernels.labels import choose_sets, solve_flat, solve_tree
from coview.kernels.mixing import mix_rows
from coview.kernels.svmlight import parse_svmlight
from coview.online.passive_aggressive import _shuffle_rows


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


# -- A random order that memory can follow: a permutation, mixed well, cut anew each time


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 300), st.integers(1, 20), st.integers(1, 90), st.integers(0, 2**63))
def test_every_row_comes_once(n, run, window, seed):
    rows = 3 * np.arange(n)
    assert sorted(mix_rows(rows, run, window, np.uint64(seed)).tolist()) == rows.tolist()


@pytest.mark.parametrize("n", [20, 40_000], ids=["permuted", "mixed"])
def test_same_seed_same_order_and_another_seed_another(n):
    orders = [_shuffle_rows(np.arange(n), np.arange(n), np.random.default_rng(seed)).tolist() for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]


def test_runs_are_cut_elsewhere_each_time():
    rows = np.arange(64)
    firsts = {min(mix_rows(rows, 16, 16, np.uint64(seed))[:16].tolist()) % 16 for seed in range(40)}
    assert len(firsts) > 3


def test_every_place_is_as_likely():
    rows = np.arange(6)
    first = np.bincount([mix_rows(rows, 2, 6, np.uint64(seed))[0] for seed in range(3000)], minlength=6)
    assert ((first - 500) ** 2 / 500).sum() < 20.5  # chi-square, 5 degrees of freedom, 1 in 1,000


# -- Lines of svmlight: what scikit-learn reads, to the bit, or nothing at all


def parse(text: bytes):
    text += b"\n"
    rows, entries = text.count(b"\n") + 1, text.count(b":")
    labels, values = np.empty(rows), np.empty(entries)
    indptr, indices = np.empty(rows + 1, dtype=np.int32), np.empty(entries, dtype=np.int32)
    found = parse_svmlight(np.frombuffer(text, dtype=np.uint8), labels, indptr, indices, values)
    if found < 0:
        return None
    stop = indptr[found]
    return labels[:found], indptr[: found + 1], indices[:stop], values[:stop]


NUMBERS = st.one_of(
    st.integers(-(10**6), 10**6).map(str),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.decimals(-1000, 1000, places=4).map(str),
    st.sampled_from(["1e3", "-2.5E-4", "+7", "0", "-0.0", ".5", "3.", "1e-22", "9007199254740991"]),
)
ROWS = st.tuples(NUMBERS, st.dictionaries(st.integers(0, 10**6), NUMBERS, max_size=6), st.sampled_from(["", " # word"]))


@settings(max_examples=40, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=5), st.sampled_from(["\n", "\r\n", "\n\n", " \n# note\n"]))
def test_plain_lines_are_read_as_by_scikit_learn(rows, ending):
    lines = (f"{label} " + " ".join(f"{c}:{v}" for c, v in sorted(cells.items())) + end for label, cells, end in rows)
    text = ending.join(lines).encode()
    found = parse(text)
    if found is None:  # a number of too many digits, or too far from 1
        return
    matrix, labels = load_svmlight_file(io.BytesIO(text), zero_based=True)
    for ours, theirs in zip(found, (labels, matrix.indptr, matrix.indices, matrix.data)):
        np.testing.assert_array_equal(ours, theirs)


def test_short_numbers_are_always_plain():
    labels, indptr, indices, values = parse(b"+1 0:0.25 7:-300 \n\n-1\n2.5 3:1")
    assert labels.tolist() == [1.0, -1.0, 2.5] and indptr.tolist() == [0, 2, 2, 3]
    assert indices.tolist() == [0, 7, 3] and values.tolist() == [0.25, -300.0, 1.0]


@pytest.mark.parametrize(
    "line",
    [
        b"1 2:1 2:1",  # twice the same column
        b"1 3:1 2:1",  # columns out of order
        *(b"1 qid:3 2:1", b"1 2:x", b"1 2", b"1 2:", b"1 -2:1", b"x 1:1", b"1 1:nan", b"1 1:0.1234567890123456789"),
        *(b"1 1:1e300", b"1 4294967296:1", b"1:2", b"1 1:1e2", b"1 2:1 # note", b"1 2:-", b"1 2:3:4", b"1 2:3 4"),
    ],
)
def test_what_is_not_plain_is_left_to_others(line):
    assert parse(b"1 1:1\n" + line + b"\n") is None
