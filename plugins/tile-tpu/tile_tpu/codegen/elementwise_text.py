"""Emits elementwise instructions, functions with tables, and reductions along one axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_tpu.codegen.operands import address, data_type, is_float, number, require_aligned, scalar, shape, strides
from tile_tpu.codegen.statements import ControlCode
from tile_tpu.ir.instructions import Command
from tile_tpu.ir.views import View
from tilecore.codegen.refusal import refuse
from tilecore.codegen.text import minus
from tilecore.dtypes import FACTS
from tilecore.ir.build import constant
from tilecore.ir.nodes import FloatImm

Emitter = Callable[[ControlCode, Command], str]

# instruction -> suffix of the vendor's function; functions with fp_ take floats only
_UNARY = {
    "neg": "neg", "abs": "abs", "reciprocal": "fp_reciprocal", "square": "fp_square", "floor": "fp_floor",
    "ceil": "fp_ceil", "round": "fp_round", "sqrt": "fp_sqrt", "rsqrt": "fp_rsqrt",
}  # fmt: skip
_ARITHMETIC = ("add", "sub", "mul", "div")
_ANY = ("max", "min", "and", "or", "xor")  # instructions with one function for all types
_SWAPS = ("add", "mul", *_ANY)  # commutative instructions: a scalar on the left may be moved to the right
_ROUNDS = "0, RM_HALF_TO_EVEN, false"  # last arguments of integer functions: shift, its rounding mode, saturation


def _unary(name: str) -> Emitter:
    function = f"tpu_bdc_{_UNARY[name]}"

    def text(emit: ControlCode, command: Command) -> str:
        dst, src = command.operands["dst"], command.operands["src"]
        _floats_only(emit, command, _UNARY[name].startswith("fp_"), dst.dtype)
        addresses = f"{address(emit, dst)}, {address(emit, src)}, {shape(emit, dst)}"
        kind = data_type(emit, dst.dtype)
        if command.instruction.aligned:
            require_aligned(emit, name, dst, src)
            return f"{function}({addresses}, {kind})"
        mode = ", RM_HALF_TO_EVEN" if name == "round" else ""
        return f"{function}({addresses}, {strides(emit, dst)}, {strides(emit, src)}, {kind}{mode})"

    return text


def _floats_only(emit: ControlCode, command: Command, needed: bool, dtype: str) -> None:
    if needed and not is_float(dtype):
        refuse(command, emit.dialect.kind, "floats", f"tpu.{command.instruction.name} of {dtype}")


def _binary(name: str) -> Emitter:
    """Emits an instruction on views of one type; one of the operands may be a scalar."""

    def text(emit: ControlCode, command: Command) -> str:
        dst, a, b = (command.operands[key] for key in ("dst", "a", "b"))
        form = ""
        if not isinstance(a, View):
            a, b, form = (b, a, "_C" if name in _SWAPS else "C_")
        elif not isinstance(b, View):
            form = "_C"
        if not isinstance(a, View):
            refuse(command, emit.dialect.kind, "at least one view", f"tpu.{name} of two scalars")
        other = address(emit, b) if isinstance(b, View) else scalar(emit, b, a.dtype)
        layouts = [strides(emit, v) for v in (dst, a, b) if isinstance(v, View)]
        addresses = f"{address(emit, dst)}, {address(emit, a)}, {other}, {shape(emit, dst)}, {', '.join(layouts)}"
        return f"{_function(emit, command, name, form, dst.dtype)}({addresses}, {_types(emit, name, dst, a, b)})"

    return text


def _function(emit: ControlCode, command: Command, name: str, form: str, dtype: str) -> str:
    """``tpu_bdc_fp_add``, ``tpu_bdc_int_C_sub``, ``tpu_bdc_max_C``."""
    if name in _ANY:
        if name not in ("max", "min") and is_float(dtype):
            refuse(command, emit.dialect.kind, "integers", f"tpu.{name} of {dtype}")
        return f"tpu_bdc_{name}{form}"
    _floats_only(emit, command, name == "div", dtype)
    family = "fp" if is_float(dtype) else "int"
    return f"tpu_bdc_{family}_C_{name}" if form == "C_" else f"tpu_bdc_{family}_{name}{form}"


def _types(emit: ControlCode, name: str, dst: View, a: View, b: Any) -> str:
    if name in _ANY or is_float(dst.dtype):
        return data_type(emit, dst.dtype)
    kinds = [dst.dtype, a.dtype, b.dtype if isinstance(b, View) else a.dtype]
    if (
        name == "sub" and len(set(kinds)) == 1
    ):  # there is no unsigned difference; the bits of the signed one are the same
        kinds = [kind.removeprefix("u") for kind in kinds]
    return f"{', '.join(data_type(emit, kind) for kind in kinds)}, {_ROUNDS}"


def _shift(to_the_left: bool) -> Emitter:
    """Emits a shift. The vendor's functions shift to the left by positive amounts, and to the right by negative
    ones."""

    def text(emit: ControlCode, command: Command) -> str:
        dst, a, b = (command.operands[key] for key in ("dst", "a", "b"))
        name = command.instruction.name
        if is_float(dst.dtype) or not isinstance(a, View):
            refuse(command, emit.dialect.kind, "a view of integers", f"tpu.{name} of {dst.dtype}")
        keeps_sign = FACTS[dst.dtype].kind == "int" and not to_the_left
        function = f"tpu_bdc_{'arithmetic' if keeps_sign else 'logical'}_shift"
        addresses = f"{address(emit, dst)}, {address(emit, a)}"
        kinds = [view.dtype if keeps_sign else f"u{view.dtype.removeprefix('u')}" for view in (dst, a)]  # the same bits
        types = ", ".join(data_type(emit, kind) for kind in kinds)
        layouts = f"{shape(emit, dst)}, {strides(emit, dst)}, {strides(emit, a)}"
        # RM_DOWN drops the bits that are shifted out at the right end
        if isinstance(b, View):
            if FACTS[b.dtype].kind != "int":
                refuse(command, emit.dialect.kind, "amounts of a signed integer type", f"tpu.{name} by {b.dtype}")
            addresses = f"{addresses}, {address(emit, b)}"
            return (
                f"{function}({addresses}, {layouts}, {strides(emit, b)}, {types}, {data_type(emit, b.dtype)}, RM_DOWN)"
            )
        amount = emit.value(b) if to_the_left else minus(emit.value(b))
        return f"{function}_C({addresses}, {amount}, {layouts}, {types}, RM_DOWN)"

    return text


def _select(test: str) -> Emitter:
    def text(emit: ControlCode, command: Command) -> str:
        dst = command.operands["dst"]
        a, b, yes, no = (command.operands[key] for key in ("a", "b", "yes", "no"))
        views = [v for v in (dst, a, b, yes, no) if isinstance(v, View)]
        require_aligned(emit, command.instruction.name, *views)
        compared = next((v.dtype for v in (a, b) if isinstance(v, View)), dst.dtype)
        operands = [_variable(emit, v, compared) for v in (a, b)] + [_variable(emit, v, dst.dtype) for v in (yes, no)]
        types = f"{data_type(emit, compared)}, {data_type(emit, dst.dtype)}"
        return f"tpu_bdc_{test}_select({address(emit, dst)}, {', '.join(operands)}, {shape(emit, dst)}, {types})"

    return text


def _variable(emit: ControlCode, value: Any, dtype: str) -> str:
    if isinstance(value, View):
        return f"IN_MEMORY({address(emit, value)})"
    return f"A_NUMBER({scalar(emit, value, dtype)})"


def _with_table(name: str, works: int) -> Emitter:
    """Emits a function with a table of coefficients and ``works`` buffers of work memory."""

    def text(emit: ControlCode, command: Command) -> str:
        operands = command.operands
        dst, src, table = operands["dst"], operands["src"], operands["table"]
        work = [operands[f"work{i}"] for i in range(works)]
        _floats_only(emit, command, True, dst.dtype)
        require_aligned(emit, name, dst, src, *work)
        tables = [operands["exp_table"], table] if name == "erf" else [table]
        addresses = [address(emit, view) for view in (dst, src, *work, *tables)]
        unused = ["NO_USE"] if name == "sigmoid" else []  # the argument for a table that the function does not read
        return (
            f"tpu_bdc_fp_{name}({', '.join([*addresses, *unused])}, {shape(emit, dst)}, {data_type(emit, dst.dtype)})"
        )

    return text


def _load_table(emit: ControlCode, command: Command) -> str:
    table = command.operands["table"]
    return (
        f"tpu_bdc_load_fp_{command.operands['function']}_coeff({address(emit, table)}, {data_type(emit, table.dtype)})"
    )


def _reduce(word: str) -> Emitter:
    """Emits a pool. Its window covers each axis along which the result has one element."""

    def text(emit: ControlCode, command: Command) -> str:
        dst, src = command.operands["dst"], command.operands["src"]
        _floats_only(emit, command, True, src.dtype)
        require_aligned(emit, command.instruction.name, dst, src)
        height, width = (
            number(emit, whole if constant(remaining) == 1 else 1)
            for whole, remaining in zip(src.shape[2:], dst.shape[2:], strict=True)
        )
        window = f"DIM2({height}, {width}), NO_PADDING, DIM2(1, 1), DIM2(1, 1)"
        addresses = f"{address(emit, dst)}, {address(emit, src)}, {shape(emit, src)}, {window}"
        kind = data_type(emit, src.dtype)
        if word != "avg":
            return f"tpu_bdc_fp_{word}_pool2d({addresses}, {kind}, {scalar(emit, _zero(), src.dtype)})"
        scale = scalar(emit, FloatImm("float32", 1.0), src.dtype)  # the factor of the sums
        if dst.dtype == src.dtype:
            return f"tpu_bdc_fp_avg_pool2d({addresses}, {kind}, {scale})"
        return f"tpu_bdc_fp_avg_pool2d_ex({addresses}, DIM2(0, 0), {kind}, {data_type(emit, dst.dtype)}, {scale})"

    return text


def _zero() -> Any:
    return FloatImm("float32", 0.0)


TEXTS: dict[str, Emitter] = {
    **{name: _unary(name) for name in _UNARY},
    **{name: _binary(name) for name in (*_ARITHMETIC, *_ANY)},
    "shift_left": _shift(True),
    "shift_right": _shift(False),
    **{f"select_{test}": _select(test) for test in ("greater", "less", "equal")},
    **{name: _with_table(name, 2) for name in ("exp", "tanh", "sigmoid")},
    **{name: _with_table(name, 1) for name in ("log", "sin", "cos")},
    "erf": _with_table("erf", 3),
    "load_table": _load_table,
    "reduce_max": _reduce("max"),
    "reduce_min": _reduce("min"),
    "reduce_sum": _reduce("avg"),
}
