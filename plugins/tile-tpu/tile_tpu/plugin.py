"""The hooks of tile-tpu."""

from __future__ import annotations

from collections.abc import Sequence

from tilecore.contract.adapter import KernelAdapter
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Codegen, Lowering, TargetSpec, Toolchain


@hookimpl
def tilecore_target() -> TargetSpec:
    from tile_tpu.target import SPEC

    return SPEC


@hookimpl
def tilecore_lowering() -> Lowering:
    from tile_tpu.lowering.pipeline import lowering

    return lowering()


@hookimpl
def tilecore_codegen() -> Codegen:
    from tile_tpu.codegen import CODEGEN

    return CODEGEN


@hookimpl
def tilecore_toolchain() -> Toolchain:
    from tile_tpu.toolchain.record import TOOLCHAIN

    return TOOLCHAIN


@hookimpl
def tilecore_adapters() -> Sequence[KernelAdapter]:
    from tile_tpu.adapter import adapters

    return adapters()
