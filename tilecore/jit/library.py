"""Exports a kernel as a shared library: the C source of its host function, compiled with what the backend gives."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tilecore.errors import ArgumentError, CacheError, ToolchainError, UnsupportedError
from tilecore.jit.c_entry import c_source, function_name, header_text
from tilecore.jit.export import write_file
from tilecore.jit.host_source import host_source
from tilecore.simulate.compilers import HostCompiler, find_compiler
from tilecore.whole_files import file_path, path_text

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.contract.adapter import KernelAdapter


def source_of(artifact: Artifact, adapter: KernelAdapter, device_type: int) -> str:
    """The C source of the host function; "" where the execution backend gives no host code."""
    code = adapter.host_code(artifact)
    return "" if code is None else host_source(artifact, code, device_type)


def export_library(
    artifact: Artifact,
    adapter: KernelAdapter,
    device_type: int,
    path: str | os.PathLike[str],
    header: str | os.PathLike[str] | None = None,
    name: str | None = None,
) -> Path:
    """Writes the library; with ``header`` one for programs in C, and its header. Raises UnsupportedError where the
    execution backend gives no host code, CacheError where a file cannot be written, ToolchainError where there is no C
    compiler, or no package apache-tvm-ffi, which a library without a header needs."""
    code = adapter.host_code(artifact)
    if code is None:
        raise UnsupportedError(
            f"{artifact.name} is not exported as a library: execution backend {adapter.name!r} gives no host code",
            expected='kernel.export("kernel.tck"), and tilecore.load_kernel("kernel.tck") where it is used',
            hint="the loaded kernel needs no compiler and no TVM, and takes the same arguments",
        )
    place, compiler, exported = _file(path), _compiler(), list[str]()
    if header is None:
        if name is not None:
            raise ArgumentError(
                "export_library(): name is the function's in C, which needs header=", found=f"name={name!r}"
            )
        text, runtime = host_source(artifact, code, device_type), [os.fspath(_tvm_ffi())]
    else:
        function, declared = function_name(artifact, name), _file(header)
        if declared == place:
            raise ArgumentError(
                "export_library(): the header would replace the library", found=f"header={str(header)!r}"
            )
        text, runtime = c_source(artifact, code, device_type, function), []
        exported = [function, f"{function}_error"]
        write_file(declared, header_text(artifact, code, device_type, function).encode())
    with tempfile.TemporaryDirectory(prefix="tilecore-library-") as folder:
        Path(folder, "host.c").write_text(text)
        for number, data in enumerate(code.objects):
            Path(folder, f"kernel_{number}.o").write_bytes(data)
        objects = [f"kernel_{number}.o" for number in range(len(code.objects))]
        if exported:
            script = f"{{ global: {' '.join(name + ';' for name in exported)} local: *; }};\n"
            Path(folder, "exported.map").write_text(script)
        _compile(compiler, ["-x", "c", "host.c", "-x", "none", *objects], runtime, folder)
        write_file(place, Path(folder, "library.so").read_bytes())
    return place


def _file(path: str | os.PathLike[str]) -> Path:
    try:
        path_text(path, "export_library(): the path")
        return file_path(path).absolute()
    except IsADirectoryError as error:
        raise CacheError(f"{path} cannot be written: {error.strerror}", expected="the path of a file") from error


def _compiler() -> HostCompiler:
    try:
        return find_compiler()
    except ToolchainError as error:
        raise ToolchainError(
            "a library needs a C compiler",
            found=error.found or error.message,
            expected="gcc or clang on PATH",
        ) from error


def _compile(compiler: HostCompiler, inputs: list[str], runtime: list[str], folder: str) -> None:
    """Compiles with OpenMP, which runs blocks on several threads, and without it where the compiler has none."""
    flags = ["-shared", "-fPIC", "-O2", "-fwrapv", "-o", "library.so", *inputs, *runtime, "-ldl"]
    if sys.platform == "linux":
        flags.append("-Wl,-Bsymbolic")  # a library calls its own kernels, even if another one has some of the same name
        if Path(folder, "exported.map").exists():
            flags.append("-Wl,--version-script=exported.map")
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
