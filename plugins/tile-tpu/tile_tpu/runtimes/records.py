"""What a call of kernels is to a runtime: blocks of memory, launches whose arguments point into them, and failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Block(NamedTuple):
    """Host memory that the kernels get. host: its address. copy_in, copy_out: to the device before, back afterwards."""

    name: str
    host: int
    nbytes: int
    copy_in: bool
    copy_out: bool


class Pointer(NamedTuple):
    """A field of the struct of arguments that holds an address: ``delta`` bytes into a block."""

    at: int
    block: int
    delta: int


class Launch(NamedTuple):
    """One entry. arguments: the struct, its pointers not filled in. items: work items, each on a core of its own."""

    entry: str
    arguments: bytes
    pointers: Sequence[Pointer]
    items: int

    def filled(self, addresses: Sequence[int]) -> bytes:
        """The struct, with the blocks at these addresses of the device."""
        arguments = bytearray(self.arguments)
        for at, block, delta in self.pointers:
            arguments[at : at + 8] = (addresses[block] + delta).to_bytes(8, "little")
        return bytes(arguments)


class Runtime(Protocol):
    """What :class:`~tile_tpu.runtimes.tpurt.TpuRt` and :class:`~tile_tpu.runtimes.bmlib.Bmlib` are."""

    def load(self, path: str) -> int: ...
    def allocate(self, nbytes: int) -> int: ...
    def free(self, address: int) -> None: ...
    def to_device(self, address: int, host: int, nbytes: int) -> None: ...
    def to_host(self, host: int, address: int, nbytes: int) -> None: ...
    def launch(self, module: int, entry: str, arguments: bytes, items: int) -> None: ...
    def wait(self) -> None: ...


class RuntimeFailure(Exception):
    """A call of the vendor's runtime did not succeed, or a kernel wrote where it must not; the message says it all."""
