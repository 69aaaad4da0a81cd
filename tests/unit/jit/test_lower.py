"""tilecore.lower: the source, without building anything."""

from __future__ import annotations

import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError


@T.prim_func
def add(A: T.Tensor((8,), "int32"), B: T.Tensor((8,), "int32")):
    with T.Kernel(1):
        for i in T.Parallel(8):
            B[i] = A[i] + 1


def test_the_source_is_that_of_the_kernel(monkeypatch):
    kernel = tilecore.compile(add, target="cpu")
    monkeypatch.setattr("tilecore.compiler.build", lambda *a: pytest.fail("built"))
    artifact = tilecore.lower(add, target="cpu")
    # a compiled kernel's code has names that tell it from other kernels of its function
    symbol = kernel.artifact.entries[0].symbol
    assert symbol.startswith("add_kernel_8_8_i32_")
    assert artifact.kernel_source == kernel.get_kernel_source().replace(symbol, "add_kernel")
    assert [p.name for p in artifact.params] == ["A", "B"]
    assert artifact.params == list(kernel.params)
    assert len(artifact.device_mod.functions) == 1
    assert artifact.host_mod is artifact.rt_mod is None


def test_a_module_of_one_kernel():
    from tilecore.ir.nodes import IRModule

    module = IRModule({"add": add.ir})
    assert tilecore.lower(module, target="cpu").kernel_source == tilecore.lower(add, target="cpu").kernel_source
    with pytest.raises(LanguageError, match="the module has 2 functions"):
        tilecore.lower(IRModule({"a": add.ir, "b": add.ir}), target="cpu")
    with pytest.raises(LanguageError, match="cannot be compiled"):
        tilecore.lower("nonsense", target="cpu")
