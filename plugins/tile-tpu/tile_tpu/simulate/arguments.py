"""Arguments of a kernel: tensors with an address on the device, scalars, and the struct that holds them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilecore.errors import ArgumentError

ACCESS = {"r": 1, "w": 2, "rw": 3}
_ALIGNMENT, _GUARD, _FIRST = 4096, 1 << 20, 1 << 26  # L2 of bm1688 lies before it


@dataclass(frozen=True)
class Tensor:
    """Bytes that the kernel gets an address of.

    address: on the host. nbytes: as many. access: "r", "w" (they start unwritten) or "rw". owner: keeps them alive.
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
            raise ArgumentError(f"{name}: the simulator copies arrays as they lie", expected="a C-contiguous array")
        if access not in ACCESS:
            raise ArgumentError(f"{name}: no such access", found=repr(access), expected=", ".join(ACCESS))
        if access != "r" and not array.flags.writeable:
            raise ArgumentError(f"{name}: the kernel may write it, but the array is read-only")
        return Tensor(name, array.ctypes.data, array.nbytes, access, array)


@dataclass(frozen=True)
class Placed:
    """One block of device memory: tensors that overlap on the host share one."""

    name: str
    host: int
    nbytes: int
    access: int
    address: int


def place(tensors: Sequence[Tensor], global_base: int) -> tuple[list[Placed], list[int]]:
    """Blocks with guard gaps between them, and the device address of each tensor."""
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
    """A C struct of ctypes values, at their natural alignment."""
    fields = [(f"f{i}", type(value)) for i, value in enumerate(values)]
    record = type("Arguments", (ctypes.Structure,), {"_fields_": fields})
    return bytes(record(*values))


def split(arguments: Sequence[Any]) -> list[Tensor | Any]:
    """Numpy arrays become tensors named after their place; ctypes scalars stay."""
    values = []
    for index, value in enumerate(arguments):
        if isinstance(value, np.ndarray):
            value = Tensor.of(f"argument {index}", value)
        elif not isinstance(value, (Tensor, ctypes._SimpleCData)):
            raise ArgumentError(
                f"argument {index} is of a type that the simulator does not take",
                found=type(value).__name__,
                expected="a numpy array, a Tensor, or a ctypes scalar such as ctypes.c_int(3)",
            )
        values.append(value)
    return values
