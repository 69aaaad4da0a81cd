"""The null backend as one for a device of many threads that lacks what ``changes`` of its capabilities say."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from tilecore.compiler import CompileOptions, lower
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import AttributeSpec, Capabilities, Lowering, TargetSpec
from tilecore.plugins import manager
from tilecore.testing import null_backend

NARROW = frozenset({"float32", "float16", "int32", "uint32", "int8", "uint8", "bool"})


@contextmanager
def restricted(**changes: Any):
    """Registers it as target ``null``."""
    facts = {"dtypes": NARROW, "scopes": frozenset(), "tile_ops": frozenset(), "max_threads": 1024, "warp": 32}

    @hookimpl
    def tilecore_target() -> TargetSpec:
        return TargetSpec(
            kind="null",
            doc="a device that lacks something",
            capabilities=lambda target: Capabilities(**{**facts, **changes}),
            detect=null_backend.detect,
            attributes={"variant": AttributeSpec("any number; its kernels have places of their own", default=0)},
        )

    @hookimpl
    def tilecore_lowering() -> Lowering:
        return Lowering(family="simt")

    parts = {**vars(null_backend), "tilecore_target": tilecore_target, "tilecore_lowering": tilecore_lowering}
    with manager.register(SimpleNamespace(**parts), package="tile-restricted"):
        yield


def thread_ir(func: Any) -> Any:
    """What the family makes of a kernel for the registered backend."""
    backend, target = manager.resolve("null")
    module, _ = lower(func.ir, backend, target, CompileOptions((), {}, (), False))
    return module
