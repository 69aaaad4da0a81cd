"""Where a product's sums are kept: in the registers of C itself, or apart from them, to be added to C at the end.

Apart: C lies in memory that threads share, or has an element type that is not summed in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.ir.build import cast, const, constant, dtype_of, load, loop, store, where
from tilecore.ir.fragments import FragmentLayout
from tilecore.ir.nodes import AllocBuffer, AttrStmt, Expr, ForKind, IfThenElse, Stmt, TensorRegion, Var, tirx
from tilecore.ir.reductions import accumulator
from tilecore.ir.regions import element_indices, is_whole
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.insert_barriers import NEST
from tilecore.lowering.simt.tile_ops.thread_elements import is_first, is_there, steps_of, unrolled


def is_held(region: TensorRegion) -> bool:
    """Is it a matrix that is a fragment as a whole?"""
    return is_fragment(region.source) and len(region.region) == 2 and is_whole(region)


class Sums:
    """The sums of a product into C, as one thread has them.

    layout: of C's tile. held: the registers of C where it is a fragment in this layout, else None. dtype: of the sums.
    registers: what to add to; its indices are the layout's registers.
    """

    def __init__(self, call: TileCall, layout: FragmentLayout, thread: Expr, held: Var | None, dtype: str) -> None:
        self.call, self.layout, self.thread, self.held, self.dtype = call, layout, thread, held, dtype
        self.is_apart = held is None or dtype_of(held) != dtype
        self.registers = self._own() if held is None or self.is_apart else held

    def _own(self) -> Var:
        return tirx.decl_buffer([self.layout.registers], self.dtype, "sums", scope="local", layout=None)

    def before(self) -> list[Stmt]:
        """Zeros, where the sums do not start from C."""
        known = constant(self.call.clear_accum)
        if self.is_apart:
            return [AllocBuffer(self.registers), self._zeros()]
        if known == 0:
            return []
        return [self._zeros() if known else IfThenElse(self.call.clear_accum, self._zeros(), None)]

    def after(self) -> list[Stmt]:
        """The sums added to C, where they are apart from it."""
        if not self.is_apart:
            return []
        made = self._to_memory() if self.held is None else self._to_registers(self.held)
        return [AttrStmt(const(0, "int32"), NEST, const(1, "int32"), made, span=self.call.span)]

    def _zeros(self) -> Stmt:
        zero, count = tirx.const(0, self.dtype), const(self.layout.registers, "int32")
        return loop(count, lambda i: store(self.registers, zero, [i]), kind=ForKind.UNROLLED)

    def _joined(self, buffer: Var, indices: list[Any], number: Any) -> Stmt:
        """The sum of this number added to an element of C, in the wider of the types."""
        dtype = dtype_of(buffer)
        wide = accumulator(dtype)
        total = cast(load(self.registers, [number]), wide)
        known = constant(self.call.clear_accum)
        if known != 1:
            old = cast(load(buffer, indices, self.call.span), wide)
            if known is None:
                old = tirx.if_then_else(self.call.clear_accum, tirx.const(0, wide), old)
            total = old + total
        return store(buffer, cast(total, dtype), indices, self.call.span)

    def _to_registers(self, held: Var) -> Stmt:
        return self._each(lambda number, places: self._joined(held, [number], number))

    def _to_memory(self) -> Stmt:
        """By the first of the threads that have copies."""

        def element(number: Any, places: list[Any]) -> Stmt:
            return self._joined(self.call.c.source, element_indices(self.call.c, *places), number)

        return where(is_first(self.layout, self.thread), self._each(element))

    def _each(self, body: Callable[[Any, list[Any]], Stmt]) -> Stmt:
        """``body`` of the number of each sum and the element's place in C's tile, where there is one."""
        steps = steps_of(self.layout, "s")
        places = self.layout.indices(self.thread, list(steps.values()))
        number: Any = const(0, "int32")
        for digit, step in steps.items():
            number = number + step * digit.stride
        return unrolled(steps, where(is_there(self.layout, places), body(number, places)))
