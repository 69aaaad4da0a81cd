"""Names that programs for TileLang take from TVM, and the classes of expressions."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tilecore
import tilecore.language as T
from tilecore.ir.nodes import TensorLoad, tirx

PROGRAM = """
def converted(value: tirx.PrimExpr, text: tirx.StringImm) -> tirx.Call:
    return value

print(tirx.PrimExpr is T.PrimExpr, any("NamesInTvm" in repr(finder) for finder in sys.meta_path))
"""


@pytest.mark.parametrize(
    "imports",
    [
        "import tilecore as tilelang; import tilecore.language as T; from tvm import tirx",
        "from tvm import tirx; import tilecore as tilelang; import tilecore.language as T",
        "import tilecore.language as T; T.copy; from tvm import tirx",
        "import tilecore.language as T; from importlib.util import find_spec; find_spec('tvm'); from tvm import tirx",
        "import tilecore.language as T; from tilecore import tvm; tirx = tvm.tirx",
    ],
)
def test_the_names_are_there_whoever_imports_tvm(imports):
    ran = subprocess.run([sys.executable, "-c", f"import sys; {imports}{PROGRAM}"], capture_output=True, text=True)
    assert ran.stdout == "True False\n", ran.stderr


def test_importing_tilecore_does_not_import_tvm():
    code = "import sys, tilecore, tilecore.language; print('tvm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_values_of_a_kernel_are_expressions():
    kinds = {}

    def note(**values):
        for name, value in values.items():
            kinds[name] = (isinstance(value, T.PrimExpr), isinstance(value, T.BufferLoad))

    @T.macro
    def given(x: T.Ref):
        note(ref=x)

    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32"), n: T.int32):
        with T.Kernel(2) as b:
            tile, variable = T.alloc_shared((4,), "float32"), T.alloc_var("int32")
            note(A=A, tile=tile, number=3, element=A[0], variable=variable, n=n, block=b, sum=n + 1, less=n < 3)
            given(variable)
            A[1] = T.BufferLoad(tile, [2])

    assert kernel.ir is not None
    neither, value, load = (False, False), (True, False), (True, True)
    assert kinds == {
        "A": neither, "tile": neither, "number": neither, "element": load, "variable": load, "ref": load, "n": value,
        "block": value, "sum": value, "less": value,
    }  # fmt: skip


def test_a_load_is_built_as_in_tvm():
    buffer = tirx.decl_buffer((4,), "float32")
    load = T.BufferLoad(buffer, [1])
    assert isinstance(load, TensorLoad)
    assert isinstance(load, T.BufferLoad)
    assert isinstance(load, T.PrimExpr)
    assert not isinstance(buffer, T.BufferLoad)
    assert tilecore.tvm.tirx.PrimExpr is T.PrimExpr
