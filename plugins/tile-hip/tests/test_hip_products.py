"""T.gemm by MFMA and WMMA on the simulated device, and what the compiler makes of it."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from assembly import assembly, kernels
from tile_hip import compilers
from tile_hip.lowering.matrix_instructions import CDNA, INSTRUCTIONS

import tilecore
import tilecore.language as T

SUMS = {"int8": "int32", "uint8": "int32", "float64": "float64"}
CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")


def product(sizes, tiles, types, transposed=(False, True), threads=128, stages=2, sums=None):
    (M, N, K), (BM, BN, BK), (a_type, b_type) = sizes, tiles, types
    by_m, by_n = transposed
    total = sums or SUMS.get(a_type, "float32")

    @T.prim_func
    def kernel(
        A: T.Tensor((K, M) if by_m else (M, K), a_type),
        B: T.Tensor((N, K) if by_n else (K, N), b_type),
        C: T.Tensor((M, N), total),
    ):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=threads) as (bx, by):
            a = T.alloc_shared((BK, BM) if by_m else (BM, BK), a_type)
            b = T.alloc_shared((BN, BK) if by_n else (BK, BN), b_type)
            c = T.alloc_fragment((BM, BN), total)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
                T.copy(A[k * BK, by * BM] if by_m else A[by * BM, k * BK], a)
                T.copy(B[bx * BN, k * BK] if by_n else B[k * BK, bx * BN], b)
                T.gemm(a, b, c, transpose_A=by_m, transpose_B=by_n)
            T.copy(c, C[by * BM, bx * BN])

    return kernel


def values(shape, dtype, seed):
    numbers = np.random.default_rng(seed).integers(0 if dtype[0] == "u" else -4, 5, shape)
    return numbers.astype(getattr(ml_dtypes, dtype, dtype))


def check(kernel, sizes, types, transposed, total):
    """Small integers: every sum is exact."""
    m, n, k = sizes
    a = values((k, m) if transposed[0] else (m, k), types[0], 1)
    b = values((n, k) if transposed[1] else (k, n), types[1], 2)
    c = np.zeros((m, n), total)
    kernel(a, b, c)
    left, right = a.astype(np.float64), b.astype(np.float64)
    np.testing.assert_array_equal(c, (left.T if transposed[0] else left) @ (right.T if transposed[1] else right))


def simulated(func, arch):
    return tilecore.compile(func, target=f"hip -arch={arch}", execution_backend="sim")


def matrix_calls(kernel) -> set[str]:
    return set(re.findall(r"tc_mma_\w+(?:<[^>]*>)?", kernel.get_kernel_source()))


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize(("sizes", "tiles"), [((100, 72, 40), (64, 48, 32)), ((33, 17, 19), (32, 16, 16))])
def test_transposed_and_ragged(arch, transposed, sizes, tiles):
    kernel = simulated(product(sizes, tiles, ("float16", "float16"), transposed), arch)
    check(kernel, sizes, ("float16", "float16"), transposed, "float32")
    assert matrix_calls(kernel)


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "float32", "float64"])
def test_other_types_by_rows_of_k(dtype):
    sizes, tiles = (64, 64, 48), (32, 64, 16)
    for transposed in ((False, False), (True, True)):
        kernel = simulated(product(sizes, tiles, (dtype, dtype), transposed), "gfx942")
        check(kernel, sizes, (dtype, dtype), transposed, SUMS.get(dtype, "float32"))
        assert matrix_calls(kernel)


def chained(arch, rows=32, columns=32, dim=32, threads=64):
    """Two products of which the second one reads the result of the first as its operand A."""

    @T.prim_func
    def kernel(
        Q: T.Tensor((rows, dim), "float16"),
        K: T.Tensor((columns, dim), "float16"),
        V: T.Tensor((columns, dim), "float16"),
        Out: T.Tensor((rows, dim), "float32"),
    ):
        with T.Kernel(1, threads=threads):
            q, k = T.alloc_shared((rows, dim), "float16"), T.alloc_shared((columns, dim), "float16")
            v = T.alloc_shared((columns, dim), "float16")
            scores = T.alloc_fragment((rows, columns), "float32")
            weights = T.alloc_fragment((rows, columns), "float16")
            out = T.alloc_fragment((rows, dim), "float32")
            T.copy(Q, q)
            T.copy(K, k)
            T.copy(V, v)
            T.gemm(q, k, scores, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullRow)
            T.copy(scores, weights)
            T.gemm(weights, v, out, clear_accum=True, policy=T.GemmWarpPolicy.FullRow)
            T.copy(out, Out)

    return simulated(kernel, arch)


@pytest.mark.parametrize(
    ("arch", "in_registers"), [("gfx90a", 1), ("gfx942", 1), ("gfx950", 1), ("gfx1201", 1), ("gfx1100", 0)]
)
@pytest.mark.parametrize(("rows", "columns"), [(32, 32), (64, 64)])
def test_chained_products_stay_in_registers(arch, in_registers, rows, columns):
    kernel = chained(arch, rows, columns)
    q, k, v = (values((count, 32), "float16", seed) / 4 for seed, count in enumerate((rows, columns, columns)))
    q, k, v = (x.astype(np.float16) for x in (q, k, v))
    out = np.zeros((rows, 32), np.float32)
    kernel(q, k, v, out)
    weights = (q.astype(np.float64) @ k.astype(np.float64).T).astype(np.float16).astype(np.float64)
    np.testing.assert_allclose(out, weights @ v.astype(np.float64), rtol=1e-5)
    in_shared_memory = re.search(r"\* (scores|weights)\w* = .*shared", kernel.get_kernel_source())
    assert (in_shared_memory is None) == bool(in_registers)


def test_why_no_instruction_is_used():
    for target, types, reason in (
        ("hip -arch=gfx1100 -wave=64", ("float16", "float16"), "waves of 32 lanes"),
        ("hip -arch=gfx1100", ("float32", "float32"), "no instruction of gfx1100 for float32, float32 into float32"),
        ("hip -arch=gfx942", ("float8_e4m3fn",) * 2, "it has those of float8_e4m3fnuz and float8_e5m2fnuz"),
        ("hip -arch=gfx90a", ("float8_e5m2", "float8_e5m2"), "it has those of float16 and bfloat16"),
        ("hip -arch=gfx90a", ("uint8", "uint8"), "no instruction of gfx90a for uint8, uint8 into int32"),
    ):
        func = product((32, 32, 32), (32, 32, 32), types)
        kernel = tilecore.compile(func, target=target, execution_backend="sim")
        assert not matrix_calls(kernel)
        assert reason in str(kernel.explain())
    func = product((32, 32, 32), (32, 32, 32), ("float16", "float16"), threads=96)
    kernel = tilecore.compile(func, target="hip -arch=gfx942", execution_backend="sim")
    assert "96 threads are not a multiple of the 64 that execute an instruction together" in str(kernel.explain())


# -- compiled ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", CHIPS)
def test_every_function_is_its_instructions(arch, tmp_path):
    """Each function of the header becomes matrix instructions, without memory of a thread."""
    if not any(arch in compiler.architectures() for compiler in compilers.installed()):
        pytest.skip(f"there is no compiler for {arch}: {compilers.FIX}")
    instructions = list({i.name: i for i in INSTRUCTIONS if arch in i.architectures}.values())
    bodies = []
    for number, i in enumerate(instructions):
        results, words = i.size**2 // i.wave, i.operand_a.registers
        c = {"float32": "float", "int32": "int", "float64": "double"}[i.c]
        bodies.append(
            f'extern "C" __global__ void __launch_bounds__({i.wave}) k{number}({c}* d, const long* x) {{\n'
            f"  {c} c[{results}];\n  long a[{words}], b[{words}];\n"
            f"  for (int e = 0; e < {results}; ++e) c[e] = d[threadIdx.x * {results} + e];\n"
            f"  for (int e = 0; e < {words}; ++e) a[e] = x[threadIdx.x + e], b[e] = x[threadIdx.x - e];\n"
            f"  tc_mma_{i.name}(c, a, b);\n"
            f"  for (int e = 0; e < {results}; ++e) d[threadIdx.x * {results} + e] = c[e];\n}}\n"
        )
    by_kernel = kernels(assembly('#include "tilecore_hip.h"\n' + "".join(bodies), arch, tmp_path))
    kind = "v_mfma_" if arch in CDNA else "v_wmma_"
    for number, i in enumerate(instructions):
        lines = by_kernel[f"k{number}"]
        assert not any("scratch" in line for line in lines)
        names = [line.split()[0] for line in lines if re.match("v_(mfma|wmma)_", line)]
        assert names
        assert all(name.startswith(kind) for name in names)
        depths = {int(re.search(r"\d+x\d+x(\d+)", name)[1]) for name in names}
        assert [depth * len(names) for depth in depths] == [i.depth], (i.name, names)
