"""Statements of thread IR as C statements, one line each, with a note of the user's line where it changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from tilecore.codegen import effects, moves
from tilecore.codegen.bounds import Bounds
from tilecore.codegen.dialect import Dialect
from tilecore.codegen.expressions import Expressions, Memory
from tilecore.codegen.memory_uses import MemoryUses
from tilecore.codegen.names import Names
from tilecore.codegen.refusal import refuse
from tilecore.codegen.text import ORDER, SUM, Text, binary, within
from tilecore.dtypes import FACTS
from tilecore.errors import TilecoreError
from tilecore.ir.build import constant, dtype_of, is_nothing, op_name
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    Break,
    BufferStore,
    Call,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    Ramp,
    SeqStmt,
    Stmt,
    TensorLoad,
    While,
)
from tilecore.ir.ranges import known_range
from tilecore.ir.spans import location_of_span

UNROLL_FACTOR = "unroll_factor"  # annotation of a loop: T.unroll(unroll_factor=)
_OWN = ("local", "reduce.")  # memory of a thread; partial results of reductions on targets without threads
_UPDATES = {"Add": "+=", "Sub": "-=", "Mul": "*="}


class Statements:
    """Emits statements of one kernel into ``lines``. ``offsets``: where shared buffers lie in the arena, by name."""

    def __init__(self, dialect: Dialect, names: Names, offsets: Mapping[str, int], uses: MemoryUses) -> None:
        self.dialect = dialect
        self.names = names
        self.offsets = offsets
        self.uses = uses
        self.bounds = Bounds()
        self.expressions = Expressions(dialect, self.bounds)
        self.lines: list[str] = []
        self.depth = 1
        self.assertions: list[str] = []
        self.move_hint = ""  # of the statement around (moves.py)
        self._place: tuple[str, int] | None = None  # the user's line of the statement that is being emitted
        self._noted: tuple[str, int] | None = None

    # -- text ---------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """One line of source, with the user's line behind it when that is another than before."""
        note = ""
        if self._place is not None and self._place != self._noted:
            note = f"  // {self._place[0]}:{self._place[1]}"
            self._noted = self._place
        self.lines.append(f"{'  ' * self.depth}{text}{note}")

    def value(self, node: Any) -> Text:
        return self.expressions.value(node)

    def emit(self, node: Stmt) -> None:
        """Emit one statement. Errors name the user's line."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            refuse(node, self.dialect.kind)
        place = location_of_span(getattr(node, "span", None))
        if place is not None:
            self._place = (os.path.basename(place.file), place.line)
        try:
            handler(self, node)
        except TilecoreError as error:
            error.at(place)
            raise

    def block(self, head: str, body: Stmt, tail: str = "}") -> None:
        """``head { body }``."""
        self.line(f"{head} {{")
        self.depth += 1
        self.emit(body)
        self.depth -= 1
        self.lines.append(f"{'  ' * self.depth}{tail}")

    # -- control flow -------------------------------------------------------------------------------------------

    def _seq(self, node: SeqStmt) -> None:
        for part in node.seq:
            self.emit(part)

    def _attr(self, node: AttrStmt) -> None:
        if str(node.attr_key) == moves.HINT:
            moves.with_hint(self, node)
            return
        handler = known_range(node)
        if handler is not None:
            var, domain = handler
            self.bounds.bind_range(var, domain.min, domain.extent)
        self.emit(node.body)

    def _for(self, node: For) -> None:
        if node.kind not in (ForKind.SERIAL, ForKind.UNROLLED):
            refuse(node, self.dialect.kind, what=f"a loop of kind {ForKind(node.kind).name}")
        var, kind = node.loop_var, self.expressions.type_of(dtype_of(node.loop_var), node)
        first, extent = self.value(node.min), self.value(node.extent)
        stop = extent if constant(node.min) == 0 else binary("+", SUM, first, extent)
        known_first, known_extent = constant(node.min), constant(node.extent)
        if known_first is not None and known_extent is not None:
            stop = Text(str(known_first + known_extent))
        elif not self.bounds.is_place(node.min) or not self.bounds.is_place(node.extent):
            name = self.names.take(f"{var.name}_end")  # evaluated once
            self.line(f"const {kind} {name} = {stop};")
            stop = Text(name)
        name = self.names.take(str(var.name))
        self.expressions.variables[var] = Text(name)
        self.bounds.bind_range(var, node.min, node.extent)
        if node.kind == ForKind.UNROLLED and self.dialect.unroll:
            factor = f" {int(node.annotations[UNROLL_FACTOR])}" if UNROLL_FACTOR in node.annotations else ""
            self.lines.append(f"{'  ' * self.depth}{self.dialect.unroll}{factor}")
        self.block(f"for ({kind} {name} = {first}; {name} < {within(stop, ORDER, right=True)}; ++{name})", node.body)
        self.names.release(name)

    def _while(self, node: While) -> None:
        self.block(f"while ({self.value(node.condition)})", node.body)

    def _if(self, node: IfThenElse) -> None:
        head = f"if ({self.value(node.condition)})"
        while node.else_case is not None:
            inner = node.else_case
            chained = isinstance(inner, IfThenElse)
            self.block(head, node.then_case, tail="}" if not chained else "")
            if not chained:
                self.lines[-1] += " else {"
                self.depth += 1
                self.emit(inner)
                self.depth -= 1
                self.lines.append(f"{'  ' * self.depth}}}")
                return
            self.lines.pop()
            head = f"}} else if ({self.value(inner.condition)})"
            node = inner
        self.block(head, node.then_case)

    def _break(self, node: Break) -> None:
        self.line("break;")

    def _continue(self, node: Continue) -> None:
        self.line("continue;")

    # -- memory -------------------------------------------------------------------------------------------------

    def _bind(self, node: Bind) -> None:
        dtype = dtype_of(node.value)
        kind = self.expressions.type_of(dtype, node)
        value = self.value(node.value)
        name = self.names.take(str(node.var.name))
        self.line(f"const {kind} {name} = {value};")
        self.expressions.variables[node.var] = Text(name)
        self.bounds.bind_value(node.var, node.value)

    def _alloc(self, node: AllocBuffer) -> None:
        buffer = node.buffer
        dtype, scope = dtype_of(buffer), str(buffer.scope())
        if scope in self.dialect.scopes:
            self.dialect.scopes[scope](self, node)
            return
        kind = self.expressions.type_of(dtype, node)
        name = self.names.take(str(buffer.name))
        if scope.startswith("shared"):
            self.expressions.memory[buffer] = Memory(name, dtype)
            offset = self.offsets.get(str(buffer.name))
            if offset is None:
                refuse(node, self.dialect.kind, what=f"shared buffer {buffer.name} without a place in the arena")
            pointer = self.dialect.pointer(self.dialect.aliased(kind), scope)
            self.line(f"{pointer} {name} = ({pointer})({self.dialect.arena_name} + {offset});")
            return
        if not scope.startswith(_OWN):
            refuse(node, self.dialect.kind, what=f"memory of scope {scope!r}")
        sizes = [constant(size) for size in buffer.shape]
        if len(sizes) != 1 or sizes[0] is None:
            refuse(node, self.dialect.kind, what=f"{buffer.name}, of a size that is no constant,")
        scalar = sizes[0] == 1 and not self.uses.is_viewed(buffer)
        self.expressions.memory[buffer] = Memory(name, dtype, scalar)
        align = self.uses.alignment(buffer)
        own = (FACTS[dtype].bits + 7) // 8
        prefix = f"alignas({align}) " if align > own else ""
        self.line(f"{prefix}{kind} {name};" if scalar else f"{prefix}{kind} {name}[{sizes[0]}];")

    def _view(self, node: DeclBuffer) -> None:
        """Another element type of a buffer's memory."""
        if str(node.buffer.scope()) in self.dialect.scopes:
            self.dialect.scopes[str(node.buffer.scope())](self, node)
            return
        source = self.expressions.memory[node.data.args[0]]
        dtype = dtype_of(node.buffer)
        kind = self.expressions.type_of(dtype, node)
        name = self.names.take(str(node.buffer.name))
        scope = str(node.data.args[0].scope())
        pointer = self.dialect.pointer(self.dialect.aliased(kind), scope, self.uses.is_read_only(node.buffer))
        self.line(f"{pointer} {name} = ({pointer}){source.name};")
        self.expressions.memory[node.buffer] = Memory(name, dtype)

    def _store(self, node: BufferStore) -> None:
        (index,) = node.indices
        if isinstance(index, Ramp):
            moves.vector(self, node, index)
            return
        if moves.is_hinted(self, node):
            moves.move(self, node, index, (FACTS[dtype_of(node.buffer)].bits + 7) // 8)
            return
        target = self.expressions.element(node.buffer, index)
        dtype = dtype_of(node.buffer)
        update = _UPDATES.get(type(node.value).__name__)
        if update is not None and dtype in ("float32", "float64", "uint32", "uint64"):
            old = node.value.a
            if isinstance(old, TensorLoad) and self.value(old) == target:
                self.line(f"{target} {update} {self.value(node.value.b)};")
                return
        self.line(f"{target} = {self.value(node.value)};")

    # -- calls --------------------------------------------------------------------------------------------------

    def _evaluate(self, node: Evaluate) -> None:
        if is_nothing(node) or isinstance(node.value, IntImm):
            return
        name = op_name(node.value)
        handler = self.dialect.statements.get(name) or effects.STATEMENTS.get(name)
        if handler is not None:
            handler(self, node)
        elif isinstance(node.value, Call):
            self.line(f"{self.value(node.value)};")


_HANDLERS: dict[type, Callable[[Statements, Any], None]] = {
    SeqStmt: Statements._seq,
    AttrStmt: Statements._attr,
    For: Statements._for,
    While: Statements._while,
    IfThenElse: Statements._if,
    Break: Statements._break,
    Continue: Statements._continue,
    Bind: Statements._bind,
    AllocBuffer: Statements._alloc,
    DeclBuffer: Statements._view,
    BufferStore: Statements._store,
    Evaluate: Statements._evaluate,
}
