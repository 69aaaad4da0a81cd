"""Emits the statements of tile registers (tilecore/backends/cpu/amx_calls.py) as calls of LLVM's functions for AMX.

The forms with register numbers are used: the registers are configured once for a whole gemm, and LLVM moves none of
them. They need the target features amx-tile, amx-bf16 and amx-int8; without them LLVM ends the process.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from tilecore.ir.intrinsics import as_address

if TYPE_CHECKING:
    from tilecore.backends.cpu.llvm.statements import Statements

REGISTERS = 8
PALETTE = 1


def configuration(rows: list[int], row_bytes: list[int]) -> bytes:
    """The operand of LDTILECFG: palette, then at byte 16 the row bytes of 16 registers, at byte 48 their rows."""
    unused = [0] * (16 - REGISTERS)
    return struct.pack("<2B14x16H16B", PALETTE, 0, *row_bytes, *unused, *rows, *unused)


def _configure(emit: Statements, node: Any) -> None:
    numbers = [int(arg) for arg in node.value.args]
    data = configuration(numbers[:REGISTERS], numbers[REGISTERS:])
    name = emit.fn.module.constant(data)
    emit.fn.module.declare("llvm.x86.ldtilecfg", "void {}(ptr)")
    emit.fn.line(f"call void @llvm.x86.ldtilecfg(ptr {name})")


def _release(emit: Statements, node: Any) -> None:
    emit.fn.module.declare("llvm.x86.tilerelease", "void {}()")
    emit.fn.line("call void @llvm.x86.tilerelease()")


def _zero(emit: Statements, node: Any) -> None:
    emit.fn.module.declare("llvm.x86.tilezero", "void {}(i8 immarg)")
    emit.fn.line(f"call void @llvm.x86.tilezero(i8 {int(node.value.args[0])})")


def _move(emit: Statements, node: Any, word: str) -> None:
    register, pointer, pitch = node.value.args
    element, _ = as_address(pointer)  # type: ignore[misc]
    memory = emit.expressions.memory[element.source]
    place = emit.fn.address(memory, emit.expressions.offset(element.indices[0]))
    name = f"llvm.x86.{word}64"
    emit.fn.module.declare(name, "void {}(i8 immarg, ptr, i64)")
    emit.fn.line(f"call void @{name}(i8 {int(register)}, ptr {place}, i64 {int(pitch)})")


def _multiply(emit: Statements, node: Any) -> None:
    instruction, *registers = node.value.args
    name = f"llvm.x86.{instruction.value}"
    emit.fn.module.declare(name, "void {}(i8 immarg, i8 immarg, i8 immarg)")
    emit.fn.line(f"call void @{name}({', '.join(f'i8 {int(register)}' for register in registers)})")


EFFECTS = {
    "cpu.configure_tiles": _configure,
    "cpu.release_tiles": _release,
    "cpu.zero_tile": _zero,
    "cpu.load_tile": lambda emit, node: _move(emit, node, "tileloadd"),
    "cpu.store_tile": lambda emit, node: _move(emit, node, "tilestored"),
    "cpu.multiply_tiles": _multiply,
}
