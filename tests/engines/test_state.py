"""Trees of arrays, leaf by leaf."""

from coview.engines.protocol import tree_leaves, tree_map


def test_map_keeps_the_shape_and_pairs_the_leaves():
    a, b = {"rows": [1, 2], "shared": {"x": 3}}, {"rows": [10, 20], "shared": {"x": 30}}
    assert tree_map(lambda p, q: q - p, a, b) == {"rows": [9, 18], "shared": {"x": 27}}


def test_leaves_come_in_order():
    assert list(tree_leaves({"b": [1, {"c": 2}], "a": 3})) == [1, 2, 3]
