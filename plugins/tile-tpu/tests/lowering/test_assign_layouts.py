"""assign_layouts: the layout of each tile, by its shape and the tiles that it is used with, and the memory that it
needs.

A lane of the default chip processes 64 bytes at a time, so rows take a multiple of 16 float32.
"""

from __future__ import annotations

import pytest
from by_hand import environment
from one_pass import around_pass, changes
from tile_tpu.lowering.passes.assign_layouts import ASSIGN_LAYOUTS
from tile_tpu.lowering.state import TileLayouts

import tilecore.language as T
from tilecore.errors import UnsupportedError
from tilecore.ir.build import const, seq
from tilecore.ir.nodes import AllocBuffer, PrimFunc, Var, tirx
from tilecore.testing.kernel_text import lines, text

PASS = "assign_layouts"


def kernel_of(use, rows=64, columns=16, size=64, dtype="float32"):
    """``use(X, t, v, w)`` of a tensor, a tile and two vectors."""

    @T.prim_func
    def kernel(X: T.Tensor((size,), dtype)):
        with T.Kernel(1):
            t = T.alloc_shared((rows, columns), dtype)
            v = T.alloc_shared((size,), dtype)
            w = T.alloc_fragment((size,), dtype)
            use(X, t, v, w)

    return kernel


def layouts(func, target="tpu"):
    """The TileLayout of each tile by its name."""
    _, _, env = around_pass(func, PASS, target)
    return {str(tile.name): layout for tile, (_, layout) in env.state(TileLayouts).by_tile.items()}


def kinds(use, **options):
    layout_of = layouts(kernel_of(use, **options))
    return {name: layout.kind for name, layout in layout_of.items()}


@T.macro
def unused(X, t, v, w):
    pass


# -- what the pass leaves -----------------------------------------------------------------------------------------


def test_each_tile_gets_a_local_buffer():
    """The tile stays for the next passes; address_tiles removes it."""

    @T.prim_func
    def kernel(X: T.Tensor((8, 20), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((8, 20), "float32")
            b = T.alloc_fragment((8,), "float32")
            n = T.alloc_var("int32", init=3)
            a[n, 1] = X[n, 1] + b[0]

    _, after, env = around_pass(kernel, PASS)
    assert text(after) == lines(
        """
        a = T.alloc_buffer((32,), scope="tpu.local", layout=None)
        a_1 = T.alloc_buffer((8, 20), scope="shared.dyn", layout=None)
        b = T.alloc_buffer((16,), scope="tpu.local", layout=None)
        b_1 = T.alloc_buffer((8,), scope="local.fragment", layout=None)
        n = T.alloc_buffer((1,), "int32", scope="local.var", layout=None)
        n[0] = 3
        a_1[n[0], 1] = X[n[0], 1] + b_1[0]
        """
    )
    assert all(str(buffer.scope()) == "tpu.local" for buffer, _ in env.state(TileLayouts).by_tile.values())
    assert env.report["layouts"] == [
        {"buffer": "a", "layout": "rows in lanes"},
        {"buffer": "b", "layout": "an element a lane"},
    ]


def test_a_kernel_without_tiles_stays_as_it_is():
    @T.prim_func
    def kernel(X: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            a = T.alloc_local((8,), "float32")
            a[0] = X[1]
            X[0] = a[0]

    before, after, env = around_pass(kernel, PASS)
    assert changes(before, after) == ""
    assert env.state(TileLayouts).by_tile == {}


def test_explain_names_the_layouts():
    def named(use, **options):
        _, _, env = around_pass(kernel_of(use, **options), PASS)
        return [row["layout"] for row in env.report["layouts"]]

    assert named(columns_most) == ["rows in lanes", "a copy in every lane", "an element a lane"]
    assert named(unused, size=200) == ["rows in lanes", "4 elements a lane", "4 elements a lane"]
    assert named(viewed) == ["in lane 0", "in lane 0", "an element a lane"]


# -- sizes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "strides", "elements"),
    [
        ((64, 16), (16, 1), 16),
        ((64, 17), (32, 1), 32),  # a row begins at an aligned place
        ((1, 1), (16, 1), 16),
        ((65, 16), (16, 1), 32),  # a second group of rows
        ((3, 64, 16), (16, 16, 1), 48),
        ((2, 3, 130, 5), (144, 48, 16, 1), 288),
    ],
)
def test_rows_lie_in_lanes(shape, strides, elements):
    @T.prim_func
    def kernel(X: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared(shape, "float32")
            T.clear(a)

    (layout,) = layouts(kernel).values()
    assert (layout.kind, layout.lane_axis) == ("tile", len(shape) - 2)
    assert layout.strides == strides
    assert layout.elements == elements


@pytest.mark.parametrize(
    ("dtype", "aligned", "stored"),
    [
        ("int64", 8, "int64"),
        ("float32", 16, "float32"),
        ("bfloat16", 32, "bfloat16"),
        ("int8", 64, "int8"),
        ("int4", 64, "int4"),  # an element a byte in local memory
        ("bool", 64, "uint8"),
    ],
)
def test_rows_are_aligned_by_the_type_of_elements(dtype, aligned, stored):
    @T.prim_func
    def kernel(X: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((4, 2), dtype)
            T.clear(a)

    _, _, env = around_pass(kernel, PASS)
    ((buffer, layout),) = env.state(TileLayouts).by_tile.values()
    assert (layout.elements, layout.strides) == (aligned, (aligned, 1))
    assert str(buffer.dtype) == stored
    assert [int(size) for size in buffer.shape] == [aligned]


def test_lanes_are_those_of_the_chip():
    of = kernel_of(unused, rows=64)
    assert layouts(of)["t"].elements == 16
    assert layouts(of, "tpu -chip=bm1688")["t"].elements == 2 * layouts(of, "tpu -chip=bm1688")["t"].strides[0]


# -- vectors ------------------------------------------------------------------------------------------------------


@T.macro
def rows_of_tile(X, t, v, w):
    for i, j in T.Parallel(130, 16):
        t[i, j] = v[i]


@T.macro
def columns_of_tile(X, t, v, w):
    for i, j in T.Parallel(130, 16):
        t[i, j] = v[j]


@T.macro
def columns_of_tile_in_an_index_with_an_offset(X, t, v, w):
    for i, j in T.Parallel(8, 8):
        t[i, j + 8] = v[j + 3]


@T.macro
def turned(X, t, v, w):
    for i, j in T.Parallel(16, 130):
        t[j, i] = v[i]


@T.macro
def rows_under_a_condition(X, t, v, w):
    for i, j in T.Parallel(130, 16):
        if v[i] > 0.0:
            t[i, j] = 1.0


@T.macro
def sum_of_columns(X, t, v, w):
    T.reduce_sum(t, v[0:16], dim=0)


@T.macro
def sum_of_rows(X, t, v, w):
    T.reduce_sum(t, v, dim=1)


@T.macro
def copied_from_a_row(X, t, v, w):
    T.copy(t[3, 0:16], v[0:16])


@T.macro
def copied_to_a_column(X, t, v, w):
    T.copy(v, t[0:130, 2:3])


@pytest.mark.parametrize(
    ("use", "kind"),
    [
        (rows_of_tile, "lane"),
        (columns_of_tile, "row"),
        (columns_of_tile_in_an_index_with_an_offset, "row"),
        (turned, "row"),
        (rows_under_a_condition, "lane"),
        (sum_of_columns, "row"),
        (sum_of_rows, "lane"),
        (copied_from_a_row, "row"),
        (copied_to_a_column, "lane"),
    ],
)
def test_a_vector_follows_the_tile_that_it_is_used_with(use, kind):
    """There are more rows than lanes: without the tile the vector would be partitioned over the lanes."""
    assert kinds(use, rows=130, size=130)["v"] == kind


@T.macro
def rows_most(X, t, v, w):
    for i, j in T.Parallel(64, 16):
        t[i, j] = v[i] * v[i] * v[i] + v[j] * v[j]


@T.macro
def columns_most(X, t, v, w):
    for i, j in T.Parallel(64, 16):
        t[i, j] = v[i] * v[i] + v[j] * v[j] * v[j]


@T.macro
def as_many(X, t, v, w):
    for i, j in T.Parallel(64, 16):
        t[i, j] = v[i] + v[j]


@T.macro
def rows_most_in_two_nests(X, t, v, w):
    for i, j in T.Parallel(64, 16):
        t[i, j] = v[j]
    for i, j in T.Parallel(64, 16):
        t[i, j] = v[i] * v[i]


@pytest.mark.parametrize(
    ("use", "kind"), [(rows_most, "lane"), (columns_most, "row"), (as_many, "lane"), (rows_most_in_two_nests, "lane")]
)
def test_most_uses_decide(use, kind):
    assert kinds(use)["v"] == kind


@T.macro
def together(X, t, v, w):
    for i in T.Parallel(64):
        w[i] = v[i]
    for i, j in T.Parallel(64, 16):
        t[i, j] = v[j]


@T.macro
def apart(X, t, v, w):
    for i in T.Parallel(64):
        w[i] = 1.0
    for i, j in T.Parallel(64, 16):
        t[i, j] = v[j]


def test_vectors_that_are_used_together_have_one_kind():
    assert kinds(together) == {"t": "tile", "v": "row", "w": "row"}
    assert kinds(apart) == {"t": "tile", "v": "row", "w": "lane"}


@T.macro
def whole(X, t, v, w):
    for i in T.Parallel(v.shape[0]):
        w[i] = v[i] + X[i]


@T.macro
def part(X, t, v, w):
    for i in T.Parallel(100):
        w[i] = v[i]


@T.macro
def every_second(X, t, v, w):
    for i in T.Parallel(100):
        w[i] = v[i * 2]


@T.macro
def backwards(X, t, v, w):
    for i in T.Parallel(200):
        w[i] = v[199 - i]


@T.macro
def summed(X, t, v, w):
    T.reduce_sum(v, w[0:1], dim=0)


@pytest.mark.parametrize(
    ("use", "size", "kind"),
    [
        (unused, 1, "lane"),
        (unused, 64, "lane"),
        (unused, 65, "partitioned"),
        (whole, 200, "partitioned"),
        (whole, 64, "lane"),
        (part, 200, "lane"),
        (every_second, 200, "lane"),
        (backwards, 200, "lane"),
        (summed, 200, "lane"),
    ],
)
def test_vectors_without_a_tile(use, size, kind):
    """They are partitioned where there are more elements than lanes, and loops cover all elements."""
    assert kinds(use, size=size)["v"] == kind


@pytest.mark.parametrize(
    ("use", "size", "chunk", "elements"),
    [(unused, 1, 0, 16), (unused, 65, 2, 16), (unused, 2000, 32, 32), (part, 200, 0, 64), (columns_most, 80, 0, 80)],
)
def test_memory_of_vectors(use, size, chunk, elements):
    layout = layouts(kernel_of(use, size=size))["v"]
    assert (layout.chunk, layout.elements) == (chunk, elements)


# -- memory that others look at -----------------------------------------------------------------------------------


@T.macro
def viewed(X, t, v, w):
    a = T.view(t, (64, 16), "int32")
    b = T.reshape(v, (8, 8))
    a[0, 0] = 1
    b[0, 0] = 1.0


@T.macro
def pointed_at(X, t, v, w):
    T.evaluate(T.call_extern("handle", "f", T.address_of(t[1, 2])))


def test_buffers_with_views_are_in_one_lane():
    """Also where tiles would need vectors in other lanes. The views have no memory of their own."""
    layout_of = layouts(kernel_of(viewed))
    assert {name: layout.kind for name, layout in layout_of.items()} == {"t": "flat", "v": "flat", "w": "lane"}
    assert (layout_of["t"].strides, layout_of["t"].elements) == ((16, 1), 1024)
    assert (layout_of["v"].strides, layout_of["v"].elements) == ((1,), 64)


def test_buffers_whose_address_is_taken_lie_in_one_lane():
    assert kinds(pointed_at) == {"t": "flat", "v": "lane", "w": "lane"}


# -- refusals -----------------------------------------------------------------------------------------------------


def test_a_size_that_is_not_known_is_refused():
    """The language refuses it at the user's line, but a pass of another package may create such a tile."""
    tile = tirx.decl_buffer([const(4, "int32"), Var("n", "int32")], "float32", "tile", scope="shared", layout=None)
    func = PrimFunc([], seq([AllocBuffer(tile)])).with_attr("global_symbol", "made")
    with pytest.raises(UnsupportedError, match="tile has a size that is not a compile-time constant") as caught:
        ASSIGN_LAYOUTS.run(func, environment())
    assert "n" in str(caught.value.found)
    assert "constant sizes" in str(caught.value.expected)
