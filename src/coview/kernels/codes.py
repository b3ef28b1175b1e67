"""Which items may be among the k best by inner product: products of 8-bit codes, and how far off they can be.

Item x and query q are rounded to s_x a and s_q b, whole numbers a and b from -127 to 127 with a step s for each row:

    |<q, x> - s_q s_x <b, a>|  <=  |q| |x - s_x a|  +  |q - s_q b| |s_x a|

so each product of codes bounds a score from below and from above. An item may be among the k best only if its upper
bound is not under the k-th largest lower bound. 16 products are added at a time, by one instruction where the processor
has it (Arm: sdot); four items by four queries are multiplied together, from registers.
"""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from coview.kernels.compiling import njit

__all__ = ["BLOCK", "LANES", "TILE", "candidates", "multiply_tile", "score_pairs"]

LANES = 16  # codes in a register: widths are multiples of it
TILE = 4  # items, and queries, that are multiplied together: their numbers are multiples of it
BLOCK = 256  # items whose products are held at a time; numbers of items are multiples of TILE
_CHUNK = 64  # products that are looked at together: most often none of them is large enough


def _sum_in_four() -> str | None:
    """Name of LLVM's sum of 16 numbers in four, which becomes one instruction on Arm; None where there is none."""
    if not llvm.get_process_triple().startswith(("aarch64", "arm64")) or llvm.llvm_version_info[0] < 20:
        return None
    return f"llvm.{'experimental.' if llvm.llvm_version_info[0] < 22 else ''}vector.partial.reduce.add.v4i32.v16i32"


def _add_products(builder, total, left, right):
    """Add the products of 16 pairs of bytes to the four sums of `total`; which pair goes to which does not matter."""
    four, wide = ir.VectorType(ir.IntType(32), 4), ir.VectorType(ir.IntType(32), 16)
    products = builder.mul(builder.sext(left, wide), builder.sext(right, wide))
    name = _sum_in_four()
    if name is not None:
        kind = ir.FunctionType(four, [four, wide])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [total, products])
    eight = builder.add(*(_shuffled(builder, products, products, range(odd, 16, 2)) for odd in (0, 1)))  # x86: pmaddwd
    halves = [_shuffled(builder, eight, eight, range(start, start + 4)) for start in (0, 4)]
    return builder.add(total, builder.add(*halves))


def _shuffled(builder, first, second, places):
    places = list(places)
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
    return builder.shuffle_vector(first, second, mask)


def _paired(builder, first, second):
    """Sums of neighbors of two registers of four."""
    return builder.add(*(_shuffled(builder, first, second, range(odd, 8, 2)) for odd in (0, 1)))


@intrinsic
def multiply_tile(typing, items, row, queries, first, out, column):
    """Write the products of the codes of four queries and four items to out[:4, column : column + 4] (int32)."""
    signature = types.void(items, row, queries, first, out, column)

    def code(context, builder, signature, arguments):
        i32, byte = ir.IntType(32), ir.IntType(8)
        four = ir.VectorType(i32, 4)

        def pointer(which, at, line):
            kind = signature.args[which]
            array = context.make_array(kind)(context, builder, arguments[which])
            start = context.cast(builder, arguments[at], signature.args[at], types.intp)
            line = start.type(line)
            where = [line, start] if which == 4 else [builder.add(start, line), start.type(0)]
            return cgutils.get_item_pointer(context, builder, kind, array, where, wraparound=False)

        width = cgutils.unpack_tuple(
            builder, context.make_array(signature.args[0])(context, builder, arguments[0]).shape, 2
        )[1]
        left = [builder.bitcast(pointer(0, 1, i), byte.as_pointer()) for i in range(TILE)]
        right = [builder.bitcast(pointer(2, 3, q), byte.as_pointer()) for q in range(TILE)]
        totals = [cgutils.alloca_once_value(builder, ir.Constant(four, [0] * 4)) for _ in range(TILE * TILE)]
        for total in totals:  # alloca_once writes at the start of the function only
            builder.store(ir.Constant(four, [0] * 4), total)
        with cgutils.for_range_slice(builder, width.type(0), width, width.type(LANES)) as (at, _):

            def load(base, at=at):
                place = builder.gep(base, [at], source_etype=byte)
                kind = ir.VectorType(byte, LANES)
                return builder.load(builder.bitcast(place, kind.as_pointer()), align=1, typ=kind)

            rows, asked = [load(base) for base in left], [load(base) for base in right]
            for q in range(TILE):
                for i in range(TILE):
                    total = totals[q * TILE + i]
                    builder.store(_add_products(builder, builder.load(total), rows[i], asked[q]), total)
        for q in range(TILE):
            one, two, three, last = (builder.load(totals[q * TILE + i]) for i in range(TILE))
            sums = _paired(builder, _paired(builder, one, two), _paired(builder, three, last))
            place = builder.bitcast(pointer(4, 5, q), four.as_pointer())
            builder.store(sums, place, align=4)
        return context.get_dummy_value()

    return signature, code


@njit(nogil=True, cache=True, error_model="numpy")
def candidates(codes, steps, errors, queries, lengths, slacks, n, k, bounds, rows, uppers, counts):
    """Write to rows[q, :counts[q]] the items that may be among the k best of query q; counts[q] is -1 if too many.

    All in units of the query's step: `lengths` are |q| / s_q, `errors` |x - s_x a|, and `slacks` bound what else a
    product is off. `bounds` (queries x k) is filled with -inf, and ends as a heap of the k largest lower bounds.
    """
    room = rows.shape[1]
    products = np.empty((TILE, BLOCK), dtype=np.int32)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        for first in range(0, len(queries), TILE):
            for i in range(start, stop, TILE):
                multiply_tile(codes, i, queries, first, products, i - start)  # type: ignore[call-arg]
            for q in range(first, min(first + TILE, len(counts))):
                length, slack, count = lengths[q], slacks[q], counts[q]
                for begin in range(start, stop if count >= 0 else start, _CHUNK):
                    end = min(begin + _CHUNK, stop)
                    if not _some_reach(
                        products, q - first, start, steps, errors, length, bounds[q, 0] - slack, begin, end
                    ):
                        continue
                    for i in range(begin, end):
                        near = np.float32(products[q - first, i - start]) * steps[i]
                        upper = near + length * errors[i] + slack
                        if upper < bounds[q, 0]:
                            continue
                        lower = near - length * errors[i] - slack
                        if lower > bounds[q, 0]:
                            _replace_smallest(bounds, q, k, lower)
                        if count == room:
                            count = _keep_possible(rows, uppers, q, count, bounds[q, 0])
                            if 2 * count > room:
                                count = -1
                                break
                        rows[q, count] = i
                        uppers[q, count] = upper
                        count += 1
                    if count < 0:
                        break
                counts[q] = count
    for q in range(len(counts)):
        if counts[q] >= 0:
            counts[q] = _keep_possible(rows, uppers, q, counts[q], bounds[q, 0])


@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
def _some_reach(products, line, start, steps, errors, length, bar, begin, end):
    """Whether an upper bound, less the slack of the query, is at least `bar`; unsigned positions, several at a time."""
    line = np.uint64(line)
    some = np.int32(0)
    for i in range(np.uint64(begin), np.uint64(end)):
        upper = np.float32(products[line, i - np.uint64(start)]) * steps[i] + length * errors[i]
        some |= np.int32(upper >= bar)
    return some != 0


@njit(nogil=True, cache=True)
def _keep_possible(rows, uppers, q, count, bar):
    """Forget candidates whose upper bound is under the bar; return how many are left."""
    kept = 0
    for j in range(count):
        if uppers[q, j] >= bar:
            rows[q, kept] = rows[q, j]
            uppers[q, kept] = uppers[q, j]
            kept += 1
    return kept


@njit(nogil=True, cache=True)
def _replace_smallest(heap, q, k, value):
    """Put a value in place of the smallest of a heap, which is its first."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= k:
            break
        if child + 1 < k and heap[q, child + 1] < heap[q, child]:
            child += 1
        if heap[q, child] >= value:
            break
        heap[q, at] = heap[q, child]
        at = child
    heap[q, at] = value


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"}, error_model="numpy")
def score_pairs(queries, vectors, rows, counts, out):
    """Write the inner product of query q and vectors[rows[q, j]] to out[q, j], for j below counts[q]; -inf beyond."""
    for q in range(len(counts)):
        for j in range(out.shape[1]):
            if j >= counts[q]:
                out[q, j] = -np.inf
                continue
            i = rows[q, j]
            total = 0.0
            for d in range(queries.shape[1]):
                total += np.float64(queries[q, d]) * np.float64(vectors[i, d])
            out[q, j] = total
