"""Products by tile registers: which gemms take them, that LLVM compiles them, and results where there are any."""

import numpy as np
import pytest
import torch
import tvm_ffi

import tilecore
import tilecore.language as T
from tilecore.backends.cpu import amx_permission, host_processor, target
from tilecore.backends.cpu.adapter import NativeAdapter
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
has_tiles = target.TILE_FEATURES.issubset(target.host_features())


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
    assert implementation(product(64, 64, 40, 32, 32, 40))[0] != "AMX tiles", "K is no multiple of 32"
    assert implementation(product(64, 64, 64, 32, 32, 32, ("int8", "int8", "int32")))[0] != "AMX tiles", "of 64"
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
    flags = {"flags": "avx2 amx_tile amx_bf16 amx_int8"}
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
    (100, 100, 70, 50, 25, 64), (48, 16, 128, 16, 16, 64), (130, 200, 200, 65, 100, 128),
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
