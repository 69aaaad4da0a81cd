"""Loops of products whose iterations the blocks of a cluster share: results, choices, reasons, planted bugs."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from tile_cuda.simulated import simulated_adapter

import tilecore.language as T
from tilecore.runtime.launcher import Launcher
from tilecore.simulate.errors import SimulationError

from .kernels import matmul, operands, product
from .kit import CONFIGS, as_interpreted, body, built, element, rows, small, wide

HALF = "float16"
IDLE = "cuda -arch=sm_90a -multiprocessors=64"
TILE = {"tile": (64, 64, 32), "out": HALF}


def parts(kernel):
    """The blocks of a cluster."""
    (entry,) = kernel.artifact.entries
    return entry.attributes.get("cluster", [1])[0]


def reasons(kernel):
    return {row["declined"] for row in rows(kernel, "split_k")}


def checked(sizes, *, asked=None, target=IDLE, **options):
    kinds = options.get("kinds", (HALF, HALF, "float32"))
    ta, tb = options.get("ta", False), options.get("tb", False)
    configs = {} if asked is None else {CONFIGS.TL_SPLIT_K: asked}
    kernel = built(matmul(*sizes, **options), target=target, configs=configs)
    a, b = operands(sizes, kinds, ta, tb, most=1)
    c = np.zeros(sizes[:2], element(options.get("out") or kinds[2]))
    kernel(a, b, c)
    np.testing.assert_array_equal(wide(c), product(a, b, ta, tb))
    return kernel


def test_few_blocks_share_their_loops():
    kernel = checked((16, 256, 1024), **TILE)  # 4 blocks of 32 iterations
    assert parts(kernel) == 4
    assert "clusters of 4, which share the iterations" in str(kernel.explain())


FORMS = [
    {},
    {"tb": True},
    {"tile": (64, 128, 64)},
    {"ta": True, "tile": (128, 64, 64)},
    {"threads": 256, "tile": (128, 64, 64)},
    {"stages": 4},
    {"out": "float32"},
    {"kinds": ("float8_e4m3fn", "float8_e4m3fn", "float32"), "tb": True, "out": "float32", "tile": (64, 64, 64)},
    {"kinds": ("bfloat16", "bfloat16", "float32"), "tb": True, "out": "bfloat16"},
    {"kinds": ("int8", "int8", "int32"), "tb": True, "out": "int32", "tile": (64, 64, 128)},
]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize(("sizes", "asked"), [((16, 144, 720), 2), ((80, 96, 416), 3)])
def test_products(sizes, asked, form):
    kernel = checked(sizes, asked=asked, **{**TILE, **form})
    assert parts(kernel) == asked


def with_epilogue(kind="bias", columns=256, depth=512, before=None, inside=None, swizzle=0):
    """relu(A B + bias), and other kernels around the same loop."""

    @T.prim_func
    def epilogue_kernel(
        A: T.Tensor((16, depth), HALF), B: T.Tensor((depth, columns), HALF), bias: T.Tensor((columns,), "float32"),
        C: T.Tensor((16, columns), "float32"), marks: T.Tensor((64,), "float32"),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(columns, 64), threads=128) as bx:
            a, b = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            added = T.alloc_shared((64,), "float32")
            c, sums = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64,), "float32")
            if swizzle:
                T.use_swizzle(swizzle)
            if kind != "sum":
                T.clear(c)
            if kind == "loaded before":
                T.copy(bias[bx * 64], added)
            if before is not None:
                before(c, marks, bx)
            for k in T.Pipelined(T.ceildiv(depth, 64), num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, bx * 64], b)
                T.gemm(a, b, c, clear_accum=k == 0 if kind == "sum" else False)
                if inside is not None:
                    inside(a, b, c, marks, k)
            if kind in ("bias", "sum"):
                T.copy(bias[bx * 64], added)
            for i, j in T.Parallel(64, 64):
                c[i, j] = T.max(c[i, j] + added[j], 0)
            if kind == "sum":
                T.reduce_sum(c, sums, dim=0)
                T.atomic_add(marks[bx], sums[0])
            T.copy(c, C[0, bx * 64])

    return epilogue_kernel


def run_epilogue(func, asked=2, columns=256, depth=512, target=IDLE):
    kernel = built(func, target=target, configs={} if asked is None else {CONFIGS.TL_SPLIT_K: asked})
    a, b = small(HALF, (16, depth), 1, 1), small(HALF, (depth, columns), 2, 1)
    bias = small("float32", (columns,), 3)
    as_interpreted(func, kernel, a, b, bias, np.zeros((16, columns), np.float32), np.zeros(64, np.float32))
    return kernel


@pytest.mark.parametrize("kind", ["bias", "loaded before", "sum"])
@pytest.mark.parametrize("depth", [512, 456])
def test_the_first_block_does_the_rest(kind, depth):
    kernel = run_epilogue(with_epilogue(kind, depth=depth), depth=depth)
    assert parts(kernel) == 2
    assert "if (part == 0) {" in body(kernel)


def test_the_order_of_blocks_does_not_matter():
    kernel = run_epilogue(with_epilogue(swizzle=4), asked=4)
    assert parts(kernel) == 4


def adds_a_mark(c, marks, bx):
    T.atomic_add(marks[bx], 1.0)


def starts_from_one(c, marks, bx):
    T.fill(c, 1.0)


@T.macro
def doubles(a, b, c, marks, k):
    for i, j in T.Parallel(64, 64):
        c[i, j] = c[i, j] * 2.0


def counts(a, b, c, marks, k):
    T.atomic_add(marks[k], 1.0)


REFUSED = [
    ({"before": adds_a_mark}, "there is other work in front of its loop than fills and loads"),
    ({"before": starts_from_one}, "c is not known to be 0 when the loop begins"),
    ({"inside": doubles}, "its loop does other work than to load tiles and to add products of them"),
    ({"inside": counts}, "its loop does other work than to load tiles and to add products of them"),
]


@pytest.mark.parametrize(("form", "reason"), REFUSED, ids=lambda value: str(value)[:30])
def test_what_is_not_shared(form, reason):
    kernel = run_epilogue(with_epilogue("loaded before", **form))
    assert parts(kernel) == 1
    assert reasons(kernel) == {reason}
    assert f"blocks share no loop: {reason}" in str(kernel.explain())


# -- planted bugs ----------------------------------------------------------------------------------------------------

BUGS = {
    "parts that are read before they are written": (
        r"  tc_cluster_barrier\(\);\n", "  tc_cluster_arrive();\n", {"race", "uninitialised", "invalid_operation"},
    ),
    "parts in the memory of tiles that products still read": (
        r"    tc_named_barrier\(1, 128\);\n(    if \(part != 0\))", r"\1", {"race"},
    ),
    "blocks that are gone when the first reads their parts": (
        r"    tc_cluster_arrive\(\);\n|    tc_cluster_wait\(\);\n", "", {"ended_block"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_named(bug):
    pattern, replacement, kinds = BUGS[bug]
    func, adapter = with_epilogue(), simulated_adapter()
    artifact = built(func, target=IDLE, configs={CONFIGS.TL_SPLIT_K: 4}).artifact
    source, changes = re.subn(pattern, replacement, artifact.source)
    assert changes, f"{pattern} is not in\n{artifact.source}"
    planted = dataclasses.replace(artifact, source=source)
    args = [small(HALF, (16, 512)), small(HALF, (512, 256)), *(np.zeros(n, np.float32) for n in (256, (16, 256), 64))]
    with pytest.raises(SimulationError) as caught:
        Launcher(planted, adapter.load(planted), adapter, 1)(*args)
    assert caught.value.kind in kinds, str(caught.value)
