"""Emits CUDA C++ from thread IR; registered with TVM as ``target.build.tilecore_cuda``."""

from __future__ import annotations

import functools
import json
from math import prod
from typing import TYPE_CHECKING, Any

from tile_cuda.cutedsl.names import LANGUAGE
from tilecore.contract.records import Codegen, CodegenRequest

if TYPE_CHECKING:
    from tilecore.codegen.dialect import Dialect, KernelHead

FUNCTION = "target.build.tilecore_cuda"
HEADER = "tilecore_cuda.h"
# names of CUDA that variables of the kernel must not have
_RESERVED = frozenset("blockIdx threadIdx blockDim gridDim warpSize dim3 uint2 uint4 int2 int4 float2 float4".split())


def register() -> None:
    from tilecore.codegen.registration import register_codegen

    register_codegen(FUNCTION, build)


def build(module: Any, target: str, request: CodegenRequest | None = None) -> dict[str, str]:
    """The module's source, and the description of its kernels as JSON: in CuTe DSL for the execution backend of that
    name, else in CUDA C++."""
    from tilecore.codegen.c_source import emit_module

    if request is not None and request.adapter == LANGUAGE:
        from tile_cuda.cutedsl.emitter import DIALECT, CuteDslEmitter

        emitted = emit_module(module, DIALECT, CuteDslEmitter)
        return {"source": emitted.text, "entries": json.dumps(emitted.facts()), "format": "py"}
    emitted = emit_module(module, dialect())
    # where threads may spin on atomics, barriers check that the warp has converged (include/tilecore_cuda/threads.h)
    before = "#define TC_SPINS\n" if "tc_atomic_" in emitted.text else ""
    return {"source": before + emitted.text, "entries": json.dumps(emitted.facts())}


@functools.cache
def dialect() -> Dialect:
    """The dialect of C that the emitter writes for CUDA."""
    from tile_cuda.instruction_text import STATEMENTS, VALUES
    from tilecore.codegen.dialect import Dialect

    return Dialect(
        kind="cuda",
        include=HEADER,
        head=head,
        arena=lambda size: f"TC_SHARED(shared);  // {size} bytes",
        block_index=("blockIdx.x", "blockIdx.y", "blockIdx.z"),
        thread_index=("threadIdx.x", "threadIdx.y", "threadIdx.z"),
        statements=STATEMENTS,
        values=VALUES,
        reserved=_RESERVED,
        # NVRTC 13.0 miscompiles the maximum of several 8-bit or 16-bit absolute values that are written as selects: it
        # compares them with the bits of their neighbours
        calls_narrow_abs=True,
    )


def head(kernel: KernelHead) -> str:
    """The kernel's signature: ``extern "C" __global__ void __launch_bounds__(128) name(parameters)``.

    The tensor maps are the last parameters.
    """
    bounds = str(prod(kernel.threads)) + (f", {kernel.min_blocks}" if kernel.min_blocks else "")
    cluster = ""
    if kernel.cluster != (1, 1, 1):
        cluster = f" __cluster_dims__({', '.join(map(str, kernel.cluster))})"
    maps = [("const __grid_constant__ tc_tensor_map", m["parameter"]) for m in kernel.launch.get("tensor_maps", ())]
    parameters = ", ".join(f"{kind} {name}" for kind, name in [*kernel.parameters, *maps])
    return f'extern "C" __global__ void{cluster} __launch_bounds__({bounds}) {kernel.symbol}({parameters})'


CODEGEN = Codegen(function=FUNCTION, emits="cu", register=register, takes_request=True)
