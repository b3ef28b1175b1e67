"""A stored graph is used only if every link in it leads somewhere; else the graph is built anew from the vectors."""

from __future__ import annotations

import struct
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coview.retrieval.graph_file import is_sound
from coview.retrieval.index import CONNECTIVITY, ExactIndex, GraphIndex, restore_index
from coview.utils.fitted_state import StateMismatch

pytestmark = pytest.mark.skipif(
    find_spec("usearch") is None, reason="usearch is not installed: graph files are not checked"
)

N, WIDTH = 400, 6
NODES = 8 + N * WIDTH * 4 + 64 + 40 + 2 * N  # where the slots begin


@pytest.fixture(scope="module")
def graph():
    rows = np.random.default_rng(0).normal(size=(N, WIDTH)).astype(np.float32)
    index = GraphIndex(WIDTH)
    index.add(np.arange(N) + 5, rows / np.linalg.norm(rows, axis=1, keepdims=True))
    return index


def fresh_of(index):
    empty = index._empty()
    empty.add(index.keys[:1], index.vectors[:1])
    return np.frombuffer(bytes(empty.save()), dtype=np.uint8)


def sound(index, blob):
    return is_sound(blob, fresh_of(index), index.keys, index.vectors)


def altered(index, at, value):
    blob = index.__getstate__()["graph"].copy()
    blob[at : at + len(value)] = np.frombuffer(value, dtype=np.uint8)
    return blob


def test_a_graph_as_written_is_sound_and_is_not_built_again(graph, monkeypatch):
    state = graph.__getstate__()
    assert sound(graph, state["graph"])
    monkeypatch.setattr(GraphIndex, "_opened", None)  # what builds
    assert len(restore_index("hnsw", state)._graph) == N


def test_a_graph_that_items_were_removed_from_is_sound(graph):
    twin = restore_index("hnsw", graph.__getstate__())
    twin.remove(np.arange(10, 60))
    assert sound(twin, twin.__getstate__()["graph"])
    assert not sound(twin, graph.__getstate__()["graph"])


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (0, struct.pack("<I", 2**31)),  # rows
        (4, struct.pack("<I", 2**31)),  # bytes of a row
        (8 + N * WIDTH * 4, b"x"),  # the name
        (8 + N * WIDTH * 4 + 14, b"\x01"),  # a kind of numbers
        (8 + N * WIDTH * 4 + 17, struct.pack("<Q", 2**40)),  # the count of items
        (8 + N * WIDTH * 4 + 33, struct.pack("<Q", 2**20)),  # dimensions
        (8 + N * WIDTH * 4 + 64 + 8, struct.pack("<Q", 2**15)),  # links of a level
        (8 + N * WIDTH * 4 + 64 + 24, struct.pack("<Q", 90)),  # the top level
        (8 + N * WIDTH * 4 + 64 + 32, struct.pack("<Q", 2**33)),  # where to enter
        (8 + N * WIDTH * 4 + 64 + 40, struct.pack("<h", 9)),  # a level
        (8 + N * WIDTH * 4 + 64 + 40, struct.pack("<h", -1)),
        (
            8 + 4 * WIDTH,
            struct.pack("<f", float("nan")),
        ),  # a vector: by NaN, nothing is near or far, and no search ends
        (8 + 4 * WIDTH, struct.pack("<f", 0.25)),
        (NODES, struct.pack("<Q", 77)),  # a key
        (NODES + 8, struct.pack("<h", 3)),  # the level that a slot itself tells
        (NODES + 10, struct.pack("<I", 2**20)),  # a number of links
        (NODES + 14, struct.pack("<I", N)),  # a link behind the end
    ],
)
def test_what_does_not_fit_is_refused_and_built_anew(graph, at, value):
    blob = altered(graph, at, value)
    assert not sound(graph, blob)
    back = restore_index("hnsw", {**graph.__getstate__(), "graph": blob})
    assert np.array_equal(back.search(graph.vectors[:20], 1)[0][:, 0], graph.keys[:20])


def test_a_link_to_a_slot_of_a_lower_level_is_refused(graph):
    blob = graph.__getstate__()["graph"]
    levels = blob[NODES - 2 * N : NODES].copy().view("<i2").astype(np.int64)
    high, low = int(np.flatnonzero(levels > 0)[0]), int(np.flatnonzero(levels == 0)[0])
    base, links = 2 * CONNECTIVITY, CONNECTIVITY
    widths = 10 + 4 * (1 + base) + levels * 4 * (1 + links)
    at = NODES + int(widths[:high].sum()) + 10 + 4 * (1 + base)
    assert not sound(graph, altered(graph, at, struct.pack("<II", 1, low)))


def test_a_vector_of_a_removed_item_must_be_finite(graph):
    twin = restore_index("hnsw", graph.__getstate__())
    twin.remove(twin.keys[:1])
    blob = twin.__getstate__()["graph"].copy()
    assert sound(twin, blob)
    blob[8:12] = np.frombuffer(struct.pack("<f", float("nan")), dtype=np.uint8)
    assert not sound(twin, blob)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vectors", np.full((N, WIDTH), np.nan, np.float32)),
        ("vectors", np.zeros((N, WIDTH))),
        ("vectors", np.zeros((N - 1, WIDTH), np.float32)),
        ("keys", np.zeros(N, np.int64)),
        ("keys", np.arange(N, dtype=np.int32)),
        ("effort", 0),
        ("effort", 2**60),
        ("recall", "high"),
        ("graph", np.zeros(9)),
    ],
)
def test_a_state_that_does_not_fit_is_refused(graph, name, value):
    with pytest.raises(StateMismatch, match=f"^{name} "):
        restore_index("hnsw", {**graph.__getstate__(), name: value})


@pytest.mark.parametrize("blob", [np.zeros(0, np.uint8), np.zeros(7, np.uint8), np.zeros(500, np.uint8), np.zeros(9)])
def test_other_bytes_are_refused(graph, blob):
    assert not sound(graph, blob)
    assert not sound(graph, graph.__getstate__()["graph"][:-1])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.binary(min_size=1, max_size=4)), min_size=1, max_size=3))
def test_whatever_the_bytes_are_a_search_finds_items(graph, changes):
    blob = graph.__getstate__()["graph"].copy()
    for at, value in changes:
        at %= len(blob) - 4
        blob[at : at + len(value)] = np.frombuffer(value, dtype=np.uint8)
    back = restore_index("hnsw", {**graph.__getstate__(), "graph": blob})
    keys, scores = back.search(graph.vectors[:5], 3)
    exact = ExactIndex(WIDTH)
    exact.add(graph.keys, graph.vectors)
    assert np.isin(keys, graph.keys).all()
    assert (scores <= exact.search(graph.vectors[:5], 3)[1] + 1e-6).all()
