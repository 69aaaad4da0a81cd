"""One call of an artifact as runtimes take it: which host memory goes to the device, and what is launched on it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tile_tpu.arguments import Call, slots_of
from tile_tpu.runtimes.records import Block, Launch, Pointer
from tilecore.artifact.records import Artifact
from tilecore.runtime.slots import TensorSlot

_ADDRESS = 8  # bytes; addresses are the first fields of the struct


def call_of(artifact: Artifact, slots_address: int, grids_address: int) -> tuple[list[Block], list[Launch]]:
    """The blocks and the launches of one call, from what a launcher hands over."""
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
    """Blocks that hold the tensors, those that overlap in one, and for each tensor the number of its block.

    What a kernel may only partly write goes to the device first. scratch: names of memory that goes neither way.
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
