"""Makes the remaining parallel loops serial loops of the control core. The accumulator of a reduction becomes an
ordinary variable."""

from __future__ import annotations

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import AllocBuffer, For, ForKind, PrimFunc, Var, structural_map, tirx
from tilecore.ir.scopes import is_total
from tilecore.ir.visit import collect, substitute


def serial_loops(func: PrimFunc, env: PassEnv) -> PrimFunc:
    body = structural_map(func.body, (For, _serial))
    totals = [a.buffer for a in collect(body, AllocBuffer) if is_total(a.buffer)]
    return func.with_body(substitute(body, {total: _local(total) for total in totals}) if totals else body)


def _serial(node: For) -> For:
    if node.kind in (ForKind.SERIAL, ForKind.UNROLLED):
        return node
    return For(node.loop_var, node.min, node.extent, ForKind.SERIAL, node.body, span=node.span)


def _local(total: Var) -> Var:
    return tirx.decl_buffer(list(total.shape), dtype_of(total), str(total.name), scope="local", layout=None)


SERIAL_LOOPS = Pass("serial_loops", serial_loops)
