"""Objects for the tests of the loader, made by the LLVM of apache-tvm and by gcc."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

GCC = shutil.which("gcc")


@lru_cache
def from_llvm(text: str, *symbols: str, triple: str = "") -> bytes:
    """An object with the kernels ``symbols`` of this LLVM IR: ``void symbol(ptr, i64, i64, ptr)`` each."""
    from tilecore.backends.cpu.wrapper import wrap
    from tilecore.ir.nodes import tvm, tvm_ffi

    facts: dict[str, Any] = {"kind": "llvm"}
    if triple:
        facts["mtriple"] = triple
    target = tvm.target.Target(facts)
    module = tvm_ffi.get_global_func("target.build.llvm")(wrap(text, symbols, target), target)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.o"
        module.write_to_file(str(path), "o")
        return path.read_bytes()


@lru_cache
def from_c(text: str, *flags: str) -> bytes:
    """An object that gcc makes of this C code."""
    assert GCC is not None
    with tempfile.TemporaryDirectory() as folder:
        source, object_file = Path(folder) / "kernel.c", Path(folder) / "kernel.o"
        source.write_text(text)
        subprocess.run([GCC, *flags, "-c", str(source), "-o", str(object_file)], check=True, capture_output=True)
        return object_file.read_bytes()


def function(address: int, result: Any, *arguments: Any) -> Any:
    return ctypes.CFUNCTYPE(result, *arguments)(address)


def kernel(address: int) -> Any:
    """A kernel entry as a Python function of (slots, begin, end, scratch)."""
    return function(address, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
