"""Local memory that commands use under a condition begins with 0, where nothing may have been written to it before.

A store under a condition keeps what is there in all other elements, and a value that is chosen by a condition is
computed in all of them. What nobody has written does not matter to either, but no command may look at it.
"""

from __future__ import annotations

from typing import Any

from tile_tpu.chips import chip_of
from tile_tpu.ir.instructions import command
from tile_tpu.ir.views import View
from tile_tpu.lowering.kernels import map_bodies
from tile_tpu.lowering.local_memory.loop_carried import LoopCarried
from tile_tpu.lowering.state import GuardedBuffers
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import const, constant, dtype_of, seq
from tilecore.ir.nodes import AllocBuffer, AttrStmt, PrimFunc, Stmt, structural_map

MOST = 65535  # an extent of a view


def fill_unwritten(func: PrimFunc, env: PassEnv) -> PrimFunc:
    guarded = env.state(GuardedBuffers).buffers
    lanes = chip_of(env.target).lanes

    def change(kernel: AttrStmt) -> Stmt:
        dependences = LoopCarried(kernel, lanes)

        def alloc(node: AllocBuffer) -> Any:
            if node.buffer not in guarded or not dependences.is_read_first(node.buffer):
                return node
            return seq([node, *_fills(node, lanes)])

        return structural_map(kernel, (AllocBuffer, alloc))

    return func.with_body(map_bodies(func.body, change)) if guarded else func


def _fills(node: AllocBuffer, lanes: int) -> list[Stmt]:
    """Of all of a buffer, in every lane."""
    size, dtype = constant(node.buffer.shape[0]), dtype_of(node.buffer)
    assert size is not None
    views = [
        View(node.buffer, 0, start, (1, lanes, 1, min(MOST, size - start)), (size, size, size, 1))
        for start in range(0, size, MOST)
    ]
    return [command("fill", view, const(0, dtype), span=node.span) for view in views]


FILL_UNWRITTEN = Pass("fill_unwritten", fill_unwritten, needs=(GuardedBuffers,))
