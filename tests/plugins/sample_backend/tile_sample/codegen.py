"""Emits the IR's own script, registered under the name that the contract gives."""

from __future__ import annotations

from tilecore.contract.records import Codegen
from tilecore.testing.null_backend import emit

FUNCTION = "target.build.tilecore_sample"


def register() -> None:
    from tilecore.ir.nodes import tvm_ffi

    tvm_ffi.register_global_func(FUNCTION, emit, override=True)


CODEGEN = Codegen(function=FUNCTION, emits="txt", register=register)
