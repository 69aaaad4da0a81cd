"""The null backend: target kind ``null``, all five hooks real, and nothing runnable comes out.

Its source is the lowered IR's script and its launch does nothing, so the loader, the caches and the cost of a
launch can be tested apart from any code generation. It has no entry point::

    with manager.register(null_backend, package="tilecore-null"):
        kernel = tilecore.compile(function, target="null")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import (
    AttributeSpec,
    BuildRequest,
    Capabilities,
    Codegen,
    Found,
    Lowering,
    Presence,
    TargetSpec,
    Toolchain,
)
from tilecore.dtypes import FACTS

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.target import Target

KIND = "null"
FUNCTION = f"target.build.tilecore_{KIND}"


def capabilities(target: Target) -> Capabilities:
    return Capabilities(dtypes=frozenset(FACTS), scopes=frozenset(), tile_ops=frozenset())


def detect() -> Presence:
    return Presence(False, "the null target has no device")


def emit(module: Any, target: str) -> str:
    """The "source" of a lowered IRModule: its script, under one line that names the target."""
    return f"# target: {target}\n{module.script()}\n"


def register_emit() -> None:
    from tilecore.ir.nodes import tvm_ffi

    tvm_ffi.register_global_func(FUNCTION, emit, override=True)


def build(request: BuildRequest) -> tuple[bytes, str]:
    """The source's own bytes: a stand-in for a binary, for adapters that ask for one."""
    return request.source.encode(), "text"


class NullAdapter(KernelAdapter):
    """Loads anything; launching does nothing and succeeds."""

    name = "null"

    def available(self, target: Target) -> Presence:
        return Presence(True, "always: it runs nothing")

    def load(self, artifact: Artifact) -> LoadedKernel:
        return LoadedKernel(launch=_launch)


def _launch(slots: int, grids: int, stream: int) -> int:
    return 0


@hookimpl
def tilecore_target() -> TargetSpec:
    return TargetSpec(
        kind=KIND,
        doc="compiles to text that nothing runs",
        capabilities=capabilities,
        detect=detect,
        attributes={"variant": AttributeSpec("any number; tells one null target from another", default=0)},
        options=(),
    )


@hookimpl
def tilecore_lowering() -> Lowering:
    return Lowering(family="none")


@hookimpl
def tilecore_codegen() -> Codegen:
    return Codegen(function=FUNCTION, emits="txt", register=register_emit)


@hookimpl
def tilecore_toolchain() -> Toolchain:
    return Toolchain(find=lambda: [Found("nothing", True, "needs no tools")], build=build)


@hookimpl
def tilecore_adapters() -> list[KernelAdapter]:
    return [NullAdapter()]
