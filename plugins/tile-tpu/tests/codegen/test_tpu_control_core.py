"""Code of the control core: structs of arguments, elements of tiles, whole kernels."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.interpreter import interpret


@pytest.fixture(autouse=True)
def _no_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILECORE_CHECK", "1")
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")


def both(func, *args):
    """Runs the kernel on the simulator and in the interpreter, on copies of the arrays; returns the kernel."""
    kernel = tilecore.compile(func, target="tpu", execution_backend="sim")
    got, expected = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    kernel(*got)
    interpret(func.ir, *expected)
    for mine, other in zip(got, expected, strict=True):
        if isinstance(mine, np.ndarray):
            np.testing.assert_array_equal(mine.astype(np.float64), other.astype(np.float64))
    return kernel


def test_the_struct_of_arguments():
    @T.prim_func
    def scaled(x: T.Tensor((T.dynamic("n"),), "float32"), flag: T.bool, s: T.float16, y: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            for i in T.serial(8):
                if flag:
                    y[i] = x[i] * T.cast(s, "float32")

    x = np.arange(20, dtype=np.float32)
    for flag in (True, False):
        kernel = both(scaled, x, flag, 1.5, np.zeros(8, np.float32))
    source = kernel.get_kernel_source()
    assert "typedef struct {\n  unsigned long long x, y;\n  bool flag;\n  tc_half s;\n  int n;\n} " in source
    (entry,) = kernel.artifact.entries
    assert entry.symbol.startswith("scaled_kernel_")
    assert source.rstrip().endswith(f"TPUKERNEL_FUNC_REGISTER({entry.symbol})")
    assert list(entry.attributes["fields"]) == ["uint64", "uint64", "bool", "float16", "int32"]
    assert entry.attributes["cores"] == 1


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "bool"])
def test_elements_of_tiles(dtype):
    """Indices that only the control core supports, in tiles of rank 1 to 3."""

    @T.prim_func
    def kernel(x: T.Tensor((70, 5), dtype), p: T.Tensor((70,), "int32"), y: T.Tensor((2, 70, 5), dtype)):
        with T.Kernel(1):
            tile, places = T.alloc_shared((70, 5), dtype), T.alloc_shared((70,), "int32")
            pair = T.alloc_fragment((2, 70, 5), dtype)
            T.copy(x, tile)
            T.copy(p, places)
            for i in T.serial(70):
                for j in T.serial(5):
                    pair[i % 2, places[i], j] = tile[i, (i + j) % 5]
                    pair[(i + 1) % 2, places[i], j] = tile[places[i], j]
            T.copy(pair, y)

    rng = np.random.default_rng(0)
    x = (rng.standard_normal((70, 5)) * 20).astype(dtype)
    compiled = both(kernel, x, rng.permutation(70).astype(np.int32), np.zeros((2, 70, 5), dtype))
    assert "ELEMENT(" in compiled.get_kernel_source()


def test_a_copy_in_every_lane_is_written_in_every_lane():
    """A replicated vector that is written element by element, and used with the rows of a tile."""

    @T.prim_func
    def kernel(x: T.Tensor((70, 24), "float32"), y: T.Tensor((70, 24), "float32")):
        with T.Kernel(1):
            tile, scale = T.alloc_shared((70, 24), "float32"), T.alloc_shared((24,), "float32")
            T.copy(x, tile)
            for j in T.serial(24):
                scale[j] = T.cast((j * 7) % 5, "float32")
            for i, j in T.Parallel(70, 24):
                tile[i, j] = tile[i, j] * scale[j]
            T.copy(tile, y)

    x = np.random.default_rng(1).standard_normal((70, 24)).astype(np.float32)
    both(kernel, x, np.zeros_like(x))


def test_names_that_c_or_the_vendor_has():
    @T.prim_func
    def kernel(ALIGN: T.Tensor((8,), "int32"), LANE: T.Tensor((8,), "int32"), args: T.int32):
        with T.Kernel(1):
            for u32 in T.serial(8):
                a_ = T.alloc_var("int32", init=ALIGN[u32])
                LANE[u32] = T.max(a_, args) + T.min(a_, u32)

    both(kernel, np.arange(-4, 4, dtype=np.int32), np.zeros(8, np.int32), 2)


def test_the_error_for_an_unsupported_operation_names_the_line():
    @T.prim_func
    def kernel(y: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            y[0] = T.call_extern("float32", "twice", y[1])

    with pytest.raises(
        tilecore.errors.UnsupportedError, match="call_extern of twice is for targets that compile source"
    ) as caught:
        tilecore.compile(kernel, target="tpu")
    assert "test_tpu_control_core.py" in str(caught.value)
