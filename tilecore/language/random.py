"""Random numbers: T.rng_init, T.rng_rand, T.rng_rand_float.

Counter-based, by Philox4x32-10 (J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011): the number
at position p of a sequence is word p % 4 of the block whose counter is (p // 4 as 64 bits, sequence as 64 bits) and
whose key is the seed. So a number depends on the seed, the sequence and its position only, and is the same bit for bit
on every target.

Outside T.Parallel a draw takes the next position of its thread. In T.Parallel, iteration L of the nest (counted row by
row) that draws K times takes positions start + L * K to start + L * K + K - 1, whether or not a condition skips some;
after the nest the position has moved on by K for every iteration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.errors import LanguageError, UnsupportedError
from tilecore.ir.nodes import Bind, Cast, Expr, Var, tirx
from tilecore.language.kernel import Kernel, open_kernel
from tilecore.language.memory import alloc_var
from tilecore.language.numeric import cos, log, sqrt
from tilecore.language.threads import thread_number
from tilecore.language.values import as_expr
from tilecore.tracing.current import current

if TYPE_CHECKING:
    from tilecore.language.buffers import LocalVar
    from tilecore.tracing.builder import Builder, Frame

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_MASK = 0xFFFFFFFF


@dataclass
class _Draws:
    """The draws of one T.Parallel nest.

    innermost: the frame of its innermost loop. outside: the frame that the nest stands in, whose statement at
    ``bind_index`` binds ``per_iteration``, the number of draws of an iteration. start: the position from which the
    nest draws. count: the draws of an iteration that have been built.
    """

    innermost: Frame
    outside: Frame
    bind_index: int
    per_iteration: Var
    start: Var
    count: int = 0


@dataclass
class _State:
    """The generators of a kernel's threads.

    key: the seed as two uint32, low half first. sequence: the index of the sequence; outside T.Parallel ``thread``, if
    it is not None, is added. position: the next position of the thread. nests: the draws of each T.Parallel nest, by
    the id of its outermost frame.
    """

    key: tuple[Expr, Expr]
    sequence: Expr
    thread: Expr | None
    position: LocalVar
    nests: dict[int, _Draws] = field(default_factory=dict)


def rng_init(seed: Any, seq: Any = None, off: Any = 0, generator: str = "philox4x32_10") -> None:
    """Start the generator of each thread: the sequence ``seq`` of ``seed``, from position ``off``.

    seed, seq: integers of up to 64 bits. seq None: the index of the block times the threads of a block, plus the index
    of the thread; in T.Parallel, whose iterations belong to no thread, the index of the thread is left out. Every
    T.Kernel starts its own. generator: a name with "philox" in it; other generators raise UnsupportedError.
    """
    kernel = open_kernel("T.rng_init")
    builder = current()
    if "philox" not in str(generator).lower():
        raise UnsupportedError(f"T.rng_init: generator {generator!r} is unknown", expected="Philox4x32-10").at(
            builder.location
        )
    if any(frame.facts.get("parallel") for frame in builder.frames):
        raise LanguageError("T.rng_init stands in T.Parallel", hint="start the generator once, before the loop")
    low, high = _halves(_wide(seed))
    thread = None
    if seq is None:
        threads = math.prod(kernel.threads)
        seq, thread = _block_index(kernel) * threads, _wide(thread_number(kernel))
    position = alloc_var("int64")
    position.name_once(builder, "rng_position")
    position.store(Cast("int64", as_expr(off)))
    key = (builder.bind("rng_key", low), builder.bind("rng_key", high))
    kernel.frame.facts["rng"] = _State(key, builder.bind("rng_sequence", _wide(seq)), thread, position)


def _wide(value: Any) -> Expr:
    """An integer as an int64 of the same low 64 bits."""
    if isinstance(value, int):
        value &= 2**64 - 1
        return tirx.const(value - 2**64 if value >= 2**63 else value, "int64")
    return Cast("int64", as_expr(value))


def _halves(value: Expr) -> tuple[Expr, Expr]:
    low = Cast("uint32", value & tirx.const(_MASK, "int64"))
    return low, Cast("uint32", (value >> tirx.const(32, "int64")) & tirx.const(_MASK, "int64"))


def _block_index(kernel: Kernel) -> Expr:
    """The index of the running block in the grid; it varies fastest along x."""
    linear_index: Any = tirx.const(0, "int64")
    step: Any = tirx.const(1, "int64")
    for var, extent in zip(kernel.block_vars, kernel.blocks, strict=True):
        linear_index = linear_index + Cast("int64", var) * step
        step = step * Cast("int64", extent)
    return linear_index


def rng_rand() -> Expr:
    """The next random uint32."""
    return _next_words(1, "T.rng_rand")[0]


def rng_rand_float(bit: int = 32, dist: str = "uniform") -> Expr:
    """A random float32 (``bit=32``) or float64 (64).

    dist "uniform": (k + 1) / 2^24 for the upper 24 bits k of one uint32; for float64 (k + 1) / 2^53 for the upper 53
    of 64 bits, whose high half is drawn first. So 0 is left out and 1 included. "normal": mean 0, variance 1, by
    sqrt(-2 ln u) cos(2 pi v) of two uniform numbers drawn in this order.
    """
    if bit not in (32, 64) or dist not in ("uniform", "normal"):
        raise LanguageError(
            f"T.rng_rand_float(bit={bit}, dist={dist!r}) is not supported",
            expected='bit 32 or 64, and dist "uniform" or "normal"',
        )
    words = _next_words((2 if bit == 64 else 1) * (2 if dist == "normal" else 1), "T.rng_rand_float")
    uniform = [_uniform(words[i : i + bit // 32]) for i in range(0, len(words), bit // 32)]
    if dist == "uniform":
        return uniform[0]
    u, v = (current().bind("uniform", x) for x in uniform)
    kind = f"float{bit}"
    return sqrt(tirx.const(-2.0, kind) * log(u)) * cos(tirx.const(2 * math.pi, kind) * v)


def _uniform(words: list[Expr]) -> Expr:
    if len(words) == 1:
        return Cast("float32", (words[0] >> 8) + 1) * tirx.const(2.0**-24, "float32")
    high, low = (Cast("uint64", word) for word in words)
    bits = ((high << tirx.const(32, "uint64")) | low) >> tirx.const(11, "uint64")
    return Cast("float64", bits + 1) * tirx.const(2.0**-53, "float64")


# -- positions -----------------------------------------------------------------------------------------------


def _next_words(count: int, subject: str) -> list[Expr]:
    """The next ``count`` random words."""
    kernel = open_kernel(subject)
    builder = current()
    state: _State | None = kernel.frame.facts.get("rng")
    if state is None:
        raise LanguageError(f"{subject} is called before T.rng_init", expected="T.rng_init(seed) earlier in the kernel")
    loops = [frame for frame in builder.frames if frame.kind == "loop"]
    outer = next((n for n, frame in enumerate(loops) if frame.facts.get("parallel")), None)
    if outer is None:
        first = builder.bind("rng_at", state.position.expr())
        state.position.store(first + count)
        sequence = state.sequence if state.thread is None else state.sequence + state.thread
    else:
        first = builder.bind("rng_at", _position_in_nest(builder, state, loops[outer:], count, subject))
        sequence = state.sequence
    return [_word(builder, state.key, first + n if n else first, sequence) for n in range(count)]


def _position_in_nest(builder: Builder, state: _State, loops: list[Frame], count: int, subject: str) -> Expr:
    """The position from which an iteration of a T.Parallel nest draws next: the start of the nest, plus the index of
    the iteration times the draws of an iteration, plus the draws before this one."""
    if not all(frame.facts.get("parallel") for frame in loops):
        raise UnsupportedError(
            f"{subject} stands in a loop inside T.Parallel",
            expected="a fixed number of draws in each iteration of T.Parallel",
            hint="make the inner loop an axis of T.Parallel",
        ).at(builder.location)
    iterations: Any = tirx.const(1, "int64")
    linear_index: Any = tirx.const(0, "int64")
    for frame in loops:
        extent = Cast("int64", frame.facts["extent"])
        linear_index = linear_index * extent + Cast("int64", frame.facts["var"])
        iterations = iterations * extent
    draws = state.nests.get(id(loops[0]))
    if draws is None:
        draws = state.nests[id(loops[0])] = _open_nest(builder, state, loops, iterations)
    if draws.innermost is not loops[-1]:
        raise UnsupportedError(
            f"{subject} stands at different depths of a T.Parallel nest", expected="all draws in the innermost body"
        ).at(builder.location)
    position = draws.start + linear_index * draws.per_iteration + draws.count
    draws.count += count
    draws.outside.statements[draws.bind_index] = Bind(
        draws.per_iteration, tirx.const(draws.count, "int64"), span=builder.span
    )
    return position


def _open_nest(builder: Builder, state: _State, loops: list[Frame], iterations: Expr) -> _Draws:
    """Bind the start of a nest and advance the position past it, in the frame that the nest stands in."""
    depth = builder.frames.index(loops[0])
    inner = builder.frames[depth:]
    del builder.frames[depth:]
    try:
        outside = builder.frame
        per_iteration = builder.bind("rng_draws", tirx.const(0, "int64"))
        bind_index = len(outside.statements) - 1
        start = builder.bind("rng_start", state.position.expr())
        state.position.store(start + iterations * per_iteration)
    finally:
        builder.frames.extend(inner)
    return _Draws(loops[-1], outside, bind_index, per_iteration, start)


# -- Philox --------------------------------------------------------------------------------------------------


def _word(builder: Builder, key: tuple[Expr, Expr], position: Expr, sequence: Expr) -> Expr:
    """Word ``position % 4`` of block ``position // 4``."""
    block = position >> tirx.const(2, "int64")
    words = philox(builder, (*_halves(block), *_halves(sequence)), key)
    which = Cast("int32", position & tirx.const(3, "int64"))
    chosen: Any = words[3]
    for index in (2, 1, 0):
        chosen = tirx.Select(as_expr(which == index), words[index], chosen)
    return builder.bind("random", chosen)


def philox(builder: Builder, counter: tuple[Expr, ...], key: tuple[Expr, Expr]) -> list[Expr]:
    """The four uint32 that Philox4x32-10 gives for a counter of four and a key of two uint32."""
    c0, c1, c2, c3 = (builder.bind("c", lane) for lane in counter)
    for round_index in range(_ROUNDS):
        k0, k1 = (k + tirx.const(w * round_index & _MASK, "uint32") for k, w in zip(key, _WEYL, strict=True))
        high0, low0 = _product(builder, c0, _MULTIPLIERS[0])
        high1, low1 = _product(builder, c2, _MULTIPLIERS[1])
        c0, c1 = builder.bind("c", tirx.BitwiseXor(tirx.BitwiseXor(high1, c1), k0)), low1
        c2, c3 = builder.bind("c", tirx.BitwiseXor(tirx.BitwiseXor(high0, c3), k1)), low0
    return [c0, c1, c2, c3]


def _product(builder: Builder, value: Expr, factor: int) -> tuple[Expr, Expr]:
    """High and low half of a product of two uint32."""
    product = builder.bind("product", Cast("uint64", value) * tirx.const(factor, "uint64"))
    high = builder.bind("high", Cast("uint32", product >> tirx.const(32, "uint64")))
    return high, builder.bind("low", Cast("uint32", product))
