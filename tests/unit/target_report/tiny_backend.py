"""A target of threads that has little: few element types, few operations, small shared memory. Emits the IR's script.

``lacking(...)`` makes one with other limits.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Capabilities, Codegen, Lowering, Presence, TargetSpec
from tilecore.testing.null_backend import NullAdapter, emit

LITTLE = Capabilities(
    dtypes=frozenset({"float32", "float16", "int32"}),
    scopes=frozenset({"global", "shared", "shared.dyn", "local", "local.fragment", "local.var"}),
    tile_ops=frozenset({"copy", "fill", "gemm", "reduce"}),
    max_threads=256,
    warp=32,
    shared_bytes=16 << 10,
)


def lacking(kind: str = "tiny", family: str = "simt", **changes: Any) -> Any:
    """A plugin whose target has LITTLE, with ``changes``."""
    capabilities, function = replace(LITTLE, **changes), f"target.build.tilecore_{kind}"

    def register() -> None:
        from tilecore.ir.nodes import tvm_ffi

        tvm_ffi.register_global_func(function, emit, override=True)

    @hookimpl
    def tilecore_target():
        return TargetSpec(kind, "a small device", lambda target: capabilities, lambda: Presence(False, "imagined"))

    @hookimpl
    def tilecore_lowering():
        return Lowering(family=family)

    @hookimpl
    def tilecore_codegen():
        return Codegen(function=function, emits="txt", register=register)

    @hookimpl
    def tilecore_adapters():
        return [NullAdapter()]

    hooks = (tilecore_target, tilecore_lowering, tilecore_codegen, tilecore_adapters)
    return SimpleNamespace(__name__=f"tile_{kind}", **{hook.__name__: hook for hook in hooks})
