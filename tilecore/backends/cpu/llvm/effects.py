"""Statements that act on the world outside the block's own memory: atomics, prints, assertions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.backends.cpu.llvm import tile_registers
from tilecore.backends.cpu.llvm.c_library import print_line
from tilecore.backends.cpu.llvm.function import Memory
from tilecore.backends.cpu.llvm.narrow import widen
from tilecore.backends.cpu.llvm.types import Value, bytes_of, computed, is_float, is_narrow, is_signed, stored
from tilecore.ir.attributes import CallAttr
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_calls import ASSUME, ATOMIC_ELEMENT, DEVICE_ASSERT, PRINT

if TYPE_CHECKING:
    from tilecore.backends.cpu.llvm.expressions import Expressions
    from tilecore.backends.cpu.llvm.statements import Statements

_ORDERS = {"relaxed": "monotonic", "consume": "acquire"}


def order_of(word: str) -> str:
    """LLVM's word for a memory order."""
    return _ORDERS.get(word, word)


def atomic_element(emit: Expressions, node: Any) -> Value:
    """One atomic operation on an element; the value before it."""
    element, operand, kind, order = node.args[:4]
    memory = emit.memory[element.source]
    pointer = emit.fn.address(memory, emit.offset(element.indices[0]))
    word, ordering = str(kind.value), order_of(str(order.value))
    value = emit.lazy(operand)
    if word == "load":
        return _load(emit, memory, pointer, "acquire" if ordering in ("release", "acq_rel") else ordering)
    if word == "store":
        return _store(emit, memory, pointer, value, "release" if ordering in ("acquire", "acq_rel") else ordering)
    if word == "cas":
        return _compare_and_swap(emit, memory, pointer, emit.lazy(node.args[4]), value, ordering)
    if is_narrow(memory.dtype) or memory.dtype == "bool":
        return _exchange_loop(emit, memory, pointer, word, value, ordering)
    name = {"exchange": "xchg", "add": "fadd" if is_float(memory.dtype) else "add"}.get(word, word)
    if word in ("max", "min"):
        name = f"f{word}" if is_float(memory.dtype) else (word if is_signed(memory.dtype) else f"u{word}")
    kind_text = computed(memory.dtype)
    text = emit.fn.op(f"atomicrmw {name} ptr {pointer}, {kind_text} {widen(emit.fn, value).text} {ordering}")
    return Value(text, memory.dtype)


def _as_bits(emit: Expressions, value: Value) -> tuple[str, str]:
    """The stored form of a value as an integer, and its type."""
    raw = emit.stored_form(value)
    kind = stored(value.dtype)
    bits = f"i{bytes_of(value.dtype) * 8}"
    return (raw if kind == bits else emit.fn.op(f"bitcast {kind} {raw} to {bits}")), bits


def _from_bits(emit: Expressions, bits: str, dtype: str) -> Value:
    kind = stored(dtype)
    width = f"i{bytes_of(dtype) * 8}"
    text = bits if kind == width else emit.fn.op(f"bitcast {width} {bits} to {kind}")
    return emit.loaded(text, dtype, 1)


def _load(emit: Expressions, memory: Memory, pointer: str, ordering: str) -> Value:
    bits = f"i{bytes_of(memory.dtype) * 8}"
    text = emit.fn.op(f"load atomic {bits}, ptr {pointer} {ordering}, align {bytes_of(memory.dtype)}")
    return _from_bits(emit, text, memory.dtype)


def _store(emit: Expressions, memory: Memory, pointer: str, value: Value, ordering: str) -> Value:
    raw, bits = _as_bits(emit, value)
    emit.fn.line(f"store atomic {bits} {raw}, ptr {pointer} {ordering}, align {bytes_of(memory.dtype)}")
    return value


def _compare_and_swap(
    emit: Expressions, memory: Memory, pointer: str, compare: Value, value: Value, ordering: str
) -> Value:
    (expected, bits), (new, _) = _as_bits(emit, compare), _as_bits(emit, value)
    failure = {"monotonic": "monotonic", "release": "monotonic", "seq_cst": "seq_cst"}.get(ordering, "acquire")
    pair = emit.fn.op(f"cmpxchg ptr {pointer}, {bits} {expected}, {bits} {new} {ordering} {failure}")
    return _from_bits(emit, emit.fn.op(f"extractvalue {{ {bits}, i1 }} {pair}, 0"), memory.dtype)


def _exchange_loop(emit: Expressions, memory: Memory, pointer: str, word: str, value: Value, ordering: str) -> Value:
    """Types without an atomic instruction: compute, and try again if the element changed in between."""
    fn = emit.fn
    bits = f"i{bytes_of(memory.dtype) * 8}"
    first = fn.op(f"load atomic {bits}, ptr {pointer} monotonic, align {bytes_of(memory.dtype)}")
    before, head, end = fn.block, fn.new_label("retry"), fn.new_label("done")
    fn.jump(head)
    fn.label(head)
    seen, previous = fn.fresh(), fn.fresh()
    fn.line(f"{seen} = phi {bits} [ {first}, %{before} ], [ {previous}, %{head} ]")
    old = _from_bits(emit, seen, memory.dtype)
    combined = _combined(emit, word, widen(fn, old) if not old.text else old, widen(fn, value))
    new, _ = _as_bits(emit, combined)
    failure = "monotonic" if ordering in ("monotonic", "release") else "acquire"
    pair = fn.op(f"cmpxchg ptr {pointer}, {bits} {seen}, {bits} {new} {ordering} {failure}")
    fn.line(f"{previous} = extractvalue {{ {bits}, i1 }} {pair}, 0")
    fn.branch(fn.op(f"extractvalue {{ {bits}, i1 }} {pair}, 1"), end, head)
    fn.label(end)
    return _from_bits(emit, seen, memory.dtype)


def _combined(emit: Expressions, word: str, old: Value, value: Value) -> Value:
    from tilecore.backends.cpu.llvm import mathematics

    fn = emit.fn
    if word == "exchange":
        return value
    if is_float(old.dtype) and word in ("max", "min"):
        return mathematics.call(fn, f"{word}num", [old, value])
    name = {"add": "fadd" if is_float(old.dtype) else "or", "max": "or", "min": "and"}.get(word, word)
    return Value(fn.op(f"{name} {old.type} {old.text}, {value.text}"), old.dtype)


# -- statements ----------------------------------------------------------------------------------------------


def _print(emit: Statements, node: Any) -> None:
    """``message: value, value`` on standard output."""
    fn = emit.fn
    message = str(node.value.args[0].value)
    words, operands = [], []
    for arg in node.value.args[1:]:
        value = emit.value(arg)
        word, operand = _printable(emit, value)
        words.append(word)
        operands.append(operand)
    attrs = node.value.attrs
    for _ in range(
        int(attrs[CallAttr.INDICES_PRINTED]) if attrs is not None and CallAttr.INDICES_PRINTED in attrs else 0
    ):
        message = message.replace("{}", "\0" + words.pop(0), 1)  # indices of an element
    message = message.replace("%", "%%").replace("\0%%", "%")
    print_line(fn, message + (": " if words and message else "") + " ".join(words) + "\n", operands)


def _printable(emit: Statements, value: Value) -> tuple[str, Value]:
    """The word of printf for a value, and the value as a double or an integer of 64 bits."""
    fn = emit.fn
    if is_float(value.dtype):
        text = value.text if value.type == "double" else fn.op(f"fpext {value.type} {value.text} to double")
        return "%g", Value(text, "float64")
    word = "sext" if is_signed(value.dtype) else "zext"
    text = value.text if value.type == "i64" else fn.op(f"{word} {value.type} {value.text} to i64")
    return ("%lld" if is_signed(value.dtype) or value.dtype == "bool" else "%llu"), Value(text, "int64")


def _device_assert(emit: Statements, node: Any) -> None:
    """Leaves the kernel with the number of the assertion that failed; the adapter turns it into words."""
    fn = emit.fn
    condition = emit.value(node.value.args[0])
    place = location_of_span(node.span)
    text = str(node.value.args[1].value) + (f" ({place})" if place else "")
    fn.module.assertions.append(text)
    bad, good = fn.new_label("failed"), fn.new_label("held")
    fn.branch(condition.text, good, bad)
    fn.label(bad)
    fn.line(f"store i32 {len(fn.module.assertions)}, ptr %scratch")
    fn.line("ret void")
    fn.ended = True
    fn.label(good)


def _assume(emit: Statements, node: Any) -> None:
    fn = emit.fn
    fn.module.declare("llvm.assume", "void {}(i1)")
    fn.line(f"call void @llvm.assume(i1 {emit.value(node.value.args[0]).text})")


def _prefetch(emit: Statements, node: Any) -> None:
    """Into the first-level cache (LLVM's locality 3) or the second (2)."""
    element, level = node.value.args
    memory = emit.expressions.memory[element.source]
    pointer = emit.fn.address(memory, emit.expressions.offset(element.indices[0]), inbounds=False)
    emit.fn.module.declare("llvm.prefetch.p0", "void {}(ptr, i32 immarg, i32 immarg, i32 immarg)")
    emit.fn.line(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 {4 - int(level)}, i32 1)")


def _atomic(emit: Statements, node: Any) -> None:
    atomic_element(emit.expressions, node.value)


EFFECTS = {
    "tile.prefetch": _prefetch,
    PRINT: _print,
    DEVICE_ASSERT: _device_assert,
    ASSUME: _assume,
    ATOMIC_ELEMENT: _atomic,
    **tile_registers.EFFECTS,
}
