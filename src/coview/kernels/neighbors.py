"""The nearest of rows, exactly, sparse or dense: pairs that may be near are found in single precision, then measured.

    |x - y|^2 = |x|^2 + |y|^2 - 2 <x, y>

Blocks of rows meet blocks of rows. Lower bounds of their squared distances, that is, less what rounding may have added,
are one product of dense matrices of the columns that many rows have, and a few sums for each of the rare others. A pair
whose bound is above what both of its rows have already is passed over, and that is nearly every pair. Each row gathers
the others and at the end measures them, by sums of squared differences in double precision.

Rows meet in an order that is drawn at random, so that no order of the data makes the search slow. No result depends on
it: of equal distances, the first rows of the data are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from coview.kernels.compiling import njit
from coview.views.arrays import frozen

__all__ = ["nearest_rows"]

_FEW = 8  # rows that are measured against all others at once: bounds would take longer to prepare
_COMMON = 0.08  # share of the rows from which on a column is quicker in a product of dense matrices
_BLOCKS, _LEAST, _MOST = 24, 512, 2048  # blocks of rows, and the fewest and most rows of one
_TILE = 256  # rows of a block of which bounds are held at a time: they stay in cache
_RUN = 32  # bounds that are looked at together
_ROUNDING = 2.0**-23  # twice that of single precision, for each of the terms that are added
_TINY = 1e-36  # about where numbers in single precision end

Map = Callable[[Callable[[int, int], Any], list[tuple[int, int]]], Any]


class Gathered(NamedTuple):
    """What each row of a block has gathered."""

    bars: np.ndarray  # the k smallest upper bounds of squared distances so far, rising
    limits: np.ndarray  # the last of these: what is farther is none of the nearest
    bounds: np.ndarray  # lower bounds of those gathered
    ids: np.ndarray
    counts: np.ndarray


def nearest_rows(rows: Any, among: Any, k: int, map_pairs: Map) -> tuple[np.ndarray, np.ndarray]:
    """Distances and positions (rows x k) of the nearest rows in `among`, nearest first; None is the other rows.

    Both are dense, or both CSR without duplicates and with sorted indices. `map_pairs` calls a function with each of
    some pairs of numbers, several at a time.
    """
    search = _Search(rows, among, k)
    if among is not None and rows.shape[0] <= _FEW:
        search.measure_all()
        return search.distances, search.positions
    search.prepare()
    blocks = [(i, i) for i in range(len(search.left.starts) - 1)]
    if among is not None:
        map_pairs(lambda i, j: search.find(i), blocks)
        return search.distances, search.positions
    gathered = [search.begin(i) for i, _ in blocks]
    map_pairs(lambda i, j: search.meet(gathered[i], i, j), blocks)
    for pairs in _pair_rounds(len(blocks)):  # in each round a block meets one other
        map_pairs(lambda i, j: search.meet(gathered[i], i, j, gathered[j]), pairs)
    map_pairs(lambda i, j: search.finish(gathered[i], i), blocks)
    return search.distances, search.positions


def _pair_rounds(n: int) -> Iterator[list[tuple[int, int]]]:
    """Every two of n once, in rounds in which none appears twice."""
    even = n + n % 2
    for turn in range(even - 1):
        ring = [0, *((turn + t) % (even - 1) + 1 for t in range(even - 1))]
        yield [(i, j) for i, j in zip(ring[: even // 2], ring[: even // 2 - 1 : -1]) if max(i, j) < n]


class _Side:
    """Rows in the order in which they meet others, cut into blocks, with what bounds are made of."""

    def __init__(self, rows: Any, common: np.ndarray, middle: np.ndarray, scale: float) -> None:
        n = rows.shape[0]
        self.order = np.random.default_rng(0).permutation(n)
        size = int(np.clip(-(-n // _BLOCKS), _LEAST, _MOST))
        self.starts = [*range(0, n, size), n]
        self.filled = np.empty((n, len(middle) + 2), dtype=np.float32)
        self.filled[:, -1] = 1.0
        squares, terms = self.filled[:, -2], np.full(n, len(middle) + 8.0)
        self.rare = None
        if sparse.issparse(rows):
            rare = rows[:, np.flatnonzero(~common)][self.order]
            terms += np.diff(rare.indptr)
            values = (rare.data * scale).astype(np.float32)
            self.rare = sparse.csr_array((values, rare.indices.astype(np.int32), rare.indptr), shape=rare.shape)
            rows = rows[:, np.flatnonzero(common)]
        for a, b in zip(self.starts, self.starts[1:]):
            part = rows[self.order[a:b]]
            part = ((part.toarray() if sparse.issparse(part) else part) - middle) * scale
            self.filled[a:b, :-2] = part
            squares[a:b] = np.einsum("ij,ij->i", part, part)
            if self.rare is not None:
                squares[a:b] += (self.rare[a:b] ** 2).sum(axis=1)
        self.rounding = (terms * _ROUNDING).astype(np.float32)

    def block(self, i: int) -> slice:
        return slice(self.starts[i], self.starts[i + 1])


class _Search:
    """Blocks of rows that meet blocks of those among which their nearest are looked for."""

    left: _Side
    right: _Side
    columns: list[Any]

    def __init__(self, rows: Any, among: Any, k: int) -> None:
        self.rows, self.among, self.k, self.others = rows, rows if among is None else among, k, among is None
        self.scale = _find_scale(rows, self.among)
        self.values = _exact_values(rows), _exact_values(self.among)
        self.distances = np.empty((rows.shape[0], k))
        self.positions = np.empty((rows.shape[0], k), dtype=np.int64)

    def measure_all(self) -> None:
        """Measure all distances."""
        n, m = self.rows.shape[0], self.among.shape[0]
        far, ids = np.full((n, self.k), np.inf, dtype=np.float32), np.tile(np.arange(m), (n, 1))
        everyone = Gathered(far, far[:, 0], np.zeros((n, m), dtype=np.float32), ids, np.full(n, m))
        _finish(everyone, np.arange(n), self.values, self.scale, self.distances, self.positions)

    def prepare(self) -> None:
        """Make what bounds are made of."""
        whole = self.among
        if sparse.issparse(whole):
            common = np.bincount(whole.indices, minlength=whole.shape[1]) > _COMMON * whole.shape[0]
            middle = np.asarray(whole[:, np.flatnonzero(common)].mean(axis=0, dtype=np.float64)).ravel()
        else:
            common, middle = np.ones(whole.shape[1], dtype=bool), whole.mean(axis=0, dtype=np.float64)
        self.left = _Side(self.rows, common, middle, self.scale)
        self.right = self.left if self.others else _Side(whole, common, middle, self.scale)
        rare, blocks = self.right.rare, range(len(self.right.starts) - 1)
        self.columns = [] if rare is None else [_columns(rare[self.right.block(j)]) for j in blocks]

    def begin(self, i: int) -> Gathered:
        """Return the gathered of a block that has met none."""
        part = self.left.block(i)
        n, room = part.stop - part.start, 2 * self.k + 32
        return Gathered(
            np.full((n, self.k), np.inf, dtype=np.float32),
            np.full(n, np.inf, dtype=np.float32),
            np.empty((n, room), dtype=np.float32),
            np.empty((n, room), dtype=np.int64),
            np.zeros(n, dtype=np.int64),
        )

    def find(self, i: int) -> None:
        """Look for the nearest of a block among all blocks of others."""
        gathered = self.begin(i)
        for j in range(len(self.right.starts) - 1):
            self.meet(gathered, i, j)
        self.finish(gathered, i)

    def meet(self, mine: Gathered, i: int, j: int, theirs: Gathered | None = None) -> None:
        """Let block i gather of block j; and block j of block i, if `theirs` is given."""
        left, right = self.left, self.right
        ours, there = left.block(i), right.block(j)
        turned = right.filled[there] * np.float32(-2.0)
        turned[:, -2], turned[:, -1] = 1.0, right.filled[there, -2]
        squares, both = np.ascontiguousarray(turned[:, -1]), theirs is not None
        # what is below no limit is gathered for none
        limits = theirs.limits if theirs is not None else np.full(len(turned), -np.inf, dtype=np.float32)
        ids, same = (left.order[ours], right.order[there]), self.others and i == j
        for start in range(ours.start, ours.stop, _TILE):
            here = slice(start, min(start + _TILE, ours.stop))
            less, own = 1 - left.rounding[here], left.filled[here].copy()
            own[:, -2], own[:, -1] = own[:, -2] * less - np.float32(_TINY), less
            tile = own @ turned.T
            if left.rare is not None:
                _add_products(left.rare.indptr, left.rare.indices, left.rare.data, self.columns[j], start, tile)
            own_squares = left.filled[here, -2].copy()
            _gather(
                tile, start - ours.start, mine, theirs or mine, limits, both, same, left.rounding[here],
                own_squares, squares, ids, self.values, self.scale,
            )  # fmt: skip

    def finish(self, gathered: Gathered, i: int) -> None:
        """Measure what a block has gathered."""
        ids = self.left.order[self.left.block(i)]
        _finish(gathered, ids, self.values, self.scale, self.distances, self.positions)


def _find_scale(*matrices: Any) -> float:
    """A power of two by which no square is too large or too small for single precision."""
    most = max(float(abs(m).max()) if m.shape[0] and m.shape[1] else 0.0 for m in matrices)
    return float(2.0 ** -np.ceil(np.log2(most))) if 0 < most < np.inf else 1.0


def _exact_values(rows: Any) -> tuple[np.ndarray, ...]:
    """Dense rows, and CSR of sparse ones, one of them empty: one type for the kernels."""
    if sparse.issparse(rows):
        parts = np.empty((0, 0), rows.dtype), rows.indptr.astype(np.int64), rows.indices, rows.data
    else:
        none = np.empty(0, dtype=np.int64)
        parts = np.ascontiguousarray(rows), none, none.astype(np.int32), np.empty(0, rows.dtype)
    return tuple(frozen(part) for part in parts)


def _columns(part: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    by_column = part.tocsc()
    return by_column.indptr, by_column.indices.astype(np.uint32), by_column.data * np.float32(-2.0)


@njit(nogil=True, cache=True, error_model="numpy")
def _add_products(indptr, indices, data, columns, start, tile):
    """Add -2 <x, y> over the rare columns."""
    begins, members, values = columns
    for i in range(len(tile)):
        row = tile[i]
        for a in range(indptr[start + i], indptr[start + i + 1]):
            x, begin, end = data[a], begins[indices[a]], begins[indices[a] + 1]
            if begin == end:
                continue
            at, times = members[begin:end], values[begin:end]
            for b in range(len(at)):
                row[at[b]] += x * times[b]


@njit(nogil=True, cache=True, error_model="numpy")
def _gather(
    tile, first, mine, theirs, limits, both, same, rounding, own_squares, squares, ids, values, scale
):  # fmt: skip
    """Let rows from the `first` of a block, and with `both` those that they meet, gather who may be near."""
    own, others = ids
    bars, own_limits, bounds, gathered, counts = mine
    bars_, _, bounds_, gathered_, counts_ = theirs
    for i in range(len(tile)):
        row, r = tile[i], first + i
        width, limit = np.float32(2.0) * rounding[i], own_limits[r]
        for begin in range(0, len(row), _RUN):
            run, there = row[begin : begin + _RUN], limits[begin : begin + _RUN]
            some = np.int32(0)  # in this form, the loop becomes one of vector instructions
            for t in range(len(run)):
                some += np.int32(not (run[t] > limit)) | np.int32(not (run[t] > there[t]))
            if not some:
                continue
            for t in range(len(run)):
                bound, j = run[t], begin + t
                here, beyond = not bound > limit, both and not bound > limits[j]
                if not (here or beyond) or (same and r == j):
                    continue
                above = bound + width * (own_squares[i] + squares[j]) + np.float32(2 * _TINY)
                if here:
                    if counts[r] == gathered.shape[1]:
                        counts[r] = _thin(bars[r], bounds[r], gathered[r], own[r], values[0], values[1], scale)
                    bounds[r, counts[r]], gathered[r, counts[r]] = bound, others[j]
                    counts[r] += 1
                    limit = _lower(bars[r], above)
                if beyond:
                    if counts_[j] == gathered_.shape[1]:
                        counts_[j] = _thin(bars_[j], bounds_[j], gathered_[j], others[j], values[1], values[0], scale)
                    bounds_[j, counts_[j]], gathered_[j, counts_[j]] = bound, own[r]
                    counts_[j] += 1
                    limits[j] = _lower(bars_[j], above)
        own_limits[r] = limit


@njit(nogil=True, cache=True, error_model="numpy")
def _lower(bars, above):
    """Put an upper bound among the least ones, rising; return the last of them."""
    t = len(bars) - 1
    if above < bars[t]:
        while t > 0 and bars[t - 1] > above:
            bars[t] = bars[t - 1]
            t -= 1
        bars[t] = above
    return bars[-1]


@njit(nogil=True, cache=True, error_model="numpy")
def _thin(bars, bounds, gathered, own, values, others, scale):
    """Keep those of the gathered that may still be among the nearest; return how many these are."""
    k, kept = len(bars), 0
    for t in range(len(gathered)):
        if not bounds[t] > bars[-1]:
            bounds[kept], gathered[kept] = bounds[t], gathered[t]
            kept += 1
    if kept > len(gathered) - k // 2 - 16:  # too many are equally far, as far as bounds can tell
        near, at = _measure(bounds[:kept], gathered[:kept], bars[-1], k, own, values, others, scale)
        for t in range(k):
            bars[t], bounds[t], gathered[t] = near[t] * (1 + 1e-6), -1.0, at[t]
        kept = k
    return kept


@njit(nogil=True, cache=True, error_model="numpy")
def _measure(bounds, ids, limit, k, own, values, others, scale):
    """Squared distances to the k nearest of those gathered, rising, and who these are; of equal ones, the first."""
    near, at = np.full(k, np.inf), np.full(k, np.iinfo(np.int64).max)
    for c in range(len(ids)):
        if bounds[c] > limit:
            continue
        other = ids[c]
        d = _gap(own, other, values, others, scale)
        if not d < np.inf:  # what cannot be compared is as far as can be
            d = np.inf
        t = k - 1
        if d > near[t] or (d == near[t] and other > at[t]):
            continue
        while t > 0 and (near[t - 1] > d or (near[t - 1] == d and at[t - 1] > other)):
            near[t], at[t] = near[t - 1], at[t - 1]
            t -= 1
        near[t], at[t] = d, other
    return near, at


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _gap(i, j, values, others, scale):
    """Squared distance of two rows, scaled."""
    total = 0.0
    rows, indptr, indices, data = values
    rows_, indptr_, indices_, data_ = others
    if len(rows):
        for f in range(rows.shape[1]):
            gap = (np.float64(rows[i, f]) - np.float64(rows_[j, f])) * scale
            total += gap * gap
        return total
    a, b = indptr[i], indptr_[j]
    last, last_ = indptr[i + 1], indptr_[j + 1]
    while a < last and b < last_:
        left, right = indices[a], indices_[b]
        gap = (left <= right) * np.float64(data[a]) - (right <= left) * np.float64(data_[b])
        total += (gap * scale) * (gap * scale)
        a += left <= right
        b += right <= left
    while a < last:
        total += (np.float64(data[a]) * scale) ** 2
        a += 1
    while b < last_:
        total += (np.float64(data_[b]) * scale) ** 2
        b += 1
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def _finish(gathered, own, values, scale, distances, positions):
    """Write the nearest of what the rows of a block have gathered."""
    bars, limits, bounds, ids, counts = gathered
    k = bars.shape[1]
    for r in range(len(own)):
        found = counts[r]
        near, at = _measure(bounds[r, :found], ids[r, :found], limits[r], k, own[r], values[0], values[1], scale)
        for t in range(k):
            distances[own[r], t], positions[own[r], t] = np.sqrt(near[t]) / scale, at[t]
