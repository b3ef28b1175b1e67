"""Nested dicts of arrays, leaf by leaf: the states that the loop carries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["tree_leaves", "tree_map"]


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a function to the leaves of trees (dicts and lists) of one shape.

    Examples
    --------
    >>> tree_map(lambda a, b: a + b, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    if isinstance(tree, dict):
        return {key: tree_map(function, value, *(other[key] for other in others)) for key, value in tree.items()}
    if isinstance(tree, list):
        return [tree_map(function, *parts) for parts in zip(tree, *others)]
    return function(tree, *others)


def tree_leaves(tree: Any) -> Iterator[Any]:
    """Yield the leaves of a tree of dicts and lists.

    Examples
    --------
    >>> list(tree_leaves({"a": 1, "b": [2, {"c": 3}]}))
    [1, 2, 3]
    """
    if isinstance(tree, dict):
        tree = tree.values()
    elif not isinstance(tree, list):
        yield tree
        return
    for part in tree:
        yield from tree_leaves(part)
