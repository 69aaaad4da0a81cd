"""sink_reductions: sums over the iterations of a loop are reduced across threads once, behind the loop."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.contract.implementation import TileOpImpl
from tilecore.lowering.simt.pipeline import IMPLEMENTATIONS
from tilecore.testing.kernel_text import lines

from ..one_pass import after_pass, around_pass, before_and_after
from . import kit
from .kit import same_results

PASS = "sink_reductions"
ROWS, COLUMNS, STEPS = 16, 64, 4


def summing(step, start=T.clear, dtype="float32"):
    """step: a macro that takes the tile of an iteration, the total, a part and the iteration's number."""

    @T.prim_func
    def kernel(X: T.Tensor((STEPS, ROWS, COLUMNS), dtype), Y: T.Tensor((ROWS,), dtype)):
        with T.Kernel(1, threads=128):
            tile = T.alloc_fragment((ROWS, COLUMNS), dtype)
            total, part = T.alloc_fragment((ROWS,), dtype), T.alloc_fragment((ROWS,), dtype)
            start(total)
            for k in T.serial(STEPS):
                T.copy(X[k, :, :], tile)
                step(tile, total, part, k)
            T.copy(total, Y)

    return kernel


def is_sunk(kernel, **options):
    after = after_pass(kernel, PASS, **options)
    assert ('"sunk": 1' in after) == ("reduce_partials" in after)
    return "reduce_partials" in after


def check(kernel, expected):
    """expected: the result for integers, by numpy. Thread code is what is run."""
    x = np.random.default_rng(0).integers(-4, 5, (STEPS, ROWS, COLUMNS)).astype(np.float32)
    np.testing.assert_array_equal(same_results(kernel, x, np.zeros(ROWS, np.float32))[1], expected(x))


@T.macro
def scaled(tile, total, part, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] * 2 + part[i]


@T.macro
def added_into(tile, total, part, k):
    T.reduce_sum(tile, total, dim=1, clear=False)


@T.macro
def absolute(tile, total, part, k):
    T.reduce_abssum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = part[i] * 3 + total[i]


@T.macro
def in_some_iterations(tile, total, part, k):
    if k % 2 == 0:
        T.reduce_sum(tile, part, dim=1)
        for i in T.Parallel(ROWS):
            total[i] += part[i]


@T.macro
def scaled_apart(tile, total, part, k):
    for i in T.Parallel(ROWS):
        total[i] *= 2
    T.reduce_sum(tile, total, dim=1, clear=False)


def by_horner(x):
    return sum(x[k].sum(axis=1) * 2 ** (STEPS - 1 - k) for k in range(STEPS))


LINEAR = {
    scaled: by_horner,
    added_into: lambda x: x.sum(axis=(0, 2)),
    absolute: lambda x: 3 * np.abs(x).sum(axis=(0, 2)),
    in_some_iterations: lambda x: x[::2].sum(axis=(0, 2)),
    scaled_apart: by_horner,
}


def test_the_reduction_is_marked_and_its_second_half_is_behind_the_loop():
    before, after = before_and_after(summing(scaled), PASS)
    reduction = "T.tile.reduce(tile[0:16, 0:64], part[0:16], "
    assert reduction in before
    marked = 'T.Call("tile.reduce", [tile[0:16, 0:64], part[0:16], "sum", 1, 1, 0], attrs={"sunk": 1}, ret_ty="void")'
    assert after.partition("for k")[2] == lines(
        f"""
        in T.serial(4, annotations={{"tile.loop": "serial"}}):
            T.tile.copy(X[k, 0:16, 0:64], tile[0:16, 0:64])
            {marked}
            for i in T.parallel(16, annotations={{"tile.loop": "parallel"}}):
                total[i] = total[i] * T.float32(2.0) + part[i]
        T.tile.reduce_partials(total[0:16])
        T.tile.copy(total[0:16], Y[0:16])
        """
    ).replace("in T.serial", " in T.serial", 1)


@pytest.mark.parametrize("step", LINEAR, ids=lambda step: step.__name__)
def test_linear_updates_are_sunk_and_give_the_sum(step):
    kernel = summing(step)
    assert is_sunk(kernel)
    check(kernel, LINEAR[step])


def test_threads_exchange_values_once_behind_the_loop():
    _, bound, _ = around_pass(summing(scaled), "bind_threads")
    *_, loop, behind = str(bound.script()).partition("for k")
    inside, _, outside = behind.partition("for r0 in T.unroll(2):\n        total[r0] = T.tile.allreduce")
    assert loop
    assert "allreduce" not in inside
    assert outside


# -- what must be reduced in each iteration --------------------------------------------------------------------------


@T.macro
def read_in_the_loop(tile, total, part, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] + part[i]
    for i, j in T.Parallel(ROWS, COLUMNS):
        tile[i, j] = total[i]


@T.macro
def read_outside_of_a_nest(tile, total, part, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] + part[i]
    tile[0, 0] = total[0]


@T.macro
def squared(tile, total, part, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] + part[i] * part[i]


@T.macro
def with_a_constant(tile, total, part, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] + part[i] + 1


@T.macro
def of_other_rows(tile, total, part, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = total[i] + part[ROWS - 1 - i]


@T.macro
def largest(tile, total, part, k):
    T.reduce_max(tile, part, dim=1, clear=True)
    for i in T.Parallel(ROWS):
        total[i] = total[i] + part[i]


@T.macro
def part_is_used_otherwise(tile, total, part, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        part[i] = part[i] * 2
    for i in T.Parallel(ROWS):
        total[i] = total[i] + part[i]


@T.macro
def under_a_condition_on_the_sum(tile, total, part, k):
    T.reduce_sum(tile, part, dim=1)
    for i in T.Parallel(ROWS):
        total[i] = T.if_then_else(total[i] > 0, total[i] + part[i], total[i])


IN_EACH_ITERATION = {
    read_in_the_loop: lambda x: x.sum(axis=(0, 2)),
    read_outside_of_a_nest: lambda x: x.sum(axis=(0, 2)),
    squared: lambda x: (x.sum(axis=2) ** 2).sum(axis=0),
    with_a_constant: lambda x: x.sum(axis=(0, 2)) + STEPS,
    of_other_rows: lambda x: x.sum(axis=(0, 2))[::-1],
    largest: None,  # the interpreter has no maximum across threads
    part_is_used_otherwise: lambda x: 2 * x.sum(axis=(0, 2)),
    under_a_condition_on_the_sum: lambda x: np.zeros(ROWS),
}


@pytest.mark.parametrize("step", IN_EACH_ITERATION, ids=lambda step: step.__name__)
def test_other_updates_are_reduced_in_each_iteration(step):
    kernel = summing(step)
    assert not is_sunk(kernel)
    if IN_EACH_ITERATION[step] is not None:
        check(kernel, IN_EACH_ITERATION[step])


@T.macro
def starting_at_one(total):
    T.fill(total, 1)


@T.macro
def cleared_and_changed(total):
    T.clear(total)
    for i in T.Parallel(ROWS):
        total[i] = i


def test_a_sum_that_does_not_start_at_zero_is_reduced_in_each_iteration():
    """Each thread would add its copy of the start."""
    for start, first in ((starting_at_one, np.ones(ROWS)), (cleared_and_changed, np.arange(ROWS))):
        kernel = summing(added_into, start)
        assert not is_sunk(kernel)
        check(kernel, lambda x, first=first: x.sum(axis=(0, 2)) + first)


def test_code_of_threads_stays():
    @T.prim_func
    def kernel(X: T.Tensor((STEPS, ROWS, COLUMNS), "float32"), Y: T.Tensor((ROWS,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            tile, total = T.alloc_fragment((ROWS, COLUMNS), "float32"), T.alloc_fragment((ROWS,), "float32")
            T.clear(total)
            for k in T.serial(STEPS):
                T.copy(X[k, :, :], tile)
                T.reduce_sum(tile, total, dim=1, clear=False)
            T.copy(total, Y)
            if tx == 0:
                Y[0] = Y[0] + 1

    assert not is_sunk(kernel)


def test_a_backend_with_its_own_reduction_keeps_it_in_the_loop(monkeypatch):
    late_reduction = TileOpImpl("reduce", "own", lambda call, env: None, late=True)
    assert is_sunk(summing(scaled))
    monkeypatch.setattr(kit, "IMPLEMENTATIONS", (*IMPLEMENTATIONS, late_reduction))
    assert not is_sunk(summing(scaled))
