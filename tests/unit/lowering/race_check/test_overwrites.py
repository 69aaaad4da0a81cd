"""The race check knows that the result of a reduction over the whole block is the same in all threads."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.lowering.race_check.check_order import conflicts_in
from tilecore.lowering.race_check.overwrites import last_overwrites
from tilecore.lowering.race_check.program import Program

from .kernels import kernel_of


def branching(count, kind):
    """Both sides of an ``if`` write the same elements of shared memory; which side is chosen depends on a reduction."""

    @T.prim_func
    def kernel(X: T.Tensor((count,), "int32"), Y: T.Tensor((count,), "int32")):
        with T.Kernel(1, threads=count):
            tx = T.get_thread_binding()
            s = T.alloc_shared((count,), "int32")
            value = T.alloc_var("int32", init=0)
            if kind == "count":
                value = T.syncthreads_count(X[tx] > 3)
            elif kind == "warp":
                value = T.warp_reduce_max(X[tx])
            elif kind == "block":
                f, total = T.alloc_fragment((count,), "int32"), T.alloc_fragment((1,), "int32")
                T.copy(X, f)
                T.reduce_sum(f, total, dim=0)
                value = total[0]
            else:
                value = X[tx]
            if value > 2:
                s[tx] = 1
            else:
                s[(tx + 1) % count] = 2
            T.sync_threads()
            Y[tx] = s[(tx + 3) % count]

    return kernel_of(kernel)


@pytest.mark.parametrize("count", [12, 24, 32, 40, 64, 96, 128, 256, 1024])
@pytest.mark.parametrize("kind", ["count", "block"])
def test_threads_choose_one_side_by_a_reduction_over_the_block(count, kind):
    assert conflicts_in(branching(count, kind)) == []


@pytest.mark.parametrize(("count", "is_one_warp"), [(12, True), (32, True), (40, False), (128, False)])
def test_warps_choose_by_their_own_reductions(count, is_one_warp):
    assert (conflicts_in(branching(count, "warp")) == []) == is_one_warp


@pytest.mark.parametrize("count", [12, 32, 128])
def test_threads_choose_by_their_own_values(count):
    assert conflicts_in(branching(count, "thread"))


@pytest.mark.parametrize(
    ("use", "is_uniform"),
    [("none", True), ("shared", True), ("bind", False), ("condition", False), ("global", False)],
)
def test_a_value_that_is_used_before_it_is_overwritten(use, is_uniform):
    """Uses of the first value, which differs between threads, other than as a partial result."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            s = T.alloc_shared((64,), "int32")
            value = T.alloc_var("int32", init=0)
            value = X[tx]
            if use == "shared":
                s[tx] = value
            elif use == "global":
                Y[tx] = value
            elif use == "bind":
                other = T.alloc_var("int32", init=value)
                Y[tx] = other
            elif use == "condition":  # noqa: SIM102
                if value > 3:
                    s[tx] = 4
            value = X[0]
            Y[tx] = value + s[tx]

    program = Program(kernel_of(kernel))
    (cell,) = {buffer for buffer in _cells(program) if buffer.name == "value"}
    assert (cell in last_overwrites(program.body)) == is_uniform
    assert (cell not in program.varying) == is_uniform


def _cells(program):
    from tilecore.ir.nodes import BufferStore
    from tilecore.ir.visit import collect

    return {store.buffer for store in collect(program.body, BufferStore)}


def test_a_loop_reads_what_its_last_iteration_overwrote():
    """The overwrite comes after the read, so the first iteration reads the value of each thread."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            s = T.alloc_shared((64,), "int32")
            value = T.alloc_var("int32", init=X[tx])
            for k in T.serial(4):
                s[tx] = value
                value = X[k]
            T.sync_threads()
            Y[tx] = s[tx]

    assert not last_overwrites(kernel_of(kernel).body)
