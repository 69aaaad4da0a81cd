"""Emitted source compiles for sm_90a, with asynchronous wgmma and accumulators that stay in registers."""

from __future__ import annotations

import re

import pytest
from tile_cuda import nvcc, toolchain

import tilecore.language as T
from tilecore.errors import ToolchainError

from .kernels import TF32, matmul
from .kit import CONFIGS, body, built
from .test_overlap_wgmma import attention
from .test_wait_wgmma import chained

pytestmark = pytest.mark.rotated

LARGE = (4096, 4096, 4096)
SYMBOLS = [T.dynamic(name) for name in "mnk"]
E4M3, E5M2, BF16 = "float8_e4m3fn", "float8_e5m2", "bfloat16"
WIDE = {"tile": (128, 256, 64), "threads": 256, "stages": 3}


@pytest.fixture(scope="module")
def compiler():
    try:
        tool = nvcc.load()
    except ToolchainError as error:
        pytest.skip(error.message)
    if 90 not in tool.architectures():
        pytest.skip(f"nvcc {tool.version} does not know sm_90a")
    return tool


def compiled(compiler, kernel) -> str:
    """The messages of ptxas for a kernel."""
    options = ["-gencode=arch=compute_90a,code=sm_90a", "-std=c++17", "-Xptxas", "-v", "-Werror=all-warnings"]
    options += ["-diag-suppress=177,550"]  # names that are defined, and not used
    binary, ptxas_log = compiler.compile(body(kernel), toolchain.INCLUDE, options, "kernel")
    assert binary is not None, ptxas_log[:3000]
    return ptxas_log


def runs_free(ptxas_log: str) -> None:
    assert "C75" not in ptxas_log, "the compiler runs products one after another\n" + ptxas_log
    spilled = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", ptxas_log)
    assert spilled
    assert {number for row in spilled for number in row} == {"0"}, ptxas_log


PRODUCTS = {
    "two warpgroups, 128 x 256": {**WIDE, "out": "float16"},
    "as it is stored, in float32": WIDE,
    "256 x 128": {**WIDE, "tile": (256, 128, 64)},
    "three warpgroups, whose threads begin with few registers": {"tile": (192, 256, 64), "threads": 384, "stages": 3},
    "four warpgroups": {"tile": (256, 128, 64), "threads": 512, "stages": 3},
    "five warpgroups": {"tile": (320, 96, 32), "threads": 640, "stages": 3},
    "registers that move": {"tile": (256, 192, 32), "threads": 256, "out": "float16"},
    "one warpgroup": {"tile": (64, 256, 64), "threads": 128, "out": BF16, "kinds": (BF16, BF16, "float32")},
    "half sums": {**WIDE, "kinds": ("float16",) * 3},
    "A turned": {**WIDE, "ta": True},
    "both turned": {**WIDE, "ta": True, "tb": True},
    "A in registers": {"tile": (128, 128, 64), "threads": 256, "a_in_registers": True},
    "fp8": {**WIDE, "tb": True, "kinds": (E4M3, E5M2, "float32"), "out": BF16, "tile": (128, 256, 128)},
    "whole numbers": {**WIDE, "tb": True, "kinds": ("int8", "uint8", "int32"), "tile": (128, 256, 128)},
    "tf32": {**WIDE, "tb": True, "kinds": ("float32",) * 3, "tile": (128, 256, 32)},
    "narrow": {"tile": (64, 16, 128), "tb": True, "stages": 5},
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(compiler, name):
    runs_free(compiled(compiler, built(matmul(*LARGE, **PRODUCTS[name]), configs=TF32)))


@pytest.mark.parametrize(
    "key",
    [
        CONFIGS.TL_DISABLE_TMA_LOWER,
        CONFIGS.TL_DISABLE_WARP_SPECIALIZED,
        CONFIGS.TL_DISABLE_PERSISTENT_BLOCKS,
        CONFIGS.TL_DISABLE_PRODUCT_OVERLAP,
        CONFIGS.TL_DISABLE_TENSOR_STORE,
    ],
    ids=lambda key: key.name,
)
def test_products_with_a_part_off(compiler, key):
    runs_free(compiled(compiler, built(matmul(*LARGE, **WIDE, out="float16"), key)))


@pytest.mark.xfail(strict=True, reason="K may be 0: ptxas puts the zeros of the sums between the products (C7515)")
def test_symbolic_sizes(compiler):
    runs_free(compiled(compiler, built(matmul(*SYMBOLS, **WIDE))))


def test_sizes_that_are_known_to_be_multiples(compiler):
    m, n, k = SYMBOLS

    @T.prim_func
    def assumed(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, 256), T.ceildiv(m, 128), threads=256) as (bx, by):
            T.assume(k % 8 == 0)
            T.assume(n % 8 == 0)
            a, b = T.alloc_shared((128, 64), "float16"), T.alloc_shared((64, 256), "float16")
            c = T.alloc_fragment((128, 256), "float32")
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, 64), num_stages=3):
                T.copy(A[by * 128, step * 64], a)
                T.copy(B[step * 64, bx * 256], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 128, bx * 256])

    runs_free(compiled(compiler, built(assumed)))


def test_rows_that_no_tensor_map_has(compiler):
    runs_free(compiled(compiler, built(matmul(4095, 4095, 4095, **WIDE))))


PRESSED = pytest.mark.xfail(
    strict=True, reason="two masked steps apart: ptxas has too few registers for what lives across them (C7511)"
)


@pytest.mark.parametrize("mask", ["ragged", pytest.param("causal", marks=PRESSED)])
@pytest.mark.parametrize("dim", [64, 128])
def test_attention(compiler, dim, mask):
    runs_free(compiled(compiler, built(attention(1000, dim, 128, 128, 256, mask=mask))))


@pytest.mark.parametrize("through_memory", [False, True])
def test_chained_products(compiler, through_memory):
    runs_free(compiled(compiler, built(chained(through_memory))))
