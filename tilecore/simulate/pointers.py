"""Tables of pointers on the simulated device: its tensors are copies, so addresses in a table change with them.

Each address in a table is looked up among the known tensors (:mod:`tilecore.tensors.reachable`). The device gets a copy
of the memory that it points into, and the device's own address in the place of the host's. Other addresses stay as they
are, and an access through one is an error, as the device has no memory there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from tilecore.artifact.records import Param, TensorParam
from tilecore.errors import ArgumentError
from tilecore.simulate.arguments import Tensor
from tilecore.tensors.reachable import Block, block_at

WORD = 8  # bytes of an address


@dataclass(frozen=True)
class PointedWord:
    """An address in a table, ``at`` bytes after the table's element 0: ``offset`` bytes into the target."""

    table: Tensor
    at: int
    target: Tensor
    offset: int


def pointed_words(kernel: str, params: Sequence[Param], tensors: Sequence[Tensor]) -> list[PointedWord]:
    """The addresses in all tables of a call. tensors: of the tensor parameters in order, workspaces may follow.

    Raises ArgumentError for a table that the kernel writes."""
    declared = [param for param in params if isinstance(param, TensorParam)]
    words: list[PointedWord] = []
    targets: dict[int, Tensor] = {}
    of_call = [Block(*tensor.span(), tensor.access == "r", tensor) for tensor in tensors]
    for param, table in zip(declared, tensors, strict=False):
        if param.pointer != "table":
            continue
        if "w" in param.access:
            raise ArgumentError(
                f"{kernel}(): the kernel writes pointers to {param.name}, which the simulated device does not do",
                hint="the interpreter does: TILECORE_INTERPRET=1",
            )
        for place, at in _places(table):
            address = ctypes.c_int64.from_address(table.address + at).value & (2**64 - 1)
            block = block_at(address, of_call) if address else None
            if block is None:
                continue
            target = targets.get(block.begin)
            if target is None:
                size, access = block.end - block.begin, "r" if block.read_only else "rw"
                name = f"the tensor at {param.name}[{', '.join(map(str, place))}]"
                target = targets[block.begin] = Tensor(name, block.begin, "uint8", (size,), access, owner=block.owner)
            words.append(PointedWord(table, at, target, address - block.begin))
    return words


def _places(table: Tensor) -> Iterator[tuple[tuple[int, ...], int]]:
    """The indices of a table's elements, and where each is, in bytes from element 0."""
    shape, strides = table.storage()
    for place in product(*map(range, shape)):
        yield place, sum(index * stride for index, stride in zip(place, strides, strict=True)) * WORD
