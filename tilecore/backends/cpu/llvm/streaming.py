"""Stores that go past the caches, for outputs that would not stay there anyway.

An ordinary store first reads the line that it overwrites; a non-temporal one does not, and leaves the caches to the
inputs. It must be aligned to its size, and lines should be written whole: Intel 64 and IA-32 Architectures
Optimization Reference Manual, "Non-temporal Stores and Software Write-Combining".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.backends.cpu.llvm import polynomials
from tilecore.backends.cpu.llvm.types import bytes_of, split
from tilecore.backends.cpu.streams import Streams
from tilecore.ir.affine import coefficient
from tilecore.ir.build import constant, op_name
from tilecore.ir.nodes import BufferStore, Call, For, PrimFunc, TensorLoad, Var, is_buffer_var
from tilecore.ir.views import sources_in
from tilecore.ir.visit import collect

if TYPE_CHECKING:
    from tilecore.backends.cpu.llvm.function import Function, Memory
    from tilecore.backends.cpu.llvm.types import Value

LINE = 64  # bytes
SIZES = (16, 32, LINE)  # bytes that one instruction stores


def streamed(func: PrimFunc, which: Streams) -> set[Var]:
    """Parameters of known size that the kernel only stores to, and that are written past the caches."""
    least_bytes = which.least_bytes
    if not least_bytes:
        return set()
    large = {p for p in func.params if is_buffer_var(p) and _size(p) >= least_bytes}
    if large:
        large -= {node.source for node in collect(func.body, TensorLoad)}
        large -= sources_in(func.body)
    if large and not which.bursts:
        large = {buffer for buffer in large if not _comes_in_bursts(func, buffer)}
    return large


def _comes_in_bursts(func: PrimFunc, buffer: Var) -> bool:
    """Do innermost loops compute elementary functions that do not store to the buffer?"""
    innermost = [node for node in collect(func.body, For) if not collect(node.body, For)]
    return any(
        any(op_name(call) in polynomials.FUNCTIONS for call in collect(node.body, Call))
        and not any(store.buffer.same_as(buffer) for store in collect(node.body, BufferStore))
        for node in innermost
    )


def _size(buffer: Var) -> int:
    dtype, lanes = split(str(buffer.dtype))
    size = bytes_of(dtype) * lanes
    for extent in buffer.shape:
        size *= constant(extent) or 0
    return size


def fills_lines(value: Value, base: Any, loop_var: Var | None) -> bool:
    """Are whole lines written, by one store or by those of successive iterations?"""
    size = bytes_of(value.dtype) * value.lanes
    if size not in SIZES:
        return False
    return size == LINE or (loop_var is not None and coefficient(base, loop_var) == value.lanes)


def store(fn: Function, memory: Memory, value: Value, raw: str, pointer: str) -> None:
    """Past the caches where the address allows it; the test is the same in every iteration and leaves the loop."""
    size = bytes_of(value.dtype) * value.lanes
    kind, tag = value.stored_type, fn.tag(memory)
    address = fn.op(f"ptrtoint ptr {pointer} to i64")
    odd = fn.op(f"and i64 {address}, {size - 1}")
    past, through, after = (fn.new_label(s) for s in ("stream", "cached", "stored"))
    fn.branch(fn.op(f"icmp eq i64 {odd}, 0"), past, through)
    fn.label(past)
    fn.line(f"store {kind} {raw}, ptr {pointer}, align {size}{tag}, !nontemporal !2")
    fn.jump(after)
    fn.label(through)
    fn.line(f"store {kind} {raw}, ptr {pointer}, align {fn.align(memory)}{tag}")
    fn.jump(after)
    fn.label(after)


def finish(fn: Function) -> None:
    """Makes the stores visible to whoever waits for the kernel."""
    fn.module.declare("llvm.x86.sse.sfence", "void {}()")
    fn.line("call void @llvm.x86.sse.sfence()")
