"""The hook implementations of the target ``cuda``."""

from __future__ import annotations

from collections.abc import Sequence

from tilecore.contract.adapter import KernelAdapter
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Codegen, Lowering, TargetSpec, Toolchain


@hookimpl
def tilecore_target() -> TargetSpec:
    from tile_cuda.target import SPEC

    return SPEC


@hookimpl
def tilecore_lowering() -> Lowering:
    from tile_cuda.lowering import lowering

    return lowering()


@hookimpl
def tilecore_codegen() -> Codegen:
    from tile_cuda.codegen import CODEGEN

    return CODEGEN


@hookimpl
def tilecore_toolchain() -> Toolchain:
    from tile_cuda.toolchain import TOOLCHAIN

    return TOOLCHAIN


@hookimpl
def tilecore_adapters() -> Sequence[KernelAdapter]:
    from tile_cuda.execution_backends import adapters

    return adapters()
