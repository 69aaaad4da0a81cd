"""bmlib, the runtime of BM1684X and BM1688, on the CModel.

The kernel library is the firmware: ``TPUKERNEL_FIRMWARE_PATH`` names it before the device is opened, and loading a
module does nothing. A launch is one work item, as the CModel does not launch on several cores
(``tpu_kernel_launch_sync_multi_cores`` returns "not implemented"). Signatures are those of PPL's
``deps/runtime/bmlib/include/bmlib_runtime.h``.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_ulong, c_void_p
from typing import Any

from tile_tpu.runtimes.records import RuntimeFailure


class _Memory(ctypes.Structure):
    """bm_mem_desc"""

    _fields_ = [
        ("address", c_ulong), ("reserved", c_uint), ("descriptor", c_int), ("flags", c_uint), ("size", c_uint),
    ]  # fmt: skip


_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "bm_dev_request": (c_void_p, c_int),
    "bm_malloc_device_byte": (c_void_p, POINTER(_Memory), c_uint),
    "bm_memcpy_s2d": (c_void_p, _Memory, c_void_p),
    "bm_memcpy_d2s": (c_void_p, c_void_p, _Memory),
    "bm_thread_sync": (c_void_p,),
    "tpu_kernel_get_function": (c_void_p, c_void_p, c_char_p),
    "tpu_kernel_launch": (c_void_p, c_int, c_char_p, c_size_t),
}


class Bmlib:
    """The runtime on one device. path: the path of the library. Raises RuntimeFailure."""

    def __init__(self, path: str, device: int = 0) -> None:
        try:
            self.library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_GLOBAL)
            for name, types in _SIGNATURES.items():
                function = getattr(self.library, name)
                function.argtypes, function.restype = types, c_int
            self.library.bm_free_device.argtypes = (c_void_p, _Memory)
            self.library.bm_free_device.restype = None
            self.library.tpu_kernel_load_module_file.argtypes = (c_void_p, c_char_p)
            self.library.tpu_kernel_load_module_file.restype = c_void_p
        except (OSError, AttributeError) as error:
            raise RuntimeFailure(f"{path} cannot be used: {error}") from None
        self.handle = c_void_p()
        self._memory: dict[int, _Memory] = {}
        self._functions: dict[tuple[int, str], int] = {}
        _check("bm_dev_request", self.library.bm_dev_request(ctypes.byref(self.handle), device))

    def load(self, path: str) -> int:
        module = self.library.tpu_kernel_load_module_file(self.handle, os.fsencode(path))
        if not module:
            raise RuntimeFailure(f"the runtime cannot load the kernels of {path}")
        return module

    def allocate(self, nbytes: int) -> int:
        memory = _Memory()
        code = self.library.bm_malloc_device_byte(self.handle, ctypes.byref(memory), nbytes)
        _check("bm_malloc_device_byte", code, f"of {nbytes} bytes")
        self._memory[memory.address] = memory
        return memory.address

    def free(self, address: int) -> None:
        self.library.bm_free_device(self.handle, self._memory.pop(address))

    def to_device(self, address: int, host: int, nbytes: int) -> None:
        _check("bm_memcpy_s2d", self.library.bm_memcpy_s2d(self.handle, self._part(address, nbytes), host))

    def to_host(self, host: int, address: int, nbytes: int) -> None:
        _check("bm_memcpy_d2s", self.library.bm_memcpy_d2s(self.handle, host, self._part(address, nbytes)))

    def launch(self, module: int, entry: str, arguments: bytes, items: int) -> None:
        if items != 1:
            raise RuntimeFailure(f"{entry} cannot be launched as {items} work items: bmlib's CModel launches one only")
        function = self._functions.get((module, entry))
        if function is None:
            function = self.library.tpu_kernel_get_function(self.handle, module, entry.encode())
            self._functions[module, entry] = function
        arguments_copy = ctypes.create_string_buffer(
            arguments, len(arguments)
        )  # a copy, as the kernel could write there
        _check(
            "tpu_kernel_launch",
            self.library.tpu_kernel_launch(self.handle, function, arguments_copy, len(arguments_copy)),
            entry,
        )

    def wait(self) -> None:
        _check("bm_thread_sync", self.library.bm_thread_sync(self.handle))

    def _part(self, address: int, nbytes: int) -> _Memory:
        """The descriptor of a range of bytes inside an allocation."""
        for start, whole in self._memory.items():
            if start <= address and address + nbytes <= start + whole.size:
                return _Memory(address, whole.reserved, whole.descriptor, whole.flags, nbytes)
        raise RuntimeFailure(f"{nbytes} bytes at {address:#x} are in no allocation")


def _check(function: str, code: int, detail: str = "") -> None:
    if code:
        raise RuntimeFailure(f"{function} {detail}".strip() + f" failed with code {code}")
