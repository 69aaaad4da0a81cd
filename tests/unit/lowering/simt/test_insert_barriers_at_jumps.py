"""Jumps that only a range of threads takes: the barriers beside them."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.errors import LanguageError
from tilecore.ir.build import op_name
from tilecore.ir.nodes import BufferStore, Evaluate
from tilecore.ir.visit import collect

from .kit import lowered

pytestmark = pytest.mark.usefixtures("conditions_are_ranges")


def waits_and_reads(func) -> list[str]:
    """The barriers of ranges, and stores to Y, in the order of the code."""
    placed, _ = lowered(func, "place_ranges")
    words = []
    for node in collect(placed.body, Evaluate, BufferStore):
        if isinstance(node, BufferStore):
            words += ["Y"] if node.buffer.name == "Y" else []
        elif op_name(node.value) == "simt.named_barrier":
            words.append("wait")
    return words


def test_what_is_open_at_a_break_is_open_behind_the_loop():
    @T.prim_func
    def kernel(X: T.Tensor((4, 128), "int32"), F: T.Tensor((4,), "int32"), Y: T.Tensor((5, 128), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            a = T.alloc_shared((128,), "int32")
            for k in T.serial(4):
                if tx < 64:
                    T.copy(X[k, :], a)
                    if F[k] > 0:
                        break
                    for i in T.Parallel(128):
                        Y[k, i] = a[127 - i]
                    T.sync_threads()
            if tx < 64:
                for i in T.Parallel(128):
                    Y[4, i] = a[127 - i]

    assert waits_and_reads(kernel) == ["wait", "Y", "wait", "wait", "Y"]


def test_what_is_open_at_a_continue_is_open_in_the_next_step():
    @T.prim_func
    def kernel(X: T.Tensor((4, 128), "int32"), F: T.Tensor((4,), "int32"), Y: T.Tensor((4, 128), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            a = T.alloc_shared((128,), "int32")
            T.clear(a)
            for k in T.serial(4):
                if tx < 64:
                    for i in T.Parallel(128):
                        Y[k, i] = a[127 - i]
                    T.sync_threads()
                    T.copy(X[k, :], a)
                    if F[k] > 0:
                        continue
                    T.sync_threads()

    assert waits_and_reads(kernel) == ["wait", "Y", "wait", "wait"]


def test_a_jump_leaves_the_loop_that_it_is_in():
    """Loops inside of a range, and one around it, which the range knew before it came to the inner one."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 128), "int32"), F: T.Tensor((4, 4), "int32"), Y: T.Tensor((4, 128), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            a = T.alloc_shared((128,), "int32")
            for k in T.serial(4):
                if tx < 64:
                    for j in T.serial(4):
                        T.copy(X[j, :], a)
                        if F[k, j] > 0:
                            break
                        T.sync_threads()
                    for i in T.Parallel(128):
                        Y[k, i] = a[127 - i]
                    T.sync_threads()

    assert waits_and_reads(kernel) == ["wait", "wait", "Y", "wait"]


def test_the_condition_of_a_while_in_a_range_is_read_behind_a_barrier():
    @T.prim_func
    def kernel(X: T.Tensor((4, 128), "int32"), F: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            a, k = T.alloc_shared((128,), "int32"), T.alloc_var("int32", init=0)
            T.clear(a)
            if tx < 64:
                while a[5] < 10 and k < 4:
                    T.copy(X[k, :], a)
                    k += 1
                    if F[k - 1] > 0:
                        continue
                    T.sync_threads()

    assert waits_and_reads(kernel) == ["wait", "wait", "wait"]  # behind the condition, before it, and the kernel's


def test_a_condition_that_all_threads_read_behind_a_jump_of_some():
    @T.prim_func
    def kernel(X: T.Tensor((4, 128), "int32"), F: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            a, k = T.alloc_shared((128,), "int32"), T.alloc_var("int32", init=0)
            T.clear(a)
            while a[5] < 10 and k < 4:
                k += 1
                if tx < 64:
                    T.copy(X[k - 1, :], a)
                    if F[k - 1] > 0:
                        continue
                    T.sync_threads()

    with pytest.raises(LanguageError, match="threads 0 to 127 must wait for each other here") as caught:
        lowered(kernel, "insert_barriers")
    assert caught.value.location is not None


def test_roles_beside_a_jump_of_one():
    """Each role waits for itself, whatever the other one does."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 128), "int32"), F: T.Tensor((4,), "int32"), Y: T.Tensor((4, 128), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            a, b = T.alloc_shared((128,), "int32"), T.alloc_shared((128,), "int32")
            for k in T.serial(4):
                if tx < 64:
                    T.copy(X[k, :], a)
                    if F[k] > 0:
                        continue
                    if F[k] < 0:
                        break
                    T.sync_threads()
                else:
                    T.copy(X[k, :], b)
                    for i in T.Parallel(128):
                        Y[k, i] = b[127 - i]

    assert waits_and_reads(kernel).count("wait") >= 3
