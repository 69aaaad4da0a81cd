"""What LLVM is told of the processor."""

from __future__ import annotations

import pytest

from tilecore.backends.cpu.toolchain import llvm_target
from tilecore.ir.nodes import tvm
from tilecore.plugins import manager


@pytest.mark.parametrize("march", ["native", "generic"])
def test_every_extension_is_named(march, monkeypatch):
    """LLVM may take a virtual machine's processor for an older one, and ends the process at what that lacks."""
    monkeypatch.setattr(tvm.target.codegen, "llvm_get_system_cpu", lambda: "x86-64")
    _, target = manager.resolve(f"cpu -march={march}")
    features = [f for f in str(target.get("features") or "").split(",") if f]
    attributes = llvm_target(target)
    assert {f"+{f}" for f in features} <= {*attributes.get("mattr", ())}
    assert (attributes.get("mcpu") == "x86-64") == (march == "native")
