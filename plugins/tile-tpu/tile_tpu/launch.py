"""Launches: the struct of arguments of each kernel of a call, and the host memory that is copied to the device.

A kernel's struct has a field for each slot of an artifact, in order: tensors and workspaces as 64-bit addresses,
scalars in their own type (bool and 8-bit floats as a byte, 16-bit floats as their bits), sizes in the type of their
symbol. The fields have C's natural alignment. ``Entry.attributes["fields"]`` has the types of the fields, ``"cores"``
the number of work items of the launch, each of which gets the same struct.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tile_tpu.runtimes.records import Block, Launch, Pointer
from tilecore.artifact.records import Artifact, Entry
from tilecore.dtypes import FACTS
from tilecore.runtime.slots import CallReader, ScalarSlot, TensorSlot

_ADDRESS = 8  # bytes; addresses are the first fields of the struct
_BY_BITS = {8: ctypes.c_uint8, 16: ctypes.c_uint16, 32: ctypes.c_uint32, 64: ctypes.c_uint64}


@dataclass(frozen=True)
class Call:
    """The launch of one kernel. The fields of its struct are the tensors, then the scalars (with the fields' sizes)."""

    symbol: str
    cores: int
    tensors: Sequence[TensorSlot]
    scalars: Sequence[Any]

    def struct(self, addresses: Sequence[int]) -> bytes:
        """The struct of one work item. addresses: the device addresses of the tensors."""
        values = [*(ctypes.c_uint64(a) for a in addresses), *self.scalars]
        fields = [(f"f{i}", type(value)) for i, value in enumerate(values)]
        record = type("Arguments", (ctypes.Structure,), {"_fields_": fields})
        return bytes(record(*values))


def slots_of(artifact: Artifact, slots_address: int, grids_address: int) -> Iterator[Call]:
    """The kernels to launch, in order, from the slots and grids of a call (``tilecore.contract.adapter.LoadedKernel``).
    Kernels with an empty grid are left out."""
    call = CallReader(artifact)(slots_address, grids_address)
    for launch in call.launches:
        entry = launch.entry
        yield Call(entry.symbol, cores_of(entry), call.tensors, _scalars(entry, call.scalars, len(call.tensors)))


def cores_of(entry: Entry) -> int:
    """The number of work items of the launch."""
    return int(entry.attributes.get("cores", 1))


def _scalars(entry: Entry, values: Sequence[ScalarSlot], first: int) -> list[Any]:
    kinds = [_BY_BITS[max(FACTS[name].bits, 8)] for name in entry.attributes["fields"][first:]]
    return [kind(int.from_bytes(value.data, "little")) for kind, value in zip(kinds, values, strict=True)]


def call_of(artifact: Artifact, slots_address: int, grids_address: int) -> tuple[list[Block], list[Launch]]:
    """The blocks and the launches of one call, from its slots and grids."""
    calls = list(slots_of(artifact, slots_address, grids_address))
    if not calls:
        return [], []
    scratch = {workspace.name for workspace in artifact.workspaces}
    blocks, homes = merged(calls[0].tensors, scratch)
    return blocks, [_launch(call, blocks, homes) for call in calls]


def _launch(call: Call, blocks: Sequence[Block], homes: Sequence[int]) -> Launch:
    pointers = tuple(
        Pointer(_ADDRESS * number, home, tensor.address - blocks[home].host)
        for number, (tensor, home) in enumerate(zip(call.tensors, homes, strict=True))
    )
    return Launch(call.symbol, call.struct([0] * len(call.tensors)), pointers, call.cores)


def merged(tensors: Sequence[TensorSlot], scratch: Collection[str] = ()) -> tuple[list[Block], list[int]]:
    """(the blocks of memory that contain the tensors, for each tensor the index of its block). Tensors that overlap are
    in one block.

    Blocks are copied to the device even if a kernel only writes them, as it may not write all of a block. scratch: the
    names of tensors that are not copied at all.
    """
    order = sorted(range(len(tensors)), key=lambda i: (tensors[i].address, -tensors[i].nbytes))
    groups: list[tuple[int, int, list[int]]] = []
    for i in order:
        start, end = tensors[i].address, tensors[i].address + tensors[i].nbytes
        if groups and start < groups[-1][1] and end > start:
            first, last, members = groups[-1]
            groups[-1] = (first, max(last, end), [*members, i])
        else:
            groups.append((start, end, [i]))
    blocks, homes = [], [0] * len(tensors)
    for number, (start, end, members) in enumerate(groups):
        inside = [tensors[i] for i in sorted(members)]
        used = [tensor for tensor in inside if tensor.name not in scratch]
        name = " and ".join(tensor.name for tensor in inside)
        blocks.append(Block(name, start, end - start, bool(used), any("w" in tensor.access for tensor in used)))
        for i in members:
            homes[i] = number
    return blocks, homes
