"""Forms of TileLang's JIT API: eager kernels by the names of their sizes, execution backends by its names."""

from __future__ import annotations

import pytest

import tilecore
import tilecore.language as T
from tilecore.jit.request import choose_adapter
from tilecore.plugins import manager

from .kit import close, lacking, runs_kernels, sample
from .on_device import placed, read, ready


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


class _Built:
    """What ``lacking`` looks at."""

    def __init__(self, ir):
        self.ir = ir


def test_an_eager_kernel_by_the_names_of_its_sizes(target):
    runs_kernels()
    function = tilecore.jit(matmul, target=target)
    sizes = {"M": 64, "N": 32, "K": 96, "block_M": 16}
    lacking(_Built(function.get_tir(**sizes)), target)
    kernel = function.compile(**sizes)
    a, b = sample("float32", (64, 96)), sample("float32", (96, 32), 1)
    tensors = [placed(ready(kernel), array) for array in (a, b)]
    close(read(kernel(*tensors)), a @ b, steps=2.0**16)
    assert kernel is function.compile(*tensors, block_M=16)
    assert function.get_kernel_source(**sizes) == kernel.get_kernel_source()
    assert kernel.params[2].shape == (64, 32)
    assert (kernel.adapter.func, kernel.torch_function) == (kernel, kernel)


@pytest.mark.parametrize("name", ["cython", "dlpack", "tvm_ffi", "torch"])
def test_execution_backends_by_name(target, name, monkeypatch):
    """TileLang's names are taken everywhere: where a backend has none so called, its own choice runs."""
    monkeypatch.delenv("TILECORE_SIMULATE", raising=False)
    monkeypatch.delenv("TILECORE_EXECUTION_BACKEND", raising=False)
    backend, resolved = manager.resolve(target)
    is_named = name in backend.adapters
    assert choose_adapter(backend, resolved, name) == (name if is_named else choose_adapter(backend, resolved, "auto"))
    for chosen in backend.adapters:
        monkeypatch.setenv("TILECORE_EXECUTION_BACKEND", chosen)
        assert choose_adapter(backend, resolved, name) == (name if is_named else chosen)
