"""Emits HIP C++ from thread IR; registered with TVM as ``target.build.tilecore_hip``."""

from __future__ import annotations

import functools
import json
from math import prod
from typing import TYPE_CHECKING, Any

from tilecore.contract.records import Codegen
from tilecore.ir.thread_calls import COMMIT_ASYNC, NAMED_BARRIER, WAIT_ASYNC

if TYPE_CHECKING:
    from tilecore.codegen.dialect import Dialect, KernelHead

FUNCTION = "target.build.tilecore_hip"
HEADER = "tilecore_hip.h"
# names of HIP that variables of the kernel must not have
_RESERVED = frozenset("blockIdx threadIdx blockDim gridDim warpSize".split())


def register() -> None:
    from tilecore.codegen.registration import register_codegen

    register_codegen(FUNCTION, build)


def build(module: Any, target: str) -> dict[str, str]:
    """The module's source, and the description of its kernels as JSON."""
    from tilecore.codegen.c_source import emit_module

    emitted = emit_module(module, dialect())
    return {"source": emitted.text, "entries": json.dumps(emitted.facts())}


@functools.cache
def dialect() -> Dialect:
    """The dialect of C that the emitter writes for HIP."""
    from tile_hip.instructions import COPY_TO_LDS, SHARED_BARRIER, WAIT_COPIES
    from tilecore.codegen.dialect import Dialect

    return Dialect(
        kind="hip",
        include=HEADER,
        head=head,
        arena=lambda size: f"TC_SHARED(shared);  // {size} bytes",
        block_index=("blockIdx.x", "blockIdx.y", "blockIdx.z"),
        thread_index=("threadIdx.x", "threadIdx.y", "threadIdx.z"),
        statements={
            COMMIT_ASYNC: emit_no_wait,
            WAIT_ASYNC: emit_no_wait,
            NAMED_BARRIER: refuse_named_barrier,
            SHARED_BARRIER: emit_shared_barrier,
            COPY_TO_LDS: emit_copy,
            WAIT_COPIES: emit_wait_copies,
        },
        values={},
        reserved=_RESERVED,
    )


def head(kernel: KernelHead) -> str:
    """The kernel's signature: ``extern "C" __global__ void __launch_bounds__(128) name(parameters)``.

    The blocks that a unit should hold are a macro of the header: the second argument of HIP's own ``__launch_bounds__``
    is the waves of a SIMD, which depend on the chip.
    """
    threads = prod(kernel.threads)
    bounds = f"__launch_bounds__({threads})"
    if kernel.min_blocks:
        bounds += f" TC_MIN_BLOCKS({threads}, {kernel.min_blocks})"
    parameters = ", ".join(f"{kind} {name}" for kind, name in kernel.parameters)
    return f'extern "C" __global__ void {bounds} {kernel.symbol}({parameters})'


def refuse_named_barrier(emit: Any, node: Any) -> None:
    from tilecore.codegen.refusal import refuse

    refuse(node, "hip", "these chips have no barriers of some of a block's waves: synchronize the whole block")


def emit_shared_barrier(emit: Any, node: Any) -> None:
    """Emits the barrier that orders accesses of LDS alone."""
    emit.call_line(emit.function("tc_shared_barrier"))


def emit_copy(emit: Any, node: Any) -> None:
    """Emits a copy from global memory to LDS, as copy_directly left it."""
    target, source, size, valid = node.value.args
    places = emit.place(target), emit.place(source)
    emit.call_line(emit.sized_function("tc_copy_to_lds", emit.known_number(node, size), *places, emit.value(valid)))


def emit_wait_copies(emit: Any, node: Any) -> None:
    """Emits the wait for copies to LDS."""
    emit.call_line(emit.sized_function("tc_wait_copies", emit.known_number(node, node.value.args[0])))


def emit_no_wait(emit: Any, node: Any) -> None:
    """Emits nothing for a wait: copies to LDS are loads and stores here."""


CODEGEN = Codegen(function=FUNCTION, emits="hip", register=register)
