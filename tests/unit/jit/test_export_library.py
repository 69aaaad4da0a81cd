"""Kernels as shared libraries: TVM FFI calls them in a process without tilecore, with the checks of a launch."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import UnsupportedError

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
    kernel = tilecore.compile(scaled_sums(), target="cuda", execution_backend="sim")
    assert kernel.get_host_source() == ""
    with pytest.raises(UnsupportedError, match="gives no host code") as error:
        kernel.export_library(tmp_path / "kernel.so")
    assert "tilecore.load_kernel" in error.value.expected
