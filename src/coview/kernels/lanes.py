"""Sums over rows of factors, written in the processor's vectors.

    weigh_rows(A, i, B, (c, ...), (x, ...))    s = A[i] . B[c] and r = x / s (0 where s is 0) for each c
    add_rows(out, i, B, (c, ...), (r, ...))    out[i] += sum of r B[c]
    ask_rows(B, (c, ...))                      a hint that rows c of B will be read soon

Columns are taken in blocks of 64 bytes, then one of 32 and one of 16, then the rest one by one: every number of columns
has its own fixed order of adding up. A compiler that is left to find vectors in loops over columns takes two at a time
and the rest one by one, asks before each loop whether `out` and `B` overlap (they must not), adds up and divides the
sums of four rows one by one: that takes 1.3 x the time for 20 columns, 1.1 x for 64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from coview.kernels.memory import ask

__all__ = ["add_rows", "ask_rows", "weigh_rows"]

_BLOCK = 64  # bytes
_written: Any = intrinsic  # whose types no checker understands
_MATH = ("reassoc", "contract", "nsz", "arcp")  # as in the kernels that use it


@_written
def weigh_rows(typing, A, i, B, columns, counts):
    """Return s = A[i] . B[c] and r = count / s, 0 where s is not above 0, by rows c of B; 2-D, C order, one type."""
    _check(A, B)
    numbers = types.UniTuple(A.dtype, len(columns))
    signature = types.Tuple((numbers, numbers))(A, i, B, columns, counts)

    def code(context, builder, signature, arguments):
        one, many, width = _operands(context, builder, signature, arguments)
        number = signature.args[0].dtype
        scalar = context.get_value_type(number)
        lanes = _BLOCK // context.get_abi_sizeof(scalar)
        sums = [cgutils.alloca_once(builder, ir.VectorType(scalar, lanes)) for _ in many]
        for total in sums:
            builder.store(_zeros(scalar, lanes), total)

        def multiply(k, size):
            a = _read(builder, one, k, size)
            for total, row in zip(sums, many):
                product = builder.fmul(a, _read(builder, row, k, size), flags=_MATH)
                builder.store(builder.fadd(builder.load(total), product, flags=_MATH), total)

        def narrow(size):
            for place, total in enumerate(sums):
                whole = builder.load(total)
                halves = [_pick(builder, whole, range(start, start + size)) for start in (0, size)]
                sums[place] = cgutils.alloca_once(builder, halves[0].type)
                builder.store(builder.fadd(*halves, flags=_MATH), sums[place])

        done = _blocks(builder, width, lanes, multiply, narrow)
        total = cgutils.alloca_once(builder, ir.VectorType(scalar, len(many)))
        builder.store(_totals(builder, [builder.load(part) for part in sums]), total)
        with cgutils.for_range_slice(builder, done, width, width.type(1)) as (k, _):
            a = _spread(builder, builder.load(builder.gep(one, [k])), len(many))
            b = _gathered(builder, [builder.load(builder.gep(row, [k])) for row in many])
            builder.store(builder.fadd(builder.load(total), builder.fmul(a, b, flags=_MATH), flags=_MATH), total)
        s = builder.load(total)
        kinds = zip(cgutils.unpack_tuple(builder, arguments[4]), signature.args[4].types)
        x = _gathered(builder, [context.cast(builder, count, kind, number) for count, kind in kinds])
        zeros = _zeros(scalar, len(many))
        r = builder.select(builder.fcmp_ordered(">", s, zeros), builder.fdiv(x, s, flags=_MATH), zeros)
        parts = [context.make_tuple(builder, numbers, _scattered(builder, vector)) for vector in (s, r)]
        return context.make_tuple(builder, signature.return_type, parts)

    return signature, code


@_written
def add_rows(typing, out, i, B, columns, weights):
    """Add some rows of B, by their weights, to row i of out; both are 2-D, in C order, of one type."""
    _check(out, B)
    signature = types.void(out, i, B, columns, weights)

    def code(context, builder, signature, arguments):
        one, many, width = _operands(context, builder, signature, arguments)
        scalar = context.get_value_type(signature.args[0].dtype)
        lanes = _BLOCK // context.get_abi_sizeof(scalar)
        factors = [
            context.cast(builder, factor, kind, signature.args[0].dtype)
            for factor, kind in zip(cgutils.unpack_tuple(builder, arguments[4]), signature.args[4].types)
        ]

        def add(k, size):
            total = _read(builder, one, k, size)
            for factor, row in zip(factors, many):
                product = builder.fmul(_spread(builder, factor, size), _read(builder, row, k, size), flags=_MATH)
                total = builder.fadd(total, product, flags=_MATH)
            builder.store(total, _place(builder, one, k, size), align=_align(scalar))

        done = _blocks(builder, width, lanes, add, lambda size: None)
        with cgutils.for_range_slice(builder, done, width, width.type(1)) as (k, _):
            add(k, 1)
        return context.get_dummy_value()

    return signature, code


@_written
def ask_rows(typing, B, columns):
    """Ask for some rows of B (2-D, in C order), which will be read soon."""
    _check(B, B)
    signature = types.void(B, columns)

    def code(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        width = builder.extract_value(array.shape, 1)
        step = width.type(_BLOCK // context.get_abi_sizeof(context.get_value_type(signature.args[0].dtype)))
        kinds = zip(cgutils.unpack_tuple(builder, arguments[1]), signature.args[1].types)
        rows = [
            builder.gep(array.data, [builder.mul(context.cast(builder, row, kind, types.intp), width)])
            for row, kind in kinds
        ]
        with cgutils.for_range_slice(builder, width.type(0), width, step) as (k, _):
            for row in rows:
                ask(builder, builder.bitcast(builder.gep(row, [k]), ir.IntType(8).as_pointer()), 3)
        return context.get_dummy_value()

    return signature, code


def _check(one: Any, other: Any) -> None:
    """Refuse arrays whose rows do not lie one behind the other, and two of other types, when they are compiled."""
    for array in (one, other):
        if array.ndim != 2 or array.layout != "C" or array.dtype != one.dtype:
            raise TypingError(f"2-D arrays in C order of one type are needed, got {one} and {other}.")


def _operands(context: Any, builder: Any, signature: Any, arguments: Any) -> tuple[Any, list[Any], Any]:
    """Return where row i of the first array begins, where the rows of the second do, and the number of columns."""
    first, second = (context.make_array(signature.args[n])(context, builder, arguments[n]) for n in (0, 2))
    width = builder.extract_value(first.shape, 1)

    def begin(array: Any, row: Any, kind: Any) -> Any:
        return builder.gep(array.data, [builder.mul(context.cast(builder, row, kind, types.intp), width)])

    rows = zip(cgutils.unpack_tuple(builder, arguments[3]), signature.args[3].types)
    return begin(first, arguments[1], signature.args[1]), [begin(second, row, kind) for row, kind in rows], width


def _blocks(
    builder: Any, width: Any, lanes: int, take: Callable[[Any, int], None], narrow: Callable[[int], None]
) -> Any:
    """Write code that takes columns in blocks of 64 bytes, then one of 32 and one of 16; return how many it takes."""
    done = builder.and_(width, width.type(-lanes))
    with cgutils.for_range_slice(builder, width.type(0), done, width.type(lanes)) as (k, _):
        take(k, lanes)
    for size in (lanes // 2, lanes // 4):
        narrow(size)
        left = builder.and_(width, width.type(size))
        with builder.if_then(builder.icmp_unsigned("!=", left, width.type(0))):
            take(done, size)
        done = builder.add(done, left)
    return done


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
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2])
        vectors = [_pick(builder, a, range(2 * a.type.count), b) for a, b in pairs]
    found = vectors[0]
    while found.type.count > n:
        even, odd = (_pick(builder, found, range(start, found.type.count, 2)) for start in (0, 1))
        found = builder.fadd(even, odd, flags=_MATH)
    return found


def _spread(builder: Any, scalar: Any, size: int) -> Any:
    return _pick(builder, _gathered(builder, [scalar]), [0] * size)


def _gathered(builder: Any, scalars: list[Any]) -> Any:
    vector = ir.Constant(ir.VectorType(scalars[0].type, len(scalars)), ir.Undefined)
    for lane, scalar in enumerate(scalars):
        vector = builder.insert_element(vector, scalar, ir.IntType(32)(lane))
    return vector


def _scattered(builder: Any, vector: Any) -> list[Any]:
    return [builder.extract_element(vector, ir.IntType(32)(lane)) for lane in range(vector.type.count)]
