"""Atomic operations on elements and tiles, by one block and by many at once."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import LanguageError

from .kit import INTEGERS, check, close, compiled, copies, element, has_warps, same, sample, zeros

ORDERS = ["relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"]
KINDS = ["add", "max", "min", "and", "or", "xor", "exchange"]


def kinds_of(dtype):
    return KINDS if dtype in INTEGERS else ["add", "max", "min", "exchange"]


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "int8", "uint16", "int32", "uint32", "int64"]
)
def test_every_kind_on_elements(target, dtype):
    """Each with its previous value, in global and shared memory, in every memory order."""
    kinds = kinds_of(dtype)

    @T.prim_func
    def kernel(
        X: T.Tensor((len(kinds), 6), dtype),
        V: T.Tensor((6,), dtype),
        P: T.Tensor((2, len(kinds), 6), dtype),
        S: T.Tensor((len(kinds), 6), dtype),
        L: T.Tensor((6,), dtype),
    ):
        with T.Kernel(1):
            shared = T.alloc_shared((len(kinds), 6), dtype)
            T.copy(X, shared)
            for number, kind in enumerate(kinds):
                for i, order in enumerate(ORDERS):
                    atomic = getattr(T, f"atomic_{kind}")
                    P[0, number, i] = atomic(X[number, i], V[i], memory_order=order, return_prev=True)
                    P[1, number, i] = atomic(shared[number, i], V[i], memory_order=order, return_prev=True)
            T.copy(shared, S)
            for i, order in enumerate(ORDERS):
                taken = "acquire" if order in ("release", "acq_rel") else order
                left = "release" if order in ("consume", "acquire", "acq_rel") else order
                T.atomic_store(L[i], T.atomic_load(V[i], memory_order=taken), memory_order=left)

    shape = (len(kinds), 6)
    x, v = sample(dtype, shape), sample(dtype, 6, 1)
    got = check(kernel, target, x, v, zeros(dtype, (2, *shape)), zeros(dtype, shape), zeros(dtype, 6))
    same(got[2][0], x)
    same(got[4], v)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8"])
def test_tiles(target, dtype):
    """Whole tiles, slices, a start, one value for all, and parts outside the bounds."""

    @T.prim_func
    def kernel(X: T.Tensor((5, 9), dtype), Y: T.Tensor((8, 12), dtype), Z: T.Tensor((5, 9), dtype)):
        with T.Kernel(1):
            tile = T.alloc_shared((5, 9), dtype)
            T.copy(X, tile)
            T.atomic_add(Y[1, 2], tile)
            T.atomic_max(Y[0:5, 0:9], tile)
            T.atomic_min(Y[5:10, 6:15], tile)
            T.atomic_add(Y[0:2, :], T.cast(3, dtype))
            T.atomic_add(Z, tile)
            T.atomic_add(Z[4, :], tile[0, :])
            T.atomic_add(tile[0:2, 0:3], X[2:4, 0:3])
            T.atomic_max(Z[0:2, 0:3], tile[0:2, 0:3])

    args = (sample(dtype, (5, 9)), sample(dtype, (8, 12), 1), sample(dtype, (5, 9), 2))
    check(kernel, target, *args, compare=lambda a, b, label: close(a, b, 2, label))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "int8", "uint64"])
def test_many_blocks_add_to_few_elements(target, dtype):
    """No addition is lost."""
    blocks, lanes = 64, 16

    @T.prim_func
    def kernel(Y: T.Tensor((3, lanes), dtype), P: T.Tensor((blocks,), dtype)):
        with T.Kernel(blocks) as b:
            ones_tile = T.alloc_fragment((lanes,), dtype)
            T.fill(ones_tile, 1)
            for _ in T.serial(50):
                T.atomic_add(Y[0, :], ones_tile)
                for i in T.Parallel(lanes):
                    T.atomic_max(Y[1, i], T.cast(b % 60, dtype))
            P[b] = T.atomic_add(Y[2, 0], 1, return_prev=True)

    built = compiled(kernel, target)
    y, p = zeros(dtype, (3, lanes)), zeros(dtype, blocks)
    built(y, p)
    total = np.int64(blocks * 50)
    if dtype == "float16":
        total = 2048  # from where 1 more is nothing
    if dtype == "bfloat16":
        total = 256
    same(y[0], np.full(lanes, total).astype(element(dtype)))
    same(y[1], np.full(lanes, 59).astype(element(dtype)))
    same(np.sort(p.astype(np.float64)), np.arange(blocks, dtype=np.float64))


def test_histogram(target):
    n, bins = 5000, 37

    @T.prim_func
    def kernel(X: T.Tensor((n,), "int32"), H: T.Tensor((bins,), "int32"), W: T.Tensor((bins,), "float32")):
        with T.Kernel(T.ceildiv(n, 256)) as b:
            for i in T.Parallel(256):
                if b * 256 + i < n:
                    T.atomic_add(H[X[b * 256 + i] % bins], 1)
                    T.atomic_add(W[X[b * 256 + i] % bins], 0.5, memory_order="release")

    x = np.random.default_rng(0).integers(0, 10**6, n).astype(np.int32)
    _, h, w = check(kernel, target, x, zeros("int32", bins), zeros("float32", bins))
    same(h, np.bincount(x % bins, minlength=bins).astype(np.int32))
    same(w, h.astype(np.float32) / 2)


def test_outside_the_bounds_nothing_happens(target):
    @T.prim_func
    def kernel(Y: T.Tensor((5,), "int32"), P: T.Tensor((9,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(9):
                P[i] = T.atomic_add(Y[i - 2], 7, return_prev=True)
            for i in T.Parallel(9):
                T.atomic_max(Y[i * 3], 100)

    check(kernel, target, sample("int32", 5), sample("int32", 9, 1))


def test_turns(target):
    """Blocks take tickets: each number once, whatever the order."""

    @T.prim_func
    def kernel(N: T.Tensor((1,), "int32"), Y: T.Tensor((200,), "int32")):
        with T.Kernel(200) as b:
            ticket = T.atomic_add(N[0], 1, memory_order="acq_rel", return_prev=True)
            Y[ticket] = b + 1

    args = copies([zeros("int32", 1), zeros("int32", 200)])
    compiled(kernel, target)(*args)
    assert args[0][0] == 200
    same(np.sort(args[1]), np.arange(1, 201, dtype=np.int32))


@pytest.mark.parametrize("orders", [("acq_rel", "relaxed"), ("release", "acquire")], ids="-".join)
def test_the_last_block_sees_what_all_have_written(target, orders):
    """Each block leaves a sum and takes a number; the one that comes last adds up the sums. Nothing but the order of
    the atomics says that they are there. With the second form it loads the counter once more, to acquire it."""
    blocks, n = 24, 64
    leave, take = orders

    @T.prim_func
    def kernel(
        X: T.Tensor((blocks, n), "int32"), W: T.Tensor((blocks,), "int32"), N: T.Tensor((1,), "int32"),
        Y: T.Tensor((1,), "int32"),
    ):  # fmt: skip
        with T.Kernel(blocks, threads=32) as b:
            tx = T.get_thread_binding()
            if tx == 0:
                total = T.alloc_var("int32")
                total = 0
                for i in T.serial(n):
                    total += X[b, i]
                W[b] = total
                if T.atomic_add(N[0], 1, memory_order=leave, return_prev=True) == blocks - 1:
                    whole = T.alloc_var("int32")
                    whole = T.atomic_load(N[0], memory_order=take) - blocks
                    for other in T.serial(blocks):
                        whole += W[other]
                    Y[0] = whole

    args = copies([sample("int32", (blocks, n)), zeros("int32", blocks), zeros("int32", 1), zeros("int32", 1)])
    compiled(kernel, target)(*args)
    same(args[1], args[0].sum(1, dtype=np.int32))
    assert args[3][0] == args[0].sum()


def test_pairs_and_quads(target):
    @T.prim_func
    def kernel(X: T.Tensor((4, 8), "float32"), Y: T.Tensor((4, 8), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(4):
                T.atomic_addx4(Y[i, 0], X[i, 4])
                T.atomic_addx2(Y[i, 4], X[i, 0])

    x, y = sample("float32", (4, 8)), sample("float32", (4, 8), 1)
    _, got = check(kernel, target, x, y)
    same(got[:, :4], y[:, :4] + x[:, 4:])
    same(got[:, 4:6], y[:, 4:6] + x[:, :2])


def test_what_is_refused(target):
    with pytest.raises(LanguageError, match="memory_order"):

        @T.prim_func
        def order(Y: T.Tensor((4,), "float32")):
            with T.Kernel(1):
                T.atomic_add(Y[0], 1, memory_order="later")

    def moved(load: str, store: str) -> None:
        @T.prim_func
        def kernel(X: T.Tensor((4,), "int32"), Y: T.Tensor((4,), "int32")):
            with T.Kernel(1):
                T.atomic_store(Y[0], T.atomic_load(X[0], memory_order=load), memory_order=store)

    for order in ("release", "acq_rel", "later"):
        with pytest.raises(LanguageError, match=f"T.atomic_load does not support memory_order='{order}'"):
            moved(order, "relaxed")
    for order in ("consume", "acquire", "acq_rel", "later"):
        with pytest.raises(LanguageError, match=f"T.atomic_store does not support memory_order='{order}'"):
            moved("relaxed", order)

    with pytest.raises(LanguageError, match="return_prev"):

        @T.prim_func
        def previous(Y: T.Tensor((4,), "float32")):
            with T.Kernel(1):
                T.atomic_add(Y, 1, return_prev=True)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "float64"])
@pytest.mark.parametrize("columns", [64, 34, 7])
def test_neighbours_together(target, dtype, columns):
    """Tiles, and pairs and fours of elements, at places that are multiples of as many and at others."""
    rows = 4

    @T.prim_func
    def kernel(
        X: T.Tensor((rows, 64), dtype),
        A: T.Tensor((rows, columns), dtype),
        B: T.Tensor((260,), dtype),
        C: T.Tensor((260,), dtype),
    ):
        with T.Kernel(2, threads=32):
            tile = T.alloc_shared((rows, 64), dtype)
            T.copy(X, tile)
            T.atomic_add(A[0:rows, 0:columns], tile[0:rows, 0:columns])
            for i, j in T.Parallel(rows, 32):
                T.atomic_addx2(B[i * 64 + j * 2], tile[i, j * 2])
            for i, j in T.Parallel(rows, 16):
                T.atomic_addx4(C[i * 64 + j * 4 + 1], tile[i, j * 4])
                T.atomic_addx4(C[i * 64 + j * 4], X[i, j * 4])

    x = (sample("float32", (rows, 64)) * 4).round().astype(element(dtype))  # sums that no order changes
    arrays = zeros(dtype, (rows, columns)), zeros(dtype, 260), zeros(dtype, 260)
    _, a, b, _ = check(kernel, target, x, *arrays)
    same(a, x[:, :columns] + x[:, :columns])
    same(b[:256], (x + x).reshape(-1))


def test_neighbours_are_added_by_one_instruction(target):
    if not has_warps(target):
        pytest.skip("it has none")

    @T.prim_func
    def kernel(A: T.Tensor((16, 64), "float32"), B: T.Tensor((16, 64), "float16"), X: T.Tensor((16, 64), "float32")):
        with T.Kernel(2, threads=32):
            acc = T.alloc_fragment((16, 64), "float32")
            T.copy(X, acc)
            T.atomic_add(A, acc)
            for i, j in T.Parallel(16, 64):
                T.atomic_add(B[i, j], acc[i, j] * 2, memory_order="release")

    x = sample("float32", (16, 64)).round()
    a, b, _ = check(kernel, target, zeros("float32", (16, 64)), zeros("float16", (16, 64)), x)
    same(a, x + x)
    same(b, (x * 4).astype(np.float16))
    source = compiled(kernel, target).get_kernel_source()
    assert re.search(r"atomic_add_x4\((tc\.at\()?A\b", source)
    assert re.search(r"atomic_add_x2\((tc\.at\()?B\b", source)
    assert "release" in source
