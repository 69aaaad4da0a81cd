"""Emits operands of commands: addresses, extents, strides, data types, scalars."""

from __future__ import annotations

from typing import Any

from tile_tpu.codegen.statements import ControlCode
from tile_tpu.ir.views import View
from tilecore.codegen.arithmetic import NARROW, widened
from tilecore.codegen.refusal import refuse
from tilecore.codegen.text import PRODUCT, SUM, within
from tilecore.dtypes import FACTS
from tilecore.errors import LoweringError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import cast, constant, dtype_of

# element type -> (data_type_t, the header's macro for a scalar of it)
_TYPES = {
    "float32": ("DT_FP32", "SCALAR_F32"),
    "float16": ("DT_FP16", "SCALAR_F16"),
    "bfloat16": ("DT_BFP16", "SCALAR_BF16"),
    "float8_e4m3fn": ("DT_FP8E4M3", "SCALAR_F8E4M3"),
    "float8_e5m2": ("DT_FP8E5M2", "SCALAR_F8E5M2"),
    "int32": ("DT_INT32", "SCALAR_S32"),
    "uint32": ("DT_UINT32", "SCALAR_U32"),
    "int16": ("DT_INT16", "SCALAR_S16"),
    "uint16": ("DT_UINT16", "SCALAR_U16"),
    "int8": ("DT_INT8", "SCALAR_S8"),
    "uint8": ("DT_UINT8", "SCALAR_U8"),
    "bool": ("DT_UINT8", "SCALAR_U8"),
}
WORD = 32  # the bits of the largest element that engines move


def data_type(emit: ControlCode, dtype: str, node: Any = None) -> str:
    """The vendor's name of an element type, as ``DT_FP32``. Refuses types that the engines do not support."""
    if dtype not in _TYPES:
        refuse(node, emit.dialect.kind, "one of " + ", ".join(_TYPES), f"a command on {dtype}")
    if emit.chip.lacks(dtype):
        return "DT_UINT8"  # the chip can only move elements of this type
    return _TYPES[dtype][0]


def is_float(dtype: str) -> bool:
    return FACTS[dtype].kind == "float"


def size_of(dtype: str) -> int:
    return (FACTS[dtype].bits + 7) // 8


def number(emit: ControlCode, value: Any) -> str:
    """An extent, a stride or a count, which is an int or an expression."""
    return str(value) if isinstance(value, int) else str(emit.expressions.index(value))


def address(emit: ControlCode, view: View) -> str:
    """The address of the view's first element in bytes, as ``x + LANE(3) + 128``."""
    size, offset = size_of(view.dtype), constant(view.offset)
    if view.is_local:
        parts = [emit.expressions.memory[view.buffer].name]
        lane = constant(view.lane)
        if lane is None:
            parts.append(f"LANE({emit.expressions.index(view.lane)})")
        elif lane:
            parts.append(f"LANE({lane})")
    else:
        parts = [emit.addresses[view.buffer]]
    if offset is None:
        parts.append(_bytes(emit, view, size))
    elif offset:
        parts.append(str(offset * size))
    return " + ".join(parts)


def _bytes(emit: ControlCode, view: View, size: int) -> str:
    """The offset in bytes; in 64 bits for a global tensor, which may be large."""
    text = emit.expressions.index(view.offset)
    if size == 1:
        return within(text, SUM, right=True)
    factor = str(size) if view.is_local else f"{size}ull"
    return f"{factor} * {within(text, PRODUCT, right=True)}"


def four(emit: ControlCode, numbers: Any) -> str:
    """``DIM4(n, c, h, w)``."""
    return f"DIM4({', '.join(number(emit, n) for n in numbers)})"


def shape(emit: ControlCode, view: View) -> str:
    return four(emit, view.shape)


def strides(emit: ControlCode, view: View) -> str:
    """The strides of a view. NULL where the view has the default layout: aligned in local memory, row-major in global
    memory."""
    natural = lies_aligned(emit, view) if view.is_local else _is_continuous(view)
    return "NULL" if natural else four(emit, view.strides)


def lies_aligned(emit: ControlCode, view: View) -> bool:
    """Whether the view has the layout of ``tpu_aligned_stride``. The strides of axes with one element do not matter."""
    n, c, h, w = (constant(e) for e in view.shape)
    sn, sc, sh, sw = (constant(s) for s in view.strides)
    units = emit.chip.eu_count(FACTS[view.dtype].bits)
    if h is None or w is None or not _is_multiple(view.offset, units):
        return False
    step = -(-h * w // units) * units
    if (w != 1 and sw != 1) or (h != 1 and sh != w):
        return False
    lane = constant(view.lane)
    one_group = c is not None and lane is not None and lane + c <= emit.chip.lanes
    if not one_group and sc != step:
        return False
    if n == 1:
        return True
    return c is not None and lane is not None and sn == -(-(lane + c) // emit.chip.lanes) * step


def _is_continuous(view: View) -> bool:
    step: int | None = 1
    for extent, stride in zip(reversed(view.shape), reversed(view.strides), strict=True):
        size = constant(extent)
        if size == 1:
            continue
        if step is None or constant(stride) != step:
            return False
        step = None if size is None else step * size
    return True


def _is_multiple(value: Any, unit: int) -> bool:
    constant_value = constant(value)
    return (
        constant_value % unit == 0 if constant_value is not None else constant(Analyzer().simplify(value % unit)) == 0
    )


def require_aligned(emit: ControlCode, name: str, *views: View) -> None:
    """Raises LoweringError unless all views are aligned, for functions without strides. A view that is not aligned here
    is a bug of a pass."""
    for view in views:
        if not lies_aligned(emit, view):
            raise LoweringError(
                f"an operand of tpu.{name} is not aligned",
                found=f"{view.buffer.name}, offset {view.offset}, extents {view.shape}, strides {view.strides}",
                hint="please report it",
            )


def scalar(emit: ControlCode, value: Any, dtype: str) -> str:
    """An expression of any type as a ``scalar_t`` of ``dtype``, rounded once."""
    macro = _TYPES[dtype][1]
    if FACTS[dtype].kind == "float":
        text = emit.value(value)
        if dtype_of(value) == dtype == "float8_e5m2":
            return f"SCALAR_OF_F8E5M2({text})"
        if dtype_of(value) in NARROW:
            text = widened(emit.expressions, text)
    else:
        text = emit.value(cast(value, dtype))
    return f"{macro}({text})"


def flag(emit: ControlCode, value: Any) -> str:
    constant_value = constant(value)
    return str(emit.value(value)) if constant_value is None else "true" if constant_value else "false"
