"""Collects the L2 access policy window of each kernel from ``T.annotate_l2_hit_ratio``, for the launch.

A launch has one window of addresses (CUDA driver API, CUaccessPolicyWindow). So the first annotation of a kernel
applies; the others are noted as declined.
"""

from __future__ import annotations

from math import prod
from typing import Any

from tile_cuda.lowering.state import L2Windows
from tile_cuda.target import architecture_of
from tilecore.artifact.dims import dim_to_json
from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import FACTS
from tilecore.ir.attributes import KernelHint
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import PrimFunc, Stmt, Var
from tilecore.ir.sizes import to_dim
from tilecore.ir.tile_ops import hints_of
from tilecore.lowering.analysis.kernels import kernels_of


def collect_windows(func: PrimFunc, env: PassEnv) -> PrimFunc:
    kernels = enumerate(kernels_of(func.body))
    windows = {index: window for index, kernel in kernels if (window := _window(func, kernel, env))}
    env.publish(L2Windows(windows))
    return func


def _window(func: PrimFunc, kernel: Stmt, env: PassEnv) -> tuple[str, Any, float] | None:
    window: tuple[str, Any, float] | None = None
    for call in hints_of(kernel, KernelHint.L2_HIT_RATIO):
        buffer, ratio = call.rest[0].source, float(call.rest[1].value)
        refusal = _refusal(func, buffer, env, window)
        if refusal is None:
            window = (str(buffer.name), dim_to_json(to_dim(_bytes(buffer))), ratio)
        message = f"{ratio:g} of the accesses to {buffer.name} stay in L2"
        env.note("notes", {"text": f"not {message}: {refusal}" if refusal else message})
    return window


def _refusal(func: PrimFunc, buffer: Var, env: PassEnv, window: Any) -> str | None:
    """Why the launch cannot have a window for the tensor; None where it can. window: the kernel's window so far."""
    arch = architecture_of(env.target)
    if "l2_policies" not in arch.features():
        return f"{arch.name} has no L2 access policy windows"
    if not any(buffer.same_as(param) for param in func.params):
        return "the window must be a parameter"
    return f"a launch has one window, which {window[0]} has" if window is not None else None


def _bytes(buffer: Var) -> Any:
    bits = FACTS[dtype_of(buffer)].bits
    elements = prod(buffer.shape[1:], start=buffer.shape[0]) if len(buffer.shape) else 1
    return elements * bits // 8 if bits < 8 else elements * (bits // 8)


COLLECT_WINDOWS = Pass("collect_windows", collect_windows, leaves=(L2Windows,))
