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

from tilecore.artifact.records import Artifact, Entry
from tilecore.dtypes import FACTS
from tilecore.runtime.slots import CallReader, ScalarSlot, TensorSlot

_BY_BITS = {8: ctypes.c_uint8, 16: ctypes.c_uint16, 32: ctypes.c_uint32, 64: ctypes.c_uint64}


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
    """The kernels to launch, in order, from what a launcher hands over (``tilecore.contract.adapter.LoadedKernel``).
    Kernels without blocks are left out."""
    call = CallReader(artifact)(slots_address, grids_address)
    for launch in call.launches:
        entry = launch.entry
        yield Call(entry.symbol, cores_of(entry), call.tensors, _scalars(entry, call.scalars, len(call.tensors)))


def cores_of(entry: Entry) -> int:
    """Work items of the launch."""
    return int(entry.attributes.get("cores", 1))


def _scalars(entry: Entry, values: Sequence[ScalarSlot], first: int) -> list[Any]:
    kinds = [_BY_BITS[max(FACTS[name].bits, 8)] for name in entry.attributes["fields"][first:]]
    return [kind(int.from_bytes(value.data, "little")) for kind, value in zip(kinds, values, strict=True)]
