"""Builds and registers the handler by which XLA launches kernels (jax_handler.h), once on a machine."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilecore import debug
from tilecore.artifact.records import Artifact
from tilecore.errors import ToolchainError, UnsupportedError
from tilecore.simulate.build import content_key, stored_library
from tilecore.simulate.compilers import HostCompiler, find_compiler
from tilecore.tensors.dlpack import HOST, capsule_address

if TYPE_CHECKING:
    from tilecore.jit.kernel import JITKernel

TARGET = "tilecore_launch"  # the name of the custom call in programs of XLA
_FLAGS = ("-shared", "-fPIC", "-O2", "-std=c++17")
_SOURCE = Path(__file__).with_name("jax_handler.h")
_registered: dict[int, Any] = {}  # kernels stay loaded: compiled programs of jax may launch them at any time


def jax_module() -> Any:
    """jax. Raises UnsupportedError where it is not installed, or has no foreign function interface."""
    try:
        import jax
        import jax.custom_batching
        import jax.ffi
    except ImportError as error:
        raise UnsupportedError(
            "jax_call needs jax 0.5 or newer", found=str(error), hint="pip install 'jax>=0.5'"
        ) from None
    return jax


def number_of(artifact: Artifact) -> int:
    """The kernel's number in calls: a digest of all that is launched."""
    parts = (artifact.name, artifact.target, artifact.adapter, artifact.source, artifact.binary, repr(artifact.entries))
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)


def registered(kernel: JITKernel) -> int:
    """The number of the kernel, which XLA can launch from now on. Raises UnsupportedError for kernels that are not
    launched by a C function on the host, ToolchainError where the handler cannot be built."""
    number = number_of(kernel.artifact)
    if number in _registered:
        return number
    loaded = kernel.loaded
    if callable(loaded.launch) or loaded.on_device or loaded.takes_tensors or kernel.device_type != HOST:
        raise UnsupportedError(
            f"{kernel.artifact.name}: jax_call launches kernels for the host",
            found=f"{kernel.target.kind}, execution backend {kernel.artifact.adapter!r}",
            expected="a kernel for cpu that is compiled, not interpreted or simulated",
            hint="outside of jax.jit, call the kernel itself with arrays of jax: it returns arrays of jax",
        )
    address = capsule_address(loaded.launch, loaded.capsule_name.encode())
    name = kernel.artifact.name.encode()
    _handler().tilecore_register(ctypes.c_int64(number), ctypes.c_void_p(address), ctypes.c_void_p(loaded.state), name)
    _registered[number] = kernel
    return number


@functools.lru_cache(maxsize=1)
def _handler() -> ctypes.CDLL:
    """The library, registered with jax."""
    jax = jax_module()
    include = jax.ffi.include_dir()
    library = ctypes.CDLL(str(_built(include)))
    library.tilecore_register.restype = None
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(library.tilecore_launch), platform="cpu")
    return library


def _built(include: str) -> Path:
    """The library's file, among the stored ones: built where there is none of the same compiler, text and header."""
    compiler = _compiler()
    header = Path(include, "xla", "ffi", "api", "c_api.h").read_text()
    key = content_key(compiler, _FLAGS, (_SOURCE.read_text(), header))

    def build(folder: str) -> None:
        debug.say(debug.TOOLS, "building the handler by which jax launches kernels")
        inputs = [*_FLAGS, f"-I{include}", "-x", "c++", os.fspath(_SOURCE)]
        compiler.run([*inputs, "-o", os.path.join(folder, name)], "the handler of jax_call")

    name = f"libtcjax-{key}.so"
    return stored_library(name, build)


def _compiler() -> HostCompiler:
    try:
        return find_compiler()
    except ToolchainError as error:
        raise ToolchainError(
            "jax_call needs a C++ compiler, once on a machine, for the handler that XLA calls",
            found=error.found or error.message,
            expected="g++ or clang++ on PATH, or pip install ziglang",
        ) from error
