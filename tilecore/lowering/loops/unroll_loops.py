"""Unrolls UNROLLED loops of constant extent; those that are too long, or have jumps, become serial loops."""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import constant, seq
from tilecore.ir.nodes import Break, Continue, For, ForKind, IntImm, PrimFunc, structural_map
from tilecore.ir.visit import collect, substitute

LIMIT = 256


def unroll_loops(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def expand(node: For) -> Any:
        extent = constant(node.extent)
        if node.kind != ForKind.UNROLLED:
            return node
        if extent is None or extent > LIMIT or collect(node.body, Break, Continue):
            return For(node.loop_var, node.min, node.extent, ForKind.SERIAL, node.body, span=node.span)
        dtype = str(node.loop_var.ty.dtype)
        return seq([substitute(node.body, {node.loop_var: IntImm(dtype, i)}) for i in range(extent)])

    return func.with_body(structural_map(func.body, (For, expand)))


UNROLL_LOOPS = Pass("unroll_loops", unroll_loops)
