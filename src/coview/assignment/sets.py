"""Label sets that could be the best choice of a view, whatever the scores are within their bounds.

Leaving a label out of a view costs at most g = a1 max s + (V - 1) a2; putting one in costs at most
h = (V - 1) a2 - a1 min s. So a set can be passed over

    if leaving out one label, or one with all below it, mends constraints worth as much as it costs, or
    if putting in one label mends constraints worth more than it costs.

The first never adds a label and the second always gains, so no two sets rule each other out for ever: what remains
holds a best choice of every object. Sets are grown from the leaves up, which lets the first rule cut whole branches.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from coview.assignment.parts import Part

__all__ = ["useful_sets"]

_VISITS = 300_000  # partial sets looked at before giving up


def useful_sets(part: Part, g: float, h: float, most: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Sets (n_sets, n_labels) that may be best, and how many constraints each breaks; None if there are too many.

    `g` and `h` are in units of a3.

    Examples
    --------
    >>> from coview.assignment.ontology import Ontology
    >>> from coview.assignment.parts import parts_of
    >>> (part,) = parts_of(Ontology.from_edges([("Bat", "Mammal"), ("Bat", "Flier")]))
    >>> useful_sets(part, 0.6, 0.1, 100)[0].astype(int).tolist()
    [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1], [1, 1, 1]]
    """
    # bounds in quarters, upwards: the sets of one block of objects serve the next
    return _useful_sets(len(part.codes), part.subset, part.mutex, np.ceil(4 * g) / 4, np.ceil(4 * h) / 4, most)


@lru_cache(maxsize=64)
def _useful_sets(
    n: int, subset: tuple[tuple[int, int], ...], mutex: tuple[tuple[int, int], ...], g: float, h: float, most: int
) -> tuple[np.ndarray, np.ndarray] | None:
    search = _Search(n, subset, mutex, g, h, most)
    if not search.grow(0, 0, 0):
        return None
    sets = np.array(sorted([(on >> i) & 1 for i in range(n)] for on in search.found), dtype=bool)
    child, parent = np.array(subset, dtype=int).reshape(-1, 2).T
    a, b = np.array(mutex, dtype=int).reshape(-1, 2).T
    broken = (sets[:, child] & ~sets[:, parent]).sum(axis=1) + (sets[:, a] & sets[:, b]).sum(axis=1)
    return sets, broken


class _Search:
    """Depth-first over the labels, those below first; a set is the bits of a whole number."""

    def __init__(self, n: int, subset: tuple, mutex: tuple, g: float, h: float, most: int) -> None:
        self.n, self.g, self.h, self.most = n, g, h, most
        self.above, self.below, self.apart = [0] * n, [0] * n, [0] * n
        for child, parent in subset:
            self.above[child] |= 1 << parent
            self.below[parent] |= 1 << child
        for a, b in mutex:
            self.apart[a] |= 1 << b
            self.apart[b] |= 1 << a
        self.order = self._post_order()
        self.under = [1 << i for i in range(n)]  # a label and all below it
        for i in self.order:
            for child in _bits(self.below[i]):
                self.under[i] |= self.under[child]
        self.found: list[int] = []
        self.visits = 0

    def grow(self, t: int, on: int, decided: int) -> bool:
        """Decide label t of the order, and all after it; False if there is no end to it."""
        self.visits += 1
        if self.visits > _VISITS or len(self.found) > self.most:
            return False
        if t == self.n:
            if not self._gains_by_one_more(on):
                self.found.append(on)
            return len(self.found) <= self.most
        bit = 1 << self.order[t]
        for choice in (on, on | bit):
            if not self._loses_nothing_by_less(choice, decided | bit) and not self.grow(t + 1, choice, decided | bit):
                return False
        return True

    def _loses_nothing_by_less(self, on: int, decided: int) -> bool:
        """Whether leaving something out mends as much as it costs; what is still to be decided can only mend more."""
        for i in _bits(on):
            mended = (self.apart[i] & on).bit_count() + (self.above[i] & decided & ~on).bit_count()
            if mended - (self.below[i] & on).bit_count() >= self.g:
                return True
            branch = self.under[i] & on
            if branch != 1 << i:
                mended = sum(
                    (self.apart[j] & on & ~branch).bit_count() + (self.above[j] & decided & ~on).bit_count()
                    for j in _bits(branch)
                )
                if mended >= branch.bit_count() * self.g:
                    return True
        return False

    def _gains_by_one_more(self, on: int) -> bool:
        for i in range(self.n):
            if not (on >> i) & 1:
                broken = (self.apart[i] & on).bit_count() + (self.above[i] & ~on).bit_count()
                if broken - (self.below[i] & on).bit_count() + self.h < 0:
                    return True
        return False

    def _post_order(self) -> list[int]:
        order: dict[int, None] = {}

        def walk(i: int) -> None:
            for child in _bits(self.below[i]):
                if child not in order:
                    walk(child)
            order[i] = None

        for i in range(self.n):
            if i not in order:
                walk(i)
        return list(order)


def _bits(number: int) -> list[int]:
    found = []
    while number:
        low = number & -number
        found.append(low.bit_length() - 1)
        number ^= low
    return found
