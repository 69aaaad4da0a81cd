"""The table of the names that emitted source takes from a backend's header: functions, types and macros.

docs/hooks/header.md is written from it. ``Syntax.function`` and its siblings get these names; a backend whose language
has names of its own translates them there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilecore.codegen.dialect import C_MATH
from tilecore.codegen.moves import HINTS
from tilecore.dtypes import FACTS
from tilecore.ir.thread_calls import (
    ASSUME,
    ATOMIC_ADD,
    ATOMIC_ELEMENT,
    BARRIER,
    BLOCK_VOTE,
    COMMIT_ASYNC,
    COPY_ASYNC,
    DEVICE_ASSERT,
    DIRECTED,
    DIRECTED_MODES,
    DIRECTED_OPERATIONS,
    FENCE,
    MATH_CALLS,
    MEMORY_ORDERS,
    NAMED_BARRIER,
    PRINT,
    QUOTIENT,
    ROUNDED,
    SHUFFLE,
    THREAD_CALLS,
    VOTE,
    WAIT_ASYNC,
    WARP_BARRIER,
)

_OPERANDS = {"fma": "F a, F b, F c", "rcp": "F a", "sqrt": "F a"}  # of the others: F a, F b
_DIRECTIONS = {"rz": "towards zero", "ru": "up", "rd": "down"}
TYPED, SIZED = "typed", "sized"  # forms: one function for each type that it returns, or for each number


@dataclass(frozen=True)
class HeaderName:
    """A name of a backend's header.

    signature: in C++; F stands for float and double, T for any type that the target has. call: of thread IR, for which
    it is emitted; "" for names that serve many. form: TYPED or SIZED for a template, which plain C replaces by a
    function for each type or number. only_c: source in C++ has another construct in its place.
    """

    name: str
    signature: str
    doc: str
    call: str = ""
    form: str = ""
    only_c: bool = False

    def in_c(self) -> str:
        """The name that ``tilecore.codegen.forms.C`` emits."""
        return {TYPED: f"{self.name}_<type>", SIZED: f"{self.name}_<number>"}.get(self.form, self.name)


_BETWEEN_THREADS = (
    HeaderName("tc_barrier", "void tc_barrier()", "All threads of the block wait for one another.", BARRIER),
    HeaderName(
        "tc_named_barrier", "void tc_named_barrier(int number, int threads)", "So many threads wait for one another.",
        NAMED_BARRIER,
    ),
    HeaderName(
        "tc_warp_barrier", "void tc_warp_barrier()", "The threads of a warp wait for one another.", WARP_BARRIER
    ),
)  # fmt: skip
_MEMORY = (
    HeaderName(
        "tc_move", "template <int Bytes> void tc_move(void* to, const void* from)",
        "Moves 2, 4, 8 or 16 bytes, as one access where the device can; both addresses are multiples of `Bytes`.",
        form=SIZED,
    ),
    HeaderName(
        "tc_copy_async", "template <int Bytes> void tc_copy_async(void* to, const void* from, bool valid)",
        "Starts a copy of 4, 8 or 16 bytes to shared memory; zeros where it is not valid. Only with the feature "
        "`copy_async`.", COPY_ASYNC, SIZED,
    ),
    HeaderName(
        "tc_commit_async", "void tc_commit_async()", "The copies that the thread started become one group; without "
        "asynchronous copies nothing.", COMMIT_ASYNC,
    ),
    HeaderName(
        "tc_wait_async", "template <int Groups> void tc_wait_async()", "Waits for all groups of copies but the last "
        "`Groups`; without asynchronous copies nothing.", WAIT_ASYNC, SIZED,
    ),
)  # fmt: skip
_MESSAGES = (
    HeaderName(
        "tc_print", "void tc_print(const char* format, ...)", "Prints as printf does; the numbers are `long long`, "
        "`unsigned long long` or `double`. Only with the feature `print`.", PRINT,
    ),
    HeaderName(
        "tc_assert", "void tc_assert(bool condition, int number, const char* message)", "Notes the number of an "
        "assertion that does not hold, for the launcher. Only with the feature `device_assert`.", DEVICE_ASSERT,
    ),
    HeaderName("tc_assume", "void tc_assume(bool condition)", "The condition holds; it may do nothing.", ASSUME),
)  # fmt: skip
_NUMBERS = (
    HeaderName("TC_INFINITY", "float TC_INFINITY", "A macro: the infinity of float32."),
    HeaderName("TC_NAN", "float TC_NAN", "A macro: a quiet NaN of float32."),
    HeaderName(
        "tc_bits", "template <class To, class From> To tc_bits(From value)", "The bits of a value as another type of "
        "the same size.", "reinterpret", TYPED,
    ),
    HeaderName(
        "tc_truncate", "template <class To, class F> To tc_truncate(F value)", "A float as an integer: towards zero, "
        "saturated, 0 for NaN.", form=TYPED,
    ),
    HeaderName(
        "tc_min", "T tc_min(T a, T b)", "The smaller one: of integers of 32 and 64 bits and of all floats, of which it "
        "is the one that is a number.",
    ),
    HeaderName("tc_max", "T tc_max(T a, T b)", "The larger one, as `tc_min`."),
    HeaderName(
        "tc_abs", "T tc_abs(T value)", "The absolute value: of int, long long, float and double; that of the least "
        "integer is itself.", "abs",
    ),
    HeaderName("tc_divisor", "T tc_divisor(T value)", "The value, and 1 for 0, by which no processor may divide."),
    HeaderName("tc_div", "T tc_div(T a, T b)", "A division of int or long long towards zero, which never traps."),
    HeaderName("tc_mod", "T tc_mod(T a, T b)", "The remainder of `tc_div`."),
    HeaderName("tc_floor_div", "T tc_floor_div(T a, T b)", "A division of int or long long, rounded down."),
    HeaderName(
        "tc_floor_mod", "T tc_floor_mod(T a, T b)", "The remainder of a division rounded down: of int, long long and F."
    ),
    HeaderName(
        "tc_quotient", "float tc_quotient(float a, float b)", "A division by a number that divides many.", QUOTIENT
    ),
    HeaderName("tc_rounded", "F tc_rounded(F value)", "The value; nothing is contracted across it.", ROUNDED),
    *(
        HeaderName(
            f"tc_rounded_{word}", f"F tc_rounded_{word}(F a, F b)", f"`a {symbol} b`, not contracted with operations "
            "around it.", ROUNDED,
        )
        for word, symbol in (("add", "+"), ("sub", "-"), ("mul", "*"))
    ),
    *(
        HeaderName(
            f"tc_{operation}_{mode}", f"F tc_{operation}_{mode}({_OPERANDS.get(operation, 'F a, F b')})",
            f"The operation rounded {_DIRECTIONS[mode]}, for targets with the feature `directed_rounding`.", DIRECTED,
        )
        for operation in DIRECTED_OPERATIONS for mode in DIRECTED_MODES
    ),
    HeaderName("tc_isnan", "bool tc_isnan(F value)", "Is it not a number?", "isnan"),
    HeaderName("tc_isinf", "bool tc_isinf(F value)", "Is it an infinity?", "isinf"),
    HeaderName("tc_isfinite", "bool tc_isfinite(F value)", "Is it neither?", "isfinite"),
    HeaderName(
        "tc_popcount", "int tc_popcount(unsigned value)", "The number of bits that are 1; of unsigned long long, too.",
        "popcount",
    ),
    HeaderName(
        "tc_clz", "int tc_clz(unsigned value)", "The number of leading bits that are 0; of unsigned long long, too.",
        "clz",
    ),
    HeaderName(
        "tc_fma", "T tc_fma(T a, T b, T c)", "`a * b + c`, rounded once: of F, and of float16 and bfloat16 where the "
        "target has them.", "fma",
    ),
    HeaderName("tc_ldexp", "F tc_ldexp(F value, int power)", "The value times 2 to the power.", "ldexp"),
    HeaderName(
        "tc_nextafter", "T tc_nextafter(T value, T towards)", "The next float: of F and of the narrow floats that the "
        "target has.", "nextafter",
    ),
)  # fmt: skip


_KINDS = {  # what the kinds of shuffles and votes mean
    "idx": "that of number `lane` in its part of `width` lanes",
    "xor": "that of its own number xor `lane`",
    "up": "`lane` lanes before, the own value where that is outside of its part",
    "down": "`lane` lanes behind, the own value where that is outside of its part",
    "any": "does any predicate hold?",
    "all": "do all predicates hold?",
    "ballot": "a bit for each thread, the first one lowest",
    "count": "how many predicates hold",
}


def _families() -> Iterator[HeaderName]:
    """The names that end in a word: one for each choice that a call of thread IR has."""
    for scope in _choices(FENCE, "scope"):
        yield HeaderName(
            f"tc_fence_{scope}", f"void tc_fence_{scope}()",
            f"Orders this thread's writes as the threads of its {scope} see them.", FENCE,
        )  # fmt: skip
    for kind in _choices(SHUFFLE, "kind"):
        signature = f"T tc_shuffle_{kind}(T value, int lane, int width)"
        yield HeaderName(f"tc_shuffle_{kind}", signature, f"The value of another lane: {_KINDS[kind]}.", SHUFFLE)
    for kind in _choices(VOTE, "kind"):
        result = "unsigned" if kind == "ballot" else "bool"
        yield HeaderName(
            f"tc_vote_{kind}", f"{result} tc_vote_{kind}(bool predicate)", f"Of 32 threads: {_KINDS[kind]}.", VOTE
        )
    for kind in _choices(BLOCK_VOTE, "kind"):
        result, doc = "int" if kind == "count" else "bool", f"Of the block's threads, with a barrier: {_KINDS[kind]}."
        yield HeaderName(f"tc_block_vote_{kind}", f"{result} tc_block_vote_{kind}(bool predicate)", doc, BLOCK_VOTE)
    for hint in HINTS:
        for word in ("load", "store"):
            name, doc = f"tc_{word}_{hint}", f"As `tc_move`, of 1 byte or more, with a hint for the {word}: `{hint}`."
            yield HeaderName(name, f"template <int Bytes> void {name}(void* to, const void* from)", doc, form=SIZED)
    for kind in _choices(ATOMIC_ELEMENT, "kind"):
        yield _atomic(kind)
    for count in (2, 4):
        name = f"tc_atomic_add_x{count}"
        signature = f"void {name}(T* first, const T* values, tc_order order = tc_relaxed)"
        yield HeaderName(name, signature, f"Adds {count} neighbours; each addition is atomic.", ATOMIC_ADD)


def _choices(call: str, argument: str) -> tuple[str, ...]:
    return next(a.choices for a in THREAD_CALLS[call].arguments if a.name == argument)


def _atomic(kind: str) -> HeaderName:
    operands = {"cas": "T expected, T value, ", "load": ""}.get(kind, "T value, ")
    result, place = "void" if kind == "store" else "T", "const T*" if kind == "load" else "T*"
    signature = f"{result} tc_atomic_{kind}({place} element, {operands}tc_order order = tc_relaxed)"
    doc = "Stores the value." if kind == "store" else "One atomic operation; the element's value before."
    return HeaderName(f"tc_atomic_{kind}", signature, doc, ATOMIC_ELEMENT)


def _orders() -> Iterator[HeaderName]:
    yield HeaderName("tc_order", "enum tc_order", "The memory order of an atomic operation.")
    for order in MEMORY_ORDERS:
        if order == "relaxed":
            yield HeaderName("tc_relaxed", "tc_order tc_relaxed", "The default: emitted source leaves it out.")
        elif order != "consume":  # which is emitted as tc_acquire
            yield HeaderName(f"tc_{order}", f"tc_order tc_{order}", "A memory order.")


def _mathematics() -> Iterator[HeaderName]:
    calls = {call.name: call for call in MATH_CALLS}
    listed = {entry.name for entry in _NUMBERS}
    for word, functions in C_MATH.items():
        for function in functions:
            if function not in listed:
                listed.add(function)
                parameters = ", ".join(f"F {argument.name}" for argument in calls[word].arguments)
                yield HeaderName(function, f"F {function}({parameters})", calls[word].doc, word)


def _narrow_floats() -> Iterator[HeaderName]:
    for dtype, facts in FACTS.items():
        if facts.c.startswith("tc_"):
            kind = facts.c
            yield HeaderName(
                kind, f"struct {kind}", f"The type {dtype}, where the target has it: `({kind})x` from any number, "
                f"`(float)x`, `{kind}::from_bits(bits)`, `+ - * /` and comparisons.",
            )  # fmt: skip
            yield HeaderName(
                f"{kind}_from", f"{kind} {kind}_from(T value)", f"A number as {dtype}, rounded once.", only_c=True
            )
            yield HeaderName(f"{kind}_bits", f"{kind} {kind}_bits(bits)", f"A {dtype} from its bits.", only_c=True)
    yield HeaderName("tc_single", "float tc_single(T value)", "A narrow float as a float.", only_c=True)


GROUPS: Mapping[str, tuple[HeaderName, ...]] = {  # all names by the titles of their groups
    "Between threads": tuple(
        entry
        for entry in (*_BETWEEN_THREADS, *_families())
        if not entry.name.startswith(("tc_atomic", "tc_load", "tc_store"))
    ),
    "Memory": (*_MEMORY, *(entry for entry in _families() if entry.name.startswith(("tc_load", "tc_store")))),
    "Atomic operations": (*_orders(), *(entry for entry in _families() if entry.name.startswith("tc_atomic"))),
    "Messages": _MESSAGES,
    "Numbers": _NUMBERS,
    "Functions of floats": tuple(_mathematics()),
    "Floats of fewer than 32 bits": tuple(_narrow_floats()),
}
HEADER_NAMES: Mapping[str, HeaderName] = {  # all names
    entry.name: entry for group in GROUPS.values() for entry in group
}


def entry_of(name: str) -> HeaderName | None:
    """The entry of a name that stands in emitted source, which plain C may end in a type or a number; None without."""
    if name in HEADER_NAMES:
        return HEADER_NAMES[name]
    stem, _, ending = name.rpartition("_")
    entry = HEADER_NAMES.get(stem)
    endings = {SIZED: r"\d+", TYPED: "|".join(FACTS)}
    return entry if entry is not None and entry.form and re.fullmatch(endings[entry.form], ending) else None
