"""Sums over rows of factors, written in the processor's vectors.

    weigh_and_add(A, a, B, rows, counts, soon, out, o, others, weights, place)    one step of `coview.kernels.ratio`
    ask_row(one, other, begin)                                                    a hint of a row of two arrays

Columns are taken in blocks of 64 bytes, then one of 32 and one of 16, then the rest one by one: every number of columns
has its own fixed order of adding up. A compiler that is left to find vectors in loops over columns takes two at a time
and the rest one by one, asks before each loop whether `out` and `B` overlap (they must not), and adds up and divides
the sums of four rows one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from coview.kernels.memory import ask

__all__ = ["ask_row", "weigh_and_add"]

_BLOCK = 64  # bytes: a cache line, so that each block of a row needs one hint
_written: Any = intrinsic  # whose types no checker understands
_MATH = ("reassoc", "contract", "nsz", "arcp")  # as in the kernels that use it


@_written
def weigh_and_add(typing, A, a, B, rows, counts, soon, out, o, others, weights, place):
    """Weigh some rows of B while others, whose weights are known, are added up: neither waits for the other.

    A row is named by where it begins (its number x columns): `a` of A, `o` of out, those in `rows`, `others` and `soon`
    of B. Returns s = A[a] . B[row] for each of `rows`. Adds `others` by `weights[place]` to out[o]; after that,
    `weights[place]` are count / s of `rows`, 0 where s is not above 0. Gives a hint that the rows in `soon` will be
    read, a line at a time. `out` overlaps neither A nor B.
    """
    _check(A, B, out, weights)
    numbers = types.UniTuple(A.dtype, len(rows))
    signature = numbers(A, a, B, rows, counts, soon, out, o, others, weights, place)

    def code(context, builder, signature, arguments):
        kinds, number = signature.args, signature.args[0].dtype
        scalar = context.get_value_type(number)
        lanes = _BLOCK // context.get_abi_sizeof(scalar)
        width = builder.extract_value(context.make_array(kinds[0])(context, builder, arguments[0]).shape, 1)
        first, second, third, held = (
            context.make_array(kinds[n])(context, builder, arguments[n]).data for n in (0, 2, 6, 9)
        )
        one, target = builder.gep(first, [arguments[1]]), builder.gep(third, [arguments[7]])
        read, asked, added = (
            [builder.gep(second, [row]) for row in cgutils.unpack_tuple(builder, arguments[n])] for n in (3, 5, 8)
        )
        x = [
            context.cast(builder, count, kind, number)
            for count, kind in zip(cgutils.unpack_tuple(builder, arguments[4]), kinds[4].types)
        ]
        # which of the two groups in flight: its weights are read here and overwritten at the end
        kept = builder.mul(context.cast(builder, arguments[10], kinds[10], types.intp), width.type(len(read)))
        before = _read(builder, held, kept, len(read))
        sums = [cgutils.alloca_once(builder, ir.VectorType(scalar, lanes // 2)) for _ in read]
        for total in sums:
            builder.store(_zeros(scalar, lanes // 2), total)

        def take(k, size, hints):
            """Both sums over some columns; hints in between, since many at once would wait for each other."""
            a, total = _read(builder, one, k, size), _read(builder, target, k, size)
            for n, (part, row, other) in enumerate(zip(sums, read, added)):
                product = builder.fmul(a, _read(builder, row, k, size), flags=_MATH)
                builder.store(builder.fadd(builder.load(part), product, flags=_MATH), part)
                for line in hints[n : n + 1]:
                    ask(builder, builder.bitcast(line, ir.IntType(8).as_pointer()), 3)
                product = builder.fmul(_pick(builder, before, [n] * size), _read(builder, other, k, size), flags=_MATH)
                total = builder.fadd(total, product, flags=_MATH)
            builder.store(total, _place(builder, target, k, size), align=_align(scalar))

        done = builder.and_(width, width.type(-lanes))
        with cgutils.for_range_slice(builder, width.type(0), done, width.type(lanes)) as (k, _):
            lines = [builder.gep(row, [k]) for row in asked]
            take(k, lanes // 2, lines[: len(lines) // 2])
            take(builder.add(k, k.type(lanes // 2)), lanes // 2, lines[len(lines) // 2 :])
        rest, last = builder.sub(width, done), builder.sub(width, width.type(1))
        # what is left of a row may lie in two lines, except where it is a power of 2 of columns
        several = builder.and_(rest, builder.sub(rest, width.type(1)))
        for k, there in ((done, rest), (last, several)):
            with builder.if_then(builder.icmp_unsigned("!=", there, width.type(0))):
                for row in asked:
                    _ask_at(builder, row, k)
        # sums are narrowed with the blocks, which costs nothing: the lanes are added up in the end anyway
        for size in (lanes // 2, lanes // 4):
            if size < sums[0].type.pointee.count:
                for place, total in enumerate(sums):
                    whole = builder.load(total)
                    halves = [_pick(builder, whole, range(start, start + size)) for start in (0, size)]
                    sums[place] = cgutils.alloca_once(builder, halves[0].type)
                    builder.store(builder.fadd(*halves, flags=_MATH), sums[place])
            left = builder.and_(width, width.type(size))
            with builder.if_then(builder.icmp_unsigned("!=", left, width.type(0))):
                take(done, size, [])
            done = builder.add(done, left)
        total = cgutils.alloca_once(builder, ir.VectorType(scalar, len(read)))
        builder.store(_totals(builder, [builder.load(part) for part in sums]), total)
        with cgutils.for_range_slice(builder, done, width, width.type(1)) as (k, _):
            a = _spread(builder, builder.load(builder.gep(one, [k])), len(read))
            b = _gathered(builder, [builder.load(builder.gep(row, [k])) for row in read])
            builder.store(builder.fadd(builder.load(total), builder.fmul(a, b, flags=_MATH), flags=_MATH), total)
            place = builder.gep(target, [k])
            value = builder.load(place)
            for n, other in enumerate(added):
                weight = builder.extract_element(before, ir.IntType(32)(n))
                product = builder.fmul(weight, builder.load(builder.gep(other, [k])), flags=_MATH)
                value = builder.fadd(value, product, flags=_MATH)
            builder.store(value, place)
        # one division for the four rows
        s, zeros = builder.load(total), _zeros(scalar, len(read))
        quotient = builder.fdiv(_gathered(builder, x), s, flags=_MATH)
        r = builder.select(builder.fcmp_ordered(">", s, zeros), quotient, zeros)
        builder.store(r, _place(builder, held, kept, len(read)), align=_align(scalar))
        return context.make_tuple(builder, numbers, _scattered(builder, s))

    return signature, code


@_written
def ask_row(typing, one, other, begin):
    """Give a hint that the row of two arrays that begins at a place, in both or behind them, will be read soon."""
    _check(one, other)
    signature = types.void(one, other, begin)

    def code(context, builder, signature, arguments):
        arrays = [context.make_array(signature.args[n])(context, builder, arguments[n]) for n in (0, 1)]
        width = builder.extract_value(arrays[0].shape, 1)
        step = width.type(_BLOCK // context.get_abi_sizeof(context.get_value_type(signature.args[0].dtype)))
        end = builder.add(arguments[2], width)
        with cgutils.for_range_slice(builder, arguments[2], end, step) as (k, _):
            for array in arrays:
                _ask_at(builder, array.data, k)
        return context.get_dummy_value()

    return signature, code


def _check(*arrays: Any) -> None:
    """Refuse arrays whose rows do not lie one behind the other, or of several types, when they are compiled."""
    for array in arrays:
        if array.ndim != 2 or array.layout != "C" or array.dtype != arrays[0].dtype:
            raise TypingError(f"2-D arrays in C order of one type are needed, got {', '.join(map(str, arrays))}.")


def _ask_at(builder: Any, row: Any, k: Any) -> None:
    """Write a hint of column k of a row."""
    # at its second byte for float64: a hint at 8 k itself has no effect on a Neoverse N1
    place = builder.bitcast(builder.gep(row, [k]), ir.IntType(8).as_pointer())
    ask(builder, place if _align(row.type.pointee) < 8 else builder.gep(place, [k.type(1)]), 3)


def _align(scalar: Any) -> int:
    return 8 if isinstance(scalar, ir.DoubleType) else 4


def _place(builder: Any, row: Any, k: Any, size: int) -> Any:
    pointer = builder.gep(row, [k])
    scalar = pointer.type.pointee
    return builder.bitcast(pointer, ir.VectorType(scalar, size).as_pointer())


def _read(builder: Any, row: Any, k: Any, size: int) -> Any:
    return builder.load(_place(builder, row, k, size), align=_align(row.type.pointee))


def _zeros(scalar: Any, size: int) -> Any:
    return ir.Constant(ir.VectorType(scalar, size), [0.0] * size)


def _pick(builder: Any, vector: Any, lanes: Iterable[int], other: Any = None) -> Any:
    """Lanes of a vector, or of two one behind the other."""
    mask = [ir.IntType(32)(lane) for lane in lanes]
    other = ir.Constant(vector.type, ir.Undefined) if other is None else other
    return builder.shuffle_vector(vector, other, ir.Constant(ir.VectorType(ir.IntType(32), len(mask)), mask))


def _totals(builder: Any, vectors: list[Any]) -> Any:
    """Sums of the lanes of one, two or four vectors, as one vector."""
    n = len(vectors)
    found = _side_by_side(builder, vectors)
    while found.type.count > n:  # neighbors in pairs: after each round every vector has half as many lanes
        even, odd = (_pick(builder, found, range(start, found.type.count, 2)) for start in (0, 1))
        found = builder.fadd(even, odd, flags=_MATH)
    return found


def _side_by_side(builder: Any, vectors: list[Any]) -> Any:
    """One vector of all lanes of one, two or four."""
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2])
        vectors = [_pick(builder, a, range(2 * a.type.count), b) for a, b in pairs]
    return vectors[0]


def _spread(builder: Any, scalar: Any, size: int) -> Any:
    return _pick(builder, _gathered(builder, [scalar]), [0] * size)


def _gathered(builder: Any, scalars: list[Any]) -> Any:
    vector = ir.Constant(ir.VectorType(scalars[0].type, len(scalars)), ir.Undefined)
    for lane, scalar in enumerate(scalars):
        vector = builder.insert_element(vector, scalar, ir.IntType(32)(lane))
    return vector


def _scattered(builder: Any, vector: Any) -> list[Any]:
    return [builder.extract_element(vector, ir.IntType(32)(lane)) for lane in range(vector.type.count)]
