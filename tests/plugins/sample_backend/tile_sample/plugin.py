"""The hooks: each answers with what its room holds."""

from __future__ import annotations

from tile_sample import adapter, codegen, lowering, target, toolchain
from tilecore.contract.adapter import KernelAdapter
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Codegen, Lowering, TargetSpec, Toolchain


@hookimpl
def tilecore_target() -> TargetSpec:
    return target.SPEC


@hookimpl
def tilecore_lowering() -> Lowering:
    return lowering.LOWERING


@hookimpl
def tilecore_codegen() -> Codegen:
    return codegen.CODEGEN


@hookimpl
def tilecore_toolchain() -> Toolchain:
    return toolchain.TOOLCHAIN


@hookimpl
def tilecore_adapters() -> list[KernelAdapter]:
    return [adapter.SampleAdapter()]
