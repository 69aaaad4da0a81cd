"""Products by tile registers: which gemms take them, that LLVM compiles them, and results where there are any."""

import numpy as np
import pytest
import torch
import tvm_ffi

import tilecore
import tilecore.language as T
from tilecore.backends.cpu import amx_permission, host_processor, target
from tilecore.backends.cpu.adapter import NativeAdapter
from tilecore.backends.cpu.extensions import TILE_FEATURES
from tilecore.backends.cpu.llvm.tile_registers import configuration
from tilecore.errors import TilecoreError
from tilecore.plugins import manager

WITH_TILES = "cpu -march=sapphirerapids"
KINDS = [
    ("bfloat16", "bfloat16", "float32"), ("int8", "int8", "int32"), ("uint8", "int8", "int32"),
    ("int8", "uint8", "int32"), ("uint8", "uint8", "int32"),
]  # fmt: skip
NAMES = {
    "bfloat16": "tdpbf16ps",
    "int8int8": "tdpbssd",
    "uint8int8": "tdpbusd",
    "int8uint8": "tdpbsud",
    "uint8uint8": "tdpbuud",
}
has_tiles = TILE_FEATURES.issubset(target.host_features())


def product(M, N, K, bm, bn, bk, kinds=KINDS[0], transpose_b=False, clear=True):
    b_shape, b_tile = ((N, K), (bn, bk)) if transpose_b else ((K, N), (bk, bn))

    @T.prim_func
    def kernel(A: T.Tensor((M, K), kinds[0]), B: T.Tensor(b_shape, kinds[1]), C: T.Tensor((M, N), kinds[2])):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm)) as (bx, by):
            a, b = T.alloc_shared((bm, bk), kinds[0]), T.alloc_shared(b_tile, kinds[1])
            c = T.alloc_fragment((bm, bn), kinds[2])
            if clear:
                T.clear(c)
            else:
                T.copy(C[by * bm, bx * bn], c)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=2):
                T.copy(A[by * bm, k * bk], a)
                if transpose_b:
                    T.copy(B[bx * bn, k * bk], b)
                else:
                    T.copy(B[k * bk, bx * bn], b)
                T.gemm(a, b, c, transpose_B=transpose_b)
            T.copy(c, C[by * bm, bx * bn])

    return kernel


def implementation(func, on=WITH_TILES):
    kernel = tilecore.compile(func, target=on)
    return next(row["implementation"] for row in kernel.artifact.report["tile_ops"] if row["op"] == "gemm"), kernel


# -- compiling --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", KINDS, ids=str)
@pytest.mark.parametrize("transpose_b", [False, True])
def test_llvm_compiles_each_instruction(kinds, transpose_b):
    name, kernel = implementation(product(64, 96, 128, 64, 48, 64, kinds, transpose_b))
    assert name == "AMX tiles"
    key = kinds[0] if kinds[0] == "bfloat16" else kinds[0] + kinds[1]
    assert f"llvm.x86.{NAMES[key]}(" in kernel.get_kernel_source()
    assert kernel.artifact.binary, "an object, although this processor may lack the instructions"


def test_what_takes_no_tiles():
    assert implementation(product(64, 64, 30, 32, 32, 30))[0] != "AMX tiles", "K is less than 32"
    assert implementation(product(64, 64, 64, 32, 32, 32, ("int8", "int8", "int32")))[0] != "AMX tiles", "than 64"
    assert implementation(product(64, 64, 64, 32, 32, 32), "cpu -march=cooperlake")[0] != "AMX tiles"
    no_tile = "cpu -march=generic -features=amx-bf16"
    assert implementation(product(64, 64, 64, 32, 32, 32), no_tile)[0] != "AMX tiles", "both features are needed"


def test_a_tensor_multiplied_without_a_copy_takes_no_tiles():
    """Rows beyond its end would be read."""

    @T.prim_func
    def kernel(A: T.Tensor((33, 64), "bfloat16"), B: T.Tensor((64, 32), "bfloat16"), C: T.Tensor((64, 32), "float32")):
        with T.Kernel(1):
            b, c = T.alloc_shared((64, 32), "bfloat16"), T.alloc_fragment((64, 32), "float32")
            T.copy(B, b)
            T.gemm(A[1:33, :], b, c[0:32, :], clear_accum=True)
            T.copy(c, C)

    assert implementation(kernel)[0] != "AMX tiles"


def test_the_configuration_of_the_registers():
    data = configuration([16, 16, 1, 1, 16, 1, 16, 16], [64, 12, 64, 12, 64, 64, 64, 12])
    assert len(data) == 64
    assert data[0] == 1, "palette 1"
    assert list(data[16:32]) == [64, 0, 12, 0, 64, 0, 12, 0, 64, 0, 64, 0, 64, 0, 12, 0], "bytes of a row, 16 bits each"
    assert list(data[48:56]) == [16, 16, 1, 1, 16, 1, 16, 16]
    assert not any(data[2:16]) and not any(data[32:48]) and not any(data[56:])  # noqa: PT018


# -- processors without them ------------------------------------------------------------------------------------------


@pytest.mark.skipif(has_tiles, reason="this processor has tile registers")
def test_kernels_for_tiles_are_refused_elsewhere():
    kernel = tilecore.compile(product(32, 32, 32, 32, 32, 32), target=WITH_TILES)
    arrays = np.zeros((32, 32), T.dtype("bfloat16").as_numpy()), np.zeros((32, 32), T.dtype("bfloat16").as_numpy())
    with pytest.raises(TilecoreError, match="amx-bf16"):
        kernel(*arrays, np.zeros((32, 32), np.float32))


@pytest.mark.skipif(has_tiles, reason="this processor has tile registers")
def test_exported_kernels_are_refused_elsewhere(tmp_path):
    kernel = tilecore.compile(product(32, 32, 32, 32, 32, 32), target=WITH_TILES)
    kernel.export(tmp_path / "kernel.tck")
    with pytest.raises(TilecoreError, match="amx-bf16"):
        tilecore.load_kernel(tmp_path / "kernel.tck")(*(np.zeros((32, 32), np.float32) for _ in range(3)))
    kernel.export_library(tmp_path / "kernel.so")
    a, b, c = (torch.zeros(32, 32, dtype=kind) for kind in (torch.bfloat16, torch.bfloat16, torch.float32))
    with pytest.raises(RuntimeError, match="needs tile registers"):
        tvm_ffi.load_module(str(tmp_path / "kernel.so"))["kernel"](a, b, c)


def test_without_the_systems_permission_there_are_no_tiles(monkeypatch):
    flags = {"flags": "avx2 bmi1 bmi2 abm movbe popcnt amx_tile amx_bf16 amx_int8"}
    monkeypatch.setattr(host_processor, "fields", lambda: flags)
    monkeypatch.setattr(target, "may_use_tiles", lambda: False)
    assert target.host_features() == ("avx2",)
    _, resolved = manager.resolve(WITH_TILES)
    only_tiles = type(resolved)(resolved.kind, {**resolved.attributes, "features": "amx-bf16,amx-int8,amx-tile,avx2"})
    presence = NativeAdapter().available(only_tiles)
    assert not presence.present
    assert "does not let this process use amx-bf16, amx-int8, amx-tile" in presence.detail
    monkeypatch.setattr(target, "may_use_tiles", lambda: True)
    assert target.host_features() == ("amx-bf16", "amx-int8", "amx-tile", "avx2")


def test_asking_for_permission_answers_and_does_no_harm():
    assert amx_permission.may_use_tiles() in (True, False)


# -- results ----------------------------------------------------------------------------------------------------------

SIZES = [
    (32, 32, 64, 32, 32, 64), (64, 96, 256, 32, 48, 128), (1, 32, 64, 1, 32, 64), (17, 33, 64, 17, 33, 64),
    (100, 100, 70, 50, 25, 64), (48, 16, 128, 16, 16, 64), (130, 200, 200, 65, 100, 128), (33, 40, 93, 33, 40, 93),
    (70, 300, 1021, 35, 150, 1021), (20, 50, 300, 20, 50, 75),
]  # fmt: skip


@pytest.mark.skipif(not has_tiles, reason="this processor has no tile registers, or the system does not lend them")
@pytest.mark.parametrize("kinds", KINDS, ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("clear", [True, False])
def test_results(kinds, sizes, transpose_b, clear):
    rng = np.random.default_rng(0)
    m, n, k = sizes[:3]

    def values(shape, kind):
        low, high = {"bfloat16": (-4, 5), "int8": (-128, 128), "uint8": (0, 256)}[kind]
        return rng.integers(low, high, shape).astype(T.dtype(kind).as_numpy())

    a, b = values((m, k), kinds[0]), values((n, k) if transpose_b else (k, n), kinds[1])
    c = rng.integers(-9, 9, (m, n)).astype(kinds[2])
    expected = a.astype(kinds[2]) @ (b.T if transpose_b else b).astype(kinds[2]) + (0 if clear else c)
    name, kernel = implementation(product(*sizes, kinds, transpose_b, clear), "cpu")
    kernel(a, b, c)
    assert name == "AMX tiles"
    np.testing.assert_array_equal(c, expected)


# -- sums that are rounded into a tensor, and panels that the product makes -------------------------------------------


def narrow_product(M, N, K, bm, bn, kinds=("bfloat16", "bfloat16"), transpose_b=False):
    """All of K at once, to C of ``kinds[1]``."""
    b_shape, b_tile = ((N, K), (bn, K)) if transpose_b else ((K, N), (K, bn))

    @T.prim_func
    def kernel(A: T.Tensor((M, K), kinds[0]), B: T.Tensor(b_shape, kinds[0]), C: T.Tensor((M, N), kinds[1])):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm)) as (bx, by):
            a, b = T.alloc_shared((bm, K), kinds[0]), T.alloc_shared(b_tile, kinds[0])
            c = T.alloc_fragment((bm, bn), "float32")
            T.copy(A[by * bm, 0], a)
            if transpose_b:
                T.copy(B[bx * bn, 0], b)
            else:
                T.copy(B[0, bx * bn], b)
            T.gemm(a, b, c, transpose_B=transpose_b, clear_accum=True)
            T.copy(c, C[by * bm, bx * bn])

    return kernel


def copies(kernel, what):
    """The names of the tensors whose copies became ``what``, by the compiler's report."""
    return sorted(row["name"] for row in kernel.artifact.report.get("copies", ()) if row["what"] == what)


NARROW_SIZES = [
    (32, 32, 32, 32, 32), (64, 128, 1024, 64, 128), (100, 256, 544, 100, 128), (17, 64, 64, 17, 64),
    (96, 160, 800, 32, 160), (70, 250, 640, 70, 125), (33, 7, 64, 33, 7), (64, 47, 1056, 64, 47), (40, 33, 64, 40, 33),
    (33, 128, 512, 33, 128), (128, 320, 2048, 64, 320), (33, 65, 47, 33, 65), (64, 40, 71, 64, 40),
    (50, 250, 1000, 50, 250),
    (40, 96, 545, 40, 48), (7, 20, 1023, 7, 20),
]  # fmt: skip


@pytest.mark.skipif(not has_tiles, reason="this processor has no tile registers, or the system does not lend them")
@pytest.mark.parametrize("sizes", NARROW_SIZES, ids=str)
@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_rounded_sums(sizes, kind, transpose_b):
    torch.manual_seed(0)
    m, n, k = sizes[:3]
    a = torch.randn(m, k).bfloat16()
    b = torch.randn((n, k) if transpose_b else (k, n)).bfloat16()
    c = torch.zeros(m, n, dtype=getattr(torch, kind))
    name, kernel = implementation(narrow_product(*sizes, ("bfloat16", kind), transpose_b), "cpu")
    kernel(a, b, c)
    assert name == "AMX tiles"
    may_be_one = k == n == sizes[4]  # a call may pass one tensor for A and C
    inside = m % sizes[3] == n % sizes[4] == 0
    assert copies(kernel, "accumulated in place") == (["C"] if inside and not may_be_one else [])
    in_passing = m == sizes[3] and not transpose_b
    assert copies(kernel, "copied in passing") == (["B"] if in_passing else [])
    expected = a.double() @ (b.T if transpose_b else b).double()
    torch.testing.assert_close(c.double(), expected, rtol=8e-3 if kind == "bfloat16" else 1e-3, atol=1e-3 * k**0.5)


@pytest.mark.skipif(not has_tiles, reason="this processor has no tile registers, or the system does not lend them")
def test_sums_are_rounded_to_nearest_even_and_special_values_stay():
    """One product each, so that the sums are exact: ties, infinities, NaN, and numbers too small for float32."""
    values = [1.0, -1.0, 3.0, 2.0**-100, -(2.0**27), float("inf"), float("-inf"), float("nan"), 0.0, 257.0]
    a, b = torch.zeros(32, 32), torch.zeros(32, 32)
    for i in range(32):
        a[i, i] = values[i % len(values)]
    b[:, :] = 1.0 + 2.0**-7 * torch.arange(32).float()[None, :]
    b[:, 30], b[:, 31] = 2.0**-30, 2.0**100
    c = torch.zeros(32, 32, dtype=torch.bfloat16)
    a, b = a.bfloat16(), b.bfloat16()
    tilecore.compile(narrow_product(32, 32, 32, 32, 32), target="cpu")(a, b, c)
    exact = torch.diagonal(a.float())[:, None] * b.float()
    exact = torch.where(exact.abs() < 2.0**-126, torch.zeros(()), exact).bfloat16()  # TDPBF16PS makes zeros of them
    torch.testing.assert_close(c, exact, rtol=0, atol=0, equal_nan=True)


@pytest.mark.skipif(not has_tiles, reason="this processor has no tile registers, or the system does not lend them")
@pytest.mark.parametrize("columns", [64, 32])
def test_one_tensor_for_b_and_c(columns):
    """Each block reads the columns of B that it writes: that call has a defined result. So has one of A and C, where
    one block reads all of A."""
    torch.manual_seed(0)
    a, b = torch.randn(64, 64).bfloat16(), torch.randn(64, 64).bfloat16()
    expected = (a.float() @ b.float()).bfloat16()
    kernel = tilecore.compile(narrow_product(64, 64, 64, 64, columns), target="cpu")
    assert copies(kernel, "copied in passing") == ["B"]
    assert copies(kernel, "accumulated in place") == (["C"] if columns == 32 else [])
    both = b.clone()
    kernel(a, both, both)
    torch.testing.assert_close(both, expected, rtol=8e-3, atol=1e-2)
    if columns == 64:
        both = a.clone()
        kernel(both, b, both)
        torch.testing.assert_close(both, expected, rtol=8e-3, atol=1e-2)


@pytest.mark.parametrize("kinds", [("bfloat16", "bfloat16"), ("bfloat16", "float16")], ids=str)
def test_llvm_compiles_rounded_sums(kinds):
    _, kernel = implementation(narrow_product(64, 128, 1024, 64, 128, kinds))
    source = kernel.get_kernel_source()
    assert ("cvtneps2bf16" in source) == (kinds[1] == "bfloat16")
    assert kernel.artifact.binary
