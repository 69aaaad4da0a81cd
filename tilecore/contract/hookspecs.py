"""Specifies the five hooks that a backend package implements in the module that its entry point names.

    [project.entry-points."tilecore.backends"]
    acme = "tile_acme.plugin"          # the entry's name is the target's kind

The module decorates functions with :data:`hookimpl`. Listings call only ``tilecore_target``; the other hooks are called
when the target is first used. ``tilecore_target``, ``tilecore_lowering``, ``tilecore_codegen`` and
``tilecore_adapters`` are required, ``tilecore_toolchain`` only where binaries are built.
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
hookimpl = pluggy.HookimplMarker(PROJECT)  # the decorator of a backend's hooks


@hookspec(firstresult=True)
def tilecore_target() -> TargetSpec:  # type: ignore[empty-body]
    """The target: kind, aliases, attributes with defaults, capabilities, and whether a device is present."""


@hookspec(firstresult=True)
def tilecore_lowering() -> Lowering:  # type: ignore[empty-body]
    """The lowering from tile IR to target IR: family, edits of passes, implementations of tile ops."""


@hookspec(firstresult=True)
def tilecore_codegen() -> Codegen:  # type: ignore[empty-body]
    """The TVM global function that emits the source, and the source's format."""


@hookspec(firstresult=True)
def tilecore_toolchain() -> Toolchain:  # type: ignore[empty-body]
    """The toolchain: finds the vendor's tools, reports where it searched, and builds binaries from source."""


@hookspec(firstresult=True)
def tilecore_adapters() -> Sequence[KernelAdapter]:  # type: ignore[empty-body]
    """The execution backends, in the order in which ``execution_backend="auto"`` tries them."""
