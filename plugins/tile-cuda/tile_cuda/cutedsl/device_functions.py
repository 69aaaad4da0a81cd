"""Functions of float32 and float64 for kernels in CuTe DSL: those of MLIR, and some that it does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutlass import Float32, Float64, Int16, Int32, Int64
from cutlass._mlir.dialects import arith, math

from tile_cuda.cutedsl.device_numbers import abs, bits, isnan, kind_of, max, min, product, select, together

_SIGNED_WORDS = {16: Int16, 32: Int32, 64: Int64}  # the integer with the bits of a float, by width


def _function(operation: Callable[..., Any], doc: str) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        kind, operands = together(*values)
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
    """``1 / (1 + exp(-value))``, by a power that does not overflow, so that it is right down to the smallest number."""
    kind = type(value)
    power = exp(-abs(value))
    return select(value < kind(0.0), power, kind(1.0), kind) / (kind(1.0) + power)


def hypot(a: Any, b: Any) -> Any:
    """``sqrt(a * a + b * b)`` without an overflow of the squares: float32 in float64, float64 scaled by the larger."""
    kind = kind_of(a, b)
    infinity = kind(float("inf"))
    if kind is Float32:
        wide_a, wide_b = Float64(a), Float64(b)
        length = Float32(sqrt(product(wide_a, wide_a) + product(wide_b, wide_b)))
    else:
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
