"""The grid of a kernel as loops on one core."""

from __future__ import annotations

from tilecore.ir.build import const, dtype_of
from tilecore.ir.nodes import For, ForKind, IRModule, Stmt
from tilecore.lowering.passes import Pass, PassEnv


def serial_blocks(module: IRModule, env: PassEnv) -> IRModule:
    made = {}
    for var, func in module.functions.items():
        body: Stmt = func.body
        for index, extent in zip(func.attrs["tile.block_vars"], func.attrs["tile.grid"], strict=True):
            body = For(index, const(0, dtype_of(index)), extent, ForKind.SERIAL, body)
        made[str(var.name_hint)] = func.with_body(body).with_attr("tpu.cores", 1)
    return IRModule(made)


SERIAL_BLOCKS = Pass("serial_blocks", serial_blocks)
