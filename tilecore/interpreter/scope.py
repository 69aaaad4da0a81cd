"""The context in which IR is compiled to closures: slots of variables, facts of buffers, the current site.

Nodes are compiled once into Python closures over a :class:`~tilecore.interpreter.state.State`, as walking TVM's nodes
in every block would be slow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from tilecore.element_values import Value, ValueType, value_type
from tilecore.errors import LanguageError, UnsupportedError
from tilecore.interpreter.analysis import FunctionFacts
from tilecore.interpreter.memory import Access
from tilecore.interpreter.state import LoopVariable, Site, State
from tilecore.ir.nodes import Expr, Stmt, Var
from tilecore.ir.parallel_nests import RegionFacts
from tilecore.ir.scopes import PRIVATE

Expression = Callable[[State], Value]
Statement = Callable[[State], None]


@dataclass(frozen=True)
class BufferInfo:
    """A buffer in the code. root: the buffer that owns its memory, which is another one for a view."""

    var: Var
    name: str
    slot: int
    kind: ValueType
    rank: int
    scope: str
    root: Var

    @property
    def is_global(self) -> bool:
        return self.scope == "global"

    @property
    def is_private(self) -> bool:
        return self.scope in PRIVATE


@dataclass(frozen=True)
class VariableInfo:
    slot: int
    kind: ValueType
    lanes: str  # the lanes that its value may differ in: "single", "threads" or "parallel"


class Scope:
    """The context of the code that is being compiled.

    lanes: "single", "threads" or "parallel": the lanes over which the code runs. in_kernel: inside a kernel.
    region: facts of the T.Parallel nest around it, if any; parallel_depth: the number of its axes around this place;
    written_roots, written_in_kernel: the roots of the buffers that it, or the kernel, writes. masked: accesses to
    global buffers that are out of bounds are masked here.
    """

    def __init__(self, facts: FunctionFacts) -> None:
        self.facts = facts
        self.slots = 0
        self.variables: dict[Var, VariableInfo] = {}
        self.buffers: dict[Var, BufferInfo] = {}
        self.site = Site(None)
        self.lanes = "single"
        self.masked = False
        self.in_kernel = False
        self.region: RegionFacts | None = None
        self.parallel_depth = 0
        self.written_roots: set[Var] = set()
        self.written_in_kernel: set[Var] = set()

    # -- definitions -----------------------------------------------------------------------------------------

    def new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def define(self, var: Var) -> VariableInfo:
        """A slot for a scalar variable whose value is set here."""
        defined = self.variables.get(var)
        slot = self.new_slot() if defined is None else defined.slot
        info = VariableInfo(slot, value_type(str(var.ty.dtype)), self.lanes)
        self.variables[var] = info
        return info

    def define_buffer(self, var: Var) -> BufferInfo:
        info = BufferInfo(
            var,
            str(var.name),
            self.new_slot(),
            value_type(str(var.dtype)),
            len(var.shape),
            str(var.scope()),
            self.facts.root(var),
        )
        self.buffers[var] = info
        return info

    def variable(self, var: Var) -> VariableInfo:
        info = self.variables.get(var)
        if info is None:
            raise self.error(LanguageError, f"variable {var.name} has no value here")
        return info

    def buffer(self, var: Any) -> BufferInfo:
        info = self.buffers.get(var)
        if info is None:
            raise self.error(LanguageError, f"buffer {getattr(var, 'name', var)} is not declared here")
        return info

    # -- sites -----------------------------------------------------------------------------------------------

    def error(self, kind: type, message: str, **facts: Any) -> Any:
        return kind(message, location=self.site.location, **facts)

    def unsupported(self, node: Any) -> UnsupportedError:
        return self.error(
            UnsupportedError, f"the interpreter does not know {type(node).__name__} nodes", found=str(node)[:120]
        )

    @contextmanager
    def at(self, node: Stmt | Expr) -> Iterator[None]:
        """In this context errors point at the span of ``node``, if it has one."""
        span = node.span
        if span is None:
            yield
            return
        before = self.site
        self.site = replace(before, span=span)
        yield
        self.site = before

    def show(self, name: str, slot: int, kind: str = "loop") -> None:
        """Errors of the code that follows show this variable's value."""
        self.site = replace(self.site, variables=(*self.site.variables, LoopVariable(name, slot, kind)))

    @contextmanager
    def inner(self, **changes: Any) -> Iterator[None]:
        """A nested context with other values of some attributes; afterwards they, and the site, are as before."""
        before = {name: getattr(self, name) for name in (*changes, "site")}
        for name, value in changes.items():
            setattr(self, name, value)
        yield
        for name, value in before.items():
            setattr(self, name, value)

    def access(self, info: BufferInfo, masked: bool | None = None) -> Access:
        """How the code at the current site accesses ``info``."""
        safe = self.facts.safe_values.get(info.var)
        mask = self.masked if masked is None else masked
        return Access(
            self.site,
            masked=mask and info.is_global,
            tracked=self.region is not None and info.root in self.written_roots,
            between_blocks=info.is_global and info.root in self.written_in_kernel,
            safe=None if safe is None else self.expression(safe),
        )

    # -- compiling -------------------------------------------------------------------------------------------

    def expression(self, node: Expr) -> Expression:
        from tilecore.interpreter.expressions import compile_expression

        return compile_expression(self, node)

    def statement(self, node: Stmt) -> Statement:
        from tilecore.interpreter.statements import compile_statement

        return compile_statement(self, node)


def type_of(node: Expr) -> ValueType:
    return value_type(str(node.ty.dtype))
