"""The simulated device with waves of 64 and 32 lanes: warps of the language are halves of a wave of 64."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T

TARGETS = ("hip -arch=gfx90a", "hip -arch=gfx942", "hip -arch=gfx1100", "hip -arch=gfx1100 -wave=64")


def compiled(func, target):
    return tilecore.compile(func, target=target, execution_backend="sim")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("threads", [32, 64, 96, 128, 256])
def test_a_sum_over_the_block(target, threads):
    @T.prim_func
    def kernel(X: T.Tensor((threads,), "float32"), Y: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            f, total = T.alloc_fragment((threads,), "float32"), T.alloc_fragment((1,), "float32")
            T.copy(X, f)
            T.reduce_sum(f, total, dim=0)
            T.copy(total, Y)

    x, y = np.arange(threads, dtype=np.float32), np.zeros(1, np.float32)
    built = compiled(kernel, target)
    built(x, y)
    assert y[0] == x.sum()
    lanes = 64 if "gfx9" in target or "wave=64" in target else 32
    width = lanes if threads % lanes == 0 else 32
    assert f"tc_shuffle_xor(joined, {width // 2}, {width})" in built.get_kernel_source(), "one butterfly for a wave"


@pytest.mark.parametrize("target", TARGETS)
def test_the_halves_of_a_wave_go_different_ways(target):
    """Each warp of the language has its own trip count, which is legal although they share a wave."""

    @T.prim_func
    def kernel(Y: T.Tensor((128,), "int32"), Z: T.Tensor((128,), "uint32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            for k in T.serial(tx // 32):
                Y[tx] = T.warp_reduce_sum(k + tx % 32)
            Z[tx] = T.ballot(tx % 3 == 0)

    y, z = np.zeros(128, np.int32), np.zeros(128, np.uint32)
    compiled(kernel, target)(y, z)
    lanes = np.arange(128)
    assert y.tolist() == [0 if t < 32 else 32 * (t // 32 - 1) + 496 for t in lanes]
    for first in range(0, 128, 32):
        mask = sum(1 << bit for bit in range(32) if (first + bit) % 3 == 0)
        assert (z[first : first + 32] == mask).all()


@pytest.mark.parametrize("target", TARGETS)
def test_shuffles_stay_within_a_warp_of_the_language(target):
    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64, 4), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            Y[tx, 0] = T.shfl_xor(X[tx], 1)
            Y[tx, 1] = T.shfl_up(X[tx], 1)
            Y[tx, 2] = T.shfl_down(X[tx], 1)
            Y[tx, 3] = T.shfl_sync(X[tx], 5)

    x, y = np.arange(64, dtype=np.int32), np.zeros((64, 4), np.int32)
    compiled(kernel, target)(x, y)
    assert y[:, 0].tolist() == [t ^ 1 for t in range(64)]
    assert y[:, 1].tolist() == [t - (t % 32 > 0) for t in range(64)]
    assert y[:, 2].tolist() == [t + (t % 32 < 31) for t in range(64)]
    assert y[:, 3].tolist() == [t // 32 * 32 + 5 for t in range(64)]


def test_blocks_of_a_unit():
    @T.prim_func
    def kernel(Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            T.annotate_min_blocks_per_sm(3)
            T.fill(Y, 2.0)

    built = compiled(kernel, "hip -arch=gfx942")
    assert "TC_LAUNCH_BOUNDS(64, 3) kernel_kernel_" in built.get_kernel_source()
    y = np.zeros(64, np.float32)
    built(y)
    assert (y == 2).all()
