"""Exports a kernel as a shared library: the C source of its host function, compiled with what the backend gives."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tilecore.errors import ToolchainError, UnsupportedError
from tilecore.jit.host_source import host_source
from tilecore.simulate.compilers import HostCompiler, find_compiler

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.contract.adapter import KernelAdapter


def source_of(artifact: Artifact, adapter: KernelAdapter, device_type: int) -> str:
    """The C source of the host function; "" where the execution backend gives no host code."""
    code = adapter.host_code(artifact)
    return "" if code is None else host_source(artifact, code, device_type)


def export_library(artifact: Artifact, adapter: KernelAdapter, device_type: int, path: str | os.PathLike[str]) -> Path:
    """Writes the library. Raises UnsupportedError where the execution backend gives no host code, ToolchainError where
    there is no C compiler or no package apache-tvm-ffi."""
    code = adapter.host_code(artifact)
    if code is None:
        raise UnsupportedError(
            f"{artifact.name} is not exported as a library: execution backend {adapter.name!r} gives no host code",
            expected='kernel.export("kernel.tck"), and tilecore.load_kernel("kernel.tck") where it is used',
            hint="the loaded kernel needs no compiler and no TVM, and takes the same arguments",
        )
    text = host_source(artifact, code, device_type)
    place, compiler, runtime = Path(path).absolute(), find_compiler(), _tvm_ffi()
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tilecore-library-") as folder:
        Path(folder, "host.c").write_text(text)
        for number, data in enumerate(code.objects):
            Path(folder, f"kernel_{number}.o").write_bytes(data)
        objects = [f"kernel_{number}.o" for number in range(len(code.objects))]
        _compile(compiler, ["-x", "c", "host.c", "-x", "none", *objects], runtime, folder)
        shutil.copyfile(Path(folder, "library.so"), place)
    return place


def _compile(compiler: HostCompiler, inputs: list[str], runtime: Path, folder: str) -> None:
    """Compiles with OpenMP, which runs blocks on several threads, and without it where the compiler has none."""
    flags = ["-shared", "-fPIC", "-O2", "-o", "library.so", *inputs, os.fspath(runtime), "-ldl"]
    try:
        compiler.run(["-fopenmp", *flags], "the host's part", cwd=folder)
    except ToolchainError:
        compiler.run(flags, "the host's part", cwd=folder)


def _tvm_ffi() -> Path:
    """The library of the package apache-tvm-ffi, whose calling convention the function has."""
    spec = importlib.util.find_spec("tvm_ffi")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        library = Path(folder, "lib", "libtvm_ffi.so")
        if library.is_file():
            return library
    raise ToolchainError(
        "a library needs the package apache-tvm-ffi",
        found="no lib/libtvm_ffi.so in the package tvm_ffi",
        hint="pip install apache-tvm-ffi",
    )
