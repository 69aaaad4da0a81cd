"""tpuRt (``libtpuv7_rt.so``), the runtime of BM1690 and SG2260E: the same functions on a card and on the CModel.

Signatures and the codes are those of PPL's ``deps/runtime/tpuv7-runtime/include/tpuv7_rt.h``.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import c_char_p, c_int, c_uint32, c_uint64, c_ulonglong, c_void_p
from typing import Any

from tile_tpu.runtimes.records import RuntimeFailure

CODES = (
    "success", "the device is not ready", "failure", "timeout", "invalid parameters", "out of memory", "wrong data",
    "busy", "no such feature", "not supported", "the runtime is not initialised", "no device", "no stream",
    "invalid value", "invalid handle", "memory cannot be allocated",
)  # fmt: skip
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "tpuRtInit": (),
    "tpuRtGetDeviceCount": (c_void_p,),
    "tpuRtSetDevice": (c_int,),
    "tpuRtStreamCreate": (c_void_p,),
    "tpuRtStreamSynchronize": (c_void_p,),
    "tpuRtMalloc": (c_void_p, c_ulonglong, c_int),
    "tpuRtFree": (c_void_p, c_int),
    "tpuRtMemcpyS2D": (c_void_p, c_void_p, c_ulonglong),
    "tpuRtMemcpyD2S": (c_void_p, c_void_p, c_ulonglong),
    "tpuRtKernelLaunch": (c_void_p, c_char_p, c_char_p, c_uint32, c_uint64, c_uint64, c_void_p),
}


def open_library(path: str) -> Any:
    """Opens the library and declares its functions. Raises RuntimeFailure."""
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_GLOBAL)
        for name, types in _SIGNATURES.items():
            function = getattr(library, name)
            function.argtypes, function.restype = types, c_int
        library.tpuRtKernelLoadModuleFile.argtypes = (c_char_p, c_void_p)
        library.tpuRtKernelLoadModuleFile.restype = c_void_p
    except (OSError, AttributeError) as error:
        raise RuntimeFailure(f"{path} cannot be used: {error}") from None
    return library


def device_count(library: Any) -> int:
    """Initialises the runtime, and returns the number of devices that it finds."""
    count = c_int(0)
    _check("tpuRtInit", library.tpuRtInit())
    _check("tpuRtGetDeviceCount", library.tpuRtGetDeviceCount(ctypes.byref(count)))
    return count.value


class TpuRt:
    """The runtime on one device, with one stream. Addresses are device addresses.

    path: the path of the library. Raises RuntimeFailure.
    """

    def __init__(self, path: str, device: int = 0) -> None:
        self.library = open_library(path)
        self.stream = c_void_p()
        self._modules: dict[str, int] = {}
        self._queued: list[Any] = []  # the arguments of launches that may still run
        _check("tpuRtInit", self.library.tpuRtInit())
        _check("tpuRtSetDevice", self.library.tpuRtSetDevice(device))
        _check("tpuRtStreamCreate", self.library.tpuRtStreamCreate(ctypes.byref(self.stream)))

    def load(self, path: str) -> int:
        """The module of a kernel library, which is loaded once."""
        module = self._modules.get(path)
        if module is None:
            module = self.library.tpuRtKernelLoadModuleFile(os.fsencode(path), self.stream)
            if not module:
                raise RuntimeFailure(f"the runtime cannot load the kernels of {path}")
            self._modules[path] = module
        return module

    def allocate(self, nbytes: int) -> int:
        address = c_void_p()
        _check("tpuRtMalloc", self.library.tpuRtMalloc(ctypes.byref(address), nbytes, 0), f"of {nbytes} bytes")
        return address.value or 0

    def free(self, address: int) -> None:
        self.library.tpuRtFree(ctypes.byref(c_void_p(address)), 0)

    def to_device(self, address: int, host: int, nbytes: int) -> None:
        _check("tpuRtMemcpyS2D", self.library.tpuRtMemcpyS2D(address, host, nbytes), f"of {nbytes} bytes")

    def to_host(self, host: int, address: int, nbytes: int) -> None:
        _check("tpuRtMemcpyD2S", self.library.tpuRtMemcpyD2S(host, address, nbytes), f"of {nbytes} bytes")

    def launch(self, module: int, entry: str, arguments: bytes, items: int) -> None:
        """Queues a launch of ``items`` work items, each with a copy of ``arguments``; :meth:`wait` waits for it."""
        # the runtime takes an array of the copies and its total size; the array must live until the launch is done
        copies = ctypes.create_string_buffer(arguments * items, len(arguments) * items)
        self._queued.append(copies)
        code = self.library.tpuRtKernelLaunch(module, entry.encode(), copies, len(copies), 1, items, self.stream)
        _check("tpuRtKernelLaunch", code, f"of {entry}")

    def wait(self) -> None:
        _check("tpuRtStreamSynchronize", self.library.tpuRtStreamSynchronize(self.stream))
        self._queued.clear()


def _check(function: str, code: int, detail: str = "") -> None:
    if code:
        meaning = CODES[code] if 0 <= code < len(CODES) else "unknown"
        raise RuntimeFailure(f"{function} {detail}".strip() + f" failed with code {code}: {meaning}")
