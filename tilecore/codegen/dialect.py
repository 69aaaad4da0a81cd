"""The description of a backend's C-like language: the tables by which thread IR is emitted as source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.codegen.forms import CPP, Forms
from tilecore.dtypes import FACTS

if TYPE_CHECKING:
    from tilecore.codegen.expressions import Expressions
    from tilecore.codegen.statements import Statements
    from tilecore.codegen.text import Text

C_TYPES: Mapping[str, str] = {name: facts.c for name, facts in FACTS.items()}  # the type of each element type in C

# function of the language -> the functions of float32 and of float64; the narrower floats go through float32
C_MATH: Mapping[str, tuple[str, str]] = {  # the functions of float and double in C, by the calls of thread IR
    name: (f"tc_{name}", f"tc_{name}")
    for name in (
        "exp exp2 exp10 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf sqrt "
        "rsqrt floor ceil trunc nearbyint pow atan2 fmod hypot copysign fma sigmoid ldexp nextafter"
    ).split()
} | {
    "round": ("tc_nearbyint", "tc_nearbyint"),  # halves go to the even number
    "fabs": ("tc_abs", "tc_abs"),
}


@dataclass(frozen=True)
class KernelHead:
    """What stands in front of a kernel's body.

    parameters: (type, name) in order; buffers end in ``*``, with ``const`` when they are only read.
    threads: of a block along x, y, z. cluster: blocks of a cluster along x, y, z. min_blocks: 0 when nothing is asked.
    launch: what the backend's passes left for its launcher.
    """

    symbol: str
    parameters: Sequence[tuple[str, str]]
    threads: tuple[int, int, int]
    min_blocks: int = 0
    cluster: tuple[int, int, int] = (1, 1, 1)
    launch: Mapping[str, Any] = field(default_factory=dict)


def _no_head(head: KernelHead) -> str:
    raise NotImplementedError("give Dialect.head, or override SourceEmitter.kernel_head")


@dataclass(frozen=True)
class Dialect:
    """A C-like language as one backend writes it; of a language that is not C-like, what the tables can say.

    kind: of the target, for errors. include: the header, first line of every source. head: text of a kernel's head,
    without the brace. arena: the statement that declares the block's shared memory, for its bytes; the arena itself is
    then called ``arena_name``, a pointer to bytes. block_index, thread_index: texts of x, y and z.
    types, math: by the language's names. values: calls in expressions, by their whole name: a function of (the
    emitter, the call) that returns a Text. statements: calls that stand alone: a function that emits lines by itself.
    restrict: qualifier of buffer parameters. unroll: the line in front of a loop that is to be unrolled, "" for none.
    forms: what C and C++ write differently. scopes: memory of scopes of the target's own; a function of (the emitter,
    the AllocBuffer, or the DeclBuffer that looks at one) that emits its declaration. spaces: what languages whose
    pointers name the memory that they point into write in front of the type: {"global": ..., "shared": ...}.
    aliased: the C type through which memory is used that has elements of other types too, from the C type: shared
    memory and views. Another one where the compiler takes for granted that memory has one type.
    """

    kind: str
    include: str = ""
    head: Callable[[KernelHead], str] = _no_head
    arena: Callable[[int], str] = lambda size: ""
    block_index: tuple[str, str, str] = ("", "", "")
    thread_index: tuple[str, str, str] = ("", "", "")
    arena_name: str = "shared"
    types: Mapping[str, str] = field(default_factory=lambda: C_TYPES)
    math: Mapping[str, tuple[str, str]] = field(default_factory=lambda: C_MATH)
    values: Mapping[str, Callable[[Expressions, Any], Text]] = field(default_factory=dict)
    statements: Mapping[str, Callable[[Statements, Any], None]] = field(default_factory=dict)
    restrict: str = "__restrict__"
    unroll: str = "#pragma unroll"
    reserved: frozenset[str] = frozenset()
    forms: Forms = CPP
    scopes: Mapping[str, Callable[[Statements, Any], None]] = field(default_factory=dict)
    spaces: Mapping[str, str] = field(default_factory=dict)
    aliased: Callable[[str], str] = lambda kind: kind
    calls_narrow_abs: bool = False

    def pointer(self, kind: str, scope: str, const: bool = False) -> str:
        """The type of a pointer into memory of a scope, to elements of the C type ``kind``."""
        space = self.spaces.get((scope or "global").partition(".")[0], "")
        return " ".join(word for word in (space, "const" if const else "", f"{kind}*") if word)
