"""apply_layouts: buffers move to where their layouts say, with every access, and values are kept as they say."""

from __future__ import annotations

import numpy as np

import tilecore.language as T
from tilecore.contract.state import BufferLayouts
from tilecore.ir.build import cast, const, constant
from tilecore.ir.layout import BufferLayout, column_panels, row_panels
from tilecore.ir.nodes import AllocBuffer, BufferStore, TensorLoad
from tilecore.ir.visit import collect
from tilecore.lowering.buffers.apply_layouts import apply_layouts

from ..kit import accesses, agrees, allocated, lowered


@T.prim_func
def table(A: T.Tensor((4, 6), "int32"), B: T.Tensor((4, 6), "int32")):
    with T.Kernel(1):
        t = T.alloc_shared((4, 6), "int32")
        for i, j in T.Parallel(4, 6):
            t[i, j] = A[i, j] + 1
        for i, j in T.Parallel(4, 6):
            B[i, j] = t[3 - i, j]


def with_layout(func, name, layout):
    func_before, env = lowered(func, "apply_layouts", before=True)
    (buffer,) = [a.buffer for a in collect(func_before.body, AllocBuffer) if str(a.buffer.name) == name]
    env.state(BufferLayouts).by_buffer = {buffer: layout}
    return apply_layouts(func_before, env), env


def test_without_layouts_nothing_happens():
    before, env = lowered(table, "apply_layouts", before=True)
    assert apply_layouts(before, env).same_as(before)
    assert "layouts" not in env.report


def test_shapes_and_indices_move_together():
    after, env = with_layout(table, "t", column_panels(4, 6, 2))
    assert allocated(after)["t"] == [3, 4, 2]
    assert env.report["layouts"] == [{"buffer": "t", "layout": "column panels of 2"}]
    accesses_of_t = accesses(after, "t")
    assert len(accesses_of_t) == 2
    assert all(len(access.indices) == 3 for access in accesses_of_t)
    assert not any(len(a.indices) == 3 for name in "AB" for a in accesses(after, name))


def test_where_panels_put_elements():
    for rows, columns, width in ((4, 6, 2), (5, 7, 3), (3, 3, 8)):
        for make, inner in ((column_panels, 1), (row_panels, 0)):
            layout = make(rows, columns, width)
            places = [tuple(layout.place((i, j))) for i in range(rows) for j in range(columns)]
            assert len(set(places)) == rows * columns, "no two elements share a place"
            assert all(0 <= p < s for place in places for p, s in zip(place, layout.shape, strict=True))
            step = [0, 0]
            step[inner] = 1
            near = [b - a for a, b in zip(layout.place((0, 0)), layout.place(step), strict=True)]
            assert near == [0, 0, 1], "along the panel's width elements are neighbours"


def test_values_are_kept_as_the_layout_says():
    doubled = BufferLayout(
        "doubled",
        (24,),
        lambda indices: [indices[0] * 6 + indices[1]],
        encode=lambda value: value * const(2, "int32"),
        decode=lambda value: cast(value // const(2, "int32"), "int32"),
    )
    after, _ = with_layout(table, "t", doubled)
    (store,) = [s for s in collect(after.body, BufferStore) if str(s.buffer.name) == "t"]
    (out,) = [s for s in collect(after.body, BufferStore) if str(s.buffer.name) == "B"]
    assert constant(store.value.b) == 2
    assert constant(out.value.b) == 2
    assert [str(load.source.name) for load in collect(out.value, TensorLoad)] == ["t"]


def test_a_gemms_operand_in_panels_gives_the_same():
    @T.prim_func
    def kernel(A: T.Tensor((8, 12), "float32"), B: T.Tensor((12, 20), "float32"), C: T.Tensor((8, 20), "float32")):
        with T.Kernel(1):
            a, b = T.alloc_shared((8, 12), "float32"), T.alloc_shared((12, 20), "float32")
            c = T.alloc_fragment((8, 20), "float32")
            T.copy(A, a)
            T.copy(B, b)
            for i, j in T.Parallel(12, 20):
                b[i, j] = b[i, j] + 1.0
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    after, env = lowered(kernel, "apply_layouts")
    assert env.report["layouts"] == [{"buffer": "b", "layout": "column panels of 8"}]
    assert allocated(after)["b"] == [3, 12, 8]
    rng = np.random.default_rng(0)
    a, b = rng.random((8, 12), np.float32), rng.random((12, 20), np.float32)
    agrees(kernel, a, b, np.zeros((8, 20), np.float32), rtol=1e-5)
