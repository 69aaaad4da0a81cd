"""The statements of a block while loops are fused: what each accesses, kept up to date as loops grow.

A loop that many others are fused into is neither walked nor built anew for each of them, so that the time grows with
the number of statements.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilecore.ir.affine import coefficient
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import seq, statements_of
from tilecore.ir.effects import effect_in
from tilecore.ir.nodes import (
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    Stmt,
    TensorLoad,
    Var,
    While,
    structural_equal,
    tirx,
)
from tilecore.ir.visit import collect, defined_variables, variables


@dataclass
class Access:
    """Reads and writes of one buffer. common: by axis, the expression by which all of them index it, or None."""

    common: list[Any]
    written: bool = False

    def joined(self, other: Access) -> Access:
        """Both accesses as one."""
        pairs = zip(self.common, other.common, strict=True)
        common = [a if a is not None and b is not None and structural_equal(a, b) else None for a, b in pairs]
        return Access(common, self.written or other.written)


@dataclass
class Summary:
    """What a statement accesses and defines. opaque: it has other effects too and must not move. defined: the variables
    of the loops and definitions in it."""

    accesses: dict[Var, Access]
    opaque: bool
    defined: set[Var]
    has_inner_loop: bool

    def add(self, other: Summary) -> None:
        """Makes it the summary of both statements, one after the other."""
        for buffer, access in other.accesses.items():
            own = self.accesses.get(buffer)
            self.accesses[buffer] = access if own is None else own.joined(access)
        self.opaque |= other.opaque
        self.defined |= other.defined
        self.has_inner_loop |= other.has_inner_loop


def summarize(node: Stmt, outer: Stmt | None = None) -> Summary:
    """The summary of a statement. outer: a loop that does not count as one of those inside it."""
    accesses: dict[Var, Access] = {}
    for access in collect(node, TensorLoad, BufferStore):
        is_store = isinstance(access, BufferStore)
        buffer = access.buffer if is_store else access.source
        own, new = accesses.get(buffer), Access(list(access.indices), is_store)
        accesses[buffer] = new if own is None else own.joined(new)
    opaque = bool(collect(node, Evaluate, While, tirx.Break, tirx.Continue, tirx.Return, DeclBuffer))
    loops = [loop for loop in collect(node, For) if not loop.same_as(outer)]
    defined = defined_variables(node) - ({outer.loop_var} if isinstance(outer, For) else set())
    return Summary(accesses, opaque or effect_in(node) is not None, defined, any(map(is_candidate, loops)))


def is_candidate(node: Stmt) -> bool:
    """Is it a loop whose iterations may run in any order?"""
    return isinstance(node, For) and (node.kind == ForKind.PARALLEL or LoopAttr.REDUCTION in node.annotations)


@dataclass
class Part:
    """A statement of a block. Of a loop that others were fused into, ``node`` is the first one."""

    node: Stmt
    _summary: Summary | None = None
    _fused: list[tuple[For, Stmt]] = field(default_factory=list)  # each with its body, which has this loop's variable

    @property
    def summary(self) -> Summary:
        """Of all that the statement accesses and defines, the loops that were fused into it included."""
        if self._summary is None:
            self._summary = summarize(self.node, outer=self.node)
        return self._summary

    def fuse(self, loop: For, body: Stmt, summary: Summary) -> None:
        """Fuses a loop into this one. body: the loop's, with this loop's variable. summary: the body's."""
        self._fused.append((loop, body))
        self.summary.add(summary)

    def statement(self) -> Stmt:
        """The statement; of loops that were fused the one loop."""
        first = self.node
        if not self._fused:
            return first
        loops = [first, *(loop for loop, _ in self._fused)]
        inside = [part for body in (first.body, *(body for _, body in self._fused)) for part in statements_of(body)]
        kind = ForKind.PARALLEL if all(loop.kind == ForKind.PARALLEL for loop in loops) else ForKind.SERIAL
        notes = {key: note for loop in loops for key, note in loop.annotations.items()}
        return For(first.loop_var, first.min, first.extent, kind, seq(inside), annotations=notes, span=first.span)

    def shared_axis(self, access: Access, other: Access | None = None) -> int | None:
        """An axis that all accesses index by the same expression, which differs between the iterations of this loop; or
        None."""
        common = access.common if other is None else access.joined(other).common
        for axis, expression in enumerate(common):
            if expression is None:
                continue
            step = coefficient(expression, self.node.loop_var)
            if not isinstance(step, int) or step == 0 or not variables(expression).isdisjoint(self.summary.defined):
                continue
            if not collect(expression, TensorLoad):
                return axis
        return None
