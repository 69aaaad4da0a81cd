"""Statements that are calls: barriers, asynchronous copies, prints and assertions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilecore.codegen.arithmetic import NARROW, widened
from tilecore.codegen.calls import memory_order
from tilecore.codegen.refusal import refuse
from tilecore.codegen.text import cast
from tilecore.dtypes import FACTS
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.spans import location_of_span

if TYPE_CHECKING:
    from tilecore.codegen.statements import Statements


def _barrier(emit: Statements, node: Any) -> None:
    emit.line("tc_barrier();")


def _named_barrier(emit: Statements, node: Any) -> None:
    number, threads = node.value.args
    emit.line(f"tc_named_barrier({emit.value(number)}, {emit.value(threads)});")


def _warp_barrier(emit: Statements, node: Any) -> None:
    emit.line("tc_warp_barrier();")


def _fence(emit: Statements, node: Any) -> None:
    emit.line(f"tc_fence_{node.value.args[0].value}();")


def _copy_async(emit: Statements, node: Any) -> None:
    target, source, size, valid = node.value.args
    expressions = emit.expressions
    condition = emit.value(valid)
    name = emit.dialect.forms.sized("tc_copy_async", _number(emit, node, size))
    emit.line(
        f"{name}({expressions.place(target)}, {expressions.place(source)}, "
        f"{condition if constant(valid) is None else 'true' if constant(valid) else 'false'});"
    )


def _commit_async(emit: Statements, node: Any) -> None:
    emit.line("tc_commit_async();")


def _wait_async(emit: Statements, node: Any) -> None:
    name = emit.dialect.forms.sized("tc_wait_async", _number(emit, node, node.value.args[0]))
    emit.line(f"{name}();")


def _atomic_add(emit: Statements, node: Any) -> None:
    """Several neighbours at once."""
    target, values, count, order = node.value.args
    places = [emit.expressions.place(target), emit.expressions.place(values)]
    arguments = ", ".join([*places, *memory_order(str(order.value))])
    emit.line(f"tc_atomic_add_x{_number(emit, node, count)}({arguments});")


def _number(emit: Statements, node: Any, value: Any) -> int:
    number = constant(value)
    return refuse(node, emit.dialect.kind, what="a count that is no constant") if number is None else number


def _print(emit: Statements, node: Any) -> None:
    """``message: value, value``."""
    message = str(node.value.args[0].value)
    parts, operands = [], []
    for arg in node.value.args[1:]:
        part, text = _printable(emit, arg)
        parts.append(part)
        operands.append(text)
    hints = node.value.attrs
    for _ in range(int(hints["places"]) if hints is not None and "places" in hints else 0):
        message = message.replace("{}", "\0" + parts.pop(0), 1)  # indices of an element
    message = message.replace("%", "%%").replace("\0%%", "%")
    text = message + (": " if parts and message else "") + " ".join(parts) + "\n"
    emit.line(f"tc_print({', '.join([quoted(text), *operands])});")


def _printable(emit: Statements, node: Any) -> tuple[str, str]:
    dtype, value = dtype_of(node), emit.value(node)
    facts = FACTS.get(dtype)
    if facts is None:
        return refuse(node, emit.dialect.kind, what=f"printing {dtype}")
    if dtype in NARROW:
        value = widened(emit.expressions, value)
    place, kind = emit.dialect.forms.printed[facts.kind]
    return place, cast(kind, value).text


def quoted(text: str) -> str:
    """``text`` as a C string."""
    simple = {"\n": "\\n", '"': '\\"', "\\": "\\\\", "?": "\\?"}
    made = []
    for char in text:
        if char in simple:
            made.append(simple[char])
        elif 32 <= ord(char) < 127:
            made.append(char)
        else:
            made.extend(f"\\{byte:03o}" for byte in char.encode())
    return '"' + "".join(made) + '"'


def _device_assert(emit: Statements, node: Any) -> None:
    """Assertions are numbered from 1 in the order in which they stand."""
    place = location_of_span(node.span)
    text = str(node.value.args[1].value) + (f" ({place})" if place else "")
    emit.assertions.append(text)
    condition = emit.value(node.value.args[0])
    number = len(emit.assertions)
    emit.line(f"tc_assert({condition}, {number}, {quoted(str(node.value.args[1].value))});")


def _assume(emit: Statements, node: Any) -> None:
    emit.line(f"tc_assume({emit.value(node.value.args[0])});")


def _nothing(emit: Statements, node: Any) -> None:
    """Hints that mean nothing here."""


STATEMENTS: dict[str, Callable[[Statements, Any], None]] = {
    "simt.barrier": _barrier,
    "simt.named_barrier": _named_barrier,
    "simt.warp_barrier": _warp_barrier,
    "simt.fence": _fence,
    "simt.copy_async": _copy_async,
    "simt.commit_async": _commit_async,
    "simt.wait_async": _wait_async,
    "simt.atomic_add": _atomic_add,
    "tile.print": _print,
    "tile.device_assert": _device_assert,
    "tile.assume": _assume,
    "tile.annotate": _nothing,
}
