"""The uses of a compiled kernel on the simulators: calls, profiler, files, many kernels at once, tuning."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from tile_tpu.cmodel import pool

import tilecore
import tilecore.language as T


def product(m: int, n: int, k: int, tile: int = 32, depth: int = 32):
    @T.prim_func
    def mm(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, tile), T.ceildiv(m, tile)) as (i, j):
            a = T.alloc_shared((tile, depth), "float16")
            b = T.alloc_shared((depth, tile), "float16")
            c = T.alloc_fragment((tile, tile), "float32")
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, depth), num_stages=2):
                T.copy(A[j * tile, step * depth], a)
                T.copy(B[step * depth, i * tile], b)
                T.gemm(a, b, c)
            T.copy(c, C[j * tile, i * tile])

    return mm


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.float() @ b.float()


@pytest.fixture(scope="module")
def backend(backend):
    yield backend
    pool.close_all()


@pytest.fixture(scope="module")
def kernel(backend):
    return tilecore.compile(product(72, 40, 56), out_idx=[2], target="tpu", execution_backend=backend)


def operands():
    torch.manual_seed(0)
    return torch.randn(72, 56).half(), torch.randn(56, 40).half()


def test_calls(kernel):
    a, b = operands()
    expected = reference(a, b)
    for call in (kernel, kernel[(1,)]):
        out = call(a, b)
        assert out.shape == (72, 40)
        assert out.device.type == "cpu"
        torch.testing.assert_close(out, expected, atol=1e-3, rtol=1e-3)
    product = kernel(a.numpy(), b.numpy())
    assert np.allclose(np.asarray(product), expected.numpy(), atol=1e-3)


def test_results_may_be_given_to_a_kernel_that_allocates_them(kernel):
    (a, b), out = operands(), torch.zeros(72, 40)
    assert kernel[(1,)](a, b, out) is None
    torch.testing.assert_close(out, reference(a, b), atol=1e-3, rtol=1e-3)
    out.zero_()
    kernel[1](a, C=out, B=b)
    torch.testing.assert_close(out, reference(a, b), atol=1e-3, rtol=1e-3)
    assert kernel[(1,)].out_idx == [2]
    with pytest.raises(tilecore.errors.TilecoreError, match="C"):
        kernel[(1,)](a, b, torch.zeros(72, 41))


def test_results_may_be_given_instead(backend):
    kernel = tilecore.compile(product(72, 40, 56), target="tpu", execution_backend=backend)
    (a, b), out = operands(), torch.zeros(72, 40)
    kernel(a, b, out)
    torch.testing.assert_close(out, reference(a, b), atol=1e-3, rtol=1e-3)


def test_source(kernel):
    source = kernel.get_kernel_source()
    assert "TPUKERNEL_FUNC_REGISTER(mm_kernel_" in source
    assert "tpu_bdc_fp_mm(" in source
    assert "test_ways_to_call.py:" in source


def test_profiler(kernel):
    profiler = kernel.get_profiler()
    assert profiler.run_once().shape == (72, 40)
    profiler.assert_allclose(reference, atol=1e-3, rtol=1e-3)
    assert profiler.do_bench(warmup=1, rep=1) > 0


def test_do_bench_spares_simulators(backend):
    """On a simulator a large kernel runs as few times as possible, whatever the arguments say."""
    kernel = tilecore.compile(product(1024, 1024, 256, 256, 256), out_idx=[2], target="tpu", execution_backend=backend)
    calls = []
    tensors = [torch.zeros(1024, 256).half(), torch.zeros(256, 1024).half()]
    kernel.get_profiler().do_bench(lambda *_: calls.append(1), warmup=1000, rep=1000, input_tensors=tensors)
    assert 1 <= len(calls) <= 10


def test_export_and_load(kernel, tmp_path):
    a, b = operands()
    kernel.export(tmp_path / "mm.kernel", simulation=True)
    torch.testing.assert_close(tilecore.load_kernel(tmp_path / "mm.kernel")(a, b), kernel(a, b))
    program = """
import sys, numpy, tilecore
kernel = tilecore.load_kernel(sys.argv[1])
a, b = numpy.ones((72, 56), "f2"), numpy.ones((56, 40), "f2")
assert (numpy.asarray(kernel(a, b)) == 56).all()
assert "tvm" not in sys.modules
"""
    ended = subprocess.run(
        [sys.executable, "-c", program, os.fspath(tmp_path / "mm.kernel")], capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr


def test_par_compile(backend):
    many = [product(72, 40, 56, tile, 32) for tile in (16, 32, 64)]
    a, b = operands()
    kernels = tilecore.par_compile(many, out_idx=[2], target="tpu", execution_backend=backend)
    for kernel in kernels:
        torch.testing.assert_close(kernel(a, b), reference(a, b), atol=1e-3, rtol=1e-3)


def test_autotune(backend, monkeypatch, tmp_path):
    """Configurations that do not fit are skipped, and the best of the others is right."""
    monkeypatch.setenv("TILECORE_AUTO_TUNING_DISABLE_CACHE", "1")

    @tilecore.autotune(configs=[{"depth": 32}, {"depth": 64}, {"depth": 1 << 18}], warmup=1, rep=1)
    @tilecore.jit(target="tpu", execution_backend=backend, out_idx=[2])
    def tuned(size: int = 64, depth: int = 32):
        return product(size, size, size, 32, depth)

    kernel = tuned()
    assert kernel.config["depth"] in (32, 64)
    a, b = torch.randn(64, 64).half(), torch.randn(64, 64).half()
    torch.testing.assert_close(kernel(a, b), reference(a, b), atol=1e-3, rtol=1e-3)


def test_the_simulator_s_counts(backend):
    if backend != "sim":
        pytest.skip("only tile-tpu's own simulator counts")
    kernel = tilecore.compile(product(64, 64, 64), out_idx=[2], target="tpu", execution_backend="sim")
    kernel(torch.ones(64, 64).half(), torch.ones(64, 64).half())
    (report,) = kernel.loaded.owner.reports
    assert report.bytes_moved >= 3 * 64 * 64 * 2
    assert report.functions["tpu_bdc_fp_mm"] > 0
