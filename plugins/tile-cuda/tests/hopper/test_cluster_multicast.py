"""Cluster multicast, where two blocks load a common tile once: results, choices, reasons, and planted bugs."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tile_cuda.simulated import simulated_adapter

import tilecore.language as T
from tilecore.runtime.launcher import Launcher
from tilecore.simulate.errors import SimulationError

from .kernels import matmul, multiplied, operands, product
from .kit import CONFIGS, as_interpreted, body, built, element, rows, small, wide

pytestmark = pytest.mark.rotated

HALF = "float16"
FOUR = "cuda -arch=sm_90a -multiprocessors=4"
TILE = {"tile": (64, 64, 64), "out": HALF}


def reasons(kernel):
    return {row["declined"] for row in rows(kernel, "block_pairs")}


def axis(kernel):
    """The axis of the grid along which blocks form clusters."""
    matches = [re.search(r"pairs along (\w+) side", row["order"]) for row in rows(kernel, "blocks")]
    return matches[0].group(1) if matches and matches[0] else None


def checked(sizes, *, pairs=None, target=FOUR, **options):
    kinds = options.get("kinds", (HALF, HALF, "float32"))
    ta, tb = options.get("ta", False), options.get("tb", False)
    configs = {} if pairs is None else {CONFIGS.TL_BLOCK_PAIRS: pairs}
    kernel = built(matmul(*sizes, **options), target=target, configs=configs)
    a, b = operands(sizes, kinds, ta, tb, most=1)
    c = np.zeros(sizes[:2], element(options.get("out") or kinds[2]))
    kernel(a, b, c)
    np.testing.assert_array_equal(wide(c), product(a, b, ta, tb))
    return kernel


@pytest.mark.parametrize(
    ("sizes", "tile", "why"),
    [
        ((256, 256, 256), (128, 128, 64), None),
        ((256, 128, 256), (128, 128, 64), "aligned"),  # half of the multiprocessors are idle
        ((512, 512, 256), (128, 128, 64), "aligned"),  # more blocks than run at once
        ((256, 256, 256), (128, 64, 64), "aligned"),  # small tiles
        ((256, 512, 256), (128, 256, 64), "aligned"),  # large tiles read less for a product
    ],
)
def test_one_wave_of_tiles_that_the_cache_limits(sizes, tile, why):
    kernel = checked(sizes, tile=tile, out=HALF, threads=256, stages=3)
    assert (axis(kernel) is not None) == (why is None)
    assert all("where multicast gains nothing" in reason for reason in reasons(kernel))
    assert axis(checked(sizes, tile=tile, out=HALF, threads=256, stages=3, pairs=False)) is None


def test_multiply_adds_are_not_limited_by_the_cache():
    single = ("float32", "float32", "float32")
    assert axis(checked((256, 256, 128), tile=(128, 128, 32), kinds=single, threads=256, stages=3)) is None


# -- where they are made ---------------------------------------------------------------------------------------------


def test_rows_inside_of_sectors_use_multicast():
    kernel = checked((256, 136, 200), **TILE)  # rows of 400 and 272 bytes; four tiles by three
    assert axis(kernel) == "by"
    assert "b for both blocks of a cluster" in str(kernel.explain())
    assert "tc_tensor_load_multicast(b" in body(kernel)
    assert "tc_tensor_load(a" in body(kernel)


@pytest.mark.parametrize("sizes", [(256, 136, 208), (256, 144, 200), (256, 128, 256)])
def test_rows_of_whole_sectors_use_no_multicast(sizes):
    kernel = checked(sizes, **TILE)
    assert axis(kernel) is None
    (reason,) = reasons(kernel)
    assert "multiples of 32 bytes" in reason
    assert "multicast" not in body(kernel)
    assert f"blocks form no clusters: {reason}" in str(kernel.explain())


def test_symbolic_sizes_use_no_multicast():
    m = T.dynamic("m")
    kernel = built(matmul(m, 136, 200, **TILE), target=FOUR)
    assert axis(kernel) is None  # three tiles along the other axis


def test_the_axis_that_saves_most():
    wide_rows = checked((256, 264, 200), tile=(128, 64, 64), out=HALF)  # two tiles by five: b is shared
    assert axis(wide_rows) == "by"
    columns = checked((192, 248, 200), **TILE)  # three by four: a is shared
    assert axis(columns) == "bx"
    both = checked((256, 248, 200), tile=(128, 64, 64), out=HALF)  # two by four: a is the larger one
    assert axis(both) == "bx"


def test_an_odd_number_of_blocks():
    kernel = checked((192, 136, 200), **TILE)
    assert reasons(kernel) == {"no axis of the grid is known to have an even number of blocks"}


def test_multicast_that_is_asked_for_and_refused():
    assert axis(checked((256, 128, 256), pairs=True, **TILE)) is not None
    kernel = checked((256, 136, 200), pairs=False, **TILE)
    assert reasons(kernel) == {"TL_BLOCK_PAIRS is False"}


def test_one_multiprocessor():
    kernel = checked((256, 136, 200), target="cuda -arch=sm_90a -multiprocessors=1", tile=(64, 64, 64), stages=6)
    assert axis(kernel) is not None or reasons(kernel) == {"the kernel is compiled for 1 multiprocessor"}


def test_without_persistent_blocks():
    kernel = multiplied((256, 136, 200), CONFIGS.TL_DISABLE_PERSISTENT_BLOCKS, **TILE)
    assert "multicast" not in body(kernel)


# -- results ---------------------------------------------------------------------------------------------------------

FORMS = [
    {},
    {"tb": True},  # b is cut along its rows
    {"tile": (64, 128, 64)},  # b is two blocks of columns, one for each block of the pair, or one box each
    {"tile": (128, 64, 32)},
    {"ta": True, "tile": (128, 64, 64)},
    {"threads": 256, "tile": (128, 64, 64)},
    {"a_in_registers": True},
    {"stages": 4},
    {"out": "float32"},
    {"kinds": ("float8_e4m3fn", "float8_e4m3fn", "float32"), "tb": True, "out": "float32", "tile": (64, 64, 64)},
    {"kinds": ("int8", "int8", "int32"), "tb": True, "out": "int32", "tile": (64, 64, 128)},
]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("sizes", [(256, 128, 192), (200, 112, 208), (500, 16, 80), (16, 464, 16)])
def test_products(sizes, form):
    options = {**TILE, **form}
    kernel = checked(sizes, pairs=True, **options)
    if axis(kernel):
        assert "tc_tensor_load_multicast" in body(kernel)
    else:
        assert reasons(kernel)


@settings(max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(
    sizes=st.tuples(*[st.integers(1, 40).map(lambda n: 8 * n)] * 3),
    form=st.sampled_from(FORMS[:9]), pairs=st.sampled_from([None, True, True]),
)  # fmt: skip
def test_random_products(sizes, form, pairs):
    checked(sizes, pairs=pairs, **{**TILE, **form})


def test_a_tile_outside_of_the_loop_is_shared_too():
    @T.prim_func
    def twice(A: T.Tensor((256, 128), HALF), W: T.Tensor((64, 64), HALF), C: T.Tensor((256, 64), "float32")):
        with T.Kernel(4, threads=128) as by:
            a, w = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(W, w)
            T.clear(c)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[by * 64, k * 64], a)
                T.gemm(a, w, c)
            T.copy(c, C[by * 64, 0])

    kernel = built(twice, target=FOUR, configs={CONFIGS.TL_BLOCK_PAIRS: True})
    assert reasons(kernel) == {"neighbouring blocks load no tile in common"}  # in their loops
    as_interpreted(twice, kernel, small(HALF, (256, 128)), small(HALF, (64, 64), 1), np.zeros((256, 64), np.float32))


def test_neighbours_with_loops_of_different_lengths_share_nothing():
    @T.prim_func
    def triangle(A: T.Tensor((256, 256), HALF), B: T.Tensor((256, 64), HALF), C: T.Tensor((256, 64), "float32")):
        with T.Kernel(1, 4, threads=128) as (bx, by):
            a, b = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(by + 1, num_stages=2):
                T.copy(A[by * 64, k * 64], a)
                T.copy(B[k * 64, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, bx * 64])

    kernel = built(triangle, target=FOUR, configs={CONFIGS.TL_BLOCK_PAIRS: True})
    assert reasons(kernel) == {"neighbouring blocks load no tile in common"}
    as_interpreted(triangle, kernel, small(HALF, (256, 256)), small(HALF, (256, 64), 1), np.zeros((256, 64), "float32"))


def test_a_part_of_the_neighbours_index_is_no_difference_alone():
    """Heads that share keys: blocks 2 n and 2 n + 1 load the same, but the compiler does not look into divisions."""

    @T.prim_func
    def grouped(A: T.Tensor((4, 64, 128), HALF), B: T.Tensor((2, 128, 64), HALF), C: T.Tensor((4, 64, 64), "float32")):
        with T.Kernel(4, threads=128) as h:
            a, b = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[h, 0, k * 64], a)
                T.copy(B[h // 2, k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[h, 0, 0])

    kernel = built(grouped, target=FOUR, configs={CONFIGS.TL_BLOCK_PAIRS: True})
    args = small(HALF, (4, 64, 128)), small(HALF, (2, 128, 64), 1), np.zeros((4, 64, 64), "float32")
    as_interpreted(grouped, kernel, *args)


# -- planted bugs ----------------------------------------------------------------------------------------------------

LANDING = {"missing_wait", "race", "uninitialised", "deadlock", "invalid_operation"}
BUGS = {
    "a slot that only its own block releases": (
        r"if \(tx % 32 < 2\)", "if (tx % 32 == tc_cluster_rank())", {"deadlock"},
    ),
    "a slot that is free when one block has released it": (
        r"tc_transaction_init\((\w+_empty.*), 8\)", r"tc_transaction_init(\1, 4)", LANDING,
    ),
    "a half for this block alone": (
        r"(tc_tensor_load_multicast\(.*?, )3,", r"\g<1>(1u << tc_cluster_rank()),", LANDING,
    ),
    "the same half twice": (r"\(int\)tc_cluster_rank\(\) \* 2048", "0", LANDING),
    "a block that is gone when others arrive": (
        r"tc_warp_barrier\(\);\n  tc_cluster_barrier\(\);\n}", "}", {"ended_block"},
    ),
    "barriers that others use too early": (
        r"(fence_init\(\);\n  }\n)  tc_cluster_barrier\(\);", r"\1  tc_barrier();",
        {"uninitialised_barrier", "missing_proxy_fence", "race", "ended_block"},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def adapter():
    return simulated_adapter()


def run(adapter, change=lambda source: source):
    sizes = (256, 136, 328)
    kernel = built(matmul(*sizes, **TILE), target=FOUR)
    artifact = dataclasses.replace(kernel.artifact, source=change(kernel.artifact.source))
    a, b = operands(sizes, (HALF, HALF, "float32"), most=1)
    c = np.zeros(sizes[:2], np.float16)
    Launcher(artifact, adapter.load(artifact), adapter, 1)(a, b, c)
    return wide(c), product(a, b)


def test_what_is_emitted_is_right(adapter):
    np.testing.assert_array_equal(*run(adapter))


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_named(bug, adapter):
    pattern, replacement, kinds = BUGS[bug]

    def change(source):
        changed_source, count = re.subn(pattern, replacement, source)
        assert count, f"{pattern} is not in\n{source}"
        return changed_source

    with pytest.raises(SimulationError) as caught:
        run(adapter, change)
    assert caught.value.kind in kinds, str(caught.value)
