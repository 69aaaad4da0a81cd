"""Sums over the iterations of a loop: reductions across threads sink behind it only where that is equivalent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilecore
import tilecore.language as T
from tilecore.interpreter import interpret

ROWS, COLUMNS, STEPS = 16, 64, 4


@T.macro
def scaled_and_added(tile, total, part, scale, other, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] * scale[i] + part[i]


@T.macro
def scaled_apart(tile, total, part, scale, other, k):
    for i in T.Parallel(ROWS):
        total[i] *= scale[i]
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] += part[i] * 2


@T.macro
def reduced_into(tile, total, part, scale, other, k):
    T.reduce_sum(tile, total, dim=1, clear=False)


@T.macro
def into_and_scaled(tile, total, part, scale, other, k):
    T.reduce_sum(tile, total, dim=1, clear=False)
    for i in T.Parallel(ROWS):
        total[i] = scale[i] * total[i]


@T.macro
def absolute(tile, total, part, scale, other, k):
    T.reduce_abssum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = part[i] + total[i]


@T.macro
def on_some_steps(tile, total, part, scale, other, k):
    if k % 2 == 0:
        T.reduce_sum(tile, part, dim=1)
        for i in T.Parallel(ROWS):
            total[i] = total[i] * scale[i] + part[i]


@T.macro
def twice(tile, total, part, scale, other, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] * scale[i] + part[i]
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] + part[i] * scale[i]


SUNK = [scaled_and_added, scaled_apart, reduced_into, into_and_scaled, absolute, on_some_steps, twice]


@T.macro
def read_in_a_step(tile, total, part, scale, other, k):
    T.reduce_sum(tile, total, dim=1, clear=False)
    for i in T.Parallel(ROWS):
        other[i] = total[i]


@T.macro
def part_is_read(tile, total, part, scale, other, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] += part[i]
    for i in T.Parallel(ROWS):
        other[i] = part[i]


@T.macro
def squared(tile, total, part, scale, other, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] + part[i] * part[i]


@T.macro
def times_itself(tile, total, part, scale, other, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] * part[i] + part[i]


@T.macro
def a_constant_too(tile, total, part, scale, other, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] + part[i] + 1


@T.macro
def no_sum(tile, total, part, scale, other, k):
    T.reduce_max(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] + part[i]


@T.macro
def of_other_rows(tile, total, part, scale, other, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] + part[ROWS - 1 - i]


@T.macro
def of_the_step_before(tile, total, part, scale, other, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] * scale[i] + part[i]
    for i in T.Parallel(ROWS):
        scale[i] = part[i]


@T.macro
def decided_by_it(tile, total, part, scale, other, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        if total[i] < 5:
            total[i] = total[i] + part[i]


@T.macro
def less_than_before(tile, total, part, scale, other, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] - part[i]


@T.macro
def cleared_in_the_loop(tile, total, part, scale, other, k):
    if k == 2:
        T.clear(total)
    T.reduce_sum(tile, total, dim=1, clear=False)


@T.macro
def part_is_read_after_the_loop(tile, total, part, scale, other, k):
    T.reduce_sum(tile, part, dim=1)
    T.reduce_sum(tile, other, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] * scale[i] + part[i] + other[i] * scale[i]


IN_EACH_STEP = [
    read_in_a_step, part_is_read, squared, times_itself, a_constant_too, no_sum, of_other_rows, of_the_step_before,
    decided_by_it, less_than_before, cleared_in_the_loop,
    part_is_read_after_the_loop,
]  # fmt: skip


def summing(work, dtype="int32", threads=128, start=0, rows=ROWS, stages=0):
    """Sums over the steps of a loop of the results of ``work`` on tiles of X."""

    @T.prim_func
    def kernel(
        X: T.Tensor((STEPS, ROWS, COLUMNS), dtype), S: T.Tensor((ROWS,), dtype), Y: T.Tensor((ROWS,), dtype),
        Z: T.Tensor((ROWS,), dtype),
    ):  # fmt: skip
        with T.Kernel(1, threads=threads):
            tile = T.alloc_fragment((ROWS, COLUMNS), dtype)
            total, part = T.alloc_fragment((ROWS,), dtype), T.alloc_fragment((ROWS,), dtype)
            scale, other = T.alloc_fragment((ROWS,), dtype), T.alloc_fragment((ROWS,), dtype)
            shared_scale = T.alloc_shared((ROWS,), dtype)
            T.copy(S, shared_scale)
            for i in T.Parallel(ROWS):
                scale[i] = shared_scale[i]
            T.clear(other)
            T.fill(total, start)
            for k in T.Pipelined(STEPS, num_stages=stages):
                T.copy(X[k, :, :], tile)
                work(tile, total, part, scale, other, k)
            for i in T.Parallel(ROWS):
                Y[i] = total[i]
            for i in T.Parallel(ROWS):
                Z[i] = other[i]

    return kernel


def compiled(func, arch="sm_80"):
    return tilecore.compile(func, target=f"cuda -arch={arch}", execution_backend="sim")


def arguments(dtype="int32", seed=0):
    numbers = np.random.default_rng(seed)
    x, s = (numbers.integers(-3, 4, shape).astype(dtype) for shape in ((STEPS, ROWS, COLUMNS), (ROWS,)))
    return [x, s, np.zeros(ROWS, dtype), np.zeros(ROWS, dtype)]


def right(func, kernel, args):
    got, expected = ([a.copy() for a in args] for _ in range(2))
    kernel(*got)
    interpret(func.ir, *expected)
    for mine, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(mine, other)


def reduces_in_the_loop(kernel):
    """Whether threads exchange values in the loop over k."""
    source = str(kernel.get_kernel_source())
    start = source.index("for (int k")
    indent = source[source.rindex("\n", 0, start) + 1 : start]
    loop = source[start : source.index(f"\n{indent}}}", start)]
    return any(word in loop for word in ("tc_shuffle", "tc_warp_reduce", "joined_of_warps", "tc_reduce"))


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("threads", [32, 128])
@pytest.mark.parametrize("work", SUNK, ids=lambda work: work.__name__)
def test_reduced_behind_the_loop(work, threads, dtype):
    func = summing(work, dtype, threads)
    kernel = compiled(func)
    assert not reduces_in_the_loop(kernel), kernel.get_kernel_source()
    right(func, kernel, arguments(dtype))  # whole numbers: the order of sums does not matter


@pytest.mark.parametrize("work", IN_EACH_STEP, ids=lambda work: work.__name__)
def test_reduced_in_each_iteration(work):
    func = summing(work)
    kernel = compiled(func)
    assert reduces_in_the_loop(kernel)
    right(func, kernel, arguments())


def test_a_sum_that_does_not_begin_with_zero():
    func = summing(scaled_and_added, start=3)
    kernel = compiled(func)
    assert reduces_in_the_loop(kernel)
    right(func, kernel, arguments())


def test_a_sum_that_goes_on():
    """The second loop begins with the sum of the first one."""

    @T.prim_func
    def kernel(X: T.Tensor((STEPS, ROWS, COLUMNS), "int32"), Y: T.Tensor((ROWS,), "int32")):
        with T.Kernel(1, threads=64):
            tile, total = T.alloc_fragment((ROWS, COLUMNS), "int32"), T.alloc_fragment((ROWS,), "int32")
            T.clear(total)
            for k in T.serial(STEPS):
                T.copy(X[k, :, :], tile)
                T.reduce_sum(tile, total, dim=1, clear=False)
            for k in T.serial(STEPS):
                T.copy(X[k, :, :], tile)
                T.reduce_sum(tile, total, dim=1, clear=False)
            T.copy(total, Y)

    compiled_kernel = compiled(kernel)
    assert not reduces_in_the_loop(compiled_kernel)  # the first one
    x, _, y, _ = arguments()
    right(kernel, compiled_kernel, [x, y])


def test_a_loop_in_a_loop():
    @T.prim_func
    def kernel(X: T.Tensor((STEPS, ROWS, COLUMNS), "int32"), Y: T.Tensor((3, ROWS), "int32")):
        with T.Kernel(1, threads=64):
            tile, total = T.alloc_fragment((ROWS, COLUMNS), "int32"), T.alloc_fragment((ROWS,), "int32")
            for n in T.serial(3):
                T.clear(total)
                for k in T.serial(n, STEPS):
                    T.copy(X[k, :, :], tile)
                    T.reduce_sum(tile, total, dim=1, clear=False)
                T.copy(total, Y[n, :])

    compiled_kernel = compiled(kernel)
    assert not reduces_in_the_loop(compiled_kernel)
    right(kernel, compiled_kernel, [arguments()[0], np.zeros((3, ROWS), np.int32)])


def test_parts_with_different_layouts():
    """The two parts are reduced across different threads, so each step reduces."""

    @T.prim_func
    def kernel(X: T.Tensor((STEPS, 16, 16), "int32"), Y: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=64):
            tile, total = T.alloc_fragment((16, 16), "int32"), T.alloc_fragment((16,), "int32")
            T.clear(total)
            for k in T.serial(STEPS):
                T.copy(X[k, :, :], tile)
                T.reduce_sum(tile, total, dim=1, clear=False)
                T.reduce_sum(tile, total, dim=0, clear=False)
            T.copy(total, Y)

    right(kernel, compiled(kernel), [arguments()[0][:, :, :16].copy(), np.zeros(16, np.int32)])


def test_a_sum_in_shared_memory():
    @T.prim_func
    def kernel(X: T.Tensor((STEPS, ROWS, COLUMNS), "int32"), Y: T.Tensor((ROWS,), "int32")):
        with T.Kernel(1, threads=64):
            tile, total = T.alloc_fragment((ROWS, COLUMNS), "int32"), T.alloc_shared((ROWS,), "int32")
            T.clear(total)
            for k in T.serial(STEPS):
                T.copy(X[k, :, :], tile)
                T.reduce_sum(tile, total, dim=1, clear=False)
            T.copy(total, Y)

    x, _, y, _ = arguments()
    right(kernel, compiled(kernel), [x, y])


@settings(max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(
    works=st.lists(st.sampled_from(SUNK + IN_EACH_STEP), min_size=1, max_size=2),
    threads=st.sampled_from([32, 64, 128, 256]), stages=st.sampled_from([0, 0, 2]),
    arch=st.sampled_from(["sm_80", "sm_90a"]), seed=st.integers(0, 99),
)  # fmt: skip
def test_random_reductions(works, threads, stages, arch, seed):
    @T.macro
    def all_of_them(tile, total, part, scale, other, k):
        for work in works:
            work(tile, total, part, scale, other, k)

    func = summing(all_of_them, threads=threads, stages=stages)
    right(func, compiled(func, arch), arguments(seed=seed))
