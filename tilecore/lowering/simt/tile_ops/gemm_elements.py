"""Lowers gemm element by element of C, for operands that no faster implementation takes."""

from __future__ import annotations

from typing import Any

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import const, constant, load, loop, nest, seq, store
from tilecore.ir.contraction import multiplied_into
from tilecore.ir.nodes import AllocBuffer, Stmt, tirx
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.tile_ops.gemm import Operands, needs_constant_sizes


def lower(call: TileCall, env: PassEnv) -> Stmt:
    operands = Operands(call)
    zero = const(0, "int32")

    def body(variables: list[Any]) -> Stmt:
        m, n = variables
        total = tirx.decl_buffer([1], operands.total, "total", scope="local", layout=None)
        old, clear = operands.c(m, n), constant(call.clear_accum)
        zero_sum = tirx.const(0, operands.total)
        start = tirx.if_then_else(call.clear_accum, zero_sum, old) if clear is None else (zero_sum if clear else old)

        def step(k: Any) -> Stmt:
            value = multiplied_into(load(total, [zero]), operands.a(m, k), operands.b(k, n))
            return store(total, value, [zero], call.span)

        return seq(
            [
                AllocBuffer(total),
                store(total, start, [zero], call.span),
                loop(const(operands.k, "int32"), step, name="k"),
                operands.store_c(m, n, load(total, [zero])),
            ]
        )

    return nest([const(operands.m, "int32"), const(operands.n, "int32")], body, span=call.span)


GEMM_ELEMENTS = TileOpImpl("gemm", "element by element", lower, needs_constant_sizes, last_resort=True)
IMPLEMENTATIONS = (GEMM_ELEMENTS,)
