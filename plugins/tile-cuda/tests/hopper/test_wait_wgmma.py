"""The places of waits, releases, fences and barriers around wgmma: all that are necessary, and no others."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilecore.language as T

from .kernels import matmul
from .kit import CONFIGS, as_interpreted, body, built, small

HALF = "float16"
MARKS = {
    r"for \(int (?!s\d|q|n\b|i\d)": "loop",
    r"tc_transaction_wait\(\w+_full": "tiles",
    r"tc_transaction_arrive\(\w+_empty": "release",
    r"tc_warpgroup_commit": "products",
    r"tc_warpgroup_wait<0>": "done",
    r"tc_warpgroup_wait<[1-9]>": "all but the last",
    r"tc_(?:named_)?barrier\(": "barrier",
    r"tc_fence_async": "fence",
    r"tc_move<\d+>\((?:left|cast_tile)": "writes",
}


def users(source: str) -> str:
    """The code of the consumer warps."""
    consumer = re.search(r"if \(tx < \d+\) \{\n(.*?)\n  \} else", source, re.DOTALL)
    return consumer[1] if consumer else source


def events(kernel: Any) -> list[str]:
    """The events in the order of the source; consecutive events of one kind are merged."""
    sequence = []
    for line in users(body(kernel)).splitlines():
        words = [word for pattern, word in MARKS.items() if re.search(pattern, line)]
        if words and sequence[-1:] != words[:1]:
            sequence += words[:1]
    return sequence


def test_a_product_runs_while_the_next_tiles_are_awaited():
    """The slot of a step is released in the next step, when its product has ended and the next one is running."""
    kernel = built(matmul(2048, 64, 256, tile=(128, 64, 64), stages=3))
    assert events(kernel) == [
        "loop", "tiles", "products",
        "loop", "tiles", "products", "all but the last", "release",
        "done", "release",
    ]  # fmt: skip


def test_without_overlap_each_step_releases_its_own():
    kernel = built(matmul(2048, 64, 256, tile=(128, 64, 64), stages=3), CONFIGS.TL_DISABLE_PRODUCT_OVERLAP)
    assert events(kernel) == ["loop", "tiles", "products", "done", "release"]


def test_where_all_blocks_run_at_once_each_step_releases_its_own():
    """All of them wait for memory, and the slot is loaded again sooner."""
    kernel = built(matmul(256, 64, 256, tile=(128, 64, 64), stages=3))
    assert events(kernel) == ["loop", "tiles", "products", "done", "release"]


def test_nothing_but_the_store_is_fenced():
    kernel = built(matmul(256, 64, 256, tile=(128, 64, 64), out=HALF))
    text = users(body(kernel))
    assert "barrier(1" not in text
    assert "tc_fence_async" not in text.split("tc_wait_stores_read")[0]
    assert text.count("tc_fence_async") == text.count("tc_tensor_store(") == 2


def test_a_in_registers_is_not_written_while_products_read_it():
    """A of the next step is written to the same registers."""
    kernel = built(matmul(256, 64, 256, tile=(128, 64, 64), a_in_registers=True), CONFIGS.TL_DISABLE_PRODUCT_OVERLAP)
    assert events(kernel) == ["loop", "tiles", "writes", "fence", "release", "tiles", "products", "done", "release"]


def test_a_in_registers_is_written_when_the_product_of_the_step_before_is_done():
    """A's own slot is free as soon as it is in registers."""
    kernel = built(matmul(256, 64, 256, tile=(128, 64, 64), a_in_registers=True))
    step = events(kernel)[events(kernel).index("loop", 1) :]
    assert step[:7] == ["loop", "tiles", "done", "writes", "fence", "release", "tiles"]


def two_sums(order):
    @T.prim_func
    def two(A: T.Tensor((128, 64), HALF), B: T.Tensor((128, 64), HALF), C: T.Tensor((2, 64, 64), "float32")):
        with T.Kernel(1, threads=128):
            first_tile, second_tile = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            c, d = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64, 64), "float32")
            T.copy(A[0:64, :], first_tile)
            T.copy(B[0:64, :], second_tile)
            T.gemm(second_tile, first_tile, c, clear_accum=True)
            T.gemm(first_tile, second_tile, d, clear_accum=True)
            if order == "first":
                T.copy(c, C[0, :, :])
                T.copy(d, C[1, :, :])
            else:
                T.copy(d, C[1, :, :])
                T.copy(c, C[0, :, :])

    return two


def run(func):
    kernel = built(func)
    args = [small(HALF, (128, 64)), small(HALF, (128, 64), 1), np.zeros((2, 64, 64), np.float32)]
    as_interpreted(func, kernel, *args)
    return kernel


def test_the_second_of_two_products_runs_on_while_the_first_is_used():
    assert events(run(two_sums("first"))) == ["fence", "barrier", "products", "all but the last", "done"]


def test_a_wait_for_the_younger_is_one_for_both():
    assert events(run(two_sums("second"))) == ["fence", "barrier", "products", "done"]


def chained(through_memory):
    @T.prim_func
    def chained_kernel(A: T.Tensor((128, 128), HALF), B: T.Tensor((128, 64), HALF), C: T.Tensor((128, 64), "float32")):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF)
            cast_tile, cast_fragment = T.alloc_shared((128, 64), HALF), T.alloc_fragment((128, 64), HALF)
            c, d = T.alloc_fragment((128, 64), "float32"), T.alloc_fragment((128, 64), "float32")
            T.clear(d)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c, clear_accum=True)
                if through_memory:
                    T.copy(c, cast_tile)
                    T.gemm(cast_tile, b, d)
                else:
                    T.copy(c, cast_fragment)
                    T.gemm(cast_fragment, b, d)
            T.copy(d, C)

    return chained_kernel


def of_chained(through_memory, *off):
    func = chained(through_memory)
    kernel = built(func, *off)
    args = [small(HALF, (128, 128), 0, 1), small(HALF, (128, 64), 1, 1), np.zeros((128, 64), np.float32)]
    as_interpreted(func, kernel, *args)
    return events(kernel)


def test_chained_products_in_registers():
    """Neither a barrier nor a fence: each thread reads its own accumulators."""
    off = CONFIGS.TL_DISABLE_PRODUCT_OVERLAP
    assert of_chained(False, off) == [
        "loop", "tiles", "products", "done", "release", "products", "done", "release",
    ]  # fmt: skip


def test_in_the_overlapped_loop_the_late_product_runs_beside_the_next():
    sequence = of_chained(False)
    step = sequence[sequence.index("loop", 1) :]
    assert step[:6] == ["loop", "tiles", "products", "all but the last", "release", "done"]


def test_chained_products_in_memory():
    """A barrier before the tile is written, as others may still multiply it; a fence and a barrier after that."""
    off = CONFIGS.TL_DISABLE_PRODUCT_OVERLAP
    assert of_chained(True, off) == [
        "loop", "tiles", "products", "done", "release",
        "barrier", "writes", "fence", "barrier", "products", "done", "release",
    ]  # fmt: skip


def test_tiles_that_threads_copy_are_fenced_once_a_step():
    """Whatever the stages: the wait for the copies, the products of the step before, the fence, the barrier."""
    for stages in (2, 3, 4):
        kernel = built(matmul(64, 60, 252, tile=(64, 64, 64), stages=stages))
        assert events(kernel)[-4:] == ["fence", "barrier", "products", "done"]
        assert events(kernel).count("barrier") == 1


def test_mma_sync_needs_no_fence():
    """mma.sync reads shared memory through the generic proxy."""
    kernel = built(matmul(64, 64, 252, tile=(64, 64, 64)), CONFIGS.TL_DISABLE_WGMMA, CONFIGS.TL_DISABLE_TMA_LOWER)
    assert not {"fence", "products", "done"} & set(events(kernel))
    assert "barrier" in events(kernel)


@pytest.mark.parametrize("threads", [128, 256])
@pytest.mark.parametrize("steps", [1, 3])
def test_accumulators_that_are_never_read(threads, steps):
    """They may be out of scope at the wait: at the end of the kernel, or in the next tile of a block."""
    rows = threads // 2

    @T.prim_func
    def unread(A: T.Tensor((rows, 64), HALF), B: T.Tensor((192, 64), HALF), C: T.Tensor((5 * rows, 64), "float32")):
        with T.Kernel(5, threads=threads) as bx:
            a, b, v = (T.alloc_shared(shape, HALF) for shape in ((rows, 64), (64, 64), (64, 64)))
            c, d = T.alloc_fragment((rows, 64), "float32"), T.alloc_fragment((rows, 64), "float32")
            w = T.alloc_fragment((rows, 64), HALF)
            T.copy(A, a)
            T.fill(w, 1)
            for k in T.Pipelined(3, num_stages=steps):
                T.copy(B[k * 64, 0], b)
                T.copy(B[k * 64, 0], v)
                T.gemm(a, b, c, transpose_B=True, clear_accum=True)
            T.gemm(w, v, d, clear_accum=True)
            T.copy(c, C[bx * rows, 0])

    args = [small(HALF, (rows, 64)), small(HALF, (192, 64), 1), np.zeros((5 * rows, 64), np.float32)]
    as_interpreted(unread, built(unread), *args)


@pytest.mark.parametrize("jump", ["break", "continue"])
@pytest.mark.parametrize("last", [0, 3])
def test_a_product_that_runs_where_a_step_is_left(jump, last):
    """Its accumulators are stored after the loop, or its tiles are written there: a jump skips the wait of the step."""

    @T.prim_func
    def func(
        A: T.Tensor((64, 256), HALF),
        B: T.Tensor((256, 64), HALF),
        F: T.Tensor((4,), "int32"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            T.copy(A[:, 0:64], a)
            T.copy(B[0:64, :], b)
            for k in T.serial(4):
                T.gemm(a, b, c)
                if F[k] > 0:
                    if jump == "break":
                        break
                    else:
                        continue
                T.copy(A[:, k * 64 : k * 64 + 64], a)
                T.copy(B[k * 64 : k * 64 + 64, :], b)
            T.copy(c, C)

    flags = np.zeros(4, np.int32)
    flags[last] = 1
    kernel = built(func)
    assert events(kernel)[-1] == "done"  # behind the loop
    assert body(kernel).count("tc_warpgroup_wait<0>") == (2 if jump == "break" else 3)
    as_interpreted(func, kernel, small(HALF, (64, 256)), small(HALF, (256, 64)), flags, np.zeros((64, 64), np.float32))


@pytest.mark.parametrize("jump", ["break", "continue"])
def test_tiles_that_are_written_where_a_step_is_left_are_fenced(jump):
    """The fence of the step is after the jump; the product after the loop reads what was written before the jump."""

    @T.prim_func
    def func(
        A: T.Tensor((64, 256), HALF),
        B: T.Tensor((64, 64), HALF),
        F: T.Tensor((4,), "int32"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(B, b)
            T.sync_threads()
            for k in T.serial(4):
                T.copy(A[:, k * 64 : k * 64 + 64], a)
                if F[k] > 0:
                    if jump == "break":
                        break
                    else:
                        continue
                T.sync_threads()
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    kernel = built(func)
    behind = body(kernel).rsplit("tc_warpgroup_begin", 1)[0]
    assert behind.rindex("tc_fence_async") > behind.rindex(f"{jump};")
    flags = np.array([0, 0, 0, 1], np.int32)
    as_interpreted(func, kernel, small(HALF, (64, 256)), small(HALF, (64, 64)), flags, np.zeros((64, 64), np.float32))
