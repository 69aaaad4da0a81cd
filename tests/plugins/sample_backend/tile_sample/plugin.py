"""The hooks: each answers with what its room holds."""

from __future__ import annotations

from tile_sample import adapter, codegen, lowering, target, toolchain
from tilecore.plugins.backend import Codegen, Lowering, TargetSpec, Toolchain
from tilecore.plugins.hookspecs import hookimpl
from tilecore.runtime.adapter import KernelAdapter


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
