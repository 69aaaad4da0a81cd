"""Compiles the simulator and kernels to shared libraries, each once, kept by content in tilecore's cache folder."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tile_tpu.toolchain.compile_errors import user_line
from tilecore.errors import LaunchError
from tilecore.simulate.build import content_key, stored_library, texts_digest
from tilecore.simulate.compilers import HostCompiler, find_compiler
from tilecore.simulate.progress import building

HERE = Path(__file__).parent
INCLUDE, SOURCES = HERE / "include", HERE / "src"
SOURCE_NAME = "kernel.c"

_SIMULATOR = (
    "-std=c++17", "-fPIC", "-O2", "-ftree-vectorize", "-march=native", "-ffp-contract=off", "-fno-math-errno",
    "-fno-trapping-math", "-fvisibility=hidden", "-pthread", "-w",
)  # fmt: skip
_KERNEL = (
    "-x", "c", "-std=gnu11", "-O1", "-g1", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing", "-fwrapv",
    "-Werror=implicit-function-declaration", "-Werror=int-conversion", "-Werror=incompatible-pointer-types",
)  # fmt: skip
# kernels take the simulator's functions, not the same names of a vendor's runtime that the process has loaded too
_OWN = getattr(os, "RTLD_DEEPBIND", 0)


def simulator_library(compiler: HostCompiler) -> Path:
    """The simulator, for every chip; half a minute the first time."""
    types = (INCLUDE / "tpu_types.h").read_text()
    key = content_key(compiler, _SIMULATOR, [texts_digest(SOURCES), types, _processor()])
    name = f"libtpusim-{key}.so"

    def build(folder: str) -> None:
        sources = sorted(SOURCES.glob("*.cpp"))
        with building("the simulator of tile-tpu", len(sources) + 1, "about half a minute") as step:

            def compile_one(path: Path) -> str:
                object_file = os.path.join(folder, f"{path.stem}.o")
                compiler.run([*_SIMULATOR, "-c", os.fspath(path), "-o", object_file], "the simulator of tile-tpu")
                step()
                return object_file

            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                objects = list(pool.map(compile_one, sources))
            linked = ["-shared", *objects, "-pthread", f"-Wl,-soname,{name}", "-o", os.path.join(folder, name)]
            compiler.run(linked, "the simulator of tile-tpu")
            step()

    return stored_library(name, build, slow=True)


@functools.lru_cache(maxsize=1)
def _processor() -> str:
    """What -march=native means here, as far as this file tells: the cache may be on several machines' disk."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    facts = sorted({line for line in lines if line.startswith(("flags", "Features", "model name"))})
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


@dataclass(frozen=True)
class KernelLibrary:
    """An emitted source compiled for the simulator."""

    path: Path
    source: str = ""
    _handles: list[Any] = field(default_factory=list, repr=False, compare=False)

    def entry(self, name: str) -> int:
        """The address of a function that the source registers by TPUKERNEL_FUNC_REGISTER."""
        if not self._handles:
            self._handles.append(ctypes.CDLL(os.fspath(self.path), mode=os.RTLD_NOW | os.RTLD_LOCAL | _OWN))
        try:
            function = getattr(self._handles[0], f"{name}_wrapper")
        except AttributeError:
            raise LaunchError(
                f"the library does not register the kernel {name!r}",
                found=os.fspath(self.path),
                hint=f"write TPUKERNEL_FUNC_REGISTER({name}) at the end of the source",
            ) from None
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    def user_line(self, line: int) -> str | None:
        """``file:line`` that a comment at this line of the source names, or the last one above it in its function."""
        return user_line(self.source.splitlines(), line) or None


def compile_kernel(
    source: str, compiler: HostCompiler | None = None, flags: Sequence[str] = (), include: Sequence[Path] = ()
) -> KernelLibrary:
    """Compile emitted C; what was compiled before is found on disk.

    flags: for the compiler, such as the chip's ``-D``. include: folders of other headers. Raises ToolchainError where
    there is no compiler or it refuses the source: with its words, whose line numbers are those of ``source``; a
    function that the simulator has not is one.
    """
    compiler = compiler or find_compiler()
    simulator = simulator_library(compiler)
    options = [*_KERNEL, *flags]
    texts = [source, simulator.name, *map(texts_digest, (INCLUDE, *include))]
    folders = [f"-I{os.fspath(folder)}" for folder in (INCLUDE, *include)]
    name = f"tpu-kernel-{content_key(compiler, options, texts)}.so"

    def build(folder: str) -> None:
        Path(folder, SOURCE_NAME).write_text(source)
        compiler.run([*options, *folders, "-c", SOURCE_NAME, "-o", "kernel.o"], "the emitted source", cwd=folder)
        linked = ["-shared", "kernel.o", os.fspath(simulator), "-lm", "-Wl,-z,defs", "-Wl,-rpath,$ORIGIN", "-o", name]
        compiler.run(linked, "the emitted source", cwd=folder)

    return KernelLibrary(stored_library(name, build), source)
