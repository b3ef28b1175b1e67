"""Public names by name, for the few methods below that offer a function from above: the package's front fills this in.

`coview/__init__.py` hands its lookup down when it is imported, which comes before any other module of the package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["hand_down", "public"]

_lookup: Callable[[str], Any] | None = None


def hand_down(lookup: Callable[[str], Any]) -> None:
    """Take the front's function from a public name to what it names."""
    global _lookup
    _lookup = lookup


def public(name: str) -> Any:
    """Return what ``coview.<name>`` is.

    Examples
    --------
    >>> public("make_report").__name__
    'make_report'
    """
    assert _lookup is not None
    return _lookup(name)
