"""The contract: five hooks. A backend package implements them in the module that its entry point names.

    [project.entry-points."tilecore.backends"]
    acme = "tile_acme.plugin"          # the entry's name is the target's kind

A module decorates plain functions with :data:`hookimpl`. Only ``tilecore_target`` is looked at by listings; the
others are called when the target is first used. ``tilecore_target``, ``tilecore_lowering``, ``tilecore_codegen`` and
``tilecore_adapters`` are needed, ``tilecore_toolchain`` only where there is something to build.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from tilecore.contract.adapter import KernelAdapter
    from tilecore.contract.records import Codegen, Lowering, TargetSpec, Toolchain

PROJECT = "tilecore"
ENTRY_POINT_GROUP = "tilecore.backends"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec(firstresult=True)
def tilecore_target() -> TargetSpec:  # type: ignore[empty-body]
    """The target: kind, aliases, attributes and their defaults, arch detection, capabilities, is a device present."""


@hookspec(firstresult=True)
def tilecore_lowering() -> Lowering:  # type: ignore[empty-body]
    """How tile IR becomes target IR: family, passes edited by name, own tile-op implementations, stand-in target."""


@hookspec(firstresult=True)
def tilecore_codegen() -> Codegen:  # type: ignore[empty-body]
    """Which TVM global function emits the source, and in what format."""


@hookspec(firstresult=True)
def tilecore_toolchain() -> Toolchain:  # type: ignore[empty-body]
    """Finds the vendor's tools, reports what it looked for and where, and builds source to binary."""


@hookspec(firstresult=True)
def tilecore_adapters() -> Sequence[KernelAdapter]:  # type: ignore[empty-body]
    """The execution backends, in the order in which ``execution_backend="auto"`` tries them."""
