"""One hop over links, with and without neighbors outside, against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from coview.exceptions import ViewsError
from coview.preprocessing.neighbors import LinkGraph, as_links, find_rows, pick_columns, prune


def links(shape, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random(shape) < 0.4) * rng.random(shape)


def test_a_part_of_the_objects_with_the_rest_outside_is_a_part_of_the_whole():
    A, H = links((7, 7)), np.random.default_rng(1).random((7, 2))
    whole = LinkGraph.of(sparse.csr_array(A), None)
    part = LinkGraph.of(sparse.csr_array(A[:3, :3]), sparse.csr_array(A[:3, 3:]))
    expected = whole.step(H)
    assert_allclose(part.step(H[:3], H[3:], whole.scale[3:]), expected[:3], atol=1e-12)
    degree = 1 + A.sum(axis=1)
    assert_allclose(expected, (A + np.eye(7)) / np.sqrt(np.outer(degree, degree)) @ H, atol=1e-12)


def test_presence_spreads_to_who_has_a_link():
    graph = LinkGraph.of(sparse.csr_array(np.array([[0.0, 1, 0], [0, 0, 0], [0, 0, 0]])), None)
    assert graph.spread(np.array([False, True, False])).tolist() == [True, True, False]


def test_columns_are_moved_to_the_objects_that_they_name():
    found = find_rows(np.array(["b", "x", "a"]), np.array(["a", "b"], dtype=object))
    assert found.tolist() == [1, -1, 0]
    moved = pick_columns(sparse.csr_array(np.array([[1.0, 2, 3], [4, 5, 6]])), found)
    assert_array_equal(moved.toarray(), [[3, 1], [6, 4]])


def test_small_values_are_dropped_row_by_row():
    matrix = sparse.csr_array(np.array([[10.0, 0.5, 2], [0, 0, 0], [0.1, 0.05, 0.001]]))
    assert_array_equal(prune(matrix, 0.1).toarray(), [[10, 0, 2], [0, 0, 0], [0.1, 0.05, 0]])


def test_negative_links_are_refused():
    with pytest.raises(ViewsError, match="'links' has negative links"):
        as_links("links", -np.eye(2))
