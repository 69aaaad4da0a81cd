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
from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Presence
from tilecore.errors import ArgumentError, TargetError, UnsupportedError
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
    first, second = (entry.symbol for entry in compile(func, target="cpu").artifact.entries)
    assert first.startswith(f"{symbol}_0_4_f32_")
    assert second.startswith(f"{symbol}_1_4_f32_")
    assert f"{name}_kernel_kernel" not in compile(func, target="cpu").get_kernel_source()
    (entry,) = doubled(4).artifact.entries
    assert entry.symbol.startswith("twice_kernel_")
    assert isinstance(doubled(4).artifact, object)
    assert not isinstance(compile, types.ModuleType)


def test_a_kernels_sources_and_results_by_name(tmp_path, capsys):
    kernel = doubled(8)
    kernel.show_source("both")
    assert capsys.readouterr().out == f"{kernel.get_kernel_source()}\n\n{kernel.get_host_source()}\n"
    kernel.export_sources(tmp_path / "new" / "kernel.txt", tmp_path / "host.txt")
    assert (tmp_path / "new" / "kernel.txt").read_text() == kernel.kernel_source
    assert (tmp_path / "host.txt").read_text() == kernel.get_host_source()
    kernel.print_source_code(file=tmp_path / "printed.txt")
    assert (tmp_path / "printed.txt").read_text() == kernel.kernel_source
    with pytest.raises(ArgumentError, match="no source 'device'"):
        kernel.show_source("device")
    with pytest.raises(ArgumentError, match="names no file"):
        kernel.export_sources()
    assert kernel.run_once().shape == (8,)
    assert kernel.verbose is False
    assert kernel.compile_flags == ()
    with pytest.raises(ValueError, match="was not tuned"):
        kernel.get_tuner_result()
    assert kernel.update_tuner_result(2.0, {"n": 8}, 3.0) is kernel
    assert kernel.get_tuner_result() == {"latency": 2.0, "config": {"n": 8}, "ref_latency": 3.0}


def test_what_a_kernel_does_not_have_says_what_to_do():
    kernel = doubled(8)
    for ask in (kernel.show_ptx, kernel.show_sass, lambda: kernel.export_ptx("a.ptx"), lambda: kernel.export_sass("a")):
        with pytest.raises(UnsupportedError, match="keeps no assembly text") as error:
            ask()
        assert "TILECORE_DUMP" in error.value.hint


def test_the_adapter_of_a_kernel_has_the_kernels_facts():
    kernel = doubled(8)
    adapter = kernel.adapter
    assert (adapter.target, adapter.params, adapter.result_idx) == (kernel.target, kernel.params, [1])
    assert adapter.get_device_source() == adapter.get_kernel_source() == kernel.get_kernel_source()
    assert adapter.get_host_source() == kernel.get_host_source()
    assert [entry.symbol[:13] for entry in adapter.kernels] == ["twice_kernel_"]
    assert str(adapter.prim_func.attrs["global_symbol"]) == "twice_kernel"


def test_an_execution_backend_of_another_target_is_named_in_the_error():
    with manager.register(null_backend, package="tile-null"), pytest.raises(TargetError) as error:
        tilecore.compile(doubled.get_tir(8), target="cpu", execution_backend="null")
    assert "native" in error.value.expected
    assert error.value.hint == "target 'null' has it"


class _Halving(KernelAdapter):
    """Runs kernels whose target has variant 2."""

    name = "halving"

    def available(self, target):
        return Presence(True, "always")

    def target(self, target):
        return target.with_attributes(variant=2)

    def load(self, artifact):
        return LoadedKernel(lambda slots, grids, stream: 0)


class _Picky(_Halving):
    name = "picky"

    def target(self, target):
        if target.get("variant") == 2:
            raise TargetError("not that variant")
        return target


def test_an_execution_backend_may_change_the_target_and_refuse_one():
    adapters = [_Picky(), _Halving()]

    @hookimpl
    def tilecore_adapters():
        return adapters

    plugin = types.SimpleNamespace(**{**vars(null_backend), "tilecore_adapters": tilecore_adapters})
    with manager.register(plugin, package="tile-null"):
        func = doubled.get_tir(8)
        assert tilecore.compile(func, target="null").execution_backend == "picky"
        chosen = tilecore.compile(func, target="null", execution_backend="halving")
        assert chosen.target.get("variant") == 2
        by_attribute = tilecore.compile(func, target="null -variant=2")
        assert by_attribute.execution_backend == "halving"
        with pytest.raises(TargetError, match="not that variant"):
            tilecore.compile(func, target="null -variant=2", execution_backend="picky")
