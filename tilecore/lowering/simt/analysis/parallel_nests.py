"""Describes nests of parallel loops, and the memory that they access."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import constant, op_name
from tilecore.ir.intrinsics import as_address
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    BufferStore,
    Call,
    Evaluate,
    For,
    ForKind,
    Stmt,
    TensorLoad,
    Var,
    structural_walk,
)
from tilecore.ir.scopes import is_fragment, is_own
from tilecore.ir.thread_calls import ATOMIC_ADD, ATOMIC_ELEMENT
from tilecore.ir.visit import collect

# the user's annotations of a nest that decide how it is partitioned
LOOP_HINTS = (LoopAttr.COALESCED_WIDTH, LoopAttr.LOOP_LAYOUT)
UNROLLED_STATEMENTS = 512  # the largest number of unrolled statements: vendor compilers need minutes for thousands


@dataclass(frozen=True)
class Access:
    """An element that an iteration reads or writes. atomic: the kind of an atomic operation that changes it."""

    buffer: Var
    indices: tuple[Any, ...]
    writes: bool
    atomic: str = ""


class Nest:
    """A perfect nest of parallel loops.

    axes: its loops, outermost first. extents: their sizes, None where one is not known at compile time. accesses: all
    accesses of memory in its body, in order. roots: for each view the buffer that owns its memory. serial: the
    variables of short serial loops around the nest and in it, each with what it is below. copied: fragments that the
    nest reads from a copy in shared memory, each with the reason.
    """

    def __init__(self, node: For, roots: Mapping[Var, Var], serial: Mapping[Var, int] | None = None) -> None:
        self.node, self.roots, self.serial = node, roots, serial or {}
        self.copied: dict[Var, str] = {}
        self.axes: list[For] = [node]
        while isinstance(self.axes[-1].body, For) and self.axes[-1].body.kind == ForKind.PARALLEL:
            self.axes.append(self.axes[-1].body)
        self.body: Stmt = self.axes[-1].body
        self.accesses = accesses_of(self.body)

    def root(self, buffer: Var) -> Var:
        """The buffer that owns the memory of ``buffer``: another one for a view."""
        return self.roots.get(buffer, buffer)

    @cached_property
    def extents(self) -> list[int | None]:
        return [constant(axis.extent) for axis in self.axes]

    @property
    def variables(self) -> list[Var]:
        return [axis.loop_var for axis in self.axes]

    @property
    def is_private(self) -> bool:
        """Does the nest lower a tile operation on private memory?"""
        return LoopAttr.PRIVATE in self.node.annotations

    @cached_property
    def is_constant(self) -> bool:
        """Does every loop begin at 0 and have a size that is known at compile time?"""
        return all(e is not None for e in self.extents) and all(constant(a.min) == 0 for a in self.axes)

    def fragments(self) -> list[Access]:
        """The accesses of fragments that are not copied."""
        if not self.copied:
            return self._of_fragments
        return [access for access in self._of_fragments if access.buffer not in self.copied]

    @cached_property
    def _of_fragments(self) -> list[Access]:
        return [access for access in self.accesses if is_fragment(access.buffer)]

    def axis_of(self, index: Any) -> int | None:
        """The position in ``axes`` of the loop whose variable ``index`` is; None for any other index."""
        if not isinstance(index, Var):
            return None
        return next((n for n, var in enumerate(self.variables) if var.same_as(index)), None)

    def matched(self, access: Access) -> list[int | None] | None:
        """For each axis of the buffer the loop whose variable is the index there, None for a constant 0.

        The result is None when an index is something else, or two indices are the same variable.
        """
        loops: list[int | None] = []
        for index in access.indices:
            axis = self.axis_of(index)
            if axis is None and constant(index) != 0:
                return None
            if axis is not None and axis in loops:
                return None
            loops.append(axis)
        return loops


def short_loops(body: Stmt) -> dict[Var, int]:
    """The variables of the serial loops that can be unrolled, each with what it is below."""
    ends = {}
    for loop in collect(body, For):
        low, extent = constant(loop.min), constant(loop.extent)
        if loop.kind == ForKind.PARALLEL or low is None or low < 0 or extent is None:
            continue
        if extent * len(collect(loop.body, BufferStore, Evaluate, Bind)) <= UNROLLED_STATEMENTS:
            ends[loop.loop_var] = low + extent
    return ends


def effects_in(node: Any) -> bool:
    """Does the node have a side effect besides stores, as an atomic operation or a print?"""
    return any(op_name(c) in ("tile.atomic_element", "tile.print") for c in collect(node, Call))


def is_for_one(nest: Nest) -> bool:
    """Must only one thread execute each iteration, because a second execution could compute other values?

    That is so if the nest uses the result of an atomic operation, or reads memory of the block that it also writes.
    """
    if any(effects_in(n.value) for n in collect(nest.body, Bind, BufferStore)):
        return True
    block_accesses = [a for a in nest.accesses if not is_own(a.buffer)]
    written = {nest.root(a.buffer) for a in block_accesses if a.writes}
    return any(nest.root(a.buffer) in written for a in block_accesses if not a.writes)


def keeps_values(nest: Nest) -> bool:
    """Does the nest write private memory or a fragment that is allocated outside of it?"""
    allocated_inside = {a.buffer for a in collect(nest.body, AllocBuffer)}
    return any(a.writes and is_own(a.buffer) and a.buffer not in allocated_inside for a in nest.accesses)


def is_parallel(node: Any) -> bool:
    """Is the node a parallel loop?"""
    return isinstance(node, For) and node.kind == ForKind.PARALLEL


def outermost_nests(body: Stmt) -> list[For]:
    """The outermost parallel loops."""
    nests: list[For] = []
    for node in collect(body, For):
        if is_parallel(node) and not any(any(inner.same_as(node) for inner in collect(nest, For)) for nest in nests):
            nests.append(node)
    return nests


def accesses_of(node: Any) -> list[Access]:
    """Every load and store inside ``node``, in order; the element of an atomic operation counts as a write."""
    accesses: list[Access] = []
    addressed: list[Any] = []  # elements whose address is an argument of a call; they are not loaded

    def call(n: Call) -> None:
        if op_name(n) == ATOMIC_ELEMENT:
            addressed.append(n.args[0])
            accesses.append(Access(n.args[0].source, tuple(n.args[0].indices), True, str(n.args[2].value)))
        elif op_name(n) == ATOMIC_ADD:
            addressed.append(n.args[0])
            accesses.append(Access(n.args[0].source, tuple(n.args[0].indices), True, "add"))
        elif (pointer := as_address(n)) is not None:  # the called function may access any element of the buffer
            element, kinds = pointer
            addressed.append(element)
            accesses.extend(Access(element.source, (), kind == "w") for kind in kinds)

    def load(n: TensorLoad) -> None:
        if not any(n.same_as(element) for element in addressed):
            accesses.append(Access(n.source, tuple(n.indices), False))

    def store(n: BufferStore) -> None:
        accesses.append(Access(n.buffer, tuple(n.indices), True))

    structural_walk(node, [(Call, call), (TensorLoad, load), (BufferStore, store)], order="pre")
    return accesses
