"""Makes T.sync_threads(number, threads) a named barrier in kernels that arrive at named barriers without waiting.

In other kernels the compiler numbers the barriers of ranges of threads by itself (lowering/simt/place_ranges.py).
"""

from __future__ import annotations

from tile_cuda import instructions
from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import LanguageError
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Call, Evaluate, PrimFunc, Stmt, structural_map
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_calls import NAMED_BARRIER
from tilecore.ir.thread_ops import thread_statement
from tilecore.ir.tile_ops import as_tile_call, is_barrier
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import Threads, each_kernel


def name_barriers(func: PrimFunc, env: PassEnv) -> PrimFunc:
    warp = env.capabilities.warp

    def change(body: Stmt, threads: Threads) -> Stmt:
        if not any(op_name(call) == instructions.NAMED_ARRIVE for call in collect(body, Call)):
            return body
        return structural_map(body, (Evaluate, lambda node: _named(node, warp)))

    return func.with_body(each_kernel(func.body, change))


def _named(node: Evaluate, warp: int) -> Evaluate:
    """A wait at a named barrier, for a T.sync_threads that names one."""
    call = as_tile_call(node) if is_barrier(node) else None
    if call is None or CallAttr.BARRIER not in call.hints:
        return node
    number, arrivals = int(call.hints[CallAttr.BARRIER]), call.hints.get(CallAttr.ARRIVALS)
    if arrivals is None or int(arrivals) % warp or not 1 <= number <= 15:
        raise LanguageError(
            "T.sync_threads waits at a named barrier, in a kernel with T.named_barrier_arrive",
            location=location_of_span(node.span),
            found=f"barrier_id={number}, arrive_count={arrivals}",
            expected=f"a number from 1 to 15, and how many threads arrive or wait: a multiple of {warp}",
        )
    return thread_statement(NAMED_BARRIER, [number, int(arrivals)], span=node.span)


NAME_BARRIERS = Pass("name_barriers", name_barriers)
