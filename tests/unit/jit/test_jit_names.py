"""What programs import from tilecore.jit, and what they ask of JITImpl and of execution backends by name."""

from __future__ import annotations

import inspect
import logging
import types
import typing

import numpy as np
import pytest
import torch
from fresh_processes import output_of

import tilecore
import tilecore.language as T
from tilecore.contract.adapter import KernelAdapter
from tilecore.errors import TargetError
from tilecore.jit import ExecutionBackend, JITImpl, JITKernel, compile, execution_names, jit, logger, par_compile
from tilecore.jit.execution_names import is_usual_name
from tilecore.jit.request import choose_adapter
from tilecore.plugins import manager
from tilecore.testing import null_backend


@jit(target="cpu", out_idx=[-1], execution_backend="cython", verbose=False, pass_configs={"tl.enable_fast_math": True})
def doubled(n, dtype="float32"):
    @T.prim_func
    def twice_kernel(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype)):
        with T.Kernel(1):
            for i in T.Parallel(n):
                B[i] = A[i] * 2

    return twice_kernel


def test_the_names_are_those_of_the_package_itself():
    assert (jit, compile, par_compile) == (tilecore.jit, tilecore.compile, tilecore.par_compile)
    assert (JITImpl, JITKernel) == (tilecore.JITImpl, tilecore.JITKernel)
    assert set(typing.get_args(ExecutionBackend)) == {"auto", "cython", "dlpack", "tvm_ffi", "torch"}
    from tilecore.jit.adapter import BaseKernelAdapter
    from tilecore.jit.adapter import KernelAdapter as same
    from tilecore.jit.kernel import JITKernel as same_kernel

    assert isinstance(doubled(4).adapter, BaseKernelAdapter)
    assert same is KernelAdapter
    assert same_kernel is JITKernel


@pytest.mark.parametrize("first", ["tilecore.jit.compile", "tilecore.jit.kernel", "tilecore.cache", "tilecore.jit"])
def test_a_name_wins_over_the_module_of_that_name_whichever_is_imported_first(first):
    code = (
        f"import sys, types, {first}\n"
        "print([m for m in ('tvm', 'torch', 'numpy') if m in sys.modules])\n"
        "from tilecore.jit import compile, jit\n"
        "import tilecore.jit.compile\n"
        "from tilecore.jit import compile as again\n"
        "print(isinstance(compile, types.FunctionType), again is compile, 'jit' in dir(sys.modules['tilecore.jit']))\n"
        "print(hasattr(sys.modules['tilecore.jit'], 'nothing'))\n"
    )
    assert output_of(code).splitlines() == ["[]", "True True True", "False"]


def test_the_settings_are_attributes():
    assert doubled.out_idx == [-1]
    assert (doubled.target, doubled.target_host, doubled.execution_backend) == ("cpu", None, "cython")
    assert (doubled.verbose, doubled.debug_root_path, doubled.compile_flags) == (False, None, None)
    assert doubled.pass_configs == {"tl.enable_fast_math": True}
    assert doubled.func_source == inspect.getsource(doubled.__wrapped__)
    assert "def twice_kernel" in doubled.func_source
    assert doubled.initialize_jit_mode(4) == doubled.mode == "lazy"
    assert doubled.is_lazy_mode()
    assert isinstance(doubled.signature, inspect.Signature)
    on_kernel = tilecore.jit(doubled.func(4), target="cpu", out_idx=1)
    assert (on_kernel.out_idx, on_kernel.compile().out_idx, on_kernel.initialize_jit_mode()) == (1, [1], "kernel")
    assert "twice_kernel" in on_kernel.func_source


def test_generics_for_annotations():
    P = typing.ParamSpec("P")
    assert typing.get_origin(JITImpl[P, P, int, int]) is JITImpl
    assert typing.get_origin(JITKernel[P, int]) is JITKernel


def test_the_logger_tells_what_is_compiled(caplog):
    with caplog.at_level(logging.DEBUG, logger="tilecore.jit"):
        doubled(7)
    assert logger is logging.getLogger("tilecore.jit")
    assert [record.message for record in caplog.records if "twice_kernel: target cpu" in record.message]


@pytest.mark.parametrize("name", ["cython", "dlpack", "tvm_ffi", "torch"])
def test_every_target_has_the_usual_names(name, monkeypatch):
    kernel = compile(doubled.func(5), target="cpu", out_idx=1, execution_backend=name)
    assert kernel is compile(doubled.func(5), target="cpu", out_idx=1)
    x = torch.arange(5, dtype=torch.float32)
    assert torch.equal(kernel(x), 2 * x)
    monkeypatch.setenv("TILECORE_EXECUTION_BACKEND", "dlpack")
    assert kernel is compile(doubled.func(5), target="cpu", out_idx=1)
    with manager.register(null_backend):
        backend, target = manager.resolve(null_backend.KIND)
        assert choose_adapter(backend, target, name) == next(iter(backend.adapters))


def test_a_targets_own_name_goes_first_and_others_are_refused(monkeypatch):
    assert not is_usual_name("cython", ["cython", "sim"])
    assert is_usual_name("cython", ["native"])
    assert not is_usual_name("native", ["native"])
    with pytest.raises(TargetError, match="no execution backend 'cutedsl'") as caught:
        compile(doubled.func(5), target="cpu", execution_backend="cutedsl")
    assert caught.value.expected == "auto, cython, dlpack, tvm_ffi, torch, native"
    monkeypatch.setattr(execution_names, "find_spec", lambda name: None)
    with pytest.raises(TargetError, match="torch is not installed"):
        compile(doubled.func(5), target="cpu", execution_backend="torch")


def test_out_idx_of_an_eager_kernel_is_refused():
    @tilecore.jit(target="cpu", out_idx=[-1])
    def copied(X: T.Tensor((4,), "int32"), Y: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            T.copy(X, Y)

    x = np.zeros(4, np.int32)
    for use in (
        lambda: copied(x, x.copy()),
        lambda: copied.compile(x, x),
        lambda: copied.get_tir(),
        lambda: copied.par_compile([{}]),
        lambda: copied.initialize_jit_mode(),
    ):
        with pytest.raises(TargetError, match="copied is an eager kernel, which cannot have out_idx") as caught:
            use()
        assert caught.value.found == "out_idx=[-1]"
    assert isinstance(tilecore.jit(target="cpu")(copied.func).initialize_jit_mode(), str)


def test_keys_with_tensors_in_them_can_be_compared():
    @tilecore.jit(target="cpu")
    def factory(table):
        return doubled.func(int(table[0]))

    table = torch.tensor([4, 4])
    assert factory.parse_cache_key(table) == factory.parse_cache_key(table)
    assert factory.parse_cache_key(table) == factory.parse_cache_key(table.clone())  # what is in it decides the kernel
    assert factory.parse_cache_key(table) != factory.parse_cache_key(table + 1)
    assert factory(table) is factory(table)


@pytest.mark.parametrize(("name", "symbol"), [("scale_kernel", "scale_kernel"), ("scale", "scale_kernel")])
def test_no_second_ending_of_the_symbol(name, symbol):
    @T.prim_func
    def scale(A: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            A[0] = 1.0
        with T.Kernel(1):
            A[1] = 2.0

    func = scale.ir.with_attr("global_symbol", name)
    assert [entry.symbol for entry in compile(func, target="cpu").artifact.entries] == [f"{symbol}_0", f"{symbol}_1"]
    assert f"{name}_kernel_kernel" not in compile(func, target="cpu").get_kernel_source()
    (entry,) = doubled(4).artifact.entries
    assert entry.symbol == "twice_kernel"
    assert isinstance(doubled(4).artifact, object)
    assert not isinstance(compile, types.ModuleType)
