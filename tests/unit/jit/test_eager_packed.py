"""T.const sizes of tensors whose elements share bytes: they count elements, not bytes."""

from __future__ import annotations

import pytest

import tilecore
import tilecore.language as T

torch = pytest.importorskip("torch")
KIND = "float4_e2m1fn"


@tilecore.jit(target="cpu")
def widened(A):
    M, K = T.const("M K")
    rows = T.ceildiv(M, 4)  # before the declaration
    A: T.Tensor((M, K), T.float4_e2m1fn)
    B = T.empty((M, K), T.float32)
    with T.Kernel(rows) as bx:
        for i, j in T.Parallel(4, K):
            if bx * 4 + i < M:
                B[bx * 4 + i, j] = A[bx * 4 + i, j]
    return B


@tilecore.jit(target="cpu")
def widened_rows(A):
    M, K, S = T.const("M K S")
    A: T.StridedTensor((M, K), (S, 1), KIND)
    B = T.empty((M, K), T.float32)
    with T.Kernel(M) as bx:
        for j in T.Parallel(K):
            B[bx, j] = A[bx, j]
    return B


@tilecore.jit(target="cpu")
def doubled(A, kind="int8"):
    M, K = T.const("M K")
    half = K // 2
    A: T.Tensor((M, K), kind)
    B = T.empty((M, half), "int32")
    with T.Kernel(M) as bx:
        for j in T.Parallel(half):
            B[bx, j] = A[bx, j] * 2
    return B


def values_of(data):
    """The elements of a torch tensor of bytes: the even one in the low half."""
    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
    pairs = data.view(torch.uint8).int()
    return table[torch.stack([pairs & 15, pairs >> 4], -1).reshape(*data.shape[:-1], -1)]


STORAGE = ["int8", "uint8", *(["float4_e2m1fn_x2"] if hasattr(torch, "float4_e2m1fn_x2") else [])]


@pytest.mark.parametrize("storage", STORAGE)
def test_shapes_and_strides_count_elements(storage):
    data = torch.randint(-128, 128, (12, 5), dtype=torch.int8)
    tensor = data.view(getattr(torch, storage))
    torch.testing.assert_close(widened(tensor), values_of(data))
    torch.testing.assert_close(widened_rows(tensor[::2]), values_of(data[::2].contiguous()))
    declared = widened_rows.get_tir(tensor[::2]).params[0]
    assert [*map(int, declared.shape), *map(int, declared.strides)] == [6, 10, 20, 1]


def test_bytes_that_are_elements():
    data = torch.randint(-128, 128, (3, 8), dtype=torch.int8)
    torch.testing.assert_close(doubled(data), data[:, :4].int() * 2)
    assert tuple(doubled(data, kind="int4").shape) == (3, 8), "the name is that of a parameter"
