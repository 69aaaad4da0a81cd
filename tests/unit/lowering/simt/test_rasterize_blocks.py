"""T.use_swizzle: the order in which blocks work, against the definition of panels in plain Python.

And the order on devices of several dies: no block is lost, and neighbours in the order run on one die.
"""

import random

import numpy as np
import pytest

import tilecore.language as T
from tilecore.interpreter import interpret
from tilecore.ir.nodes import AttrStmt, IterVar
from tilecore.ir.visit import collect
from tilecore.lowering.simt.analysis.dies import Dies
from tilecore.lowering.simt.rasterize_blocks import rasterize_blocks

from .kit import lowered

LATER = ("lower_allreduce", "plan_shared", "insert_barriers", "flatten_buffers", "vectorize_accesses")
GRIDS = [(1, 1), (4, 4), (7, 10), (10, 7), (5, 1), (1, 5), (16, 3), (3, 16), (2, 9)]


def panels(wide, high, size, order):
    """The blocks (x, y) in the order in which they work."""
    if order == "column":
        return [(y, x) for x, y in panels(high, wide, size, "row")]
    blocks = []
    for number, first in enumerate(range(0, high, size)):
        columns = range(wide) if number % 2 == 0 else range(wide)[::-1]
        blocks += [(x, y) for x in columns for y in range(first, min(first + size, high))]
    return blocks


def numbering(wide, high, size, order):
    @T.prim_func
    def kernel(C: T.Tensor((1,), "int32"), Y: T.Tensor((high, wide), "int32")):
        with T.Kernel(wide, high, threads=1) as (bx, by):
            T.use_swizzle(size, order)
            Y[by, bx] = T.atomic_add(C[0], 1, return_prev=True)

    return kernel


def order_of(kernel, wide, high):
    """Which block works when: hardware's order is that of the interpreter, x fastest."""
    after, env = lowered(kernel, "rasterize_blocks", LATER)
    c, y = np.zeros(1, np.int32), np.full((high, wide), -1, np.int32)
    interpret(after, c, y)
    places = {int(y[j, i]): (i, j) for j in range(high) for i in range(wide)}
    return [places[number] for number in range(wide * high)], env


@pytest.mark.parametrize("order", ["row", "column"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 10, 100])
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_blocks_run_panel_after_panel(grid, size, order):
    wide, high = grid
    order_of_run, env = order_of(numbering(wide, high, size, order), wide, high)
    plain = [(x, y) for y in range(high) for x in range(wide)]
    expected = plain if size == 1 or 1 in grid else panels(wide, high, size, order)
    assert order_of_run == expected
    assert bool(env.report.get("blocks")) == (size > 1 and 1 not in grid)


def test_sizes_of_the_call():
    m, n = T.dynamic("m n")

    @T.prim_func
    def kernel(C: T.Tensor((1,), "int32"), Y: T.Tensor((m, n), "int32")):
        with T.Kernel(n, m, threads=1) as (bx, by):
            T.use_swizzle(3)
            Y[by, bx] = T.atomic_add(C[0], 1, return_prev=True)

    for wide, high in GRIDS:
        assert order_of(kernel, wide, high)[0] == panels(wide, high, 3, "row")


def test_only_the_kernel_that_asks_and_only_its_first_two_axes():
    @T.prim_func
    def kernel(C: T.Tensor((1,), "int32"), Y: T.Tensor((3, 5, 4), "int32"), Z: T.Tensor((5, 4), "int32")):
        with T.Kernel(4, 5, threads=1) as (bx, by):
            Z[by, bx] = T.atomic_add(C[0], 1, return_prev=True)
        with T.Kernel(4, 5, 3, threads=1) as (bx, by, bz):
            T.use_swizzle(2)
            T.use_swizzle(2, enable=False)
            Y[bz, by, bx] = T.atomic_add(C[0], 1, return_prev=True)

    after, _ = lowered(kernel, "rasterize_blocks", LATER)
    c, y, z = np.zeros(1, np.int32), np.zeros((3, 5, 4), np.int32), np.zeros((5, 4), np.int32)
    interpret(after, c, y, z)
    np.testing.assert_array_equal(z, np.arange(20).reshape(5, 4))
    for layer in range(3):
        for number, (x, j) in enumerate(panels(4, 5, 2, "row")):
            assert y[layer, j, x] == 20 + 20 * layer + number
    names = [str(a.node.var.name) for a in collect(after.body, AttrStmt) if isinstance(a.node, IterVar)]
    assert names.count("block_x") == 1


def test_a_size_that_is_none():
    from tilecore.errors import LanguageError

    with pytest.raises(LanguageError, match="panel_size"):
        numbering(4, 4, 0, "row")


def order_over_dies(kernel, sizes, dies):
    """For each size of a grid (wide, high), the blocks in the order in which hardware starts them."""
    before, env = lowered(kernel, "rasterize_blocks", LATER, before=True)
    after = rasterize_blocks(before, env, dies)
    orders = []
    for wide, high in sizes:
        c, y = np.zeros(1, np.int32), np.full((high, wide), -1, np.int32)
        interpret(after, c, y)
        assert sorted(y.ravel()) == list(range(wide * high)), f"a block of a grid of {wide} x {high} is lost"
        places = {int(y[j, i]): (i, j) for j in range(high) for i in range(wide)}
        orders.append([places[number] for number in range(wide * high)])
    return orders, env


def dealt(blocks, dies):
    """The same by lists: of each segment, the dies get consecutive parts, and start them in turn."""
    order = []
    for first in range(0, len(blocks), dies.count * dies.run):
        segment = blocks[first : first + dies.count * dies.run]
        parts, start = [], 0
        for die in range(dies.count):
            length = len(segment) // dies.count + (die < len(segment) % dies.count)
            parts.append(segment[start : start + length])
            start += length
        order += [part[turn] for turn in range(dies.run) for part in parts if turn < len(part)]
    return order


@pytest.mark.parametrize("dies", [Dies(8, 4, 4), Dies(3, 2, 4), Dies(8, 64, 8)], ids=str)
def test_dies_get_runs_of_neighbours_on_every_grid(dies):
    m, n = T.dynamic("m n")

    @T.prim_func
    def kernel(C: T.Tensor((1,), "int32"), Y: T.Tensor((m, n), "int32")):
        with T.Kernel(n, m, threads=1) as (bx, by):
            T.use_swizzle(3)
            Y[by, bx] = T.atomic_add(C[0], 1, return_prev=True)

    rng = random.Random(dies.run)
    grids = [*GRIDS, (16, 8), *((rng.randint(1, 24), rng.randint(1, 24)) for _ in range(6))]
    orders, env = order_over_dies(kernel, grids, dies)
    assert orders == [dealt(panels(wide, high, 3, "row"), dies) for wide, high in grids]
    assert "dies" in env.report["blocks"][0]["order"]
    for wide, high in ((16, 8), (7, 10)):  # sizes that are known when the kernel is compiled
        (order,), _ = order_over_dies(numbering(wide, high, 3, "row"), [(wide, high)], dies)
        assert order == dealt(panels(wide, high, 3, "row"), dies)


def product(of_both):
    """Blocks that multiply tiles; where ``of_both``, the second tile depends on both indices of the block."""

    @T.prim_func
    def kernel(C: T.Tensor((1,), "int32"), Y: T.Tensor((8, 8), "int32"), A: T.Tensor((256, 256), "float16")):
        with T.Kernel(8, 8, threads=32) as (bx, by):
            a, b = T.alloc_shared((16, 16), "float16"), T.alloc_shared((16, 16), "float16")
            c = T.alloc_fragment((16, 16), "float32")
            T.clear(c)
            T.copy(A[by * 16, 0], a)
            T.copy(A[bx * 16, by * 16 if of_both else 0], b)
            T.gemm(a, b, c)
            if T.get_thread_binding() == 0:
                Y[by, bx] = T.atomic_add(C[0], 1, return_prev=True)

    return kernel


def test_products_have_an_order_without_being_asked_only_on_several_dies():
    for dies, of_both, expected in (
        (None, False, []),
        (Dies(8, 4, 2), False, [{"order": "in panels of 2 rows, runs of 4 blocks on each of 8 dies"}]),
        (Dies(8, 4, 2), True, [{"order": "by rows, runs of 4 blocks on each of 8 dies"}]),
        (Dies(64, 4, 1), True, []),
    ):
        before, env = lowered(product(of_both), "rasterize_blocks", before=True)
        rasterize_blocks(before, env, dies)
        assert env.report.get("blocks", []) == expected


def test_kernels_whose_blocks_may_wait_for_others_keep_their_order():
    @T.prim_func
    def kernel(C: T.Tensor((1,), "int32"), A: T.Tensor((256, 256), "float16")):
        with T.Kernel(8, 8, threads=32) as (bx, by):
            a = T.alloc_shared((16, 16), "float16")
            c = T.alloc_fragment((16, 16), "float32")
            T.clear(c)
            T.copy(A[by * 16, 0], a)
            T.gemm(a, a, c)
            while T.atomic_load(C[0]) < bx:
                T.sync_threads()

    before, env = lowered(kernel, "rasterize_blocks", before=True)
    rasterize_blocks(before, env, Dies(8, 4, 2))
    assert "blocks" not in env.report
