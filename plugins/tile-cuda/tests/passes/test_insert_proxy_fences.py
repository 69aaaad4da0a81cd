"""insert_proxy_fences: a fence before each barrier between writes of threads and reads by wgmma or explicit stores."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.testing.kernel_text import text

from .kernels import loaded_by_tma, pipelined, product
from .one_pass import AMPERE, around_pass, changes

PASS = "insert_proxy_fences"
FENCE = "T.cuda.proxy_fence()"
BARRIER = "T.tile.sync_threads()"


def statements(func):
    return [line.strip() for line in text(func).splitlines()]


def test_a_fence_stands_before_the_barrier_after_the_writes():
    before, after, _ = around_pass(product(through_shared=True), PASS)
    assert changes(before, after) == f"+ {FENCE}"
    code = statements(after)
    fence = code.index(FENCE)
    assert code[fence + 1] == BARRIER
    assert BARRIER not in code[:fence], "the first barrier has the fence"
    assert BARRIER in code[fence + 2 :], "later barriers order no writes of operands"


def test_what_tma_loads_needs_no_fence():
    for kernel in (loaded_by_tma(), pipelined()):
        before, after, _ = around_pass(kernel, PASS)
        assert text(before) == text(after)


def test_mma_of_the_threads_needs_no_fence():
    before, after, _ = around_pass(product(), PASS, AMPERE)
    assert text(before) == text(after)


def test_writes_at_the_end_of_an_iteration_are_fenced_in_the_next():
    """The first barrier of an iteration follows writes of the one before it."""

    @T.prim_func
    def written_for_next_iteration(A: T.Tensor((4, 64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            T.copy(A[0, :, :], a)
            T.sync_threads()
            for k in T.serial(3):
                T.gemm(a, a, c)
                T.copy(A[k + 1, :, :], a)
            T.copy(c, C)

    _, after, _ = around_pass(written_for_next_iteration, PASS)
    loop = statements(after)
    loop = loop[next(number for number, line in enumerate(loop) if line.startswith("for k in ")) :]
    first, second = (number for number, line in enumerate(loop) if line == BARRIER)
    assert loop[first - 1] == FENCE
    assert loop[second - 1] != FENCE, "the barrier between a product and the next write orders reads only"


def test_an_explicit_store_of_what_threads_wrote():
    @T.prim_func
    def stored(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            T.copy(A, a)
            T.tma_copy(a, B)
            T.tma_store_wait()

    before, after, _ = around_pass(stored, PASS)
    assert changes(before, after) == f"+ {FENCE}"
    code = statements(after)
    assert code[code.index(FENCE) + 1] == BARRIER


def passed_on(own_fence: bool, waits: bool):
    """A warpgroup writes an operand and tells another one by a named barrier, at which it waits, too, or goes on."""

    @T.prim_func
    def passed_on(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            done = T.alloc_barrier(128)
            with T.ws(0):
                T.copy(A, a)
                if own_fence:
                    T.fence_proxy_async()
                if waits:
                    T.sync_threads(3, 256)
                else:
                    T.named_barrier_arrive(3, 256)
                T.named_barrier_arrive(4, 256)
                T.mbarrier_arrive(done)
            with T.ws(1):
                T.sync_threads(3, 256)
                T.sync_threads(4, 256)
                T.wgmma_gemm(a, a, c, clear_accum=True)
                T.wait_wgmma(0)
                T.copy(c, C)

    return passed_on


@pytest.mark.parametrize("waits", [False, True])
def test_a_named_barrier_has_a_fence_in_front(waits):
    before, after, _ = around_pass(passed_on(False, waits), PASS)
    assert changes(before, after) == f"+ {FENCE}"
    code = statements(after)
    following = code[code.index(FENCE) + 1]
    assert ("simt.named_barrier(3, 256)" if waits else '"cuda.named_barrier_arrive", [3, 256]') in following


@pytest.mark.parametrize("waits", [False, True])
def test_the_fence_of_the_kernel_itself_is_enough(waits):
    before, after, _ = around_pass(passed_on(True, waits), PASS)
    assert text(before) == text(after)


@pytest.mark.parametrize("own_fence", [False, True])
def test_fences_of_one_role_are_not_for_what_another_wrote(own_fence):
    """Warpgroup 0 writes an operand, 1 meets at a barrier of its own; then all threads multiply."""

    @T.prim_func
    def written_by_a_role(A: T.Tensor((64, 64), "float16"), C: T.Tensor((128, 64), "float32")):
        with T.Kernel(1, threads=256):
            a, b = T.alloc_shared((128, 64), "float16"), T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((128, 64), "float32")
            with T.ws(0):
                T.copy(A, a[0:64, :])
                T.copy(A, a[64:128, :])
                T.copy(A, b)
            with T.ws(1):
                if own_fence:
                    T.fence_proxy_async()
                T.sync_threads(3, 128)
            T.sync_threads()
            T.wgmma_gemm(a, b, c, clear_accum=True)
            T.wait_wgmma(0)
            T.copy(c, C)

    _, after, _ = around_pass(written_by_a_role, PASS)
    code = statements(after)
    product = next(number for number, line in enumerate(code) if "wgmma_group" in line)
    of_block = max(number for number, line in enumerate(code[:product]) if "tile.sync_threads" in line)
    assert code[of_block - 1] == FENCE
