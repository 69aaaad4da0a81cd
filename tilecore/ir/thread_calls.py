"""The table of calls in thread IR: one row states all facts about a call. Importing it does not import TVM.

docs/thread-ir.md has the same rows. ``thread_ops.py`` registers the calls of the SIMT family, ``simt.*``, and
builds them. Besides the calls of this table, thread IR has only calls of a backend's own, ``<kind>.*``, which the
backend's passes write and its code generator emits.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilecore.ir.names import MEMORY_ORDERS

SIMT = "simt."  # the namespace of the calls that the SIMT family registers

BARRIER = "simt.barrier"
NAMED_BARRIER = "simt.named_barrier"
WARP_BARRIER = "simt.warp_barrier"
FENCE = "simt.fence"
SHUFFLE = "simt.shuffle"
VOTE = "simt.vote"
BLOCK_VOTE = "simt.block_vote"
COPY_ASYNC = "simt.copy_async"
COMMIT_ASYNC = "simt.commit_async"
WAIT_ASYNC = "simt.wait_async"
ATOMIC_ADD = "simt.atomic_add"
QUOTIENT = "simt.quotient"
ATOMIC_ELEMENT = "tile.atomic_element"
PRINT = "tile.print"
DEVICE_ASSERT = "tile.device_assert"
ASSUME = "tile.assume"
ANNOTATE = "tile.annotate"
ROUNDED = "tile.rounded"
DIRECTED = "tile.directed"
ADDRESS = "tile.address"

SAME_TYPE = "type of {}"  # the type of this argument, of a result or of another argument
# words for several element types, with the kinds of numbers that they stand for (tilecore/dtypes.py)
TYPE_WORDS = {"a float": ("float",), "an integer": ("int", "uint"), "a number": ("float", "int", "uint")}


def argument_of_same_type(words: str) -> str:
    """The argument whose type ``words``, such as ``type of value``, stand for; "" for other words."""
    before, _, _ = SAME_TYPE.partition("{}")
    return words.removeprefix(before) if words.startswith(before) else ""


@dataclass(frozen=True)
class Argument:
    """An argument of a call.

    kind: ``value`` (a scalar expression), ``element`` (a load, or an ``address_of`` of one: the call takes the
    element's address and does not read it first), ``int`` and ``str`` (constants), ``buffer``. A last ``value*`` takes
    the rest.
    choices: the constants that may stand there; empty for any.
    dtype: the element type of a ``value``: its name, a word of TYPE_WORDS, or ``type of x`` for that of the argument x;
    "" for any.
    """

    name: str
    kind: str
    meaning: str
    choices: tuple[str, ...] = ()
    dtype: str = ""


@dataclass(frozen=True)
class ThreadCall:
    """The facts about a call in thread IR.

    name: as ``op_name`` returns it: TVM's own calls without their namespace. result: the element type of its value,
    ``type of x`` for that of its argument x, "" for a call without a value, which stands alone in an Evaluate.
    doc: what it does.
    reads, writes: the arguments of kind ``element`` whose memory it accesses. atomic: in one step that no other thread
    interrupts.
    waits_for: the threads that wait for one another here, and then see what the others wrote: "block", "range" (of the
    block's threads), "warp"; "copies": this thread waits for copies of its own.
    pure: it does nothing besides giving a value.
    from_core: passes of the core write it; the others are for passes of backends.
    """

    name: str
    arguments: tuple[Argument, ...]
    result: str
    doc: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    atomic: bool = False
    waits_for: str = ""
    pure: bool = False
    from_core: bool = True

    @property
    def is_simt(self) -> bool:
        """Is it one of the calls that the SIMT family registers?"""
        return self.name.startswith(SIMT)

    def signature(self) -> str:
        """``name(argument, argument)``, as documents write it."""
        words = (f"*{argument.name}" if argument.kind.endswith("*") else argument.name for argument in self.arguments)
        return f"{self.name}({', '.join(words)})"


DIRECTED_MODES = ("rz", "ru", "rd")  # towards zero, up, down
DIRECTED_OPERATIONS = ("add", "sub", "mul", "fma", "div", "rcp", "sqrt")
_ATOMIC_KINDS = ("add", "max", "min", "and", "or", "xor", "exchange", "cas", "load", "store")

_BETWEEN_THREADS = (
    ThreadCall(
        BARRIER, (), "", "All threads of the block wait for one another. What each of them wrote to shared and global "
        "memory before, all see after.", waits_for="block",
    ),
    ThreadCall(
        NAMED_BARRIER,
        (
            Argument("number", "value", "which barrier: 1 to 15; 0 is that of the block", dtype="an integer"),
            Argument("threads", "value", "how many threads wait at it: a multiple of the warp", dtype="an integer"),
        ),
        "",
        "The threads that name this number wait for one another, as at `simt.barrier`.",
        waits_for="range",
    ),
    ThreadCall(
        WARP_BARRIER, (), "", "The threads of the warp wait for one another, and see what the others wrote.",
        waits_for="warp", from_core=False,
    ),
    ThreadCall(
        FENCE,
        (Argument("scope", "str", "the threads that see the writes in their order", ("block", "device")),),
        "",
        "Other threads see what this thread wrote before earlier than what it writes after. No thread waits.",
        from_core=False,
    ),
    ThreadCall(
        SHUFFLE,
        (
            Argument("value", "value", "what this thread offers: 2, 4 or 8 bytes"),
            Argument("lane", "value", "the lane, the mask or the distance, by kind", dtype="int32"),
            Argument("kind", "str", "how lane names the other thread", ("idx", "xor", "up", "down")),
            Argument(
                "width", "value", "the warp is cut into parts of so many lanes: a power of two up to the warp",
                dtype="an integer",
            ),
        ),
        SAME_TYPE.format("value"),
        "The value that another lane of the warp offers: lane `lane` of the part (idx), the own number xor `lane`, "
        "`lane` before (up) or behind (down); a lane whose source would be outside of its part keeps its own value for "
        "up and down. All lanes of the warp take part.",
    ),
    ThreadCall(
        VOTE,
        (
            Argument("predicate", "value", "", dtype="bool"),
            Argument("kind", "str", "how the predicates become one value", ("any", "all", "ballot")),
        ),
        "bool; for ballot uint32",
        "The predicates of 32 neighbouring threads, a warp of the language, which may be half a warp of the target: "
        "holds any, hold all, or a bit for each thread, the first lowest.",
    ),
    ThreadCall(
        BLOCK_VOTE,
        (
            Argument("predicate", "value", "", dtype="bool"),
            Argument("kind", "str", "how the predicates become one value", ("any", "all", "count")),
        ),
        "bool; for count int32",
        "The predicates of all threads of the block, as one value. It is a `simt.barrier`, too.",
        waits_for="block",
        from_core=False,
    ),
)  # fmt: skip

_MEMORY = (
    ThreadCall(
        COPY_ASYNC,
        (
            Argument("target", "element", "first element in shared memory, at a multiple of size"),
            Argument("source", "element", "first element in global memory, at a multiple of size"),
            Argument("size", "int", "bytes", ("4", "8", "16")),
            Argument(
                "valid", "value", "where it is false, zeros are written and the source is not read", dtype="bool"
            ),
        ),
        "",
        "Starts a copy from global to shared memory. Only on targets with the feature `copy_async`.",
        reads=("source",),
        writes=("target",),
    ),
    ThreadCall(
        COMMIT_ASYNC, (), "", "The copies that this thread started since its last commit become one group. Without "
        "`simt.copy_async` it does nothing.",
    ),
    ThreadCall(
        WAIT_ASYNC,
        (Argument("groups", "int", "how many groups, the last ones, may still be in flight"),),
        "",
        "This thread waits until all other groups of its copies have landed; a barrier after it makes them visible to "
        "other threads. Without `simt.copy_async` it does nothing.",
        waits_for="copies",
    ),
    ThreadCall(
        ATOMIC_ADD,
        (
            Argument("element", "element", "first element in global memory, at a multiple of count elements"),
            Argument("value", "element", "first of the registers that are added"),
            Argument("count", "int", "neighbours", ("2", "4")),
            Argument("order", "str", "memory order of each addition", MEMORY_ORDERS),
        ),
        "",
        "Adds each register to its element. Each addition is atomic by itself. The elements are float32 (2 or 4), "
        "float16 or bfloat16 (2).",
        reads=("element", "value"),
        writes=("element",),
        atomic=True,
    ),
    ThreadCall(
        ATOMIC_ELEMENT,
        (
            Argument("element", "element", "in global or shared memory"),
            Argument("value", "value", "the operand; 0 for a load", dtype=SAME_TYPE.format("element")),
            Argument("kind", "str", "the operation", _ATOMIC_KINDS),
            Argument("order", "str", "memory order", MEMORY_ORDERS),
            Argument(
                "compare", "value*", "one, for cas: value is stored only where the element equals it",
                dtype=SAME_TYPE.format("element"),
            ),
        ),
        SAME_TYPE.format("element"),
        "One atomic operation; its value is the element's value before. It may stand alone, too.",
        reads=("element",),
        writes=("element",),
        atomic=True,
    ),
    ThreadCall(
        ADDRESS,
        (
            Argument("element", "element", "the first element that the function accesses"),
            Argument("access", "str", "what the function does with it and with others of its buffer", ("r", "w", "rw")),
        ),
        "handle",
        "A pointer, as an argument of `call_extern`.",
        pure=True,
    ),
    ThreadCall(
        "address_of",
        (Argument("element", "value", "a load"),),
        "handle",
        "The address of an element, where another call of this table takes an element.",
        pure=True,
    ),
    ThreadCall(
        "buffer_data", (Argument("buffer", "buffer", ""),), "handle", "The memory of a buffer: only in a DeclBuffer.",
        pure=True,
    ),
)  # fmt: skip

_MESSAGES = (
    ThreadCall(
        PRINT,
        (
            Argument("message", "str", "text in front of the values"),
            Argument("values", "value*", "scalars"),
        ),
        "",
        "Prints a line: the message, a colon and the values. The attribute `places` of the call is the number of first "
        "values that stand in the message's `{}` instead.",
    ),
    ThreadCall(
        DEVICE_ASSERT,
        (Argument("condition", "value", "", dtype="bool"), Argument("message", "str", "what failed")),
        "",
        "The launch fails with the message where the condition does not hold. Assertions have numbers, from 1 on in "
        "the order in which they stand.",
    ),
    ThreadCall(
        ASSUME,
        (Argument("condition", "value", "", dtype="bool"),),
        "",
        "The condition holds here, for compilers that use it. It may be ignored.",
    ),
    ThreadCall(
        ANNOTATE,
        (Argument("key", "str", "the hint's name"), Argument("values", "value*", "its values")),
        "",
        "A hint. It may be ignored.",
    ),
    ThreadCall(
        "call_extern",
        (
            Argument("name", "str", "a function of the user's own source text"),
            Argument("arguments", "value*", "scalars and `tile.address`"),
        ),
        "any, or none",
        "Calls the function, on targets whose source the user may extend (T.import_source).",
    ),
    ThreadCall(
        "call_pure_extern",
        (
            Argument("name", "str", "a function of the user's own source text"),
            Argument("arguments", "value*", "scalars"),
        ),
        "any",
        "As `call_extern`, of a function that only computes a value.",
        pure=True,
    ),
)  # fmt: skip

_X = Argument("value", "value", "", dtype="a number")
_FLOAT = Argument("value", "value", "", dtype="a float")
_INTEGER = Argument("value", "value", "of 8 bits or more", dtype="an integer")
_OF_VALUE = SAME_TYPE.format("value")


def _pure(name: str, arguments: tuple[Argument, ...], result: str, doc: str) -> ThreadCall:
    return ThreadCall(name, arguments, result, doc, pure=True)


_VALUES = (
    _pure(
        "if_then_else",
        (
            Argument("condition", "value", "", dtype="bool"),
            Argument("yes", "value", "the value where it holds"),
            Argument("no", "value", "the value elsewhere", dtype=SAME_TYPE.format("yes")),
        ),
        SAME_TYPE.format("yes"),
        "One of two values. Only the one chosen is evaluated: the other one may read outside of a buffer.",
    ),
    _pure("likely", (Argument("condition", "value", "", dtype="bool"),), "bool", "The condition, which mostly holds."),
    _pure("reinterpret", (_X,), "of the same size", "The bits of the value as another type."),
    _pure(
        ROUNDED, (_X,), _OF_VALUE, "The value, rounded to its type as it stands: not part of a fused multiply-add with "
        "the operations around it.",
    ),
    _pure(
        DIRECTED,
        (
            Argument("mode", "str", "the rounding: towards zero, up or down", DIRECTED_MODES),
            Argument("operation", "str", "rcp: 1 / value", DIRECTED_OPERATIONS),
            Argument("value", "value", "float32 or float64", dtype="a float"),
            Argument("others", "value*", "the operation's other operands", dtype=SAME_TYPE.format("value")),
        ),
        _OF_VALUE,
        "The operation, rounded once in this mode. Only for targets with the feature `directed_rounding`.",
    ),
    _pure(
        QUOTIENT,
        (
            Argument("a", "value", "", dtype="float32"),
            Argument("b", "value", "which divides many numbers", dtype="float32"),
        ),
        "float32",
        "`a / b`, rounded as a division is: a backend may compute the reciprocal of b once, or just divide.",
    ),
    _pure("isnan", (_X,), "bool", "Is it not a number? False for integers."),
    _pure("isinf", (_X,), "bool", "Is it an infinity? False for integers."),
    _pure("isfinite", (_X,), "bool", "Is it neither NaN nor an infinity? True for integers."),
    _pure("abs", (_X,), _OF_VALUE, "The absolute value; that of the least integer is itself."),
    _pure("fabs", (_FLOAT,), _OF_VALUE, "The absolute value."),
    _pure(
        "fma",
        (
            Argument("a", "value", "", dtype="a float"),
            Argument("b", "value", "", dtype=SAME_TYPE.format("a")),
            Argument("c", "value", "", dtype=SAME_TYPE.format("a")),
        ),
        SAME_TYPE.format("a"),
        "`a * b + c`, rounded once.",
    ),
    _pure(
        "ldexp", (_FLOAT, Argument("power", "value", "a whole number, of any type", dtype="a number")), _OF_VALUE,
        "`value * 2 ** power`.",
    ),
    _pure(
        "nextafter", (_FLOAT, Argument("towards", "value", "", dtype=_OF_VALUE)), _OF_VALUE,
        "The next number of the type on the way to `towards`.",
    ),
    _pure("popcount", (_INTEGER,), "an integer", "The number of bits that are set, of the type's own bits."),
    _pure("ctpop", (_INTEGER,), "an integer", "As `popcount`."),
    _pure("clz", (_INTEGER,), "an integer", "The number of highest bits that are 0; all of them for 0."),
)  # fmt: skip

_FUNCTIONS_OF_ONE = {
    "exp": "Euler's number to the power of the value",
    "exp2": "2 to the power of the value",
    "exp10": "10 to the power of the value",
    "log": "natural logarithm",
    "log2": "logarithm to base 2",
    "log10": "logarithm to base 10",
    "log1p": "natural logarithm of 1 + the value",
    "sin": "sine",
    "cos": "cosine",
    "tan": "tangent",
    "asin": "inverse sine",
    "acos": "inverse cosine",
    "atan": "inverse tangent",
    "sinh": "hyperbolic sine",
    "cosh": "hyperbolic cosine",
    "tanh": "hyperbolic tangent",
    "asinh": "inverse hyperbolic sine",
    "acosh": "inverse hyperbolic cosine",
    "atanh": "inverse hyperbolic tangent",
    "erf": "error function",
    "sqrt": "square root, correctly rounded",
    "rsqrt": "1 / square root",
    "sigmoid": "1 / (1 + exp(-value))",
    "floor": "largest integer that is not larger",
    "ceil": "smallest integer that is not smaller",
    "trunc": "the integer part",
    "round": "nearest integer; of two the even one",
    "nearbyint": "nearest integer; of two the even one",
}
_FUNCTIONS_OF_TWO = {
    "pow": "operand `a` to the power of operand `b`",
    "atan2": "the angle of the point (b, a)",
    "fmod": "remainder of the division rounded towards zero",
    "hypot": "square root of a * a + b * b",
    "copysign": "operand `a` with the sign of operand `b`",
}
_TWO = (
    Argument("a", "value", "", dtype="a float"),
    Argument("b", "value", "", dtype=SAME_TYPE.format("a")),
)
# functions of floats, with the name of the language: a Dialect's ``math`` has them
MATH_CALLS = tuple(
    [_pure(name, (_FLOAT,), _OF_VALUE, f"{doc[0].upper()}{doc[1:]}.") for name, doc in _FUNCTIONS_OF_ONE.items()]
    + [
        _pure(name, _TWO, SAME_TYPE.format("a"), f"{doc[0].upper()}{doc[1:]}.")
        for name, doc in _FUNCTIONS_OF_TWO.items()
    ]
)

# every call of thread IR, by its name
THREAD_CALLS: dict[str, ThreadCall] = {
    call.name: call for call in (*_BETWEEN_THREADS, *_MEMORY, *_MESSAGES, *_VALUES, *MATH_CALLS)
}
