"""The built-in backend: kernels as loops and vectors on the host's cores. It uses the hooks that every backend uses."""

from __future__ import annotations

from collections.abc import Sequence

from tilecore.contract.adapter import KernelAdapter
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Codegen, Lowering, TargetSpec, Toolchain


@hookimpl
def tilecore_target() -> TargetSpec:
    from tilecore.backends.cpu.target import SPEC

    return SPEC


@hookimpl
def tilecore_lowering() -> Lowering:
    from tilecore.backends.cpu.lowering import LOWERING

    return LOWERING


@hookimpl
def tilecore_codegen() -> Codegen:
    from tilecore.backends.cpu.codegen import CODEGEN

    return CODEGEN


@hookimpl
def tilecore_toolchain() -> Toolchain:
    from tilecore.backends.cpu.toolchain import TOOLCHAIN

    return TOOLCHAIN


@hookimpl
def tilecore_adapters() -> Sequence[KernelAdapter]:
    from tilecore.backends.cpu.adapter import NativeAdapter

    return [NativeAdapter()]
