"""Emits OpenCL C from thread IR; registered with TVM as ``target.build.tilecore_opencl``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilecore.contract.records import Codegen
from tilecore.ir.thread_calls import COMMIT_ASYNC, NAMED_BARRIER, SHUFFLE, VOTE, WAIT_ASYNC, WARP_BARRIER

if TYPE_CHECKING:
    from tilecore.codegen.dialect import Dialect, KernelHead

FUNCTION = "target.build.tilecore_opencl"
HEADER = "tilecore_opencl.h"
NAMES = "char uchar short ushort int uint long ulong float double half".split()
RESERVED = frozenset(
    "kernel global local constant private generic read_only write_only read_write pipe event_t sampler_t size_t "
    "ptrdiff_t intptr_t uintptr_t barrier vload2 vload4 vstore2 vstore4 clz popcount isnan isinf isfinite rootn "
    "dot cross length normalize distance mix clamp step sign radians degrees select shuffle half".split()
) | {f"{name}{lanes}" for name in NAMES for lanes in ("", 2, 3, 4, 8, 16)}
TYPES = {
    "bool": "uchar",  # OpenCL C allows no pointers to bool as parameters of kernels
    "int8": "char", "uint8": "uchar", "int4": "char", "uint4": "uchar", "uint16": "ushort", "uint32": "uint",
    "int64": "long", "uint64": "ulong",
}  # fmt: skip


def register() -> None:
    from tilecore.codegen.registration import register_codegen

    register_codegen(FUNCTION, build)


def build(module: Any, target: str) -> dict[str, str]:
    """The module's source, and the description of its kernels as JSON."""
    from tilecore.codegen.c_source import emit_module

    emitted = emit_module(module, dialect("cl_khr_fp64" in target))
    return {"source": emitted.text, "entries": json.dumps(emitted.facts())}


def dialect(has_double: bool) -> Dialect:
    """The dialect of C that the emitter writes for OpenCL."""
    from tilecore.codegen.dialect import C_MATH, C_TYPES, Dialect
    from tilecore.codegen.forms import C

    types = {**C_TYPES, **TYPES}
    if not has_double:
        del types["float64"]
    printed = {
        "float": ("%g", "double" if has_double else "float"),
        "uint": ("%lu", "ulong"),
        **dict.fromkeys(("int", "bool"), ("%ld", "long")),
    }
    warps = (WARP_BARRIER, NAMED_BARRIER, VOTE, SHUFFLE)
    waits = (COMMIT_ASYNC, WAIT_ASYNC)
    return Dialect(
        kind="opencl",
        include=HEADER,
        head=head,
        arena=lambda size: f"local uchar shared[{size}] __attribute__((aligned(1024)));",
        block_index=("get_group_id(0)", "get_group_id(1)", "get_group_id(2)"),
        thread_index=("get_local_id(0)", "get_local_id(1)", "get_local_id(2)"),
        types=types,
        math=C_MATH,
        values=dict.fromkeys(warps, refuse_warps),
        statements={**dict.fromkeys(warps, refuse_warps), **dict.fromkeys(waits, emit_no_wait)},
        restrict="restrict",
        reserved=RESERVED,
        forms=replace(C, suffixes={"uint32": "u", "int64": "l", "uint64": "ul"}, printed=printed),
        spaces={"global": "global", "shared": "local"},
        aliased=lambda kind: f"tc_any_{kind}" if kind in NAMES[2:] else kind,
        calls_narrow_abs=True,  # NVIDIA's compiler miscompiles some of them inside of selects
    )


def head(kernel: KernelHead) -> str:
    """The kernel's signature. The launcher adds two parameters: the index of a failed assertion, memory for votes."""
    size = ", ".join(map(str, kernel.threads))
    launcher_parameters = [("global int*", "tc_failed"), ("local int*", "tc_votes")]
    parameters = ", ".join(f"{kind} {name}" for kind, name in [*kernel.parameters, *launcher_parameters])
    return f"kernel __attribute__((reqd_work_group_size({size}))) void {kernel.symbol}({parameters})"


def refuse_warps(emit: Any, node: Any) -> Any:
    from tilecore.codegen.refusal import refuse

    return refuse(node, "opencl", "OpenCL C 1.2 has no warps in a work-group: use T.sync_threads")


def emit_no_wait(emit: Any, node: Any) -> None:
    """Emits nothing for a wait: copies are not asynchronous here."""


CODEGEN = Codegen(function=FUNCTION, emits="cl", register=register)
