"""bind_threads: the code of a block becomes the code of one of its threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.errors import UnsupportedError
from tilecore.interpreter import interpret
from tilecore.ir.nodes import BufferStore, For, ForKind, IfThenElse
from tilecore.ir.visit import collect
from tilecore.testing.kernel_text import lines

from ..one_pass import after_pass, around_pass, before_and_after
from .kit import lowered, same_results, thread_code

PASS = "bind_threads"


def copying(shape, threads, dtype="float32"):
    @T.prim_func
    def kernel(X: T.Tensor(shape, dtype), Y: T.Tensor(shape, dtype)):
        with T.Kernel(1, threads=threads):
            T.copy(X, Y)

    return kernel


# -- nests -----------------------------------------------------------------------------------------------------------


def test_a_nest_becomes_the_loops_of_one_thread_over_its_elements():
    before, after = before_and_after(copying((16, 64), 128), PASS)
    assert before == lines(
        """
        for i in T.parallel(16):
            for j in T.parallel(64):
                Y[i, j] = X[i, j]
        """
    )
    assert after == lines(
        """
        T.attr(0, "simt.nest", 1)
        for s0 in T.unroll(2):
            for s1 in T.vectorized(4):
                Y[tx // 16 + s0 * 8, s1 + tx % 16 * 4] = X[tx // 16 + s0 * 8, s1 + tx % 16 * 4]
        """
    )


def test_threads_without_an_element_do_nothing():
    assert after_pass(copying((4, 8), 64), PASS) == lines(
        """
        T.attr(0, "simt.nest", 1)
        if tx // 32 == 0:
            Y[tx % 32 // 8, tx % 8] = X[tx % 32 // 8, tx % 8]
        """
    )


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=3),
    st.sampled_from([1, 32, 64, 96, 128]),
    st.sampled_from(["int8", "float16", "int32", "float32"]),
)
def test_together_the_threads_have_every_element(shape, threads, dtype):
    kernel = copying(tuple(shape), threads, dtype)
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    np.testing.assert_array_equal(same_results(kernel, x, np.zeros_like(x))[1], x)


def test_a_nest_of_a_size_that_is_known_at_run_time_is_strided():
    n = T.dynamic("n")

    @T.prim_func
    def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(n):
                Y[i] = X[i] + 1

    assert after_pass(kernel, PASS).partition("\n")[2] == lines(
        """
        T.attr(0, "simt.nest", 1)
        for turn in range((n + 63) // 64):
            if turn * 64 + tx < n:
                Y[turn * 64 + tx] = X[turn * 64 + tx] + T.float32(1.0)
        """
    )
    for size in (1, 63, 64, 65, 200):
        x = np.arange(size, dtype=np.float32)
        np.testing.assert_array_equal(same_results(kernel, x, np.zeros_like(x))[1], x + 1)


def test_loops_inside_of_a_nest_belong_to_one_thread():
    @T.prim_func
    def kernel(X: T.Tensor((32, 4), "int32"), Y: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                Y[i] = 0
                for k in T.serial(4):
                    Y[i] = Y[i] + X[i, k]

    assert "for k in T.serial(4" in after_pass(kernel, PASS)
    x = np.arange(128, dtype=np.int32).reshape(32, 4)
    np.testing.assert_array_equal(same_results(kernel, x, np.zeros(32, np.int32))[1], x.sum(axis=1))


# -- fragments -------------------------------------------------------------------------------------------------------


def test_a_fragment_becomes_the_registers_of_a_thread():
    @T.prim_func
    def kernel(X: T.Tensor((256,), "float32"), Y: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_fragment((256,), "float32")
            T.copy(X, tile)
            T.copy(tile, Y)

    after = after_pass(kernel, PASS)
    assert after.startswith("tile = T.alloc_local((4,), layout=None)")
    assert "tile[s0] = X[s0 + tx * 4]" in after
    assert "Y[s0 + tx * 4] = tile[s0]" in after


def test_of_several_threads_with_an_element_the_first_stores_it():
    @T.prim_func
    def kernel(X: T.Tensor((4, 32), "float32"), Y: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=128):
            tile, total = T.alloc_fragment((4, 32), "float32"), T.alloc_fragment((4,), "float32")
            T.copy(X, tile)
            T.reduce_sum(tile, total, dim=1)
            for i in T.Parallel(4):
                total[i] = total[i] * 2
            T.copy(total, Y)

    after = after_pass(kernel, PASS).splitlines()
    (store,) = (number for number, line in enumerate(after) if line.strip().startswith("Y["))
    assert after[store - 1].strip() == "if tx % 32 == 0:"
    (scale,) = (number for number, line in enumerate(after) if "T.float32(2.0)" in line)
    assert "if" not in after[scale - 1]  # each of them keeps its copy


def test_a_loop_that_changes_the_source_of_values_that_several_threads_keep():
    @T.prim_func
    def kernel(X: T.Tensor((4, 32), "float32"), Y: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=128):
            tile, total = T.alloc_fragment((4, 32), "float32"), T.alloc_local((4,), "float32")
            T.copy(X, tile)
            for i in T.Parallel(4):
                total[i] = Y[i]
                Y[i] = total[i] + 1

    with pytest.raises(UnsupportedError, match="updates the source of a per-thread value") as caught:
        after_pass(kernel, PASS)
    assert "T.Parallel" in caught.value.location.excerpt()


# -- what the block does once ----------------------------------------------------------------------------------------


def test_one_thread_stores_what_the_block_stores_once():
    @T.prim_func
    def kernel(X: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=64):
            X[0] = X[1]
            if X[2] > 0:
                X[3] = X[3] + 1

    assert after_pass(kernel, PASS) == lines(
        """
        if tx == 0:
            X[0] = X[1]
        if X[2] > 0:
            if tx == 0:
                X[3] = X[3] + 1
        """
    )


def test_each_thread_stores_what_differs_between_threads():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            Y[tx] = X[tx]
            if X[tx] > 0:
                Y[0] = 3

    before, after = before_and_after(kernel, PASS)
    assert before == after


def test_the_result_of_an_atomic_operation_of_the_block_is_told_to_all_threads():
    @T.prim_func
    def kernel(C: T.Tensor((1,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            ticket = T.atomic_add(C[0], 5, return_prev=True)
            for i in T.Parallel(64):
                Y[i] = ticket + i

    after = after_pass(kernel, PASS)
    assert "if tx == 0:\n    told[0] = T.tile.atomic_element(C[0], 5" in after
    count, y = same_results(kernel, np.array([7], np.int32), np.zeros(64, np.int32))
    np.testing.assert_array_equal(count, [12])
    np.testing.assert_array_equal(y, 7 + np.arange(64))


def test_atomic_operations_of_a_nest_happen_once_for_each_iteration():
    """128 threads have 5 iterations."""

    @T.prim_func
    def kernel(X: T.Tensor((5,), "int32"), Y: T.Tensor((1,), "int32"), P: T.Tensor((5,), "int32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(5):
                P[i] = T.atomic_add(Y[0], X[i], return_prev=True)

    y, p = np.zeros(1, np.int32), np.zeros(5, np.int32)
    interpret(thread_code(kernel), np.arange(5, dtype=np.int32), y, p)
    assert y[0] == 10


@pytest.mark.parametrize("extent", [1, 31, 33, 37, 100])
def test_no_iteration_is_past_the_end(extent):
    @T.prim_func
    def kernel(C: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(extent):
                T.atomic_add(C[0], i + 1)

    assert same_results(kernel, np.zeros(1, np.int32))[0] == extent * (extent + 1) // 2


def test_a_store_beside_a_jump_of_the_thread_that_would_do_it(monkeypatch):
    """Thread 0 may have left: each thread that is there stores."""
    monkeypatch.setattr("tilecore.lowering.simt.find_ranges.dialect_calls", lambda body: True)

    @T.prim_func
    def kernel(F: T.Tensor((4,), "int32"), X: T.Tensor((128,), "int32"), Y: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            a = T.alloc_shared((128,), "int32")
            for k in T.serial(4):
                if tx < 64:
                    T.copy(X, a)
                    if F[k] > 0:
                        break
                Y[k] = 7

    _, bound, _ = around_pass(kernel, PASS)
    once = [store for branch in collect(bound.body, IfThenElse) for store in collect(branch, BufferStore)]
    assert not [store for store in once if store.buffer.name == "Y"]


# -- which loops are unrolled ----------------------------------------------------------------------------------------

N = 2048


def kinds_of(statements, dtype="int32"):
    """The kinds of the loops of a nest of 64 steps a thread, with so many statements."""

    @T.prim_func
    def kernel(X: T.Tensor((N,), dtype), Y: T.Tensor((N,), dtype)):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((N,), dtype)
            T.copy(X, s)
            for i in T.Parallel(N):
                for _ in (0,) * statements:
                    s[i] = s[i] * 3 + 1
            T.copy(s, Y)

    module, _ = lowered(kernel)
    (func,) = module.functions.values()
    return {loop.kind for loop in collect(func.body, For) if " * 3" in str(loop)}


@pytest.mark.parametrize("statements", [1, 8])
def test_short_nests_are_unrolled(statements):
    assert ForKind.SERIAL not in kinds_of(statements)


@pytest.mark.parametrize("statements", [9, 40])
def test_nests_of_many_statements_are_loops(statements):
    """64 copies of 40 statements took nvcc 47 seconds."""
    assert ForKind.SERIAL in kinds_of(statements)
