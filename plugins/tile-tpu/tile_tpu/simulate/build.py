"""Compiles the simulator and kernels to shared libraries, which tilecore's cache folder keeps by their content."""

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

from tilecore.codegen.places import user_line
from tilecore.errors import LaunchError
from tilecore.simulate.build import content_key, stored_library, texts_digest
from tilecore.simulate.compilers import HostCompiler, find_compiler
from tilecore.simulate.opened import opened
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
# binds kernels to the functions of the simulator, not to those of a vendor's runtime that the process has also loaded
_OWN = getattr(os, "RTLD_DEEPBIND", 0)


def simulator_library(compiler: HostCompiler) -> Path:
    """The library of the simulator, for all chips. The first build takes some seconds.

    The files are compiled in groups, each as one text: half of the time of a file alone goes into the headers of C++.
    """
    types = (INCLUDE / "tpu_types.h").read_text()
    key = content_key(compiler, _SIMULATOR, [texts_digest(SOURCES), types, _processor()])
    name = f"libtpusim-{key}.so"

    def build(folder: str) -> None:
        sources = sorted(SOURCES.glob("*.cpp"))
        workers = os.cpu_count() or 1
        groups = groups_of(sources, 2 * workers)
        with building("the simulator of tile-tpu", len(groups) + 1, "some seconds") as step:

            def compile_group(number: int) -> str:
                text, object_file = (os.path.join(folder, f"group{number}{end}") for end in (".cpp", ".o"))
                Path(text).write_text("".join(f'#include "{path}"\n' for path in groups[number]))
                compiler.run([*_SIMULATOR, "-c", text, "-o", object_file], "the simulator of tile-tpu")
                step()
                return object_file

            with ThreadPoolExecutor(workers) as pool:
                objects = list(pool.map(compile_group, range(len(groups))))
            linked = ["-shared", *objects, "-pthread", f"-Wl,-soname,{name}", "-o", os.path.join(folder, name)]
            compiler.run(linked, "the simulator of tile-tpu")
            step()

    return stored_library(name, build, slow=True)


def groups_of(sources: Sequence[Path], most: int) -> list[list[Path]]:
    """The files in at most ``most`` groups of about the same size, the largest first. No two files have the same names
    of their own, so that any of them may be in one group."""
    groups: list[list[Path]] = [[] for _ in range(min(most, len(sources)))]
    sizes = [0] * len(groups)
    for path in sorted(sources, key=lambda path: (-path.stat().st_size, path.name)):
        smallest = sizes.index(min(sizes))
        groups[smallest].append(path)
        sizes[smallest] += path.stat().st_size
    return groups


@functools.lru_cache(maxsize=1)
def _processor() -> str:
    """A digest of the processor's features, on which -march=native depends, as machines may share the cache folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    facts = sorted({line for line in lines if line.startswith(("flags", "Features", "model name"))})
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


@dataclass(frozen=True)
class KernelLibrary:
    """A library of kernels that is compiled for the simulator. source: the emitted source. Whoever runs an entry keeps
    this object, with which the library is closed."""

    path: Path
    source: str = ""
    _handles: list[Any] = field(default_factory=list, repr=False, compare=False)

    def entry(self, name: str) -> int:
        """The address of a function that the source registers by TPUKERNEL_FUNC_REGISTER."""
        if not self._handles:
            self._handles.append(opened(self.path, owner=self, mode=os.RTLD_NOW | os.RTLD_LOCAL | _OWN))
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
        """The user's ``file:line`` for a line of the emitted source; None where the source has no comment with it."""
        return user_line(self.source.splitlines(), line) or None


def compile_kernel(
    source: str, compiler: HostCompiler | None = None, flags: Sequence[str] = (), include: Sequence[Path] = ()
) -> KernelLibrary:
    """Compiles emitted C, or takes the library from the cache on disk.

    flags: compiler flags, such as the chip's ``-D``. include: folders of other headers. Raises ToolchainError where
    there is no compiler, or where it refuses the source, for example because of a function that the simulator lacks.
    The error has the compiler's messages, with line numbers of ``source``.
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
