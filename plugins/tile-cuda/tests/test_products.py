"""T.gemm by matrix instructions on the simulated device, against numpy: every instruction, transposes, odd sizes, where
operands lie, how warps share the work."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tile_cuda import nvcc
from tile_cuda.headers import INCLUDE
from tile_cuda.lowering.shapes import SHAPES, Shape, shape_of

import tilecore
import tilecore.language as T
from tilecore import layout
from tilecore.errors import ToolchainError
from tilecore.lowering.simt.matrix.config import SUM_TYPES

pytestmark = pytest.mark.rotated

TF32 = {tilecore.PassConfigKey.TL_ALLOW_TF32: True}
TRANSPOSES = [(False, False), (False, True), (True, False), (True, True)]
# of every combination of types and architecture the instruction that is taken
TAKEN = list(dict.fromkeys(shape_of(s.a, s.b, s.c, s.depth, s.least) for s in SHAPES))


def element(dtype: str) -> np.dtype:
    return np.dtype(getattr(np, dtype, None) or getattr(ml_dtypes, dtype))


def matmul(m, n, k, kinds, ta=False, tb=False, threads=128, policy=0, clear=False, where=("shared", "shared"), more=0):
    """A kernel with one T.gemm. where: the memory of A and C, "shared" or "fragment". more: elements around A and B."""
    a_type, b_type, c_type = kinds

    @T.prim_func
    def kernel(
        A: T.Tensor((k, m) if ta else (m, k), a_type),
        B: T.Tensor((n, k) if tb else (k, n), b_type),
        C: T.Tensor((m, n), c_type),
        Y: T.Tensor((m, n), c_type),
    ):
        with T.Kernel(1, threads=threads):
            rows, columns = (n, k) if tb else (k, n)
            b = T.alloc_shared((rows + more, columns + more), b_type)
            T.copy(B, b[more : more + rows, more : more + columns])
            c = (T.alloc_fragment if where[1] == "fragment" else T.alloc_shared)((m, n), c_type)
            T.copy(C, c)
            high, wide = (k, m) if ta else (m, k)
            options = {"transpose_A": ta, "transpose_B": tb, "clear_accum": clear, "policy": T.GemmWarpPolicy(policy)}
            if where[0] == "fragment":
                a_fragment = T.alloc_fragment((high, wide), a_type)
                T.copy(A, a_fragment)
                T.gemm(a_fragment, b[more : more + rows, more : more + columns], c, **options)
            else:
                a = T.alloc_shared((2, high + more, wide + more), a_type)
                T.copy(A, a[1, more : more + high, more : more + wide])
                T.gemm(
                    a[1, more : more + high, more : more + wide], b[more : more + rows, more : more + columns], c,
                    **options,
                )  # fmt: skip
            T.copy(c, Y)

    return kernel


def run(func, m, n, k, kinds, ta=False, tb=False, clear=False, arch=90, configs=None):
    """Runs on small integers, so that results are exact in every type. Returns the source."""
    kernel = tilecore.compile(func, target=f"cuda -arch=sm_{arch}", execution_backend="sim", pass_configs=configs)
    rng = np.random.default_rng(m * n + k)
    least = [0 if kind.startswith("uint") else -2 for kind in kinds]
    a = rng.integers(least[0], 3, (k, m) if ta else (m, k)).astype(element(kinds[0]))
    b = rng.integers(least[1], 3, (n, k) if tb else (k, n)).astype(element(kinds[1]))
    c = rng.integers(0, 3, (m, n)).astype(element(kinds[2]))
    y = np.zeros_like(c)
    kernel(a, b, c, y)
    wide_a, wide_b, wide_c = (x.astype(np.float64) for x in (a, b, c))
    expected = (wide_a.T if ta else wide_a) @ (wide_b.T if tb else wide_b) + (0 if clear else wide_c)
    np.testing.assert_array_equal(y.astype(np.float64), expected)
    return kernel.get_kernel_source()


@pytest.mark.parametrize("shape", TAKEN, ids=lambda s: f"{s.name}-sm_{s.least}")
def test_every_instruction(shape: Shape):
    kinds = (shape.a, shape.b, shape.c)
    arch = 72 if shape.is_quartered else shape.least
    m, n, k = 2 * shape.rows, 4 * shape.columns, 3 * shape.depth
    for ta, tb in TRANSPOSES[::3] if shape.depth > 8 else TRANSPOSES[1:3]:
        func = matmul(m, n, k, kinds, ta, tb, threads=64, where=("shared", "fragment"))
        source = run(func, m, n, k, kinds, ta, tb, arch=arch, configs=TF32)
        assert f"tc_mma_{shape.name}(" in source


@pytest.mark.parametrize("kinds", [("float16", "float16", "float32"), ("int8", "int8", "int32")], ids="-".join)
@pytest.mark.parametrize(("ta", "tb"), TRANSPOSES)
@pytest.mark.parametrize("size", [(40, 24, 64), (17, 9, 33), (100, 50, 20), (1, 1, 1), (16, 8, 100)], ids=str)
def test_odd_sizes(size, ta, tb, kinds):
    source = run(matmul(*size, kinds, ta, tb, where=("shared", "fragment")), *size, kinds, ta, tb)
    assert "tc_mma_" in source


PLACES = [("fragment", "fragment"), ("shared", "shared"), ("fragment", "shared")]
HALVES = [("bfloat16", "bfloat16", "float32"), ("float16", "float16", "float16")]


@pytest.mark.parametrize("where", PLACES, ids="-".join)
@pytest.mark.parametrize("kinds", HALVES, ids="-".join)
@pytest.mark.parametrize("size", [(64, 32, 48), (24, 40, 32), (33, 33, 33)], ids=str)
def test_where_operands_lie(size, kinds, where):
    for ta, clear in ((False, False), (True, True)):
        func = matmul(*size, kinds, ta, True, clear=clear, where=where)
        assert "tc_mma_" in run(func, *size, kinds, ta, True, clear)


@pytest.mark.parametrize("more", [1, 4, 8, 16])
@pytest.mark.parametrize(("ta", "tb"), TRANSPOSES)
def test_slices(ta, tb, more):
    kinds = ("float16", "float16", "float32")
    source = run(matmul(32, 48, 32, kinds, ta, tb, more=more), 32, 48, 32, kinds, ta, tb)
    assert ("ldmatrix" in source) == (more % 8 == 0)


OTHERS = [
    ("bfloat16", "bfloat16", "bfloat16"),
    ("bfloat16", "bfloat16", "float16"),
    ("int8", "int8", "float32"),
    ("uint8", "uint8", "uint32"),
]


@pytest.mark.parametrize("kinds", OTHERS, ids="-".join)
@pytest.mark.parametrize("place", ["shared", "fragment"])
def test_types_of_c_that_no_instruction_accumulates_in(kinds, place):
    assert kinds[2] in SUM_TYPES
    func = matmul(32, 24, 64, kinds, tb=True, where=("shared", place))
    assert "tc_mma_" in run(func, 32, 24, 64, kinds, tb=True)


@pytest.mark.parametrize("threads", [32, 64, 96, 128, 256, 1024])
@pytest.mark.parametrize("policy", [0, 1, 2])
def test_warps(threads, policy):
    """Where there are more warps than parts, several warps compute the same, and one of them writes."""
    kinds = ("float16", "float16", "float32")
    for place in ("shared", "fragment"):
        func = matmul(48, 64, 32, kinds, threads=threads, policy=policy, where=("shared", place))
        assert "tc_mma_" in run(func, 48, 64, 32, kinds)


def test_a_part_of_the_accumulator_and_b_from_a_fragment():
    @T.prim_func
    def kernel(A: T.Tensor((32, 32), "float16"), B: T.Tensor((32, 32), "float16"), C: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=64):
            a, b = T.alloc_shared((32, 32), "float16"), T.alloc_fragment((32, 32), "float16")
            c = T.alloc_fragment((64, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c[0:32, :])
            T.gemm(a, b, c[32:64, :], clear_accum=True)
            T.gemm(a, b, c[32:64, :])
            T.copy(c, C)

    built = tilecore.compile(kernel, target="cuda -arch=sm_80", execution_backend="sim")
    assert built.get_kernel_source().count("tc_mma_m16n8k16_f16_f32") >= 3
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (32, 32)).astype(np.float16) for _ in range(2))
    c = np.zeros((64, 32), np.float32)
    built(a, b, c)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(c, np.concatenate([expected, 2 * expected]))


def test_clear_decided_at_run_time():
    @T.prim_func
    def kernel(
        A: T.Tensor((3, 32, 32), "float16"), F: T.Tensor((3,), "int32"), C: T.Tensor((32, 32), "float32"),
        D: T.Tensor((32, 32), "float16"),
    ):  # fmt: skip
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((32, 32), "float16")
            c, d = T.alloc_fragment((32, 32), "float32"), T.alloc_shared((32, 32), "float16")
            for i in T.serial(3):
                T.copy(A[i, :, :], a)
                T.gemm(a, a, c, transpose_B=True, clear_accum=F[i] > 0)
                T.gemm(a, a, d, transpose_A=True, clear_accum=(i == 0))
            T.copy(c, C)
            T.copy(d, D)

    built = tilecore.compile(kernel, target="cuda -arch=sm_90", execution_backend="sim")
    a = np.random.default_rng(0).integers(-2, 3, (3, 32, 32)).astype(np.float16)
    c, d = np.zeros((32, 32), np.float32), np.zeros((32, 32), np.float16)
    built(a, np.array([1, 1, 0], np.int32), c, d)
    wide = a.astype(np.float32)
    np.testing.assert_array_equal(c, wide[1] @ wide[1].T + wide[2] @ wide[2].T)
    np.testing.assert_array_equal(d, sum(x.T @ x for x in wide))


@pytest.mark.parametrize("make", ["make_swizzled_layout", "make_linear_layout"])
def test_layouts_that_users_write(make):
    """These layouts keep pieces of 16 bytes contiguous, so ldmatrix can read them."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 128), "float16"), B: T.Tensor((128, 64), "float16"), C: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=64):
            a, b = T.alloc_shared((32, 64), "float16"), T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((32, 64), "float32")
            T.annotate_layout({a: getattr(layout, make)(a), b: getattr(layout, make)(b)})
            T.clear(c)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    built = tilecore.compile(kernel, target="cuda -arch=sm_90", execution_backend="sim")
    assert built.get_kernel_source().count("ldmatrix_x4(") >= 2
    rng = np.random.default_rng(0)
    a, b = rng.integers(-2, 3, (32, 128)).astype(np.float16), rng.integers(-2, 3, (128, 64)).astype(np.float16)
    c = np.zeros((32, 64), np.float32)
    built(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_float32_is_rounded_only_where_that_is_allowed():
    kinds = ("float32",) * 3
    func = matmul(32, 32, 32, kinds, where=("shared", "fragment"))
    assert "tc_mma_" not in run(func, 32, 32, 32, kinds)
    assert "tc_mma_m16n8k8_tf32_f32" in run(func, 32, 32, 32, kinds, configs=TF32)

    @T.prim_func
    def annotated(A: T.Tensor((32, 32), "float32"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=32):
            a, c = T.alloc_shared((32, 32), "float32"), T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.gemm(a, a, c, clear_accum=True, annotations={"allow_tf32": True})
            T.copy(c, C)

    assert "tf32" in tilecore.compile(annotated, target="cuda -arch=sm_80", execution_backend="sim").get_kernel_source()


def test_why_there_is_no_instruction():
    func = matmul(32, 32, 32, ("float16", "float16", "float32"), threads=48)
    kernel = tilecore.compile(func, target="cuda -arch=sm_90", execution_backend="sim")
    assert "48 threads are not a multiple of the 32 that execute an instruction together" in str(kernel.explain())


@pytest.mark.parametrize("arch", [75, 80, 89, 90])
def test_emitted_source_compiles(arch, tmp_path):
    """One source for each element type of an architecture."""
    try:
        compiler = nvcc.load()
    except ToolchainError as error:
        pytest.skip(str(error))
    if arch not in compiler.architectures():
        pytest.skip(f"nvcc {compiler.version} does not know sm_{arch}")
    options = [f"-gencode=arch=compute_{arch},code=sm_{arch}", "-std=c++17"]
    shapes = {shape_of(s.a, s.b, s.c, s.depth, arch) for s in SHAPES if s.least <= arch} - {None}
    for shape in sorted(shapes, key=lambda s: s.name)[:: 1 if arch == 75 else 4]:
        kinds = (shape.a, shape.b, shape.c)
        func = matmul(40, 32, 3 * shape.depth, kinds, tb=True, where=("shared", "fragment"))
        kernel = tilecore.compile(func, target=f"cuda -arch=sm_{arch}", execution_backend="sim", pass_configs=TF32)
        source = kernel.get_kernel_source()
        assert f"tc_mma_{shape.name}(" in source
        binary, messages = compiler.compile(source, INCLUDE, options, shape.name)
        assert binary is not None, messages
