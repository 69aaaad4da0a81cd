"""Kernels as shared libraries: TVM FFI calls them in a process without tilecore, with the checks of a launch."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, CacheError, UnsupportedError
from tilecore.plugins import manager

pytestmark = pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C compiler")


def scaled_sums():
    n, m = T.dynamic("n"), T.dynamic("m")

    @T.prim_func
    def main(
        A: T.Tensor((n, m), "float32"),
        B: T.Tensor((n, m), "bfloat16"),
        C: T.Tensor((n,), "float64"),
        scale: T.float32,
        shift: T.int32,
    ):
        with T.Kernel(T.ceildiv(n, 4)) as bx:
            T.assume(not (m > 90 or shift == 5))
            total = T.alloc_fragment((4,), "float32")
            for i in T.serial(4):
                total[i] = 0
                if bx * 4 + i < n:
                    for j in T.serial(m):
                        total[i] += A[bx * 4 + i, j] * T.cast(B[bx * 4 + i, j], "float32")
                    C[bx * 4 + i] = total[i] * scale + shift

    return main


@T.prim_func
def doubled(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(8):
            B[i] = A[i] * 2


def make():
    return doubled


def copied(X):
    N = T.const("N")
    X: T.Tensor((N,), T.float32)
    Y = T.empty((N,), T.float32)
    with T.Kernel(1):
        for i in T.Parallel(N):
            Y[i] = X[i]
    return Y


CALLS = r"""
import sys
import torch, tvm_ffi

main = tvm_ffi.load_module(sys.argv[1])["main"]
for n, m in ((10, 7), (1, 1), (64, 3)):
    a, b, c = torch.randn(n, m), torch.randn(n, m).bfloat16(), torch.zeros(n, dtype=torch.float64)
    main(a, b, c, 0.5, 3)
    torch.testing.assert_close(c.float(), (a * b.float()).sum(1) * 0.5 + 3)
a, b, c = torch.randn(10, 7), torch.randn(10, 7).bfloat16(), torch.zeros(10, dtype=torch.float64)
for arguments in (
    (a, b, c, 0.5),
    (a, b, 3, 0.5, 3),
    (a, b, c, 0.5, 3.5),
    (a.double(), b, c, 0.5, 3),
    (a[0], b, c, 0.5, 3),
    (a, b[:9], c, 0.5, 3),
    (a.T.contiguous().T, b, c, 0.5, 3),
    (a, b, c, 0.5, 5),
):
    try:
        main(*arguments)
        print("no error")
    except (TypeError, ValueError, RuntimeError) as error:
        print(type(error).__name__, str(error).splitlines()[-1])
print("tilecore" in sys.modules)
"""
ERRORS = """\
ValueError main(): takes 5 arguments, outputs included
TypeError main(): C must be a tensor
TypeError main(): shift must be an integer
TypeError main(): A must have elements of type float32
ValueError main(): A must have 2 axes
ValueError main(): axis 0 of B must have n elements
ValueError main(): axis 0 of A has another stride than declared
RuntimeError main(): Assume: not (m > 90 or shift == 5)
False
"""


def test_a_library_runs_without_tilecore_and_checks_its_arguments(tmp_path):
    kernel = tilecore.compile(scaled_sums(), target="cpu")
    kernel.export_library(tmp_path / "new" / "kernel.so")
    program = tmp_path / "calls.py"
    program.write_text(CALLS)
    ended = subprocess.run(
        [sys.executable, program, tmp_path / "new" / "kernel.so"], capture_output=True, text=True, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == ERRORS
    assert "__tvm_ffi_main" in kernel.get_host_source()
    assert kernel.host_source == kernel.get_host_source()


def test_what_has_no_host_code_says_how_to_export_it(tmp_path):
    if "metal" not in manager.kinds():
        pytest.skip("tile-metal is not installed")
    kernel = tilecore.compile(doubled, target="metal", execution_backend="sim")
    assert kernel.get_host_source() == ""
    with pytest.raises(UnsupportedError, match="no execution backend of target 'metal' gives host code") as error:
        kernel.export_library(tmp_path / "kernel.so")
    assert "tilecore.load_kernel" in error.value.expected
    real = tilecore.compile(doubled, target="metal", execution_backend="torch")
    with pytest.raises(UnsupportedError, match="execution backend 'torch' gives no host code"):
        real.export_library(tmp_path / "kernel.so")


@pytest.mark.parametrize("path", ["", None, 3, "library/"])
def test_what_is_no_path_of_a_file(tmp_path, path):
    kernel = tilecore.compile(doubled, target="cpu")
    with pytest.raises((ArgumentError, CacheError), match=r"the path is (no path|empty)|cannot be written"):
        kernel.export_library(path)


def test_a_function_says_that_its_kernels_are_exported():
    for mode, way in (("lazy", "make(...)"), ("eager", "copied.compile(...)")):
        function = tilecore.jit(make if mode == "lazy" else copied, target="cpu")
        with pytest.raises(
            AttributeError, match="is a function that makes kernels; a kernel has export_library"
        ) as error:
            function.export_library("kernel.so")
        assert f"{way}.export_library" in str(error.value)
        with pytest.raises(AttributeError, match=r"^unknown_name$"):
            _ = function.unknown_name


HOISTED_CALL = r"""
import sys
import torch, tvm_ffi

product = tvm_ffi.load_module(sys.argv[1])["product"]
for _ in range(2):
    a, b, c = torch.randn(128, 96), torch.randn(96, 160), torch.zeros(128, 160)
    product(a, b, c, 2.0)
    torch.testing.assert_close(c, 2 * a @ b, rtol=1e-4, atol=1e-4)
print("right")
"""


def test_workspaces_on_the_host_are_allocated_by_the_library(tmp_path):
    """A product whose tiles are copied once, and a scalar, whose slot lies behind the workspaces."""

    @T.prim_func
    def product(
        A: T.Tensor((128, 96), "float32"),
        B: T.Tensor((96, 160), "float32"),
        C: T.Tensor((128, 160), "float32"),
        s: T.float32,
    ):
        with T.Kernel(5, 4) as (bx, by):
            a, b = T.alloc_shared((32, 96), "float32"), T.alloc_shared((96, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, 0], a)
            T.copy(B[0, bx * 32], b)
            T.gemm(a, b, c, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                C[by * 32 + i, bx * 32 + j] = c[i, j] * s

    kernel = tilecore.compile(product, target="cpu")
    assert kernel.artifact.workspaces
    kernel.export_library(tmp_path / "product.so")
    script = [sys.executable, "-c", HOISTED_CALL, str(tmp_path / "product.so")]
    assert "right" in subprocess.run(script, capture_output=True, text=True, check=True).stdout
