"""Ask the processor for a cache line before it is needed: a hint, never a change of any value."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["prefetch_row"]


@intrinsic
def prefetch_row(typingctx, matrix, row, column):
    """Hint that matrix[row, column] (2-D, C order) will be read soon."""
    signature = types.void(matrix, row, column)

    def codegen(context, builder, signature, args):
        array_type = signature.args[0]
        array = context.make_array(array_type)(context, builder, args[0])
        indices = [context.cast(builder, args[i], signature.args[i], types.intp) for i in (1, 2)]
        pointer = cgutils.get_item_pointer(context, builder, array_type, array, indices, wraparound=False)
        address = builder.bitcast(pointer, ir.IntType(8).as_pointer())
        i32 = ir.IntType(32)
        hint = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [address.type, i32, i32, i32]),
            "llvm.prefetch.p0" if str(address.type) == "ptr" else "llvm.prefetch.p0i8",
        )
        builder.call(hint, [address, i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return signature, codegen
