"""TMA stores: copies of ``wgmma`` accumulators to global memory by tensor maps (staged_accumulators.py).

Stores overlap with the matrix products of the block's next tile.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from tile_cuda.attributes import CudaCallAttr
from tile_cuda.lowering.hopper.staged_accumulators import (
    StagedCopy,
    fragments,
    kernel_with,
    option_against,
    reason_against_map,
    staging_config,
)
from tile_cuda.lowering.hopper.staging_memory import reason_of_memory
from tile_cuda.lowering.hopper.store_order import unordered_write
from tile_cuda.lowering.state import TensorMaps, WarpSpecialization
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.contract.state import BufferLayouts
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import Evaluate, Stmt, TensorLoad, Var
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_fragment, is_global
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect
from tilecore.lowering.simt.state import ThreadCount, TileFunction
from tilecore.lowering.simt.thread_env import ThreadEnv

_TYPES = ("float16", "bfloat16")


def matches(call: TileCall, env: PassEnv) -> str | None:
    function, state = env.state(TileFunction), env.state(WarpSpecialization)
    body = function.function.body
    reason = reason_against_store(call, body, state.tensors, function.divisors, env)
    return reason or (None if state.is_tight else reason_of_memory(call, body, env))


def reason_against_store(
    call: TileCall, body: Stmt, tensors: Container[Var], divisors: Mapping[Var, int], env: PassEnv
) -> str | None:
    """Why tensor maps cannot do the copy; None where they can.

    body: the function's code with the copy. tensors: the buffers that a launch can make tensor maps of. divisors: known
    divisors of variables.
    """
    disabled = option_against(env)
    if disabled is not None:
        return disabled
    if call.hints.get(CallAttr.DISABLE_TMA):
        return "disable_tma=True"
    if not (is_fragment(call.src.source) and is_whole(call.src) and is_global(call.dst.source)):
        return "it does not copy a whole fragment to global memory"
    dtype = dtype_of(call.dst.source)
    if dtype not in _TYPES and not (dtype == "float32" and CudaCallAttr.STAGED in call.hints):
        return f"stmatrix does not store {dtype}, only {' and '.join(_TYPES)}"
    config = staging_config(call.src.source, call.dst.source, body, tensors, env)
    if isinstance(config, str):
        return config
    kernel = kernel_with(call.src.source, body)
    if _is_read(call.dst.source, kernel):
        return f"the kernel reads {call.dst.source.name}"
    unordered = unordered_write(call.dst, kernel)
    return reason_against_map(call, config, divisors) if unordered is None else unordered


def lower(call: TileCall, env: ThreadEnv) -> Stmt:
    return StagedCopy(call, env).run()


def _is_read(tensor: Var, body: Stmt) -> bool:
    roots = memory_roots(body)
    read = {load.source for load in collect(body, TensorLoad)}
    calls = (as_tile_call(node) for node in collect(body, Evaluate))
    read |= {c.args[name].source for c in calls if c is not None for name in c.op.reads}
    return any(roots.get(buffer, buffer).same_as(tensor) for buffer in read)


TMA_STORE = TileOpImpl(
    "copy",
    "tensor store",
    lower,
    matches,
    priority=40,
    late=True,
    fragments=fragments,
    needs=(ThreadCount, TileFunction, WarpSpecialization),
    leaves=(BufferLayouts, TensorMaps),
)
