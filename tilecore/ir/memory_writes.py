"""Mod analysis: computes a conservative set of the memory that code may write.

It answers whether a value that was read is still current, and whether a condition still holds. Besides stores, tile
operations and atomics, code may call foreign functions. Such a function may write its operands, and all memory whose
address the kernel passes to any call for writing. At a barrier, and at an atomic operation with acquire semantics, the
writes of other threads become visible: to all shared and global memory that the kernel writes anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.effects import has_effect
from tilecore.ir.intrinsics import ADDRESS, as_address
from tilecore.ir.nodes import AllocBuffer, BufferStore, Call, Evaluate, TensorRegion, Var, is_buffer_var
from tilecore.ir.scopes import is_global, is_own
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, loads, regions, variables

_ACQUIRING = ("consume", "acquire", "acq_rel", "seq_cst")


@dataclass(frozen=True)
class Writes:
    """The writes of a piece of code.

    buffers: the buffers that it writes, as it names them. foreign: it calls foreign functions. others: it makes the
    writes of other threads visible.
    """

    buffers: frozenset[Var] = frozenset()
    foreign: bool = False
    others: bool = False

    def __or__(self, other: Writes) -> Writes:
        return Writes(self.buffers | other.buffers, self.foreign or other.foreign, self.others or other.others)


def writes_of(node: Any) -> Writes:
    """The writes of a statement with everything inside it, or of an expression."""
    writes = Writes(frozenset(store.buffer for store in collect(node, BufferStore)))
    evaluated = [statement.value for statement in collect(node, Evaluate)]
    for call in collect(node, Call):
        writes |= _of_call(call, any(call.same_as(value) for value in evaluated))
    return writes


def _of_call(call: Call, stands_alone: bool) -> Writes:
    pointer = as_address(call)
    if pointer is not None:
        element, access = pointer
        return Writes(frozenset([element.source])) if "w" in access else Writes()
    tile = as_tile_call(call)
    if tile is not None:
        return _of_tile_op(tile)
    if not stands_alone and not has_effect(call):
        return Writes()
    return Writes(frozenset(_buffers_in_operands(call)), foreign=True, others=True)


def _of_tile_op(tile: TileCall) -> Writes:
    if tile.op.no_memory:
        return Writes()
    if tile.op.name == "atomic_element":
        stored = frozenset() if tile.kind == "load" else frozenset([tile.dst.source])
        return Writes(stored, others=tile.order in _ACQUIRING)
    operands = [tile.args[name] for name in tile.op.writes]
    written = [operand.source for operand in operands if isinstance(operand, TensorRegion)]
    is_own_work = 0 < len(written) == len(operands) and "." not in tile.op.name
    # else a barrier, or a backend's own operation, which may be one
    return Writes(frozenset(written), others=not is_own_work or tile.args.get("order") in _ACQUIRING)


def _buffers_in_operands(call: Call) -> Iterator[Var]:
    """The buffers among the operands of a call: as loads, regions or whole buffers."""
    for arg in call.args:
        if op_name(arg) == ADDRESS:
            continue  # the address states itself what is written through it
        yield from (load.source for load in loads(arg))
        yield from (region.source for region in regions(arg))
        yield from (var for var in variables(arg) if is_buffer_var(var))


class Memory:
    """The memory of a function: which buffers are views of one another, and which code may write each of them."""

    def __init__(self, body: Any) -> None:
        self.body = body
        self.roots = memory_roots(body)

    def root(self, buffer: Var) -> Var:
        """The buffer that owns the memory of ``buffer``: another one for a view."""
        return self.roots.get(buffer, buffer)

    def may_change(self, writes: Writes, buffer: Var, in_place: bool = True) -> bool:
        """May these writes change the contents of the buffer?

        in_place: also if a call passes one tensor for two parameters. Such a call is correct only if each element is
        read before the same iteration writes it, so passes that only move reads to an earlier time may exclude it.
        """
        if self.are_of(writes, buffer) or (writes.others and self.is_changed_by_others(buffer, in_place)):
            return True
        return in_place and any(self.may_alias(self.root(buffer), self.root(other)) for other in writes.buffers)

    def are_of(self, writes: Writes, buffer: Var) -> bool:
        """Do these writes include the buffer, without regard to parameters that may alias?"""
        root = self.root(buffer)
        return any(self.root(other) == root for other in writes.buffers) or (writes.foreign and root in self.handed_out)

    def is_changed_by_others(self, buffer: Var, in_place: bool = True) -> bool:
        """Is the buffer in shared or global memory that the kernel writes, so that other threads may change it?"""
        root = self.root(buffer)
        if is_own(root):
            return False
        return root in self.written or (in_place and any(self.may_alias(root, other) for other in self.written))

    def may_alias(self, a: Var, b: Var) -> bool:
        """May a call pass one tensor for both parameters? Two parameters that the kernel writes must not alias."""
        if a in self.allocated or b in self.allocated or (a in self.written and b in self.written):
            return False
        return may_alias(a, b)

    @cached_property
    def written(self) -> set[Var]:
        """The buffers that the kernel writes."""
        return {self.root(buffer) for buffer in writes_of(self.body).buffers}

    @cached_property
    def handed_out(self) -> set[Var]:
        """The buffers whose address the kernel passes to a function for writing."""
        addresses = [pointer for call in collect(self.body, Call) if (pointer := as_address(call)) is not None]
        return {self.root(element.source) for element, access in addresses if "w" in access}

    @cached_property
    def allocated(self) -> set[Var]:
        return {alloc.buffer for alloc in collect(self.body, AllocBuffer)}


def may_alias(a: Var, b: Var) -> bool:
    """May a call pass one tensor for these two parameters? They must have the same number of bytes."""
    if a.same_as(b) or not (is_global(a) and is_global(b)):
        return False
    sizes = []
    for buffer in (a, b):
        extents = [constant(size) for size in buffer.shape]
        if None in extents:
            return True
        sizes.append(prod(extents) * DType(dtype_of(buffer)).bits)  # type: ignore[arg-type]
    return sizes[0] == sizes[1]
