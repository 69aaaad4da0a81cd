"""Kernels in CuTe DSL: what is emitted runs on a stand-in of the DSL as the interpreter says, the rest is refused."""

from __future__ import annotations

import ast
import re

import ml_dtypes
import numpy as np
import pytest
from cutedsl_stand_in import run
from tile_cuda import instructions
from tile_cuda.cutedsl.instructions import STATEMENTS, VALUES

import tilecore
import tilecore.language as T
from tilecore.compiler import CompileOptions, emit, lower
from tilecore.errors import TargetError, TilecoreError, UnsupportedError
from tilecore.interpreter import interpret
from tilecore.plugins import manager

TARGET = "cutedsl -arch=sm_90a"


def emitted(func, target=TARGET):
    """The source, and the lowered module."""
    backend, resolved = manager.resolve(target)
    module, _ = lower(func.ir, backend, resolved, CompileOptions())
    return emit(module, backend, resolved, "cutedsl").source


def check(func, *arrays, grid=(1, 1, 1), scalars=(), sizes=(), rtol=0.0, atol=0.0):
    """Runs the source on the stand-in and compares every array with the interpreter. Returns the source."""
    source = emitted(func)
    ast.parse(source)
    ours, expected = [a.copy() for a in arrays], [a.copy() for a in arrays]
    (symbol,) = re.findall(r"^def launch_(\w+)", source, re.MULTILINE)
    run(source, symbol, [*ours, *scalars, *sizes], grid)
    interpret(func.ir, *expected, *scalars)
    for a, b in zip(ours, expected, strict=True):
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=rtol, atol=atol)
    return source


def random(*shape, dtype=np.float32):
    return np.random.default_rng(3).standard_normal(shape).astype(dtype)


def test_elements_of_several_types():
    @T.prim_func
    def kernel(
        X: T.Tensor((70,), "float32"),
        G: T.Tensor((70,), "int8"),
        H: T.Tensor((70,), "float16"),
        B: T.Tensor((70,), "bfloat16"),
        F: T.Tensor((70,), "bool"),
        Y: T.Tensor((70,), "float32"),
        J: T.Tensor((70,), "int8"),
        n: T.int32,
    ):
        with T.Kernel(2, threads=64) as bx:
            for t in T.Parallel(64):
                i = bx * 64 + t
                if i < 70:
                    F[i] = (X[i] > 0.5) & (G[i] != 3)
                    H[i] = H[i] * T.float16(3) + T.cast(B[i], "float16")
                    B[i] = T.max(B[i], T.bfloat16(0))
                    J[i] = G[i] * G[i] - T.cast(X[i] * 40, "int8")
                    Y[i] = T.if_then_else(i + n < 70, X[T.min(i + n, 69)], -X[i]) / 3 + T.exp(X[i])
                    if n > 3:
                        Y[i] = Y[i] * 2

    arrays = [
        random(70), np.arange(70).astype(np.int8), random(70, dtype=np.float16), random(70, dtype=ml_dtypes.bfloat16),
        np.zeros(70, bool), np.zeros(70, np.float32), np.zeros(70, np.int8),
    ]  # fmt: skip
    source = check(kernel, *arrays, grid=(2, 1, 1), scalars=(5,), rtol=1e-6)
    assert "@cute.kernel" in source
    assert "tc.truncate(Int8" in source


def test_softmax_of_rows():
    @T.prim_func
    def kernel(X: T.Tensor((6, 96), "float16"), Y: T.Tensor((6, 96), "float16")):
        with T.Kernel(3, threads=64) as bx:
            tile = T.alloc_fragment((2, 96), "float32")
            top = T.alloc_fragment((2,), "float32")
            total = T.alloc_fragment((2,), "float32")
            T.copy(X[bx * 2, 0], tile)
            T.reduce_max(tile, top, dim=1)
            for i, j in T.Parallel(2, 96):
                tile[i, j] = T.exp2((tile[i, j] - top[i]) * 1.44269504)
            T.reduce_sum(tile, total, dim=1)
            for i, j in T.Parallel(2, 96):
                tile[i, j] /= total[i]
            T.copy(tile, Y[bx * 2, 0])

    source = check(
        kernel, random(6, 96, dtype=np.float16), np.zeros((6, 96), np.float16), grid=(3, 1, 1), rtol=2e-3, atol=1e-6
    )
    assert "tc.shuffle_xor" in source


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_pipelined_products(dtype):
    @T.prim_func
    def kernel(A: T.Tensor((40, 64), dtype), B: T.Tensor((32, 64), dtype), C: T.Tensor((40, 32), "float32")):
        with T.Kernel(T.ceildiv(40, 32), threads=64) as by:
            a = T.alloc_shared((32, 32), dtype)
            b = T.alloc_shared((32, 32), dtype)
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[by * 32, k * 32], a)
                T.copy(B[0, k * 32], b)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[by * 32, 0])

    kind = np.float16 if dtype == "float16" else ml_dtypes.bfloat16
    a, b = random(40, 64, dtype=kind), random(32, 64, dtype=kind)
    source = check(kernel, a, b, np.zeros((40, 32), np.float32), grid=(2, 1, 1), rtol=1e-5, atol=1e-5)
    assert f'tc.mma("m16n8k16_{"f16" if dtype == "float16" else "bf16"}_f32"' in source
    assert "tc.copy_async(16" in source
    assert "tc.ldmatrix(4, False" in source


def test_sizes_of_the_call_loops_and_atomics():
    n = T.dynamic("n")

    @T.prim_func
    def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((4,), "float32"), Z: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            count = T.alloc_local((1,), "int32")
            count[0] = 0
            while count[0] * count[0] < t:
                count[0] += 1
            for i in T.serial(T.ceildiv(n, 32)):
                if i * 32 + t < n:
                    Z[i * 32 + t] = count[0] * 100 + (t - 16) // 5 * 10 + (t - 16) % 5
                    T.atomic_add(Y[t % 4], X[i * 32 + t])

    arrays = [np.arange(50).astype(np.float32), np.zeros(4, np.float32), np.zeros(50, np.int32)]
    source = check(kernel, *arrays, sizes=(50,))
    assert "while " in source
    assert "tc.atomic_add(" in source
    assert "tc.floor_div(" in source


def test_a_fused_sum_has_one_rounding_and_a_product_its_own():
    @T.prim_func
    def kernel(X: T.Tensor((32,), "float32"), Y: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                Y[i] = X[i] * X[i] + X[i] / 3

    source = check(kernel, random(32), np.zeros(32, np.float32), rtol=1e-7)
    assert ("tc.fma(" in source) != ("tc.product(" in source)  # by the rule of the language, not by a compiler


def test_what_cannot_be_expressed_is_refused_at_the_users_line():
    @T.prim_func
    def compares(X: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            T.atomic_max(X[0], X[t])

    @T.prim_func
    def prints(X: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            T.print(X[0])

    @T.prim_func
    def eight_bits(X: T.Tensor((32,), "float8_e4m3fn")):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            X[t] = X[0]

    n = T.dynamic("n")

    @T.prim_func
    def sized(X: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((n,), "float32")
            T.copy(X, tile)
            T.copy(tile, X)

    with pytest.raises(UnsupportedError, match="whose size only the call gives"):
        emitted(sized)
    with pytest.raises(UnsupportedError, match=r"T\.atomic_max changes an element of float32") as error:
        emitted(compares)
    assert error.value.location.file.endswith("test_cutedsl_emitter.py")
    with pytest.raises(TilecoreError, match="print"):
        emitted(prints)
    with pytest.raises(TilecoreError, match="float8_e4m3fn"):
        emitted(eight_bits)


def test_jumps_out_of_loops():
    @T.prim_func
    def kernel(X: T.Tensor((32,), "int32"), Y: T.Tensor((32,), "int32"), Z: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            total, steps = T.alloc_var("int32", init=0), T.alloc_var("int32", init=0)
            for i in T.serial(X[t]):
                for k in T.serial(t, t + 6):
                    if k % 5 == 1:
                        continue
                    if k - t == 4:
                        break
                    elif k > 30:
                        total += 1
                        break
                    total += 10 * i + k
                total += 1000
                if total > 5000:
                    break
                steps += 100
            while True:
                steps += 1
                if steps % 3 == 1:
                    continue
                total //= 2
                if total < 7:
                    break
            Y[t] = total
            Z[t] = steps

    source = check(kernel, np.arange(32, dtype=np.int32) % 9, np.zeros(32, np.int32), np.zeros(32, np.int32))
    assert "if is_on[0]:" in source


def test_choices_in_choices_are_traced_once_each():
    def nest(X, t):
        value = X[0]
        for i in range(1, 24):
            value = T.if_then_else(t == i, X[i] * 2, value)
        return value

    @T.prim_func
    def kernel(X: T.Tensor((32,), "int32"), Y: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            Y[t] = nest(X, t)

    source = check(kernel, np.arange(32, dtype=np.int32), np.zeros(32, np.int32))
    assert source.count("tc.choose(") == 23
    assert " if t == " not in source  # the package would trace both sides twice


def test_a_long_loop_is_unrolled_only_for_registers():
    @T.prim_func
    def kernel(X: T.Tensor((32, 24), "float32"), Y: T.Tensor((32, 24), "float32")):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            kept = T.alloc_local((24,), "float32")
            for i in T.unroll(24):
                kept[i] = X[t, i]
            for i in T.unroll(24):
                Y[t, i] = T.exp(X[t, i]) - X[t, i]
            for i in T.unroll(24):
                Y[t, i] += kept[i]

    source = check(kernel, random(32, 24), np.zeros((32, 24), np.float32), rtol=1e-6)
    assert source.count("cutlass.range(24, unroll_full=True)") == 2
    assert "cutlass.range(24)" in source


def test_every_call_of_the_backend_is_emitted_or_refused():
    names = {value for value in vars(instructions).values() if isinstance(value, str)}
    assert {name for name in names if name.startswith("cuda.")} <= {*STATEMENTS, *VALUES}


def test_two_execution_backends_give_the_same_bits():
    """The simulated device runs the same kernel as CUDA C++, the stand-in as CuTe DSL."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 32), "float16"), X: T.Tensor((32,), "float32"), C: T.Tensor((32, 32), "float16")):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.clear(c)
            T.gemm(a, a, c)
            for i, j in T.Parallel(32, 32):
                c[i, j] = c[i, j] / X[j] - X[i] * 3
            T.copy(c, C)

    a, x, c = random(32, 32, dtype=np.float16), random(32) + 4, np.zeros((32, 32), np.float16)
    simulated = c.copy()
    tilecore.compile(kernel, target=TARGET, execution_backend="sim")(a, x, simulated)
    run(emitted(kernel), "kernel_kernel", [a, x, c], (1, 1, 1))
    assert np.array_equal(simulated, c)
    assert c.any()


def test_the_target_takes_no_instructions_that_the_language_lacks():
    backend, resolved = manager.resolve(TARGET)
    features = backend.target.capabilities(resolved).features
    assert "wgmma" not in features
    assert "bulk_copy" not in features
    assert "ldmatrix" in features
    assert "wgmma" in backend.target.capabilities(manager.resolve("cuda -arch=sm_90a")[1]).features


def test_another_execution_backend_does_not_run_the_target():
    with pytest.raises(TargetError, match="the target asks for CuTe DSL"):
        tilecore.compile(_copy(), target=TARGET, execution_backend="nvrtc")


def _copy():
    @T.prim_func
    def kernel(X: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                X[i] = X[i] + 1

    return kernel
