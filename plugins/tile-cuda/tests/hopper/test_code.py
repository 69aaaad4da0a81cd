"""Kernels with several loops and products: each use of a circular buffer reads the iteration that was loaded for it."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import CONFIGS, as_interpreted, built, chosen, has_roles, refusals, small

HALF = "float16"
NO_LOOP = "no T.Pipelined loop loads tiles that a tensor map can load"


def zeros(*shape, dtype=np.float16):
    return np.zeros(shape, dtype)


def same(func, *args, roles=True, **options):
    kernel = built(func, **options)
    assert has_roles(kernel) == roles, refusals(kernel)
    as_interpreted(func, kernel, *args)
    return kernel


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("threads", [128, 256])
def test_two_products_of_one_tile(stages, threads):
    @T.prim_func
    def two(
        A: T.Tensor((256, 192), HALF), B: T.Tensor((192, 64), HALF), D: T.Tensor((192, 128), HALF),
        C: T.Tensor((256, 64), HALF), E: T.Tensor((256, 128), "float32"),
    ):  # fmt: skip
        with T.Kernel(2, threads=threads) as by:
            a, b, d = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 128), HALF)
            c, e = T.alloc_fragment((128, 64), "float32"), T.alloc_fragment((128, 128), "float32")
            T.clear(c)
            T.clear(e)
            for k in T.Pipelined(3, num_stages=stages):
                T.copy(A[by * 128, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
                T.copy(D[k * 64, 0], d)
                T.gemm(a, d, e)
            T.copy(c, C[by * 128, 0])
            T.copy(e, E[by * 128, 0])

    args = [small(HALF, (256, 192)), small(HALF, (192, 64), 1, 1), small(HALF, (192, 128), 2)]
    same(two, *args, zeros(256, 64), zeros(256, 128, dtype=np.float32))


@pytest.mark.parametrize("through", ["registers", "memory", "both"])
def test_chained_products(through):
    @T.prim_func
    def chained(
        A: T.Tensor((256, 192), HALF), B: T.Tensor((192, 64), HALF), D: T.Tensor((64, 128), HALF),
        E: T.Tensor((256, 128), "float32"),
    ):  # fmt: skip
        with T.Kernel(2, threads=256) as by:
            a, b, d = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 128), HALF)
            c, e = T.alloc_fragment((128, 64), "float32"), T.alloc_fragment((128, 128), "float32")
            cast_fragment, cast_tile = T.alloc_fragment((128, 64), HALF), T.alloc_shared((128, 64), HALF)
            T.clear(e)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[by * 128, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c, transpose_B=True, clear_accum=True)
                T.copy(c, cast_fragment)
                T.copy(D, d)
                if through != "registers":
                    T.copy(cast_fragment, cast_tile)
                    T.gemm(cast_tile, d, e)
                if through != "memory":
                    T.gemm(cast_fragment, d, e)
            T.copy(e, E[by * 128, 0])

    args = [small(HALF, (256, 192), 0, 1), small(HALF, (192, 64), 1, 1), small(HALF, (64, 128), 2, 1)]
    kernel = same(chained, *args, zeros(256, 128, dtype=np.float32))
    assert set(chosen(kernel, "gemm")) == {"wgmma"}
    assert ("tc_fence_async();\n" in kernel.get_kernel_source()) == (through != "registers")


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_two_loops_over_one_circular_buffer(stages):
    @T.prim_func
    def twice(
        A: T.Tensor((256, 192), HALF), B: T.Tensor((192, 64), HALF), D: T.Tensor((256, 128), HALF),
        C: T.Tensor((256, 64), HALF), E: T.Tensor((256, 64), HALF),
    ):  # fmt: skip
        with T.Kernel(2, threads=128) as by:
            a, b = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((128, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[by * 128, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 128, 0])
            T.clear(c)
            for k in T.Pipelined(2, num_stages=stages):
                T.copy(D[by * 128, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, E[by * 128, 0])

    args = [small(HALF, (256, 192), 0, 1), small(HALF, (192, 64), 1), small(HALF, (256, 128), 2, 1)]
    same(twice, *args, zeros(256, 64), zeros(256, 64))


@pytest.mark.parametrize("stages", [2, 4])
def test_a_loop_in_a_loop(stages):
    """The inner loop has another number of steps each time."""

    @T.prim_func
    def nested(A: T.Tensor((256, 256), HALF), B: T.Tensor((256, 64), HALF), C: T.Tensor((3, 256, 64), HALF)):
        with T.Kernel(2, threads=128) as by:
            a, b = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((128, 64), "float32")
            for o in T.serial(3):
                T.clear(c)
                for k in T.Pipelined(o, num_stages=stages):
                    T.copy(A[by * 128, k * 64 + o * 64], a)
                    T.copy(B[k * 64, 0], b)
                    T.gemm(a, b, c)
                T.copy(c, C[o, by * 128, 0])

    same(nested, small(HALF, (256, 256), 0, 1), small(HALF, (256, 64), 1), zeros(3, 256, 64))


def test_a_circular_buffer_that_is_loaded_in_an_if():
    @T.prim_func
    def chosen_tile(
        A: T.Tensor((256, 256), HALF), B: T.Tensor((256, 64), HALF), F: T.Tensor((4,), "int32"),
        C: T.Tensor((256, 64), "float32"),
    ):  # fmt: skip
        with T.Kernel(2, threads=128) as by:
            a, b = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((128, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[by * 128, k * 64], a)
                if F[k] > 0:
                    T.copy(B[k * 64, 0], b)
                    T.gemm(a, b, c)
                elif F[k] < 0:
                    T.copy(B[0, 0], b)
                    T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[by * 128, 0])

    kernel = built(chosen_tile)
    assert has_roles(kernel)
    for flags in ([1, 0, -1, 1], [0, 0, 0, 0], [-1, -1, 1, 0]):
        args = [small(HALF, (256, 256)), small(HALF, (256, 64), 1), np.array(flags, np.int32)]
        as_interpreted(chosen_tile, kernel, *args, zeros(256, 64, dtype=np.float32))


def test_one_tile_before_the_loop_and_others_in_it():
    @T.prim_func
    def queries(A: T.Tensor((256, 64), HALF), B: T.Tensor((64, 192), HALF), C: T.Tensor((256, 192), "float32")):
        with T.Kernel(2, threads=128) as by:
            a, b = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((128, 64), "float32")
            T.copy(A[by * 128, 0], a)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(B[0, k * 64], b)
                T.gemm(a, b, c, clear_accum=True)
                T.copy(c, C[by * 128, k * 64])

    same(queries, small(HALF, (256, 64)), small(HALF, (64, 192), 1), zeros(256, 192, dtype=np.float32))


ONE_WAVE, SEVERAL_WAVES = 3, 1  # multiprocessors; each runs three of the four blocks at the same time


@pytest.mark.parametrize(
    ("multiprocessors", "again", "reason"),
    [
        (ONE_WAVE, False, None),
        (ONE_WAVE, True, "threads load it: it is used after a loop or a branch that loads it"),
        (SEVERAL_WAVES, False, "a_b is loaded in a loop and also in another loop inside of it"),
    ],
)
def test_a_tile_that_is_loaded_before_the_loop_and_in_it(multiprocessors, again, reason):
    """Persistent blocks load it in their own loop, too: iterations of two loops are not counted together."""
    rows_of_a = 512

    @T.prim_func
    def before(
        A: T.Tensor((rows_of_a, 256), HALF), B: T.Tensor((256, 64), HALF), C: T.Tensor((rows_of_a, 64), HALF),
        D: T.Tensor((rows_of_a, 64), "float32"),
    ):  # fmt: skip
        with T.Kernel(4, threads=128) as by:
            a, b = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((128, 64), "float32")
            T.copy(A[by * 128, 192], a)
            T.copy(B[0, 0], b)
            T.gemm(a, b, c, clear_accum=True)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[by * 128, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 128, 0])
            if again:  # b is what the last step of the loop loaded
                T.copy(A[by * 128, 64], a)
                T.gemm(a, b, c)
                T.copy(c, D[by * 128, 0])

    args = [small(HALF, (512, 256), 0, 1), small(HALF, (256, 64), 1), zeros(512, 64), zeros(512, 64, dtype=np.float32)]
    kernel = built(before, target=f"cuda -arch=sm_90a -multiprocessors={multiprocessors}")
    as_interpreted(before, kernel, *args)
    assert refusals(kernel) == ({reason} if reason else set())
    assert has_roles(kernel) == (multiprocessors == ONE_WAVE)


def test_a_tile_that_one_branch_loads_anew():
    """The other branch uses what is loaded in front of both, whichever slot of a circular buffer that would be."""

    @T.prim_func
    def branches(
        A: T.Tensor((256, 256), HALF), B: T.Tensor((256, 64), HALF), F: T.Tensor((4,), "int32"),
        C: T.Tensor((256, 64), "float32"),
    ):  # fmt: skip
        with T.Kernel(2, threads=128) as by:
            a, b = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((128, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[by * 128, k * 64], a)
                T.copy(B[k * 64, 0], b)
                if F[k] > 0:
                    T.copy(B[0, 0], b)
                    T.gemm(a, b, c)
                else:
                    T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[by * 128, 0])

    kernel = built(branches)
    assert has_roles(kernel), "the other tile has a circular buffer"
    assert {reason for reason in refusals(kernel) if "one branch loads it" in reason}
    for flags in ([1, 0, 0, 1], [0, 1, 1, 0]):
        args = [small(HALF, (256, 256)), small(HALF, (256, 64), 1), np.array(flags, np.int32)]
        as_interpreted(branches, kernel, *args, zeros(256, 64, dtype=np.float32))


def test_several_kernels_of_one_function():
    @T.prim_func
    def several(
        A: T.Tensor((256, 256), HALF), B: T.Tensor((256, 64), HALF), C: T.Tensor((256, 64), HALF),
        D: T.Tensor((256, 64), HALF),
    ):  # fmt: skip
        with T.Kernel(2, threads=128) as by:
            a, b = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((128, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[by * 128, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 128, 0])
        with T.Kernel(4, threads=256) as by:
            a, b = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=3):
                T.copy(A[by * 64, k * 64], a)
                T.copy(C[k * 64, 0], b)
                T.gemm(a, b, c, policy=T.GemmWarpPolicy.FullCol)
            T.copy(c, D[by * 64, 0])

    b = np.eye(256, 64, dtype=np.float16)
    same(several, small(HALF, (256, 256), 0, 1), b, zeros(256, 64), zeros(256, 64))


def test_sums_that_are_added_to_what_is_there():
    @T.prim_func
    def in_place(A: T.Tensor((256, 256), HALF), B: T.Tensor((256, 64), HALF), C: T.Tensor((256, 64), HALF)):
        with T.Kernel(2, threads=128) as by:
            a, b = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((128, 64), "float32")
            T.copy(C[by * 128, 0], c)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[by * 128, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 128, 0])

    kernel = same(in_place, small(HALF, (256, 256), 0, 1), small(HALF, (256, 64), 1), small(HALF, (256, 64), 2))
    assert "tensor store" not in chosen(kernel, "copy")


@pytest.mark.parametrize("depth", [64, 62])
def test_persistent_blocks_by_the_user(depth):
    """Memory that a TMA store still reads is not overwritten by the tiles of the next step."""

    @T.prim_func
    def serial(A: T.Tensor((512, depth), HALF), B: T.Tensor((depth, 64), HALF), C: T.Tensor((512, 64), HALF)):
        with T.Kernel(1, threads=128):
            for t in T.serial(4):
                a, b = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF)
                c = T.alloc_fragment((128, 64), "float32")
                T.copy(A[t * 128, 0], a)
                T.copy(B[0, 0], b)
                T.gemm(a, b, c, clear_accum=True)
                T.copy(c, C[t * 128, 0])

    kernel = same(serial, small(HALF, (512, depth)), small(HALF, (depth, 64), 1), zeros(512, 64), roles=False)
    assert "tensor store" in chosen(kernel, "copy")


@pytest.mark.parametrize("off", [(), (CONFIGS.TL_DISABLE_PERSISTENT_BLOCKS,), (CONFIGS.TL_DISABLE_WARP_SPECIALIZED,)])
def test_a_result_that_is_stored_where_tiles_were(off):
    """Warps whose products have ended wait for the warps that still read the tiles."""

    @T.prim_func
    def stored(A: T.Tensor((256, 64), HALF), B: T.Tensor((64, 256), HALF), C: T.Tensor((256, 256), HALF)):
        with T.Kernel(1, 2, threads=256) as (_bx, by):
            a, b = T.alloc_shared((128, 16), HALF), T.alloc_shared((16, 256), HALF)
            c = T.alloc_fragment((128, 256), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=3):
                T.copy(A[by * 128, k * 16], a)
                T.copy(B[k * 16, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 128, 0])

    args = small(HALF, (256, 64)), small(HALF, (64, 256), 1), zeros(256, 256)
    kernel = built(stored, *off)
    assert "tensor store" in chosen(kernel, "copy")
    as_interpreted(stored, kernel, *args)


def test_one_block_whose_circular_buffer_has_many_phases():
    @T.prim_func
    def long(A: T.Tensor((64, 32 * 41), HALF), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 32), HALF)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(41, num_stages=3):
                T.copy(A[0, k * 32], a)
                T.gemm(a, a, c, transpose_B=True)
            T.copy(c, C)

    same(long, small(HALF, (64, 32 * 41)), zeros(64, 64, dtype=np.float32))


def test_threads_that_read_a_tile_beside_the_product():
    """The threads also sum the rows of the tile that wgmma reads."""

    @T.prim_func
    def both(
        A: T.Tensor((128, 192), HALF),
        B: T.Tensor((192, 64), HALF),
        C: T.Tensor((128, 64), HALF),
        S: T.Tensor((128,), "float32"),
    ):
        with T.Kernel(2, threads=128) as by:
            a, b = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            c, s = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64,), "float32")
            wide, step = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64,), "float32")
            T.clear(c)
            T.clear(s)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[by * 64, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
                T.copy(a, wide)
                T.reduce_sum(wide, step, dim=1)
                for i in T.Parallel(64):
                    s[i] += step[i]
            T.copy(c, C[by * 64, 0])
            T.copy(s, S[by * 64])

    same(both, small(HALF, (128, 192), 0, 1), small(HALF, (192, 64), 1), zeros(128, 64), zeros(128, dtype=np.float32))
