"""find_ranges: conditions on the thread index around code that threads execute together become ranges of threads."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.ir.nodes import AttrStmt, IfThenElse
from tilecore.ir.thread_ranges import ThreadRange, range_of
from tilecore.ir.visit import collect
from tilecore.testing.kernel_text import lines

from ..one_pass import after_pass, around_pass, before_and_after

PASS = "find_ranges"


pytestmark = pytest.mark.usefixtures("conditions_are_ranges")


def kernel_of(body, threads=128):
    """body: a macro that takes a tensor, a shared buffer and the thread index."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 128), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding()
            tile = T.alloc_shared((128,), "float32")
            body(X, Y, tile, tx)

    return kernel


def unchanged(body, **options):
    before, after = before_and_after(kernel_of(body), PASS, **options)
    return before == after


def test_each_side_of_a_condition_is_a_range_where_it_is_of_whole_warps():
    @T.macro
    def body(X, Y, tile, tx):
        if tx < 64:
            T.copy(X[0, :], tile)
        else:
            T.copy(X[1, :], tile)

    assert after_pass(kernel_of(body), PASS) == lines(
        """
        tile = T.alloc_buffer((128,), scope="shared.dyn", layout=None)
        with threads(0, 64) as thread:
            T.tile.copy(X[0, 0:128], tile[0:128])
        with threads(64, 64) as thread_1:
            T.tile.copy(X[1, 0:128], tile[0:128])
        """
    )


def test_elif_counts_only_the_threads_that_come_to_it():
    @T.macro
    def body(X, Y, tile, tx):
        if tx < 32:
            T.copy(X[0, :], tile)
        elif tx < 96:
            T.copy(X[1, :], tile)
        else:
            T.copy(X[2, :], tile)

    assert [str(r) for r in ranges(body)] == [
        "threads 0 to 31", "threads 32 to 127", "threads 32 to 95", "threads 96 to 127"
    ]  # fmt: skip


def ranges(body, threads=128, **options):
    _, after, _ = around_pass(kernel_of(body, threads), PASS, **options)
    return [thread_range for node in collect(after.body, AttrStmt) if (thread_range := range_of(node)) is not None]


def test_other_conditions_go_inside():
    @T.macro
    def body(X, Y, tile, tx):
        if X[0, 0] > 0 and tx >= 96:
            T.copy(X[0, :], tile)

    assert after_pass(kernel_of(body), PASS) == lines(
        """
        tile = T.alloc_buffer((128,), scope="shared.dyn", layout=None)
        with threads(96, 32) as thread:
            if X[0, 0] > T.float32(0.0):
                T.tile.copy(X[0, 0:128], tile[0:128])
        """
    )


def test_ranges_in_ranges_and_in_loops():
    @T.macro
    def body(X, Y, tile, tx):
        for k in T.serial(4):
            if tx >= 64:
                T.copy(X[k, :], tile)
                if tx < 96:
                    T.copy(X[k, :], Y)

    assert ranges(body) == [ThreadRange(64, 64), ThreadRange(64, 32)]


@T.macro
def no_operation_of_many_threads(X, Y, tile, tx):
    if tx < 64:
        Y[tx] = X[0, tx]


@T.macro
def one_thread(X, Y, tile, tx):
    if tx == 0:
        T.copy(X[0, :], tile)


@T.macro
def part_of_a_warp(X, Y, tile, tx):
    if tx < 48:
        T.copy(X[0, :], tile)


@T.macro
def every_other_thread(X, Y, tile, tx):
    if tx % 2 == 0:
        T.copy(X[0, :], tile)


@T.macro
def no_thread(X, Y, tile, tx):
    if tx > 500:
        T.copy(X[0, :], tile)


@T.macro
def data(X, Y, tile, tx):
    if X[0, tx] > 0:
        T.copy(X[0, :], tile)


@pytest.mark.parametrize(
    "body",
    [no_operation_of_many_threads, one_thread, part_of_a_warp, every_other_thread, no_thread, data],
    ids=lambda body: body.__name__,
)
def test_other_conditions_stay(body):
    assert unchanged(body)


def test_whole_warps_are_those_of_the_target():
    @T.macro
    def body(X, Y, tile, tx):
        if tx < 32:
            T.copy(X[0, :], tile)

    assert not unchanged(body, warp=32)
    assert unchanged(body, warp=64)


def test_kernels_without_names_of_a_target_stay(monkeypatch):
    monkeypatch.setattr("tilecore.lowering.simt.find_ranges.dialect_calls", lambda body: [])

    @T.macro
    def body(X, Y, tile, tx):
        if tx < 64:
            T.copy(X[0, :], tile)

    assert unchanged(body)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 130), st.integers(0, 130), st.sampled_from([64, 96, 128]))
def test_a_range_has_the_threads_that_satisfy_the_condition(low, high, threads):
    @T.macro
    def body(X, Y, tile, tx):
        if tx >= low and tx < high:
            T.copy(X[0, :], tile)

    satisfying = [n for n in range(threads) if low <= n < high]
    computed = ranges(body, threads)
    if not satisfying or satisfying[0] % 32 or len(satisfying) % 32:
        assert not computed
        return
    assert computed == [ThreadRange(satisfying[0], len(satisfying))]
    _, after, _ = around_pass(kernel_of(body, threads), PASS)
    assert not collect(after.body, IfThenElse)
