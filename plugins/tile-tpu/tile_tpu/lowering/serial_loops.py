"""The parallel loops that are left run one iteration after the other, on the control core."""

from __future__ import annotations

from tilecore.ir.nodes import For, ForKind, PrimFunc, structural_map
from tilecore.lowering.passes import Pass, PassEnv


def serial_loops(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return func.with_body(structural_map(func.body, (For, _serial)))


def _serial(node: For) -> For:
    if node.kind in (ForKind.SERIAL, ForKind.UNROLLED):
        return node
    return For(node.loop_var, node.min, node.extent, ForKind.SERIAL, node.body, span=node.span)


SERIAL_LOOPS = Pass("serial_loops", serial_loops)
