"""init_mbarriers: one thread initializes a kernel's mbarriers before all other code, then all threads meet."""

from __future__ import annotations

import tilecore.language as T
from tilecore.testing.kernel_text import lines, text

from .kernels import loaded_by_tma, meet, product, scaled
from .one_pass import around_pass, changes

PASS = "init_mbarriers"


def test_the_first_thread_initializes_them_and_a_barrier_follows():
    before, after, _ = around_pass(loaded_by_tma(barriers=(1, 64)), PASS)
    assert text(after).startswith(
        lines(
            """
            full = T.alloc_shared((2,), "uint64", layout=None)
            if tx == 0:
                T.cuda.mbarrier("init", full[0], 1)
                T.cuda.mbarrier("init", full[1], 64)
                T.cuda.mbarrier("fence_init")
            T.tile.sync_threads()
            a = T.alloc_buffer(
            """
        )
    )
    removed = [line for line in changes(before, after).splitlines() if line.startswith("-")]
    assert removed == ['- full = T.alloc_shared((2,), "uint64", layout=None)']


def test_the_blocks_of_a_cluster_meet_at_a_cluster_barrier():
    @T.prim_func
    def in_cluster(X: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=32, cluster_dims=2):
            arrived = T.alloc_barrier([2])
            meet(arrived, 1)
            X[0] = 1.0

    _, after, _ = around_pass(in_cluster, PASS)
    assert 'T.cuda.cluster("barrier")' in text(after)
    assert "sync_threads" not in text(after)


def test_the_first_thread_of_a_block_of_two_axes():
    @T.prim_func
    def two_axes(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=(8, 4)):
            arrived = T.alloc_barrier([32])
            meet(arrived)
            X[0] = 1.0

    _, after, _ = around_pass(two_axes, PASS)
    assert "if ty * 8 + tx == 0:" in text(after)


def test_each_kernel_initializes_its_own():
    @T.prim_func
    def two_kernels(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            X[0] = 1.0
        with T.Kernel(1, threads=32):
            arrived = T.alloc_barrier([32])
            meet(arrived)
            X[1] = 1.0

    _, after, _ = around_pass(two_kernels, PASS)
    assert text(after).count('"init"') == 1
    assert text(after).index("X[0]") < text(after).index('"init"') < text(after).index("X[1]")


def test_kernels_without_mbarriers_stay_as_they_are():
    for kernel in (scaled, product()):
        before, after, _ = around_pass(kernel, PASS)
        assert text(before) == text(after)
