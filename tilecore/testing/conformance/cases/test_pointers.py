"""Pointers: tensors at addresses, tables of pointers, addresses as arguments, None for what is not accessed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError
from tilecore.interpreter import interpret

from . import thread_code
from .kit import check, compiled, sample, zeros
from .on_device import bare, placed, read


def address_of(tensor: Any) -> int:
    return tensor.ctypes.data if isinstance(tensor, np.ndarray) else tensor.data_ptr()


def table_of(kernel: Any, tensors: list[Any]) -> Any:
    """A table of the tensors' addresses on the kernel's device; of None a null pointer."""
    words = [0 if tensor is None else address_of(tensor) for tensor in tensors]
    return placed(kernel, np.array(words, np.int64))


def on_simt(kernel: Any, target: str) -> Any:
    if target == thread_code.NAME:
        pytest.skip("thread IR is run here on arrays, which have no addresses")
    return compiled(kernel, target)


def test_tables_of_pointers(target):
    """Each block takes tensors of its own from two tables. Null pointers are guarded by an `if`, tails are masked."""
    groups, rows, columns = 4, 5, 24

    @T.prim_func
    def kernel(
        P: T.Tensor((groups,), T.ptr), Q: T.Tensor((groups,), T.ptr), Y: T.Tensor((groups, 8, columns), "float32")
    ):
        with T.Kernel(groups, threads=32) as b:
            X = T.make_tensor(P[b], (rows, columns), "float32")
            s = T.alloc_shared((8, columns), "float32")
            T.copy(X[0, 0], s)
            T.copy(s, Y[b, :, :])
            if Q[b] != 0:
                Z = T.make_tensor_from_addr(Q[b], (columns, rows), "float16", strides=(1, columns))
                for i, j in T.Parallel(rows, columns):
                    Z[j, i] = X[i, j] * 2

    built = on_simt(kernel, target)
    parts = [sample("float32", (rows, columns), seed) for seed in range(groups)]
    xs = [placed(built, part) for part in parts]
    zs = [None if group == 1 else placed(built, zeros("float16", (rows, columns))) for group in range(groups)]
    y = placed(built, zeros("float32", (groups, 8, columns)))
    with tilecore.reachable(*(t for t in [*xs, *zs] if isinstance(t, np.ndarray))):
        bare(built)(table_of(built, xs), table_of(built, zs), y)
    expected = np.zeros((groups, 8, columns), np.float32)
    expected[:, :rows] = parts
    np.testing.assert_array_equal(read(y), expected)
    for part, z in zip(parts, zs, strict=True):
        if z is not None:
            np.testing.assert_array_equal(
                np.asarray(z if isinstance(z, np.ndarray) else z.cpu()), (part * 2).astype("e")
            )


def test_products_of_groups(target):
    """A grouped GEMM: each block looks its group up, and its operands are where a table says."""
    sizes, tile, depth, columns = (8, 24, 17), 16, 48, 32
    starts = np.cumsum([0, *(-(-size // tile) for size in sizes)]).astype(np.int32)

    @T.prim_func
    def kernel(
        A: T.Tensor((3,), T.ptr), B: T.Tensor((3,), T.ptr), C: T.Tensor((3,), T.ptr), first: T.Tensor((4,), "int32")
    ):
        with T.Kernel(int(starts[-1]), threads=32) as b:
            a, w = T.alloc_shared((tile, 16), "float16"), T.alloc_shared((16, columns), "float16")
            c = T.alloc_fragment((tile, columns), "float32")
            group, start = T.alloc_var("int32", init=0), T.alloc_var("int32", init=0)
            for i in range(3):
                start = T.if_then_else(b >= first[i], first[i], start)
                group = T.if_then_else(b >= first[i], i, group)
            X = T.make_tensor(A[group], (24, depth), "float16")
            W = T.make_tensor(B[group], (depth, columns), "float16")
            Y = T.make_tensor(C[group], (24, columns), "float32")
            T.clear(c)
            for k in T.Pipelined(depth // 16, num_stages=2):
                T.copy(X[(b - start) * tile, k * 16], a)
                T.copy(W[k * 16, 0], w)
                T.gemm(a, w, c)
            T.copy(c, Y[(b - start) * tile, 0])

    built = on_simt(kernel, target)
    a = [sample("float16", (24, depth), seed) for seed in range(3)]
    w = [sample("float16", (depth, columns), seed + 5) for seed in range(3)]
    operands = [[placed(built, array) for array in arrays] for arrays in (a, w)]
    operands.append([placed(built, zeros("float32", (24, columns))) for _ in range(3)])
    with tilecore.reachable(*(t for arrays in operands for t in arrays if isinstance(t, np.ndarray))):
        bare(built)(*(table_of(built, arrays) for arrays in operands), placed(built, starts))
    for left, right, got, size in zip(a, w, operands[2], sizes, strict=True):
        expected = left.astype(np.float32) @ right.astype(np.float32)
        np.testing.assert_allclose(read(got)[:size], expected[:size], rtol=1e-3, atol=1e-3)


def test_addresses_as_arguments(target):
    """A T.ptr takes a tensor or its address; what cannot be an address is refused before anything runs."""

    @T.prim_func
    def kernel(p: T.ptr, q: T.ptr("float32"), count: T.int32):
        X, Y = T.make_tensor(p, (count,), "int16"), T.make_tensor(q, (count, 2))
        with T.Kernel(T.ceildiv(count, 16), threads=32) as b:
            for i, j in T.Parallel(16, 2):
                if b * 16 + i < count:
                    Y[b * 16 + i, j] = X[b * 16 + i] * (j + 1)

    built = on_simt(kernel, target)
    x = sample("int16", (40,))
    given, y = placed(built, x), placed(built, zeros("float32", (40, 2)))
    bare(built)(given, y, 40)
    np.testing.assert_array_equal(read(y), x[:, None] * np.float32([1, 2]))
    if not built.artifact.params[0].pointer:  # a target without pointers
        with pytest.raises(ArgumentError, match="p must be a tensor"):
            bare(built)(address_of(given), y, 40)
        return
    again = placed(built, zeros("float32", (40, 2)))
    with tilecore.reachable(*(t for t in (given, again) if isinstance(t, np.ndarray))):
        bare(built)(address_of(given), address_of(again), 40)
        bare(built)(0, address_of(again), 0)  # no element is accessed
    np.testing.assert_array_equal(read(again), read(y))
    for wrong, words in ((address_of(given) + 1, "cannot be one"), (-2, "cannot be one"), (0, "must be a tensor")):
        with pytest.raises(ArgumentError, match=words):
            bare(built)(wrong, y, 40)


def test_none_for_tensors_that_are_not_accessed(target):
    """Whether a tensor is accessed depends on scalars and sizes of the call."""
    n, m = T.dynamic("n, m")

    @T.prim_func
    def kernel(
        X: T.Tensor((n,), "float32"), bias: T.Tensor((n,), "float32"), rest: T.Tensor((m,), "float32"),
        Y: T.Tensor((n,), "float32"), mode: T.int32,
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(n, 64), threads=32) as b:
            for i in T.Parallel(64):
                Y[b * 64 + i] = X[b * 64 + i]
            if mode > 1:
                for i in T.Parallel(64):
                    Y[b * 64 + i] += bias[b * 64 + i]
            for k in T.serial(m):
                for i in T.Parallel(64):
                    Y[b * 64 + i] += rest[k]

    built = compiled(kernel, target)
    x, bias, rest = sample("float32", (100,)), sample("float32", (100,), 1), sample("float32", (2,), 2)
    for arguments, expected in (
        ((x, bias, rest, 2), x + bias + rest[0] + rest[1]),
        ((x, bias, None, 2), x + bias),
        ((x, None, rest, 1), x + rest[0] + rest[1]),
        ((x, None, None, 0), x),
    ):
        *tensors, mode = arguments
        for run in (built, lambda *args: interpret(kernel.ir, *args)):
            y = zeros("float32", (100,))
            run(*tensors, y, mode)
            np.testing.assert_allclose(y, expected, rtol=1e-6)
    for arguments, name in (((x, None, rest, 2), "bias"), ((None, bias, rest, 2), "X")):
        *tensors, mode = arguments
        if target != thread_code.NAME:
            with pytest.raises(ArgumentError, match=f"{name} must be a tensor"):
                built(*tensors, zeros("float32", (100,)), mode)


def test_none_for_an_operand_of_a_product(target):
    """A tensor whose tiles a pipeline copies in one branch only: the call that takes the other passes None."""
    m = 64

    @T.prim_func
    def kernel(
        A: T.Tensor((m, 128), "float16"), W: T.Tensor((128, m), "float16"), V: T.Tensor((128, m), "float16"),
        C: T.Tensor((m, m), "float32"), which: T.int32,
    ):  # fmt: skip
        with T.Kernel(1, threads=128):
            a, w = T.alloc_shared((m, 64), "float16"), T.alloc_shared((64, m), "float16")
            c = T.alloc_fragment((m, m), "float32")
            T.clear(c)
            if which == 0:
                for k in T.Pipelined(2, num_stages=2):
                    T.copy(A[0, k * 64], a)
                    T.copy(W[k * 64, 0], w)
                    T.gemm(a, w, c)
            else:
                for k in T.Pipelined(2, num_stages=2):
                    T.copy(A[0, k * 64], a)
                    T.copy(V[k * 64, 0], w)
                    T.gemm(a, w, c)
            T.copy(c, C)

    built = compiled(kernel, target)
    a, w = sample("float16", (m, 128)), sample("float16", (128, m), 1)
    for operands, which in (((w, None), 0), ((None, w), 1)):
        c = zeros("float32", (m, m))
        built(a, *operands, c, which)
        np.testing.assert_allclose(c, a.astype("f") @ w.astype("f"), rtol=1e-3, atol=1e-3)


def test_the_address_of_a_view(target):
    """A T.ptr of several uses: its tensor viewed as another type."""

    @T.prim_func
    def kernel(p: T.ptr, Y: T.Tensor((32,), "uint16")):
        X = T.make_tensor(p, (16,), "float32")
        with T.Kernel(1, threads=32):
            halves = T.view(X, (32,), "uint16")
            T.copy(halves, Y)

    x = sample("float32", (16,))
    got = check(kernel, target, x, zeros("uint16", (32,)))
    np.testing.assert_array_equal(got[1], x.view(np.uint16))
