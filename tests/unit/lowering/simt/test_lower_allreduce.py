"""lower_allreduce: reductions across threads become shuffles in a warp, and shared memory across warps."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.errors import UnsupportedError
from tilecore.ir.build import const
from tilecore.lowering.simt.lower_allreduce import lower_allreduce

from ..one_pass import after_pass, around_pass, before_and_after, text

PASS = "lower_allreduce"


def summing(n, threads):
    """Sums of the rows of a matrix: the threads that hold a row reduce together."""

    @T.prim_func
    def kernel(X: T.Tensor((4, n), "float32"), S: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=threads):
            row, total = T.alloc_fragment((4, n), "float32"), T.alloc_fragment((4,), "float32")
            T.copy(X, row)
            T.reduce_sum(row, total, dim=1)
            T.copy(total, S)

    return kernel


@pytest.mark.parametrize("warp", [32, 64])
def test_a_group_in_a_warp_is_a_butterfly_of_shuffles(warp):
    before, after = before_and_after(summing(128, 128), PASS, warp=warp)
    assert 'T.tile.allreduce(total_1[0], "sum", 32, 1)' in before
    assert "allreduce" not in after
    steps = [line.partition("joined[0], ")[2] for line in after.splitlines() if "simt.shuffle" in line]
    # of 32 threads, a warp of the language, also where that is half a wave of the target
    assert steps == [f'{step}, "xor", 32)' for step in (16, 8, 4, 2, 1)]
    assert "alloc_shared" not in after


@pytest.mark.parametrize(("threads", "members"), [(128, 64), (96, 32), (64, 64)])
def test_a_block_of_waves_of_64_threads(threads, members):
    """Where half a wave is left over, the block reduces by halves of waves."""
    after = after_pass(summing(16 * threads, threads), PASS, warp=64)
    steps = [line.partition("joined[0], ")[2] for line in after.splitlines() if "simt.shuffle" in line]
    assert steps[0] == f'{members // 2}, "xor", {members})'


def test_a_group_of_several_warps_meets_in_shared_memory():
    after = after_pass(summing(2048, 512), PASS)
    assert "joined_of_warps = T.alloc_shared((16,)" in after  # one element for each warp
    assert "% 32 == 0:" in after  # the first thread of a warp stores its result


def test_a_backend_has_a_call_of_its_own_for_a_warp():
    def of_warp(kind, value):
        return value + const(1, "float32") if kind == "sum" else None

    before, _, env = around_pass(summing(128, 128), PASS)
    after = text(lower_allreduce(before, env, of_warp))
    assert "joined[0] + T.float32(1" in after
    assert "shuffle" not in after


def test_code_without_reductions_across_threads_stays():
    before, after = before_and_after(summing(1, 4), PASS)
    assert before == after


def test_a_reduction_across_warps_where_threads_part_ways_is_refused():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            if X[tx] > 0:
                Y[tx] = T.warp_reduce_sum(X[tx])

    with pytest.raises(UnsupportedError, match="a reduction across threads of different warps") as caught:
        after_pass(kernel, PASS, warp=16)  # a warp of the language is two of the target
    assert "T.warp_reduce_sum" in caught.value.location.excerpt()
    assert "shuffle" in after_pass(kernel, PASS, warp=32)
