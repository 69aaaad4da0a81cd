"""The random number generators XORWOW and MRG32k3a, with the seeds, sequences and numbers of cuRAND's device API.

XORWOW: G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (14), 2003. MRG32k3a: P. L'Ecuyer, "Good
parameters and implementations for combined multiple recursive random number generators", Operations Research 47 (1),
1999. A state is six uint32. Skipping n numbers is a linear map, the product of the maps that skip 2^k numbers for the
bits k of n; those are constants (H. Haramoto and others, "Efficient jump ahead for F2-linear random number generators",
INFORMS Journal on Computing 20 (3), 2008). A sequence begins 2^67 (XORWOW) or 2^76 (MRG32k3a) numbers after the one
before (cuRAND Library Programming Guide, section 3.1.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tilecore.ir.nodes import Cast, Expr, IfThenElse, tirx
from tilecore.language.generator_skips import (
    DEGREE,
    MODULI,
    MULTIPLIERS,
    WEYL,
    characteristic_polynomial,
    matrix_power,
    polynomial_of_jump,
)
from tilecore.language.memory import alloc_var
from tilecore.language.values import as_expr
from tilecore.tracing.loops import Axis, LoopSpec, open_loop

if TYPE_CHECKING:
    from tilecore.language.buffers import LocalVar
    from tilecore.tracing.builder import Builder

State = list["LocalVar"]  # six variables of uint32
_WORD = 0xFFFFFFFF
_MOST_CONSTANTS = 20  # bits of a jump whose constants stand in the code
_STEPS = 7  # so many low bits of a jump are steps one by one, where a jump costs more


def u32(value: int) -> Any:
    return tirx.const(value & _WORD, "uint32")


def u64(value: int) -> Any:
    return tirx.const(value & (2**64 - 1), "uint64")


def variables(builder: Builder, values: Iterable[Any]) -> State:
    """New variables of uint32 with these values."""
    state = []
    for value in values:
        variable = alloc_var("uint32")
        variable.name_once(builder, "rng_state")
        variable.store(value)
        state.append(variable)
    return state


def _repeat(builder: Builder, count: Any, build: Callable[[Any], None]) -> None:
    with open_loop(builder, LoopSpec("serial", (Axis(0, count),)), ("step",)) as index:
        build(index)


@dataclass(frozen=True)
class Xorwow:
    """Five words of a linear recurrence over bits, and a counter that is added. A draw is a word."""

    name: str = "XORWOW"
    log2_sequence: int = 67  # of the numbers from the begin of a sequence to that of the next
    halves_of_double: int = 2  # draws for a float64

    def start(self, builder: Builder, low: Any, high: Any) -> list[Any]:
        """The state of sequence 0 at its begin, from both halves of the seed."""
        first = builder.bind("rng_mix", tirx.BitwiseXor(low, u32(0xAAD26B49)) * u32(1099087573))
        second = builder.bind("rng_mix", tirx.BitwiseXor(high, u32(0xF7DCEFDD)) * u32(2591861531))
        return [
            u32(123456789) + first, tirx.BitwiseXor(u32(362436069), first), u32(521288629) + second,
            tirx.BitwiseXor(u32(88675123), second), u32(5783321) + first, u32(6615241) + second + first,
        ]  # fmt: skip

    def step(self, builder: Builder, state: State) -> None:
        """The next state."""
        oldest, newest = (builder.bind("word", state[place].place()) for place in (0, 4))
        mixed = builder.bind("mixed", tirx.BitwiseXor(oldest, oldest >> u32(2)))
        word = tirx.BitwiseXor(tirx.BitwiseXor(newest, newest << u32(4)), tirx.BitwiseXor(mixed, mixed << u32(1)))
        word = builder.bind("word", word)
        for index in range(4):
            state[index].store(state[index + 1].place())
        state[4].store(word)
        state[5].store(state[5].place() + u32(WEYL))

    def draw(self, builder: Builder, state: State) -> Expr:
        """The next number of a state."""
        self.step(builder, state)
        return builder.bind("random", state[4].place() + state[5].place())

    def jump(self, builder: Builder, state: State, count: Any, bits: int, log2_unit: int = 0) -> None:
        """Skip count * 2^log2_unit numbers. count: a Python integer, or a uint64 of at most so many bits."""
        counter = state[5].place()
        if log2_unit == 0:  # of 2^32 numbers it comes around
            numbers = u32(count) if isinstance(count, int) else Cast("uint32", count)
            counter = counter + numbers * u32(WEYL)
        counter = builder.bind("counter", counter)
        if not isinstance(count, int) and bits > _MOST_CONSTANTS:
            self._jump_far(builder, state, count, bits, log2_unit)
        else:
            low_bits = min(bits, _STEPS) if log2_unit == 0 else 0
            if low_bits:
                steps: Any = _low_bits(builder, count, low_bits)
                _repeat(builder, steps, lambda _: self.step(builder, state))
            for bit in range(low_bits, bits):
                polynomial = _words(polynomial_of_jump(bit + log2_unit))
                _if_set(builder, count, bit, partial(self._sum_states, builder, state, polynomial))
        state[5].store(counter)

    def _sum_states(self, builder: Builder, state: State, polynomial: list[Any]) -> None:
        """The state becomes a sum of following states: those after i steps, for the powers x^i of a polynomial."""
        sums = variables(builder, [u32(0)] * 5)

        def add(index: Any) -> None:
            mask = builder.bind("mask", u32(0) - _coefficient(polynomial, index))
            for total, part in zip(sums, state, strict=False):
                total.store(tirx.BitwiseXor(total.place(), tirx.bitwise_and(part.place(), mask)))
            self.step(builder, state)

        _repeat(builder, DEGREE, add)
        for part, total in zip(state, sums, strict=False):
            part.store(total.place())

    def _jump_far(self, builder: Builder, state: State, count: Any, bits: int, log2_unit: int) -> None:
        """A jump of many bits: the product of the polynomials of the bits that are set is computed by the kernel."""
        power = variables(builder, _words(polynomial_of_jump(log2_unit)))
        product = variables(builder, _words(1))

        def multiply(index: Any) -> None:
            rest = builder.bind("rest", count >> Cast("uint64", as_expr(index)))

            def double() -> None:
                _if(
                    builder, tirx.NE(tirx.bitwise_and(rest, u64(1)), u64(0)), lambda: _multiply(builder, product, power)
                )
                _multiply(builder, power, power)

            _if(builder, tirx.NE(rest, u64(0)), double)

        _repeat(builder, bits, multiply)
        self._sum_states(builder, state, [word.place() for word in product])

    def integer(self, draw: Expr) -> Expr:
        return draw

    def uniform(self, draws: list[Expr], bit: int) -> Expr:
        """Above 0 and up to 1: k * 2^-32 + 2^-33; of float64 from the bits of both draws, of 53 bits."""
        if bit == 32:
            kind = "float32"
            return Cast(kind, draws[0]) * tirx.const(2.0**-32, kind) + tirx.const(2.0**-33, kind)
        low, high = (Cast("uint64", draw) for draw in draws)
        both = tirx.BitwiseXor(low, high << u64(21))
        return Cast("float64", both) * tirx.const(2.0**-53, "float64") + tirx.const(2.0**-54, "float64")


@dataclass(frozen=True)
class Mrg32k3a:
    """Two recurrences of order three, modulo primes below 2^32. A draw is their difference, from 1 to the first."""

    name: str = "MRG32k3a"
    log2_sequence: int = 76
    halves_of_double: int = 1

    def start(self, builder: Builder, low: Any, high: Any) -> list[Any]:
        """The state of sequence 0 at its begin, from both halves of the seed; of seed 0 all words are 12345."""
        is_zero = builder.bind("is_zero", tirx.EQ(tirx.bitwise_or(low, high), u32(0)))
        keys = [tirx.BitwiseXor(low, u32(0x55555555)), tirx.BitwiseXor(high, u32(0xAAAAAAAA))]
        keys = [builder.bind("rng_mix", tirx.Select(is_zero, u32(1), key)) for key in keys]
        order = (0, 1, 0, 1, 0, 1)
        return [self._sum([(12345, keys[key])], MODULI[place // 3]) for place, key in enumerate(order)]

    def _sum(self, terms: Sequence[tuple[Any, Any]], modulus: int) -> Any:
        """The sum of products of Python integers or words and words, as a word below the modulus."""
        total: Any = u64(0)
        for factor, word in terms:
            wide = u64(factor % modulus) if isinstance(factor, int) else Cast("uint64", factor)
            product = Cast("uint64", word) * wide
            total = total + tirx.truncmod(product, u64(modulus))
        return Cast("uint32", tirx.truncmod(total, u64(modulus)))

    def step(self, builder: Builder, state: State) -> None:
        """The next state."""
        words = [builder.bind("word", variable.place()) for variable in state]
        for half, modulus in enumerate(MODULI):
            own = words[3 * half : 3 * half + 3]
            terms = [(factor, word) for factor, word in zip(MULTIPLIERS[half], own, strict=True) if factor]
            following = builder.bind("word", self._sum(terms, modulus))
            for place, word in enumerate([own[1], own[2], following]):
                state[3 * half + place].store(word)

    def draw(self, builder: Builder, state: State) -> Expr:
        """The next number of a state."""
        self.step(builder, state)
        first, second = (builder.bind("word", state[place].place()) for place in (2, 5))
        wrapped = tirx.Select(tirx.GT(first, second), u32(0), u32(MODULI[0]))
        return builder.bind("random", first - second + wrapped)

    def jump(self, builder: Builder, state: State, count: Any, bits: int, log2_unit: int = 0) -> None:
        """Skip count * 2^log2_unit numbers. count: a Python integer, or a uint64 of at most so many bits."""
        if not isinstance(count, int) and bits > _MOST_CONSTANTS:
            self._jump_far(builder, state, count, bits, log2_unit)
            return
        for bit in range(bits):
            matrices = [[[*row] for row in matrix_power(half, bit + log2_unit)] for half in (0, 1)]
            _if_set(builder, count, bit, partial(self._multiply, builder, state, matrices))

    def _multiply(self, builder: Builder, state: State, matrices: list[list[list[Any]]]) -> None:
        """Both halves of the state times a matrix each, of Python integers or words."""
        words = [builder.bind("word", variable.place()) for variable in state]
        for half, modulus in enumerate(MODULI):
            own = words[3 * half : 3 * half + 3]
            for place, row in enumerate(matrices[half]):
                state[3 * half + place].store(self._sum(list(zip(row, own, strict=True)), modulus))

    def _jump_far(self, builder: Builder, state: State, count: Any, bits: int, log2_unit: int) -> None:
        """A jump of many bits: the kernel squares the matrices."""
        powers = [[variables(builder, map(u32, row)) for row in matrix_power(half, log2_unit)] for half in (0, 1)]

        def multiply(index: Any) -> None:
            rest = builder.bind("rest", count >> Cast("uint64", as_expr(index)))
            _if(builder, tirx.NE(rest, u64(0)), lambda: self._double(builder, state, powers, rest))

        _repeat(builder, bits, multiply)

    def _double(self, builder: Builder, state: State, powers: list[list[State]], rest: Any) -> None:
        """The matrices times the state, if the lowest bit is set, and then squared."""
        words = [[[builder.bind("word", word.place()) for word in row] for row in matrix] for matrix in powers]
        is_set = tirx.NE(tirx.bitwise_and(rest, u64(1)), u64(0))
        _if(builder, is_set, lambda: self._multiply(builder, state, words))
        for half, modulus in enumerate(MODULI):
            columns = list(zip(*words[half], strict=True))
            for row, target in zip(words[half], powers[half], strict=True):
                for column, variable in zip(columns, target, strict=True):
                    variable.store(self._sum(list(zip(row, column, strict=True)), modulus))

    def integer(self, draw: Expr) -> Expr:
        """The draw, of which the first modulus is below 2^32, spread over all uint32."""
        return Cast("uint32", Cast("float64", draw) * tirx.const(1.000000048662, "float64"))

    def uniform(self, draws: list[Expr], bit: int) -> Expr:
        """The draw divided by the first modulus, and for float32 by 1 more."""
        divisor = MODULI[0] if bit == 64 else MODULI[0] + 1
        value = Cast("float64", draws[0]) * tirx.const(1 / divisor, "float64")
        return value if bit == 64 else Cast("float32", value)


def _words(polynomial: int) -> list[Any]:
    return [u32(polynomial >> (32 * number)) for number in range(5)]


def _coefficient(polynomial: Sequence[Any], power: Any) -> Any:
    """The coefficient of this power of x."""
    place = Cast("uint32", as_expr(power))
    word: Any = polynomial[4]
    for number in (3, 2, 1, 0):
        word = tirx.Select(tirx.LT(place, u32(32 * number + 32)), polynomial[number], word)
    return tirx.bitwise_and(word >> tirx.bitwise_and(place, u32(31)), u32(1))


def _multiply(builder: Builder, target: State, factor: State) -> None:
    """The product of two polynomials modulo XORWOW's, from the highest power of ``factor`` on, into ``target``."""
    modulus = _words(characteristic_polynomial() - (1 << DEGREE))
    factors = [builder.bind("factor", word.place()) for word in factor]
    other = [builder.bind("factor", word.place()) for word in target]
    total = variables(builder, [u32(0)] * 5)

    def add(index: Any) -> None:
        words = [builder.bind("word", word.place()) for word in total]
        beyond = builder.bind("mask", u32(0) - (words[4] >> u32(31)))
        chosen = builder.bind("mask", u32(0) - _coefficient(factors, DEGREE - 1 - as_expr(index)))
        for number, word in enumerate(total):
            carried = words[number - 1] >> u32(31) if number else u32(0)
            shifted = tirx.bitwise_or(words[number] << u32(1), carried)
            reduced = tirx.BitwiseXor(shifted, tirx.bitwise_and(modulus[number], beyond))
            word.store(tirx.BitwiseXor(reduced, tirx.bitwise_and(other[number], chosen)))

    _repeat(builder, DEGREE, add)
    for word, result in zip(target, total, strict=True):
        word.store(result.place())


def _if(builder: Builder, condition: Any, build: Callable[[], None]) -> None:
    with builder.block("branch") as frame:
        build()
    builder.emit(IfThenElse(condition, frame.body(), None, span=builder.span))


def _if_set(builder: Builder, count: Any, bit: int, build: Callable[[], None]) -> None:
    """What ``build`` builds, where this bit of the count is set."""
    if isinstance(count, int):
        if count >> bit & 1:
            build()
        return
    _if(builder, tirx.NE(tirx.bitwise_and(count >> u64(bit), u64(1)), u64(0)), build)


def _low_bits(builder: Builder, count: Any, bits: int) -> Any:
    """The count's lowest bits, as the number of iterations of a loop."""
    if isinstance(count, int):
        return count & (2**bits - 1)
    return builder.bind("steps", Cast("int32", tirx.bitwise_and(count, u64(2**bits - 1))))


Recurrence = Xorwow | Mrg32k3a
GENERATORS: dict[str, Recurrence] = {"curandStateXORWOW_t": Xorwow(), "curandStateMRG32k3a_t": Mrg32k3a()}


def begin(
    builder: Builder, generator: Recurrence, seed: tuple[Any, Any], sequence: tuple[Any, int], offset: tuple[Any, int]
) -> State:
    """The state at a position of a sequence. seed: its halves, as uint32. sequence, offset: each a Python integer or a
    uint64, and the number of its bits."""
    state = variables(builder, generator.start(builder, *seed))
    for (count, bits), log2_unit in ((sequence, generator.log2_sequence), (offset, 0)):
        if not isinstance(count, int):
            count = builder.bind("rng_skipped", count)
        if bits:
            generator.jump(builder, state, count, bits, log2_unit)
    return state
