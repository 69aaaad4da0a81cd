"""Writes the attributes of each kernel that the code generator and the launcher read: shared memory, access kinds."""

from __future__ import annotations

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import op_name
from tilecore.ir.memory_writes import writes_of
from tilecore.ir.nodes import (
    AllocBuffer,
    Evaluate,
    IRModule,
    PrimFunc,
    Var,
    is_buffer_var,
    structural_map,
)
from tilecore.ir.scopes import ARENA, is_shared
from tilecore.ir.thread_calls import BARRIER
from tilecore.ir.thread_ops import thread_statement
from tilecore.ir.tile_op_table import SYNC_THREADS
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect
from tilecore.lowering.buffers.place_dynamic_shared import ALIGN as ARENA_ALIGN
from tilecore.lowering.simt.analysis.parallel_nests import accesses_of
from tilecore.lowering.simt.state import AliasedParameters, SharedPlan


def describe_kernels(module: IRModule, env: PassEnv) -> IRModule:
    """Adds what thread IR says of a kernel: the layout of its shared memory, how it accesses each parameter, and which
    pointers are not ``restrict``; and lowers the barriers of the tile language to "simt.barrier".

    NO_RESTRICT has the tensors that are emitted without ``restrict``: those that may alias another parameter, and
    those that a kernel with barriers reads and writes. C++ compilers assume from the qualifier that no other thread
    writes to the tensor, and then hold a value in a register across a barrier, although another thread has written the
    element before the barrier.
    """
    extents = {str(b.name): extent for b, extent in env.state(SharedPlan).places.items()}
    kernels = {}
    for var, func in module.functions.items():
        allocated = {str(a.buffer.name) for a in collect(func.body, AllocBuffer) if is_shared(a.buffer)}
        offsets = {name: extents[name] for name in allocated if name in extents}
        access = _access_kinds(func)
        func = func.with_body(structural_map(func.body, (Evaluate, _lower_barrier)))
        end = max((start + size for start, size in offsets.values()), default=0)
        if FunctionAttr.DYNAMIC_SHARED in func.attrs:
            (arena,) = [a.buffer for a in collect(func.body, AllocBuffer) if str(a.buffer.scope()) == ARENA]
            end = -(-end // ARENA_ALIGN) * ARENA_ALIGN
            offsets[str(arena.name)] = (end, 0)
        func = func.with_attr(FunctionAttr.SHARED, {name: start for name, (start, _) in offsets.items()})
        func = func.with_attr(FunctionAttr.SHARED_BYTES, end)
        no_restrict = env.state(AliasedParameters).names & set(access)
        if writes_of(func.body).others:
            no_restrict = no_restrict | {name for name, kind in access.items() if kind == "rw"}
        if no_restrict:
            for key in (FunctionAttr.NO_RESTRICT, FunctionAttr.FORMER_NO_RESTRICT):
                func = func.with_attr(key, sorted(no_restrict))
        kernels[str(var.name_hint)] = func.with_attr(FunctionAttr.ACCESS, access)
    return IRModule(kernels)


def _access_kinds(func: PrimFunc) -> dict[str, str]:
    """For each tensor parameter "r", "w" or "rw"; an atomic operation reads and writes."""
    roots = memory_roots(func.body)
    read: set[Var] = set()
    written: set[Var] = set()
    for access in accesses_of(func.body):
        buffer = roots.get(access.buffer, access.buffer)
        if access.writes:
            written.add(buffer)
        if access.atomic or not access.writes:
            read.add(buffer)
    params = [p for p in func.params if is_buffer_var(p)]
    return {str(p.name): ("rw" if p in read else "w") if p in written else "r" for p in params}


def _lower_barrier(node: Evaluate) -> Evaluate:
    return thread_statement(BARRIER, span=node.span) if op_name(node.value) == SYNC_THREADS else node


DESCRIBE_KERNELS = Pass("describe_kernels", describe_kernels, needs=(SharedPlan, AliasedParameters))
