"""Launches as ranges in profilers (TILECORE_RANGES)."""

from __future__ import annotations

import pickle
import warnings

import pytest

import tilecore
import tilecore.language as T
from tilecore.jit.kernel import JITKernel
from tilecore.jit.ranged_kernel import RangedKernel
from tilecore.settings import SettingError

torch = pytest.importorskip("torch")


def made(factor):
    """A kernel that no other test has in this process's memory."""

    @T.prim_func
    def scale(A: T.Tensor((4, 8), "float32"), B: T.Tensor((4, 8), "float32")):
        with T.Kernel(4, threads=32) as bx:
            for j in T.Parallel(8):
                B[bx, j] = A[bx, j] * factor

    return tilecore.compile(scale, target="cpu", out_idx=1)


def names_in_profile(call):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        call()
    return [event.name for event in profile.events()]


def test_torch_profiler_shows_each_launch(monkeypatch):
    monkeypatch.setenv("TILECORE_RANGES", "torch")
    kernel, x = made(2.5), torch.ones(4, 8)
    symbol = kernel.artifact.entries[0].symbol
    assert symbol.startswith("scale_kernel_4x8_4x8_f32_")
    results = []
    names = names_in_profile(lambda: results.extend([kernel(x), kernel(A=x)]))
    assert names.count(symbol) == 2
    assert all(torch.equal(result, 2.5 * x) for result in results)
    assert type(pickle.loads(pickle.dumps(kernel))) is RangedKernel


def test_a_range_ends_where_the_call_fails(monkeypatch):
    monkeypatch.setenv("TILECORE_RANGES", "torch")
    kernel = made(3.5)

    def call():
        with pytest.raises(tilecore.errors.ArgumentError):
            kernel(torch.ones(3, 8))

    assert names_in_profile(call).count(kernel.artifact.entries[0].symbol) == 1


def test_calls_of_eager_functions_are_ranges_too(monkeypatch):
    monkeypatch.setenv("TILECORE_RANGES", "torch")

    @tilecore.jit(target="cpu")
    def plus(X, amount: float = 1.25):
        N = T.const("N")
        X: T.Tensor((N,), T.float32)
        Y = T.empty((N,), T.float32)
        with T.Kernel(N, threads=32) as bx:
            Y[bx] = X[bx] + amount
        return Y

    names = names_in_profile(lambda: [plus(torch.ones(6)), plus(torch.ones(6))])
    assert sum(name.startswith("plus_kernel_6_6_f32_") for name in names) == 2


def test_kernels_are_plain_unless_ranges_are_asked_for():
    assert type(made(4.5)) is JITKernel


def test_device_ranges_are_nested_in_their_order(monkeypatch):
    monkeypatch.setenv("TILECORE_RANGES", "device,torch")
    kernel, journal = made(5.5), []
    monkeypatch.setattr(
        type(kernel.execution),
        "device_ranges",
        lambda self: (journal.append, lambda: journal.append("end")),
        raising=False,
    )
    x = torch.ones(4, 8)
    names = names_in_profile(lambda: kernel(x))
    symbol = kernel.artifact.entries[0].symbol
    assert (journal, names.count(symbol)) == ([symbol, "end"], 1)


def test_a_target_without_a_profiler_warns(monkeypatch):
    monkeypatch.setenv("TILECORE_RANGES", "device")
    kernel, x = made(6.5), torch.ones(4, 8)
    with pytest.warns(UserWarning, match="TILECORE_RANGES=device has no effect on kernels of execution backend"):
        kernel(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(kernel(x), 6.5 * x)


def test_a_wrong_name_is_refused(monkeypatch):
    monkeypatch.setenv("TILECORE_RANGES", "nvtx")
    with pytest.raises(SettingError, match="TILECORE_RANGES"):
        made(7.5)
