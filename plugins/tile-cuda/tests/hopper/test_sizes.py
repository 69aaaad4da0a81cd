"""Sizes that are not multiples of the tiles, symbolic sizes, rows that no tensor map supports, other tensors."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kernels import matmul, multiplied, operands, product
from .kit import CONFIGS, as_interpreted, built, chosen, count, equal, has_roles, refusals, rows, small, wide

pytestmark = pytest.mark.rotated

HALF = "float16"
STRIDE = "a stride of {} is not known to be a multiple of 16 bytes"
START = "the offset of the rows in {} is not known to be a multiple of 16 bytes"
NO_LOOP = "no T.Pipelined loop loads tiles that a tensor map can load"


@pytest.mark.parametrize(
    "sizes", [(1, 8, 8), (63, 64, 64), (65, 72, 72), (127, 136, 8), (200, 184, 200), (129, 56, 520)]
)
@pytest.mark.parametrize("out", ["float16", "float32"])
def test_ragged_sizes_by_tensor_maps(sizes, out):
    """Their rows are multiples of 16 bytes."""
    kernel = multiplied(sizes, tile=(64, 64, 64), out=out)
    assert has_roles(kernel)
    assert set(chosen(kernel, "copy")) == {"tensor map", "tensor store" if out == HALF else "loops"}


@pytest.mark.parametrize(("ta", "tb"), [(False, True), (True, False), (True, True)])
@pytest.mark.parametrize("sizes", [(72, 88, 104), (200, 40, 24)])
def test_ragged_sizes_in_every_order(sizes, ta, tb):
    assert has_roles(multiplied(sizes, tile=(128, 64, 32), ta=ta, tb=tb, out=HALF))


@pytest.mark.parametrize(
    ("sizes", "bad"), [((64, 64, 63), "A"), ((64, 60, 64), "B"), ((70, 65, 66), "AB"), ((1, 1, 1), "AB")]
)
@pytest.mark.parametrize("stages", [1, 3])
def test_rows_that_are_no_multiple_of_16_bytes(sizes, bad, stages):
    kernel = multiplied(sizes, tile=(64, 64, 32), stages=stages, out=HALF)
    reasons = {STRIDE.format(name) for name in bad}
    assert {f"threads load it: {reason}" for reason in reasons} <= refusals(kernel)
    assert set(chosen(kernel, "gemm")) == {"wgmma"}
    assert has_roles(kernel) == (bad != "AB" and stages > 1)
    if bad == "AB" or stages == 1:
        assert NO_LOOP in refusals(kernel)


def test_a_result_whose_rows_no_tensor_map_has():
    kernel = multiplied((64, 60, 64), tile=(64, 64, 64), out=HALF, tb=True)
    assert has_roles(kernel)
    assert count(kernel, "tc_tensor_store") == 0


SYMBOLIC = [(64, 64, 64), (65, 72, 128), (200, 264, 72), (1, 8, 8), (128, 8, 256)]


@pytest.fixture(scope="module", params=["all", "m", "k"])
def symbolic(request):
    names = "mnk" if request.param == "all" else request.param
    return {name: T.dynamic(name) for name in names}


@pytest.mark.parametrize("sizes", SYMBOLIC)
def test_symbolic_sizes(sizes, symbolic):
    kernel = multiplied(sizes, symbolic=[symbolic.get(n, s) for n, s in zip("mnk", sizes, strict=True)], out=HALF)
    assert {f"threads load it: {STRIDE.format('A')}" in refusals(kernel)} == {"k" in symbolic}
    assert set(chosen(kernel, "gemm")) == {"wgmma"}


def test_sizes_that_are_known_to_be_multiples():
    """One kernel for many sizes, none of which is a compile-time constant."""
    m, n, k = (T.dynamic(name) for name in "mnk")

    @T.prim_func
    def assumed(A: T.Tensor((m, k), HALF), B: T.Tensor((k, n), HALF), C: T.Tensor((m, n), HALF)):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=128) as (bx, by):
            T.assume(k % 8 == 0)
            T.assume(n % 8 == 0)
            a, b = T.alloc_shared((64, 32), HALF), T.alloc_shared((32, 64), HALF)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, 32), num_stages=3):
                T.copy(A[by * 64, step * 32], a)
                T.copy(B[step * 32, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, bx * 64])

    kernel = built(assumed)
    assert has_roles(kernel)
    assert set(chosen(kernel, "copy")) == {"tensor map", "tensor store"}
    for sizes in [*SYMBOLIC, (256, 192, 40), (64, 64, 8)]:
        a, b = operands(sizes, (HALF, HALF, HALF), most=1)
        c = np.ones(sizes[:2], np.float16)
        kernel(a, b, c)
        equal(c, product(a, b))


def test_no_step_at_all():
    """The accumulators are zero then, although the first product would have cleared them."""
    m, _k = T.dynamic("m"), T.dynamic("k")

    @T.prim_func
    def maybe(A: T.Tensor((m, 64), HALF), steps: T.int32, C: T.Tensor((m, 64), "float32")):
        with T.Kernel(T.ceildiv(m, 64), threads=128) as by:
            a = T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for _ in T.Pipelined(steps, num_stages=2):
                T.copy(A[by * 64, 0], a)
                T.gemm(a, a, c, transpose_B=True)
            T.copy(c, C[by * 64, 0])

    kernel = built(maybe)
    assert has_roles(kernel)
    a = small(HALF, (600, 64))
    tiles = wide(a[:576].reshape(9, 64, 64))
    tiles = np.concatenate([tiles, np.pad(wide(a[576:]), ((0, 40), (0, 0)))[None]])
    once = np.concatenate(tiles @ tiles.transpose(0, 2, 1))[:600]
    for steps in (0, 1, 2, 5):
        c = np.ones((600, 64), np.float32)
        kernel(a, steps, c)
        equal(c, steps * once)


@pytest.mark.parametrize("kind", ["all", "heads inside", "one batch"])
def test_batches(kind):
    batch, heads, m, n, k = 2, 3, 200, 72, 96
    a_shape = {"all": (batch, heads, m, k), "heads inside": (batch, m, heads, k), "one batch": (m, k)}[kind]
    c_shape = {"all": (batch, heads, m, n), "heads inside": (batch, m, heads, n), "one batch": (batch, heads, m, n)}[
        kind
    ]

    @T.prim_func
    def batched(A: T.Tensor(a_shape, HALF), B: T.Tensor((batch, k, n), HALF), C: T.Tensor(c_shape, HALF)):
        with T.Kernel(T.ceildiv(m, 128), heads, batch, threads=128) as (by, h, z):
            a, b = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 80), HALF)
            c = T.alloc_fragment((128, 80), "float32")
            row = by * 128
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, 64), num_stages=2):
                at = step * 64
                if kind == "all":
                    T.copy(A[z, h, row : row + 128, at : at + 64], a)
                elif kind == "heads inside":
                    T.copy(A[z, row : row + 128, h, at : at + 64], a)
                else:
                    T.copy(A[row : row + 128, at : at + 64], a)
                T.copy(B[z, at : at + 64, 0:80], b)
                T.gemm(a, b, c)
            if kind == "heads inside":
                T.copy(c, C[z, row : row + 128, h, 0:80])
            else:
                T.copy(c, C[z, h, row : row + 128, 0:80])

    kernel = built(batched)
    assert has_roles(kernel)
    assert set(chosen(kernel, "copy")) == {"tensor map", "tensor store"}
    args = [small(HALF, a_shape, 0, 2), small(HALF, (batch, k, n), 1, 2), np.zeros(c_shape, np.float16)]
    as_interpreted(batched, kernel, *args)


@pytest.mark.parametrize(("row", "is_mapped"), [(136, True), (130, False)])
def test_strided_tensors(row, is_mapped):
    k = 96

    @T.prim_func
    def strided(
        A: T.StridedTensor((100, k), (row, 1), HALF), B: T.Tensor((k, 64), HALF), C: T.Tensor((100, 64), "float32")
    ):
        with T.Kernel(2, threads=128) as by:
            a, b = T.alloc_shared((64, 32), HALF), T.alloc_shared((32, 64), HALF)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for step in T.Pipelined(3, num_stages=2):
                T.copy(A[by * 64, step * 32], a)
                T.copy(B[step * 32, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, 0])

    kernel = built(strided)
    assert (f"threads load it: {STRIDE.format('A')}" in refusals(kernel)) == (not is_mapped)
    a, b = small(HALF, (100, row))[:, :k], small(HALF, (k, 64), 1)
    c = np.zeros((100, 64), np.float32)
    kernel(a, b, c)
    equal(c, wide(a) @ wide(b))


@pytest.mark.parametrize("offsets", [(17, 24, 3, 40, 9, 8), (250, 8, 200, 120, 290, 96), (5, 1, 7, 3, 11, 1)])
def test_tiles_that_begin_anywhere(offsets):
    """And reach past the end of the tensors."""
    am, ak, bk, bn, cm, cn = offsets

    @T.prim_func
    def moved(A: T.Tensor((300, 256), HALF), B: T.Tensor((256, 160), HALF), C: T.Tensor((300, 160), HALF)):
        with T.Kernel(2, threads=128) as by:
            a, b = T.alloc_shared((128, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((128, 64), "float32")
            T.clear(c)
            for step in T.Pipelined(3, num_stages=2):
                T.copy(A[by * 128 + am, step * 64 + ak], a)
                T.copy(B[step * 64 + bk, bn], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 128 + cm, cn])

    kernel = built(moved)
    assert has_roles(kernel) == (ak % 8 == bn % 8 == 0)
    as_interpreted(
        moved, kernel, small(HALF, (300, 256), 0, 2), small(HALF, (256, 160), 1, 2), np.zeros((300, 160), np.float16)
    )


@pytest.mark.parametrize("multiprocessors", [1, 2, 5])
@pytest.mark.parametrize("sizes", [(64, 64, 64), (320, 64, 64), (64, 448, 32), (320, 448, 32), (704, 192, 96)])
def test_blocks_that_take_several_tiles(multiprocessors, sizes):
    """Fewer tiles than run at the same time, which are not persistent, and more; the last panel is not whole."""
    target = f"cuda -arch=sm_90a -multiprocessors={multiprocessors}"
    kernel = built(matmul(*sizes, tile=(64, 64, 32), out=HALF, stages=3), target=target)
    a, b = operands(sizes, (HALF,) * 3, most=1)
    c = np.zeros(sizes[:2], np.float16)
    kernel(a, b, c)
    equal(c, product(a, b))
    (order,) = {row["order"] for row in rows(kernel, "blocks")}
    grid = [str(size) for size in kernel.artifact.entries[0].grid]
    blocks_at_once = 5 * multiprocessors  # by their shared memory
    tiles = sizes[0] * sizes[1] // 64**2
    if tiles <= blocks_at_once:
        assert order == "as the grid says, all at the same time"
        assert grid == [str(sizes[1] // 64), str(sizes[0] // 64), "1"]
        return
    assert order.startswith(f"as {blocks_at_once} persistent blocks")
    assert grid == [str(blocks_at_once), "1", "1"]


@pytest.mark.parametrize("order", ["row", "column"])
@pytest.mark.parametrize("panel", [1, 3, 16])
def test_panels_that_users_ask_for(order, panel):
    @T.prim_func
    def swizzled(A: T.Tensor((320, 64), HALF), B: T.Tensor((64, 448), HALF), C: T.Tensor((320, 448), HALF)):
        with T.Kernel(7, 5, threads=128) as (bx, by):
            T.use_swizzle(panel, order=order)
            a, b = T.alloc_shared((64, 32), HALF), T.alloc_shared((32, 64), HALF)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for step in T.Pipelined(2, num_stages=2):
                T.copy(A[by * 64, step * 32], a)
                T.copy(B[step * 32, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, bx * 64])

    a, b, c = small(HALF, (320, 64), 0, 1), small(HALF, (64, 448), 1, 1), np.zeros((320, 448), np.float16)
    for off in ((), (CONFIGS.TL_DISABLE_PERSISTENT_BLOCKS,)):
        c[:] = 7
        built(swizzled, *off)(a, b, c)
        equal(c, product(a, b))


def product_from(dtype, first):
    """The kernel that multiplies columns of A from ``first(n)`` on; n is a parameter."""
    accum = {HALF: "float32", "int8": "int32"}.get(dtype, dtype)

    @T.prim_func
    def shifted(A: T.Tensor((64, 512), dtype), B: T.Tensor((96, 64), dtype), C: T.Tensor((64, 64), accum), n: T.int32):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, 32), dtype), T.alloc_shared((32, 64), dtype)
            c = T.alloc_fragment((64, 64), accum)
            T.clear(c)
            for step in T.Pipelined(3, num_stages=2):
                T.copy(A[0, step * 32 + first(n)], a)
                T.copy(B[step * 32, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    kernel = built(shifted)
    a, b = small(dtype, (64, 512), 0, 2), small(dtype, (96, 64), 1, 2)
    as_interpreted(shifted, kernel, a, b, np.zeros((64, 64), accum), 3)
    return kernel


@pytest.mark.parametrize(("dtype", "off", "by_map"), [
    (HALF, 0, True), (HALF, 8, True), (HALF, 1, False), (HALF, 4, False), ("int8", 16, True), ("int8", 8, False),
    ("float64", 2, True), ("float64", 1, False),
])  # fmt: skip
def test_rows_that_begin_off_16_bytes(dtype, off, by_map):
    """A TMA copy from there is an illegal instruction."""
    kernel = product_from(dtype, lambda n: off)
    assert (f"threads load it: {START.format('A')}" in refusals(kernel)) != by_map


@pytest.mark.parametrize(("times", "by_map"), [(8, True), (16, True), (4, False), (1, False)])
def test_rows_that_begin_at_a_parameter(times, by_map):
    kernel = product_from(HALF, lambda n: n * times)
    assert (f"threads load it: {START.format('A')}" in refusals(kernel)) != by_map
