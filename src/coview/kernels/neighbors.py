"""The nearest of rows, exactly, sparse or dense: pairs that may be near are found by products, then measured.

    |x - y|^2 = |x|^2 + |y|^2 - 2 <x, y>

Blocks of rows meet blocks of rows. Lower bounds of their squared distances, that is, less what rounding may have added,
are one product of dense matrices of the columns that many rows have, and a few sums for each of the rare others: of
dense rows in single precision, of sparse ones in double. A pair whose bound is above what both of its rows have already
is passed over, and that is nearly every pair. Each row gathers the others and at the end measures those of which bounds
leave a doubt, by sums of squared differences in double precision.

Rows meet in an order that is drawn at random, so that no order of the data makes the search slow. No result depends on
it: of equal distances, of sparse rows also of those that differ by less than 1e-12, the first rows are taken.
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
_COMMON = 0.25  # share of the rows from which on a column is quicker in a product of dense matrices
_BLOCKS, _LEAST, _MOST = 24, 512, 2048  # blocks of rows, and the fewest and most rows of one
_TILE = 1 << 18  # bounds that are held at a time: they stay in cache
_EVERY = 16  # bound is looked at to guess how far the nearest are
_RUN = 32  # bounds that are looked at together
_TIE = 1e-12  # share of a squared distance by which it may be off where it is not measured
_TIGHT = 1e-9  # share of a squared distance up to which bounds may be apart for their middle to be the distance

Map = Callable[[Callable[[int, int], Any], list[tuple[int, int]]], Any]


class Gathered(NamedTuple):
    """What each row of a block has gathered."""

    limits: np.ndarray  # squared distances from which on others are none of the nearest, as far as it is known
    bounds: np.ndarray  # lower bounds of the squared distances of those gathered
    aboves: np.ndarray  # upper bounds
    ids: np.ndarray
    counts: np.ndarray
    ties: (
        np.ndarray
    )  # squared distances at which there are enough with ids up to `lasts`: others as far come after them
    lasts: np.ndarray


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
    if not search.mutual:
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

    def __init__(self, rows: Any, common: np.ndarray, middle: np.ndarray, scale: float, least: int) -> None:
        n = rows.shape[0]
        self.order = np.random.default_rng(0).permutation(n)
        size = int(np.clip(-(-n // _BLOCKS), least, max(least, _MOST)))
        self.starts = [*range(0, n, size), n]
        self.dtype: Any = np.dtype(np.float64 if sparse.issparse(rows) else np.float32)
        self.filled = np.empty((n, len(middle) + 2), dtype=self.dtype)
        self.filled[:, -2:] = 0.0, 1.0
        squares, terms = self.filled[:, -2], np.full(n, len(middle) + 8.0)
        self.rare = None
        if sparse.issparse(rows):
            rare = rows[:, np.flatnonzero(~common)][self.order]
            terms += np.diff(rare.indptr)
            values = rare.data.astype(np.float64) * scale
            self.rare = sparse.csr_array((values, rare.indices.astype(np.int32), rare.indptr), shape=rare.shape)
            rows = rows[:, np.flatnonzero(common)]
            squares += np.bincount(np.repeat(np.arange(n), np.diff(rare.indptr)), values**2, minlength=n)
        for a, b in zip(self.starts, self.starts[1:]):
            part = rows[self.order[a:b]]
            part = ((part.toarray() if sparse.issparse(part) else part) - middle) * scale
            self.filled[a:b, :-2] = part
            squares[a:b] += np.einsum("ij,ij->i", part, part)
        self.rounding = (terms * np.finfo(self.dtype).eps).astype(self.dtype)  # twice that of each of the sums
        self.tiny: Any = self.dtype.type(100 * np.finfo(self.dtype).tiny)

    def block(self, i: int) -> slice:
        return slice(self.starts[i], self.starts[i + 1])


class _Search:
    """Blocks of rows that meet blocks of those among which their nearest are looked for."""

    left: _Side
    right: _Side
    mutual: bool
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
        ids, none = np.tile(np.arange(m), (n, 1)), np.zeros((n, m))
        far, last = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
        everyone = Gathered(far, none, none + np.inf, ids, np.full(n, m), far, last)
        _finish(everyone, np.arange(n), self.values, self.scale, self.distances, self.positions)

    def prepare(self) -> None:
        """Make what bounds are made of."""
        whole = self.among
        if sparse.issparse(whole):
            common = np.bincount(whole.indices, minlength=whole.shape[1]) > _COMMON * whole.shape[0]
            middle = np.zeros(common.sum())
        else:
            common, middle = np.ones(whole.shape[1], dtype=bool), whole.mean(axis=0, dtype=np.float64)
        self.left = _Side(self.rows, common, middle, self.scale, _LEAST)
        # of few rows each looks at all others at once
        self.mutual = self.others and whole.shape[0] > 16 * _LEAST
        self.right = self.left if self.mutual else _Side(whole, common, middle, self.scale, 16 * _LEAST)
        rare, blocks = self.right.rare, range(len(self.right.starts) - 1)
        self.columns = [] if rare is None else [_columns(rare[self.right.block(j)]) for j in blocks]

    def begin(self, i: int) -> Gathered:
        """Return the gathered of a block that has met none."""
        part = self.left.block(i)
        n, room = part.stop - part.start, 2 * self.k + 64
        bounds, limits = np.empty((2, n, room), dtype=self.left.dtype), np.full(n, np.inf, dtype=self.left.dtype)
        ids, numbers = np.empty((n, room), dtype=np.int64), np.zeros((2, n), dtype=np.int64)
        return Gathered(limits, bounds[0], bounds[1], ids, numbers[0], np.full(n, np.inf), numbers[1])

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
        turned = right.filled[there] * left.dtype.type(-2)
        turned[:, -2], turned[:, -1] = 1.0, right.filled[there, -2]
        squares, both = np.ascontiguousarray(turned[:, -1]), theirs is not None
        # what is below no limit is gathered for none
        limits = theirs.limits if theirs is not None else np.full(len(turned), -np.inf, dtype=left.dtype)
        ids, same = (left.order[ours], right.order[there]), self.others and (i == j or not self.mutual)
        step = max(16, _TILE // len(turned))
        tiles = np.empty((step, len(turned)), dtype=left.dtype)
        for start in range(ours.start, ours.stop, step):
            here = slice(start, min(start + step, ours.stop))
            less, own = 1 - left.rounding[here], left.filled[here].copy()
            own[:, -2], own[:, -1] = own[:, -2] * less - left.tiny, less
            tile = np.matmul(own, turned.T, out=tiles[: len(own)])
            if left.rare is not None:
                _add_products(left.rare.indptr, left.rare.indices, left.rare.data, self.columns[j], start, tile)
            own_squares = left.filled[here, -2].copy()
            _gather(
                tile, start - ours.start, self.k, mine, theirs or mine, limits, both, same, 2 * left.rounding[here],
                2 * left.tiny, own_squares, squares, ids, self.values, self.scale,
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
    return by_column.indptr, by_column.indices.astype(np.uint32), by_column.data * -2.0


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
    tile, first, k, mine, theirs, limits, both, same, widths, tiny, own_squares, squares, ids, values, scale
):  # fmt: skip
    """Let rows from the `first` of a block, and with `both` those that they meet, gather who may be near."""
    own, others = ids
    own_limits, bounds, aboves, gathered, counts, ties, lasts = mine
    _, bounds_, aboves_, gathered_, counts_, ties_, lasts_ = theirs
    room, near = gathered.shape[1], np.empty(tile.shape[1], dtype=np.int64)
    for i in range(len(tile)):
        row, r = tile[i], first + i
        limit = own_limits[r]
        guessed = limit == np.inf and not both and counts[r] == 0
        guess = limit
        if guessed:
            guess = limit = _guess_limit(row, k)  # what is below it is gathered alone
        for _ in range(2):  # a second time where the guess was too near
            for h in range(_list_near(row, limit, limits, both, near)):
                j = near[h]
                bound = row[j]
                here, beyond = not bound > limit, both and not bound > limits[j]  # limits fall meanwhile
                if not (here or beyond) or (same and own[r] == others[j]):
                    continue
                above = bound + widths[i] * (own_squares[i] + squares[j]) + tiny
                if here and not _comes_after(bound, above, others[j], ties[r], lasts[r]):
                    c = counts[r]
                    bounds[r, c], aboves[r, c], gathered[r, c], counts[r] = bound, above, others[j], c + 1
                    if c + 1 == room:
                        counts[r], ties[r], lasts[r] = _thin(
                            bounds[r], aboves[r], gathered[r], ties[r], lasts[r], k, own[r], values[0], values[1], scale
                        )
                        limit = aboves[r, -1]
                if beyond and not _comes_after(bound, above, own[r], ties_[j], lasts_[j]):
                    c = counts_[j]
                    bounds_[j, c], aboves_[j, c], gathered_[j, c], counts_[j] = bound, above, own[r], c + 1
                    if c + 1 == room:
                        counts_[j], ties_[j], lasts_[j] = _thin(
                            bounds_[j], aboves_[j], gathered_[j], ties_[j], lasts_[j], k, others[j], values[1],
                            values[0], scale,
                        )  # fmt: skip
                        limits[j] = aboves_[j, -1]
            if not guessed or (aboves[r, : counts[r]] <= guess).sum() >= k:
                break
            limit, guessed, counts[r] = np.inf, False, 0
        own_limits[r] = limit


@njit(nogil=True, cache=True, error_model="numpy")
def _list_near(row, limit, limits, both, near):
    """Write the positions of bounds that are not above the limit, or with `both` their own; return their number."""
    count = 0
    if not both:
        for j in range(len(row)):  # without a branch: none could be foretold
            near[count] = j
            count += not row[j] > limit
        return count
    for begin in range(0, len(row), _RUN):
        run, there = row[begin : begin + _RUN], limits[begin : begin + _RUN]
        some = np.int32(0)  # in this form, the loop becomes one of vector instructions
        for t in range(len(run)):
            some += np.int32(not (run[t] > limit)) | np.int32(not (run[t] > there[t]))
        if some:
            for t in range(len(run)):
                near[count] = begin + t
                count += (not run[t] > limit) | (not run[t] > there[t])
    return count


@njit(nogil=True, cache=True, error_model="numpy")
def _guess_limit(row, k):
    """A bound that rather more than k of a row are below, by every 16th of them; infinite of a short row."""
    rank = int(1.5 * k / _EVERY) + 2
    if len(row) < 4 * _EVERY * rank:
        return np.inf
    return _select(row[::_EVERY].copy(), rank)


@njit(nogil=True, cache=True, error_model="numpy")
def _comes_after(bound, above, number, tie, last):
    """Tell whether a row is at least as far as enough others that come first where rows are equally far."""
    middle = (bound + above) / 2.0
    return number > last and middle >= tie * (1 - _TIE) and above - bound < _TIGHT * middle


@njit(nogil=True, cache=True, error_model="numpy")
def _thin(bounds, aboves, gathered, tie, last, k, own, values, others, scale):
    """Keep those of the gathered that may be among the nearest; return their number, and what is known of ties.

    The last place is free afterwards, and has the limit as its above.
    """
    limit, kept = _select(aboves.copy(), k - 1), 0
    for t in range(len(gathered)):
        if not bounds[t] > limit:
            bounds[kept], aboves[kept], gathered[kept] = bounds[t], aboves[t], gathered[t]
            kept += 1
    if kept > len(gathered) - k // 2 - 16:  # too many are equally far, as far as bounds can tell
        near, at = _measure(bounds[:kept], aboves[:kept], gathered[:kept], limit, k, own, values, others, scale)
        for t in range(k):
            bounds[t], aboves[t], gathered[t] = -1.0, near[t] * (1 + 1e-6), at[t]
        kept, limit, tie, last = k, aboves[k - 1], near[k - 1], 0
        for t in range(k):
            if near[t] >= tie * (1 - 2 * _TIE):
                last = max(last, at[t])
    aboves[-1] = limit
    return kept, tie, last


@njit(nogil=True, cache=True, error_model="numpy")
def _select(values, rank):
    """The value of that rank, from 0; the values, which are in random order, change places."""
    first, last = 0, len(values) - 1
    while first < last:
        pivot = values[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if j < rank < i:
            break
        if rank <= j:
            last = j
        else:
            first = i
    return values[rank]


@njit(nogil=True, cache=True, error_model="numpy")
def _measure(bounds, aboves, ids, limit, k, own, values, others, scale):
    """Squared distances to the k nearest of those gathered, rising, and who these are; of equal ones, the first."""
    found, offs = np.empty(len(ids)), np.empty(len(ids))
    who, count = np.empty(len(ids), dtype=np.int64), 0
    for c in range(len(ids)):
        if bounds[c] > limit:
            continue
        d = (bounds[c] + aboves[c]) / 2.0
        off = _TIE * d
        if not aboves[c] - bounds[c] < _TIGHT * d:
            d, off = _gap(own, ids[c], values, others, scale), 0.0
        # what cannot be compared is as far as can be
        found[count], offs[count], who[count] = d if d < np.inf else np.inf, off, ids[c]
        count += 1
    order, first = np.argsort(found[:count]), 0
    for c in range(1, count + 1):
        if c < count and found[order[c]] <= found[order[c - 1]] + max(offs[order[c]], offs[order[c - 1]]):
            continue
        if c > first + 1:  # as good as equal
            same = order[first:c].copy()
            order[first:c] = same[np.argsort(who[same])]
        first = c
    return found[order[:k]], who[order[:k]]


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
    _, bounds, aboves, ids, counts, _, _ = gathered
    k = positions.shape[1]
    for r in range(len(own)):
        i, c = own[r], counts[r]
        limit = _select(aboves[r, :c].copy(), k - 1)
        near, at = _measure(bounds[r, :c], aboves[r, :c], ids[r, :c], limit, k, i, values[0], values[1], scale)
        for t in range(k):
            distances[i, t], positions[i, t] = np.sqrt(near[t]) / scale, at[t]
