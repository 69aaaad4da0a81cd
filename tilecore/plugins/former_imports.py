"""What a backend imports by the name that it had under contract 1 and that is gone: the name now, for the error.

The names were private then, so that no import by a former name works; modules do by theirs (former_names.py).
"""

from __future__ import annotations

import re

from tilecore.contract.library import public_names

# former name, name now; both under tilecore
_NAMES = """
    ir.names.CALLED ir.attributes.CallAttr.CALLED
    ir.names.DIALECT ir.attributes.CallAttr.DIALECT
    ir.reductions.join ir.reductions.combine
    ir.reductions.joiner ir.reductions.combining_kind
    lowering.analysis.assumptions.DIVISORS lowering.analysis.assumptions.assumed_divisors
    lowering.analysis.kernels.asks_for_threads lowering.analysis.kernels.uses_threads
    lowering.analysis.kernels.on_axes lowering.analysis.kernels.rebuild_kernel
    lowering.buffers.guard_bounds.sizes_of ir.sizes.symbols_of_shapes
    lowering.loops.fold_clears.cleared lowering.analysis.clears.cleared_buffer
    lowering.loops.gemm.gemm_sizes lowering.tile_ops.gemm.gemm_sizes
    lowering.simt.analysis.accesses.apart lowering.simt.analysis.accesses.slots_differ
    lowering.simt.analysis.asynchronous.COMMIT ir.thread_calls.COMMIT_ASYNC
    lowering.simt.analysis.asynchronous.COPY ir.thread_calls.COPY_ASYNC
    lowering.simt.analysis.asynchronous.WAIT ir.thread_calls.WAIT_ASYNC
    lowering.simt.choose_tile_ops.UNCHOSEN lowering.simt.state.TileFunction
    lowering.simt.find_ranges.ALONE ir.attributes.CallAttr.ALONE
    lowering.simt.infer_layouts.SHARED contract.implementation.SHARED
    lowering.simt.insert_barriers.BARRIER ir.tile_op_table.SYNC_THREADS
    lowering.simt.insert_barriers.BLOCKS ir.attributes.LoopAttr.USER_BLOCKS
    lowering.simt.insert_barriers.NEST ir.attributes.StatementAttr.NEST
    lowering.simt.note_ranges.HINT ir.attributes.CallAttr.THREADS
    lowering.simt.note_ranges.threads_of_call lowering.simt.state.threads_of_call
    lowering.simt.pipeline_loops.STAGES ir.attributes.LoopAttr.STAGES
    lowering.simt.pipeline_loops.writes ir.memory_writes.writes_of
    lowering.simt.plan_shared.ALL_LIVE contract.state.SharedRequests
    lowering.simt.rasterize_blocks.HINT ir.attributes.KernelHint.USE_SWIZZLE
    lowering.simt.read_layouts.follow lowering.simt.state.RequestedLayouts.transfer
    lowering.simt.tile_ops.accumulators.Sums lowering.simt.tile_ops.accumulators.Accumulator
    lowering.simt.tile_ops.accumulators.is_held lowering.simt.tile_ops.accumulators.is_whole_fragment
    tracing.builder.current tracing.current.current
"""
NOW = {f"tilecore.{former}": f"tilecore.{now}" for former, now in map(str.split, _NAMES.strip().splitlines())}


def advice(error: BaseException) -> str | None:
    """What to do about an import of a name of the core that is not there; None for other errors."""
    if not isinstance(error, ImportError):
        return None
    missing = re.match(r"cannot import name '(\w+)' from '(tilecore[\w.]*)'", str(error))
    if missing is None:
        return None
    name, module = missing.groups()
    if f"{module}.{name}" in NOW:
        return f"{module}.{name} is {NOW[f'{module}.{name}']} now; docs/hooks/library.md lists the public names"
    public = public_names(module)
    if public is not None and name not in public:
        return f"{module}.{name} was private; docs/hooks/library.md lists the names that a backend may import"
    return None
