"""The records of a call for a runtime: blocks of memory, and launches whose arguments point into them; and failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Block(NamedTuple):
    """A block of host memory for kernels. host: its address. copy_in: it is copied to the device before the call.
    copy_out: it is copied back afterwards."""

    name: str
    host: int
    nbytes: int
    copy_in: bool
    copy_out: bool


class Pointer(NamedTuple):
    """A field of the struct of arguments that is an address. at: the offset of the field. block: the index of the block
    that it points into. delta: the offset in the block, in bytes."""

    at: int
    block: int
    delta: int


class Launch(NamedTuple):
    """The launch of one entry. arguments: the struct, with zeros for the pointers. items: the work items, each on its
    own core."""

    entry: str
    arguments: bytes
    pointers: Sequence[Pointer]
    items: int

    def with_addresses(self, addresses: Sequence[int]) -> bytes:
        """The struct with its pointers filled in. addresses: the device addresses of the blocks."""
        arguments = bytearray(self.arguments)
        for at, block, delta in self.pointers:
            arguments[at : at + 8] = (addresses[block] + delta).to_bytes(8, "little")
        return bytes(arguments)


class Runtime(Protocol):
    """The interface of :class:`~tile_tpu.runtimes.tpurt.TpuRt` and :class:`~tile_tpu.runtimes.bmlib.Bmlib`."""

    def load(self, path: str) -> int: ...
    def allocate(self, nbytes: int) -> int: ...
    def free(self, address: int) -> None: ...
    def to_device(self, address: int, host: int, nbytes: int) -> None: ...
    def to_host(self, host: int, address: int, nbytes: int) -> None: ...
    def launch(self, module: int, entry: str, arguments: bytes, items: int) -> None: ...
    def wait(self) -> None: ...


class RuntimeFailure(Exception):
    """A call of the vendor's runtime failed, or a kernel wrote outside of its memory; the message describes it."""
