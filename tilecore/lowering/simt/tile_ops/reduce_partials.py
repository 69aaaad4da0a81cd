"""join_partials: threads that share an element of a sum join what each of them has added up (sink_reductions.py).

They have where all fragments that take part lie as the sum does and every reduction into it is spread over the same
threads; elsewhere the reductions join in each step, and nothing is left to do.
"""

from __future__ import annotations

from typing import NamedTuple

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import dtype_of, load, nothing, seq, store
from tilecore.ir.nodes import Stmt, Var
from tilecore.ir.tile_ops import TileCall, tile_call
from tilecore.lowering.simt.tile_ops.thread_elements import places_of, sharing, steps_of, unrolled

DELAYED = "delayed"  # the hint of reductions whose results threads need not join in each step
FACT = "partial_sums"  # {sum: Partial}


class Partial(NamedTuple):
    """sources: of the reductions into a sum, and the axis of each. sums: it, and what is added to it."""

    sources: tuple[tuple[Var, int], ...]
    sums: frozenset[Var]


def is_delayed(call: TileCall, env: PassEnv) -> bool:
    """Do the threads join the result of this reduction later?"""
    if DELAYED not in call.hints:
        return False
    partial = next((p for p in env.facts[FACT].values() if call.dst.source in p.sums), None)
    return partial is not None and _groups(partial, env) is not None


def _groups(partial: Partial, env: PassEnv) -> tuple[tuple[int, int], ...] | None:
    """The threads that join, as (stride, extent) of their numbers; None where they do in each step."""
    layouts = env.facts["binding"].inferred.fragments
    if any(buffer not in layouts for buffer in (*partial.sums, *(source for source, _ in partial.sources))):
        return None
    if len({layouts[buffer] for buffer in partial.sums}) > 1:
        return None
    found = {tuple(sharing(layouts[source], axis)) for source, axis in partial.sources}
    return next(iter(found)) if len(found) == 1 else None


def lower(call: TileCall, env: PassEnv) -> Stmt:
    total, binding = call.buffer.source, env.facts["binding"]
    partial = env.facts[FACT].get(total)  # none where it has been moved to shared memory
    groups = None if partial is None else _groups(partial, env)
    if not groups:
        return nothing()
    layout = binding.layout(total)
    steps = steps_of(layout, "r")
    places = places_of(layout, binding.thread, steps)
    made = []
    for stride, extent in groups:
        value = tile_call("allreduce", [load(total, places), "sum", extent, stride], dtype=dtype_of(total))
        made.append(store(total, value, places, call.span))
    return unrolled(steps, seq(made), call.span)


JOIN_PARTIALS = TileOpImpl("join_partials", "threads", lower, late=True)
