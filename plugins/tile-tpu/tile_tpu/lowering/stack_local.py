"""Local buffers one behind the other."""

from __future__ import annotations

from tile_tpu.chips import chip_of
from tile_tpu.ir.views import LOCAL
from tilecore.dtypes import FACTS
from tilecore.errors import UnsupportedError
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import AllocBuffer, DeclBuffer, IRModule
from tilecore.ir.visit import collect
from tilecore.lowering.passes import Pass, PassEnv


def stack_local(module: IRModule, env: PassEnv) -> IRModule:
    chip = chip_of(env.target)
    made = {}
    for var, func in module.functions.items():
        places, end = {}, 0
        for node in collect(func.body, AllocBuffer):
            buffer = node.buffer
            if str(buffer.scope()) == LOCAL:
                assert str(buffer.name) not in places, buffer.name
                places[str(buffer.name)] = end
                end += -(-int(buffer.shape[0]) * ((FACTS[dtype_of(buffer)].bits + 7) // 8) // 64) * 64
        if end > chip.lane_bytes:
            raise UnsupportedError("local memory", found=str(end), expected=str(chip.lane_bytes))
        made[str(var.name_hint)] = func.with_attr("tpu.local", places)
    return IRModule(made)


STACK_LOCAL = Pass("stack_local", stack_local)
