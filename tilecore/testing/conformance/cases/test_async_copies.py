"""Copies that each thread starts by itself, in groups; schedulers of persistent kernels; dependent launches."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, sample, zeros


@pytest.mark.parametrize(("dtype", "count"), [("float32", 4), ("float16", 4), ("int8", 4), ("float32", 1)])
def test_copies_of_each_thread_in_groups(target, dtype, count):
    """Two groups are in flight at a time; where the predicate is false, zeros are written."""
    steps, width = 5, 32 * count

    @T.prim_func
    def kernel(X: T.Tensor((2, steps, width), dtype), Y: T.Tensor((2, steps, width), dtype)):
        with T.Kernel(2, threads=32) as b:
            tx = T.get_thread_binding()
            slots = T.alloc_shared((3, width), dtype)
            for k in T.serial(steps + 2):
                if k < steps:
                    T.ptx_cp_async(
                        T.access_ptr(slots[k % 3, tx * count], "w", count),
                        T.access_ptr(X[b, k, tx * count], "r", count),
                        count,
                        predicate=(tx + k) % 3 > 0,
                    )
                T.ptx_commit_group()
                T.ptx_wait_group(2)
                T.sync_threads()
                if k >= 2:
                    for i in T.serial(count):
                        Y[b, k - 2, i * 32 + tx] = slots[(k - 2) % 3, i * 32 + tx]
                T.sync_threads()

    x = sample(dtype, (2, steps, width))
    y = check(kernel, target, x, zeros(dtype, x.shape))[1]
    lane = np.arange(width) // count
    expected = np.where((lane + np.arange(steps)[:, None]) % 3 > 0, x, np.zeros_like(x))
    np.testing.assert_array_equal(y, expected)


def test_a_vectorized_loop_of_copies(target):
    """The iterations of a vectorized loop copy one element each, and together one move."""

    @T.prim_func
    def kernel(X: T.Tensor((2, 128), "float16"), Y: T.Tensor((2, 128), "float16")):
        with T.Kernel(2, threads=32) as b:
            tx = T.get_thread_binding()
            tile = T.alloc_shared((128,), "float16")
            for i in T.vectorized(4):
                T.ptx_cp_async(T.address_of(tile[tx * 4 + i]), T.address_of(X[b, tx * 4 + i]), 1)
            T.ptx_commit_group()
            T.ptx_wait_group(0)
            T.sync_threads()
            for i in T.serial(4):
                Y[b, i * 32 + tx] = tile[i * 32 + tx]

    x = sample("float16", (2, 128))
    np.testing.assert_array_equal(check(kernel, target, x, zeros("float16", x.shape))[1], x)


@pytest.mark.parametrize("column_major", [True, False])
def test_a_persistent_scheduler_takes_every_tile_once(target, column_major):
    rows, columns, workers, panel = 5, 7, 4, 3

    @T.prim_func
    def kernel(Order: T.Tensor((rows, columns), "int32"), Turn: T.Tensor((rows, columns), "int32")):
        with T.Kernel(workers, threads=32) as b:
            tiles = T.PersistentTileScheduler(
                rows, columns, swizzle_size=panel, column_major=column_major, name="tiles"
            )
            tiles.init(b)
            while tiles.valid():
                m, n = tiles.m_idx, tiles.n_idx
                Order[m, n] = tiles.linear_idx
                Turn[m, n] = tiles.current_iter
                tiles.next_tile()

    order, turn = check(kernel, target, zeros("int32", (rows, columns)) - 1, zeros("int32", (rows, columns)) - 1)
    along, across = (rows, columns) if column_major else (columns, rows)
    places = [(i, j) for p in range(0, across, panel) for i in range(along) for j in range(p, min(p + panel, across))]
    expected = np.zeros((along, across), np.int32)
    for number, place in enumerate(places):
        expected[place] = number
    np.testing.assert_array_equal(order, expected if column_major else expected.T)
    np.testing.assert_array_equal(turn, order // workers)


def test_a_dependent_launch_sees_what_the_kernel_before_wrote(target):
    @T.prim_func
    def kernel(X: T.Tensor((256,), "float32"), Y: T.Tensor((256,), "float32"), Z: T.Tensor((256,), "float32")):
        with T.Kernel(2, threads=128) as b:
            for i in T.Parallel(128):
                Y[b * 128 + i] = X[b * 128 + i] + 1.0
            T.pdl_trigger()
        with T.Kernel(2, threads=128) as b:
            T.pdl_sync()
            for i in T.Parallel(128):
                Z[b * 128 + i] = Y[255 - b * 128 - i] * 2.0

    x = sample("float32", 256)
    z = check(kernel, target, x, zeros("float32", 256), zeros("float32", 256))[2]
    np.testing.assert_array_equal(z, (x[::-1] + np.float32(1)) * np.float32(2))
