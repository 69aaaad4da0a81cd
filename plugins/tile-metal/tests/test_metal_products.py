"""T.gemm by simdgroup matrices on the simulated device, against numpy in float64."""

from __future__ import annotations

import re
from pathlib import Path

import compiler
import ml_dtypes
import numpy as np
import pytest
from tile_metal import header
from tile_metal.simulated import INCLUDE
from tile_metal.simulated_text import host_source

import tilecore
import tilecore.language as T
from tilecore import codegen
from tilecore.simulate import SimulationError
from tilecore.simulate.arguments import Tensor
from tilecore.simulate.device import SimulatedDevice

HALVES = ("float16", "float16")
FOLDERS = [INCLUDE, Path(codegen.__file__).parent / "include"]
SQUARE = T.GemmWarpPolicy.Square


def product(
    sizes, tiles, types=HALVES, transposed=(False, False), sums="float32", threads=128, policy=SQUARE, stages=2
):
    (M, N, K), (BM, BN, BK), (a_type, b_type), (by_m, by_n) = sizes, tiles, types, transposed

    @T.prim_func
    def kernel(
        A: T.Tensor((K, M) if by_m else (M, K), a_type),
        B: T.Tensor((N, K) if by_n else (K, N), b_type),
        C: T.Tensor((M, N), sums),
    ):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=threads) as (bx, by):
            a = T.alloc_shared((BK, BM) if by_m else (BM, BK), a_type)
            b = T.alloc_shared((BN, BK) if by_n else (BK, BN), b_type)
            c = T.alloc_fragment((BM, BN), sums)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
                T.copy(A[k * BK, by * BM] if by_m else A[by * BM, k * BK], a)
                T.copy(B[bx * BN, k * BK] if by_n else B[k * BK, bx * BN], b)
                T.gemm(a, b, c, transpose_A=by_m, transpose_B=by_n, policy=policy)
            T.copy(c, C[by * BM, bx * BN])

    return kernel


def compiled(func, family="apple7"):
    return tilecore.compile(func, target=f"metal -family={family}", execution_backend="sim")


def products_of(kernel) -> set[str]:
    return set(re.findall(r"tc_multiply_add\w*<[^>]*>", kernel.get_kernel_source()))


def values(shape, dtype, seed):
    """Small numbers, which every type has: all sums are exact."""
    numbers = np.random.default_rng(seed).integers(0 if dtype[0] == "u" else -4, 5, shape)
    return numbers.astype(getattr(ml_dtypes, dtype, dtype))


def check(kernel, sizes, types=HALVES, transposed=(False, False), sums="float32"):
    (m, n, k), (by_m, by_n) = sizes, transposed
    a = values((k, m) if by_m else (m, k), types[0], 1)
    b = values((n, k) if by_n else (k, n), types[1], 2)
    c = np.zeros((m, n), getattr(ml_dtypes, sums, sums))
    kernel(a, b, c)
    left, right = a.astype(np.float64), b.astype(np.float64)
    expected = (left.T if by_m else left) @ (right.T if by_n else right)
    np.testing.assert_array_equal(c, expected.astype(c.dtype))


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
def test_transposed_and_ragged(transposed):
    for sizes, tiles, name in (
        ((100, 72, 40), (64, 48, 32), "half, 2, 2, 2" if transposed[0] else "half, 1, 2, 2"),
        ((33, 17, 19), (24, 8, 8), "half"),
        ((24, 24, 40), (24, 24, 20), "half"),  # K of the tile ends within a product
    ):
        kernel = compiled(product(sizes, tiles, transposed=transposed))
        check(kernel, sizes, transposed=transposed)
        suffix = "_transposed" if transposed[1] else ""
        assert products_of(kernel) == {f"tc_multiply_add{suffix}<{name}>"}


@pytest.mark.parametrize(
    ("types", "sums", "family", "factor"),
    [
        (("float32", "float32"), "float32", "apple7", "float"),
        (("bfloat16", "bfloat16"), "float32", "apple8", "float"),
        (("bfloat16", "bfloat16"), "bfloat16", "apple9", "bfloat"),
        (("float16", "float16"), "float16", "apple7", "half"),
        (("bfloat16", "float16"), "float32", "apple9", "float"),
        (("float8_e4m3fn", "float16"), "float32", "apple10", "half"),
        (("int8", "uint8"), "int32", "apple7", "half"),
    ],
)
def test_types(types, sums, family, factor):
    sizes = (64, 48, 48)
    transposed = (False, factor != "half")
    kernel = compiled(product(sizes, (32, 48, 16), types, transposed, sums), family)
    check(kernel, sizes, types, transposed, sums)
    assert all(name.split("<")[1].startswith(f"{factor}, ") for name in products_of(kernel))
    assert products_of(kernel)


@pytest.mark.parametrize("policy", [T.GemmWarpPolicy.Square, T.GemmWarpPolicy.FullRow, T.GemmWarpPolicy.FullCol])
def test_policies_and_numbers_of_simdgroups(policy):
    tiles_of_policy = (24, 48, 16) if policy == SQUARE else (8, 64, 16)
    for threads, tiles in ((256, (64, 64, 16)), (96, tiles_of_policy)):
        kernel = compiled(product(tiles, tiles, threads=threads, policy=policy))
        check(kernel, tiles)
        assert products_of(kernel)


def test_random_numbers_agree_with_float64():
    rng, sizes = np.random.default_rng(0), (64, 64, 96)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((64, 96), (96, 64)))
    c = np.zeros((64, 64), np.float32)
    compiled(product(sizes, (64, 64, 32)))(a, b, c)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-5)


def test_largest_integers_are_exact():
    """A tile of K = 1024 sums up to 2^24, the last integer that float32 counts to."""
    kernel = compiled(product((8, 8, 2048), (8, 8, 1024), ("int8", "int8"), (False, True), "int32", threads=32))
    a, c = np.full((8, 2048), -128, np.int8), np.zeros((8, 8), np.int32)
    kernel(a, a, c)
    assert (c == 2048 * 128 * 128).all()
    assert products_of(kernel)


def test_why_no_product_is_used():
    for types, sums, tiles, threads, reason in (
        (("int32", "int32"), "int32", (32, 32, 32), 128, "which do not hold int32 and int32 exactly"),
        (("int8", "int8"), "int64", (32, 32, 32), 128, "products of int8 and int8 into int64 need other sums"),
        (("uint8", "uint8"), "int32", (8, 8, 320), 128, "exact for K up to 258 of uint8 and uint8 only"),
        (HALVES, "float32", (32, 32, 32), 48, "48 threads are not a multiple of the 32 that execute an instruction"),
    ):
        kernel = compiled(product(tiles, tiles, types, sums=sums, threads=threads))
        assert not products_of(kernel)
        assert reason in str(kernel.explain())


def test_main_loop_of_a_large_tile():
    """Tiles of the next iteration travel in registers, 16 bytes at a time; lanes load 8 bytes of an operand at once;
    barriers order threadgroup memory alone; the products of a row of tiles run forwards and backwards in turn."""
    source = compiled(product((128, 128, 128), (64, 64, 32))).get_kernel_source()
    loop = source[source.index("for (int k = 0") : source.rindex("for (int s0 = 0; s0 < 4;")]
    assert loop.count("tc_shared_barrier();") == 2
    assert "tc_barrier" not in loop
    assert loop.count("tc_move<16>(") == 4
    assert loop.count("tc_move<8>(") == 3
    assert "i % 2 == 0 ? place : 1 - place" in loop
    assert loop.count("tc_multiply_add<half, 1, 2, 2>(") == 1


# -- planted bugs -----------------------------------------------------------------------------------------------------


def run(source, threads=128, shape=(64, 64), depth=64):
    """Runs a kernel's source with halves of ones; the sum of each element is ``depth``."""
    (name,) = re.findall(r"\]\] void (\w+)\(", source)
    library = SimulatedDevice(warp=32).compile(host_source(source), [name], FOLDERS)
    a, b = np.ones((shape[0], depth), np.float16), np.ones((depth, shape[1]), np.float16)
    c = np.zeros(shape, np.float32)
    arguments = [Tensor.of("A", a, "r"), Tensor.of("B", b, "r"), Tensor.of("C", c)]
    SimulatedDevice(warp=32, shared_limit=32768).run(library, name, (1, 1), (threads,), arguments, 32768, seed=1)
    return c


def test_missing_barriers_are_found():
    source = compiled(product((64, 64, 64), (64, 64, 32))).get_kernel_source()
    assert (run(source) == 64).all()
    first, second = (match.start() for match in re.finditer(r"tc_shared_barrier\(\);", source))
    for at in (first, second):
        with pytest.raises(SimulationError) as error:
            run(source[:at] + source[at + len("tc_shared_barrier();") :])
        assert error.value.kind in ("race", "uninitialised")


def test_half_a_simdgroup_is_found():
    source = compiled(product((64, 64, 64), (64, 64, 32))).get_kernel_source()
    call = re.search(r"tc_multiply_add<[^;]*;", source)
    assert call
    with pytest.raises(SimulationError) as error:
        run(source.replace(call[0], f"if (tx % 32 < 16) {call[0]}"))
    assert error.value.kind == "mismatched_collective"


def test_wrong_lanes_are_found():
    """Operands of a lane that swaps two of its neighbours' rows give wrong sums."""
    source = compiled(product((64, 64, 64), (64, 64, 32), threads=128)).get_kernel_source()
    wrong = source.replace("tx % 8 / 2", "(tx % 8 / 2 ^ 1)", 1)
    assert wrong != source
    name = re.findall(r"\]\] void (\w+)\(", source)[0]
    a = np.arange(64 * 64, dtype=np.float16).reshape(64, 64) / 64
    results = []
    for text in (source, wrong):
        c = np.zeros((64, 64), np.float32)
        arguments = [Tensor.of("A", a, "r"), Tensor.of("B", np.eye(64, dtype=np.float16), "r"), Tensor.of("C", c)]
        device = SimulatedDevice(warp=32)
        device.run(device.compile(host_source(text), [name], FOLDERS), name, (1,), (128,), arguments, 32768)
        results.append(c)
    np.testing.assert_array_equal(results[0], a)
    assert (results[1] != a).any()


# -- as Metal Shading Language ----------------------------------------------------------------------------------------

PROGRAMS = {
    "3.0": HALVES,
    "3.1": ("bfloat16", "bfloat16"),
    "3.2": ("float8_e4m3fn", "int8"),
}


@pytest.mark.parametrize("msl", PROGRAMS)
def test_clang_takes_the_program(msl):
    func = product((64, 64, 64), (32, 32, 32), PROGRAMS[msl], (True, True))
    kernel = tilecore.compile(func, target=f"metal -family=apple9 -msl={msl}", execution_backend="sim")
    assert products_of(kernel)
    program, version = header.whole_program(kernel.get_kernel_source()), int(msl.replace(".", "")) * 10
    assert compiler.errors_as_cpp(program, version) == []
    if "bfloat" not in PROGRAMS[msl][0]:  # of which C++ for OpenCL has no vectors
        assert compiler.errors_as_opencl(program, version) == []
