"""fuse_loops: neighbouring loops over the same elements become one, and their buffers shrink; others stay apart."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T

from ..kit import NARROW, agrees, allocated, lowered, parallel


def fused(func):
    """(parallel loops before, after, report) of the pass."""
    before, _ = lowered(func, "fuse_loops", before=True)
    after, env = lowered(func, "fuse_loops")
    return len(parallel(before)), len(parallel(after)), env.report.get("fusion", [])


def chain(middle):
    """A tile filled, changed by ``middle(t, u, i)``, and written: three loops of 32."""

    @T.prim_func
    def kernel(A: T.Tensor((32,), "int32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1):
            t, u = T.alloc_shared((32,), "int32"), T.alloc_shared((32,), "int32")
            T.copy(A, t)
            for i in T.Parallel(32):
                u[i] = middle(t, i)
            T.copy(u, B)

    return kernel


def test_loops_over_the_same_elements_become_one_and_their_tiles_shrink():
    kernel = chain(lambda t, i: t[i] * 2)
    before, after, report = fused(kernel)
    assert (before, after) == (3, 1)
    assert report == [{"loops merged": 2, "buffers shrunk": ["t", "u"]}]
    assert allocated(lowered(kernel, "fuse_loops")[0]) == {"t": [1], "u": [1]}
    agrees(kernel, np.arange(32, dtype=np.int32), np.zeros(32, np.int32))


@pytest.mark.parametrize(
    "middle", [lambda t, i: t[31 - i], lambda t, i: t[i // 2], lambda t, i: t[0], lambda t, i: t[i] + t[(i + 1) % 32]]
)
def test_elements_of_other_iterations_keep_the_loops_apart(middle):
    kernel = chain(middle)
    before, after, report = fused(kernel)
    assert (before, after) == (3, 2), "the last two still go together"
    assert report == [{"loops merged": 1, "buffers shrunk": ["u"]}]
    agrees(kernel, np.arange(32, dtype=np.int32), np.zeros(32, np.int32))


def between(statement):
    """Two loops with a statement in between."""

    @T.prim_func
    def kernel(A: T.Tensor((32,), "int32"), B: T.Tensor((32,), "int32"), C: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            t, v = T.alloc_shared((32,), "int32"), T.alloc_var("int32", init=0)
            for i in T.Parallel(32):
                t[i] = A[i] + 1
            if statement == "apart":
                v = C[0]
            elif statement == "reads":
                v = t[3]
            elif statement == "changes":
                t[3] = 100
            elif statement == "effect":
                T.device_assert(C[0] >= 0, "negative")
            for i in T.Parallel(32):
                B[i] = t[i] * 2
            C[1] = v

    return kernel


@pytest.mark.parametrize(
    ("statement", "loops"), [("none", 1), ("apart", 1), ("reads", 2), ("changes", 2), ("effect", 2)]
)
def test_what_stands_between_moves_up_or_keeps_them_apart(statement, loops):
    kernel = between(statement)
    assert fused(kernel)[:2] == (2, loops)
    agrees(kernel, np.arange(32, dtype=np.int32), np.zeros(32, np.int32), np.array([7, 0, 0, 0], np.int32))


def test_rows_of_a_softmax_stay_together():
    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8, 64), "float32")):
        with T.Kernel(1):
            t, m = T.alloc_fragment((8, 64), "float32"), T.alloc_fragment((8,), "float32")
            T.copy(A, t)
            T.reduce_max(t, m, dim=1)
            for i, j in T.Parallel(8, 64):
                t[i, j] = T.exp(t[i, j] - m[i])
            T.reduce_sum(t, m, dim=1)
            for i, j in T.Parallel(8, 64):
                t[i, j] = t[i, j] / m[i]
            T.copy(t, B)

    after, env = lowered(kernel, "fuse_loops")
    assert [extent for _, extent in parallel(after) if extent == 8] == [8], "one loop over the rows"
    shapes = allocated(after)
    assert shapes["t"] == [1, 64]
    assert shapes["m"] == [1]
    assert env.report["fusion"][0]["loops merged"] >= 5
    rng = np.random.default_rng(0)
    agrees(kernel, rng.random((8, 64), np.float32), np.zeros((8, 64), np.float32), rtol=1e-5)


def staged(shape, other, place):
    """B[place(i, j)] = A[i, j], by way of a tile."""

    @T.prim_func
    def kernel(A: T.Tensor(shape, "int32"), B: T.Tensor(other, "int32")):
        with T.Kernel(1):
            t = T.alloc_shared((8, 8), "int32")
            T.copy(A[0:8, 0:8], t)
            for i, j in T.Parallel(8, 8):
                B[place(i, j)] = t[i, j]

    return kernel


M = T.dynamic("m")


@pytest.mark.parametrize(
    ("shape", "other", "place", "merged"),
    [
        ((8, 8), (8, 8), lambda i, j: (i, j), True),
        ((M, 8), (M, 8), lambda i, j: (i, j), True),
        ((8, 8), (8, 8), lambda i, j: (i, 7 - j), True),
        ((8, 8), (8, 8), lambda i, j: (7 - i, j), False),
        ((8, 8), (8, 8), lambda i, j: (j, i), False),
        ((M, 8), (8, M), lambda i, j: (j, i), False),
        ((8, 8), (9, 8), lambda i, j: (7 - i, j), True),
    ],
)
def test_a_call_may_pass_one_tensor_for_two_parameters(shape, other, place, merged):
    kernel = staged(shape, other, place)
    after, _ = lowered(kernel, "fuse_loops")
    assert len([name for name, _ in parallel(after) if name == "i"]) == (1 if merged else 2)
    table = np.arange(64, dtype=np.int32).reshape(8, 8)
    out = agrees(kernel, table, np.zeros((9 if other == (9, 8) else 8, 8), np.int32))[1]
    if other != (9, 8):
        tilecore.compile(kernel, target=NARROW)(table, table)
        np.testing.assert_array_equal(table, out)


def test_loops_of_other_lengths_or_without_common_elements_stay():
    @T.prim_func
    def kernel(A: T.Tensor((32,), "int32"), B: T.Tensor((32,), "int32"), C: T.Tensor((32,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(32):
                A[i] = 1
            for i in T.Parallel(31):
                A[i] = A[i] + 1
            for i in T.Parallel(31):
                B[i] = 3

    assert fused(kernel) == (3, 3, [])
    agrees(kernel, *(np.zeros(32, np.int32) for _ in range(3)))


def test_memory_with_views_is_left_alone():
    @T.prim_func
    def kernel(A: T.Tensor((32,), "int32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1):
            t = T.alloc_shared((32,), "int32")
            u = T.reshape(t, (4, 8))
            for i in T.Parallel(32):
                t[i] = A[i]
            for i in T.Parallel(32):
                B[i] = t[i] + u[3, 7]

    assert fused(kernel) == (2, 2, [])
    agrees(kernel, np.arange(32, dtype=np.int32), np.zeros(32, np.int32))


def test_another_view_of_the_memory_that_is_read_keeps_the_loops_apart():
    @T.prim_func
    def kernel(A: T.Tensor((32,), "int32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1):
            t, v = T.alloc_shared((32,), "int32"), T.alloc_shared((16,), "int32")
            u = T.view(t, (32,))
            T.copy(A, t)
            for i in T.Parallel(16):
                v[i] = t[i]
            for i in T.Parallel(16):
                u[i + 2] = v[i]
            T.copy(t, B)

    assert fused(kernel)[:2] == (4, 4)
    out = agrees(kernel, np.arange(32, dtype=np.int32), np.zeros(32, np.int32))[1]
    assert out.tolist() == [0, 1, *range(16), *range(18, 32)]


def test_a_store_through_a_view_does_not_move_before_what_reads_the_memory():
    @T.prim_func
    def kernel(A: T.Tensor((32,), "int32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1):
            t = T.alloc_shared((32,), "int32")
            u = T.view(t, (32,))
            v = T.alloc_shared((32,), "int32")
            T.copy(A, t)
            for i in T.Parallel(32):
                v[i] = t[i]
            u[3] = 100
            for i in T.Parallel(32):
                B[i] = v[i]

    assert fused(kernel)[:2] == (3, 3)
    assert agrees(kernel, np.arange(32, dtype=np.int32), np.zeros(32, np.int32))[1].tolist() == list(range(32))
