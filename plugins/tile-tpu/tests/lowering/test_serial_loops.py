"""serial_loops: the remaining parallel loops become serial ones, and partial results ordinary variables."""

from __future__ import annotations

from one_pass import around_pass, changes

import tilecore.language as T
from tilecore.ir.nodes import For, ForKind
from tilecore.ir.visit import collect
from tilecore.testing.kernel_text import lines, text

PASS = "serial_loops"
N = T.dynamic("n")


def test_a_parallel_loop_becomes_a_serial_one():
    """tensorize leaves loops on int64, which no engine supports."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 8), "int64")):
        with T.Kernel(1):
            for i, j in T.Parallel(4, 8):
                X[i, j] = X[i, j] + 1

    before, after, _ = around_pass(kernel, PASS)
    assert text(before) == lines(
        """
        for i in T.parallel(4, annotations={"tile.loop": "parallel"}):
            for j in T.parallel(8, annotations={"tile.loop": "parallel"}):
                X[i * 8 + j] = X[i * 8 + j] + T.int64(1)
        """
    )
    assert text(after) == lines(
        """
        for i, j in T.grid(4, 8):
            X[i * 8 + j] = X[i * 8 + j] + T.int64(1)
        """
    )
    spans = [loop.span for loop in collect(before.body, For)]
    assert [loop.span for loop in collect(after.body, For)] == spans
    assert None not in spans


def test_loops_of_any_length():
    @T.prim_func
    def kernel(X: T.Tensor((N,), "int64")):
        with T.Kernel(1):
            for i in T.Parallel(1):
                X[i] = 3
            for i in T.Parallel(N):
                X[i] = X[i] + 1

    before, after, _ = around_pass(kernel, PASS)
    assert [loop.kind for loop in collect(before.body, For)] == [ForKind.PARALLEL] * 2
    assert changes(before, after) == lines(
        """
        - for i in T.parallel(1, annotations={"tile.loop": "parallel"}):
        + for i in range(1):
        - for i_1 in T.parallel(n, annotations={"tile.loop": "parallel"}):
        + for i_1 in range(n):
        """
    )


def test_a_vectorized_loop_becomes_a_serial_one():
    @T.prim_func
    def kernel(X: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            for i in T.vectorized(8):
                X[0] = X[0] + i

    assert changes(*around_pass(kernel, PASS)[:2]) == lines(
        """
        - for i in T.vectorized(8, annotations={"tile.loop": "vectorized"}):
        + for i in range(8):
        """
    )


def test_serial_and_unrolled_loops_stay_as_they_are():
    """Their annotations stay too: pipeline_dma and the code generator read them."""

    @T.prim_func
    def kernel(X: T.Tensor((256, 16), "float32"), Y: T.Tensor((8,), "int64")):
        with T.Kernel(1):
            a = T.alloc_shared((64, 16), "float32")
            for k in T.Pipelined(4, num_stages=2):
                T.copy(X[k * 64, 0], a)
            for i in T.unroll(4):
                Y[i] = Y[i] + 1
            for i in T.serial(4):
                Y[i] = Y[i] * 2

    before, after, _ = around_pass(kernel, PASS)
    assert {loop.kind for loop in collect(before.body, For)} == {ForKind.SERIAL, ForKind.UNROLLED}
    assert "num_stages" in text(before)
    assert text(before) == text(after)


def test_parallel_loops_inside_of_others():
    @T.prim_func
    def kernel(X: T.Tensor((4, 8), "int64"), n: T.int32):
        with T.Kernel(1):
            for i in T.serial(4):
                if i < n:
                    for j in T.Parallel(8):
                        X[i, j] = 0

    assert changes(*around_pass(kernel, PASS)[:2]) == lines(
        """
        - for j in T.parallel(8, annotations={"tile.loop": "parallel"}):
        + for j in range(8):
        """
    )


def test_a_partial_result_becomes_a_variable():
    """It has the accumulation type of the reduction."""

    @T.prim_func
    def kernel(X: T.Tensor((2, 4), "int64"), Y: T.Tensor((2,), "int64")):
        with T.Kernel(1):
            a = T.alloc_shared((2, 4), "int64")
            b = T.alloc_shared((2,), "int64")
            T.copy(X, a)
            T.reduce_sum(a, b, dim=1)
            T.copy(b, Y)

    before, after, _ = around_pass(kernel, PASS)
    assert 'T.alloc_buffer((1,), "int64", scope="reduce.sum", layout=None)' in text(before)
    assert lines(
        """
        for i in range(2):
            total = T.alloc_local((1,), "int64", layout=None)
            total[0] = T.int64(0)
            for r in T.serial(4, annotations={"tile.reduce": "sum"}):
                total[0] = total[0] + T.tpu.element(a, i % 64, i // 64 * 8 + r)
            T.tpu.set_element(b, i % 64, i // 64 * 8, total[0])
        """
    ) in text(after)


def test_partial_results_stay_apart():
    @T.prim_func
    def kernel(X: T.Tensor((4,), "int64"), Y: T.Tensor((1,), "int64"), Z: T.Tensor((1,), "float64")):
        with T.Kernel(1):
            a = T.alloc_shared((4,), "int64")
            b = T.alloc_shared((1,), "int64")
            c = T.alloc_shared((4,), "float64")
            d = T.alloc_shared((1,), "float64")
            T.copy(X, a)
            T.copy(X, c)
            T.reduce_sum(a, b, dim=0)
            T.reduce_sum(c, d, dim=0)
            T.copy(b, Y)
            T.copy(d, Z)

    before, after, _ = around_pass(kernel, PASS)
    assert text(before).count('scope="reduce.') == 2
    assert 'scope="reduce.' not in text(after)
    assert 'total = T.alloc_local((1,), "int64", layout=None)\ntotal[0] = T.int64(0)' in text(after)
    assert 'total_1 = T.alloc_local((1,), "float64", layout=None)\ntotal_1[0] = T.float64(0.0)' in text(after)
    assert "total[0] = total[0] + T.tpu.element(a, " in text(after)
    assert "total_1[0] = total_1[0] + T.tpu.element(c, " in text(after)
