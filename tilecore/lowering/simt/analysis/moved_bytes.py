"""How many bytes vector accesses move, and at which addresses the parameters of a kernel must begin for them."""

from __future__ import annotations

from collections.abc import Iterable

from tilecore.dtypes import dtype as DType
from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.nodes import Call, PrimFunc, Ramp, Stmt, Var
from tilecore.ir.scopes import is_own
from tilecore.ir.thread_calls import ATOMIC_ADD, COPY_ASYNC
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, stores


def moved_bytes(vectorized: Stmt) -> dict[Var, int]:
    """For each buffer outside of registers the bytes of its vector accesses."""
    moved = {}
    for node in stores(vectorized):
        lanes = constant(node.indices[0].lanes) if isinstance(node.indices[0], Ramp) else None
        for buffer in (node.buffer, getattr(node.value, "source", None)):
            if lanes and buffer is not None and not is_own(buffer):
                moved[buffer] = DType(dtype_of(buffer)).bytes * lanes
    return moved | _copied_bytes(vectorized)


def alignments_of(func: PrimFunc, vectors: Iterable[Stmt], has_unaligned_moves: bool) -> dict[str, int]:
    """For each parameter that ``vectors`` access, also by a view, the bytes of which its address must be a multiple.
    has_unaligned_moves: plain loads and stores may begin anywhere; atomics and asynchronous copies may not."""
    roots, params = memory_roots(func.body), set(func.params)
    most: dict[str, int] = {}
    for vector in vectors:
        moved = _copied_bytes(vector) if has_unaligned_moves else moved_bytes(vector)
        for buffer, size in (moved | _added_bytes(vector)).items():
            root = roots.get(buffer, buffer)
            if root in params:
                most[str(root.name)] = max(size, most.get(str(root.name), 1))
    return most


def _copied_bytes(vectorized: Stmt) -> dict[Var, int]:
    calls = (call for call in collect(vectorized, Call) if op_name(call) == COPY_ASYNC)
    return {end.source: int(constant(call.args[2]) or 0) for call in calls for end in call.args[:2]}


def _added_bytes(vectorized: Stmt) -> dict[Var, int]:
    calls = (call for call in collect(vectorized, Call) if op_name(call) == ATOMIC_ADD)
    targets = ((call.args[0].source, int(constant(call.args[2]) or 1)) for call in calls)
    return {buffer: DType(dtype_of(buffer)).bytes * count for buffer, count in targets}
