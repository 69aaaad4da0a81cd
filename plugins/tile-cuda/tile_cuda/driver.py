"""The CUDA driver API through ctypes. The library is opened at the first use, so importing this needs no CUDA."""

from __future__ import annotations

import ctypes
import functools
import threading
from typing import Any

from tilecore.runtime.device_kernels import DriverFunctions

DRIVER = "libcuda.so.1"
# CUdevice_attribute
_MAX_THREADS, _MAX_SHARED, _WARP, _PROCESSORS = 1, 8, 10, 16
_MAX_GRID = (5, 6, 7)
_MAJOR, _MINOR = 75, 76
_MAX_SHARED_OPT_IN = 97
MAX_PERSISTING_L2, MAX_WINDOW = 108, 109  # bytes of L2 for persisting accesses; bytes of an access policy window
# CUfunction_attribute
FUNCTION_THREADS, FUNCTION_STATIC_SHARED, FUNCTION_REGISTERS, FUNCTION_DYNAMIC_SHARED = 0, 1, 4, 8
FUNCTION_LOCAL_BYTES, FUNCTION_CARVEOUT, FUNCTION_CLUSTER_WIDTH, FUNCTION_CLUSTER_ANY_SIZE = 3, 9, 11, 14
LIMIT_PERSISTING_L2 = 6  # CUlimit
_CAPTURE_ACTIVE = 1  # CUstreamCaptureStatus


class DriverError(Exception):
    """The driver is missing, or one of its functions failed. code: the CUresult; 0 where the driver is missing."""

    def __init__(self, words: str, code: int = 0) -> None:
        super().__init__(words)
        self.code = code


class Driver:
    """The driver library. Every method raises DriverError with the driver's name of the error."""

    def __init__(self, path: str = DRIVER) -> None:
        self.path = path
        try:
            self.library = ctypes.CDLL(path)
        except OSError as error:
            reason = "" if "No such file" in str(error) else f" ({error})"
            raise DriverError(f"the driver library {path} cannot be opened{reason}") from None
        self._lock = threading.Lock()
        self._contexts: dict[int, int] = {}
        self.call("cuInit", 0)

    @staticmethod
    @functools.lru_cache(maxsize=1)
    def shared() -> Driver:
        """The driver of this process; the first call initializes it."""
        return Driver()

    def call(self, name: str, *args: Any) -> None:
        """``cuName(*args)``; raises DriverError unless it succeeds."""
        try:
            function = getattr(self.library, name)
        except AttributeError:
            raise DriverError(f"the driver is too old: it has no {name}") from None
        code = function(*args)
        if code:
            raise DriverError(f"{name} failed: {self.words(code)}", code)

    def address(self, name: str) -> int:
        """The address of a function; 0 where the driver has no function of that name."""
        try:
            return ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value or 0
        except AttributeError:
            return 0

    def functions(self) -> DriverFunctions:
        """The functions that a launch calls; handles are contexts."""
        return DriverFunctions(
            launch=self.address("cuLaunchKernel"),
            get_current=self.address("cuCtxGetCurrent"),
            set_current=self.address("cuCtxPushCurrent_v2"),
            restore=self.address("cuCtxPopCurrent_v2"),
        )

    def words(self, code: int) -> str:
        """``CUDA_ERROR_NAME (code): description``."""
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        has_name = self.library.cuGetErrorName(code, ctypes.byref(name)) == 0 and name.value
        has_description = self.library.cuGetErrorString(code, ctypes.byref(text)) == 0 and text.value
        words = f"{name.value.decode()} ({code})" if has_name and name.value else f"error {code}"
        return f"{words}: {text.value.decode()}" if has_description and text.value else words

    # -- devices ------------------------------------------------------------------------------------------------

    def version(self) -> int:
        """1000 * major + 10 * minor of the newest CUDA that the driver supports."""
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        return version.value

    def device_count(self) -> int:
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    def device_name(self, index: int) -> str:
        name = ctypes.create_string_buffer(128)
        self.call("cuDeviceGetName", name, len(name), self._device(index))
        return name.value.decode(errors="replace")

    def capability(self, index: int) -> tuple[int, int]:
        return self._attribute(_MAJOR, index), self._attribute(_MINOR, index)

    def limits(self, index: int) -> dict[str, Any]:
        """The limits of a device: "threads" and "shared" (bytes) of a block, "grid": blocks along x, y and z."""
        return {
            "threads": self._attribute(_MAX_THREADS, index),
            "shared": max(self._attribute(_MAX_SHARED_OPT_IN, index), self._attribute(_MAX_SHARED, index)),
            "grid": tuple(self._attribute(attribute, index) for attribute in _MAX_GRID),
        }

    def device_attribute(self, attribute: int, index: int) -> int:
        """The value of a CUdevice_attribute on the device ``index``."""
        return self._attribute(attribute, index)

    def _device(self, index: int) -> ctypes.c_int:
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), index)
        return device

    def _attribute(self, attribute: int, index: int) -> int:
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, self._device(index))
        return value.value

    # -- contexts -----------------------------------------------------------------------------------------------

    def context(self, index: int) -> int:
        """The primary context of a device, which torch uses too; it is retained until the process ends."""
        with self._lock:
            context = self._contexts.get(index)
            if context is None:
                handle = ctypes.c_void_p()
                self.call("cuDevicePrimaryCtxRetain", ctypes.byref(handle), self._device(index))
                context = self._contexts[index] = handle.value or 0
            return context

    def current_context(self) -> int:
        """The context of the calling thread; 0 for none."""
        handle = ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(handle))
        return handle.value or 0

    def current_device(self) -> int | None:
        """The index of the device whose context is current; None where no context is."""
        if not self.current_context():
            return None
        device = ctypes.c_int()
        self.call("cuCtxGetDevice", ctypes.byref(device))
        return device.value

    def inside(self, index: int) -> _Inside:
        """``with driver.inside(0):`` makes a device's primary context current."""
        return _Inside(self, self.context(index))

    def context_limit(self, limit: int) -> int:
        """The value of a CUlimit of the current context, in bytes."""
        value = ctypes.c_size_t()
        self.call("cuCtxGetLimit", ctypes.byref(value), limit)
        return value.value

    def set_context_limit(self, limit: int, value: int) -> None:
        self.call("cuCtxSetLimit", limit, ctypes.c_size_t(value))

    def capture(self, stream: int) -> int:
        """The id of the graph capture that records the stream's launches; 0 for none."""
        status, capture_id = ctypes.c_int(), ctypes.c_uint64()
        try:
            if hasattr(self.library, "cuStreamGetCaptureInfo_v2"):
                name, unused_outputs = "cuStreamGetCaptureInfo_v2", [None] * 3
            else:  # before CUDA 11.3
                name, unused_outputs = "cuStreamGetCaptureInfo", []
            self.call(name, ctypes.c_void_p(stream), ctypes.byref(status), ctypes.byref(capture_id), *unused_outputs)
        except DriverError:  # the legacy stream, which cannot be captured, while another stream is captured
            return 0
        return capture_id.value if status.value == _CAPTURE_ACTIVE else 0

    # -- modules ------------------------------------------------------------------------------------------------

    def zeros(self, size: int) -> int:
        """The address of new memory of ``size`` zero bytes on the current device; it is never freed."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self.call("cuMemsetD8_v2", address, ctypes.c_ubyte(0), ctypes.c_size_t(size))
        return int(address.value)

    def allocate(self, size: int, index: int) -> int:
        """The address of new memory on a device; :meth:`free` gives it back."""
        address = ctypes.c_uint64()
        with self.inside(index):
            self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        return int(address.value)

    def free(self, address: int, index: int) -> None:
        """Gives memory of :meth:`allocate` back, once all work on the device that was queued before has ended."""
        with self.inside(index):
            self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def load_module(self, binary: bytes) -> int:
        """Loads a module into the current context; allowed while a stream is captured."""
        mode = ctypes.c_int(2)  # CU_STREAM_CAPTURE_MODE_RELAXED
        exchanged = self.library.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)) == 0
        module = ctypes.c_void_p()
        try:
            self.call("cuModuleLoadData", ctypes.byref(module), binary)
        finally:
            if exchanged:
                self.library.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
        return module.value or 0

    def function(self, module: int, symbol: str) -> int:
        handle = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(handle), ctypes.c_void_p(module), symbol.encode())
        return handle.value or 0

    def function_attribute(self, function: int, attribute: int) -> int:
        value = ctypes.c_int()
        self.call("cuFuncGetAttribute", ctypes.byref(value), attribute, ctypes.c_void_p(function))
        return value.value

    def set_function_attribute(self, function: int, attribute: int, value: int) -> None:
        self.call("cuFuncSetAttribute", ctypes.c_void_p(function), attribute, value)

    def blocks_at_once(self, function: int, threads: int, shared_bytes: int, index: int) -> int:
        """The number of blocks of a function that can be resident on the device at once."""
        blocks = ctypes.c_int()
        self.call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(blocks), ctypes.c_void_p(function), threads,
            ctypes.c_size_t(shared_bytes),
        )  # fmt: skip
        return blocks.value * self._attribute(_PROCESSORS, index)

    def synchronize(self, index: int) -> None:
        """Waits until all work on the device has ended."""
        with self.inside(index):
            self.call("cuCtxSynchronize")


class _Inside:
    def __init__(self, driver: Driver, context: int) -> None:
        self._driver = driver
        self._context = context

    def __enter__(self) -> None:
        self._driver.call("cuCtxPushCurrent_v2", ctypes.c_void_p(self._context))

    def __exit__(self, *error: object) -> None:
        self._driver.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
