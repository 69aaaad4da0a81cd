"""What gemms with tile registers take: the instruction for their element types, and the layouts of their operands.

A is read row by row, from the tensor itself where it can be. B lies in panels of 16 columns with the 2 (or 4)
neighbours along K of one column side by side, which is the form that the instructions take it in.
Intel 64 and IA-32 architectures SDM, volume 1, chapter 18 (AMX), volume 2: TDPBF16PS, TDPBSSD.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tilecore.backends.cpu.grouped_panels import grouped_panels
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import dtype_of
from tilecore.ir.layout import BufferLayout, of_each_tile
from tilecore.ir.nodes import IntImm, Var, tirx
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.loops.register_tiles import is_copied_in_passing, is_hoisted, rows_apart

SIDE = 16  # rows of a tile register, and columns of an accumulator
STRIP = 2 * SIDE
ROW_BYTES = 64  # of a tile register
ZERO = IntImm("int32", 0)
_INT8 = ("int8", "uint8")


class Product(NamedTuple):
    """What a gemm of some element types needs: the instruction, by its name in LLVM, the neighbours along K that it
    takes side by side, and the feature that the processor must have."""

    instruction: str
    group: int
    feature: str

    @property
    def step(self) -> int:
        """Elements along K that one instruction takes."""
        return SIDE * self.group


def product_of(a: str, b: str, c: str) -> Product | None:
    """The instruction for these element types of A, B and C; None where there is none."""
    if (a, b, c) == ("bfloat16", "bfloat16", "float32"):
        return Product("tdpbf16ps", 2, "amx-bf16")
    if a in _INT8 and b in _INT8 and c == "int32":
        return Product(f"tdpb{'u' if a == 'uint8' else 's'}{'u' if b == 'uint8' else 's'}d", 4, "amx-int8")
    return None


def sums_of(call: TileCall) -> str:
    """The element type of the sums."""
    return str(call.hints.get(CallAttr.SUMS, dtype_of(call.c.source)))


def product_of_call(call: TileCall) -> Product | None:
    """The instruction for a gemm; None where there is none."""
    return product_of(dtype_of(call.a.source), dtype_of(call.b.source), sums_of(call))


def layouts(call: TileCall, env: PassEnv) -> dict[Any, BufferLayout]:
    """B in panels; the rows of A and C at distances that the loads and stores of tiles take."""
    product = product_of_call(call)
    assert product is not None
    granted = {}
    if not is_copied_in_passing(call, "b"):
        *numbers, rows, columns = (int(size) for size in call.b.source.shape)
        panels = grouped_panels(rows, columns, product.group, bool(call.transpose_b), width=SIDE)
        granted[call.b.source] = of_each_tile(panels, numbers)
    for name, region in (("a", call.a), ("c", call.c)):
        if not is_global(region.source) or is_hoisted(call, name):
            granted[region.source] = rows_apart(region.source)
    return granted


def pitch(call: TileCall, env: PassEnv, operand: str) -> int:
    """Bytes from one row of ``a`` or ``c`` to the next."""
    buffer = call.args[operand].source
    granted = layouts(call, env).get(buffer)
    shape = buffer.shape if granted is None else granted.shape
    return int(shape[-1]) * DType(dtype_of(buffer)).bytes


def halves(width: int) -> tuple[int, int]:
    """The rows (or columns) of two tile registers side by side that together have ``width``."""
    return min(width, SIDE), max(0, width - SIDE)


def block_buffer(shape: list[int], dtype: str, name: str) -> Var:
    """A buffer of the block."""
    return tirx.decl_buffer(shape, dtype, name, scope="shared", layout=None)
