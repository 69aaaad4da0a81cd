"""Emits local memory: the addresses of buffers, and accesses of the control core to single elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.codegen.expressions import Memory
from tilecore.codegen.refusal import refuse
from tilecore.codegen.text import Text, call
from tilecore.dtypes import FACTS
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import DeclBuffer

if TYPE_CHECKING:
    from tilecore.codegen.expressions import Expressions
    from tilecore.codegen.statements import Statements


def allocate(emit: Statements, node: Any) -> None:
    """Emits ``const local_addr_t x = 0x400;``, the address that plan_local has assigned."""
    buffer = node.buffer
    if isinstance(node, DeclBuffer):
        name = emit.names.take(str(buffer.name))
        emit.line(f"const local_addr_t {name} = {emit.expressions.memory[node.data.args[0]].name};")
        emit.expressions.memory[buffer] = Memory(name, dtype_of(buffer))
        return
    address = emit.offsets.get(str(buffer.name))
    if address is None:
        refuse(node, emit.dialect.kind, what=f"local buffer {buffer.name} without an address")
    dtype = dtype_of(buffer)
    name = emit.names.take(str(buffer.name))
    emit.expressions.memory[buffer] = Memory(name, dtype)
    count = constant(buffer.shape[0])
    emit.line(f"const local_addr_t {name} = {address:#x};  // {count} {dtype} in a lane")


def bytes_of(dtype: str) -> int:
    return (FACTS[dtype].bits + 7) // 8


def element(emit: Expressions, node: Any) -> Text:
    """``ELEMENT(float, x, lane, offset)``: usable on both sides of an assignment."""
    buffer, lane, offset = node.args[:3]
    memory = emit.memory[buffer]
    return call("ELEMENT", emit.type_of(memory.dtype), memory.name, emit.index(lane), emit.index(offset))


def set_element(emit: Statements, node: Any) -> None:
    emit.line(f"{element(emit.expressions, node.value)} = {emit.value(node.value.args[3])};")
