"""Lowers shuffles and ballots of the language to those of the hardware, on targets with warps of 32 or 64 threads.

A warp of the language has 32 threads: half of a wave of 64. Shuffles stay within 32 neighbouring threads by their
width, and a ballot has a bit for each of these 32 threads.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import UnsupportedError
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Call, PrimFunc, structural_mutate
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_calls import SHUFFLE, VOTE
from tilecore.ir.thread_ops import thread_call
from tilecore.ir.tile_op_table import BALLOT as TILE_BALLOT
from tilecore.ir.tile_op_table import SHUFFLE as TILE_SHUFFLE
from tilecore.ir.tile_ops import as_tile_call, name_in_language

WARP = 32  # threads of a warp of the language


def lower_shuffles(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def call(node: Call, mutator: Any) -> Any:
        rewritten = mutator.default_mutate(node)
        name = op_name(rewritten)
        if name not in (TILE_SHUFFLE, TILE_BALLOT):
            return rewritten
        if env.capabilities.warp % WARP:
            call = as_tile_call(rewritten)
            operation = name if call is None else name_in_language(call)
            raise UnsupportedError(
                f"{operation} on a target whose warps have {env.capabilities.warp} threads",
                location=location_of_span(node.span),
                found=f"warps of {env.capabilities.warp}",
                expected=f"warps of {WARP} or {2 * WARP}",
                hint="use T.warp_reduce_sum and the like, or shared memory",
            )
        if name == TILE_BALLOT:
            return thread_call(VOTE, [rewritten.args[0], "ballot"], dtype="uint32", span=node.span)
        return thread_call(SHUFFLE, list(rewritten.args), dtype=rewritten.ty, span=node.span)

    return func.with_body(structural_mutate(func.body, [(Call, call)]))


LOWER_SHUFFLES = Pass("lower_shuffles", lower_shuffles)
