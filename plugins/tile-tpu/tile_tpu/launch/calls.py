"""One call of an artifact: which host memory goes to the device, and what is launched on it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from tile_tpu.chips import Chip
from tile_tpu.launch.structs import Struct, struct_of
from tile_tpu.runtimes.calls import Block, Launch, Pointer
from tilecore.dtypes import dtype
from tilecore.runtime.artifact import Artifact, Entry, TensorParam, Workspace
from tilecore.runtime.dims import evaluate

BLOCK_NUM = "block_num"  # attribute of an entry: its work items


@dataclass(frozen=True)
class _Range:
    """Host memory of one slot: [start, end)."""

    name: str
    start: int
    end: int
    access: str


class CallPlan:
    """How the calls of an artifact are launched. most_items: work items that the device takes at once."""

    def __init__(self, artifact: Artifact, chip: Chip, most_items: int) -> None:
        self.artifact = artifact
        self.struct: Struct = struct_of(artifact)
        self.tensors = [p for p in artifact.params if isinstance(p, TensorParam)]
        self.items = [min(work_items(entry, chip), most_items) for entry in artifact.entries]
        self._first_symbol = len(self.struct.fields) - len(artifact.symbols)

    def read(self, slots_address: int) -> list[int]:
        """The slots of a call, as numbers."""
        return list((ctypes.c_int64 * len(self.struct.fields)).from_address(slots_address))

    def grids(self, grids_address: int) -> list[tuple[int, int, int]]:
        """Blocks along x, y, z of each entry."""
        words = (ctypes.c_int64 * (4 * len(self.artifact.entries))).from_address(grids_address)
        return [(words[4 * i], words[4 * i + 1], words[4 * i + 2]) for i in range(len(self.artifact.entries))]

    def call(self, slots: Sequence[int], grids: Sequence[tuple[int, int, int]]) -> tuple[list[Block], list[Launch]]:
        """Blocks of host memory (tensors that overlap share one) and the launches of entries that have any block."""
        ranges = self._ranges(slots)
        blocks, homes = merged(ranges)
        pointers = tuple(
            Pointer(self.struct.fields[slot].at, home, ranges[slot].start - blocks[home].host)
            for slot, home in enumerate(homes)
        )
        arguments = self.struct.packed(slots)
        launches = [
            Launch(entry.symbol, arguments, pointers, items)
            for entry, items, grid in zip(self.artifact.entries, self.items, grids, strict=True)
            if 0 not in grid
        ]
        return blocks, launches

    def _ranges(self, slots: Sequence[int]) -> list[_Range]:
        symbols = {s.name: v for s, v in zip(self.artifact.symbols, slots[self._first_symbol :], strict=True)}
        made = []
        for number, tensor in enumerate(self.tensors):
            start = slots[number] % 2**64
            made.append(_Range(tensor.name, start, start + _tensor_bytes(tensor, symbols), tensor.access))
        for number, workspace in enumerate(self.artifact.workspaces, len(made)):
            start = slots[number] % 2**64
            made.append(_Range(workspace.name, start, start + _workspace_bytes(workspace, symbols), "scratch"))
        return made


def work_items(entry: Entry, chip: Chip) -> int:
    """Work items of an entry's launch: its attribute ``block_num``, at most one a core; 1 without it."""
    return max(1, min(int(entry.attributes.get(BLOCK_NUM, 1)), chip.cores))


def merged(ranges: Sequence[_Range]) -> tuple[list[Block], list[int]]:
    """Blocks that hold the ranges, and for each range the number of its block.

    What a kernel may only partly write goes to the device first; workspaces go neither way.
    """
    order = sorted(range(len(ranges)), key=lambda i: (ranges[i].start, -ranges[i].end))
    groups: list[tuple[int, int, list[int]]] = []
    for i in order:
        start, end = ranges[i].start, ranges[i].end
        if groups and start < groups[-1][1] and end > start:
            first, last, members = groups[-1]
            groups[-1] = (first, max(last, end), [*members, i])
        else:
            groups.append((start, end, [i]))
    blocks, homes = [], [0] * len(ranges)
    for number, (start, end, members) in enumerate(groups):
        inside = [ranges[i] for i in sorted(members)]
        is_scratch = all(r.access == "scratch" for r in inside)
        is_written = any("w" in r.access for r in inside)
        blocks.append(Block(" and ".join(r.name for r in inside), start, end - start, not is_scratch, is_written))
        for i in members:
            homes[i] = number
    return blocks, homes


def _tensor_bytes(tensor: TensorParam, symbols: dict[str, int]) -> int:
    """From its first to its last element."""
    shape = [evaluate(d, symbols) for d in tensor.shape]
    if 0 in shape:
        return 0
    if tensor.strides is None:
        elements = 1
        for extent in shape:
            elements *= extent
    else:
        strides = [evaluate(d, symbols) for d in tensor.strides]
        elements = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    return -(-elements // tensor.packed) * dtype(tensor.dtype).bytes


def _workspace_bytes(workspace: Workspace, symbols: dict[str, int]) -> int:
    elements = 1
    for d in workspace.shape:
        elements *= evaluate(d, symbols)
    return elements * dtype(workspace.dtype).bytes
