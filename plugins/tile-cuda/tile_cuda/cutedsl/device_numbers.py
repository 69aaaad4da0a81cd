"""Numbers of kernels in CuTe DSL: arithmetic and functions with the language's rounding, wrapping and NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutlass import BFloat16, Boolean, Float16, Float32, Float64, Int32, Int64, Uint16, Uint32, Uint64
from cutlass._mlir import ir
from cutlass._mlir.dialects import arith, llvm, math, scf

from tile_cuda.cutedsl.device_memory import Array, store

_FLOATS = (Float64, Float32, Float16, BFloat16)
_INTEGERS = (Int64, Uint64, Int32, Uint32)

_INTRINSIC = {Float32: "f", Float64: "d"}  # the last part of the name of NVVM's intrinsics
_FUSED = {**_INTRINSIC, Float16: "f16", BFloat16: "bf16"}  # of those of the fused multiply-add


def kind_of(*values: Any) -> Any:
    """The type in which values are computed: as in C, integers of fewer than 32 bits are Int32."""
    kinds = [type(value) for value in values if not isinstance(value, (int, float))]
    for kind in (*_FLOATS, *_INTEGERS):
        if kind in kinds:
            return kind
    return Float32 if any(isinstance(value, float) for value in values) else Int32


def together(*values: Any) -> tuple[Any, list[Any]]:
    """(the type in which values are computed, the values in it as values of MLIR)."""
    kind = kind_of(*values)
    return kind, [kind(value).ir_value() for value in values]


def _is_float(kind: Any) -> bool:
    return kind in _FLOATS


def _is_signed(kind: Any) -> bool:
    return bool(kind.signed)


def select(condition: Any, yes: Any, no: Any, kind: Any) -> Any:
    """One of two values of type ``kind``; both are evaluated."""
    return kind(arith.select(Boolean(condition).ir_value(), kind(yes).ir_value(), kind(no).ir_value()))


def choose(condition: Any, yes: Callable[[], Any], no: Callable[[], Any], kind: Any) -> Any:
    """The value, of type ``kind``, of one of two functions; the other one is not evaluated."""
    if isinstance(condition, bool):
        return kind(yes() if condition else no())
    branch = scf.IfOp(Boolean(condition).ir_value(), [kind.mlir_type], has_else=True)
    for block, function in ((branch.then_block, yes), (branch.else_block, no)):
        with ir.InsertionPoint(block):
            scf.yield_([kind(function()).ir_value()])
    return kind(branch.results[0])


# -- arithmetic ------------------------------------------------------------------------------------------------------


def sum(a: Any, b: Any) -> Any:
    """``a + b`` of floats, rounded by itself: no compiler makes a fused multiply-add of it and a product."""
    kind, (left, right) = together(a, b)
    return kind(llvm.call_intrinsic(kind.mlir_type, f"llvm.nvvm.add.rn.{_INTRINSIC[kind]}", [left, right], [], []))


def difference(a: Any, b: Any) -> Any:
    """``a - b`` of floats, rounded by itself."""
    return sum(a, _opposite(b))


def _opposite(value: Any) -> Any:
    """``-value`` of a float. Python's ``-`` computes that of a constant in Python, and see :func:`negative_zero`."""
    kind = kind_of(value)
    return kind(arith.negf(kind(value).ir_value()))


def negative_zero(kind: Any) -> Any:
    """-0.0 from its bits: the package takes constants that compare equal, such as 0.0 and -0.0, for one."""
    word = {16: Uint16, 32: Uint32, 64: Uint64}[kind.width]
    return bits(kind, word(1 << (kind.width - 1)))


def product(a: Any, b: Any) -> Any:
    """``a * b`` of floats, rounded by itself."""
    kind, (left, right) = together(a, b)
    name = _INTRINSIC.get(kind)
    if name is None:
        return kind(arith.mulf(left, right))
    return kind(llvm.call_intrinsic(kind.mlir_type, f"llvm.nvvm.mul.rn.{name}", [left, right], [], []))


rounded_add, rounded_sub, rounded_mul = sum, difference, product


def _directed(operation: str) -> list[Callable[..., Any]]:
    """An operation of float32 and float64 rounded towards zero, up and down."""

    def rounding(word: str) -> Callable[..., Any]:
        def apply(*values: Any) -> Any:
            kind, operands = together(*values)
            name = f"llvm.nvvm.{operation}.{word}.{_INTRINSIC[kind]}"
            return kind(llvm.call_intrinsic(kind.mlir_type, name, operands, [], []))

        return apply

    return [rounding(word) for word in ("rz", "rp", "rm")]


add_rz, add_ru, add_rd = _directed("add")
mul_rz, mul_ru, mul_rd = _directed("mul")
fma_rz, fma_ru, fma_rd = _directed("fma")
div_rz, div_ru, div_rd = _directed("div")
rcp_rz, rcp_ru, rcp_rd = _directed("rcp")
sqrt_rz, sqrt_ru, sqrt_rd = _directed("sqrt")


def sub_rz(a: Any, b: Any) -> Any:
    """``a - b`` rounded towards zero."""
    return add_rz(a, _opposite(b))


def sub_ru(a: Any, b: Any) -> Any:
    """``a - b`` rounded up."""
    return add_ru(a, _opposite(b))


def sub_rd(a: Any, b: Any) -> Any:
    """``a - b`` rounded down."""
    return add_rd(a, _opposite(b))


def rounded(value: Any) -> Any:
    """The value: nothing here is merged with the operations around it."""
    return value


def divide(a: Any, b: Any) -> Any:
    """``a / b`` of integers towards zero; b is not 0, and the quotient is in the type's range."""
    kind, (left, right) = together(a, b)
    return kind(arith.divsi(left, right) if _is_signed(kind) else arith.divui(left, right))


def remainder(a: Any, b: Any) -> Any:
    """The remainder of :func:`divide`."""
    kind, (left, right) = together(a, b)
    return kind(arith.remsi(left, right) if _is_signed(kind) else arith.remui(left, right))


def divisor(value: Any) -> Any:
    """The value, and 1 for 0."""
    kind = kind_of(value)
    return select(kind(value) == kind(0), kind(1), kind(value), kind)


def div(a: Any, b: Any) -> Any:
    """Division towards zero; the least number by -1 wraps to itself."""
    kind = kind_of(a, b)
    is_negation = kind(b) == kind(-1)
    safe = select(is_negation, kind(1), divisor(kind(b)), kind)
    return select(is_negation, kind(0) - kind(a), divide(kind(a), safe), kind)


def mod(a: Any, b: Any) -> Any:
    """The remainder of :func:`div`."""
    kind = kind_of(a, b)
    safe = select(kind(b) == kind(-1), kind(1), divisor(kind(b)), kind)
    return remainder(kind(a), safe)


def floor_div(a: Any, b: Any) -> Any:
    """Division rounded down."""
    kind = kind_of(a, b)
    quotient, rest = div(a, b), mod(a, b)
    return select((rest != kind(0)) & ((rest ^ kind(b)) < kind(0)), quotient - kind(1), quotient, kind)


def floor_mod(a: Any, b: Any) -> Any:
    """The remainder of a division rounded down: it has the sign of b."""
    kind = kind_of(a, b)
    if _is_float(kind):
        rest = kind(arith.remf(kind(a).ir_value(), kind(b).ir_value()))
        is_other_side = (rest != kind(0.0)) & ((rest < kind(0.0)) != (kind(b) < kind(0.0)))
        return select(is_other_side, rest + kind(b), rest, kind)
    rest = mod(a, b)
    return select((rest != kind(0)) & ((rest ^ kind(b)) < kind(0)), rest + kind(b), rest, kind)


def quotient(a: Any, b: Any) -> Any:
    """``a / b`` of float32, correctly rounded."""
    return Float32(a) / Float32(b)


def quotients(count: int, values: Array, b: Any) -> None:
    """Divides ``count`` float32 registers by ``b``."""
    for number in range(count):
        store(values, number, values[number] / Float32(b))


def negative(value: Any) -> Any:
    """``-value`` of Int32, wrapping."""
    return Int32(0) - Int32(value)


def min(a: Any, b: Any) -> Any:
    """The smaller one; of floats the one that is a number, and -0 of two zeros."""
    kind, (left, right) = together(a, b)
    if _is_float(kind):
        return _extreme("fmin", kind, left, right)
    return kind(arith.minsi(left, right) if _is_signed(kind) else arith.minui(left, right))


def _extreme(name: str, kind: Any, left: Any, right: Any) -> Any:
    """fmin or fmax of float32 and float64 by NVVM's intrinsic: arith.maxnumf is compiled to a comparison, which takes
    either of two zeros."""
    return kind(llvm.call_intrinsic(kind.mlir_type, f"llvm.nvvm.{name}.{_INTRINSIC[kind]}", [left, right], [], []))


def max(a: Any, b: Any) -> Any:
    """The larger one; of floats the one that is a number, and +0 of two zeros."""
    kind, (left, right) = together(a, b)
    if _is_float(kind):
        return _extreme("fmax", kind, left, right)
    return kind(arith.maxsi(left, right) if _is_signed(kind) else arith.maxui(left, right))


def abs(value: Any) -> Any:
    """The absolute value; that of the least integer is itself."""
    kind = kind_of(value)
    if _is_float(kind):
        return kind(math.absf(kind(value).ir_value()))
    return max(kind(value), kind(0) - kind(value)) if _is_signed(kind) else kind(value)


def fma(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c``, rounded once, also of 16 bits, of which math.fma is computed in float32."""
    kind, operands = together(a, b, c)
    return kind(llvm.call_intrinsic(kind.mlir_type, f"llvm.nvvm.fma.rn.{_FUSED[kind]}", operands, [], []))


# -- bits ------------------------------------------------------------------------------------------------------------


def bits(kind: Any, value: Any) -> Any:
    """The bits of a value as another type of the same size."""
    return kind(llvm.bitcast(kind.mlir_type, value.ir_value()))


def truncate(kind: Any, value: Any) -> Any:
    """A float as an integer: towards zero, saturated, 0 for NaN (LLVM, "Saturating floating-point to integer")."""
    number = Float64(value) if isinstance(value, Float64) else Float32(value)
    word = "s" if _is_signed(kind) else "u"
    name = f"llvm.fpto{word}i.sat.i{kind.width}.f{type(number).width}"
    return kind(llvm.call_intrinsic(kind.mlir_type, name, [number.ir_value()], [], []))


def popcount(value: Any) -> Any:
    """The number of bits that are 1, as Int32."""
    kind = kind_of(value)
    return Int32(kind(math.ctpop(kind(value).ir_value())))


def clz(value: Any) -> Any:
    """The number of leading bits that are 0, as Int32."""
    kind = kind_of(value)
    return Int32(kind(math.ctlz(kind(value).ir_value())))


def bit_pair(value: Any, shift: int, mask: int, fixed: int) -> Any:
    """``value & mask | fixed`` in the low half of a word, ``(value >> shift) & mask | fixed`` in its high half."""
    both = Uint32(value) * Uint32(1 + (1 << (16 - shift)))
    return (both & Uint32(mask * 0x10001)) | Uint32(fixed * 0x10001)


def half_of_pair(pair: Any, number: Any) -> Any:
    """The half of a word: 0 is the low one."""
    return Uint16(Uint32(pair) >> Uint32(Int32(number) * Int32(16)))


def float_pair(low: Any, high: Any) -> Any:
    """Two float32 as the halves of 64 bits."""
    return (Uint64(bits(Uint32, Float32(high))) << Uint64(32)) | Uint64(bits(Uint32, Float32(low)))


def float_of_pair(pair: Any, half: int) -> Any:
    """The low (0) or the high (1) float32 of a pair."""
    return bits(Float32, Uint32(pair >> Uint64(32 * half)))


def on_pairs(operation: str, *pairs: Any) -> Any:
    """An operation on both halves of pairs: "add", "sub", "mul" or "fma"."""
    functions: dict[str, Callable[..., Any]] = {"add": sum, "sub": difference, "mul": product, "fma": fma}
    low, high = (functions[operation](*(float_of_pair(pair, half) for pair in pairs)) for half in (0, 1))
    return float_pair(low, high)


def isnan(value: Any) -> Any:
    return value != value


def isinf(value: Any) -> Any:
    return abs(value) == type(value)(float("inf"))


def isfinite(value: Any) -> Any:
    return abs(value) < type(value)(float("inf"))
