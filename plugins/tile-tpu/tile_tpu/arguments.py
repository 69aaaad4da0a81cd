"""A call as the device takes it: the struct of arguments, and the tensors that it points to.

A kernel's struct has a field for each slot of an artifact, in order: tensors and workspaces as 64-bit addresses,
scalars in their own type (bool and 8-bit floats a byte, 16-bit floats their bits), sizes in the type of their symbol;
at C's natural alignment. ``Entry.attributes["fields"]`` has the types, ``"cores"`` the work items of the launch, each
of which gets the same struct.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tilecore.dtypes import FACTS
from tilecore.runtime.artifact import Artifact, Entry, ScalarParam, TensorParam, Workspace
from tilecore.runtime.dims import evaluate

_BY_BITS = {8: ctypes.c_uint8, 16: ctypes.c_uint16, 32: ctypes.c_uint32, 64: ctypes.c_uint64}


@dataclass(frozen=True)
class TensorSlot:
    """A tensor of a call: its bytes from the first element to the last. access: "r", "w" or "rw"."""

    name: str
    address: int
    nbytes: int
    access: str


@dataclass(frozen=True)
class Call:
    """One kernel of a launch. tensors, then scalars (of the fields' sizes) are the fields of its struct."""

    symbol: str
    cores: int
    tensors: Sequence[TensorSlot]
    scalars: Sequence[Any]

    def struct(self, addresses: Sequence[int]) -> bytes:
        """The struct of one work item, with the tensors at these addresses of the device."""
        values = [*(ctypes.c_uint64(a) for a in addresses), *self.scalars]
        fields = [(f"f{i}", type(value)) for i, value in enumerate(values)]
        record = type("Arguments", (ctypes.Structure,), {"_fields_": fields})
        return bytes(record(*values))


def slots_of(artifact: Artifact, slots_address: int, grids_address: int) -> Iterator[Call]:
    """The kernels to launch, in order, from what a launcher hands over (``tilecore.runtime.adapter.LoadedKernel``).
    Kernels without blocks are left out."""
    tensors = [p for p in artifact.params if isinstance(p, TensorParam)]
    scalars = [p for p in artifact.params if isinstance(p, ScalarParam)]
    fixed = len(tensors) + len(artifact.workspaces) + len(scalars)
    slots = list((ctypes.c_int64 * (fixed + len(artifact.symbols))).from_address(slots_address))
    symbols = {s.name: value for s, value in zip(artifact.symbols, slots[fixed:], strict=True)}
    memory: list[TensorParam | Workspace] = [*tensors, *artifact.workspaces]
    placed = [_slot(p, slots[i] & (2**64 - 1), symbols) for i, p in enumerate(memory)]
    grids = (ctypes.c_int64 * (4 * len(artifact.entries))).from_address(grids_address)
    for number, entry in enumerate(artifact.entries):
        if 0 not in grids[4 * number : 4 * number + 3]:
            yield Call(entry.symbol, cores_of(entry), placed, _scalars(entry, slots[len(memory) :], len(memory)))


def cores_of(entry: Entry) -> int:
    """Work items of the launch."""
    return int(entry.attributes.get("cores", 1))


def _scalars(entry: Entry, values: Sequence[int], first: int) -> list[Any]:
    """Behind them an artifact may have symbols that are scalars under another name."""
    kinds = [_BY_BITS[max(FACTS[name].bits, 8)] for name in entry.attributes["fields"][first:]]
    return [kind(value & (2 ** (8 * ctypes.sizeof(kind)) - 1)) for kind, value in zip(kinds, values, strict=False)]


def _slot(param: TensorParam | Workspace, address: int, symbols: dict[str, int]) -> TensorSlot:
    shape = [evaluate(d, symbols) for d in param.shape]
    strides = getattr(param, "strides", None)
    packed = getattr(param, "packed", 1)
    if strides is None:
        span = 1
        for size in shape:
            span *= size
    else:
        steps = [evaluate(d, symbols) for d in strides]
        span = 0 if 0 in shape else 1 + sum((n - 1) * abs(s) for n, s in zip(shape, steps, strict=True))
    access = getattr(param, "access", "rw")
    if packed > 1 and "w" in access:
        access = "rw"  # one element's store keeps the others of its byte
    nbytes = -(-span // packed) if packed > 1 else span * ((FACTS[param.dtype].bits + 7) // 8)
    return TensorSlot(param.name, address, nbytes, access)
