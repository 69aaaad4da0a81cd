"""Compiles the runtime and kernels to shared libraries, which are cached on disk by their content."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilecore import settings
from tilecore.compilation_cache.layout import Layout
from tilecore.compilation_cache.libraries import FOLDER, UNFINISHED, is_whole, seal
from tilecore.compilation_cache.quarantine import set_aside
from tilecore.compilation_cache.warning import warn
from tilecore.errors import ToolchainError
from tilecore.simulate.progress import building

if TYPE_CHECKING:
    from tilecore.simulate.compilers import HostCompiler

RUNTIME = Path(__file__).parent / "runtime"
INCLUDE = RUNTIME / "include"

_SHARED = ("-std=c++17", "-fPIC", "-fno-exceptions", "-fno-rtti")
_RUNTIME = (*_SHARED, "-O2", "-fvisibility=hidden", "-x", "c++")
_KERNEL = (
    *_SHARED, "-O1", "-g1", "-fsanitize=thread", "-fstack-clash-protection", "-fno-strict-aliasing", "-fwrapv",
    "-ffp-contract=off", "-w", "-DTC_SIMULATE=1",
)  # fmt: skip
_LLVM = ("-fsanitize=array-bounds", "-mllvm", "-tsan-instrument-read-before-write=1")
_OF_FAMILY = {"gcc": ("-fsanitize=bounds",), "clang": _LLVM, "zig": _LLVM}


def runtime_library(compiler: HostCompiler, definitions: Sequence[str] = ()) -> Path:
    """The runtime, built by ``compiler``; a few seconds the first time."""
    flags = [*_RUNTIME, *(f"-D{name}" for name in definitions)]
    key = content_key(compiler, flags, texts_digest(RUNTIME))
    name = f"libtcsim-{key}.so"

    def build(folder: str) -> None:
        source = os.fspath(RUNTIME / "src" / "runtime.h")
        linked = ["-shared", f"-Wl,-soname,{name}", "-pthread", "-o", os.path.join(folder, name)]
        with building("the simulated device", 1, "some seconds") as step:
            compiler.run([*flags, source, *linked], "the runtime of the simulated device")
            step()

    return stored_library(name, build, slow=True)


def kernel_library(
    compiler: HostCompiler, runtime: Path, source: str, symbols: Sequence[str],
    include: Sequence[str | Path] = (), flags: Sequence[str] = (),
) -> Path:  # fmt: skip
    """``source`` with its kernels ``symbols`` as a library that runs on ``runtime``.

    include: folders of headers, beside the runtime's own. flags: for the compiler, such as ``-DNAME``.
    Raises ToolchainError with the compiler's words, whose line numbers are those of ``source``.
    """
    folders = [os.fspath(path) for path in include]
    options = [*_KERNEL, *_OF_FAMILY[compiler.family], *flags]
    text = source + "\n" + "".join(f"TC_SIM_ENTRY({symbol})\n" for symbol in symbols)
    headers = [texts_digest(Path(folder)) for folder in folders]
    name = f"kernel-{content_key(compiler, options, [text, runtime.name, *headers])}.so"

    def build(folder: str) -> None:
        Path(folder, "kernel.cpp").write_text(text)
        places = [f"-I{path}" for path in (*folders, os.fspath(INCLUDE))]
        compiler.run([*options, *places, "-c", "kernel.cpp", "-o", "kernel.o"], "the emitted source", cwd=folder)
        # zig would link its own answers to the checks of bounds into what is not optimised
        bare = [] if compiler.family == "gcc" else ["-nostdlib++", "-O1"]
        linked = ["kernel.o", os.fspath(runtime), "-Wl,-rpath,$ORIGIN", "-o", name]
        compiler.run(["-shared", *bare, *linked], "the emitted source", cwd=folder)

    return stored_library(name, build)


def content_key(compiler: HostCompiler, flags: Sequence[str], texts: Sequence[str]) -> str:
    """The key of a library: a digest of the compiler, the flags, and the texts (or digests of them)."""
    digest = hashlib.sha256()
    for part in (platform.machine(), *compiler.command, compiler.version, *flags, "", *texts):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:32]


def texts_digest(folder: Path) -> str:
    """A digest of all the sources and headers of a folder."""
    paths = sorted(p for p in folder.rglob("*") if p.suffix in (".h", ".hpp", ".inc", ".cpp", ".cuh"))
    facts = [(path, path.stat()) for path in paths]
    return _digest(folder, tuple((path, facts.st_mtime_ns, facts.st_size) for path, facts in facts))


@functools.lru_cache(maxsize=64)
def _digest(folder: Path, files: tuple[tuple[Path, int, int], ...]) -> str:
    """The digest of the files' names and texts, cached as long as their times and sizes are the same."""
    digest = hashlib.sha256()
    for path, _, _ in files:
        digest.update(path.relative_to(folder).as_posix().encode() + b"\n" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def stored_library(name: str, build: Callable[[str], None], *, slow: bool = False) -> Path:
    """The stored library ``name``; where it does not exist, ``build(folder)`` writes it. It is published whole or not
    at all, and checked before it is used: a damaged library is built again.

    slow: the library takes long to build and is no kernel, so it is copied from the user's usual cache where
    TILECORE_CACHE_DIR names another cache, or the cache is off.
    """
    root = library_folder()
    path = root / name
    if is_whole(os.fspath(path), name):
        return path
    if os.path.lexists(path):
        set_aside(os.fspath(path), Layout(os.fspath(root.parent)).quarantine)
        warn(f"a library of a simulator was damaged, or not written by this tilecore; it is built again: {path}")
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=root) as folder:
        if not (slow and _copied_from_cache(name, folder)):
            build(folder)
            seal(os.path.join(folder, name), name)
        os.replace(Path(folder, name), path)
    return path


def _copied_from_cache(name: str, folder: str) -> bool:
    """Copy ``name`` to ``folder`` from the cache that is turned off, or from the usual cache; False where neither has
    it whole."""
    for cache in dict.fromkeys((settings.cache_dir(), settings.default_cache_dir())):
        usual = Path(cache or os.devnull, FOLDER)
        with contextlib.suppress(OSError):
            if _is_private(usual) and is_whole(os.fspath(usual / name), name):
                shutil.copy(usual / name, folder)
                return True
    return False


def library_folder() -> Path:
    """The folder of libraries: in the kernel cache, or a temporary one where that cannot be used."""
    cache = settings.cache_dir()
    if cache and not settings.disable_cache():
        folder = Path(cache, FOLDER)
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_private(folder) and os.access(folder, os.W_OK):
                return folder
    return Path(_temporary_folder().name)


@functools.lru_cache(maxsize=1)
def _temporary_folder() -> tempfile.TemporaryDirectory:
    try:
        return tempfile.TemporaryDirectory(prefix="tilecore-simulate-", ignore_cleanup_errors=True)
    except OSError as error:
        raise ToolchainError(
            "no folder can be written to, not even a temporary one", found=str(error), hint="set TMPDIR"
        ) from error


def _is_private(folder: Path) -> bool:
    """Is the folder the user's, and can nobody else write to it? Its libraries are loaded into the process."""
    facts = os.stat(folder)
    if sys.platform == "win32":  # the rights of a user's folders are in lists of access control
        return True
    return facts.st_uid == os.getuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
