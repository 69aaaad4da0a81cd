"""Emits statements that are calls: barriers, asynchronous copies, prints and assertions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tilecore.codegen.arithmetic import NARROW
from tilecore.codegen.calls import memory_order
from tilecore.codegen.moves import Moves
from tilecore.codegen.refusal import refuse
from tilecore.dtypes import FACTS
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_calls import (
    ANNOTATE,
    ASSUME,
    ATOMIC_ADD,
    BARRIER,
    COMMIT_ASYNC,
    COPY_ASYNC,
    DEVICE_ASSERT,
    FENCE,
    NAMED_BARRIER,
    PRINT,
    WAIT_ASYNC,
    WARP_BARRIER,
)

if TYPE_CHECKING:
    from tilecore.codegen.text import Text

# name of a call in thread IR that stands alone -> the method that emits it
STATEMENT_CALLS: Mapping[str, str] = {
    BARRIER: "emit_barrier",
    NAMED_BARRIER: "emit_named_barrier",
    WARP_BARRIER: "emit_warp_barrier",
    FENCE: "emit_fence",
    COPY_ASYNC: "emit_copy_async",
    COMMIT_ASYNC: "emit_commit_async",
    WAIT_ASYNC: "emit_wait_async",
    ATOMIC_ADD: "emit_atomic_add",
    PRINT: "emit_print",
    DEVICE_ASSERT: "emit_device_assert",
    ASSUME: "emit_assume",
    ANNOTATE: "emit_annotation",
}


class Effects(Moves):
    """Emits calls that stand alone: a method for each. Each takes the Evaluate statement around the call."""

    def emit_barrier(self, node: Any) -> None:
        """All threads of the block wait for one another."""
        self.call_line(self.function("tc_barrier"))

    def emit_named_barrier(self, node: Any) -> None:
        """Some of a block's threads wait for one another."""
        number, threads = node.value.args
        self.call_line(self.function("tc_named_barrier", self.value(number), self.value(threads)))

    def emit_warp_barrier(self, node: Any) -> None:
        """The threads of a warp wait for one another."""
        self.call_line(self.function("tc_warp_barrier"))

    def emit_fence(self, node: Any) -> None:
        """Orders this thread's writes; no thread waits."""
        self.call_line(self.function(f"tc_fence_{node.value.args[0].value}"))

    def emit_copy_async(self, node: Any) -> None:
        """Starts a copy from global to shared memory; zeros are written where the last operand is false."""
        target, source, size, valid = node.value.args
        constant_valid = constant(valid)
        condition = self.value(valid) if constant_valid is None else self.boolean(bool(constant_valid))
        places = self.place(target), self.place(source)
        self.call_line(self.sized_function("tc_copy_async", self.known_number(node, size), *places, condition))

    def emit_commit_async(self, node: Any) -> None:
        """The copies that this thread has started become one group."""
        self.call_line(self.function("tc_commit_async"))

    def emit_wait_async(self, node: Any) -> None:
        """Waits for all groups of copies but the last few."""
        self.call_line(self.sized_function("tc_wait_async", self.known_number(node, node.value.args[0])))

    def emit_atomic_add(self, node: Any) -> None:
        """Adds several neighbours at once."""
        target, values, count, order = node.value.args
        arguments = [self.place(target), self.place(values), *memory_order(str(order.value))]
        self.call_line(self.function(f"tc_atomic_add_x{self.known_number(node, count)}", *arguments))

    def emit_print(self, node: Any) -> None:
        """``message: value, value``."""
        message = str(node.value.args[0].value)
        numbers = [self.printable(arg) for arg in node.value.args[1:]]
        attrs = node.value.attrs
        has_indices = attrs is not None and CallAttr.INDICES_PRINTED in attrs
        pieces: list[str | tuple[str, Text]] = []
        for _ in range(int(attrs[CallAttr.INDICES_PRINTED]) if has_indices else 0):  # indices of an element
            before, _, message = message.partition("{}")
            pieces += [before, numbers.pop(0)]
        pieces.append(message)
        if numbers and any(pieces):
            pieces.append(": ")
        for position, number in enumerate(numbers):
            pieces += [" ", number] if position else [number]
        pieces.append("\n")
        self.line(self.print_statement(pieces))

    def printable(self, node: Any) -> tuple[str, Text]:
        """What `printed` returns for a value of thread IR. Raises UnsupportedError for a vector."""
        dtype, value = dtype_of(node), self.value(node)
        if dtype not in FACTS:
            return refuse(node, self.dialect.kind, what=f"printing {dtype}")
        if dtype in NARROW:
            value, dtype = self.widened(value), "float32"
        return self.printed(dtype, value)

    def emit_device_assert(self, node: Any) -> None:
        """Assertions are numbered from 1 in the order in which they stand."""
        place = location_of_span(node.span)
        message = str(node.value.args[1].value)
        self.assertions.append(message + (f" ({place})" if place else ""))
        condition, number = self.value(node.value.args[0]), len(self.assertions)
        self.call_line(self.function("tc_assert", condition, str(number), self.quoted(message)))

    def emit_assume(self, node: Any) -> None:
        """A condition that holds."""
        self.call_line(self.function("tc_assume", self.value(node.value.args[0])))

    def emit_annotation(self, node: Any) -> None:
        """Hints that mean nothing here."""
