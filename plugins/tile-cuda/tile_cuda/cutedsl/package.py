"""Compiles kernels in CuTe DSL by the package nvidia-cutlass-dsl, without a GPU, and loads what it compiled.

A binary has, for each kernel, an object file of the package, which holds the function that launches the kernel and the
cubin, and the cubin by itself, whose registers can be read.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.metadata
import inspect
import json
import linecache
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tile_cuda import cubin
from tile_cuda.cutedsl.names import LAUNCH
from tile_cuda.target import architecture_of
from tilecore.contract.records import BuildRequest
from tilecore.errors import ToolchainError

DISTRIBUTION = "nvidia-cutlass-dsl"
OLDEST = (4, 8)  # the first version of the package whose functions are used here
FORMAT = "cutedsl"  # the format of its binaries
INSTALL = "pip install 'tile-cuda[cutedsl]'"
OLDEST_CAPABILITY = 80  # of the devices that the package compiles for
_SYMBOL = "tilecore_kernel"  # in front of the names of an object file's functions
_lock = threading.Lock()  # the package traces one kernel at a time


@functools.cache
def version() -> str:
    """The version of the installed package, "" without one. It imports nothing of the package."""
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return ""


def missing() -> str:
    """What is missing of the package on this machine, and how to get it; "" where nothing is."""
    if not version():
        return f"the package {DISTRIBUTION} is not installed; {INSTALL}"
    numbers = re.match(r"(\d+)\.(\d+)", version())
    if numbers is None or tuple(map(int, numbers.groups())) < OLDEST:
        return f"{DISTRIBUTION} {version()} is older than {'.'.join(map(str, OLDEST))}; {INSTALL}"
    return ""


def load() -> ModuleType:
    """The module ``cutlass.cute``. Raises ToolchainError where the package is not installed or does not work."""
    reason = missing()
    if reason:
        raise ToolchainError(f"there is no compiler for CuTe DSL: {reason.partition(';')[0]}", hint=INSTALL)
    try:
        return importlib.import_module("cutlass.cute")
    except Exception as error:
        raise ToolchainError(
            f"the package {DISTRIBUTION} cannot be imported", found=f"{type(error).__name__}: {error}", hint=INSTALL
        ) from error


@dataclass(frozen=True)
class Compiled:
    """One kernel of a binary: its symbol, the package's object file, and the cubin."""

    symbol: str
    object_file: bytes
    cubin: bytes


def pack(kernels: Sequence[Compiled]) -> bytes:
    """A binary: a line of JSON with the symbols and sizes, then the files."""
    head = [[kernel.symbol, len(kernel.object_file), len(kernel.cubin)] for kernel in kernels]
    files = [part for kernel in kernels for part in (kernel.object_file, kernel.cubin)]
    return json.dumps(head).encode() + b"\n" + b"".join(files)


def unpack(binary: bytes) -> list[Compiled]:
    """The kernels of a binary. Raises ValueError for what is none."""
    line, _, files = binary.partition(b"\n")
    kernels, start = [], 0
    for symbol, object_bytes, cubin_bytes in json.loads(line):
        middle, end = start + object_bytes, start + object_bytes + cubin_bytes
        kernels.append(Compiled(str(symbol), files[start:middle], files[middle:end]))
        start = end
    if start != len(files):
        raise ValueError(f"{len(files)} bytes of files, and sizes for {start}")
    return kernels


def is_binary(binary: bytes) -> bool:
    """Whether these bytes begin as :func:`pack` writes them."""
    return binary.startswith(b'[["')


def describe(binary: bytes) -> dict[str, dict[str, int]]:
    """By kernel: the registers and the stack of a thread, as :func:`tile_cuda.cubin.describe` gives them."""
    usage_by_kernel = {}
    for kernel in unpack(binary):
        for usage in cubin.describe(kernel.cubin).values():  # the package gives the one kernel another name
            usage_by_kernel[kernel.symbol] = usage
    return usage_by_kernel


def version_for_key() -> str:
    """The version of the package, and a digest of the functions that kernels call; part of keys of the cache."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return f"{DISTRIBUTION} {version() or 'missing'}, functions {digest.hexdigest()[:16]}"


def check_available() -> None:
    """Raises ImportError, with what to do, where the package is not installed or not new enough."""
    if missing():
        raise ImportError(missing(), name="cutlass")


def build(request: BuildRequest) -> tuple[bytes, str]:
    """Compiles a request to (binary, format). Raises ToolchainError with the package's message."""
    architecture = architecture_of(request.target)
    if architecture.capability < OLDEST_CAPABILITY:
        raise ToolchainError(
            f"CuTe DSL does not compile {request.name} for {architecture.name}",
            expected=f"sm_{OLDEST_CAPABILITY} or later",
            hint="use another execution backend, such as cython",
        )
    if request.flags:
        raise ToolchainError(
            f"CuTe DSL has no compiler flags, and {request.name} has some",
            found=" ".join(request.flags),
            hint="leave out compile_flags, or use another execution backend",
        )
    cute = load()
    with _lock, _architecture(architecture.name), tempfile.TemporaryDirectory(prefix="tilecore-cutedsl-") as folder:
        names = _run(request)
        compiled = [_compiled(cute, names, symbol, architecture.name, folder, request) for symbol in request.symbols]
    return pack(compiled), FORMAT


@contextlib.contextmanager
def _architecture(name: str) -> Iterator[None]:
    """Tells the package that the machine has a device of this architecture, or it writes no object files for it."""
    from cutlass.cutlass_dsl import CuTeDSL

    settings = CuTeDSL._get_dsl().envar
    before = settings.arch
    settings.arch = name
    try:
        yield
    finally:
        settings.arch = before


def _run(request: BuildRequest) -> dict[str, Any]:
    """The names that the source defines. The package reads functions' text again, by the name of their file."""
    file = f"<tilecore {request.name}>"
    linecache.cache[file] = (len(request.source), None, request.source.splitlines(True), file)
    names: dict[str, Any] = {"__name__": f"tilecore_{request.name}", "__file__": file}
    try:
        exec(compile(request.source, file, "exec", dont_inherit=True), names)
    except Exception as error:
        raise _failed(request, error) from error
    return names


def _compiled(
    cute: ModuleType, names: dict[str, Any], symbol: str, architecture: str, folder: str, request: BuildRequest
) -> Compiled:
    launcher = names[f"{LAUNCH}{symbol}"]
    kinds = [parameter.annotation for parameter in inspect.signature(launcher).parameters.values()]
    options = f"--gpu-arch {architecture} --keep-cubin --dump-dir {folder}"
    try:
        function = cute.compile(launcher, *(kind(0) for kind in kinds), options=options)
        code = function.__cubin__
        object_file = function.dump_to_object(_SYMBOL)
    except Exception as error:
        raise _failed(request, error) from error
    return Compiled(symbol, object_file, code if isinstance(code, bytes) else b"")


def _failed(request: BuildRequest, error: Exception) -> ToolchainError:
    return ToolchainError(
        f"the package {DISTRIBUTION} {version()} does not compile {request.name}",
        found=f"{type(error).__name__}: {error}"[:2000],
        hint="please report it; another execution backend, such as cython, compiles the kernel as CUDA C++",
    )


class LoadedLaunch:
    """The function that launches one kernel, loaded from its object file: ``call(addresses)``.

    addresses: of the arguments, in order. It returns the error number of CUDA's runtime (cudaError_t), 0 for none.
    """

    def __init__(self, compiled: Compiled) -> None:
        cute = load()
        descriptor, path = tempfile.mkstemp(prefix="tilecore-cutedsl-", suffix=".o")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(compiled.object_file)
            self._module = cute.runtime.load_module(path)
        finally:
            os.unlink(path)
        self._function = getattr(self._module, _SYMBOL)
        self._executor: Any = None

    def function(self) -> Any:
        """The C function: it takes an array of addresses, of the arguments and, last, of an int32 for the error."""
        if self._executor is None:  # loads the cubin, which needs the driver
            self._executor = self._function.to(None)
        return self._executor.capi_func
