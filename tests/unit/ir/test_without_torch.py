"""TVM is imported without torch, which a program may import before, meanwhile or after."""

from __future__ import annotations

import pytest
from fresh_processes import output_of

pytest.importorskip("torch")

KERNEL = """
import sys
import numpy as np
import tilecore.language as T
from tilecore.ir import nodes

assert not [finder for finder in sys.meta_path if "without_torch" in type(finder).__module__], sys.meta_path
assert ("torch" in sys.modules) == first

@T.prim_func
def double(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32")):
    with T.Kernel(1):
        for i in T.serial(8):
            B[i] = A[i] * 2

import tilecore
kernel = tilecore.compile(double, target="cpu")
result = np.zeros(8, np.float32)
kernel(np.arange(8, dtype=np.float32), result)
assert result.tolist() == [2.0 * i for i in range(8)]
assert ("torch" in sys.modules) == first

import torch
result = torch.zeros(8)
kernel(torch.arange(8.0), result)
assert result.tolist() == [2.0 * i for i in range(8)]
assert nodes.tvm_ffi.from_dlpack(result).shape == (8,)
print("right")
"""


@pytest.mark.parametrize("first", [False, True])
def test_kernels_take_torchs_tensors_whichever_is_imported_first(first, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(f"first = {first}\n" + ("import torch\n" if first else "") + KERNEL)
    code = f"import runpy; runpy.run_path({str(program)!r})"
    assert output_of(code, default_settings=True, TILECORE_DISABLE_CACHE="1") == "right\n"


def test_another_thread_may_import_it_meanwhile():
    code = """
import sys, threading
from tilecore.ir.without_torch import without_torch

imported = []
with without_torch():
    try:
        import torch
    except ModuleNotFoundError as error:
        assert error.name == "torch"
    else:
        raise AssertionError("it is not hidden")
    thread = threading.Thread(target=lambda: imported.append(__import__("torch")))
    thread.start()
    thread.join()
import torch
assert imported == [torch]
with without_torch():
    import torch  # the program has it
print("right")
"""
    assert output_of(code) == "right\n"
