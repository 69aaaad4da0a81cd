"""Emits matrix products; the function depends on the element types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_tpu.codegen.operands import address, data_type, flag, number, require_aligned
from tile_tpu.codegen.statements import ControlCode
from tile_tpu.ir.instructions import Command
from tile_tpu.ir.views import View
from tilecore.codegen.refusal import refuse
from tilecore.ir.build import constant

Emitter = Callable[[ControlCode, Command], str]
_HALVES = ("float16", "bfloat16")
_FP8 = ("float8_e4m3fn", "float8_e5m2")
_BYTES = ("int8", "uint8")
_NOTHING = "(var_context_t){0}"  # no bias, no scale


def _operands(emit: ControlCode, command: Command) -> tuple[View, View]:
    """The left and the right operand of a product; refuses operands that the functions do not take."""
    c, a, b, accumulate = (command.operands[name] for name in ("c", "a", "b", "accumulate"))
    require_aligned(emit, command.instruction.name, c, a, b)
    if any(constant(view.lane) != 0 for view in (c, a, b)):
        refuse(command, emit.dialect.kind, "operands from lane 0 on", f"tpu.{command.instruction.name}")
    if accumulate_matters(accumulate) and c.dtype not in ("float32", "int32"):
        refuse(command, emit.dialect.kind, "a float32 or int32 result", f"accumulation in {c.dtype}")
    return a, b


def accumulate_matters(accumulate: Any) -> bool:
    return constant(accumulate) != 0


def _text(emit: ControlCode, command: Command, form: str, sizes: list[Any], a: View, b: View) -> str:
    """A call of a product. form: "", "_R_trans" or "_all_trans". a, b: the left and the right operand."""
    c, accumulate = command.operands["c"], command.operands["accumulate"]
    addresses = ", ".join([*(address(emit, v) for v in (c, a, b)), "{}", *(number(emit, s) for s in sizes)])
    to, left, right = (data_type(emit, v.dtype) for v in (c, a, b))
    add = flag(emit, accumulate)
    if a.dtype in _FP8 and b.dtype in _FP8:
        start = addresses.replace("{}, ", "")
        return f"tpu_bdc_fp8_mm{form}({start}, {to}, {left}, {right}, {add}, false, true, {_NOTHING})"
    if a.dtype in _BYTES and b.dtype in _BYTES:
        return _bytes(emit, command, form, addresses, left, right, add)
    if a.dtype in _HALVES and a.dtype == b.dtype:
        start = addresses.replace("{}, ", "")
        if form == "_R_trans":
            return _halves_transposed(emit, command, start, to, left, add)
        return f"tpu_bdc_fp_mm{form}({start}, {to}, {left}, {add})"
    return refuse(
        command, emit.dialect.kind, "float16, bfloat16, fp8, int8 or uint8", f"a product of {a.dtype} and {b.dtype}"
    )


def _halves_transposed(emit: ControlCode, command: Command, start: str, to: str, kind: str, add: str) -> str:
    """A product with a transposed right operand. The plain function overwrites its result; only the function with a
    bias, which some chips lack, accumulates."""
    if add == "false":
        return f"tpu_bdc_fp_mm_R_trans({start}, {to}, {kind})"
    if emit.chip.runtime != "tpurt":
        operation = f"A @ B.T added on {emit.chip.name}"
        refuse(command, emit.dialect.kind, "clear_accum=True, or B not transposed", operation)
    return f"tpu_bdc_fp_mm_R_trans_with_bias({start}, {to}, {kind}, DT_FP32, {add}, true, {_NOTHING}, false)"


def _bytes(emit: ControlCode, command: Command, form: str, addresses: str, left: str, right: str, add: str) -> str:
    start = addresses.format("SCALAR_U8(0)")  # the zero point, which is subtracted from the right operand
    if command.operands["c"].dtype != "int32":
        refuse(command, emit.dialect.kind, "an int32 result", f"a product of bytes in {command.operands['c'].dtype}")
    if form == "_all_trans":
        refuse(command, emit.dialect.kind, "one operand not transposed", "A.T @ B.T of bytes")
    if form == "_R_trans":
        if add != "false":
            refuse(command, emit.dialect.kind, "clear_accum=True, or B not transposed", "A @ B.T of bytes added")
        return f"tpu_bdc_int8_zp_mm_R_trans({start}, {left}, {right})"
    return f"tpu_bdc_int8_zp_mm{form}({start}, {left}, {right}, {add})"


def _mm(emit: ControlCode, command: Command) -> str:
    a, b = _operands(emit, command)
    return _text(emit, command, "", [a.shape[1], a.shape[3], b.shape[3]], a, b)


def _mm_nt(emit: ControlCode, command: Command) -> str:
    a, b = _operands(emit, command)
    return _text(emit, command, "_R_trans", [a.shape[1], a.shape[3], b.shape[1]], a, b)


def _mm_tt(emit: ControlCode, command: Command) -> str:
    """The vendor's result is (N, M): its right operand (N, K) by its left one (K, M)."""
    a, b = _operands(emit, command)
    return _text(emit, command, "_all_trans", [a.shape[1], a.shape[3], b.shape[1]], a, b)


TEXTS: dict[str, Emitter] = {"mm": _mm, "mm_nt": _mm_nt, "mm_tt": _mm_tt}
