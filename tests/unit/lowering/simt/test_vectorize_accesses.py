"""vectorize_accesses: a loop over a thread's contiguous elements becomes vector moves of 2 to 16 bytes."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.testing.kernel_text import lines

from ..one_pass import after_pass, around_pass, before_and_after
from .kit import CAPABILITIES

PASS = "vectorize_accesses"


def copying(n, threads, dtype="float32"):
    @T.prim_func
    def kernel(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)):
        with T.Kernel(1, threads=threads):
            T.copy(X, Y)

    return kernel


def moves(kernel):
    """The bytes of one access by the names of the buffers, as ``kernel.explain()`` has them."""
    _, _, env = around_pass(kernel, PASS)
    return [row["bytes"] for row in env.report["moves"]]


def test_a_copy_of_contiguous_elements_is_one_vector_move():
    before, after = before_and_after(copying(512, 64, "float16"), PASS)
    assert before == lines(
        """
        T.attr(0, "simt.nest", 1)
        for s0 in T.vectorized(8):
            Y[s0 + tx * 8] = X[s0 + tx * 8]
        """
    ).replace("s0 + tx * 8", "tx * 8 + s0")
    assert after == lines(
        """
        T.attr(0, "simt.nest", 1)
        Y[tx * 8:tx * 8 + 8] = X[T.Ramp(tx * 8, 1, 8)]
        """
    )


@pytest.mark.parametrize(
    ("dtype", "bytes_moved"), [("int8", 16), ("float16", 16), ("float32", 16), ("float64", 16), ("int64", 16)]
)
def test_a_move_has_at_most_16_bytes(dtype, bytes_moved):
    assert moves(copying(4096, 32, dtype))[0] == {"X": bytes_moved, "Y": bytes_moved}


def test_operands_of_a_computation_pass_through_registers():
    @T.prim_func
    def kernel(X: T.Tensor((256,), "float32"), Y: T.Tensor((256,), "float16")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(256):
                Y[i] = T.cast(X[i] * 2, "float16")

    assert after_pass(kernel, PASS) == lines(
        """
        T.attr(0, "simt.nest", 1)
        X_v = T.alloc_local((4,), layout=None)
        X_v[0:4] = X[T.Ramp(tx * 4, 1, 4)]
        out_v = T.alloc_local((4,), "float16", layout=None)
        for s0 in T.unroll(4):
            out_v[s0] = T.Cast("float16", X_v[s0] * T.float32(2.0))
        Y[tx * 4:tx * 4 + 4] = out_v[T.Ramp(0, 1, 4)]
        """
    )


def reading_past_the_end(n):
    """A tile of 256 elements from a tensor of ``n``."""

    @T.prim_func
    def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((256,), "float32")
            T.copy(X[0:256], tile)
            for i in T.Parallel(256):
                Y[i] = tile[255 - i]

    return kernel


def test_elements_that_a_fragment_widens_move_together():
    """Each thread of a warp reads 8 elements of a row at once, and writes 8."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 512), "float16"), Y: T.Tensor((4, 512), "float16")):
        with T.Kernel(1, threads=128):
            row, total = T.alloc_fragment((4, 512), "float32"), T.alloc_fragment((4,), "float32")
            T.copy(X, row)
            T.reduce_sum(row, total, dim=1)
            for i, j in T.Parallel(4, 512):
                row[i, j] = row[i, j] / total[i]
            T.copy(row, Y)

    assert {"X": 16} in moves(kernel)
    assert {"Y": 16} in moves(kernel)


def test_a_guard_of_all_elements_of_a_move_stays_as_one():
    """48 of 64 threads have four of the 192 elements, the others none."""
    after = after_pass(reading_past_the_end(192), PASS)
    assert after.count("< 192") == 1
    assert "        tile[tx * 4:tx * 4 + 4] = X[T.Ramp(" in after


def test_a_guard_that_may_part_a_move_keeps_single_loads():
    after = after_pass(reading_past_the_end(190), PASS)
    assert "X[T.Ramp" not in after


@pytest.mark.parametrize(
    ("offset", "step", "is_vector"), [(0, 1, True), (4, 1, True), (1, 1, False), (2, 1, False), (3, -1, False)]
)
def test_accesses_at_another_offset_or_in_reverse_are_single(offset, step, is_vector):
    @T.prim_func
    def kernel(X: T.Tensor((300,), "float32"), Y: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            for lane in T.vectorized(4):
                Y[tx * 4 + lane] = X[tx * 4 + lane * step + offset]

    after = after_pass(kernel, PASS)
    assert ("X[T.Ramp" in after) == is_vector
    assert "Y[tx * 4:tx * 4 + 4] = " in after


def test_copies_of_a_pipeline_are_asynchronous_where_the_target_has_them():
    @T.prim_func
    def kernel(X: T.Tensor((8, 256), "float32"), Y: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((256,), "float32")
            for k in T.Pipelined(8, num_stages=2):
                T.copy(X[k, :], tile)
                for i in T.Parallel(256):
                    Y[i] = tile[255 - i]

    first = "T.simt.copy_async(tile[tx * 4], X[tx * 4], 16, T.bool(True))"
    assert first in after_pass(kernel, PASS)
    features = CAPABILITIES.features - {"copy_async"}
    assert "copy_async" not in after_pass(kernel, PASS, features=features)


def test_other_loops_stay():
    @T.prim_func
    def kernel(X: T.Tensor((256,), "float32"), Y: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            for i in T.serial(4):
                Y[tx * 4 + i] = X[tx * 4 + i]
            for i in T.unroll(4):
                Y[tx * 4 + i] = X[tx * 4 + i]

    before, after = before_and_after(kernel, PASS)
    assert before == after


def test_more_than_16_bytes_are_several_moves():
    @T.prim_func
    def kernel(X: T.Tensor((32, 32), "float32"), Y: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            Y[t, T.Ramp(0, 1, 32)] = X[t, T.Ramp(0, 1, 32)]

    assert after_pass(kernel, PASS) == lines(
        """
        for move in T.unroll(8):
            Y[tx * 32 + move * 4:tx * 32 + move * 4 + 4] = X[T.Ramp(tx * 32 + move * 4, 1, 4)]
        """
    )


def test_a_promised_alignment_makes_moves_of_rows_of_any_length():
    """Where some of the elements are outside of the row, the elements that are inside move alone."""
    n = T.dynamic("n")

    def kernel_of(copy):
        @T.prim_func
        def kernel(X: T.Tensor((8, n), "float32"), Y: T.Tensor((8, 128), "float32")):
            with T.Kernel(8, threads=32) as b:
                t = T.get_thread_binding() * 4
                copy(X, Y, b, t)

        return kernel

    @T.macro
    def by_vector(X, Y, b, t):
        Y[b, T.Ramp(t, 1, 4)] = X[b, T.Ramp(t, 1, 4)]

    @T.macro
    def by_width(X, Y, b, t):
        T.stg128(Y[b, t], T.ldg128(X[b, t]))

    assert not [row for row in moves(kernel_of(by_vector)) if row.get("X", 0) > 4]
    assert {"X": 16} in moves(kernel_of(by_width))
    text = after_pass(kernel_of(by_width), PASS)
    assert text.count("else:") == 1
    assert text.count("T.unroll(4)") == 1
