"""Replaces fragments by the registers of a thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilecore.errors import LoweringError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, dtype_of, nothing
from tilecore.ir.fragments import FragmentLayout
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferLoad,
    BufferStore,
    DeclBuffer,
    Expr,
    For,
    Range,
    Stmt,
    TensorLoad,
    Var,
    structural_mutate,
    tirx,
)
from tilecore.ir.ranges import binding_loops
from tilecore.ir.scopes import is_fragment, is_total
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import variables
from tilecore.lowering.simt.state import Inferred


@dataclass
class Binding:
    """What late implementations of tile operations need to know: the thread, and the layouts of fragments.

    thread: the index of the thread that executes the code, x fastest. threads: how many threads execute it together.
    inferred: the layouts of fragments and the partitions of nests. registers: for each fragment the buffer of the
    thread's own elements.
    """

    thread: Expr
    threads: int
    inferred: Inferred
    registers: dict[Var, Var]

    def layout(self, buffer: Var) -> FragmentLayout:
        """The layout of a fragment."""
        return self.inferred.fragments[buffer]


class FragmentRegisters:
    """Replaces fragments by registers.

    extents: the variables of thread indices, each with its number of values. copied: fragments that every thread has a
    copy of.
    """

    def __init__(self, binding: Binding, extents: dict[Var, int], copied: set[Var]) -> None:
        self.binding, self.copied = binding, copied
        self.thread_vars = set(extents)
        self.analyzer = Analyzer()
        self.totals: dict[Var, Var] = {}
        for var, extent in extents.items():
            self.analyzer.bind(var, Range.from_min_extent(const(0, dtype_of(var)), const(extent, dtype_of(var))))

    def run(self, body: Stmt) -> Stmt:
        rules = [
            (For, binding_loops(self.analyzer)),
            (TensorLoad, self.load),
            (BufferStore, self.store),
            (AllocBuffer, self.alloc),
            (DeclBuffer, _without_views),
        ]
        return structural_mutate(body, rules)

    def load(self, node: TensorLoad, mutator: Any) -> Any:
        if is_total(node.source):
            return BufferLoad(self.total(node.source), list(node.indices), span=node.span)
        if not is_fragment(node.source):
            return mutator.default_mutate(node)
        indices = [mutator.mutate(i) for i in node.indices]
        buffer, register = self.register(node.source, indices, node)
        return BufferLoad(buffer, [register], span=node.span)

    def store(self, node: BufferStore, mutator: Any) -> Any:
        if is_total(node.buffer):
            value = mutator.mutate(node.value)
            return BufferStore(self.total(node.buffer), value, list(node.indices), span=node.span)
        if not is_fragment(node.buffer):
            return mutator.default_mutate(node)
        value = mutator.mutate(node.value)
        buffer, register = self.register(node.buffer, [mutator.mutate(i) for i in node.indices], node)
        return BufferStore(buffer, value, [register], span=node.span)

    def alloc(self, node: AllocBuffer, mutator: Any) -> Any:
        if is_total(node.buffer):
            return AllocBuffer(self.total(node.buffer), span=node.span)
        return AllocBuffer(self.binding.registers.get(node.buffer, node.buffer), span=node.span)

    def total(self, buffer: Var) -> Var:
        """The thread's own scalar in place of the scalar total of a reduction."""
        if buffer not in self.totals:
            name, dtype = str(buffer.name), dtype_of(buffer)
            self.totals[buffer] = tirx.decl_buffer(list(buffer.shape), dtype, name, scope="local", layout=None)
        return self.totals[buffer]

    def register(self, buffer: Var, indices: list[Any], node: Any) -> tuple[Var, Expr]:
        """The buffer of registers and the index in it of an element of a fragment.

        Raises LoweringError where the index depends on the thread: registers have no addresses.
        """
        register = self.binding.layout(buffer).register(indices)
        register = self.analyzer.simplify(register) if isinstance(register, Expr) else const(register, "int32")
        if buffer not in self.copied and variables(register) & self.thread_vars:
            raise LoweringError(
                f"the register that holds {buffer.name}{indices} depends on the thread",
                location=location_of_span(getattr(node, "span", None)),
                found=f"register {register}",
                expected="a register index that is the same for all threads",
                hint="please report it",
            )
        return self.binding.registers[buffer], register


def _without_views(node: DeclBuffer, mutator: Any) -> Any:
    """No declaration of a view of a fragment: its elements are in the registers of the fragment."""
    return nothing() if is_fragment(node.buffer) else mutator.default_mutate(node)


def registers_of(buffer: Var, layout: FragmentLayout) -> Var:
    """A new buffer for the elements of a fragment that one thread holds."""
    return tirx.decl_buffer([layout.registers], dtype_of(buffer), str(buffer.name), scope="local", layout=None)
