"""The statements of tile registers (AMX). The code generator emits each as one instruction (llvm/tile_registers.py).

Intel 64 and IA-32 architectures SDM, volume 2: LDTILECFG, TILERELEASE, TILEZERO, TILELOADD, TILESTORED, TDP*,
VCVTNEPS2BF16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.ir.intrinsics import address
from tilecore.ir.nodes import BufferLoad, Call, Evaluate, Expr, IntImm, Stmt, StringImm
from tilecore.ir.register_call import register_call

# (rows of the eight registers, bytes of a row of each): until release, the registers have these shapes and hold zeros
CONFIGURE = register_call("cpu.configure_tiles")
RELEASE = register_call("cpu.release_tiles")
ZERO = register_call("cpu.zero_tile")  # (register)
LOAD = register_call("cpu.load_tile")  # (register, address of the first element, bytes from one row to the next)
STORE = register_call("cpu.store_tile")  # the same
MULTIPLY = register_call("cpu.multiply_tiles")  # (instruction, register of the sums, of A, of B)
# (vector of float32 without denormal numbers): rounded to bfloat16, to nearest even
ROUND = register_call("cpu.round_to_bfloat16", pure=True)


def _statement(name: str, args: Sequence[Any]) -> Stmt:
    return Evaluate(Call(name, list(args), ret_ty="void"))


def _number(value: int) -> IntImm:
    return IntImm("int32", value)


def configure(rows: Sequence[int], row_bytes: Sequence[int]) -> Stmt:
    """Gives the registers their shapes: up to 16 rows of up to 64 bytes, 0 for one that is not used."""
    return _statement(CONFIGURE, [_number(value) for value in (*rows, *row_bytes)])


def release() -> Stmt:
    return _statement(RELEASE, [])


def zero(register: int) -> Stmt:
    return _statement(ZERO, [_number(register)])


def load(register: int, element: BufferLoad, pitch: int) -> Stmt:
    """Loads a tile whose first element is ``element`` and whose rows lie ``pitch`` bytes apart."""
    return _statement(LOAD, [_number(register), address(element, "r"), _number(pitch)])


def store(register: int, element: BufferLoad, pitch: int) -> Stmt:
    return _statement(STORE, [_number(register), address(element, "w"), _number(pitch)])


def multiply(instruction: str, sums: int, a: int, b: int) -> Stmt:
    """Adds the products of the tiles in registers ``a`` and ``b`` to those in ``sums``."""
    return _statement(MULTIPLY, [StringImm(instruction), _number(sums), _number(a), _number(b)])


def rounded_to_bfloat16(values: Expr, lanes: int) -> Expr:
    """A vector of float32 rounded to bfloat16, to nearest even; denormal numbers become zeros."""
    return Call(ROUND, [values], ret_ty=f"bfloat16x{lanes}")
