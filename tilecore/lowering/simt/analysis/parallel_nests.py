"""Nests of parallel loops, and the memory that they touch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilecore.ir.build import constant, op_name
from tilecore.ir.intrinsics import as_address
from tilecore.ir.nodes import AllocBuffer, Bind, BufferStore, Call, For, ForKind, Stmt, TensorLoad, Var, structural_walk
from tilecore.ir.scopes import is_fragment, is_own
from tilecore.ir.visit import collect

# annotation of a nest that a tile operation on memory of the thread became: where threads are asked for, each does it
PRIVATE = "private"
# annotations of a nest that users make: elements that a thread takes side by side, and a T.Fragment to divide it by
COALESCED_WIDTH, LOOP_LAYOUT = LOOP_HINTS = ("coalesced_width", "loop_layout")


@dataclass(frozen=True)
class Access:
    """An element that an iteration reads or writes. atomic: the kind of an atomic operation that changes it."""

    buffer: Var
    indices: tuple[Any, ...]
    writes: bool
    atomic: str = ""


class Nest:
    """A perfect nest of parallel loops.

    axes: its loops, outermost first. extents: their sizes, None where one is not known when compiling. accesses: of all
    memory in its body, in order. roots: for a view, the buffer whose memory it is.
    """

    def __init__(self, node: For, roots: Mapping[Var, Var]) -> None:
        self.node, self.roots = node, roots
        self.axes: list[For] = [node]
        while isinstance(self.axes[-1].body, For) and self.axes[-1].body.kind == ForKind.PARALLEL:
            self.axes.append(self.axes[-1].body)
        self.body: Stmt = self.axes[-1].body
        self.accesses = accesses_of(self.body)

    def root(self, buffer: Var) -> Var:
        """The buffer whose memory it is."""
        return self.roots.get(buffer, buffer)

    @property
    def extents(self) -> list[int | None]:
        return [constant(axis.extent) for axis in self.axes]

    @property
    def variables(self) -> list[Var]:
        return [axis.loop_var for axis in self.axes]

    @property
    def is_private(self) -> bool:
        return PRIVATE in self.node.annotations

    @property
    def is_constant(self) -> bool:
        return all(e is not None for e in self.extents) and all(constant(a.min) == 0 for a in self.axes)

    def fragments(self) -> list[Access]:
        """The accesses of fragments."""
        return [a for a in self.accesses if is_fragment(a.buffer)]

    def axis_of(self, index: Any) -> int | None:
        """The axis whose variable ``index`` is; None when it is something else."""
        if not isinstance(index, Var):
            return None
        return next((n for n, var in enumerate(self.variables) if var.same_as(index)), None)

    def matched(self, access: Access) -> list[int | None] | None:
        """For each axis of the buffer the loop whose variable is its index, None for a constant 0.

        None in all when an index is something else, or a variable stands twice.
        """
        found: list[int | None] = []
        for index in access.indices:
            axis = self.axis_of(index)
            if axis is None and constant(index) != 0:
                return None
            if axis is not None and axis in found:
                return None
            found.append(axis)
        return found


def effects_in(node: Any) -> bool:
    """Does it do something that others see, besides stores: an atomic, a print?"""
    return any(op_name(c) in ("tile.atomic_element", "tile.print") for c in collect(node, Call))


def is_for_one(nest: Nest) -> bool:
    """Must an iteration be done by one thread alone, since another that did it too would find something else: does it
    use the value of an atomic operation, or read memory of the block that it writes?"""
    if any(effects_in(n.value) for n in collect(nest.body, Bind, BufferStore)):
        return True
    common = [a for a in nest.accesses if not is_own(a.buffer)]
    written = {nest.root(a.buffer) for a in common if a.writes}
    return any(nest.root(a.buffer) in written for a in common if not a.writes)


def keeps_values(nest: Nest) -> bool:
    """Does it leave something in a thread's own memory, or a fragment?"""
    inside = {a.buffer for a in collect(nest.body, AllocBuffer)}
    return any(a.writes and is_own(a.buffer) and a.buffer not in inside for a in nest.accesses)


def is_parallel(node: Any) -> bool:
    return isinstance(node, For) and node.kind == ForKind.PARALLEL


def accesses_of(node: Any) -> list[Access]:
    """Every load and store inside, an atomic's element among the writes."""
    found: list[Access] = []
    places: list[Any] = []  # elements that calls name without loading them

    def call(n: Call) -> None:
        if op_name(n) == "tile.atomic_element":
            places.append(n.args[0])
            found.append(Access(n.args[0].source, tuple(n.args[0].indices), True, str(n.args[2].value)))
        elif op_name(n) == "simt.atomic_add":
            places.append(n.args[0])
            found.append(Access(n.args[0].source, tuple(n.args[0].indices), True, "add"))
        elif (pointer := as_address(n)) is not None:  # what a function does from there on: somewhere in the buffer
            element, access = pointer
            places.append(element)
            found.extend(Access(element.source, (), kind == "w") for kind in access)

    def load(n: TensorLoad) -> None:
        if not any(n.same_as(place) for place in places):
            found.append(Access(n.source, tuple(n.indices), False))

    def store(n: BufferStore) -> None:
        found.append(Access(n.buffer, tuple(n.indices), True))

    structural_walk(node, [(Call, call), (TensorLoad, load), (BufferStore, store)], order="pre")
    return found
