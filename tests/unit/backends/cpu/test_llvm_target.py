"""What LLVM is told of the processor."""

from __future__ import annotations

import pytest

from tilecore.backends.cpu.toolchain import llvm_target
from tilecore.errors import TargetError
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


WRONG = {
    "-features=foo": "the extension 'foo' is not known",
    "-features=avx512f,AVX2": "the extension 'AVX2' is not known",
    "-cache_bytes=x": "no number of bytes",
    "-cache_bytes=-1": "no number of bytes",
    "-march=x86-64-v3 -bfloat16=dots": "no dot products of bfloat16",
}


@pytest.mark.parametrize("words", WRONG)
def test_attributes_that_no_processor_has(words):
    with pytest.raises(TargetError, match=WRONG[words]):
        manager.resolve(f"cpu {words}")
