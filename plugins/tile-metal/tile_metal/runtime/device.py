"""Metal's device, libraries, pipelines, buffers and command buffers, through the Objective-C runtime."""

from __future__ import annotations

import ctypes
import functools
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_metal import families
from tile_metal.runtime import objc
from tile_metal.runtime.objc import Owned, Runtime

if TYPE_CHECKING:
    from tile_metal.runtime.archive import Archive

_SHARED = 0  # MTLResourceStorageModeShared: memory of host and GPU
_SAFE, _PRECISE = 0, 1  # MTLMathModeSafe, MTLMathFloatingPointFunctionsPrecise
_FAILED = 5  # MTLCommandBufferStatusError


class NoDevice(Exception):
    """Metal has no device."""


class Refused(Exception):
    """Metal refused something; the message is its own."""


@dataclass(frozen=True)
class Buffer:
    """Memory of host and GPU. handle: the id<MTLBuffer>. address: of its first byte on the host. owner: keeps it."""

    handle: int
    address: int
    owner: Owned


@dataclass(frozen=True)
class Bound:
    """An argument of a kernel: a buffer and an offset into it in bytes, or ``data``, a value of at most 4096 bytes."""

    handle: int = 0
    offset: int = 0
    data: bytes = b""


@dataclass(frozen=True)
class Dispatch:
    """A kernel that a command buffer runs. grid: threadgroups along x, y, z. block: threads of each."""

    pipeline: Pipeline
    arguments: Sequence[Bound]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


class Pipeline:
    """A compiled kernel. threads: the most that a threadgroup may have. static_bytes: of threadgroup memory."""

    def __init__(self, runtime: Runtime, owner: Owned) -> None:
        self.owner = owner
        self.handle = owner.handle
        self.threads: int = runtime.send(owner.handle, "maxTotalThreadsPerThreadgroup")
        self.static_bytes: int = runtime.send(owner.handle, "staticThreadgroupMemoryLength")


class Library:
    """A compiled program, and the pipelines of its kernels. Raises Refused."""

    def __init__(self, device: Device, owner: Owned) -> None:
        self._device = device
        self._owner = owner
        self._pipelines: dict[str, Pipeline] = {}
        self._lock = threading.Lock()

    def pipelines(self, symbols: Sequence[str], archive: Archive | None = None) -> list[Pipeline]:
        """The kernels of those names, compiled once in the process. archive: the program's, where one is in use."""
        with self._lock, self._device.runtime.pool():
            missing = [symbol for symbol in dict.fromkeys(symbols) if symbol not in self._pipelines]
            if missing and archive is not None:
                archive.open()
            try:
                for symbol in missing:
                    self._pipelines[symbol] = self._compiled(symbol, archive)
                if missing and archive is not None:
                    archive.keep()
            finally:
                if archive is not None:
                    archive.close()
            return [self._pipelines[symbol] for symbol in symbols]

    def _compiled(self, symbol: str, archive: Archive | None) -> Pipeline:
        runtime = self._device.runtime
        error = ctypes.c_void_p()
        handle = runtime.send(self._owner.handle, "newFunctionWithName:", runtime.string(symbol))
        if not handle:
            raise Refused(f"the program has no kernel {symbol}")
        function = runtime.owned(handle)
        pipeline = archive.pipeline(function.handle) if archive is not None else None
        if pipeline is None:
            handle = runtime.send(
                self._device.handle, "newComputePipelineStateWithFunction:error:", function.handle, ctypes.byref(error)
            )
            if not handle:
                raise Refused(runtime.words(error.value) or "Metal gave no reason")
            pipeline = runtime.owned(handle)
        return Pipeline(runtime, pipeline)


class Device:
    """A GPU and a queue of commands to it. Any number of threads may use it."""

    def __init__(self, runtime: Runtime, owner: Owned) -> None:
        self.runtime = runtime
        self.handle = owner.handle
        self._owner = owner
        self._queue = runtime.owned(runtime.send(self.handle, "newCommandQueue"))
        self._libraries: weakref.WeakValueDictionary[tuple[bytes, str], Library] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def library(self, program: bytes, msl: str) -> Library:
        """The compiled program, once in the process. msl: the version of its language. Raises Refused with the
        compiler's messages."""
        with self._lock:
            library = self._libraries.get((program, msl))
            if library is None:
                library = self._libraries[program, msl] = self._compiled(program, msl)
            return library

    def _compiled(self, program: bytes, msl: str) -> Library:
        runtime, error = self.runtime, ctypes.c_void_p()
        with runtime.pool():
            options = self._options(msl)
            made = runtime.send(
                self.handle, "newLibraryWithSource:options:error:", runtime.string(program), options.handle,
                ctypes.byref(error),
            )  # fmt: skip
            if not made:
                raise Refused(runtime.words(error.value) or "Metal gave no reason")
            return Library(self, runtime.owned(made))

    def _options(self, msl: str) -> Owned:
        """Safe mathematics with precise functions, as everywhere else; Metal's default is neither."""
        runtime = self.runtime
        options = runtime.owned(runtime.send(runtime.class_named("MTLCompileOptions"), "new"))
        major, _, minor = msl.partition(".")
        runtime.send(options.handle, "setLanguageVersion:", (int(major) << 16) + int(minor))
        if runtime.responds(options.handle, "setMathMode:"):  # from macOS 15 on
            runtime.send(options.handle, "setMathMode:", _SAFE)
            runtime.send(options.handle, "setMathFloatingPointFunctions:", _PRECISE)
        else:
            runtime.send(options.handle, "setFastMathEnabled:", False)
        return options

    def buffer(self, size: int) -> Buffer:
        """Memory of at least one byte, with undefined contents. Raises Refused where there is not enough."""
        handle = self.runtime.send(self.handle, "newBufferWithLength:options:", max(size, 1), _SHARED)
        if not handle:
            raise Refused(f"Metal has no {size} bytes of memory left: delete tensors")
        owner = self.runtime.owned(handle)
        return Buffer(handle, self.runtime.send(handle, "contents"), owner)

    def run(self, dispatches: Sequence[Dispatch]) -> float:
        """Runs kernels one after the other and waits; the seconds that they took on the GPU. Raises Refused with the
        error of the command buffer.

        Metal ends the process where an argument is beyond its limits, so they are checked here, before a command buffer
        exists."""
        for dispatch in dispatches:
            _check(dispatch)
        runtime = self.runtime
        with runtime.pool():
            commands = runtime.send(self._queue.handle, "commandBuffer")
            encoder = runtime.send(commands, "computeCommandEncoder")
            try:
                for dispatch in dispatches:
                    self._encode(encoder, dispatch)
            finally:  # an encoder that is not ended ends the process when it is freed
                runtime.send(encoder, "endEncoding")
            runtime.send(commands, "commit")
            runtime.send(commands, "waitUntilCompleted")
            if runtime.send(commands, "status") == _FAILED:
                raise Refused(runtime.words(runtime.send(commands, "error")) or "Metal gave no reason")
            seconds: float = runtime.send(commands, "GPUEndTime") - runtime.send(commands, "GPUStartTime")
            return seconds

    def _encode(self, encoder: int, dispatch: Dispatch) -> None:
        send = self.runtime.send
        send(encoder, "setComputePipelineState:", dispatch.pipeline.handle)
        for index, argument in enumerate(dispatch.arguments):
            if argument.data:
                send(encoder, "setBytes:length:atIndex:", argument.data, len(argument.data), index)
            else:
                send(encoder, "setBuffer:offset:atIndex:", argument.handle, argument.offset, index)
        sizes = objc.Size(*dispatch.grid), objc.Size(*dispatch.block)
        send(encoder, "dispatchThreadgroups:threadsPerThreadgroup:", *sizes)


def _check(dispatch: Dispatch) -> None:
    threads = dispatch.block[0] * dispatch.block[1] * dispatch.block[2]
    if not 0 < threads <= dispatch.pipeline.threads:
        raise Refused(f"{threads} threads in a threadgroup, and the limit is {dispatch.pipeline.threads}")
    if min(dispatch.grid) <= 0:
        raise Refused(f"a grid of {dispatch.grid} threadgroups")
    if len(dispatch.arguments) > families.MAX_BUFFERS:
        raise Refused(f"{len(dispatch.arguments)} arguments, and Metal takes {families.MAX_BUFFERS}")
    for index, argument in enumerate(dispatch.arguments):
        if len(argument.data) > 4096 or not (argument.data or argument.handle):
            raise Refused(f"argument {index} is neither a buffer nor a value of at most 4096 bytes")


@functools.lru_cache(maxsize=1)
def default_device() -> Device:
    """The Mac's GPU. Raises NoDevice, ObjectiveCError."""
    runtime = objc.runtime()
    metal = runtime.frameworks[-1]
    metal.MTLCreateSystemDefaultDevice.restype, metal.MTLCreateSystemDefaultDevice.argtypes = objc.OBJECT, ()
    handle = metal.MTLCreateSystemDefaultDevice() or _first_device(runtime, metal)
    if not handle:
        raise NoDevice("MTLCreateSystemDefaultDevice returned none")
    return Device(runtime, runtime.owned(handle))


def _first_device(runtime: Runtime, metal: ctypes.CDLL) -> int:
    """The first of all devices, for processes to which the system gives no default one; 0 without any."""
    metal.MTLCopyAllDevices.restype, metal.MTLCopyAllDevices.argtypes = objc.OBJECT, ()
    handle = metal.MTLCopyAllDevices()
    if not handle:
        return 0
    devices = runtime.owned(handle)
    if not runtime.send(devices.handle, "count"):
        return 0
    return int(runtime.send(runtime.send(devices.handle, "objectAtIndex:", 0), "retain"))
