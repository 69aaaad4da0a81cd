"""Arithmetic on float64 and its bits in LLVM, step by step: what rounding in a direction is made of (directed.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilecore.backends.cpu.llvm.arithmetic import fenced
from tilecore.backends.cpu.llvm.intrinsics import call
from tilecore.backends.cpu.llvm.types import Value, literal, vector

if TYPE_CHECKING:
    from tilecore.backends.cpu.llvm.function import Function

_BIASED = 1023  # the bias of a float64's exponent


class Steps:
    """Short names for arithmetic on float64 and its bits, in so many lanes."""

    def __init__(self, fn: Function, lanes: int) -> None:
        self.fn = fn
        self.lanes = lanes
        self.double, self.int, self.test = (vector(kind, lanes) for kind in ("double", "i64", "i1"))

    # -- one operation ----------------------------------------------------------------------------------------

    def number(self, value: float) -> str:
        return literal(value, "float64", self.lanes).text

    def whole(self, value: int) -> str:
        return literal(value, "int64", self.lanes).text

    def op(self, word: str, a: str, b: str) -> str:
        return self.fn.op(f"{word} {self.double} {a}, {b}")

    def bit_op(self, word: str, a: str, b: str | int) -> str:
        return self.fn.op(f"{word} {self.int} {a}, {self.whole(b) if isinstance(b, int) else b}")

    def both(self, a: str, b: str) -> str:
        return self.fn.op(f"and {self.test} {a}, {b}")

    def choose(self, test: str, a: str, b: str, kind: str = "") -> str:
        return self.fn.op(f"select {self.test} {test}, {kind or self.double} {a}, {kind or self.double} {b}")

    def negative(self, a: str) -> str:
        return self.fn.op(f"fneg {self.double} {a}")

    def product(self, a: str, b: str) -> str:
        """A product that LLVM does not merge with a sum."""
        return fenced(self.fn, Value(self.op("fmul", a, b), "float64", self.lanes)).text

    def function(self, name: str, *operands: str) -> str:
        return call(self.fn, name, [Value(text, "float64", self.lanes) for text in operands]).text

    def bits(self, a: str) -> str:
        return self.fn.op(f"bitcast {self.double} {a} to {self.int}")

    def of_bits(self, a: str) -> str:
        return self.fn.op(f"bitcast {self.int} {a} to {self.double}")

    def wide(self, a: str) -> str:
        return self.fn.op(f"fpext {vector('float', self.lanes)} {a} to {self.double}")

    # -- error-free operations --------------------------------------------------------------------------------

    def sum(self, a: str, b: str) -> tuple[str, str]:
        """The rounded sum and its error (Knuth's TwoSum)."""
        total = self.op("fadd", a, b)
        back = self.op("fsub", total, a)
        rest = self.op("fsub", a, self.op("fsub", total, back))
        return total, self.op("fadd", rest, self.op("fsub", b, back))

    def sorted_sum(self, a: str, b: str) -> tuple[str, str]:
        """The rounded sum and its error (Dekker's Fast2Sum); of a sum that overflows the error is infinite, with the
        other sign."""
        larger = self.op("fcmp oge", self.function("fabs", a), self.function("fabs", b))
        big, small = self.choose(larger, a, b), self.choose(larger, b, a)
        total = self.op("fadd", big, small)
        return total, self.op("fsub", small, self.op("fsub", total, big))

    # -- scaling ----------------------------------------------------------------------------------------------

    def scaled(self, a: str) -> tuple[str, str]:
        """(m, k): a finite number that is not 0 is m * 2^k, where the size of m is at least 1 and less than 2."""
        bits = self.bits(a)
        exponent = self.bit_op("and", self.bit_op("lshr", bits, 52), 0x7FF)
        is_small = self.bit_op("icmp eq", exponent, 0)
        larger = self.bits(self.product(a, self.number(2.0**54)))
        bits = self.choose(is_small, larger, bits, self.int)
        exponent = self.bit_op("and", self.bit_op("lshr", bits, 52), 0x7FF)
        bias = self.choose(is_small, self.whole(_BIASED + 54), self.whole(_BIASED), self.int)
        fraction = self.bit_op("and", bits, -(0x7FF << 52) - 1)
        return self.of_bits(self.bit_op("or", fraction, _BIASED << 52)), self.bit_op("sub", exponent, bias)

    def power(self, k: str) -> str:
        """2^k, for k from -1000 to 1000."""
        return self.of_bits(self.bit_op("shl", self.bit_op("add", k, _BIASED), 52))

    def within(self, k: str, low: int, high: int) -> str:
        for word, limit in (("slt", low), ("sgt", high)):
            k = self.choose(self.bit_op(f"icmp {word}", k, limit), self.whole(limit), k, self.int)
        return k

    def times_power(self, a: str, k: str) -> str:
        """a * 2^k, exact up to about 2^1000 in size, and for what is larger about that; 0 and infinities stay."""
        mantissa, exponent = self.scaled(a)
        power = self.power(self.within(self.bit_op("add", exponent, k), -1000, 1000))
        return self.choose(self.is_scalable(a), self.product(mantissa, power), a)

    def is_scalable(self, a: str) -> str:
        """Is it finite, and not 0?"""
        size = self.function("fabs", a)
        return self.both(self.is_finite(a), self.op("fcmp ogt", size, self.number(0.0)))

    def is_finite(self, a: str) -> str:
        return self.op("fcmp olt", self.function("fabs", a), self.number(float("inf")))

    def where(self, test: str, lacking: str) -> str:
        return self.choose(test, lacking, self.number(0.0))

    def of_sign(self, divisor: str, value: str) -> str:
        """The value, negated where the divisor is negative."""
        return self.choose(self.op("fcmp olt", divisor, self.number(0.0)), self.negative(value), value)

    # -- the last steps ---------------------------------------------------------------------------------------

    def zero_of_sum(self, operation: str, operands: list[str], near: str, lacking: str) -> str:
        """A sum that is exactly 0 is -0 when rounded down, unless both its terms are +0 (IEEE 754-2019, 6.3)."""
        signs = [self.bits(operand) for operand in operands]
        if operation == "fma":
            signs = [self.bit_op("xor", signs[0], signs[1]), signs[2]]
        sign = self.bit_op("and", self.bit_op("or", *signs), -(2**63))
        zero = self.number(0.0)
        is_zero = self.both(self.op("fcmp oeq", near, zero), self.op("fcmp oeq", lacking, zero))
        return self.choose(is_zero, self.of_bits(sign), near)

    def narrow(self, near: str, lacking: str) -> tuple[str, str]:
        """A float64 as the nearest float32, and what that lacks."""
        single = self.fn.op(f"fptrunc {self.double} {near} to {vector('float', self.lanes)}")
        back = self.wide(single)
        above = self.choose(self.op("fcmp olt", near, back), self.number(-1.0), lacking)
        return single, self.choose(self.op("fcmp ogt", near, back), self.number(1.0), above)

    def moved(self, mode: str, near: str, lacking: str, kind: str, width: int) -> str:
        """The number, or its neighbour in the direction of the rounding where it lacks something in that direction."""
        floats, ints = vector(kind, self.lanes), vector(f"i{width}", self.lanes)

        def whole(value: int) -> str:
            return literal(value, f"int{width}", self.lanes).text

        bits = self.fn.op(f"bitcast {floats} {near} to {ints}")
        is_negative = self.fn.op(f"icmp slt {ints} {bits}, {whole(0)}")
        less, more = (self.op(f"fcmp {word}", lacking, self.number(0.0)) for word in ("olt", "ogt"))
        if mode == "rz":
            moves = self.choose(is_negative, more, less, self.test)
            stepped = self.fn.op(f"add {ints} {bits}, {whole(-1)}")
        else:
            moves, away = (more, 1) if mode == "ru" else (less, -1)
            step = self.choose(is_negative, whole(-away), whole(away), ints)
            stepped = self.fn.op(f"add {ints} {bits}, {step}")
            size = self.fn.op(f"and {ints} {bits}, {whole(2 ** (width - 1) - 1)}")
            least = whole(1) if mode == "ru" else whole(-(2 ** (width - 1)) + 1)
            stepped = self.choose(self.fn.op(f"icmp eq {ints} {size}, {whole(0)}"), least, stepped, ints)
        chosen = self.choose(moves, stepped, bits, ints)
        return self.fn.op(f"bitcast {ints} {chosen} to {floats}")
