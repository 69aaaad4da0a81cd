"""Random numbers: T.rng_init, T.rng_rand, T.rng_rand_float.

A number depends on the generator, the seed, the sequence and its position in the sequence only, and integers and
uniform numbers are the same bit for bit on every target: those of cuRAND's device API (integers of all generators;
floats of XORWOW and MRG32k3a). Philox (philox.py) computes a number from its position. The others (recurrences.py)
compute it from the one before it, and skip numbers where positions are not in a row.

Outside T.Parallel a draw takes the next position of its thread. In T.Parallel, iteration L of the nest (counted row by
row) that draws K times takes positions start + L * K to start + L * K + K - 1, whether or not a condition skips some;
after the nest the position has moved on by K for every iteration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, UnsupportedError
from tilecore.ir.build import constant
from tilecore.ir.nodes import Bind, Cast, Expr, IntImm, Var, tirx
from tilecore.language.kernel import Kernel, open_kernel
from tilecore.language.memory import alloc_var
from tilecore.language.numeric import cos, log, sin, sqrt
from tilecore.language.philox import halves, word
from tilecore.language.recurrences import GENERATORS, Recurrence, State, begin, variables
from tilecore.language.threads import thread_number
from tilecore.language.values import as_expr
from tilecore.tracing.current import current

if TYPE_CHECKING:
    from tilecore.language.buffers import LocalVar
    from tilecore.tracing.builder import Builder, Frame

_MOST_DRAWS = 64  # in an iteration of T.Parallel, of a generator that skips numbers


@dataclass
class _Draws:
    """The draws of one T.Parallel nest.

    outermost, innermost: the frames of its loops; while the first is held, no other frame has its id. outside: the
    frame that the nest stands in, whose statement at ``bind_index`` binds ``per_iteration``, the number of draws of an
    iteration. start: the position from which the nest draws. count: the draws of an iteration that have been built.
    state: that of a recurrence at the start of the nest. bits: of the number of all draws of the nest.
    """

    outermost: Frame
    innermost: Frame
    outside: Frame
    bind_index: int
    per_iteration: Var
    start: Var
    count: int = 0
    state: State = field(default_factory=list)
    bits: int = 0


@dataclass
class _State:
    """The generators of a kernel's threads.

    key: the seed as two uint32, low half first. sequence: the index of the sequence; outside T.Parallel ``thread``, if
    it is not None, is added. position: the next position of the thread. nests: the draws of each T.Parallel nest, by
    the id of its outermost frame. recurrence: the generator, None for Philox. states: its states at the thread's
    position, of the thread's sequence and, last, of the one for T.Parallel.
    """

    key: tuple[Expr, Expr]
    sequence: Expr
    thread: Expr | None
    position: LocalVar
    nests: dict[int, _Draws] = field(default_factory=dict)
    recurrence: Recurrence | None = None
    states: list[State] = field(default_factory=list)


def rng_init(seed: Any, seq: Any = None, off: Any = 0, generator: str = "philox4x32_10") -> None:
    """Start the generator of each thread: the sequence ``seq`` of ``seed``, from position ``off``.

    seed, seq, off: integers of up to 64 bits; off, and seq for the generators other than Philox, not negative where
    they are values of the kernel. seq None: the index of the block times the threads of a block, plus the index of the
    thread; in T.Parallel, whose iterations belong to no thread, the index of the thread is left out. Every T.Kernel
    starts its own. generator: a name with "philox" in it, "curandStateXORWOW_t" or "curandStateMRG32k3a_t"; others
    raise UnsupportedError.
    """
    kernel = open_kernel("T.rng_init")
    builder = current()
    recurrence = _generator(builder, generator)
    if any(frame.facts.get("parallel") for frame in builder.frames):
        raise LanguageError("T.rng_init stands in T.Parallel", hint="start the generator once, before the loop")
    low, high = halves(_wide(seed))
    thread = None
    if seq is None:
        threads = math.prod(kernel.threads)
        seq, thread = _block_index(kernel) * threads, _wide(thread_number(kernel))
    position = alloc_var("int64")
    position.name_once(builder, "rng_position")
    position.store(Cast("int64", as_expr(off)))
    key = (builder.bind("rng_key", low), builder.bind("rng_key", high))
    state = _State(key, builder.bind("rng_sequence", _wide(seq)), thread, position, recurrence=recurrence)
    if recurrence is not None:
        sequences = [state.sequence + thread, state.sequence] if thread is not None else [seq]
        of_index = (math.prod(kernel.threads) * math.prod(kernel.blocks)).bit_length() if _is_fixed(kernel) else 63
        for sequence in sequences:
            counted = (Cast("uint64", sequence), of_index) if thread is not None else _counted(sequence)
            state.states.append(begin(builder, recurrence, key, counted, _counted(off)))
    kernel.frame.facts["rng"] = state


def _generator(builder: Builder, name: Any) -> Recurrence | None:
    """The recurrence of a name; None for Philox."""
    if "philox" in str(name).lower():
        return None
    if str(name) in GENERATORS:
        return GENERATORS[str(name)]
    expected = "Philox4x32-10 (a name with philox in it), " + ", ".join(sorted(GENERATORS))
    raise UnsupportedError(f"T.rng_init: generator {name!r} is unknown", expected=expected).at(builder.location)


def _is_fixed(kernel: Kernel) -> bool:
    return all(isinstance(extent, int) for extent in kernel.blocks)


def _counted(value: Any) -> tuple[Any, int]:
    """An integer that is not negative, as a Python integer or a uint64, and the number of its bits."""
    if isinstance(value, int):
        return value % 2**64, (value % 2**64).bit_length()
    expression = as_expr(value)
    if isinstance(expression, IntImm):
        return _counted(int(expression.value))
    kind = DType(str(expression.ty.dtype)).facts
    return Cast("uint64", expression), kind.bits - (kind.kind == "int")


def _wide(value: Any) -> Expr:
    """An integer as an int64 of the same low 64 bits."""
    if isinstance(value, int):
        value &= 2**64 - 1
        return tirx.const(value - 2**64 if value >= 2**63 else value, "int64")
    return Cast("int64", as_expr(value))


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
    recurrence = _state("T.rng_rand").recurrence
    (draw,) = _next_words(1, "T.rng_rand")
    return draw if recurrence is None else recurrence.integer(draw)


def rng_rand_float(bit: int = 32, dist: str = "uniform") -> Expr:
    """A random float32 (``bit=32``) or float64 (64).

    Philox: dist "uniform": (k + 1) / 2^24 for the upper 24 bits k of one uint32; for float64 (k + 1) / 2^53 for the
    upper 53 of 64 bits, whose high half is drawn first. So 0 is left out and 1 included. "normal": mean 0, variance 1,
    by sqrt(-2 ln u) cos(2 pi v) of two uniform numbers drawn in this order. XORWOW and MRG32k3a: the uniform numbers of
    cuRAND, and "normal" is the first of a pair of its normal numbers, sqrt(-2 ln u) sin(2 pi v); it takes two.
    """
    if bit not in (32, 64) or dist not in ("uniform", "normal"):
        raise LanguageError(
            f"T.rng_rand_float(bit={bit}, dist={dist!r}) is not supported",
            expected='bit 32 or 64, and dist "uniform" or "normal"',
        )
    recurrence = _state("T.rng_rand_float").recurrence
    halves_of_double = 2 if recurrence is None else recurrence.halves_of_double
    size = halves_of_double if bit == 64 else 1
    words = _next_words(size * (2 if dist == "normal" else 1), "T.rng_rand_float")
    parts = [words[i : i + size] for i in range(0, len(words), size)]
    uniform = [_uniform(part) if recurrence is None else recurrence.uniform(part, bit) for part in parts]
    if dist == "uniform":
        return uniform[0]
    u, v = (current().bind("uniform", x) for x in uniform)
    kind = f"float{bit}"
    wave = cos if recurrence is None else sin
    return sqrt(tirx.const(-2.0, kind) * log(u)) * wave(tirx.const(2 * math.pi, kind) * v)


def _uniform(words: list[Expr]) -> Expr:
    if len(words) == 1:
        return Cast("float32", (words[0] >> 8) + 1) * tirx.const(2.0**-24, "float32")
    high, low = (Cast("uint64", word) for word in words)
    bits = ((high << tirx.const(32, "uint64")) | low) >> tirx.const(11, "uint64")
    return Cast("float64", bits + 1) * tirx.const(2.0**-53, "float64")


# -- positions -----------------------------------------------------------------------------------------------


def _state(subject: str) -> _State:
    """The generators of the kernel that is being built."""
    state: _State | None = open_kernel(subject).frame.facts.get("rng")
    if state is None:
        raise LanguageError(f"{subject} is called before T.rng_init", expected="T.rng_init(seed) earlier in the kernel")
    return state


def _next_words(count: int, subject: str) -> list[Expr]:
    """The next ``count`` draws."""
    builder, state = current(), _state(subject)
    loops = [frame for frame in builder.frames if frame.kind == "loop"]
    outer = next((n for n, frame in enumerate(loops) if frame.facts.get("parallel")), None)
    recurrence = state.recurrence
    if outer is None:
        first = builder.bind("rng_at", state.position.expr())
        state.position.store(first + count)
        if recurrence is not None:
            draws = [[recurrence.draw(builder, numbers) for _ in range(count)] for numbers in state.states]
            return draws[0]
        sequence = state.sequence if state.thread is None else state.sequence + state.thread
    else:
        first = builder.bind("rng_at", _position_in_nest(builder, state, loops[outer:], count, subject))
        nest = state.nests[id(loops[outer])]
        if recurrence is not None:
            numbers = variables(builder, [variable.place() for variable in nest.state])
            skipped = builder.bind("rng_skipped", Cast("uint64", first - nest.start))
            recurrence.jump(builder, numbers, skipped, nest.bits)
            return [recurrence.draw(builder, numbers) for _ in range(count)]
        sequence = state.sequence
    return [word(builder, state.key, first + n if n else first, sequence) for n in range(count)]


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
    if state.recurrence is not None and draws.count > _MOST_DRAWS:
        raise UnsupportedError(
            f"{subject}: an iteration of T.Parallel draws more than {_MOST_DRAWS} numbers of {state.recurrence.name}",
            expected="fewer draws in an iteration, or the generator Philox",
        ).at(builder.location)
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
        draws = _Draws(loops[0], loops[-1], outside, bind_index, per_iteration, start)
        if state.recurrence is not None:
            draws.bits = _bits_of_nest(loops)
            draws.state = variables(builder, [variable.place() for variable in state.states[-1]])
            for numbers in state.states:
                total = builder.bind("rng_skipped", Cast("uint64", iterations * per_iteration))
                state.recurrence.jump(builder, numbers, total, draws.bits)
    finally:
        builder.frames.extend(inner)
    return draws


def _bits_of_nest(loops: list[Frame]) -> int:
    """The bits of the number of draws of a nest, with up to 2^6 draws in an iteration."""
    extents = [constant(as_expr(frame.facts["extent"])) for frame in loops]
    numbers = [extent for extent in extents if extent is not None]
    return min(63, (math.prod(numbers) << 6).bit_length() + 31 * (len(extents) - len(numbers)))
