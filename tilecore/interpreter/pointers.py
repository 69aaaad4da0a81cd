"""Tensors at addresses: what T.make_tensor of a pointer means.

The interpreter reads no memory that it does not know. It finds the tensor that an address points into (see
:mod:`tilecore.tensors.reachable`) where the tensor at the address is declared, and raises where the kernel accesses an
element that is not in it. A null pointer may be declared, and not accessed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilecore.element_values import Value, ValueType
from tilecore.errors import LanguageError, OutOfBoundsError
from tilecore.interpreter.memory import Access, Storage, View
from tilecore.interpreter.scope import Expression, Scope, Statement
from tilecore.interpreter.state import Mask, State
from tilecore.ir.nodes import DeclBuffer
from tilecore.ir.views import address_in
from tilecore.tensors.reachable import Block, block_at, block_of


class PointedMemory:
    """The memory that the pointers of one call reach, by address. tensors: those of the call."""

    def __init__(self, tensors: Sequence[Any] = ()) -> None:
        self.tensors = tensors
        self.storages: dict[int, tuple[Storage, Block | None]] = {}

    def at(self, address: int) -> tuple[Storage, Block | None]:
        """The memory from an address on to the end of the tensor that has it: none where no tensor is known to."""
        found = self.storages.get(address)
        if found is None:
            block = block_at(address, map(block_of, self.tensors)) if address else None
            size = block.end - address if block is not None else 0
            data = (
                np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address)) if size else np.empty(0, np.uint8)
            )
            if block is not None:
                data.flags.writeable = not block.read_only
            found = self.storages[address] = Storage(data, 1, None), block
        return found


class PointedView(View):
    """A tensor at an address. strides: in elements; None for row-major without gaps."""

    __slots__ = ("address", "block")

    def __init__(
        self, name: str, kind: ValueType, shape: tuple[int, ...], strides: tuple[int, ...] | None, address: int,
        memory: tuple[Storage, Block | None],
    ) -> None:  # fmt: skip
        self.address, self.block = address, memory[1]
        super().__init__(name, kind, shape, Storage(np.empty(0, np.uint8), 1, None))
        self.storage = memory[0]
        self.factor = kind.storage.itemsize
        whole = len(self.storage.data) // self.factor * self.factor
        self.data = self.storage.data[:whole].view(kind.storage)
        if strides is not None:
            self.strides = strides

    def place(
        self, state: State, indices: Sequence[Value], mask: Mask, access: Access, base: Any = None
    ) -> tuple[Any, Mask]:
        offset, reached = super().place(state, indices, mask, access, base)
        if reached is not False and self.size:
            reads = np.broadcast_to(offset, np.broadcast_shapes(np.shape(offset), np.shape(reached)))
            active = reads if reached is None else reads[np.broadcast_to(reached, reads.shape)]
            if active.size and (active.min() < 0 or active.max() >= len(self.data)):
                raise self._not_reachable(state, access)
        return offset, reached

    def put(self, state: State, offset: Any, reached: Mask, value: Value, access: Access, *others: Any) -> None:
        if self.block is not None and self.block.read_only:
            raise access.site.error(
                state, LanguageError, f"{self.name} is written, and its address is that of memory that is read-only",
                found=f"address 0x{self.address:x}",
            )  # fmt: skip
        super().put(state, offset, reached, value, access, *others)

    def _not_reachable(self, state: State, access: Access) -> Exception:
        address = f"address 0x{self.address & (2**64 - 1):x}, shape {self.shape} of {self.kind.name}"
        if not self.address:
            message, hint = f"{self.name} is accessed, whose pointer is null", "guard the access by an `if`"
        elif self.block is None:
            message = f"{self.name} is accessed, whose address is that of no known tensor"
            hint = "keep the tensor alive until the call has returned; name arrays that are not torch's: "
            hint += "with tilecore.reachable(x, y): kernel(...)"
        else:
            message = f"{self.name} is accessed beyond the tensor that its address points into"
            address += f"; that tensor has {self.block.end - self.address} bytes from there on"
            hint = "declare the shape that the tensor has"
        return access.site.error(state, OutOfBoundsError, message, found=address, hint=hint)


def null_view(name: str, kind: ValueType, shape: tuple[int, ...]) -> PointedView:
    """A tensor for which a call passed None."""
    return PointedView(name, kind, shape, None, 0, PointedMemory().at(0))


def compile_at_address(scope: Scope, node: DeclBuffer) -> Statement:
    """The declaration of a tensor at an address."""
    address = scope.expression(address_in(node))
    info, site = scope.define_buffer(node.buffer), scope.site
    shape = [scope.expression(size) for size in node.buffer.shape]
    strides: list[Expression] = [scope.expression(step) for step in node.buffer.strides]

    def run(state: State) -> None:
        where = int(site.uniform(state, address(state), f"the address of {info.name}"))
        sizes = tuple(int(size(state)) for size in shape)
        steps = tuple(int(step(state)) for step in strides) or None
        memory = state.pointed.at(where)
        if where % info.kind.storage.itemsize:
            raise site.error(
                state, LanguageError, f"the address of {info.name} is not aligned", found=f"address 0x{where:x}",
                expected=f"a multiple of {info.kind.storage.itemsize} bytes, the size of a {info.kind.name}",
            )  # fmt: skip
        state.env[info.slot] = PointedView(info.name, info.kind, sizes, steps, where, memory)

    return run
