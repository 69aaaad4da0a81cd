"""Matrix instructions of kernels in CuTe DSL: mma.sync, ldmatrix and stmatrix, as text of PTX.

The fragments are in the registers that the PTX ISA defines ("Warp-level matrix instructions").
"""

from __future__ import annotations

from typing import Any

from cutlass import Float32, Float64, Int32
from cutlass._mlir import ir
from cutlass._mlir.dialects import llvm

from tile_cuda.cutedsl.device_memory import Array, assembly, shared_address, step
from tile_cuda.cutedsl.mma_text import MmaText

_TYPES = {"f": Float32, "r": Int32, "d": Float64}  # the type of a register by its constraint


def _loaded(array: Array, count: int, kind: Any) -> list[Any]:
    """The first ``count`` registers of type ``kind`` in an array."""
    return [llvm.load(kind.mlir_type, step(array.pointer, number, kind.mlir_type)) for number in range(count)]


def _stored(array: Array, values: Any, count: int, kind: Any) -> None:
    """Writes the result of an instruction, one value or a struct of several, to the first registers of an array."""
    for number in range(count):
        value = values if count == 1 else llvm.extractvalue(kind.mlir_type, values, [number])
        llvm.store(value, step(array.pointer, number, kind.mlir_type))


def _several(count: int, kind: Any) -> Any:
    """The type of an instruction's result."""
    return (
        kind.mlir_type if count == 1 else ir.Type.parse(f"!llvm.struct<({', '.join([str(kind.mlir_type)] * count)})>")
    )


def mma(instruction: str, d: Array, a: Array, b: Array) -> None:
    """The warp computes ``d += a * b``. instruction: such as "m16n8k16_f16_f32" (lowering/shapes.py)."""
    text = MmaText.of(instruction)
    total, operand = _TYPES[text.total_constraint], _TYPES[text.operand_constraint]
    sums = _loaded(d, text.d_words, total)
    operands = [*_loaded(a, text.a_words, operand), *_loaded(b, text.b_words, operand), *sums]
    result = llvm.inline_asm(
        _several(text.d_words, total), operands, text.assembly, text.constraints, has_side_effects=True
    )
    _stored(d, result, text.d_words, total)


def _registers(first: int, count: int) -> str:
    return "{" + ", ".join(f"${first + number}" for number in range(count)) + "}"


def ldmatrix(count: int, trans: bool, to: Array, row: Array) -> None:
    """The warp loads ``count`` 8 x 8 matrices; lane i has the address of row ``i % 8`` of matrix ``i // 8``."""
    way = ".trans" if trans else ""
    text = f"ldmatrix.sync.aligned.m8n8.x{count}{way}.shared.b16 {_registers(0, count)}, [${count}];"
    constraints = ",".join(["=r"] * count + ["r"])
    result = assembly(text, constraints, [shared_address(row)], _several(count, Int32))
    _stored(to, result, count, Int32)


def stmatrix(count: int, trans: bool, row: Array, source: Array) -> None:
    """The warp stores ``count`` 8 x 8 matrices; the addresses are as for :func:`ldmatrix`."""
    way = ".trans" if trans else ""
    text = f"stmatrix.sync.aligned.m8n8.x{count}{way}.shared.b16 [$0], {_registers(1, count)};"
    operands = [shared_address(row), *_loaded(source, count, Int32)]
    assembly(text, ",".join(["r"] * (count + 1)), operands)
