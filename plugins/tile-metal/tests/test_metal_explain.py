"""Tuning without a Mac: what the reports say of an emitted program, and kernels whose first tiles are too large."""

from __future__ import annotations

import pytest

import tilecore
import tilecore.language as T
from tilecore.demo.cases import cases
from tilecore.demo.run import Demo
from tilecore.errors import LaunchError
from tilecore.target_report.kernels import Kernel
from tilecore.target_report.run import report_on_targets
from tilecore.target_report.targets import targets_of


def product(block: int):
    @T.prim_func
    def product_kernel(A: T.Tensor((256, 32), "float16"), B: T.Tensor((32, 256), "float16"), C: T.Tensor((256, 256))):
        with T.Kernel(256 // block, 256 // block, threads=128) as (bx, by):
            A_shared = T.alloc_shared((block, 32), "float16")
            B_shared = T.alloc_shared((32, block), "float16")
            C_local = T.alloc_fragment((block, block), "float32")
            T.copy(A[by * block, 0], A_shared)
            T.copy(B[0, bx * block], B_shared)
            T.gemm(A_shared, B_shared, C_local, clear_accum=True)
            T.copy(C_local, C[by * block, bx * block])

    return product_kernel


@pytest.mark.parametrize("backend", ["sim", "torch"])
def test_every_execution_backend_explains_its_kernel(backend):
    kernel = tilecore.compile(product(64), target="metal -family=apple7", execution_backend=backend)
    symbol, explanation = kernel.artifact.entries[0].symbol, kernel.explain()
    figures = explanation.functions[symbol]
    assert 64 <= figures["16-bit_registers_of_arrays_by_estimate"] <= 256
    assert figures["matrix_products_in_the_main_loop"] == 64 * 64 * 32 // 8**3 // 4
    text = str(explanation)
    assert "matrix products in the main loop" in text
    assert f"{symbol}: an estimate: the arrays of a thread take " in text
    assert "8192 bytes of threadgroup memory: fits 7 times into the about 60 KB of a core" in text


def test_a_thread_with_too_many_registers_is_slow():
    kernels = [Kernel("small", lambda changes: product(64).ir), Kernel("large", lambda changes: product(128).ir)]
    report = report_on_targets(kernels, targets_of(["metal"]), __file__)
    small, large = report.verdicts
    assert (small.state, large.state) == ("ok", "slow")
    (remark,) = [remark for remark in large.remarks if remark.slow]
    assert "and it has at most 256: the rest is in memory; smaller tiles, or more threads for a tile" in remark.text


TOO_LARGE = {f"{case.name}-{case.size}": case for case in (*cases(True), *cases(False)) if case.smaller_tiles}


@pytest.mark.parametrize("case", TOO_LARGE.values(), ids=list(TOO_LARGE))
def test_the_demo_fits_into_32_kib(case, monkeypatch):
    monkeypatch.setenv("TILECORE_SIMULATE", "1")
    kernel = Demo("metal", torch=False).compile(case)
    assert kernel.artifact.entries[0].shared_bytes <= 24 * 1024


@pytest.mark.parametrize("backend", ["torch", "metal"])
def test_a_kernel_for_a_mac_is_not_profiled_elsewhere(backend):
    pytest.importorskip("torch")
    kernel = tilecore.compile(product(64), target="metal", execution_backend=backend)
    if type(kernel) is tilecore.JITKernel:
        pytest.skip("this machine is a Mac")
    with pytest.raises(
        LaunchError, match=f"product_kernel cannot run with execution_backend='{backend}' here"
    ) as caught:
        kernel.get_profiler().do_bench()
    assert "Mac" in str(caught.value.found)
