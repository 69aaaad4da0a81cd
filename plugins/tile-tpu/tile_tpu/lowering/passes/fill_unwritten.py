"""Fills local buffers with 0 that commands access under a condition before they may have been written.

A store under a condition reads the other elements and writes them back unchanged, and a value that a condition chooses
is computed for all elements. The unwritten elements do not change the results, but commands must not read memory that
has never been written.
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

MOST = 65535  # the largest extent of a view


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
    """Commands that fill the whole buffer with 0, in every lane."""
    size, dtype = constant(node.buffer.shape[0]), dtype_of(node.buffer)
    assert size is not None
    views = [
        View(node.buffer, 0, start, (1, lanes, 1, min(MOST, size - start)), (size, size, size, 1))
        for start in range(0, size, MOST)
    ]
    return [command("fill", view, const(0, dtype), span=node.span) for view in views]


FILL_UNWRITTEN = Pass("fill_unwritten", fill_unwritten, needs=(GuardedBuffers,))
