"""Parameters as users see them, and what a kernel offers by TileLang's names."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from fresh_processes import output_of
from launch_kit import torch

import tilecore
import tilecore.language as T
from tilecore.interpreter import interpret
from tilecore.jit.adapter import BaseKernelAdapter
from tilecore.runtime.launcher_py import Launcher
from tilecore.runtime.params import KernelParam

NIBBLES = T.Tensor((4,), "int4")


@T.prim_func
def mixed(A: T.Tensor((3, 4), "float16"), B: T.Tensor((3, 4), "uint8"), P: NIBBLES, C: T.Tensor((3, 4)), s: T.bool):
    with T.Kernel(1):
        for i, j in T.Parallel(3, 4):
            C[i, j] = T.if_then_else(s, A[i, j], B[i, j])


@pytest.fixture(scope="module")
def kernel():
    return tilecore.compile(mixed, target="cpu")


def test_element_types_are_torchs(kernel):
    a, _, p, c, s = kernel.params
    assert [x.dtype for x in kernel.params] == [torch.float16, torch.uint8, torch.int8, torch.float32, torch.bool]
    assert torch.randn(*(int(size) for size in a.shape)).to(a.dtype).dtype == torch.float16
    assert (a.torch_dtype(), a.tilelang_dtype(), p.tilelang_dtype()) == (torch.float16, T.float16, "int4")
    assert (a.name, a.shape, a.strides, a.access) == ("A", (3, 4), None, "r")
    assert (c.access, s.access, s.shape, s.strides) == ("w", "r", (), None)
    assert [x.is_scalar() for x in kernel.params] == [False, False, False, False, True]
    assert [x.is_unsigned() for x in kernel.params] == [False, True, False, False, False]
    assert [x.is_boolean() for x in kernel.params] == [False, False, False, False, True]
    assert not any(x.is_float8() or x.is_float4() for x in kernel.params)
    assert [repr(a), repr(s)] == ["KernelParam(A: float16[3, 4])", "KernelParam(s: bool)"]
    assert kernel.params == tilecore.compile(mixed, target="cpu").params
    assert kernel.get_profiler().params == kernel.params


def test_small_floats_are_told():
    from tilecore.artifact.records import ScalarParam

    assert KernelParam(ScalarParam("x", "float8_e4m3fn")).is_float8()
    assert KernelParam(ScalarParam("x", "float4_e2m1fn")).is_float4()


def test_without_torch_the_languages_types():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from tilecore.artifact.records import ScalarParam\n"
        "from tilecore.runtime.params import KernelParam\n"
        "print(repr(KernelParam(ScalarParam('x', 'float16')).dtype))"
    )
    assert output_of(code) == "T.float16\n"


def test_a_supply_program_gets_them():
    def supply_ones(params):
        return [torch.ones(*(int(size) for size in p.shape)).to(p.dtype) for p in params]

    @tilecore.autotune(configs={"block": [1, 2]}, warmup=1, rep=1, supply_prog=supply_ones)
    @tilecore.jit(target="cpu", out_idx=-1)
    def filled(block):
        @T.prim_func
        def f(A: T.Tensor((8,), "float16"), B: T.Tensor((8,), "float32")):
            with T.Kernel(8 // block) as b:
                for i in T.Parallel(block):
                    B[b * block + i] = A[b * block + i] + 1.0

        return f

    assert (filled()(torch.ones(8, dtype=torch.float16)) == 2).all()


def values():
    a = np.arange(12, dtype=np.float16).reshape(3, 4)
    return a, np.zeros((3, 4), np.uint8), np.zeros(2, np.int8), np.zeros((3, 4), np.float32)


def test_the_function_by_other_names(kernel):
    for function in (kernel.torch_function, kernel.adapter.func, kernel.adapter):
        a, b, p, c = values()
        function(a, b, p, c, True)
        assert (c == a).all()
    assert kernel.torch_function is kernel
    assert kernel.host_source == kernel.get_host_source()
    assert kernel.host_source


def test_the_adapter_is_the_execution_backend_with_the_kernel(kernel):
    adapter = kernel.adapter
    assert isinstance(adapter, BaseKernelAdapter)
    assert (adapter.name, adapter.torch_device(), adapter.result_idx) == ("native", "cpu", [])
    assert adapter.params == kernel.params
    assert adapter.get_kernel_source() == kernel.get_kernel_source()
    assert kernel.execution is kernel.backend.adapters["native"]
    assert adapter == kernel.adapter
    assert adapter != tilecore.compile(mixed, target="cpu -march=generic").adapter
    assert hash(adapter) == hash(kernel.adapter)
    assert repr(adapter) == f"<native of {kernel!r}>"
    assert copy.copy(adapter).func is kernel
    with pytest.raises(AttributeError):
        adapter.nothing_like_it  # noqa: B018


def test_both_launchers_have_it(kernel):
    plain = Launcher(kernel.artifact, kernel.loaded, kernel.backend.adapters["native"], 1)
    assert plain.adapter.name == "native"
    a, b, p, c = values()
    plain(a, b, p, c, True)
    assert (c == a).all()


def test_the_ir_can_be_interpreted(kernel):
    a, b, p, c = values()
    interpret(kernel.ir, a, b, p, c, True)
    assert (c == a).all()
    assert kernel.ir is kernel.prim_func
