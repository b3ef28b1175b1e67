"""A view's non-zeros by the way that costs a GPU least, for hundreds of topics; the kernels are in `triton_split.py`.

block   of features in many objects: a dense block, whose half-steps are products of matrices
listed  of features with few topics: their weights as a list, all others skipped
rest    whole rows of the factors are gathered, in eight bits (`triton_eight.py`)

As a fit goes on, features lose topics and the lists take over. The topics of the features are counted in every sweep,
and the non-zeros divided anew when a feature has outgrown its list or when that would save much of the time.

Measured at K = 1,024 (200,000 x 100,000, 26 M non-zeros, an H200, a random start): 320 features hold 21 % of the
non-zeros; lists hold none in the first sweeps, 44 % of them after 25, 68 % after 50 and all others after 100. A sweep
takes 16.6 ms at first, 8.3 after 50 and 4.7 after 200, where whole rows take 20.8; at K = 512 it takes 8.7 and, after
100, 5.2 for 10.1; at K = 256 whole rows are faster. Weights below 1e-4 of a feature's largest change the log-likelihood
after 50 sweeps by 4e-5. What does not do:

- dropping the small weights of objects: those below 1e-6 of an object's largest cost 3e-3 of the log-likelihood after
  50 sweeps, as topics that an object hardly has come back; topics of single non-zeros below 1e-4 of the model, 4e-3;
- topics in blocks, ordered so that those of one object are neighbors: its 68 lie in 39 of 64 blocks, unordered in 42.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

__all__ = ["LENGTHS", "SMALL", "VALUES", "Split"]

LENGTHS = (4, 8, 16, 32, 64, 128)  # of lists; each feature has the least that holds its topics
SMALL = 1e-4  # of a feature's largest weight: what is not listed
VALUES = 256  # of lists that one program goes over
# costs of both half-steps, as measured on an H200 at K = 1,024, in units of one non-zero gathered whole
_FREQUENT = 0.025  # times the objects: a feature of the block, with what its non-zeros take
_LIST, _ENTRY = 43, 24  # divided by the components: a list, and each of its entries
_REST = 8  # times the objects: that there is a rest at all
_OTHERS = 20  # times the objects: what every sweep takes
_GAIN = 0.85  # of the present costs: what those of a new division must come down to
_ALIGNED = 64  # features by which the block grows: products of other widths are slow
_LONGEST = 512  # non-zeros of one run of the rest by features
_NEAR = 1 << 23  # bytes of mixtures that programs started together work on, so that these stay in the cache


@dataclass
class Rest:
    """CSR rows of the features whose weights are gathered whole, and their columns as runs of bounded length."""

    indptr: Any
    indices: Any
    values: Any
    shape: tuple[int, int]

    @cached_property
    def segments(self) -> Any:
        """Rows that are not empty, as runs; see `kernels/triton_ratio.py`."""
        from coview.kernels.triton_ratio import segments

        row, first, last, shared = segments(self.indptr)
        some = last > first
        return row[some], first[some], last[some], shared[some]


@dataclass
class FrequentFeatures:
    """Non-zeros of the features of the block, by its columns."""

    features: Any
    rows: Any
    columns: Any
    values: Any


@dataclass
class Listed:
    """Non-zeros of features with lists, in runs for one program each: neighbors in rows, then of one length."""

    values: Any
    rows: Any
    bases: Any  # where the list of a non-zero's feature begins
    kinds: Any  # by program, the place in LENGTHS
    first: Any
    last: Any


class Split:
    """How the non-zeros of one view are divided: given by coordinates, sorted by row.

    Examples
    --------
    >>> rows, columns = torch.tensor([0, 0, 1, 2]), torch.tensor([0, 1, 0, 2])
    >>> split = Split(rows, columns, torch.ones(4), (3, 3), 1024)
    >>> split.block.features.tolist(), len(split.rest.values), len(split.listed.values)
    ([0, 1, 2], 0, 0)
    """

    def __init__(self, rows: Any, columns: Any, values: Any, shape: tuple[int, int], width: int) -> None:
        self._rows, self._columns, self._values, self.shape, self.width = rows, columns, values, shape, width
        of = torch.bincount(columns, minlength=shape[1])
        self._by_frequency = torch.argsort(of, descending=True, stable=True)
        self._frequent = of >= max(1, math.ceil(_FREQUENT * shape[0]))
        self.others = torch.where(self._frequent, 0, of)  # non-zeros of each feature that need not be in the block
        none = torch.zeros(shape[1], dtype=torch.int32, device=values.device)
        self._divide(none, self._frequent)
        self._cost = self._plan([0.0] * len(LENGTHS) + [float(self.others.sum())], None)[0]

    def renew(self, numbers: list[float], topics: Any) -> bool:
        """Divide anew for features with so many topics if that is needed or if it pays; tell whether.

        `numbers` are `others` by the length that a feature needs, with those beyond LENGTHS last, the number of such
        features in the same order, and how many have outgrown their lists.
        """
        kinds = len(LENGTHS) + 1
        *counts, outgrown = numbers
        cost, longest, absorbed = self._plan(counts[:kinds], counts[kinds:])
        if not outgrown and cost > _GAIN * self._cost:
            return False
        lengths = torch.zeros_like(topics)
        for length in reversed(LENGTHS[:longest]):
            lengths = torch.where(topics <= length, length, lengths)
        block = self._frequent | ((lengths == 0) & (self.others > 0)) if absorbed else self._frequent
        self._divide(lengths.to(torch.int32), block)
        self._cost = cost
        return True

    def _plan(self, non_zeros: list[float], features: list[float] | None) -> tuple[float, int, bool]:
        """Least cost of features by the list they need, how many lengths to use, whether the rest goes to the block."""
        n, plans, listed = self.shape[0], [], 0.0
        for longest in range(len(LENGTHS) + 1):
            rest = sum(non_zeros[longest:])
            plans.append((listed + rest + (_REST * n if rest else 0), longest, False))
            if features is not None:
                plans.append((listed + _FREQUENT * n * sum(features[longest:]), longest, True))
            if longest < len(LENGTHS):
                listed += non_zeros[longest] * (_LIST + _ENTRY * LENGTHS[longest]) / self.width
        cost, longest, absorbed = min(plans)
        return cost + _OTHERS * n, longest, absorbed

    def _divide(self, lengths: Any, block: Any) -> None:
        """Give features lists of these lengths, 0 for none, but for those of the block."""
        size = int(block.sum())
        size = min(-(-size // _ALIGNED) * _ALIGNED, self.shape[1])
        ahead = self._by_frequency[~block[self._by_frequency]][: size - int(block.sum())]
        block = block.clone()
        block[ahead] = True
        self.lengths = torch.where(block, 0, lengths)
        self.bases = torch.cumsum(self.lengths, 0, dtype=torch.int32) - self.lengths
        self.total = int(self.lengths.sum())
        self.is_rest = ~block & (self.lengths == 0) & (self.others > 0)
        number = torch.cumsum(block, 0, dtype=torch.int32) - 1
        rows, columns, values = self._of(block)
        self.block = FrequentFeatures(block.nonzero().flatten(), rows, number[columns], values)
        rows, columns, values = self._of(self.is_rest)
        indptr = torch.zeros(self.shape[0] + 1, dtype=torch.int64, device=rows.device)
        torch.cumsum(torch.bincount(rows, minlength=self.shape[0]), 0, out=indptr[1:])
        self.rest = Rest(indptr, columns, values, self.shape)
        self.listed = self._runs(*self._of(self.lengths > 0))

    def _of(self, features: Any) -> tuple[Any, Any, Any]:
        """Non-zeros of some features."""
        chosen = features[self._columns]
        return self._rows[chosen], self._columns[chosen], self._values[chosen]

    def _runs(self, rows: Any, columns: Any, values: Any) -> Listed:
        """Put non-zeros with lists into runs."""
        near = max(1, _NEAR // (4 * self.width))
        kind = torch.bucketize(self.lengths[columns], torch.tensor(LENGTHS, device=rows.device), out_int32=True)
        group = torch.div(rows, near, rounding_mode="floor").to(torch.int32) * len(LENGTHS) + kind
        group, order = torch.sort(group, stable=True)
        sizes = torch.bincount(group)
        each = VALUES // torch.tensor(LENGTHS, device=rows.device)
        each = each.repeat(-(-len(sizes) // len(LENGTHS)))[: len(sizes)]
        pieces = torch.div(sizes + each - 1, each, rounding_mode="floor")
        of = torch.repeat_interleave(torch.arange(len(sizes), device=rows.device), pieces)
        number = torch.arange(len(of), device=rows.device) - (torch.cumsum(pieces, 0) - pieces)[of]
        ends = torch.cumsum(sizes, 0)
        first = (ends - sizes)[of] + number * each[of]
        last = torch.minimum(first + each[of], ends[of])
        kinds = (of % len(LENGTHS)).to(torch.int32)
        return Listed(values[order], rows[order], self.bases[columns[order]], kinds, first, last)

    def rest_columns(self, indptr: Any) -> Any:
        """Runs of the rest in the same matrix by features, whose places in it `indptr` gives."""
        from coview.kernels.triton_ratio import segments

        row, first, last, shared = segments(indptr, _LONGEST)
        chosen = self.is_rest[row]
        return row[chosen], first[chosen], last[chosen], shared[chosen]
