"""Emits Metal Shading Language from thread IR; registered with TVM as ``target.build.tilecore_metal``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from tilecore.contract.records import Codegen

if TYPE_CHECKING:
    from tile_metal.emitter import MetalDialect

FUNCTION = "target.build.tilecore_metal"
HEADER = "tilecore_metal.h"
_TYPES = {
    "float16": "half", "bfloat16": "bfloat", "int8": "char", "uint8": "uchar", "int4": "char", "uint4": "uchar",
    "uint16": "ushort", "uint32": "uint", "int64": "long", "uint64": "ulong",
}  # fmt: skip


def register() -> None:
    from tilecore.codegen.registration import register_codegen

    register_codegen(FUNCTION, build)


def build(module: Any, target: str) -> dict[str, str]:
    """The module's source, and the description of its kernels as JSON."""
    from tile_metal.emitter import MetalEmitter
    from tile_metal.figures import remarks
    from tilecore.codegen.c_source import emit_module
    from tilecore.target import Target

    language = dialect(Target.parse(target))
    emitted = emit_module(module, language, MetalEmitter)
    facts = emitted.facts()
    figures = remarks.facts_of(emitted.text, language.family.name, _threads_by_name(module, emitted.names))
    for symbol, entry in facts.items():
        entry.update(figures.get(emitted.names.get(symbol, symbol), {}))
    return {"source": emitted.text, "entries": json.dumps(facts)}


def _threads_by_name(module: Any, names: Mapping[str, str]) -> dict[str, int]:
    """The threads of a threadgroup of each kernel, by its name in the source. names: by symbol, where they differ."""
    from tilecore.ir.attributes import FunctionAttr

    shapes = {str(var.name_hint): func.attrs[FunctionAttr.THREADS] for var, func in module.functions.items()}
    return {names.get(symbol, symbol): prod(map(int, shape)) for symbol, shape in shapes.items()}


def dialect(target: Any) -> MetalDialect:
    """The dialect of C++ that Metal compiles. target: a resolved one, whose version of MSL and family it is for."""
    from tile_metal.emitter import MetalDialect
    from tile_metal.instruction_text import STATEMENTS, VALUES
    from tile_metal.reserved import RESERVED
    from tile_metal.target import family_of, msl_of
    from tilecore.codegen.dialect import C_TYPES
    from tilecore.codegen.forms import Forms
    from tilecore.codegen.text import Text, call, cast

    msl = msl_of(target)
    types = {name: kind for name, kind in {**C_TYPES, **_TYPES}.items() if name != "float64"}
    if msl < 310:
        del types["bfloat16"]
    native = ("half", "bfloat")
    forms = Forms(
        narrow_operators=False,
        typed=lambda name, kind, dtype: f"{name}<{kind}>",
        from_bits=lambda kind, bits: Text(f"tc_bits<{kind}>(({'ushort' if kind in native else 'uchar'})({bits}))"),
        narrow=lambda kind, value: cast(kind, value) if kind in native else call(f"{kind}_from", value),
        single=cast,
        sized=lambda name, number: f"{name}<{number}>",
        suffixes={"uint32": "u", "int64": "l", "uint64": "ul"},
        printed={"float": ("%g", "float"), "int": ("%ld", "long"), "uint": ("%lu", "ulong"), "bool": ("%ld", "long")},
    )
    return MetalDialect(
        kind="metal",
        include=HEADER,
        arena=lambda size: f"alignas(16) threadgroup uchar shared[{size}];  // {size} bytes",
        block_index=("tc_block.x", "tc_block.y", "tc_block.z"),
        # A block has at most 1024 threads. By the cast the compiler knows that an index is small and not negative, and
        # makes shifts of divisions by powers of two.
        thread_index=("(ushort)tc_thread.x", "(ushort)tc_thread.y", "(ushort)tc_thread.z"),
        types=types,
        statements=STATEMENTS,
        values=VALUES,
        restrict="__restrict",
        reserved=RESERVED,
        forms=forms,
        spaces={"global": "device", "shared": "threadgroup", "local": "thread"},
        msl=msl,
        family=family_of(target),
    )


CODEGEN = Codegen(function=FUNCTION, emits="metal", register=register)
