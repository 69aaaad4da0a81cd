"""Lowers reduce_partials: threads that share an element of a sum reduce their partial sums (sink_reductions.py).

Threads hold partial sums where all fragments that take part have the layout of the sum and every reduction into it is
spread over the same threads. Elsewhere the reductions combine the threads' values in each iteration, and this operation
does nothing.
"""

from __future__ import annotations

from tilecore.contract.implementation import TileOpImpl
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import dtype_of, load, nothing, seq, store
from tilecore.ir.nodes import Stmt
from tilecore.ir.tile_ops import TileCall, tile_call
from tilecore.lowering.simt.state import Partial, PartialSums
from tilecore.lowering.simt.thread_env import ThreadEnv
from tilecore.lowering.simt.tile_ops.thread_elements import element_of, steps_of, thread_groups, unrolled


def is_sunk(call: TileCall, env: ThreadEnv) -> bool:
    """Is the reduction of this result across threads sunk out of the loop?"""
    if CallAttr.SUNK not in call.hints:
        return False
    partial = next((p for p in env.state(PartialSums).by_sum.values() if call.dst.source in p.sums), None)
    return partial is not None and _groups(partial, env) is not None


def _groups(partial: Partial, env: ThreadEnv) -> tuple[tuple[int, int], ...] | None:
    """The groups of threads that share an element of the sum, as (stride, extent) of thread indices.

    None where the layouts differ, so that threads reduce in each iteration.
    """
    layouts = env.binding.inferred.fragments
    if any(buffer not in layouts for buffer in (*partial.sums, *(source for source, _ in partial.sources))):
        return None
    if len({layouts[buffer] for buffer in partial.sums}) > 1:
        return None
    groups = {tuple(thread_groups(layouts[source], axis)) for source, axis in partial.sources}
    return next(iter(groups)) if len(groups) == 1 else None


def lower(call: TileCall, env: ThreadEnv) -> Stmt:
    total, binding = call.buffer.source, env.binding
    partial = env.state(PartialSums).by_sum.get(total)  # None where the sum has been moved to shared memory
    groups = None if partial is None else _groups(partial, env)
    if not groups:
        return nothing()
    layout = binding.layout(total)
    steps = steps_of(layout, "r")
    indices = element_of(layout, binding.thread, steps)
    stores = []
    for stride, extent in groups:
        value = tile_call("allreduce", [load(total, indices), "sum", extent, stride], dtype=dtype_of(total))
        stores.append(store(total, value, indices, call.span))
    return unrolled(steps, seq(stores), call.span)


REDUCE_PARTIALS = TileOpImpl("reduce_partials", "threads", lower, late=True, needs=(PartialSums,))
IMPLEMENTATIONS = (REDUCE_PARTIALS,)
