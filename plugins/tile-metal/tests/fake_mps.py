"""A torch with the device "mps", without a Mac: tensors that say that they are there, and torch.mps.compile_shader.

The rules for arguments are torch's (ATen/native/mps/MetalShaderLibrary.h). Programs run on the simulated device.

Kept are: ints in 8 bytes, floats in 4, unless a cast says otherwise; no casts to uint16 or uint32; threads, not
threadgroups; limits of threads and of buffers; errors as exceptions of several types. Tensors of the host are refused.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any, ClassVar

import pytest
import torch
from host_programs import HostProgram, Kernel

from tilecore.simulate.arguments import Tensor

_CASTS = {"fp16": "e", "int32": "i", "int16": "h", "int8": "b", "uint8": "B"}
_handles: dict[tuple[int, int], int] = {}


class _Storage:
    def __init__(self, handle: int) -> None:
        self._handle = handle

    def data_ptr(self) -> int:
        return self._handle


class MpsTensor(torch.Tensor):
    """A tensor whose address is the handle of a buffer plus an offset. Handles are close to each other."""

    device = property(lambda self: torch.device("mps", 0))
    is_cpu = property(lambda self: False)
    # makes the handle of the buffer for a storage, of its address and size; None: a number
    make_handle: ClassVar[Callable[[int, int], int] | None] = None

    def untyped_storage(self) -> Any:
        storage = super().untyped_storage()
        if not storage.nbytes():
            return _Storage(0)
        place = storage.data_ptr(), storage.nbytes()
        if place not in _handles:
            make = type(self).make_handle
            _handles[place] = 0x600000 + 64 * len(_handles) if make is None else make(*place)
        return _Storage(_handles[place])

    def host_address(self) -> int:
        return super().data_ptr()

    def data_ptr(self) -> int:
        handle = self.untyped_storage().data_ptr()
        return handle and handle + self.storage_offset() * self.element_size()

    def cpu(self) -> torch.Tensor:
        return self.as_subclass(torch.Tensor).clone()


def mps(tensor: Any) -> Any:
    """A copy of a tensor on "mps"."""
    return torch.as_tensor(tensor).clone().as_subclass(MpsTensor)


class FakeKernel:
    """What an attribute of a library is."""

    def __init__(self, torch_mps: FakeMps, program: HostProgram, kernel: Kernel) -> None:
        self._mps, self._program, self._kernel = torch_mps, program, kernel
        self.max_threads_per_threadgroup = torch_mps.most_threads or kernel.bound
        self.thread_execution_width = 32
        self.static_thread_group_memory_length = torch_mps.threadgroup_bytes or kernel.threadgroup_bytes

    def __call__(
        self, *args: Any, threads: Any = None, group_size: Any = None, arg_casts: Any = None, error_buf_idx: Any = None
    ) -> None:
        assert len(args) <= 31, "a Mac ends the process"
        values: list[Tensor | bytes] = []
        for index, value in enumerate(args):
            if isinstance(value, torch.Tensor):
                if not isinstance(value, MpsTensor):
                    raise RuntimeError("Passed CPU tensor to MPS op")
                if threads is None:
                    threads = value.numel()
                values.append(self._buffer(index, value))
            else:
                cast = arg_casts.get(index, "") if isinstance(arg_casts, dict) else arg_casts or ""
                values.append(_packed(value, cast))
        threads, group_size = _axes(threads), _axes(group_size or min(threads, self.max_threads_per_threadgroup))
        if len(threads) != len(group_size):
            raise RuntimeError("size and group_size must have same number of dimensions")
        if prod(group_size) > self.max_threads_per_threadgroup:
            raise ValueError(f"Threadgroup size exceeds {self.max_threads_per_threadgroup} limit")
        assert all(threads), "a Mac ends the process"
        assert not [t for t, g in zip(threads, group_size, strict=True) if t % g], "smaller threadgroups at the edge"
        self._mps.calls.append((self._kernel.symbol, args, threads, group_size, arg_casts))
        if self._mps.fails:
            raise self._mps.fails.pop()
        grid = [t // g for t, g in zip(threads, group_size, strict=True)]
        self._program.run(self._kernel.symbol, values, grid, group_size)

    def _buffer(self, index: int, value: MpsTensor) -> Tensor:
        access = self._kernel.parameters[index].access if index < len(self._kernel.parameters) else "rw"
        name, dtype = str(index), str(value.dtype).removeprefix("torch.")
        return Tensor(name, value.host_address(), dtype, tuple(value.shape), access, value.stride(), 1, value)


class FakeMps:
    """What stands for the module torch.mps. calls: of kernels. waits: calls of synchronize. fails: errors of the next
    calls. refuses: the error of the next compilation. most_threads, threadgroup_bytes: of kernels, 0: as in the text.
    """

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.waits = self.compiled = self.most_threads = self.threadgroup_bytes = 0
        self.fails: list[Exception] = []
        self.refuses: Exception | None = None

    def compile_shader(self, source: str) -> Any:
        if self.refuses is not None:
            refused, self.refuses = self.refuses, None
            raise refused
        self.compiled += 1
        program = HostProgram(source)
        kernels = {name: FakeKernel(self, program, kernel) for name, kernel in program.kernels.items()}
        return type("Library", (), kernels)()

    def synchronize(self) -> None:
        self.waits += 1
        if self.fails:
            raise self.fails.pop()


def _packed(value: Any, cast: str) -> bytes:
    if isinstance(value, (list, tuple)):
        data = b"".join(_packed(element, cast) for element in value)
        assert len(data) <= 4096, "setBytes takes 4 KiB"
        return data
    if cast == "bf16":
        return struct.pack("<f", value)[2:]
    if cast and cast not in _CASTS:
        raise RuntimeError(f"Unsupported cast {cast}")
    if cast:
        return struct.pack("<" + _CASTS[cast], value)
    return struct.pack("<q" if isinstance(value, int) else "<f", value)


def _axes(value: Any) -> list[int]:
    axes = [value] if isinstance(value, int) else list(value)
    if not 1 <= len(axes) <= 3:
        raise RuntimeError("Number of threads is undefined or has wrong dimension")
    return axes


@contextmanager
def torch_with_mps(patch: pytest.MonkeyPatch) -> Iterator[FakeMps]:
    """Puts the stand-in into torch, for as long as ``patch`` lives."""
    fake = FakeMps()
    patch.setattr(torch, "mps", fake)
    patch.setattr(torch.backends.mps, "is_built", lambda: True)
    patch.setattr(torch.backends.mps, "is_available", lambda: True)
    for name in ("empty", "zeros", "ones", "randint", "empty_strided"):
        patch.setattr(torch, name, _on_mps(getattr(torch, name)))
    patch.setattr(torch.Tensor, "to", _moved(torch.Tensor.to))
    MpsTensor.make_handle = None
    _handles.clear()
    yield fake


def _moved(function: Any) -> Any:
    def to(self: Any, *args: Any, **keywords: Any) -> Any:
        device = str(keywords.get("device", args[0] if args else ""))
        if device.startswith("mps"):
            return self if isinstance(self, MpsTensor) else mps(self)
        if device == "cpu" and isinstance(self, MpsTensor):
            return self.cpu()
        return function(self, *args, **keywords)

    return to


def _on_mps(function: Any) -> Any:
    def allocate(*args: Any, device: Any = None, **keywords: Any) -> Any:
        if str(device).startswith("mps"):
            if keywords.get("dtype") == torch.float64:
                raise TypeError(
                    "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64"
                )
            return function(*args, **keywords).as_subclass(MpsTensor)
        return function(*args, device=device, **keywords)

    return allocate
