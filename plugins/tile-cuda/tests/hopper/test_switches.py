"""What kernel.explain() says about roles, circular buffers, overlaps and blocks; options disable each part."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import UnsupportedError

from .kernels import matmul, multiplied, operands, product
from .kit import CONFIGS, built, chosen, count, declined, has_roles, refusals, rows, small, wide

HALF = "float16"
SIZES = (328, 264, 80)  # more tiles than run at the same time
USUAL = {"tile": (64, 64, 32), "out": HALF, "stages": 3}

# what is in the source where a part is on
MARKS = {
    "wgmma": "tc_wgmma_",
    "tensor loads": r"tc_tensor_load\(",
    "tensor stores": r"tc_tensor_store\(",
    "roles": "_empty",
    "persistent": r"for \(int wave",
    "overlap": r"for \(int step\w* = 1;",
}
WITHOUT = {
    CONFIGS.TL_DISABLE_WGMMA: {"wgmma", "overlap", "tensor stores"},
    CONFIGS.TL_DISABLE_TMA_LOWER: {"tensor loads", "tensor stores", "roles", "persistent", "overlap"},
    CONFIGS.TL_DISABLE_WARP_SPECIALIZED: {"tensor loads", "roles", "persistent", "overlap"},
    CONFIGS.TL_DISABLE_PERSISTENT_BLOCKS: {"persistent"},
    CONFIGS.TL_DISABLE_PRODUCT_OVERLAP: {"overlap"},
    CONFIGS.TL_DISABLE_TENSOR_STORE: {"tensor stores"},
}


def parts(kernel):
    return {part for part, mark in MARKS.items() if count(kernel, mark)}


def test_all_parts():
    kernel = multiplied(SIZES, **USUAL)
    assert parts(kernel) == set(MARKS)


@pytest.mark.parametrize("key", WITHOUT, ids=lambda key: key.name)
def test_one_part_off(key):
    kernel = multiplied(SIZES, key, **USUAL)
    assert parts(kernel) == set(MARKS) - WITHOUT[key]


@pytest.mark.parametrize("first", WITHOUT, ids=lambda key: key.name)
@pytest.mark.parametrize("second", WITHOUT, ids=lambda key: key.name)
def test_two_parts_off(first, second):
    if first.name >= second.name:
        pytest.skip("the pair stands the other way round too")
    kernel = multiplied(SIZES, first, second, **USUAL)
    assert parts(kernel) == set(MARKS) - WITHOUT[first] - WITHOUT[second]


def test_all_parts_off():
    assert parts(multiplied(SIZES, *WITHOUT, **USUAL)) == set()


@pytest.mark.parametrize("key", [CONFIGS.TL_DISABLE_TMA_LOWER, CONFIGS.TL_DISABLE_WARP_SPECIALIZED])
def test_why_warps_have_no_roles(key):
    kernel = built(matmul(*SIZES, **USUAL), key)
    assert refusals(kernel) == {f"{key.name} is set"}
    assert f"  none: {key.name} is set" in str(kernel.explain())
    assert not rows(kernel, "blocks")


@pytest.mark.parametrize("key", [CONFIGS.TL_DISABLE_TMA_LOWER, CONFIGS.TL_DISABLE_TENSOR_STORE])
def test_why_results_are_stored_by_threads(key):
    assert f"{key.name} is set" in declined(built(matmul(*SIZES, **USUAL), key), "copy", "tensor store")


def test_why_gemms_use_mma_sync():
    kernel = built(matmul(*SIZES, **USUAL), CONFIGS.TL_DISABLE_WGMMA)
    assert declined(kernel, "gemm", "wgmma") == {"TL_DISABLE_WGMMA is set"}
    assert has_roles(kernel), "a warp fills the tiles all the same"


def test_one_copy_without_a_tensor_map():
    kernel = multiplied(SIZES, **USUAL, disable_tma=True)
    assert refusals(kernel) == {"threads load it: disable_tma=True"}
    assert "  a: threads load it: disable_tma=True" in str(kernel.explain())
    assert has_roles(kernel), "the other tile has one"


def test_one_store_without_a_tensor_map():
    @T.prim_func
    def plain(A: T.Tensor((64, 64), HALF), C: T.Tensor((64, 64), HALF)):
        with T.Kernel(1, threads=128):
            a, c = T.alloc_shared((64, 64), HALF), T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.gemm(a, a, c, clear_accum=True)
            T.copy(c, C, disable_tma=True)

    kernel = built(plain)
    assert "disable_tma=True" in declined(kernel, "copy", "tensor store")
    a, c = small(HALF, (64, 64)), np.zeros((64, 64), np.float16)
    kernel(a, c)
    np.testing.assert_array_equal(wide(c), wide(a) @ wide(a))


def test_notes_of_a_kernel():
    kernel = built(matmul(512, 512, 512, tile=(128, 256, 64), threads=256, out=HALF, stages=3))
    text = str(kernel.explain())
    assert "  a, b: 3 stages" in text
    assert "  producers: 1 warp, consumers: 8 warps" in text
    assert "registers:" not in text, "equal shares suffice"
    assert "  step: releases of an iteration run in the next one" in text
    assert "  blocks run as 3 persistent blocks, which process the grid's blocks in turn" in text
    assert rows(kernel, "pipelines") == [{"tiles": "a, b", "stages": 3, "filled": "by a producer warp"}]
    assert rows(kernel, "blocks") == [{"order": "as 3 persistent blocks, which process the grid's blocks in turn"}]


@pytest.mark.parametrize(
    ("tile", "threads", "shares"),
    [
        ((256, 192, 32), 256, (24, 240)),
        ((192, 256, 32), 384, (24, 160)),
        ((128, 256, 32), 128, None),
        ((128, 128, 64), 256, None),
    ],
)  # fmt: skip
def test_setmaxnreg_follows_the_registers_of_the_accumulators(tile, threads, shares):
    """It is used where an equal share does not hold the accumulators of a thread, and more registers are available."""
    kernel = multiplied((256, 256, 64), tile=tile, threads=threads, tb=True)
    (roles,) = (row for row in rows(kernel, "warp_roles") if "producer" in row)
    expected = f"{shares[0]} for each producer thread, {shares[1]} for each consumer thread" if shares else None
    assert roles.get("registers") == expected
    assert kernel.artifact.entries[0].threads[0] == threads + (128 if shares else 32)


# -- why a kernel has no roles -----------------------------------------------------------------------------------------


def kernel_that(obstacle):
    threads = {"many threads": 1024, "odd threads": 48, "axes": (64, 2)}.get(obstacle, 128)

    @T.prim_func
    def declines(A: T.Tensor((256, 64), HALF), C: T.Tensor((256, 64), "float32")):
        with T.Kernel(2, threads=threads) as by:
            a, b = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((128, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[by * 128, 0], a)
                if obstacle == "breaks" and A[k, 0] > 5:
                    break
                if obstacle == "thread" and T.get_thread_binding() == 0:
                    b[0, 0] = 1
                if obstacle == "product":
                    for i, j in T.Parallel(128, 64):
                        c[i, j] += a[i, j]
                else:
                    T.gemm(a, b, c)
            T.copy(c, C[by * 128, 0])

    return declines


REASONS = {
    "many threads": "1024 threads and a producer warp are more than 1024 threads",
    "odd threads": "48 threads are not a multiple of 32",
    "axes": "its threads have several axes",
    "breaks": "one of its loops may end early",
    "thread": "it uses thread indices",
    "product": "it has no T.gemm",
}


@pytest.mark.parametrize("obstacle", REASONS)
def test_kernels_without_roles(obstacle):
    kernel = built(kernel_that(obstacle))
    assert refusals(kernel) == {REASONS[obstacle]}
    assert f"  none: {REASONS[obstacle]}" in str(kernel.explain())


def tile_that(obstacle):
    @T.prim_func
    def fills(A: T.Tensor((256, 256), HALF), F: T.Tensor((256, 64), "float32"), C: T.Tensor((256, 64), HALF)):
        with T.Kernel(2, threads=128) as by:
            a, b, d = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((128, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[by * 128, k * 64], a)
                T.copy(A[0, k * 64], b)
                if obstacle == "part":
                    T.copy(A[0, k * 64], d[:, 0:32])
                    T.copy(A[0, k * 64 + 32], d[:, 32:64])
                elif obstacle == "type":
                    T.copy(F[0, 0], d)
                elif obstacle == "written":
                    T.copy(C[0, 0], d)
                elif obstacle == "too":
                    T.copy(A[0, k * 64], d)
                    for i, j in T.Parallel(64, 64):
                        d[i, j] = d[i, j] * 2
                else:
                    T.copy(A[0, k * 64], d)
                T.gemm(a, b, c)
                if obstacle != "unused":
                    T.gemm(a, d, c)
            T.copy(c, C[by * 128, 0])

    return fills


TILES = {
    "part": "a copy loads only a part of it",
    "type": "its element type differs from the tensor's",
    "written": "the kernel writes C",
    "too": "threads also write it",
    "unused": "no statement uses it in the block of code that loads it",
}


@pytest.mark.parametrize("obstacle", TILES)
def test_tiles_that_threads_load(obstacle):
    kernel = built(tile_that(obstacle))
    assert has_roles(kernel)
    assert refusals(kernel) == {f"threads load it: {TILES[obstacle]}"}
    assert f"  d: threads load it: {TILES[obstacle]}" in str(kernel.explain())


@pytest.mark.parametrize("tb", [False, True])
def test_tf32_that_wgmma_cannot_multiply(tb):
    """wgmma reads tf32 B along K only; mma.sync does not gain from a producer warp."""
    kernel = multiplied((128, 64, 96), tile=(64, 64, 32), kinds=("float32", "float32", "float32"), tb=tb, stages=3)
    assert has_roles(kernel) == tb
    assert refusals(kernel) == (
        set() if tb else {"its tf32 matrix products use mma.sync, which does not gain from a producer warp"}
    )


@pytest.mark.parametrize(("value", "overlaps"), [(None, False), (False, True), (True, False)])
def test_overlap_of_products_where_all_blocks_run_at_once(value, overlaps):
    """Not set: slots are released early. False: the next product begins before the last has ended. True: never."""
    configs = {} if value is None else {CONFIGS.TL_DISABLE_PRODUCT_OVERLAP: value}
    kernel = built(matmul(128, 128, 512, tile=(128, 64, 64), stages=3), configs=configs)
    assert any("products" in row for row in rows(kernel, "overlaps")) == overlaps
    a, b = operands((128, 128, 512), (HALF, HALF, "float32"))
    c = np.zeros((128, 128), np.float32)
    kernel(a, b, c)
    np.testing.assert_array_equal(c, product(a, b))


# -- limits ------------------------------------------------------------------------------------------------------------


def test_circular_buffers_that_do_not_fit():
    with pytest.raises(UnsupportedError) as caught:
        built(matmul(512, 512, 512, tile=(128, 256, 64), threads=256, stages=6))
    text = str(caught.value)
    assert "bytes of shared memory" in text
    assert f"b {6 * 64 * 256 * 2}, a {6 * 128 * 64 * 2}" in text, "what takes it, the largest first"
    assert "at most 232448 bytes" in text
    assert "num_stages=4 needs" in text


def test_a_block_of_too_many_threads():
    with pytest.raises(UnsupportedError, match="a block has too many threads") as caught:
        built(matmul(512, 512, 512, tile=(128, 64, 64), threads=1152))
    assert "at most 1024 on cuda" in str(caught.value)
    assert "T.Kernel(T.ceildiv(n, columns)" in str(caught.value), "the user's line"


def test_as_many_threads_as_roles_leave():
    """A block has at most 1024 threads, and the producer warp is one of its warps."""
    kernel = multiplied((448, 64, 64), tile=(448, 64, 32), threads=896, tb=True)
    assert has_roles(kernel)
    assert kernel.artifact.entries[0].threads[0] <= 1024
    kernel = multiplied((512, 64, 64), tile=(512, 64, 32), threads=1024, tb=True)
    assert refusals(kernel) == {"1024 threads and a producer warp are more than 1024 threads"}
    assert set(chosen(kernel, "gemm")) == {"wgmma"}
