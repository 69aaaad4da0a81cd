"""Emits statements of thread IR as statements of the source, one line each, by a method for each kind of node."""

from __future__ import annotations

from dataclasses import replace

from tilecore.codegen import moves
from tilecore.codegen.effects import STATEMENT_CALLS, Effects
from tilecore.codegen.refusal import refuse
from tilecore.codegen.syntax import Memory, alignment_beyond
from tilecore.codegen.text import SUM, Text
from tilecore.errors import TilecoreError
from tilecore.ir.attributes import LoopAttr, StatementAttr
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
from tilecore.ir.thread_nodes import STATEMENT, THREAD_NODES
from tilecore.ir.views import address_in, source_of

_OWN = ("local", "reduce.")  # memory of a thread; partial results of reductions on targets without threads
_UPDATES = {"Add": "+", "Sub": "-", "Mul": "*"}
# class of a node -> the method that emits it
_METHODS = {name: kind.emit_method for name, kind in THREAD_NODES.items() if kind.role == STATEMENT}


class Statements(Effects):
    """Emits statements of one kernel into ``lines``."""

    def emit(self, node: Stmt) -> None:
        """Emit one statement. Raises UnsupportedError for what has no form; errors name the user's line."""
        method = _METHODS.get(type(node).__name__)
        if method is None:
            refuse(node, self.dialect.kind)
        place = location_of_span(getattr(node, "span", None))
        self._at(place)
        try:
            getattr(self, method)(node)
        except TilecoreError as error:
            error.at(place)
            raise

    # -- control flow -------------------------------------------------------------------------------------------

    def block(self, head: str, body: Stmt, tail: str | None = None) -> None:
        """A head, and ``body`` in a block. tail: the line behind it, the end of a block where it is None."""
        self.line(f"{head}{self.block_start}")
        self._indented(body)
        self._plain_line(self.block_end if tail is None else tail)

    def _indented(self, body: Stmt) -> None:
        self.depth += 1
        before = len(self.lines)
        self.emit(body)
        if len(self.lines) == before:
            self._plain_line(self.empty_block())
        self.depth -= 1

    def emit_sequence(self, node: SeqStmt) -> None:
        for part in node.seq:
            self.emit(part)

    def emit_attribute(self, node: AttrStmt) -> None:
        """The body, with what the attribute says of moves or of a variable's range; others mean nothing here."""
        if str(node.attr_key) == StatementAttr.MOVE_HINT:
            before, self.move_hint = self.move_hint, str(node.value.value)
            if self.move_hint not in moves.HINTS:
                hint = "one of " + ", ".join(moves.HINTS)
                refuse(node, self.dialect.kind, hint, f"the hint {self.move_hint!r} for moves")
            self.emit(node.body)
            self.move_hint = before
            return
        range_fact = known_range(node)
        if range_fact is not None:
            var, domain = range_fact
            self.bounds.bind_range(var, domain.min, domain.extent)
        self.emit(node.body)

    def emit_for(self, node: For) -> None:
        """A loop that counts up by one. Raises UnsupportedError for loops that are not serial or unrolled."""
        if node.kind not in (ForKind.SERIAL, ForKind.UNROLLED):
            refuse(node, self.dialect.kind, what=f"a loop of kind {ForKind(node.kind).name}")
        var, dtype = node.loop_var, dtype_of(node.loop_var)
        self.type_of(dtype, node)
        first, extent = self.value(node.min), self.value(node.extent)
        stop = extent if constant(node.min) == 0 else self.typed_binary("+", SUM, first, extent, dtype)
        known_first, known_extent = constant(node.min), constant(node.extent)
        if known_first is not None and known_extent is not None:
            stop = Text(str(known_first + known_extent))
        elif not self.bounds.is_place(node.min) or not self.bounds.is_place(node.extent):
            name = self.names.take(f"{var.name}_end")  # evaluated once
            self.line(self.constant(dtype, name, stop))
            stop = Text(name)
        name = self.names.take(str(var.name))
        self.variables[var] = Text(name)
        self.bounds.bind_range(var, node.min, node.extent)
        if node.kind == ForKind.UNROLLED:
            line = self.unroll_line(int(node.annotations.get(LoopAttr.UNROLL_FACTOR, 0)))
            if line:
                self._plain_line(line)
        self.block(self.for_head(dtype, name, first, stop), node.body)
        self.names.release(name)

    def emit_while(self, node: While) -> None:
        self.block(self.while_head(self.value(node.condition)), node.body)

    def emit_if(self, node: IfThenElse) -> None:
        """An `if`; an `if` that is all of the `else` block of another one becomes an `else if`."""
        head = self.if_head(self.value(node.condition))
        while True:
            self.line(f"{head}{self.block_start}")
            self._indented(node.then_case)
            other = node.else_case
            if other is None:
                break
            head = self.else_if_head(self.value(other.condition)) if isinstance(other, IfThenElse) else ""
            if not head:
                self._plain_line(self.otherwise)
                self._indented(other)
                break
            node = other
        self._plain_line(self.block_end)

    def emit_break(self, node: Break) -> None:
        self.line(self.break_statement())

    def emit_continue(self, node: Continue) -> None:
        self.line(self.continue_statement())

    # -- memory -------------------------------------------------------------------------------------------------

    def emit_binding(self, node: Bind) -> None:
        """A variable that keeps its value."""
        dtype = dtype_of(node.value)
        self.type_of(dtype, node)
        value = self.value(node.value)
        name = self.names.take(str(node.var.name))
        self.line(self.constant(dtype, name, value))
        self.variables[node.var] = Text(name)
        self.bounds.bind_value(node.var, node.value)

    def emit_allocation(self, node: AllocBuffer) -> None:
        """A buffer of the block or of the thread. Raises UnsupportedError for other scopes and for sizes that are not
        constant."""
        buffer = node.buffer
        dtype, scope = dtype_of(buffer), str(buffer.scope())
        if scope in self.dialect.scopes:
            self.dialect.scopes[scope](self, node)
            return
        self.type_of(dtype, node)
        name = self.names.take(str(buffer.name))
        count = constant(buffer.shape[0]) if len(buffer.shape) == 1 else None
        if scope.startswith("shared"):
            memory = self.memory[buffer] = Memory(name, dtype, scope=scope)
            offset = self.offsets.get(str(buffer.name))
            if offset is None:
                refuse(node, self.dialect.kind, what=f"shared buffer {buffer.name} without a place in the arena")
            line = self.shared_array(memory, count, offset)
            if line:
                self.line(line)
            return
        if not scope.startswith(_OWN):
            refuse(node, self.dialect.kind, what=f"memory of scope {scope!r}")
        if count is None:
            refuse(node, self.dialect.kind, what=f"{buffer.name}, of a size that is no constant,")
        scalar = count == 1 and not self.uses.is_viewed(buffer)
        self.memory[buffer] = Memory(name, dtype, scalar, scope)
        align = alignment_beyond(dtype, self.uses.alignment(buffer))
        self.line(self.variable(dtype, name, align) if scalar else self.local_array(dtype, name, count, align))

    def emit_view(self, node: DeclBuffer) -> None:
        """Another element type of a buffer's memory, or a tensor at an address."""
        if str(node.buffer.scope()) in self.dialect.scopes:
            self.dialect.scopes[str(node.buffer.scope())](self, node)
            return
        dtype = dtype_of(node.buffer)
        self.type_of(dtype, node)
        name = self.names.take(str(node.buffer.name))
        address, viewed = address_in(node), source_of(node)
        if address is not None or viewed is None:
            self.memory[node.buffer] = Memory(name, dtype, scope=str(node.buffer.scope()) or "global")
            self.line(self.pointer_at(self.memory[node.buffer], self.value(address)))
            return
        source = replace(self.memory[viewed], scope=str(viewed.scope()) or "global")
        memory = Memory(name, dtype, scope=source.scope)
        self.line(self.view(memory, source, self.uses.is_read_only(node.buffer)))
        self.memory[node.buffer] = memory

    def emit_store(self, node: BufferStore) -> None:
        """One element that is written, or a move of several."""
        (index,) = node.indices
        if isinstance(index, Ramp):
            self.vector_move(node, index)
            return
        if self.is_hinted(node):
            self.emit_move(node, index, 1)
            return
        memory = self.memory[node.buffer]
        place = self.place_in(memory, index)
        dtype = dtype_of(node.buffer)
        symbol = _UPDATES.get(type(node.value).__name__)
        if symbol is not None and dtype in ("float32", "float64", "uint32", "uint64"):
            old, target = node.value.a, self.named(memory, place)
            if isinstance(old, TensorLoad) and self.value(old) == target:
                self.line(self.updated(memory, target, symbol, self.value(node.value.b)))
                return
        self.line(self.stored(memory, place, self.value(node.value)))

    # -- calls --------------------------------------------------------------------------------------------------

    def emit_evaluate(self, node: Evaluate) -> None:
        """A call that stands alone: by the dialect's own function, else by the method of its name, else its value."""
        if is_nothing(node) or isinstance(node.value, IntImm):
            return
        name = op_name(node.value)
        emit_statement, method = self.dialect.statements.get(name), STATEMENT_CALLS.get(name)
        if emit_statement is not None:
            emit_statement(self, node)
        elif method is not None:
            getattr(self, method)(node)
        elif isinstance(node.value, Call):
            self.call_line(self.value(node.value))
