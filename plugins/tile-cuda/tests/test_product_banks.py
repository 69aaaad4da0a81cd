"""Bank conflicts of T.gemm: loads of operands have none."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tile_cuda.headers import INCLUDE

import tilecore
import tilecore.language as T
from tilecore.simulate.arguments import Tensor
from tilecore.simulate.device import SimulatedDevice


def matmul(kinds, ta, tb, depth):
    m, n = 64, 64

    @T.prim_func
    def kernel(
        A: T.Tensor((depth, m) if ta else (m, depth), kinds[0]),
        B: T.Tensor((n, depth) if tb else (depth, n), kinds[0]),
        C: T.Tensor((m, n), kinds[1]),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((depth, m) if ta else (m, depth), kinds[0])
            b = T.alloc_shared((n, depth) if tb else (depth, n), kinds[0])
            c = T.alloc_fragment((m, n), kinds[1])
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, transpose_A=ta, transpose_B=tb, clear_accum=True)
            T.copy(c, C)

    return kernel


def ways(kinds, ta, tb, depth, configs=None):
    """For each source line that loads operands: the passes of the banks divided by the least number of passes."""
    target = "cuda -arch=sm_90"
    kernel = tilecore.compile(
        matmul(kinds, ta, tb, depth), target=target, execution_backend="sim", pass_configs=configs
    )
    source, entry = kernel.get_kernel_source(), kernel.artifact.entries[0]
    device = SimulatedDevice(count_banks=True)
    library = device.compile(source, [entry.symbol], INCLUDE)
    arrays = []
    for param in kernel.artifact.params:
        dtype = np.dtype(getattr(np, param.dtype, None) or getattr(ml_dtypes, param.dtype))
        arrays.append(np.ones([int(d) for d in param.shape], dtype))
    arguments = [
        Tensor(p.name, a.ctypes.data, p.dtype, a.shape, p.access)
        for p, a in zip(kernel.artifact.params, arrays, strict=True)
    ]
    ran = device.run(library, entry.symbol, (1, 1, 1), entry.threads, arguments, entry.shared_bytes)
    lines = source.splitlines()
    pass_ratios = {}
    for conflict in ran.banks:
        text = lines[(conflict.line or 1) - 1].strip()
        moves = text.startswith("tc_move<") and not any(from_tensor in text for from_tensor in (", A + ", ", B + "))
        if "ldmatrix" in text or moves or text.startswith(("a[", "b[", "a_1[", "b_1[")):
            pass_ratios[text] = conflict.passes / conflict.least_passes
    assert pass_ratios
    return pass_ratios


HALF, SINGLE = ("float16", "float32"), ("float32", "float32")
TF32 = {tilecore.PassConfigKey.TL_ALLOW_TF32: True}


@pytest.mark.parametrize("depth", [16, 32, 64, 48, 128])
@pytest.mark.parametrize(("ta", "tb"), [(False, False), (False, True), (True, False)])
def test_matrix_loads(ta, tb, depth):
    assert set(ways(HALF, ta, tb, depth).values()) == {1.0}


@pytest.mark.parametrize(("ta", "tb"), [(False, False), (False, True), (True, False)])
def test_word_loads(ta, tb):
    assert set(ways(SINGLE, ta, tb, 32, TF32).values()) == {1.0}
    assert set(ways(("float64", "float64"), ta, tb, 32).values()) == {1.0}


@pytest.mark.parametrize("depth", [8, 16, 32])
@pytest.mark.parametrize(("ta", "tb"), [(False, False), (False, True), (True, False)])
def test_multiply_adds(ta, tb, depth):
    assert set(ways(SINGLE, ta, tb, depth).values()) == {1.0}
