"""The accumulator of a gemm in a thread: the registers of C itself, or temporary ones that are added to C at the end.

Temporary registers are needed where C lies in shared or global memory, or has an element type that is not summed in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import cast, const, constant, dtype_of, load, loop, store, where
from tilecore.ir.fragments import FragmentLayout
from tilecore.ir.nodes import AllocBuffer, AttrStmt, Expr, ForKind, IfThenElse, Stmt, TensorRegion, Var, tirx
from tilecore.ir.reductions import accumulator
from tilecore.ir.regions import element_indices, is_whole
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.tile_ops.thread_elements import in_bounds, is_first_copy, steps_of, unrolled


def is_whole_fragment(region: TensorRegion) -> bool:
    """Is the region a whole fragment of two axes?"""
    return is_fragment(region.source) and len(region.region) == 2 and is_whole(region)


class Accumulator:
    """The accumulator of a gemm into C, as one thread has it.

    layout: of C's tile. thread: the thread's index. c_registers: the registers of C where C is a fragment of this
    layout, else None. dtype: of the sums. registers: the buffer to accumulate into, indexed by the layout's registers.
    """

    def __init__(
        self, call: TileCall, layout: FragmentLayout, thread: Expr, c_registers: Var | None, dtype: str
    ) -> None:
        self.call, self.layout, self.thread, self.c_registers, self.dtype = call, layout, thread, c_registers, dtype
        self.is_temporary = c_registers is None or dtype_of(c_registers) != dtype
        self.registers = self._temporary() if c_registers is None or self.is_temporary else c_registers

    def _temporary(self) -> Var:
        return tirx.decl_buffer([self.layout.registers], self.dtype, "sums", scope="local", layout=None)

    def before(self) -> list[Stmt]:
        """The statements before the products: zeros, where the sums do not start from C."""
        clear = constant(self.call.clear_accum)
        if self.is_temporary:
            return [AllocBuffer(self.registers), self._zeros()]
        if clear == 0:
            return []
        return [self._zeros() if clear else IfThenElse(self.call.clear_accum, self._zeros(), None)]

    def after(self) -> list[Stmt]:
        """The statements behind the products: temporary registers are added to C."""
        if not self.is_temporary:
            return []
        stores = self._to_memory() if self.c_registers is None else self._to_registers(self.c_registers)
        return [AttrStmt(const(0, "int32"), StatementAttr.NEST, const(1, "int32"), stores, span=self.call.span)]

    def _zeros(self) -> Stmt:
        zero, count = tirx.const(0, self.dtype), const(self.layout.registers, "int32")
        return loop(count, lambda i: store(self.registers, zero, [i]), kind=ForKind.UNROLLED)

    def _add(self, buffer: Var, indices: list[Any], register: Any) -> Stmt:
        """Adds the sum in a register to an element of C, in the type that C's type is accumulated in."""
        dtype = dtype_of(buffer)
        wide = accumulator(dtype)
        total = cast(load(self.registers, [register]), wide)
        clear = constant(self.call.clear_accum)
        if clear != 1:
            old = cast(load(buffer, indices, self.call.span), wide)
            if clear is None:
                old = tirx.if_then_else(self.call.clear_accum, tirx.const(0, wide), old)
            total = old + total
        return store(buffer, cast(total, dtype), indices, self.call.span)

    def _to_registers(self, c_registers: Var) -> Stmt:
        return self._each(lambda register, indices: self._add(c_registers, [register], register))

    def _to_memory(self) -> Stmt:
        """Adds the sums to C in memory; of the threads that hold copies the first one does it."""

        def element(register: Any, indices: list[Any]) -> Stmt:
            return self._add(self.call.c.source, element_indices(self.call.c, *indices), register)

        return where(is_first_copy(self.layout, self.thread), self._each(element))

    def _each(self, body: Callable[[Any, list[Any]], Stmt]) -> Stmt:
        """Unrolled loops over the thread's elements with ``body(register, indices)``, guarded by the bounds of C's
        tile.

        indices: of the element in C's tile.
        """
        steps = steps_of(self.layout, "s")
        indices = self.layout.indices(self.thread, list(steps.values()))
        register: Any = const(0, "int32")
        for digit, step in steps.items():
            register = register + step * digit.stride
        return unrolled(steps, where(in_bounds(self.layout, indices), body(register, indices)))
