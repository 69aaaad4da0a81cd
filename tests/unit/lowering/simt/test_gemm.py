"""Products by multiply-adds: how threads share C, and results for sizes, transposes, types and threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.ir.nodes import AllocBuffer, BufferStore, For, ForKind, IfThenElse, TensorLoad
from tilecore.ir.visit import collect
from tilecore.lowering.simt.tile_ops.gemm import PAIRS, Grid, layout_of

from . import kit
from .kit import lowered, same_results


def product(m, n, k, ta=False, tb=False, threads=64, kinds=("float32",) * 3, in_fragment=True):
    a_type, b_type, c_type = kinds

    @T.prim_func
    def kernel(
        A: T.Tensor((k, m) if ta else (m, k), a_type),
        B: T.Tensor((n, k) if tb else (k, n), b_type),
        C: T.Tensor((m, n), c_type),
    ):
        with T.Kernel(1, threads=threads):
            a = T.alloc_shared((k, m) if ta else (m, k), a_type)
            b = T.alloc_shared((n, k) if tb else (k, n), b_type)
            c = (T.alloc_fragment if in_fragment else T.alloc_shared)((m, n), c_type)
            T.copy(A, a)
            T.copy(B, b)
            T.copy(C, c)
            T.gemm(a, b, c, transpose_A=ta, transpose_B=tb)
            T.copy(c, C)

    return kernel


def arrays(m, n, k, ta, tb, kinds):
    rng = np.random.default_rng(m + n + k)
    shapes = ((k, m) if ta else (m, k), (n, k) if tb else (k, n), (m, n))
    return [rng.integers(-3, 4, shape).astype(kind) for shape, kind in zip(shapes, kinds, strict=True)]


TYPES = [("float32",) * 3, ("float64",) * 3, ("float16", "float16", "float16"), ("int8", "int8", "int32")]


@pytest.mark.parametrize("kinds", TYPES, ids="-".join)
@pytest.mark.parametrize(("ta", "tb"), [(False, False), (False, True), (True, False), (True, True)])
def test_transposes_and_types(ta, tb, kinds):
    for size in ((32, 48, 16), (19, 21, 13)):
        same_results(product(*size, ta, tb, kinds=kinds), *arrays(*size, ta, tb, kinds))


@pytest.mark.parametrize("threads", [1, 24, 32, 100, 256])
@pytest.mark.parametrize("in_fragment", [True, False])
def test_threads(threads, in_fragment):
    """More threads than elements, too: they compute the same, and one of them writes."""
    for size in ((16, 16, 8), (3, 5, 4), (40, 8, 7)):
        same_results(product(*size, threads=threads, in_fragment=in_fragment), *arrays(*size, False, False, TYPES[0]))


def test_a_thread_has_a_tile_and_loads_little():
    """128 x 128 by 256 threads: 8 x 8 each, of which a step of four along K loads 8 rows and 8 columns."""
    after, _ = lowered(product(128, 128, 16, threads=256), "flatten_buffers")
    sizes = {str(a.buffer.name): int(a.buffer.shape[0]) for a in collect(after.body, AllocBuffer)}
    names = [name for name in sizes if name in ("a", "b", "c")]
    assert sorted(names) == ["a", "b", "c"]
    local = {str(s.buffer.name): int(s.buffer.shape[0]) for s in collect(after.body, BufferStore)
             if str(s.buffer.scope()) == "local"}  # fmt: skip
    assert local == {"a": 8 * 4, "b": 8 * 4, "c": 64}


def test_a_row_past_the_end_is_one_branch():
    """40 rows for 6 groups of 32 threads: a branch has all products of a row in a step, two columns by four along K.

    Compilers take minutes for a branch around each product.
    """
    after, _ = lowered(product(40, 64, 16, tb=True, threads=192), "bind_threads")
    around_products = [b for b in collect(after.body, IfThenElse) if has_products(b)]
    assert [[int(loop.extent) for loop in collect(b, For)] for b in around_products] == [[2, 4]]


def has_products(branch):
    names = [{str(n.source.name) for n in collect(s.value, TensorLoad)} for s in collect(branch, BufferStore)]
    return {"a", "b", "c"} in names


def test_the_layout_of_a_tile():
    """Neighbouring lanes hold neighbouring vectors of a row: 4 x 8 of them in 32 threads."""
    layout = layout_of(Grid(16, 16, 1, 4, 8, 2), 128, 128, 256)
    assert layout.registers == 64
    assert layout.is_exact
    assert not layout.is_replicated
    assert [layout.thread([0, 4 * j]) for j in range(8)] == list(range(8))
    assert [layout.thread([i, 0]) for i in range(4)] == [0, 8, 16, 24]
    assert [layout.register([0, j]) for j in range(4)] == [0, 1, 2, 3]


@settings(deadline=None, max_examples=60)
@given(
    rows=st.sampled_from([4, 8, 16, 32]),
    columns=st.sampled_from([8, 16, 32]),
    down=st.sampled_from([1, 2, 4]),
    across=st.sampled_from([1, 2, 4]),
    more=st.tuples(st.integers(1, 3), st.integers(1, 3)),
)
def test_pairs_of_lanes_share_their_rows_or_columns(rows, columns, down, across, more):
    """Lanes n and n ^ 2 have the same rows, lanes n and n ^ 1 the same columns; each element has one place."""
    m, n, threads = rows * down * more[0], columns * across * more[1], rows * columns
    layout = layout_of(Grid(rows, columns, down, across, *more), m, n, threads, interleaved=True)
    assert (layout.is_exact, layout.is_replicated, layout.registers) == (True, False, m * n // threads)
    places = {(layout.thread([i, j]), layout.register([i, j])) for i in range(m) for j in range(n)}
    assert len(places) == m * n
    first = [layout.indices(thread, 0) for thread in range(threads)]
    assert all(first[t][0] == first[t ^ 2][0] and first[t][1] == first[t ^ 1][1] for t in range(threads))


@pytest.mark.parametrize("ta", [False, True])
def test_a_warp_that_is_one_row_of_threads_is_not_interleaved(ta, monkeypatch):
    """3 x 17 elements for 32 threads: no second row to be a lane's neighbour."""
    grid = Grid(1, 32, 1, 1, 3, 1)
    assert layout_of(grid, 3, 17, 32, interleaved=True) == layout_of(grid, 3, 17, 32)
    features = kit.CAPABILITIES.features | {PAIRS}
    monkeypatch.setattr(kit, "CAPABILITIES", replace(kit.CAPABILITIES, features=features))
    sizes = 3, 17, 1
    same_results(product(*sizes, ta, True, threads=32), *arrays(*sizes, ta, True, TYPES[0]))


def test_grids_without_whole_warps_are_not_interleaved():
    grid = Grid(2, 12, 1, 1, 4, 2)
    assert layout_of(grid, 8, 24, 24, interleaved=True) == layout_of(grid, 8, 24, 24)


@pytest.mark.parametrize(("ta", "tb"), [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("size", [(64, 64, 16), (61, 35, 13), (4, 8, 3), (132, 68, 20)])
def test_interleaved_lanes_compute_the_same(ta, tb, size, monkeypatch):
    features = kit.CAPABILITIES.features | {PAIRS}
    monkeypatch.setattr(kit, "CAPABILITIES", replace(kit.CAPABILITIES, features=features))
    same_results(product(*size, ta, tb, threads=128), *arrays(*size, ta, tb, TYPES[0]))


@pytest.mark.parametrize(
    ("features", "loops"),
    [({PAIRS}, [(2, ForKind.SERIAL), (4, ForKind.UNROLLED)]), (set(), [(8, ForKind.SERIAL)])],
    ids=["pairs", "others"],
)
def test_as_many_steps_are_unrolled_as_the_code_has_room_for(features, loops, monkeypatch):
    """128 x 256 by 256 threads: 8 x 16 sums of a thread, 512 products in a step of four along K, 2048 in a body. Other
    compilers than those of targets with pairs run out of registers: there all steps are unrolled, or none."""
    capabilities = replace(kit.CAPABILITIES, features=kit.CAPABILITIES.features | features)
    monkeypatch.setattr(kit, "CAPABILITIES", capabilities)
    after, _ = lowered(product(128, 256, 32, threads=256), "bind_threads")
    groups = [node for node in collect(after.body, For) if str(node.loop_var.name) == "k_group"]
    steps = [node for node in collect(after.body, For) if str(node.loop_var.name) == "k"]
    assert [(int(node.extent), node.kind) for node in (*groups, *steps)] == loops
