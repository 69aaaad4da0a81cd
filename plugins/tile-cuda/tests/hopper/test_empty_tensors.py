"""Empty tensors with a grid that is not empty: their tensor maps do not prevent the launch."""

from __future__ import annotations

import pytest

import tilecore
import tilecore.language as T

torch = pytest.importorskip("torch")
TARGET = "cuda -arch=sm_90a"
K = T.dynamic("k")


def product(depth):
    @T.prim_func
    def kernel(A: T.Tensor((128, depth), "float16"), B: T.Tensor((depth, 128), "float16"), C: T.Tensor((128, 128))):
        with T.Kernel(1, 1, threads=128):
            a, b = T.alloc_shared((128, 64), "float16"), T.alloc_shared((64, 128), "float16")
            c = T.alloc_fragment((128, 128), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(depth, 64), num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    return kernel


@pytest.mark.parametrize("depth", [0, K], ids=["of the kernel", "of the call"])
def test_a_gemm_with_empty_k(depth):
    kernel = tilecore.compile(product(depth), target=TARGET)
    if depth is K:
        assert "tensor_load" in kernel.artifact.source
    place = {"device": kernel.execution.torch_device(), "dtype": torch.float16}
    a, b = torch.zeros((128, 0), **place), torch.zeros((0, 128), **place)
    c = torch.full((128, 128), 7.0, device=place["device"])
    kernel(a, b, c)
    assert not c.any()
    if depth is K:
        a, b = torch.ones((128, 64), **place), torch.ones((64, 128), **place)
        kernel(a, b, c)
        assert (c == 64).all()


def test_a_tile_of_nothing_is_zeros():
    @T.prim_func
    def kernel(A: T.Tensor((K, 64), "float16"), C: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            for _ in T.Pipelined(2, num_stages=2):
                T.copy(A[0, 0], a)
                T.copy(a, C)

    compiled = tilecore.compile(kernel, target=TARGET)
    place = {"device": compiled.execution.torch_device(), "dtype": torch.float16}
    c = torch.full((64, 64), 7.0, **place)
    compiled(torch.zeros((0, 64), **place), c)
    assert not c.any()
