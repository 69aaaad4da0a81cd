"""Statements of the target IR as LLVM basic blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.backends.cpu.llvm import effects, streaming
from tilecore.backends.cpu.llvm.expressions import Expressions, suffix
from tilecore.backends.cpu.llvm.function import NO_SCOPE, SCRATCH_END, Function, Memory, plain_name
from tilecore.backends.cpu.llvm.refusal import refuse
from tilecore.backends.cpu.llvm.types import Value, bytes_of, is_float, literal, split
from tilecore.errors import TilecoreError
from tilecore.ir.build import constant, dtype_of, is_nothing
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    Break,
    BufferStore,
    Call,
    Cast,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    Ramp,
    SeqStmt,
    Stmt,
    While,
)
from tilecore.ir.scopes import ARENA
from tilecore.ir.spans import location_of_span
from tilecore.ir.views import address_in, source_of
from tilecore.ir.visit import collect
from tilecore.lowering.loops.lane_ops import MASKED_STORE

# buffers up to this size live on the stack, where LLVM can keep them in registers; larger ones in the scratch memory
STACK_BYTES = 8192
STACK_TOTAL = 65536


class Statements:
    """Emits statements into a function."""

    def __init__(self, fn: Function) -> None:
        self.fn = fn
        self.expressions = Expressions(fn)
        self.stack_used = 0
        self.innermost: Any = None  # variable of the loop that is being emitted
        self.subprogram: int | None = None  # the debug metadata of the function, where it names the user's lines

    def emit(self, node: Stmt) -> None:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            refuse(node)
        if self.subprogram is not None:
            place = location_of_span(getattr(node, "span", None))
            if place is not None:
                self.fn.place = self.fn.module.debug_lines.location(self.subprogram, place.file, place.line)
        try:
            handler(self, node)
        except TilecoreError as error:
            error.at(location_of_span(getattr(node, "span", None)))
            raise

    def value(self, node: Any) -> Value:
        return self.expressions.value(node)

    def _seq(self, node: SeqStmt) -> None:
        for part in node.seq:
            self.emit(part)

    # -- control flow -----------------------------------------------------------------------------------------

    def _for(self, node: For) -> None:
        fn = self.fn
        start, extent = self.value(node.min), self.value(node.extent)
        if extent.text == "1":
            self._single_iteration(node, start)
            return
        stop = extent
        if start.text != "0":
            stop = Value(fn.op(f"add nsw {start.type} {start.text}, {extent.text}"), start.dtype)
        head, body, latch, end = (fn.new_label(s) for s in ("for", "body", "next", "end"))
        before = fn.block
        fn.jump(head)
        fn.label(head)
        var, following = fn.fresh(plain_name(node.loop_var.name)), fn.fresh("next")
        fn.line(f"{var} = phi {start.type} [ {start.text}, %{before} ], [ {following}, %{latch} ]")
        fn.branch(fn.op(f"icmp slt {start.type} {var}, {stop.text}"), body, end)
        fn.label(body)
        self.expressions.env[node.loop_var] = Value(var, start.dtype)
        fn.loops.append((latch, end))
        outer, self.innermost = self.innermost, node.loop_var
        self.emit(node.body)
        self.innermost = outer
        fn.loops.pop()
        fn.jump(latch)
        fn.label(latch)
        fn.line(f"{following} = add nsw {start.type} {var}, 1")
        fn.jump(head)
        fn.label(end)

    def _single_iteration(self, node: For, start: Value) -> None:
        """The body alone. LLVM would hoist it out of the loop, and what it hoists has no line of the source."""
        fn = self.fn
        end = fn.new_label("end")
        self.expressions.env[node.loop_var] = start
        fn.loops.append((end, end))
        self.emit(node.body)
        fn.loops.pop()
        fn.jump(end)
        fn.label(end)

    def _while(self, node: While) -> None:
        fn = self.fn
        head, body, end = (fn.new_label(s) for s in ("while", "body", "end"))
        fn.jump(head)
        fn.label(head)
        fn.branch(self.value(node.condition).text, body, end)
        fn.label(body)
        fn.loops.append((head, end))
        self.emit(node.body)
        fn.loops.pop()
        fn.jump(head)
        fn.label(end)

    def _if(self, node: IfThenElse) -> None:
        fn = self.fn
        yes, no, end = (fn.new_label(s) for s in ("then", "else", "join"))
        fn.branch(self.value(node.condition).text, yes, no if node.else_case is not None else end)
        fn.label(yes)
        self.emit(node.then_case)
        fn.jump(end)
        if node.else_case is not None:
            fn.label(no)
            self.emit(node.else_case)
            fn.jump(end)
        fn.label(end)

    def _break(self, node: Break) -> None:
        self.fn.jump(self.fn.loops[-1][1])

    def _continue(self, node: Continue) -> None:
        self.fn.jump(self.fn.loops[-1][0])

    def _attr(self, node: AttrStmt) -> None:
        self.emit(node.body)

    # -- memory -----------------------------------------------------------------------------------------------

    def _bind(self, node: Bind) -> None:
        self.expressions.env[node.var] = self.expressions.lazy(node.value)

    def _alloc(self, node: AllocBuffer) -> None:
        buffer = node.buffer
        dtype, lanes = split(str(buffer.dtype))
        if str(buffer.scope()) == ARENA:
            pointer = self.fn.fresh("arena_")
            self.fn.stack.append(f"  {pointer} = getelementptr inbounds i8, ptr %scratch, i64 {SCRATCH_END}")
            self.expressions.memory[buffer] = Memory(pointer, dtype, lanes, self._scope())
            return
        count = 1
        for size in buffer.shape:
            count *= constant(size) or 1
        size = count * _room(lanes * bytes_of(dtype))
        if size <= STACK_BYTES and self.stack_used + size <= STACK_TOTAL:
            self.stack_used += size
            pointer = self.fn.allocate(dtype, lanes, count, str(buffer.name))
        else:
            pointer = self.fn.fresh(plain_name(buffer.name) + "_")
            self.fn.stack.append(f"  {pointer} = getelementptr inbounds i8, ptr %scratch, i64 {self.fn.scratch}")
            self.fn.scratch += -(-size // 64) * 64
        self.expressions.memory[buffer] = Memory(pointer, dtype, lanes, self._scope())

    def _scope(self) -> int:
        self.fn.module.scopes += 1
        return self.fn.module.scopes - 1

    def _alias(self, node: DeclBuffer) -> None:
        dtype, lanes = split(str(node.buffer.dtype))
        address = address_in(node)
        if address is not None:
            pointer = self.fn.op(f"inttoptr i64 {self.value(address).text} to ptr")
            self.expressions.memory[node.buffer] = Memory(pointer, dtype, lanes, NO_SCOPE)
            return
        source = self.expressions.memory[source_of(node)]
        self.expressions.memory[node.buffer] = Memory(source.pointer, dtype, lanes, source.scope)

    def _store(self, node: BufferStore) -> None:
        memory = self.expressions.memory[node.buffer]
        value = self.expressions.lazy(node.value)
        raw = self.expressions.stored_form(value)
        (index,) = node.indices
        if memory.lanes > 1 or value.lanes == 1:
            pointer = self.fn.address(memory, self.expressions.offset(index))
        elif isinstance(index, Ramp) and constant(index.stride) == 1:
            pointer = self.fn.address(memory, self.expressions.offset(index.base))
            if memory.streams and streaming.fills_lines(value, index.base, self.innermost):
                streaming.store(self.fn, memory, value, raw, pointer)
                return
        else:
            self._scatter(memory, index, value, raw, literal(True, "bool", value.lanes).text)
            return
        kind = value.stored_type
        self.fn.line(f"store {kind} {raw}, ptr {pointer}, align {self.fn.align(memory)}{self.fn.tag(memory)}")

    def _scatter(self, memory: Memory, index: Any, value: Value, raw: str, mask: str) -> None:
        lanes, kind = value.lanes, value.stored_type
        places = self.expressions.pointers(memory, self.expressions.offset(index))
        name = f"llvm.masked.scatter.{suffix(kind)}.v{lanes}p0"
        self.fn.module.declare(name, f"void {{}}({kind}, <{lanes} x ptr>, i32, <{lanes} x i1>)")
        arguments = f"{kind} {raw}, <{lanes} x ptr> {places}, i32 {self.fn.align(memory)}, <{lanes} x i1> {mask}"
        self.fn.line(f"call void @{name}({arguments}){self.fn.tag(memory)}")

    def _masked_store(self, call: Call) -> None:
        element, payload, mask = call.args
        memory = self.expressions.memory[element.source]
        value = self.expressions.lazy(payload)
        raw = self.expressions.stored_form(value)
        active = self.value(mask)
        (index,) = element.indices
        if not (isinstance(index, Ramp) and constant(index.stride) == 1):
            self._scatter(memory, index, value, raw, active.text)
            return
        pointer = self.fn.address(memory, self.expressions.offset(index.base), inbounds=False)
        kind = value.stored_type
        name = f"llvm.masked.store.{suffix(kind)}.p0"
        self.fn.module.declare(name, f"void {{}}({kind}, ptr, i32, <{value.lanes} x i1>)")
        mask_text = self._unfolded(active) if _may_be_cut(payload, memory.dtype) else active.text
        arguments = f"{kind} {raw}, ptr {pointer}, i32 {self.fn.align(memory)}, {active.type} {mask_text}"
        self.fn.line(f"call void @{name}({arguments}){self.fn.tag(memory)}")

    def _unfolded(self, mask: Value) -> str:
        """The mask in a form that LLVM knows nothing of. Of numbers that are cut off to fewer bits, under a constant
        mask with one lane, it stores all bits from before, over the neighbours (seen on x86 with AVX-512)."""
        if mask.lanes > 64:  # no register has a bit for each lane: one bit for all
            true_int = self.fn.op('call i32 asm "", "=r,0"(i32 1)')
            bit = Value(self.fn.op(f"trunc i32 {true_int} to i1"), "bool", 1)
            return self.fn.op(f"and {mask.type} {mask.text}, {self.fn.broadcast(bit, mask.lanes).text}")
        bits = 32 if mask.lanes <= 32 else 64
        all_ones = self.fn.op(f'call i{bits} asm "", "=r,0"(i{bits} -1)')
        if mask.lanes < bits:
            all_ones = self.fn.op(f"trunc i{bits} {all_ones} to i{mask.lanes}")
        lanes = self.fn.op(f"bitcast i{mask.lanes} {all_ones} to {mask.type}")
        return self.fn.op(f"and {mask.type} {mask.text}, {lanes}")

    def _evaluate(self, node: Evaluate) -> None:
        if is_nothing(node):
            return
        name = str(getattr(getattr(node.value, "op", None), "name", ""))
        if name == MASKED_STORE:
            self._masked_store(node.value)
        elif name in effects.EFFECTS:
            effects.EFFECTS[name](self, node)
        else:
            self.value(node.value)


def _may_be_cut(payload: Any, dtype: str) -> bool:
    """Can the elements be low bits of wider registers: of 32 bits, in which narrow ones are computed, or of 64?"""
    if bytes_of(dtype) < 4:
        return True
    sources = (split(dtype_of(node.value))[0] for node in collect(payload, Cast))
    return bytes_of(dtype) == 4 and not is_float(dtype) and any(bytes_of(source) == 8 for source in sources)


def _room(size: int) -> int:
    """Bytes from one element to the next, for LLVM: vectors of any number of lanes lie at powers of two."""
    return 1 << (size - 1).bit_length()


_HANDLERS: dict[type, Callable[[Statements, Any], None]] = {
    SeqStmt: Statements._seq,
    For: Statements._for,
    While: Statements._while,
    IfThenElse: Statements._if,
    Break: Statements._break,
    Continue: Statements._continue,
    AttrStmt: Statements._attr,
    Bind: Statements._bind,
    AllocBuffer: Statements._alloc,
    DeclBuffer: Statements._alias,
    BufferStore: Statements._store,
    Evaluate: Statements._evaluate,
}
