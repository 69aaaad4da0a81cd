"""Keeps compiled pipelines on disk, in Metal's binary archives, so that another process does not compile them again.

Apple's header (MTLBinaryArchive.h) says that pipelines look up compiled code in the archives of their descriptor
"before performing compilation"; "if no archives contain the requested content, the pipeline state is created by
compiling the code as usual"; updates of the system or of drivers "may cause the archive to become outdated". It advises
against archives that are written on users' machines, as these need "corruption resiliency, careful storage space
management and may cache hard-to-reproduce errors". So each file is of one program, one GPU and one build of macOS. It
is checked against a digest before Metal sees it, counts into the size of tilecore's cache, and is never changed: it is
written once, with all pipelines of its program. Metal's own cache of each app works beside it.

What spares the second process the work is not documented in full: Metal.jl found that Metal looks code up by the bytes
of the library that its front end makes of a source (src/compiler/archive.jl, pull requests 916 and 930), so these must
be the same in both processes. Where they are not, Metal compiles as without an archive.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tile_metal.runtime import machine
from tile_metal.runtime.objc import ObjectiveCError, Owned
from tilecore import cache, debug

if TYPE_CHECKING:
    from tile_metal.runtime.device import Device

_T = TypeVar("_T")
_FORMAT = b"1"  # of the pipelines' descriptors: another number where they set something else
_NO_OPTIONS = 0  # MTLPipelineOptionNone: Metal compiles what the archive lacks
_VALIDATION = "MTL_SHADER_VALIDATION"


class Unusable(Exception):
    """Metal cannot open, fill or write an archive; the message is its own."""


def archive_of(device: Device, program: bytes, msl: str, version: str) -> Archive | None:
    """The archive of a program; None where archives are off: with the cache, where the build of macOS is not known, and
    under Metal's shader validation, with which archives do not work (Metal.jl pull request 940).

    msl: the version of the program's language. version: tile-metal's.
    """
    build, mac = machine.build(), machine.machine()
    if not cache.is_cache_enabled() or not build or mac is None or os.environ.get(_VALIDATION, "0") not in ("", "0"):
        return None
    digest = sha256()
    for part in (_FORMAT, version.encode(), mac.gpu.encode(), build.encode(), msl.encode(), program):
        digest.update(b"%d " % len(part) + part)
    return Archive(device, digest.hexdigest())


class Archive:
    """The archive of one program, on disk or new. No method raises on account of it.

    Use: ``open``, ``pipeline`` for each kernel, ``keep`` when all have compiled, ``close``. Each within one autorelease
    pool. Descriptors do not limit the threads of a threadgroup, which the source does.
    """

    def __init__(self, device: Device, key: str) -> None:
        self._device = device
        self._key = key
        self._archive: Owned | None = None
        self._path: str | None = None
        self._began = 0.0

    def open(self) -> None:
        """Open the file, or a new archive where there is none that Metal opens."""
        self._began = time.perf_counter()
        self._path = cache.disk_cache().binary(self._key)
        if self._path is not None:
            self._archive = self._tried(lambda: self._opened(self._path))
            if self._archive is None:
                self._discard()
        if self._archive is None:
            self._archive = self._tried(lambda: self._opened(None))

    def pipeline(self, function: int) -> Owned | None:
        """The pipeline of an id<MTLFunction>; None where it must be compiled without the archive.

        A new archive gets the code first, and the pipeline takes it from there, so that nothing is compiled twice (gfx
        pull request 3719: archives serve what was added before they are written). One from the disk may lack it, and
        Metal compiles it then and says nothing."""
        if self._archive is None:
            return None
        archive = self._archive
        pipeline = self._tried(lambda: self._compiled(archive, function))
        if pipeline is None:
            if self._path is not None:
                self._discard()
            self._archive = None
        return pipeline

    def keep(self) -> None:
        """Write a new archive to the cache, with all pipelines so far."""
        milliseconds = 1000 * (time.perf_counter() - self._began)
        if self._archive is None:
            return
        if self._path is not None:
            debug.say(debug.BACKEND, f"pipelines from {self._path}: {milliseconds:.1f} ms")
            return
        archive = self._archive
        data = self._tried(lambda: self._serialized(archive))
        if data:
            is_kept = cache.disk_cache().keep_binary(self._key, data)
            state = f"{len(data)} bytes kept for other processes" if is_kept else "not kept"
            debug.say(debug.BACKEND, f"pipelines compiled: {milliseconds:.1f} ms, {state}")

    def close(self) -> None:
        """Release the archive; the pipelines do not need it."""
        self._archive = None

    def _discard(self) -> None:
        cache.disk_cache().discard_binary(self._key)
        self._path = None

    @staticmethod
    def _tried(step: Callable[[], _T]) -> _T | None:
        """What a step gives; None, and a line for those who look, where Metal or the disk refuses."""
        try:
            return step()
        except (Unusable, ObjectiveCError, OSError) as error:
            debug.say(debug.BACKEND, f"pipelines are compiled without a binary archive: {error}")
            return None

    def _opened(self, path: str | None) -> Owned:
        """newBinaryArchiveWithDescriptor:error: with the file's URL, "or nil to create an empty MTLBinaryArchive"."""
        runtime, error = self._device.runtime, ctypes.c_void_p()
        descriptor = runtime.owned(runtime.send(runtime.class_named("MTLBinaryArchiveDescriptor"), "new"))
        if path is not None:
            runtime.send(descriptor.handle, "setUrl:", self._url(path))
        handle = runtime.send(
            self._device.handle, "newBinaryArchiveWithDescriptor:error:", descriptor.handle, ctypes.byref(error)
        )
        if not handle:
            raise Unusable(runtime.words(error.value) or "Metal opens none")
        return runtime.owned(handle)

    def _compiled(self, archive: Owned, function: int) -> Owned:
        runtime, error = self._device.runtime, ctypes.c_void_p()
        descriptor = runtime.owned(runtime.send(runtime.class_named("MTLComputePipelineDescriptor"), "new"))
        runtime.send(descriptor.handle, "setComputeFunction:", function)
        if self._path is None and not runtime.send(
            archive.handle, "addComputePipelineFunctionsWithDescriptor:error:", descriptor.handle, ctypes.byref(error)
        ):
            raise Unusable(runtime.words(error.value) or "Metal adds no pipeline")
        archives = runtime.send(runtime.class_named("NSArray"), "arrayWithObject:", archive.handle)
        runtime.send(descriptor.handle, "setBinaryArchives:", archives)
        handle = runtime.send(
            self._device.handle, "newComputePipelineStateWithDescriptor:options:reflection:error:", descriptor.handle,
            _NO_OPTIONS, None, ctypes.byref(error),
        )  # fmt: skip
        if not handle:
            raise Unusable(runtime.words(error.value) or "Metal makes no pipeline")
        return runtime.owned(handle)

    def _serialized(self, archive: Owned) -> bytes:
        """serializeToURL:error: writes a file alone, so the bytes go through a temporary one. The cache writes them to
        another, which it renames when it is whole."""
        runtime, error = self._device.runtime, ctypes.c_void_p()
        with tempfile.TemporaryDirectory(prefix="tilecore-metal-") as folder:
            path = Path(folder, "pipelines.bin")
            if not runtime.send(archive.handle, "serializeToURL:error:", self._url(path), ctypes.byref(error)):
                raise Unusable(runtime.words(error.value) or "Metal writes none")
            return path.read_bytes()

    def _url(self, path: str | os.PathLike[str]) -> int:
        runtime = self._device.runtime
        name = runtime.string(os.fsencode(path))
        if not name:  # a URL of nothing would end the process
            raise Unusable(f"the path {os.fspath(path)!r} is not UTF-8")
        return int(runtime.send(runtime.class_named("NSURL"), "fileURLWithPath:", name))
