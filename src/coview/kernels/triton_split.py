"""The `ratio` half-steps over a divided view (`torch_split.py`) as matrix products and Triton kernels.

A list is of 32-bit words: a weight, and in the last bits of its mantissa the topic. Non-zeros with lists are gone over
in the order of the rows in both half-steps; their sums meet by atomic addition, in the rows or in the lists.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch
import triton
import triton.language as tl

from coview.kernels.torch_split import LENGTHS, SMALL, VALUES, Split
from coview.kernels.triton_eight import add_ratio, eight_bits
from coview.kernels.triton_shares import halved

__all__ = ["MOST_TOPICS", "SplitRatio"]

MOST_TOPICS = 4096  # whose number the last bits of a weight can hold
_CELLS = 1 << 27  # of the dense block at a time
_STRIPES = 64  # of numbers that features add to
_RUN = 1024  # non-zeros of the block that one program handles


@triton.jit
def _fill(
    B, bases, lengths, others, words, topics, numbers,
    SMALL: tl.constexpr, K: tl.constexpr, WIDTH: tl.constexpr, KINDS: tl.constexpr, STRIPES: tl.constexpr,
):  # fmt: skip
    feature = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, WIDTH)
    b = tl.load(B + feature * K + k, mask=k < K, other=0.0)
    on = b > SMALL * tl.max(b, axis=0)
    count = tl.sum(on.to(tl.int32))
    tl.store(topics + feature, count)
    length = tl.load(lengths + feature)
    if length > 0:
        place = tl.cumsum(on.to(tl.int32), axis=0) - 1
        word = ((b.to(tl.int32, bitcast=True) + WIDTH // 2) & -WIDTH) | k
        tl.store(words + tl.load(bases + feature) + place, word, mask=on & (place < length))
    # what `Split.renew` asks, in stripes so that few programs add to one place
    stripe = numbers + (feature % STRIPES) * (2 * KINDS + 1)
    kind = 0
    for least in tl.static_range(KINDS - 1):
        kind += (count > (4 << least)).to(tl.int32)
    non_zeros = tl.load(others + feature)
    if non_zeros > 0:
        tl.atomic_add(stripe + kind, non_zeros, sem="relaxed")
        tl.atomic_add(stripe + KINDS + kind, 1, sem="relaxed")
    if (length > 0) & (count > length):
        tl.atomic_add(stripe + 2 * KINDS, 1, sem="relaxed")


@triton.jit
def _listed(
    first, last, values, rows, bases, words, A, out,
    K: tl.constexpr, WIDTH: tl.constexpr, LENGTH: tl.constexpr, EACH: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    e = first + tl.arange(0, EACH)
    there = e < last
    x = tl.load(values + e, mask=there, other=0.0)
    row = tl.load(rows + e, mask=there, other=0).to(tl.int64)
    place = tl.load(bases + e, mask=there, other=0)[:, None] + tl.arange(0, LENGTH)[None, :]
    word = tl.load(words + place, mask=there[:, None], other=0)
    b = (word & -WIDTH).to(tl.float32, bitcast=True)
    on = b > 0
    cell = row[:, None] * K + (word & (WIDTH - 1))
    a = tl.load(A + cell, mask=on, other=0.0)
    s = tl.sum(a * b, axis=1)
    safe = tl.where(s > 0, s, 1.0)
    r = tl.where(s > 0, x / safe, 0.0)
    if ROWS:
        tl.atomic_add(out + cell, r[:, None] * b, mask=on, sem="relaxed")
    else:
        tl.atomic_add(out + place, r[:, None] * a, mask=on, sem="relaxed")
    return tl.sum(x * tl.log(safe))


@triton.jit
def _lists(
    kinds, first_of, last_of, values, rows, bases, words, A, out, logs,
    K: tl.constexpr, WIDTH: tl.constexpr, VALUES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    kind = tl.load(kinds + program)
    first = tl.load(first_of + program)
    last = tl.load(last_of + program)
    if kind == 0:
        likelihood = _listed(first, last, values, rows, bases, words, A, out, K, WIDTH, 4, VALUES // 4, ROWS)
    elif kind == 1:
        likelihood = _listed(first, last, values, rows, bases, words, A, out, K, WIDTH, 8, VALUES // 8, ROWS)
    elif kind == 2:
        likelihood = _listed(first, last, values, rows, bases, words, A, out, K, WIDTH, 16, VALUES // 16, ROWS)
    elif kind == 3:
        likelihood = _listed(first, last, values, rows, bases, words, A, out, K, WIDTH, 32, VALUES // 32, ROWS)
    elif kind == 4:
        likelihood = _listed(first, last, values, rows, bases, words, A, out, K, WIDTH, 64, VALUES // 64, ROWS)
    else:
        likelihood = _listed(first, last, values, rows, bases, words, A, out, K, WIDTH, 128, VALUES // 128, ROWS)
    if ROWS:
        tl.store(logs + program, likelihood.to(tl.float64))


@triton.jit
def _unpack(bases, lengths, words, sums, out, K: tl.constexpr, WIDTH: tl.constexpr, LONGEST: tl.constexpr):
    feature = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + feature)
    if length > 0:
        c = tl.arange(0, LONGEST)
        place = tl.load(bases + feature) + c
        word = tl.load(words + place, mask=c < length, other=0)
        where = out + feature * K + (word & (WIDTH - 1))
        on = word > 0
        tl.store(where, tl.load(where, mask=on, other=0.0) + tl.load(sums + place, mask=on, other=0.0), mask=on)


@triton.jit(do_not_specialize=["n", "first_row"])
def _block(n, rows, columns, values, S, R, logs, first_row, width, RUN: tl.constexpr):
    e = tl.program_id(0) * RUN + tl.arange(0, RUN)
    there = e < n
    row = tl.load(rows + e, mask=there, other=0).to(tl.int64) - first_row
    cell = row * width + tl.load(columns + e, mask=there, other=0)
    x = tl.load(values + e, mask=there, other=0.0)
    s = tl.load(S + cell, mask=there, other=0.0).to(tl.float32)
    safe = tl.where(s > 0, s, 1.0)
    tl.store(R + cell, tl.where(s > 0, x / safe, 0.0).to(R.dtype.element_ty), mask=there)
    tl.store(logs + tl.program_id(0), tl.sum(x * tl.log(safe)).to(tl.float64))


class SplitRatio:
    """Both half-steps over one divided view, of which `by_feature` is the same by columns."""

    def __init__(self, split: Split, by_feature: Any) -> None:
        self._split, self._by_feature = split, by_feature
        self._read_from: Any = None
        self._topics = torch.empty(split.shape[1], dtype=torch.int32, device=by_feature.values.device)
        self._divided()

    def _divided(self) -> None:
        """Make what follows from a new division."""
        split = self._split
        self._rest_columns = _Runs(self._by_feature, split.rest_columns(self._by_feature.indptr))
        step = max(1, _CELLS // max(len(split.block.features), 1))
        starts = torch.arange(0, split.shape[0] + step, step, device=split.block.rows.device)
        places = torch.searchsorted(split.block.rows, starts.to(split.block.rows.dtype)).tolist()
        self._block_parts = [
            (slice(start, start + step), slice(*ends)) for start, *ends in zip(starts.tolist()[:-1], places, places[1:])
        ]

    def rows(self, A: Any, B: Any) -> tuple[Any, Any]:
        """R @ B over the rows and the log-likelihood as a float64 scalar."""
        answer = self._read(B)
        out, likelihood = self._block_rows(A, B)  # while the numbers that decide on a new division come over
        if answer is not None and self._split.renew(answer(), self._topics):
            self._divided()
            self._fill(B)
            out, likelihood = self._block_rows(A, B)
        if len(self._split.rest.values):
            likelihood = likelihood + add_ratio(self._split.rest, A, eight_bits(B), out, True)
        return out, likelihood + self._over_lists(A, out, rows=True).sum()

    def features(self, A: Any, B: Any, into: Any) -> Any:
        """R.T @ A over the features, added to `into` if given."""
        answer = self._read(B)
        if answer is not None and self._split.renew(answer(), self._topics):
            self._divided()
            self._fill(B)
        split, coarse = self._split, halved(A)
        out = torch.zeros_like(B) if into is None else into
        if len(split.block.features):
            weights = B[split.block.features].bfloat16()
            for part, R, _ in self._blocks(coarse, weights):
                out.index_add_(0, split.block.features, _product(R.T, coarse[part]))
        if len(split.rest.values):
            add_ratio(self._rest_columns, B, eight_bits(A), out, False)
        if split.total:
            sums = torch.zeros(split.total, dtype=torch.float32, device=A.device)
            self._over_lists(A, sums, rows=False)
            _unpack[(len(B),)](
                split.bases, split.lengths, self._words, sums, out,
                K=split.width, WIDTH=triton.next_power_of_2(split.width), LONGEST=LENGTHS[-1], num_warps=1,
            )  # fmt: skip
        return out

    def _read(self, B: Any) -> Any:
        """Make lists of these weights, if there are none yet; returns the function that waits for what `renew` asks."""
        if self._read_from is not None and self._read_from[0]() is B and self._read_from[1] == B._version:
            return None
        numbers = self._fill(B)
        if not B.is_cuda:
            return numbers.tolist
        host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
        host.copy_(numbers, non_blocking=True)
        copied = torch.cuda.Event()
        copied.record()

        def answer() -> list[float]:
            copied.synchronize()
            return host.tolist()

        return answer

    def _fill(self, B: Any) -> Any:
        """Write the lists, as far as they hold the weights, and count topics; returns what `Split.renew` asks."""
        split, kinds = self._split, len(LENGTHS) + 1
        self._words = torch.zeros(split.total, dtype=torch.int32, device=B.device)
        numbers = torch.zeros((_STRIPES, 2 * kinds + 1), dtype=torch.int64, device=B.device)
        _fill[(len(B),)](
            B, split.bases, split.lengths, split.others, self._words, self._topics, numbers,
            SMALL=SMALL, K=split.width, WIDTH=triton.next_power_of_2(split.width), KINDS=kinds, STRIPES=_STRIPES,
            num_warps=1,
        )  # fmt: skip
        self._read_from = weakref.ref(B), B._version
        return numbers.sum(dim=0)

    def _block_rows(self, A: Any, B: Any) -> tuple[Any, Any]:
        """What the features of the block pull at the rows, zero without any, and their log-likelihood."""
        total = torch.zeros((), dtype=torch.float64, device=A.device)
        if not len(self._split.block.features):
            return torch.zeros_like(A), total
        out = torch.empty_like(A)
        weights = B[self._split.block.features].bfloat16()
        for part, R, likelihoods in self._blocks(halved(A), weights):
            _product(R, weights, out[part])
            total += likelihoods.sum()
        return out, total

    def _blocks(self, A: Any, B: Any) -> Any:
        """Rows, their ratios with the features of the block as a dense matrix and the logarithms, part by part."""
        block = self._split.block
        for part, own in self._block_parts:
            S = A[part] @ B.T
            R = torch.zeros_like(S)
            programs = triton.cdiv(own.stop - own.start, _RUN)
            likelihoods = torch.empty(programs, dtype=torch.float64, device=A.device)
            if programs:
                _block[(programs,)](
                    own.stop - own.start, block.rows[own], block.columns[own], block.values[own],
                    S, R, likelihoods, part.start, len(B), RUN=_RUN,
                )  # fmt: skip
            yield part, R, likelihoods

    def _over_lists(self, A: Any, out: Any, *, rows: bool) -> Any:
        """Add the sums over non-zeros with lists; return the logarithms by program."""
        split, listed = self._split, self._split.listed
        logs = torch.zeros(len(listed.kinds), dtype=torch.float64, device=A.device)
        if len(listed.kinds):
            _lists[(len(listed.kinds),)](
                listed.kinds, listed.first, listed.last, listed.values, listed.rows, listed.bases,
                self._words, A, out, logs,
                K=split.width, WIDTH=triton.next_power_of_2(split.width), VALUES=VALUES, ROWS=rows, num_warps=2,
            )  # fmt: skip
        return logs


class _Runs:
    """Some of the runs of a matrix."""

    def __init__(self, X: Any, segments: Any) -> None:
        self.indices, self.values, self.shape, self.segments = X.indices, X.values, X.shape, segments


def _product(left: Any, right: Any, out: Any = None) -> Any:
    """A product of bfloat16 matrices in float32; rounded to bfloat16 before by a torch that cannot do otherwise."""
    if left.is_cuda and "dtype" in torch.ops.aten.mm.overloads():
        if out is None:
            return torch.mm(left, right, out_dtype=torch.float32)
        return torch.mm(left, right, out_dtype=torch.float32, out=out)
    return (left @ right).float() if out is None else out.copy_(left @ right)
