"""The hook implementations of the target ``hip``. Importing them imports neither TVM nor torch."""

from __future__ import annotations

from collections.abc import Sequence

from tilecore.contract.adapter import KernelAdapter
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Codegen, Lowering, TargetSpec, Toolchain


@hookimpl
def tilecore_target() -> TargetSpec:
    from tile_hip.target import SPEC

    return SPEC


@hookimpl
def tilecore_lowering() -> Lowering:
    from tile_hip.lowering import lowering

    return lowering()


@hookimpl
def tilecore_codegen() -> Codegen:
    from tile_hip.codegen import CODEGEN

    return CODEGEN


@hookimpl
def tilecore_toolchain() -> Toolchain:
    from tile_hip.toolchain import TOOLCHAIN

    return TOOLCHAIN


@hookimpl
def tilecore_adapters() -> Sequence[KernelAdapter]:
    from tile_hip.adapter import adapters

    return adapters()
