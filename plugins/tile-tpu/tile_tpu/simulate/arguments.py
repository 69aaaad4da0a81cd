"""Arguments of a kernel: tensors with an address on the device, scalars, and the struct that holds them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilecore.errors import ArgumentError

ACCESS = {"r": 1, "w": 2, "rw": 3}
_ALIGNMENT, _GUARD, _FIRST = 4096, 1 << 20, 1 << 26  # the L2 window of bm1688 is below _FIRST


@dataclass(frozen=True)
class Tensor:
    """Host memory that is a tensor of the kernel.

    address: the address on the host. nbytes: the size in bytes. access: "r", "w" (the bytes begin unwritten) or "rw".
    owner: the object that keeps the memory alive.
    """

    name: str
    address: int
    nbytes: int
    access: str = "rw"
    owner: Any = field(default=None, compare=False, repr=False)

    @staticmethod
    def of(name: str, array: np.ndarray, access: str = "rw") -> Tensor:
        """A numpy array of any element type, without gaps (C-contiguous)."""
        if not array.flags.c_contiguous:
            raise ArgumentError(
                f"{name}: the array is not contiguous",
                found=f"strides {array.strides}",
                expected="a C-contiguous array",
                hint="pass numpy.ascontiguousarray(array)",
            )
        if access not in ACCESS:
            raise ArgumentError(f"{name}: unknown access", found=repr(access), expected=", ".join(ACCESS))
        if access != "r" and not array.flags.writeable:
            raise ArgumentError(
                f"{name}: the kernel may write it, but the array is read-only",
                expected="a writeable array",
                hint='pass a copy, or Tensor.of(name, array, access="r")',
            )
        return Tensor(name, array.ctypes.data, array.nbytes, access, array)


@dataclass(frozen=True)
class Placed:
    """A block of device memory. Tensors that overlap on the host share a block."""

    name: str
    host: int
    nbytes: int
    access: int
    address: int


def place(tensors: Sequence[Tensor], global_base: int) -> tuple[list[Placed], list[int]]:
    """(the blocks, which have guards between them, the device address of each tensor)"""
    order = sorted(range(len(tensors)), key=lambda i: (tensors[i].address, -tensors[i].nbytes))
    groups: list[tuple[int, int, list[int]]] = []
    for i in order:
        begin, end = tensors[i].address, tensors[i].address + tensors[i].nbytes
        if groups and begin < groups[-1][1] and tensors[i].nbytes:
            first, last, members = groups[-1]
            groups[-1] = (first, max(last, end), [*members, i])
        else:
            groups.append((begin, end, [i]))
    blocks, addresses, at = [], [0] * len(tensors), global_base + _FIRST
    for begin, end, members in sorted(groups, key=lambda group: min(group[2])):
        access = 0
        for i in members:
            addresses[i] = at + tensors[i].address - begin
            access |= ACCESS[tensors[i].access]
        if len(members) > 1 and access == ACCESS["w"]:
            access = ACCESS["rw"]
        if end > begin:
            names = " and ".join(tensors[i].name for i in sorted(members))
            blocks.append(Placed(names, begin, end - begin, access, at))
        at = (at + (end - begin) + _GUARD + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
    return blocks, addresses


def pack(values: Sequence[Any]) -> bytes:
    """The bytes of a C struct of ctypes values, which have their natural alignment."""
    fields = [(f"f{i}", type(value)) for i, value in enumerate(values)]
    record = type("Arguments", (ctypes.Structure,), {"_fields_": fields})
    return bytes(record(*values))


def split(arguments: Sequence[Any]) -> list[Tensor | Any]:
    """The arguments, with numpy arrays as tensors that are named by their position. Scalars of ctypes stay."""
    values = []
    for index, value in enumerate(arguments):
        if isinstance(value, np.ndarray):
            value = Tensor.of(f"argument {index}", value)
        elif not isinstance(value, (Tensor, ctypes._SimpleCData)):
            raise ArgumentError(
                f"argument {index} has a type that the simulator does not support",
                found=type(value).__name__,
                expected="a numpy array, a Tensor, or a ctypes scalar such as ctypes.c_int(3)",
            )
        values.append(value)
    return values
