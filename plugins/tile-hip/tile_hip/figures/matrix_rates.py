"""The cycles of matrix instructions on a SIMD, and for how many of them other vector instructions have to wait.

Sources. Cycles: AMD's matrix instruction calculator (github.com/ROCm/amd_matrix_instruction_calculator, "Execution
cycles", for CDNA 2, CDNA 3, RDNA 3 and RDNA 4). gfx950: LLVM's scheduling model (SISchedule.td: passes of 4 cycles),
which agrees with the peaks of AMD's data sheet of the MI355X (2.5 PFLOP/s of float16, 5.0 of float8, 10 of float4, 78.6
TFLOP/s of float64, at 256 CUs and 2.4 GHz). Waiting: the calculator's "VALU co-execution"; for instructions of
gfx950 llvm/llvm-project pull request 233721, which fits traces of a MI308X and a MI350X: 4 cycles, and 4 more for every
16 bytes of an operand of a lane.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"v_(mfma|smfmac|wmma|swmmac)_(?:scale_)?(?:f32|f64|i32|f16|bf16)_(\d+)x(\d+)x(\d+)_?(.+)")
_BITS = {
    "f16": 16, "bf16": 16, "bf16_1k": 16, "i8": 8, "iu8": 8, "iu4": 4, "fp8": 8, "f32": 32, "xf32": 32, "f64": 64,
    "f8f6f4": 8, "f6f4": 6,
}  # fmt: skip
_CDNA3 = {
    "mfma 32x32x8 f16 bf16": 32, "mfma 16x16x16 f16 bf16": 16, "mfma 32x32x16 i8 fp8": 32, "mfma 16x16x32 i8 fp8": 16,
    "mfma 32x32x2 f32": 64, "mfma 16x16x4 f32": 32,
    "smfmac 32x32x16 f16 bf16": 32, "smfmac 16x16x32 f16 bf16": 16, "smfmac 32x32x32 i8 fp8": 32,
    "smfmac 16x16x64 i8 fp8": 16,
}  # fmt: skip
_RDNA3 = {"wmma 16x16x16 f16 bf16 iu8": 32, "wmma 16x16x16 iu4": 16}
_RDNA4 = {
    "wmma 16x16x16 f16 bf16": 16, "wmma 16x16x16 iu8 iu4 fp8": 8, "wmma 16x16x32 iu4": 8,
    "swmmac 16x16x32 f16 bf16": 16, "swmmac 16x16x32 iu8 iu4 fp8": 8, "swmmac 16x16x64 iu4": 8,
}  # fmt: skip
# by family: the kind, the shape and the element types of an instruction, and its cycles
_CYCLES = {
    "gfx90a": {
        "mfma 32x32x8 f16 bf16_1k i8": 64, "mfma 16x16x16 f16 bf16_1k i8": 32, "mfma 32x32x4 bf16": 64,
        "mfma 16x16x8 bf16": 32, "mfma 32x32x2 f32": 64, "mfma 16x16x4 f32 f64": 32,
    },
    "gfx942": _CDNA3 | {"mfma 32x32x4 xf32": 32, "mfma 16x16x8 xf32": 16, "mfma 16x16x4 f64": 32},
    "gfx950": _CDNA3 | {
        "mfma 32x32x16 f16 bf16": 32, "mfma 16x16x32 f16 bf16": 16, "mfma 32x32x32 i8": 32, "mfma 16x16x64 i8": 16,
        "mfma 32x32x64 f8f6f4": 64, "mfma 16x16x128 f8f6f4": 32, "mfma 32x32x64 f6f4": 32, "mfma 16x16x128 f6f4": 16,
        "mfma 16x16x4 f64": 64, "smfmac 32x32x32 f16 bf16": 32, "smfmac 16x16x64 f16 bf16": 16,
        "smfmac 32x32x64 i8 fp8": 32, "smfmac 16x16x128 i8 fp8": 16,
    },
    "gfx11": _RDNA3,
    "gfx12": _RDNA4,
}  # fmt: skip
_ALONE = {("gfx942", "f32"), ("gfx950", "f32"), ("gfx90a", "f64"), ("gfx942", "f64"), ("gfx950", "f64")}


@dataclass(frozen=True)
class Rate:
    """cycles: of the matrix unit. vector_wait: the cycles in which no other vector instruction of the SIMD starts.

    flops: multiplications and additions (of a sparse instruction: those that it saves included).
    """

    cycles: int
    vector_wait: int
    flops: int


def family_of(arch: str) -> str:
    """The family of a chip whose matrix instructions are alike: gfx90a, gfx942, gfx950, gfx11 or gfx12."""
    return arch if arch.startswith("gfx9") else arch[:5]


def rate_of(arch: str, name: str) -> Rate | None:
    """The rate of a matrix instruction; None where none is published for the chip.

    name: as in assembly; ``f6f4`` instead of ``f8f6f4`` for operands that are both of 4 or 6 bits.
    """
    match = _NAME.fullmatch(name)
    cycles = _table(family_of(arch)).get((match[1], "x".join(match.group(2, 3, 4)), _type(match[5]))) if match else None
    if match is None or cycles is None:
        return None
    m, n, k = (int(size) for size in match.group(2, 3, 4))
    return Rate(cycles, _vector_wait(arch, match[1], m, k, _type(match[5]), cycles), 2 * m * n * k)


def _type(text: str) -> str:
    """The element type of the operands: "fp8" stands for both 8-bit floats and their mixtures."""
    return "fp8" if re.fullmatch(r"[bf][fp]8_[bf][fp]8", text) else text


def _vector_wait(arch: str, kind: str, m: int, k: int, dtype: str, cycles: int) -> int:
    if kind in ("wmma", "swmmac") or (arch, dtype) in _ALONE:
        return cycles
    operand_bytes = m * k * _BITS[dtype] // 8 // 64
    return min(cycles, 4 * (1 + operand_bytes // 16))


def _table(family: str) -> dict[tuple[str, str, str], int]:
    table = {}
    for row, cycles in _CYCLES.get(family, {}).items():
        kind, shape, *dtypes = row.split()
        table.update({(kind, shape, dtype): cycles for dtype in dtypes})
    return table
