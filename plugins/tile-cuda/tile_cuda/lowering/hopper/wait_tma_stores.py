"""Makes the warps of a kernel wait, at its end, for the TMA stores that they have started.

The shared memory that the stores read must live until then, so it is allocated in front of all code. Stores from
memory of the same shape and type read the same: before a warp writes a slab of it again, it waits until all its stores
but the last, or but the last of two slabs, have read theirs (staged_accumulators.py).
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.architectures import WARP
from tile_cuda.lowering.hopper.role_statements import has_roles, with_consumer
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, load, nothing, op_name, seq
from tilecore.ir.nodes import (
    EQ,
    AllocBuffer,
    Call,
    IfThenElse,
    PrimFunc,
    Stmt,
    Var,
    structural_map,
)
from tilecore.ir.replace_buffers import with_buffers
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import Threads, each_kernel


def wait_tma_stores(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return func.with_body(each_kernel(func.body, _with_wait))


def _with_wait(body: Stmt, threads: Threads) -> Stmt:
    sources = [c.args[1] for c in collect(body, Call) if _needs_wait(c)]
    if not sources:
        return body
    if has_roles(body):  # ranges that the user names (T.ws) count their warps each from 0, and would write the same
        body, sources = _with_shared_memory(body, sources)
    memory = {element.source: element for element in sources}
    first = [_first_element(element) for element in memory.values()]
    allocations = list({node.buffer: node for node in collect(body, AllocBuffer) if node.buffer in memory}.values())
    body = structural_map(body, (AllocBuffer, lambda node: nothing() if node.buffer in memory else node))
    lane = Analyzer().simplify(threads.linear_index() % WARP)
    wait = IfThenElse(EQ(lane, const(0, "int32")), instructions.tma_store_group("wait_stores", 0, first), None)
    return with_consumer(body, lambda code: seq([*allocations, code, wait]))


def _with_shared_memory(body: Stmt, sources: list[Any]) -> tuple[Stmt, list[Any]]:
    """The code in which stores from memory of the same shape and type read the same, and the sources that are left."""
    first: dict[tuple[Any, ...], Any] = {}
    same: dict[Var, Var] = {}
    for element in sources:
        buffer = element.source
        kind = dtype_of(buffer), buffer.scope(), tuple(constant(size) for size in buffer.shape)
        kept = first.setdefault(kind, element)
        if not kept.source.same_as(buffer):
            same[buffer] = kept.source
    return (with_buffers(body, same) if same else body), list(first.values())


def _needs_wait(call: Call) -> bool:
    return op_name(call) == instructions.TMA_STORE and not instructions.is_explicit(call)


def _first_element(element: Any) -> Any:
    return load(element.source, [const(0, "int32")] * len(element.indices))


WAIT_TMA_STORES = Pass("wait_tma_stores", wait_tma_stores)
