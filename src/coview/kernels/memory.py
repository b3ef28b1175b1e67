"""Memory as kernels see it: arrays of any number, named by their addresses, and hints of what will be read soon.

One compiled kernel serves any number of views. A tuple of arrays would be another type for each length, compiled anew,
and would count references at every access; so does every call with an array, atomically, which takes longer than a
small computation. Whoever passes addresses or arrays keeps them alive until the kernel returns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic

from coview.kernels.compiling import njit

__all__ = ["LINE", "addresses", "array_at", "ask", "ask_for_line", "borrowed"]

LINE = 64  # bytes of a cache line: one hint brings them


def addresses(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return the addresses of the first items of C-contiguous arrays."""
    if not all(array.flags.c_contiguous for array in arrays):
        raise ValueError("Arrays that a kernel finds by their addresses must be C-contiguous.")
    return np.array([_address(array) for array in arrays], dtype=np.int64)


@njit(cache=True)
def _address(array):
    """Return the address of the first item."""
    # compiled: NumPy's own ways take five times as long, which small batches feel
    return array.ctypes.data


@intrinsic
def _pointer(typing, address, like):
    """Pointer to items of the type of the array `like`."""
    signature = types.CPointer(like.dtype)(address, like)

    def code(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return signature, code


@njit(inline="always")
def array_at(address, like, size):
    """Array of `size` items at an address, of the type of `like`; it owns nothing."""
    return carray(_pointer(address, like), (size,))  # type: ignore[call-arg]


@njit(inline="always")
def borrowed(array, shape):
    """Same C-contiguous array, for use in calls that need not count references; valid while the array lives.

    The shape is named once more: where the compiler knows a number of it, it knows it of the array.
    """
    return carray(_pointer(array.ctypes.data, array), shape)  # type: ignore[call-arg]


def ask(builder, pointer, cache):
    """Write a hint that the line at a pointer will be read soon, into the caches from 3 (all) down to 1 (the last).

    A hint, never a change of any value.
    """
    i32 = ir.IntType(32)
    hint = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(ir.VoidType(), [pointer.type, i32, i32, i32]),
        "llvm.prefetch.p0" if str(pointer.type) == "ptr" else "llvm.prefetch.p0i8",
    )
    builder.call(hint, [pointer, i32(0), i32(cache), i32(1)])


@intrinsic
def ask_for_line(typing, address):
    """Ask for the cache line at an address, into the first cache: it is needed next."""
    signature = types.void(address)

    def code(context, builder, signature, arguments):
        ask(builder, builder.inttoptr(arguments[0], ir.IntType(8).as_pointer()), 3)
        return context.get_dummy_value()

    return signature, code
