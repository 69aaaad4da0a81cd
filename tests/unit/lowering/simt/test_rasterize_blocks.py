"""T.use_swizzle: the order in which blocks work, against the definition of panels in plain Python."""

import numpy as np
import pytest

import tilecore.language as T
from tilecore.interpreter import interpret
from tilecore.ir.nodes import AttrStmt, IterVar
from tilecore.ir.visit import collect

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
