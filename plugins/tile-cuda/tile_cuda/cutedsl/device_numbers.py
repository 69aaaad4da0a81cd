"""Numbers of kernels in CuTe DSL: arithmetic and functions with the language's rounding, wrapping and NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutlass import BFloat16, Boolean, Float16, Float32, Float64, Int16, Int32, Int64, Uint16, Uint32, Uint64
from cutlass._mlir.dialects import arith, llvm, math

from tile_cuda.cutedsl.device_memory import Array, store

_FLOATS = (Float64, Float32, Float16, BFloat16)
_INTEGERS = (Int64, Uint64, Int32, Uint32)
_SIGNED_WORDS = {16: Int16, 32: Int32, 64: Int64}
_INTRINSIC = {Float32: "f", Float64: "d"}  # the last part of the name of NVVM's intrinsics


def _kind(*values: Any) -> Any:
    """The type in which values are computed: as in C, integers of fewer than 32 bits are Int32."""
    kinds = [type(value) for value in values if not isinstance(value, (int, float))]
    for kind in (*_FLOATS, *_INTEGERS):
        if kind in kinds:
            return kind
    return Float32 if any(isinstance(value, float) for value in values) else Int32


def _together(*values: Any) -> tuple[Any, list[Any]]:
    """(the type in which values are computed, the values in it as values of MLIR)."""
    kind = _kind(*values)
    return kind, [kind(value).ir_value() for value in values]


def _is_float(kind: Any) -> bool:
    return kind in _FLOATS


def _is_signed(kind: Any) -> bool:
    return bool(kind.signed)


def select(condition: Any, yes: Any, no: Any, kind: Any) -> Any:
    """One of two values of type ``kind``; both are evaluated."""
    return kind(arith.select(Boolean(condition).ir_value(), kind(yes).ir_value(), kind(no).ir_value()))


# -- arithmetic ------------------------------------------------------------------------------------------------------


def product(a: Any, b: Any) -> Any:
    """``a * b`` of floats, rounded by itself: no compiler makes a fused multiply-add of it and a sum."""
    kind, (left, right) = _together(a, b)
    name = _INTRINSIC.get(kind)
    if name is None:
        return kind(arith.mulf(left, right))
    return kind(llvm.call_intrinsic(kind.mlir_type, f"llvm.nvvm.mul.rn.{name}", [left, right], [], []))


rounded_mul = product


def rounded_add(a: Any, b: Any) -> Any:
    """``a + b`` of floats, rounded by itself."""
    kind, (left, right) = _together(a, b)
    return kind(llvm.call_intrinsic(kind.mlir_type, f"llvm.nvvm.add.rn.{_INTRINSIC[kind]}", [left, right], [], []))


def rounded_sub(a: Any, b: Any) -> Any:
    """``a - b`` of floats, rounded by itself."""
    return rounded_add(a, -b)


def rounded(value: Any) -> Any:
    """The value: a product here is never merged with a sum."""
    return value


def divide(a: Any, b: Any) -> Any:
    """``a / b`` of integers towards zero; b is not 0, and the quotient is in the type's range."""
    kind, (left, right) = _together(a, b)
    return kind(arith.divsi(left, right) if _is_signed(kind) else arith.divui(left, right))


def remainder(a: Any, b: Any) -> Any:
    """The remainder of :func:`divide`."""
    kind, (left, right) = _together(a, b)
    return kind(arith.remsi(left, right) if _is_signed(kind) else arith.remui(left, right))


def divisor(value: Any) -> Any:
    """The value, and 1 for 0."""
    kind = _kind(value)
    return select(kind(value) == kind(0), kind(1), kind(value), kind)


def div(a: Any, b: Any) -> Any:
    """Division towards zero; the least number by -1 wraps to itself."""
    kind = _kind(a, b)
    is_negation = kind(b) == kind(-1)
    safe = select(is_negation, kind(1), divisor(kind(b)), kind)
    return select(is_negation, kind(0) - kind(a), divide(kind(a), safe), kind)


def mod(a: Any, b: Any) -> Any:
    """The remainder of :func:`div`."""
    kind = _kind(a, b)
    safe = select(kind(b) == kind(-1), kind(1), divisor(kind(b)), kind)
    return remainder(kind(a), safe)


def floor_div(a: Any, b: Any) -> Any:
    """Division rounded down."""
    kind = _kind(a, b)
    quotient, rest = div(a, b), mod(a, b)
    return select((rest != kind(0)) & ((rest ^ kind(b)) < kind(0)), quotient - kind(1), quotient, kind)


def floor_mod(a: Any, b: Any) -> Any:
    """The remainder of a division rounded down: it has the sign of b."""
    kind = _kind(a, b)
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
    """The smaller one; of floats the one that is a number."""
    kind, (left, right) = _together(a, b)
    if _is_float(kind):
        return kind(arith.minnumf(left, right))
    return kind(arith.minsi(left, right) if _is_signed(kind) else arith.minui(left, right))


def max(a: Any, b: Any) -> Any:
    """The larger one; of floats the one that is a number."""
    kind, (left, right) = _together(a, b)
    if _is_float(kind):
        return kind(arith.maxnumf(left, right))
    return kind(arith.maxsi(left, right) if _is_signed(kind) else arith.maxui(left, right))


def abs(value: Any) -> Any:
    """The absolute value; that of the least integer is itself."""
    kind = _kind(value)
    if _is_float(kind):
        return kind(math.absf(kind(value).ir_value()))
    return max(kind(value), kind(0) - kind(value)) if _is_signed(kind) else kind(value)


def fma(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c``, rounded once."""
    kind, operands = _together(a, b, c)
    return kind(math.fma(*operands))


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
    kind = _kind(value)
    return Int32(kind(math.ctpop(kind(value).ir_value())))


def clz(value: Any) -> Any:
    """The number of leading bits that are 0, as Int32."""
    kind = _kind(value)
    return Int32(kind(math.ctlz(kind(value).ir_value())))


def bit_pair(value: Any, shift: int, mask: int, fixed: int) -> Any:
    """``value & mask | fixed`` in the low half of a word, ``(value >> shift) & mask | fixed`` in its high half."""
    both = Uint32(value) * Uint32(1 + (1 << (16 - shift)))
    return (both & Uint32(mask * 0x10001)) | Uint32(fixed * 0x10001)


def half_of_pair(pair: Any, number: Any) -> Any:
    """The half of a word: 0 is the low one."""
    return Uint16(Uint32(pair) >> Uint32(Int32(number) * Int32(16)))


def isnan(value: Any) -> Any:
    return value != value


def isinf(value: Any) -> Any:
    return abs(value) == type(value)(float("inf"))


def isfinite(value: Any) -> Any:
    return abs(value) < type(value)(float("inf"))


# -- functions of float32 and float64 --------------------------------------------------------------------------------


def _function(operation: Callable[..., Any], doc: str) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        kind, operands = _together(*values)
        return kind(operation(*operands))

    call.__doc__ = doc
    return call


acos, acosh = _function(math.acos, "Inverse cosine."), _function(math.acosh, "Inverse hyperbolic cosine.")
asin, asinh = _function(math.asin, "Inverse sine."), _function(math.asinh, "Inverse hyperbolic sine.")
atan, atanh = _function(math.atan, "Inverse tangent."), _function(math.atanh, "Inverse hyperbolic tangent.")
atan2 = _function(math.atan2, "The angle of the point (b, a).")
ceil, floor = _function(math.ceil, "Rounded up."), _function(math.floor, "Rounded down.")
copysign = _function(math.copysign, "Operand a with the sign of operand b.")
cos, cosh = _function(math.cos, "Cosine."), _function(math.cosh, "Hyperbolic cosine.")
erf = _function(math.erf, "Error function.")
exp, exp2 = _function(math.exp, "Euler's number to a power."), _function(math.exp2, "2 to a power.")
fmod = _function(arith.remf, "The remainder of a division towards zero.")
log, log1p = _function(math.log, "Natural logarithm."), _function(math.log1p, "Logarithm of 1 + the value.")
log2, log10 = _function(math.log2, "Logarithm to base 2."), _function(math.log10, "Logarithm to base 10.")
nearbyint = _function(math.roundeven, "The nearest integer; of two the even one.")
pow = _function(math.powf, "Operand a to the power of operand b.")
rsqrt, sqrt = _function(math.rsqrt, "1 / square root."), _function(math.sqrt, "Square root, correctly rounded.")
sin, sinh = _function(math.sin, "Sine."), _function(math.sinh, "Hyperbolic sine.")
tan, tanh = _function(math.tan, "Tangent."), _function(math.tanh, "Hyperbolic tangent.")
trunc = _function(math.trunc, "The integer part.")


def exp10(value: Any) -> Any:
    """10 to a power."""
    return pow(type(value)(10.0), value)


def sigmoid(value: Any) -> Any:
    """``1 / (1 + exp(-value))``."""
    kind = type(value)
    return kind(1.0) / (kind(1.0) + exp(-value))


def hypot(a: Any, b: Any) -> Any:
    """``sqrt(a * a + b * b)`` without an overflow of the squares: float32 in float64, float64 scaled by the larger."""
    kind = _kind(a, b)
    if kind is Float32:
        wide_a, wide_b = Float64(a), Float64(b)
        return Float32(sqrt(product(wide_a, wide_a) + product(wide_b, wide_b)))
    infinity = kind(float("inf"))
    large, small = max(abs(a), abs(b)), min(abs(a), abs(b))
    ratio = small / large
    length = product(large, sqrt(kind(1.0) + product(ratio, ratio)))
    length = select(large == kind(0.0), kind(0.0), length, kind)
    length = select(isnan(a) | isnan(b), kind(float("nan")), length, kind)
    return select((abs(a) == infinity) | (abs(b) == infinity), infinity, length, kind)


def ldexp(value: Any, power: Any) -> Any:
    """``value * 2 ** power``, rounded once."""
    if isinstance(value, Float32):  # 2^400 and its inverse are normal float64, and so are products with float32
        bounded = max(min(Int32(power), Int32(400)), Int32(-400))
        return Float32(product(Float64(value), _power_of_two(bounded)))
    left, scaled = Int32(power), value
    for _ in range(2):  # each step keeps a product with 53 bits above the subnormal numbers
        is_large, is_small = left > Int32(1023), left < Int32(-1022)
        step = select(is_large, Int32(1023), select(is_small, Int32(-969), Int32(0), Int32), Int32)
        scaled = product(scaled, _power_of_two(step))
        left = left - step
    return product(scaled, _power_of_two(max(min(left, Int32(1023)), Int32(-1022))))


def _power_of_two(power: Any) -> Any:
    """2 to a power from -1022 to 1023, as Float64."""
    return bits(Float64, (Int64(power) + Int64(1023)) << Int64(52))


def nextafter(value: Any, towards: Any) -> Any:
    """The next number of the type on the way to ``towards``."""
    kind = type(value)
    word = _SIGNED_WORDS[kind.width]
    computed = Int64 if word is Int64 else Int32
    zero, own = kind(0.0), computed(bits(word, value))
    is_away = (towards > value) == (value > zero)
    moved = bits(kind, word(own + select(is_away, computed(1), computed(-1), computed)))
    least = select(towards > zero, bits(kind, word(1)), -bits(kind, word(1)), kind)
    moved = select(value == zero, least, moved, kind)
    moved = select(value == towards, towards, moved, kind)
    return select(isnan(value) | isnan(towards), kind(float("nan")), moved, kind)
