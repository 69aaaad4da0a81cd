"""Reads the virtual instructions that ``compiled.py`` gets from clang, sorts them, finds loops, and counts.

The names are those of NVIDIA's "PTX ISA" document. A call of a function of Metal is one instruction, with the name of
the function. Moves between registers are not counted: registers are not assigned yet.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

MATRIX, FLOAT, INTEGER, COMPLEX, CONVERSION = "matrix", "float", "integer", "complex", "conversion"
SHUFFLE, BARRIER, BRANCH, ATOMIC, FENCE = "shuffle", "barrier", "branch", "atomic", "fence"
LOAD, STORE = "device_load", "device_store"
SHARED_LOAD, SHARED_STORE = "threadgroup_load", "threadgroup_store"
LOCAL, CONSTANT = "thread_memory", "constant_load"
KINDS = (
    MATRIX, FLOAT, INTEGER, COMPLEX, CONVERSION, SHUFFLE, SHARED_LOAD, SHARED_STORE, LOAD, STORE, ATOMIC, LOCAL,
    CONSTANT, BARRIER, FENCE, BRANCH,
)  # fmt: skip
ACCESSES = (SHARED_LOAD, SHARED_STORE, LOAD, STORE, LOCAL, CONSTANT)

_FUNCTION = re.compile(r"^(?:\.visible |\.weak )*\.(?:func|entry)\s+(?:\([^)]*\)\s*)?(\w+)\(", re.MULTILINE)
_LABEL = re.compile(r"(\$\w+):")
_INSTRUCTION = re.compile(r"(?:@!?%p\d+ )?\s*([a-z][\w.]*)\s*(.*?);")
_CALLEE = re.compile(r"^\s*(\w+),?\s*$")
_NOT_COUNTED = ("mov", "cvta", "ret", "ld.param", "st.param", "trap", "exit")
_SPACES = {
    "ld.shared": SHARED_LOAD, "st.shared": SHARED_STORE, "ld.global": LOAD, "st.global": STORE, "ld.const": CONSTANT,
    "ld.local": LOCAL, "st.local": LOCAL, "ld": LOCAL, "st": LOCAL,
}  # fmt: skip
_CALLS = {
    "metal_matrix": MATRIX, "metal_shuffle": SHUFFLE, "metal_vote": SHUFFLE, "metal_reduction": SHUFFLE,
    "metal_barrier": BARRIER, "metal_simdgroup_barrier": BARRIER, "metal_fence": FENCE, "metal_on_": ATOMIC,
    "metal_precise": COMPLEX, "metal_fast": COMPLEX,
}  # fmt: skip
_COMPLEX = ("mul.lo", "mul.hi", "mul.wide", "mad", "shl", "shr", "shf", "popc", "clz", "brev", "bfe", "bfi", "prmt")
_DIVISIONS = ("div", "rem", "rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos")


@dataclass(frozen=True)
class Instruction:
    """name: with its types, or the function that is called. target: the index of the instruction that a branch goes to.

    kind: one of ``KINDS``, "" for what is not counted. bytes: of an access, of a lane.
    """

    name: str
    kind: str
    bytes: int = 0
    target: int | None = None


@dataclass(frozen=True)
class Mix:
    """How many instructions of each kind, by their names, and by the bytes of a lane's access."""

    kinds: Counter[str] = field(default_factory=Counter)
    names: dict[str, Counter[str]] = field(default_factory=dict)
    widths: dict[str, Counter[int]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """All instructions that are counted."""
        return self.kinds.total()

    def bytes_of(self, *kinds: str) -> int:
        """The bytes that a lane moves by accesses of these kinds."""
        return sum(width * count for kind in kinds for width, count in self.widths.get(kind, {}).items())

    def as_data(self) -> dict[str, object]:
        """As plain data for records."""
        data: dict[str, object] = {"instructions": self.count}
        data |= {kind: self.kinds[kind] for kind in KINDS if self.kinds[kind]}
        data["widths"] = {
            kind: {str(width): count for width, count in sorted(widths.items())}
            for kind, widths in sorted(self.widths.items())
        }
        return data


def mix_of(instructions: Iterable[Instruction]) -> Mix:
    """Counts instructions."""
    mix = Mix()
    for instruction in instructions:
        if instruction.kind:
            mix.kinds[instruction.kind] += 1
            mix.names.setdefault(instruction.kind, Counter())[instruction.name] += 1
        if instruction.bytes:
            mix.widths.setdefault(instruction.kind, Counter())[instruction.bytes] += 1
    return mix


def kernels_of(assembly: str) -> dict[str, list[Instruction]]:
    """The instructions of each function that has a body, by its name."""
    heads = list(_FUNCTION.finditer(assembly))
    ends = [head.start() for head in heads[1:]] + [len(assembly)]
    bodies = {head[1]: assembly[head.end() : end] for head, end in zip(heads, ends, strict=True)}
    return {name: _body(text) for name, text in bodies.items() if re.search(r"^\{", text, re.MULTILINE)}


def _body(text: str) -> list[Instruction]:
    """The instructions of one body. A call stands in braces, over several lines, of which one is the callee."""
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    branches: dict[int, str] = {}
    calls = False
    for line in text.partition("\n{")[2].splitlines():
        line = line.split("//")[0].strip()
        label = _LABEL.match(line)
        if label is not None:
            labels[label[1]] = len(instructions)
        elif line.startswith("call"):
            calls = True
        elif calls:
            callee = _CALLEE.match(line)
            if callee is not None:
                instructions.append(Instruction(callee[1], _kind_of_call(callee[1])))
                calls = False
        elif (match := _INSTRUCTION.match(line)) is not None:
            if match[1].startswith("bra"):
                branches[len(instructions)] = match[2].strip()
            instructions.append(_instruction(match[1]))
    return [
        Instruction(item.name, item.kind, item.bytes, labels.get(branches[index])) if index in branches else item
        for index, item in enumerate(instructions)
    ]


def _kind_of_call(name: str) -> str:
    """The kind of a call; a function that is none of Metal's is counted as arithmetic whose rate is not known."""
    return next((kind for prefix, kind in _CALLS.items() if name.startswith(prefix)), COMPLEX)


def _instruction(name: str) -> Instruction:
    if name.startswith(_NOT_COUNTED):
        return Instruction(name, "")
    parts = [part for part in name.split(".") if part not in ("volatile", "relaxed", "weak", "nc")]
    if parts[0] in ("ld", "st"):
        space = f"{parts[0]}.{parts[1]}"
        count = next((int(part[1:]) for part in parts if re.fullmatch(r"v\d", part)), 1)
        return Instruction(name, _SPACES.get(space, LOCAL), count * _bits(parts[-1]) // 8)
    return Instruction(name, _arithmetic(parts, name))


def _arithmetic(parts: Sequence[str], name: str) -> str:
    if parts[0] == "bra" or parts[0] == "brx":
        return BRANCH
    if parts[0] == "cvt":
        return CONVERSION if _is_float(parts[-1]) or _is_float(parts[-2]) else INTEGER
    if parts[0] in _DIVISIONS:
        return COMPLEX
    if _is_float(parts[-1]):
        return FLOAT
    return COMPLEX if name.startswith(_COMPLEX) else INTEGER


def _is_float(part: str) -> bool:
    return re.fullmatch(r"(f|bf)(16|32|64)(x2)?", part) is not None


def _bits(part: str) -> int:
    number = re.search(r"\d+", part)
    return int(number[0]) if number else 32


@dataclass(frozen=True)
class Loop:
    """The instructions first .. last: from the one that a branch goes back to, to that branch."""

    first: int
    last: int

    def contains(self, other: Loop) -> bool:
        """Whether ``other`` is another loop inside of this one."""
        return self != other and self.first <= other.first and other.last <= self.last


def loops_of(instructions: Sequence[Instruction]) -> list[Loop]:
    """The loops, by their first instruction; branches back to one place are of one loop."""
    ends: dict[int, int] = {}
    for index, instruction in enumerate(instructions):
        if instruction.target is not None and instruction.target <= index:
            ends[instruction.target] = index
    return [Loop(first, last) for first, last in sorted(ends.items())]


def main_loop(instructions: Sequence[Instruction]) -> Loop | None:
    """The loop that takes the time; None for a kernel without loops.

    Of the loops with matrix products that contain no other such loop, it is the one with the most of them; without
    matrix products the innermost loop, of several the longest.
    """
    loops = loops_of(instructions)
    products = {loop: mix_of(_of(instructions, loop)).kinds[MATRIX] for loop in loops}
    multiplying = [
        loop for loop in loops if products[loop] and not any(products[o] and loop.contains(o) for o in loops)
    ]
    if multiplying:
        return max(multiplying, key=lambda loop: products[loop])
    depth = {loop: sum(other.contains(loop) for other in loops) for loop in loops}
    return max(loops, key=lambda loop: (depth[loop], loop.last - loop.first), default=None)


def main_part(instructions: Sequence[Instruction]) -> tuple[Mix, bool]:
    """What is counted: the instructions of the main loop and True; all of them and False where there is no loop."""
    loop = main_loop(instructions)
    return mix_of(instructions if loop is None else _of(instructions, loop)), loop is not None


def _of(instructions: Sequence[Instruction], loop: Loop) -> Sequence[Instruction]:
    return instructions[loop.first : loop.last + 1]
