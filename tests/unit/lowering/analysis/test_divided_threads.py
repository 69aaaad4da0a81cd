"""What all threads of a block do beside a jump, or under a value, of a range of its threads."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.errors import LanguageError
from tilecore.ir.nodes import BufferStore, IfThenElse
from tilecore.ir.visit import collect

from ..simt.kit import lowered
from ..simt.test_thread_ranges import some


@pytest.fixture(autouse=True)
def _conditions_are_ranges(monkeypatch):
    """As in kernels that use names of a target's own language."""
    monkeypatch.setattr("tilecore.lowering.simt.find_ranges.dialect_calls", lambda body: True)


def block_wide(what: str, jump: str, first: bool = False):
    """A loop with a jump of threads 0 to 63, and something that all threads do together, before it or behind it."""

    @T.macro
    def together(X, Y, a, k):
        if what == "copy":
            T.copy(X[k, :], a)
        elif what == "sync_threads":
            T.sync_threads()
        elif what == "Parallel":
            for i in T.Parallel(128):
                Y[k, i] = X[k, i]
        elif what == "more" and T.get_thread_binding() < 96:
            T.copy(X[k, :], a)

    @T.prim_func
    def kernel(X: T.Tensor((4, 128), "int32"), F: T.Tensor((4,), "int32"), Y: T.Tensor((4, 128), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            a, b = T.alloc_shared((128,), "int32"), T.alloc_shared((128,), "int32")
            for k in T.serial(4):
                if first:
                    together(X, Y, a, k)
                if tx < 64:
                    T.copy(X[k, :], b)
                    if F[k] > 0:
                        if jump == "break":
                            break
                        else:
                            continue
                if not first:
                    together(X, Y, a, k)

    return kernel


@pytest.mark.parametrize("what", ["copy", "sync_threads", "Parallel", "more"])
@pytest.mark.parametrize("jump", ["break", "continue"])
@pytest.mark.parametrize("first", [True, False])
def test_what_all_threads_do_beside_a_jump_of_some(what, jump, first):
    with pytest.raises(LanguageError, match="is reached by some threads of the block only") as caught:
        lowered(block_wide(what, jump, first), "check_threads")
    assert caught.value.location is not None
    assert "threads 0 to 63 have a `break` or `continue` of their own" in str(caught.value)


def test_a_jump_that_single_threads_of_a_range_take():
    @T.prim_func
    def kernel(X: T.Tensor((4, 128), "int32"), F: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            a = T.alloc_shared((128,), "int32")
            for k in T.serial(4):
                if tx < 64:
                    T.copy(X[k, :], a)
                    if F[tx] > k:
                        continue

    with pytest.raises(LanguageError, match="is reached by some threads of the block only"):
        lowered(kernel, "check_threads")


def flagged(inside: bool):
    """A variable that a range alone sets, and a copy under it, of the range or of the block."""

    @T.prim_func
    def kernel(X: T.Tensor((128,), "int32"), Y: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=128):
            flag = T.alloc_var("int32", init=0)
            with some(0, 64):
                flag = X[0]
                if inside and flag > 0:
                    T.copy(X, Y)
            if not inside and flag > 0:
                T.copy(X, Y)

    return kernel


def test_a_value_that_only_a_range_sets_differs_between_it_and_the_others():
    lowered(flagged(inside=True), "place_ranges")
    with pytest.raises(LanguageError, match=r"T\.copy is reached by some threads of the block only"):
        lowered(flagged(inside=False), "check_threads")


def test_a_store_beside_a_jump_of_the_threads_that_would_do_it():
    """Thread 0 may have left: each thread that is there stores."""

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

    bound, _ = lowered(kernel, "bind_threads")
    once = [store for branch in collect(bound.body, IfThenElse) for store in collect(branch, BufferStore)]
    assert not [store for store in once if store.buffer.name == "Y"]
