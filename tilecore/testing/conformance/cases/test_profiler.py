"""kernel.get_profiler() on the target: inputs of every type, times, and checks that fail when they should."""

from __future__ import annotations

import functools
import math
import warnings

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import ArgumentError
from tilecore.plugins import manager
from tilecore.profiler import ProfilerWarning, TensorSupplyType, do_bench

from .kit import DTYPES, compiled, same
from .on_device import bare, read

M = T.dynamic("m")


@T.prim_func
def summed(A: T.Tensor((16, 8), "float32"), B: T.Tensor((16, 8), "float32"), C: T.Tensor((16, 8), "float32")):
    with T.Kernel(16, threads=32) as b:
        for j in T.Parallel(8):
            C[b, j] = 2 * A[b, j] + B[b, j]


@T.prim_func
def sized(A: T.Tensor((M, 8), "float32"), B: T.Tensor((M, 8), "float32")):
    with T.Kernel(M, threads=32) as b:
        for j in T.Parallel(8):
            B[b, j] = A[b, j] + 1


@functools.cache
def once(name, target, backend, out_idx):
    return bare(compiled({"summed": summed, "sized": sized}[name], target, out_idx=out_idx))


def profiler_of(name, target, out_idx=-1, kind=TensorSupplyType.Integer):
    return once(name, target, target.backend, out_idx).get_profiler(kind)


def right(a, b, *c):
    return 2 * a + b


def wrong(a, b, *c):
    result = 2 * a + b
    result[3, 5] += 7
    return result


def test_a_time_on_a_simulator_comes_with_a_warning(target):
    """And one on a device does not."""
    kernel = once("summed", target, target.backend, -1)
    inputs = kernel.get_profiler()._get_inputs()
    for bench in (kernel.get_profiler().do_bench, lambda **options: do_bench(lambda: kernel(*inputs), **options)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bench(warmup=0, rep=1)
        messages = [str(warning.message) for warning in caught if warning.category is ProfilerWarning]
        assert len(messages) == (kernel.adapter.largest_run() is not None)
        assert all(f'"{kernel.adapter.name}" is a simulator' in text for text in messages)


@pytest.mark.parametrize("out_idx", [-1, None], ids=["returned", "in place"])
def test_a_right_reference_passes_and_a_wrong_one_does_not(target, out_idx):
    profiler = profiler_of("summed", target, out_idx)
    profiler.assert_allclose(right, atol=0, rtol=0)
    with pytest.raises(AssertionError, match=r"summed: C: 1 of 128 elements differ") as caught:
        profiler.assert_allclose(wrong, max_mismatched_ratio=0)
    assert "at (3, 5)" in str(caught.value)
    profiler.assert_consistent(repeat=2)


def test_a_reference_that_does_nothing_proves_nothing(target):
    with pytest.raises(ArgumentError, match="returned nothing and changed none"):
        profiler_of("summed", target, None).assert_allclose(lambda a, b, c: None)


def test_times(target):
    profiler = profiler_of("summed", target)
    time = profiler.do_bench(n_warmup=1, n_repeat=3)
    assert isinstance(time, float)
    assert math.isfinite(time)
    assert 0 < time < 60_000
    low, high = profiler.do_bench(n_warmup=1, n_repeat=3, quantiles=[0.1, 0.9])
    assert 0 < low <= high


def test_calls_are_made(target):
    """What is timed is run: as often as is asked for, or as a simulator takes, with inputs of the kernel."""
    profiler = profiler_of("summed", target)
    kernel, calls = profiler.kernel, []
    profiler.do_bench(lambda *a: calls.append([tuple(x.shape) for x in a]) or kernel(*a), n_warmup=1, n_repeat=3)
    assert len(calls) >= 1
    assert all(shapes == [(16, 8), (16, 8)] for shapes in calls)


def test_sizes_of_the_call(target):
    profiler = profiler_of("sized", target, -1, TensorSupplyType.One)
    for size in (1, 5):
        outputs = profiler.run_once(dynamic_symbolic_constraints={"m": size})
        same(read(outputs), np.full((size, 8), 2, np.float32))
        profiler.assert_allclose(lambda a: a + 1, dynamic_symbolic_constraints={"m": size})
    with pytest.raises(ArgumentError, match="its sizes m are known only at a call"):
        profiler.do_bench()


def moving(a, b, c, d):
    """Tensors of four types to others."""

    @T.prim_func
    def moving(
        A: T.Tensor((64,), a), B: T.Tensor((64,), b), C: T.Tensor((64,), c), D: T.Tensor((64,), d),
        E: T.Tensor((64,), a), F: T.Tensor((64,), b), G: T.Tensor((64,), c), H: T.Tensor((64,), d),
    ):  # fmt: skip
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                E[i] = A[i]
                F[i] = B[i]
                G[i] = C[i]
                H[i] = D[i]

    return moving


def test_inputs_of_every_type(target):
    """Of each element type that is declared the profiler makes tensors that the kernel takes, of varied values."""
    backend, resolved = manager.resolve(str(target))
    declared = backend.target.capabilities(resolved).dtypes
    supported = [dtype for dtype in DTYPES if not declared or dtype in declared]
    for start in range(0, len(supported), 4):
        four = (supported[start : start + 4] * 4)[:4]
        kernel = bare(compiled(moving(*four), target, out_idx=[4, 5, 6, 7]))
        profiler = kernel.get_profiler()
        inputs = profiler._get_inputs()
        results = kernel(*inputs)
        kernel.adapter.synchronize()
        for dtype, argument, result in zip(four, inputs, results, strict=True):
            values = argument.tolist()
            assert result.tolist() == values, dtype
            assert len(set(values)) > 1, f"the inputs of {dtype} are all {values[0]}"
        results_of_ones = kernel.get_profiler(TensorSupplyType.One).run_once()
        assert all(set(result.tolist()) == {1} for result in results_of_ones), four
