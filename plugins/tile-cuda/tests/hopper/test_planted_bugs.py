"""One line of the source emitted for sm_90a is removed or changed: the simulated device reports what is missing."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from tile_cuda.simulated import simulated_adapter

import tilecore.language as T
from tilecore.runtime.launcher import Launcher
from tilecore.simulate.errors import SimulationError

from .kernels import matmul
from .kit import built, small, wide

HALF = "float16"
ONE = "cuda -arch=sm_90a -multiprocessors=1"  # one block takes all tiles


def product():
    a, b = small(HALF, (256, 160), 0, 1), small(HALF, (160, 128), 1, 1)
    expected = wide(a) @ wide(b)
    return matmul(256, 128, 160, tile=(128, 64, 32), threads=256, out=HALF, stages=3), [a, b], expected


def large():
    """Accumulators that need more registers than an equal share."""
    a, b = small(HALF, (256, 64), 0, 1), small(HALF, (64, 192), 1, 1)
    return matmul(256, 192, 64, tile=(256, 192, 32), threads=256, out=HALF), [a, b], wide(a) @ wide(b)


def chained():
    """Threads write a tile that the second product reads."""

    @T.prim_func
    def chained_kernel(
        A: T.Tensor((1024, 96), HALF), B: T.Tensor((96, 64), HALF), W: T.Tensor((64, 128), HALF),
        C: T.Tensor((1024, 128), HALF),
    ):  # fmt: skip
        with T.Kernel(8, threads=256) as by:
            a, b, w = T.alloc_shared((128, 32), HALF), T.alloc_shared((32, 64), HALF), T.alloc_shared((64, 128), HALF)
            cast_tile = T.alloc_shared((128, 64), HALF)
            c, d = T.alloc_fragment((128, 64), "float32"), T.alloc_fragment((128, 128), "float32")
            T.copy(W, w)
            T.clear(d)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[by * 128, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, c, clear_accum=True)
                T.copy(c, cast_tile)
                T.gemm(cast_tile, w, d, policy=T.GemmWarpPolicy.FullCol)
            T.copy(d, C[by * 128, 0])

    a, b, w = small(HALF, (1024, 96), 0, 1), small(HALF, (96, 64), 1, 1), small(HALF, (64, 128), 2, 1)
    return chained_kernel, [a, b, w], wide(a) @ wide(b) @ wide(w)


KERNELS = {"product": product, "large": large, "chained": chained}


@pytest.fixture(scope="module")
def adapter():
    return simulated_adapter()


@pytest.fixture(scope="module")
def kernels():
    return {}


def run(name, kernels, adapter, change=lambda source: source):
    func, args, expected = KERNELS[name]()
    if name not in kernels:
        kernels[name] = built(func, target=ONE)
    artifact = kernels[name].artifact
    planted = dataclasses.replace(artifact, source=change(artifact.source))
    out = np.zeros(expected.shape, np.float16)
    Launcher(planted, adapter.load(planted), adapter, 1)(*args, out)
    return out, expected


def plant(pattern, replacement, which):
    def change(source):
        matches = list(re.finditer(pattern, source))
        assert matches, f"{pattern} is not in\n{source}"
        for match in reversed(matches if which is None else [matches[which]]):
            source = source[: match.start()] + match.expand(replacement) + source[match.end() :]
        return source

    return change


# kernel, pattern, replacement, which of the matches; kinds of errors that may come first
LANDING = {"missing_wait", "race", "uninitialised"}
FULL, EMPTY = r"tc_transaction_wait\(\w+_full.*?;", r"tc_transaction_wait\(\w+_empty.*?;"
ARRIVE = r"tc_transaction_arrive\(\w+_empty"
MEETING = r"tc_named_barrier\(1, 256\);"
BUGS = {
    "tiles that nobody waits for": ("product", FULL, ";", None, LANDING),
    "a first tile that nobody waits for": ("product", FULL, ";", 0, LANDING),
    "a phase that is the other one": (
        "product", r"(tc_transaction_wait\(\w+_full.*), (.*)\);", r"\1, 1 - (\2));", None, LANDING,
    ),
    "a slot that is filled while it is used": ("product", EMPTY, ";", None, {"invalid_operation", *LANDING}),
    "a slot that is never released": ("product", ARRIVE + ".*?;", ";", 0, {"deadlock"}),
    "a last slot that is never released": ("product", ARRIVE + ".*?;", ";", 1, {"deadlock"}),
    "a release of the wrong slot": ("product", f"({ARRIVE}) \\+ .*?;", r"\1);", 0, {"deadlock", *LANDING}),
    "a slot that too few warps release": (
        "product", r"tc_transaction_init\((\w+_empty.*), 8\)", r"tc_transaction_init(\1, 7)", None,
        {"invalid_operation", *LANDING},
    ),
    "a slot that too many warps release": (
        "product", r"tc_transaction_init\((\w+_empty.*), 8\)", r"tc_transaction_init(\1, 9)", None, {"deadlock"},
    ),
    "more bytes than are copied": ("product", r"(_full.*), 12288\)", r"\1, 12304)", None, {"deadlock"}),
    "fewer bytes than are copied": (
        "product", r"(_full.*), 12288\)", r"\1, 12272)", None, {"deadlock", "invalid_operation"},
    ),
    "barriers that copies do not see": (
        "product", r"tc_transaction_fence_init\(\);", "", None, {"missing_proxy_fence"},
    ),
    "barriers that are used too early": (
        "product", r"tc_barrier\(\);", "", None, {"uninitialised_barrier", "missing_proxy_fence", "race"},
    ),
    "a release before the product is done": ("product", r"tc_warpgroup_wait<1>\(\);", "", None, LANDING),
    "a wait that is one group off": (
        "product", r"tc_warpgroup_wait<1>\(\);", "tc_warpgroup_wait<2>();", None, LANDING,
    ),
    "sums that are taken too early": ("product", r"tc_warpgroup_wait<0>\(\);", "", None, LANDING),
    "products that are not committed": ("product", r"tc_warpgroup_commit\(\);", "", None, LANDING),
    "registers without a fence": ("product", r"tc_warpgroup_begin\(\);", "", 0, {"missing_fence"}),
    "an operand with another swizzle": (
        "product", r"(a_tile\w* = tc_operand\(.*), 2\);", r"\1, 1);", None, {"swizzle_mismatch"},
    ),
    "results that the store does not see": ("product", r"tc_fence_async\(\);", "", 0, {"missing_proxy_fence"}),
    "results of other lanes that are not there": ("product", r"tc_warp_barrier\(\);", "", 1, {"race", *LANDING}),
    "memory of a store that others write early": ("product", r"tc_warp_barrier\(\);", "", 0, {"race", *LANDING}),
    "memory that a store still reads": ("product", r"tc_wait_stores_read<\d>\(\);", "", None, LANDING),
    "stores that nobody waits for": ("product", r"tc_wait_stores<0>\(\);", "", None, LANDING),
    "stores that are not committed": ("product", r"tc_commit_stores\(\);", "", None, LANDING),
    "registers that nobody gives away": ("large", r"tc_registers_release<24>\(\);", "", None, {"deadlock"}),
    "more registers than there are": (
        "large", r"tc_registers_acquire<240>\(\);", "tc_registers_acquire<248>();", None, {"deadlock"},
    ),
    "a tile of threads that products do not see": (
        "chained", r"tc_fence_async\(\);", "", 1, {"missing_proxy_fence"},
    ),
    "a tile of threads that is not whole": ("chained", MEETING, "", 1, {"race", "missing_proxy_fence"}),
    "a tile of threads that others still multiply": ("chained", MEETING, "", 2, LANDING),
    "a tile of threads that products still read": ("chained", r"tc_warpgroup_wait<0>\(\);", "", 1, LANDING),
    "a barrier that waits for the filling warp": ("chained", MEETING, "tc_barrier();", 0, {"divergent_barrier"}),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_emitted_is_right(name, kernels, adapter):
    out, expected = run(name, kernels, adapter)
    np.testing.assert_array_equal(wide(out), expected)


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_named(bug, kernels, adapter):
    name, pattern, replacement, which, kinds = BUGS[bug]
    with pytest.raises(SimulationError) as caught:
        run(name, kernels, adapter, plant(pattern, replacement, which))
    assert caught.value.kind in kinds, str(caught.value)
    own = f"{KERNELS[name]()[0].__name__.removesuffix('_kernel')}_kernel"
    assert caught.value.kernel.startswith(f"{own}_")  # and its sizes
