"""T.atomic_add of a ``wgmma`` accumulator to a float32 tensor, by tensor maps (PTX ISA, "cp.reduce.async.bulk.tensor").

Threads would add two elements at a time: the additions of a tile of 64 x 128 are 16 instructions of every thread, whose
registers stay in use until the memory has taken them (docs/notes/attention.md, "Backward"). Here a warp writes its rows
to shared memory, and the copy engine adds them. Additions of a kernel are in no order, as those of threads are not; so
nothing else in the kernel may read or write the tensor.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from tile_cuda.lowering.hopper.staged_accumulators import (
    StagedCopy,
    fragments,
    kernel_with,
    option_against,
    reason_against_map,
    source_of,
    staging_config,
)
from tile_cuda.lowering.hopper.staging_memory import calls_in, reason_of_memory
from tile_cuda.lowering.hopper.store_order import is_changed_in_place
from tile_cuda.lowering.hopper.tma_stores import reason_against_store
from tile_cuda.lowering.state import TensorMaps, WarpSpecialization
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.contract.state import BufferLayouts
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import BufferStore, Evaluate, Stmt, TensorLoad, TensorRegion, Var
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_fragment, is_global
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect
from tilecore.lowering.simt.state import ThreadCount, TileFunction
from tilecore.lowering.simt.thread_env import ThreadEnv


def matches(call: TileCall, env: PassEnv) -> str | None:
    function, state = env.state(TileFunction), env.state(WarpSpecialization)
    body = function.function.body
    reason = reason_against_add(call, body, state.tensors, function.divisors, env)
    if reason is None and state.is_tight:
        reason = "the shared memory is full of the kernel's tiles"
    if reason is not None:
        return reason
    kernel = kernel_with(source_of(call).source, body)
    stores, adds = staged_calls(kernel, body, state.tensors, env)
    return reason_of_memory(call, body, env, stores + adds)


def staged_calls(
    code: Stmt, body: Stmt, tensors: Container[Var], env: PassEnv
) -> tuple[list[TileCall], list[TileCall]]:
    """The copies and the additions in the code that tensor maps can do if there is memory. body: the function's."""
    stores = [c for c in calls_in(code, ("copy",)) if reason_against_store(c, body, tensors, {}, env) is None]
    adds = [c for c in calls_in(code, ("atomic",)) if reason_against_add(c, body, tensors, {}, env) is None]
    return stores, adds


def reason_against_add(
    call: TileCall, body: Stmt, tensors: Container[Var], divisors: Mapping[Var, int], env: PassEnv
) -> str | None:
    """Why tensor maps cannot do the addition; None where they can.

    body: the function's code with the call. tensors: the buffers that a launch can make tensor maps of. divisors: known
    divisors of variables.
    """
    disabled = option_against(env)
    if disabled is not None:
        return disabled
    operands = reason_against_operands(call)
    if operands is not None:
        return operands
    source, target = call.value, call.dst.source
    config = staging_config(source.source, target, body, tensors, env)
    if isinstance(config, str):
        return config
    if _is_used_otherwise(target, kernel_with(source.source, body)):
        return f"the kernel uses {target.name} for more than additions of tiles"
    return reason_against_map(call, config, divisors)


def reason_against_operands(call: TileCall) -> str | None:
    """Why the operation is not a relaxed addition of a whole fragment to float32 elements of global memory."""
    if not _is_relaxed_addition(call):
        return "it is not a relaxed addition"
    source, target = call.value, call.dst.source
    if not (isinstance(source, TensorRegion) and is_fragment(source.source) and is_whole(source) and is_global(target)):
        return "it does not add a whole fragment to global memory"
    return None if dtype_of(target) == "float32" else f"the elements of {target.name} are not float32"


def _is_relaxed_addition(call: TileCall) -> bool:
    return bool(call.op.name == "atomic" and call.kind == "add" and call.order == "relaxed")


def _is_used_otherwise(tensor: Var, kernel: Stmt) -> bool:
    """Whether the kernel reads or writes the tensor other than by relaxed additions of tiles."""
    roots = memory_roots(kernel)

    def is_tensor(buffer: Var) -> bool:
        return bool(roots.get(buffer, buffer).same_as(tensor))

    if is_changed_in_place(kernel, is_tensor):
        return True
    accesses = [load.source for load in collect(kernel, TensorLoad)]
    calls = [call for node in collect(kernel, Evaluate) if (call := as_tile_call(node)) is not None]
    for call in calls:
        added = call.dst if _is_relaxed_addition(call) else None
        accesses += [region.source for region in call.regions if region is not added]
    accesses += [store.buffer for store in collect(kernel, BufferStore)]
    return any(is_tensor(buffer) for buffer in accesses)


def lower(call: TileCall, env: ThreadEnv) -> Stmt:
    return StagedCopy(call, env, is_add=True).run()


TMA_ADD = TileOpImpl(
    "atomic",
    "tensor add",
    lower,
    matches,
    priority=40,
    late=True,
    fragments=fragments,
    needs=(ThreadCount, TileFunction, WarpSpecialization),
    leaves=(BufferLayouts, TensorMaps),
)
