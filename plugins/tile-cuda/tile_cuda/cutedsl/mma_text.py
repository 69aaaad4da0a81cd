"""The PTX text of the instructions ``mma.sync`` by their names in thread IR, such as "m16n8k16_f16_f32"."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

_WARP = 32
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8, "f32": 32, "s32": 32}
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")


@dataclass(frozen=True)
class MmaText:
    """One instruction: its text and the registers of a thread.

    d_words, a_words, b_words: registers of each operand. total_constraint, operand_constraint: "f" for float32, "d" for
    float64, "r" for 32 bits of anything else. In ``assembly`` ``$0`` and so on are d's registers, then a's, b's, and
    d's as they were before.
    """

    assembly: str
    constraints: str
    d_words: int
    a_words: int
    b_words: int
    total_constraint: str
    operand_constraint: str

    @staticmethod
    @functools.cache
    def of(instruction: str) -> MmaText:
        """The text of an instruction (PTX ISA, "mma")."""
        shape, *types = instruction.split("_")
        a, b = (types[0], types[-2])
        total = types[-1]
        match = _SHAPE.fullmatch(shape)
        assert match is not None, instruction
        m, n, k = (int(size) for size in match.groups())
        threads = _WARP // 4 if shape == "m8n8k4" and total != "f64" else _WARP  # four products, by 8 lanes each
        register = 64 if a == "f64" else 32
        d_words = m * n * _BITS[total] // threads // (64 if total == "f64" else 32)
        a_words = m * k * _BITS[a] // threads // register
        b_words = n * k * _BITS[b] // threads // register
        c_types = f"{total}.{a}.{b}.{total}"
        groups, first = [], 0
        for count in (d_words, a_words, b_words, d_words):
            groups.append("{" + ", ".join(f"${first + number}" for number in range(count)) + "}")
            first += count
        constraint = {"f32": "f", "f64": "d"}.get(total, "r")
        operand = "d" if a == "f64" else "r"
        constraints = [f"={constraint}"] * d_words + [operand] * (a_words + b_words)
        constraints += [str(number) for number in range(d_words)]
        text = f"mma.sync.aligned.{shape}.row.col.{c_types} {', '.join(groups)};"
        return MmaText(text, ",".join(constraints), d_words, a_words, b_words, constraint, operand)
