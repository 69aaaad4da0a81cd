"""Elementary functions of float32 vectors as polynomials: no library call, so loops stay vectors.

Coefficients are least-maximum fits made for these intervals; results are within 2 ulp of the rounded value over the
whole range, and NaN, infinities and overflow come out as IEEE 754 has them.
"""

from __future__ import annotations

import struct

from tilecore.backends.cpu.llvm.function import Function
from tilecore.backends.cpu.llvm.types import Value, literal, vector

LOG2_E = 1.4426950408889634
# ln 2 in two parts: the first has zeros at the end, so that its product with a small integer is exact
LN2_HIGH, LN2_LOW = 0.693145751953125, 1.428606765330187e-06
LOG10_2 = 0.30102999566398120
ROUNDER = 12582912.0  # 1.5 * 2^23: adding it rounds a small float to a whole number, left in its low bits

EXP = (0.4999999344869876, 0.1666652064534539, 0.04166838788831058, 0.008368715218960793, 0.0013814601844141794)
EXP2 = (0.24022647913619732, 0.05550332471026766, 0.009618437358297146, 0.0013398874445428761, 0.00015353361815040496)
EXP2_LINEAR = 0.6931472028551288
# 2^f = 1 + f (c0 + f (c1 + ...)) for f from 0 to 1, within 2^-28.8
EXP2_ABOVE_FLOOR = (
    0.6931470632553101,
    0.2402293086051941,
    0.055485282093286514,
    0.009675451554358006,
    0.001246784464456141,
    0.0002161292068194598,
)
LOG = (
    0.3333333170780459,
    -0.2500082103550153,
    0.20001226865410754,
    -0.16623357298080588,
    0.14201758233697817,
    -0.13160183062727168,
    0.1276157564420909,
    -0.07634493024175668,
)
# erf(x) = x P(x^2) / Q(x^2) up to 3.93, where it is 1 - 3e-8
ERF_ABOVE = (
    1.1283791454974579,
    0.19078004647192207,
    0.05278978716409826,
    0.003779446082584807,
    0.00028480478584458867,
    2.0419987232302687e-06,
)
ERF_BELOW = (
    1.0,
    0.5024071349184711,
    0.11425595859451788,
    0.01499711276446932,
    0.0011651727642481445,
    3.800416301549636e-05,
)
TANH_SMALL = (
    0.9999999960798523,
    -0.33333260550192045,
    0.1333112786844345,
    -0.05372108738977064,
    0.020591037793297587,
    -0.005660034966165545,
)


class Poly:
    """Arithmetic on float32 vectors (text of the operands) for writing the functions below."""

    def __init__(self, fn: Function, lanes: int) -> None:
        self.fn = fn
        self.lanes = lanes
        self.f = vector("float", lanes)
        self.i = vector("i32", lanes)
        self.b = vector("i1", lanes)

    def num(self, value: float) -> str:
        return literal(value, "float32", self.lanes).text

    def int(self, value: int) -> str:
        return literal(value, "int32", self.lanes).text

    def op(self, word: str, a: str, b: str) -> str:
        return self.fn.op(f"{word} {self.f} {a}, {b}")

    def add(self, a: str, b: str) -> str:
        return self.op("fadd", a, b)

    def sub(self, a: str, b: str) -> str:
        return self.op("fsub", a, b)

    def mul(self, a: str, b: str) -> str:
        return self.op("fmul", a, b)

    def div(self, a: str, b: str) -> str:
        return self.op("fdiv", a, b)

    def fma(self, a: str, b: str, c: str) -> str:
        name = "llvm.fma." + ("f32" if self.lanes == 1 else f"v{self.lanes}f32")
        self.fn.module.declare(name, f"{self.f} {{}}({self.f}, {self.f}, {self.f})")
        return self.fn.op(f"call {self.f} @{name}({self.f} {a}, {self.f} {b}, {self.f} {c})")

    def abs(self, a: str) -> str:
        return self.as_float(self.iop("and", self.bits(a), self.int(0x7FFFFFFF)))

    def sign_from(self, size: str, sign: str) -> str:
        """``size`` (not negative) with the sign of ``sign``."""
        mask = self.iop("and", self.bits(sign), self.int(-(2**31)))
        return self.as_float(self.iop("or", self.bits(size), mask))

    def bits(self, a: str) -> str:
        return self.fn.op(f"bitcast {self.f} {a} to {self.i}")

    def as_float(self, a: str) -> str:
        return self.fn.op(f"bitcast {self.i} {a} to {self.f}")

    def iop(self, word: str, a: str, b: str) -> str:
        return self.fn.op(f"{word} {self.i} {a}, {b}")

    def test(self, word: str, a: str, b: str) -> str:
        return self.fn.op(f"fcmp {word} {self.f} {a}, {b}")

    def select(self, test: str, a: str, b: str) -> str:
        return self.fn.op(f"select {self.b} {test}, {self.f} {a}, {self.f} {b}")

    def limit(self, a: str, low: float, high: float) -> str:
        """``a`` within [low, high]; NaN stays."""
        a = self.select(self.test("olt", a, self.num(low)), self.num(low), a)
        return self.select(self.test("ogt", a, self.num(high)), self.num(high), a)

    def horner(self, x: str, coefficients: tuple[float, ...]) -> str:
        """c0 + x (c1 + x (c2 + ...))"""
        total = self.num(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.fma(total, x, self.num(coefficient))
        return total

    @property
    def scales_in_one(self) -> bool:
        """Has the processor instructions that round these vectors, and that multiply them by powers of two?"""
        features = self.fn.module.features
        return (self.lanes == 16 and "avx512f" in features) or (self.lanes in (4, 8) and "avx512vl" in features)

    @property
    def reduces_in_one(self) -> bool:
        """Has the processor an instruction that subtracts the whole part of these vectors?"""
        return self.scales_in_one and "avx512dq" in self.fn.module.features

    def above_floor(self, x: str) -> str:
        """``x`` less the greatest whole number that is not above it: VREDUCEPS, which gives 0 for infinities (Intel 64
        and IA-32 architectures SDM, volume 2)."""
        bits, mask = 32 * self.lanes, "i8" if self.lanes < 16 else "i16"
        name = f"llvm.x86.avx512.mask.reduce.ps.{bits}"
        rounding, more = (", i32 4", ", i32 immarg") if bits == 512 else ("", "")
        self.fn.module.declare(name, f"{self.f} {{}}({self.f}, i32 immarg, {self.f}, {mask}{more})")
        # 9: no bits of the fraction stay, rounded down, and no flag for inexact results
        operands = f"{self.f} {x}, i32 9, {self.f} zeroinitializer, {mask} -1{rounding}"
        return self.fn.op(f"call {self.f} @{name}({operands})")

    def scale(self, a: str, power: str) -> str:
        """``a`` times 2 to the power that :meth:`whole` gave (-300 to 300), rounded once.

        VSCALEFPS where the processor has it, which takes the floor of any float for the power; else in two steps, of
        which only the last can round.
        """
        if self.scales_in_one:
            bits = 32 * self.lanes
            mask = "i8" if self.lanes < 16 else "i16"
            rounding = ", i32 4" if bits == 512 else ""  # 4: as the control register says
            name = f"llvm.x86.avx512.mask.scalef.ps.{bits}"
            more = ", i32 immarg" if bits == 512 else ""
            self.fn.module.declare(name, f"{self.f} {{}}({self.f}, {self.f}, {self.f}, {mask}{more})")
            operands = f"{self.f} {a}, {self.f} {power}, {self.f} zeroinitializer, {mask} -1{rounding}"
            return self.fn.op(f"call {self.f} @{name}({operands})")
        half = self.iop("ashr", power, self.int(1))
        rest = self.iop("sub", power, half)
        for part in (half, rest):
            a = self.mul(a, self.as_float(self.iop("shl", self.iop("add", part, self.int(127)), self.int(23))))
        return a

    def whole(self, x: str) -> tuple[str, str]:
        """The nearest whole number, as a float and in the form that :meth:`scale` takes."""
        if self.scales_in_one:
            name = f"llvm.roundeven.v{self.lanes}f32"
            self.fn.module.declare(name, f"{self.f} {{}}({self.f})")
            number = self.fn.op(f"call {self.f} @{name}({self.f} {x})")
            return number, number
        moved = self.add(x, self.num(ROUNDER))
        bits = struct.unpack("I", struct.pack("f", ROUNDER))[0]
        return self.sub(moved, self.num(ROUNDER)), self.iop("sub", self.bits(moved), self.int(bits))


def exp(p: Poly, x: str) -> str:
    x = p.limit(x, -104.5, 89.0)
    number, power = p.whole(p.mul(x, p.num(LOG2_E)))
    r = p.fma(number, p.num(-LN2_HIGH), x)
    r = p.fma(number, p.num(-LN2_LOW), r)
    return p.scale(_exp_of_rest(p, r), power)


def _exp_of_rest(p: Poly, r: str) -> str:
    return p.add(p.fma(p.mul(r, r), p.horner(r, EXP), r), p.num(1.0))


def exp2(p: Poly, x: str) -> str:
    if p.reduces_in_one:  # VSCALEFPS takes the floor of its power, and what it gives for infinities is right
        rest = p.above_floor(x)
        return p.scale(p.fma(rest, p.horner(rest, EXP2_ABOVE_FLOOR), p.num(1.0)), x)
    x = p.limit(x, -151.0, 128.5)
    number, power = p.whole(x)
    r = p.sub(x, number)
    linear = p.mul(r, p.num(EXP2_LINEAR))
    return p.scale(p.add(p.fma(p.mul(r, r), p.horner(r, EXP2), linear), p.num(1.0)), power)


def _split(p: Poly, x: str) -> tuple[str, str]:
    """``x = (1 + t) 2^e`` with 1 + t from sqrt(1/2) to sqrt(2): t and e as floats. Denormals are scaled up first."""
    tiny = p.test("olt", x, p.num(2.0**-126))
    x = p.select(tiny, p.mul(x, p.num(2.0**23)), x)
    extra = p.select(tiny, p.num(-23.0), p.num(0.0))
    bits = p.bits(x)
    moved = p.iop("sub", bits, p.int(0x3F3504F3))
    exponent = p.iop("ashr", moved, p.int(23))
    fraction = p.iop("sub", bits, p.iop("shl", exponent, p.int(23)))
    e = p.fn.op(f"sitofp {p.i} {exponent} to {p.f}")
    return p.sub(p.as_float(fraction), p.num(1.0)), p.add(e, extra)


def _log_special(p: Poly, x: str, result: str) -> str:
    """Zero, negative numbers, infinity and NaN."""
    result = p.select(p.test("oeq", x, p.num(float("inf"))), x, result)
    result = p.select(p.test("oeq", x, p.num(0.0)), p.num(float("-inf")), result)
    return p.select(p.test("ult", x, p.num(0.0)), p.num(float("nan")), result)


def _log_of_fraction(p: Poly, t: str) -> tuple[str, str]:
    """log(1 + t) as t plus a correction."""
    square = p.mul(t, t)
    correction = p.mul(p.mul(square, t), p.horner(t, LOG))
    return t, p.fma(square, p.num(-0.5), correction)


def log(p: Poly, x: str) -> str:
    t, e = _split(p, x)
    main, correction = _log_of_fraction(p, t)
    low = p.fma(e, p.num(LN2_LOW), correction)
    return _log_special(p, x, p.fma(e, p.num(LN2_HIGH), p.add(main, low)))


# 1 / ln 2 and 1 / ln 10 in two parts, for products that are nearly exact
LOG2_HIGH, LOG2_LOW = 1.44140625, 1.2887909e-3
LOG10_HIGH, LOG10_LOW = 0.43359375, 7.0073190e-4


def _log_base(p: Poly, x: str, high: float, low: float, per_power: float) -> str:
    t, e = _split(p, x)
    main, correction = _log_of_fraction(p, t)
    total = p.mul(correction, p.num(high))
    total = p.fma(p.add(main, correction), p.num(low), total)
    total = p.fma(main, p.num(high), total)
    return _log_special(p, x, p.fma(e, p.num(per_power), total))


def log2(p: Poly, x: str) -> str:
    return _log_base(p, x, LOG2_HIGH, LOG2_LOW, 1.0)


def log10(p: Poly, x: str) -> str:
    return _log_base(p, x, LOG10_HIGH, LOG10_LOW, LOG10_2)


def tanh(p: Poly, x: str) -> str:
    size = p.abs(x)
    square = p.mul(x, x)
    small = p.mul(size, p.horner(square, TANH_SMALL))
    two = p.limit(p.add(size, size), 0.0, 40.0)
    large = p.sub(p.num(1.0), p.div(p.num(2.0), p.add(exp(p, two), p.num(1.0))))
    return p.sign_from(p.select(p.test("olt", size, p.num(0.625)), small, large), x)


def erf(p: Poly, x: str) -> str:
    a = p.limit(x, -3.93, 3.93)
    square = p.mul(a, a)
    quotient = p.div(p.mul(a, p.horner(square, ERF_ABOVE)), p.horner(square, ERF_BELOW))
    return p.limit(quotient, -1.0, 1.0)


def sigmoid(p: Poly, x: str) -> str:
    """1 / (1 + exp(-x)), from exp(-|x|), which never overflows."""
    e = exp(p, p.as_float(p.iop("or", p.bits(x), p.int(-(2**31)))))
    denominator = p.add(e, p.num(1.0))
    negative = p.test("olt", x, p.num(0.0))
    return p.div(p.select(negative, e, p.num(1.0)), denominator)


def exp10(p: Poly, x: str) -> str:
    """2^(x log2 10), the product split so that its error does not grow with x."""
    x = p.limit(x, -46.0, 39.0)
    number, power = p.whole(p.mul(x, p.num(3.321928094887362)))
    r = p.fma(number, p.num(-0.30102920532226562), x)
    r = p.fma(number, p.num(-7.9034171e-07), r)
    return p.scale(_exp_of_rest(p, p.mul(r, p.num(2.302585092994046))), power)


FUNCTIONS = {
    "exp": exp,
    "exp2": exp2,
    "exp10": exp10,
    "log": log,
    "log2": log2,
    "log10": log10,
    "tanh": tanh,
    "erf": erf,
    "sigmoid": sigmoid,
}


def emit(fn: Function, name: str, value: Value) -> Value:
    """Function ``name`` of a float32 value of any number of lanes."""
    return Value(FUNCTIONS[name](Poly(fn, value.lanes), value.text), value.dtype, value.lanes)
