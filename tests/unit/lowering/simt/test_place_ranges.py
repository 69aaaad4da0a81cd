"""place_ranges: code of a range of threads becomes a condition, its barriers named ones of these threads."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.errors import UnsupportedError
from tilecore.ir.build import constant
from tilecore.ir.nodes import Bind
from tilecore.ir.thread_ranges import has_ranges
from tilecore.ir.visit import collect
from tilecore.testing.kernel_text import lines

from ..one_pass import after_pass, around_pass, before_and_after
from .kit import calls, code_of_threads, lowered

PASS = "place_ranges"


def named_barriers(kernel):
    _, after, _ = around_pass(kernel, PASS)
    assert not has_ranges(after.body)
    return [[constant(arg) for arg in node.value.args] for node in calls(after.body, "simt.named_barrier")]


def turned_by_ranges(*ranges, threads):
    """Each range of threads fills a shared buffer and writes it out in the reverse order."""

    @T.prim_func
    def kernel(X: T.Tensor((128,), "int32"), Y: T.Tensor((len(ranges), 128), "int32")):
        with T.Kernel(1, threads=threads):
            for number, (first, count) in enumerate(ranges):
                with code_of_threads(first, count):
                    tile = T.alloc_shared((128,), "int32")
                    T.copy(X, tile)
                    for i in T.Parallel(128):
                        Y[number, i] = tile[127 - i]

    return kernel


def test_a_range_becomes_a_condition_and_its_index_a_variable():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128):
            with code_of_threads(32, 64):
                T.copy(X, Y)

    before, after = before_and_after(kernel, PASS)
    assert before == lines(
        """
        threads(32, 64) as thread_32
        T.attr(0, "simt.nest", 1)
        Y[thread_32] = X[thread_32]
        """
    )
    assert after == lines(
        """
        if tx >= 32 and tx < 96:
            thread_32: T.let[T.int32] = tx - 32
            known(thread_32 < 64)
            with T.attr(0, "simt.nest", 1):
                Y[thread_32] = X[thread_32]
        """
    )


@pytest.mark.parametrize(
    ("first", "count", "condition"),
    [(0, 64, "if tx < 64:"), (64, 64, "if tx >= 64:"), (32, 32, "if tx >= 32 and tx < 64:")],
)
def test_no_thread_is_asked_what_all_threads_of_the_block_satisfy(first, count, condition):
    assert condition in after_pass(turned_by_ranges((first, count), threads=128), PASS).splitlines()


def test_the_linear_index_of_a_block_of_two_axes_decides():
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=(16, 8)):
            with code_of_threads(0, 64):
                T.copy(X, Y)

    assert after_pass(kernel, PASS).startswith("if ty * 16 + tx < 64:")


def test_each_range_has_one_barrier_however_often_it_waits():
    kernel = turned_by_ranges((0, 64), (64, 128), (0, 64), threads=192)
    assert named_barriers(kernel) == [[1, 64], [2, 128], [1, 64]]


def test_a_barrier_of_all_threads_is_that_of_the_block():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            with code_of_threads(32, 96):
                T.sync_threads()
                T.copy(X, Y)
            T.sync_threads()

    _, after, _ = around_pass(kernel, PASS)
    assert named_barriers(kernel) == [[1, 96]]
    assert len(calls(after.body, "tile.sync_threads")) == 1


def test_a_range_inside_of_another_has_its_own_barrier():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            with code_of_threads(0, 64):
                T.sync_threads()
                with code_of_threads(32, 32):
                    T.sync_threads()
                T.sync_threads()

    assert named_barriers(kernel) == [[1, 64], [2, 32], [1, 64]]


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_code_of_the_same_threads_twice_has_an_index_of_its_own_each_time(in_a_loop):
    """A variable is bound once in a kernel."""

    @T.prim_func
    def kernel(X: T.Tensor((128,), "int32"), Y: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((128,), "int32")
            for _ in T.serial(2) if in_a_loop else range(1):
                with code_of_threads(64, 64):
                    for i in T.Parallel(128):
                        s[i] = X[i]
                with code_of_threads(64, 64):
                    for i in T.Parallel(128):
                        Y[i] = s[127 - i]

    module, _ = lowered(kernel)
    (func,) = module.functions.values()
    bound = [bind.var for bind in collect(func.body, Bind)]
    assert len(bound) == len(set(bound)) >= 2


def test_fifteen_ranges_may_wait_and_the_sixteenth_is_refused():
    fifteen = [(32 * n, 32) for n in range(15)]
    assert named_barriers(turned_by_ranges(*fifteen, threads=512)) == [[n, 32] for n in range(1, 16)]
    with pytest.raises(UnsupportedError, match="more than 15 ranges of threads of a block have") as caught:
        after_pass(turned_by_ranges(*fifteen, (480, 32), threads=512), PASS)
    assert "threads 480 to 511" in str(caught.value)


def test_kernels_without_ranges_stay():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((128,), "float32")
            T.copy(X, tile)
            T.sync_threads()
            for i in T.Parallel(128):
                Y[i] = tile[127 - i]

    before, after = before_and_after(kernel, PASS)
    assert before == after
