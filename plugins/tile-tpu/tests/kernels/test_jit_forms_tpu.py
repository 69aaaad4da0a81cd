"""Forms of TileLang's JIT API, on the TPU's simulator."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.jit.compile import choose_adapter
from tilecore.plugins import manager

TARGET = "tpu"


@tilecore.jit(target=TARGET, execution_backend="sim")
def matmul(A, B, block_M: int = 32, block_N: int = 32, block_K: int = 32):
    M, N, K = T.const("M, N, K")
    A: T.Tensor[[M, K], T.float32]
    B: T.Tensor[[2 * (K // 2), N], T.float32]
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        a, b = T.alloc_shared((block_M, block_K), "float32"), T.alloc_shared((block_K, block_N), "float32")
        c = T.alloc_fragment((block_M, block_N), "float32")
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
            T.copy(A[by * block_M, k * block_K], a)
            T.copy(B[k * block_K, bx * block_N], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * block_M, bx * block_N])
    return C


def test_an_eager_kernel_by_the_names_of_its_sizes():
    kernel = matmul.compile(M=64, N=32, K=96, block_M=16)
    rng = np.random.default_rng(0)
    a = rng.standard_normal((64, 96)).astype(np.float32)
    b = rng.standard_normal((96, 32)).astype(np.float32)
    np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-2, atol=1e-2)
    assert kernel is matmul.compile(a, b, block_M=16)
    assert matmul.get_kernel_source(M=64, N=32, K=96, block_M=16) == kernel.get_kernel_source()
    assert kernel.params[2].shape == (64, 32)
    assert (kernel.adapter.name, kernel.adapter.func, kernel.torch_function) == ("sim", kernel, kernel)


@pytest.mark.parametrize("name", ["cython", "dlpack", "tvm_ffi", "torch"])
def test_execution_backends_by_name(name, monkeypatch):
    monkeypatch.delenv("TILECORE_SIMULATE", raising=False)
    monkeypatch.delenv("TILECORE_EXECUTION_BACKEND", raising=False)
    backend, target = manager.resolve(TARGET)
    own = name in backend.adapters
    assert choose_adapter(backend, target, name) == (name if own else choose_adapter(backend, target, "auto"))
    monkeypatch.setenv("TILECORE_EXECUTION_BACKEND", "sim")
    assert choose_adapter(backend, target, name) == (name if own else "sim")
