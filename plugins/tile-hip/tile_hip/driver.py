"""The HIP runtime through ctypes. The library is opened at the first use, so importing this needs no ROCm.

Numbers of attributes and errors: hip_runtime_api.h of ROCm, where they are the same from 5.2 to 10.0.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import re
import threading
from collections.abc import Iterator
from typing import Any

from tile_hip import libraries
from tile_hip.permission import permission_problem
from tilecore.runtime.device_kernels import DriverFunctions

OLDEST = 6, 0  # kernels are code objects of version 5, and the record of a device's properties has its present form
_NO_DEVICE = 100, 101  # hipErrorNoDevice, hipErrorInvalidDevice: what hipInit returns without a GPU
# hipDeviceAttribute_t
_MAX_GRID = 29, 30, 31
_MAX_THREADS, _PROCESSORS, _MAX_SHARED = 56, 63, 74
# hipFunction_attribute
FUNCTION_THREADS, FUNCTION_STATIC_SHARED, FUNCTION_LOCAL_BYTES, FUNCTION_REGISTERS = 0, 1, 3, 4
_CAPTURE_ACTIVE, _CAPTURE_RELAXED = 1, 2  # hipStreamCaptureStatus, hipStreamCaptureMode
_DEVICE_TO_HOST = 2  # hipMemcpyKind
_PROPERTIES_BYTES = 16 << 10  # more than hipDeviceProp_t has
_ARCH = re.compile(rb"gfx[0-9a-f]{3,4}(?:-generic)?(?::[\w:+-]*)?(?=\0)")


class DriverError(Exception):
    """The runtime is missing, or one of its functions failed. code: the hipError_t; 0 where the runtime is missing."""

    def __init__(self, words: str, code: int = 0) -> None:
        super().__init__(words)
        self.code = code


class Driver:
    """The runtime. Every method raises DriverError with the runtime's name of the error.

    path: of the library. version: (major, minor) of HIP, which are those of ROCm.
    """

    def __init__(self) -> None:
        try:
            self.library, self.path = libraries.open_runtime()
        except libraries.RuntimeMissing as error:
            raise DriverError(f"{error}; {libraries.FIX}") from None
        for name in ("hipGetErrorName", "hipGetErrorString"):
            if not self.address(name):
                raise DriverError(f"{self.path} is no HIP runtime: it has no {name}")
            getattr(self.library, name).restype = ctypes.c_char_p
        code = self.library.hipInit(0) if self.address("hipInit") else 0
        if code in _NO_DEVICE:
            raise DriverError(f"the HIP runtime {self.path} finds no GPU ({self.words(code)}){_permission()}", code)
        if code:
            raise DriverError(f"hipInit failed: {self.words(code)}", code)
        self._binaries: list[bytes] = []
        self.version = self._version()
        if self.version < OLDEST:
            raise DriverError(
                f"the HIP runtime {self.path} is {self.version[0]}.{self.version[1]}, which is too old: tile-hip needs "
                f"{OLDEST[0]}.{OLDEST[1]} or newer, as its kernels are code objects of version 5; {libraries.FIX}"
            )

    @staticmethod
    def shared() -> Driver:
        """The runtime of this process; the first call initializes it."""
        with _shared_lock:
            return _shared()

    def call(self, name: str, *args: Any) -> None:
        """``hipName(*args)``; raises DriverError unless it succeeds."""
        try:
            function = getattr(self.library, name)
        except AttributeError:
            raise DriverError(f"the HIP runtime {self.path} has no {name}; {libraries.FIX}") from None
        code = function(*args)
        if code:
            self.forget_error()
            raise DriverError(f"{name} failed: {self.words(code)}", code)

    def forget_error(self) -> None:
        """Clears the error that the runtime keeps for the thread; torch would take it for one of its own launches."""
        if self.address("hipGetLastError"):
            self.library.hipGetLastError()

    def address(self, name: str) -> int:
        """The address of a function; 0 where the runtime has no function of that name."""
        try:
            return ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value or 0
        except AttributeError:
            return 0

    def functions(self) -> DriverFunctions:
        """The functions that a launch calls; handles are numbers of devices."""
        return DriverFunctions(
            launch=self.address("hipModuleLaunchKernel"),
            get_current=self.address("hipGetDevice"),
            set_current=self.address("hipSetDevice"),
            numbered=True,
        )

    def words(self, code: int) -> str:
        """``hipErrorName (code): description``."""
        name = (self.library.hipGetErrorName(code) or b"").decode(errors="replace")
        text = (self.library.hipGetErrorString(code) or b"").decode(errors="replace")
        words = f"{name} ({code})" if name else f"error {code}"
        return f"{words}: {text}" if text and text != name else words

    def _version(self) -> tuple[int, int]:
        version = ctypes.c_int()
        self.call("hipRuntimeGetVersion", ctypes.byref(version))
        return version.value // 10_000_000, version.value // 100_000 % 100

    # -- devices ------------------------------------------------------------------------------------------------

    def device_count(self) -> int:
        count = ctypes.c_int()
        try:
            self.call("hipGetDeviceCount", ctypes.byref(count))
        except DriverError as error:
            if error.code not in _NO_DEVICE:
                raise
        return count.value

    def device_name(self, index: int) -> str:
        """The marketing name and the architecture, as in "AMD Instinct MI300X (gfx942)"."""
        name = ctypes.create_string_buffer(256)
        self.call("hipDeviceGetName", name, len(name), index)
        text = name.value.decode(errors="replace").strip()
        return f"{text} ({self.arch(index)})" if text else self.arch(index)

    def arch(self, index: int) -> str:
        """The device's architecture without its features: gfx942, where the runtime says gfx942:sramecc+:xnack-.

        It stands in hipDeviceProp_t, behind fields whose number differs between versions; so it is searched there.
        """
        record = ctypes.create_string_buffer(_PROPERTIES_BYTES)
        newer = self.address("hipGetDevicePropertiesR0600")
        self.call("hipGetDevicePropertiesR0600" if newer else "hipGetDeviceProperties", record, index)
        match = _ARCH.search(record.raw, 256)  # the first 256 bytes are the device's name
        if match is None:
            raise DriverError(f"the HIP runtime {self.path} does not say the architecture of device {index}")
        return match[0].decode().partition(":")[0]

    def limits(self, index: int) -> dict[str, Any]:
        """The limits of a device: "threads" and "shared" (bytes) of a block, "grid": blocks along x, y and z."""
        return {
            "threads": self._attribute(_MAX_THREADS, index),
            "shared": self._attribute(_MAX_SHARED, index),
            "grid": tuple(self._attribute(attribute, index) for attribute in _MAX_GRID),
        }

    def units(self, index: int) -> int:
        """The number of compute units of a device (of pairs of them, where HIP counts those)."""
        return self._attribute(_PROCESSORS, index)

    def _attribute(self, attribute: int, index: int) -> int:
        value = ctypes.c_int()
        self.call("hipDeviceGetAttribute", ctypes.byref(value), attribute, index)
        return value.value

    def current_device(self) -> int:
        """The index of the device that the thread uses."""
        device = ctypes.c_int()
        self.call("hipGetDevice", ctypes.byref(device))
        return device.value

    def inside(self, index: int) -> _Inside:
        """``with driver.inside(0):`` makes a device current in this thread."""
        return _Inside(self, index)

    def capture(self, stream: int) -> int:
        """The id of the graph capture that records the stream's launches; 0 for none."""
        status, capture_id = ctypes.c_int(), ctypes.c_uint64()
        arguments = ctypes.c_void_p(stream), ctypes.byref(status), ctypes.byref(capture_id)
        try:
            self.call("hipStreamGetCaptureInfo", *arguments)
        except DriverError:  # the default stream, which cannot be captured, while another stream is captured
            return 0
        return capture_id.value if status.value == _CAPTURE_ACTIVE else 0

    def synchronize(self, index: int) -> None:
        """Waits until all work on the device has ended."""
        with self.inside(index):
            self.call("hipDeviceSynchronize")

    # -- modules ------------------------------------------------------------------------------------------------

    def load_module(self, binary: bytes) -> int:
        """Loads a code object on the current device; allowed while a stream is captured.

        The runtime may refer to the binary for as long as the module exists, which is never unloaded.
        """
        self._binaries.append(binary)
        module = ctypes.c_void_p()
        with self.relaxed():
            self.call("hipModuleLoadData", ctypes.byref(module), binary)
        return module.value or 0

    def function(self, module: int, symbol: str) -> int:
        handle = ctypes.c_void_p()
        self.call("hipModuleGetFunction", ctypes.byref(handle), ctypes.c_void_p(module), symbol.encode())
        return handle.value or 0

    def function_attribute(self, function: int, attribute: int) -> int:
        value = ctypes.c_int()
        self.call("hipFuncGetAttribute", ctypes.byref(value), attribute, ctypes.c_void_p(function))
        return value.value

    def variable(self, module: int, symbol: str) -> tuple[int, int]:
        """(the address, the bytes) of a global variable of a module."""
        address, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.call(
            "hipModuleGetGlobal", ctypes.byref(address), ctypes.byref(size), ctypes.c_void_p(module), symbol.encode()
        )
        return address.value or 0, size.value

    # A call that waits for the whole device, or copies on no stream, would invalidate the captures of all threads.
    # These three keep to one stream, and are allowed beside captures inside of ``relaxed``.

    def wait(self, stream: int) -> None:
        """Waits until the work of a stream has ended."""
        self.call("hipStreamSynchronize", ctypes.c_void_p(stream))

    def read(self, address: int, size: int, stream: int) -> bytes:
        """``size`` bytes of the device's memory."""
        buffer = ctypes.create_string_buffer(size)
        source, count = ctypes.c_void_p(address), ctypes.c_size_t(size)
        self.call("hipMemcpyAsync", buffer, source, count, _DEVICE_TO_HOST, ctypes.c_void_p(stream))
        self.wait(stream)
        return buffer.raw

    def clear(self, address: int, size: int, stream: int) -> None:
        """Sets bytes of the device's memory to 0."""
        self.call("hipMemsetAsync", ctypes.c_void_p(address), 0, ctypes.c_size_t(size), ctypes.c_void_p(stream))
        self.wait(stream)

    @contextlib.contextmanager
    def relaxed(self) -> Iterator[None]:
        """What the thread does inside is allowed while other streams are captured."""
        mode = ctypes.c_int(_CAPTURE_RELAXED)
        has_modes = self.address("hipThreadExchangeStreamCaptureMode")
        exchanged = has_modes and self.library.hipThreadExchangeStreamCaptureMode(ctypes.byref(mode)) == 0
        try:
            yield
        finally:
            if exchanged:
                self.library.hipThreadExchangeStreamCaptureMode(ctypes.byref(mode))


_shared_lock = threading.Lock()


@functools.lru_cache(maxsize=1)
def _shared() -> Driver:
    return Driver()


def _permission() -> str:
    """What else to check where the kernel driver lists GPUs and the runtime finds none; "" where nothing is known."""
    problem = permission_problem()
    return f"; {problem}" if problem else ""


class _Inside:
    def __init__(self, driver: Driver, index: int) -> None:
        self._driver = driver
        self._index = index
        self._before = index

    def __enter__(self) -> None:
        self._before = self._driver.current_device()
        if self._before != self._index:
            self._driver.call("hipSetDevice", self._index)

    def __exit__(self, *error: object) -> None:
        if self._before != self._index:
            self._driver.call("hipSetDevice", self._before)
