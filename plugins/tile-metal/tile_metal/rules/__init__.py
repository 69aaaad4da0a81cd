"""Rules of the Metal Shading Language for emitted text, for machines without Apple's compiler, which has them.

``TILECORE_CHECK=1`` holds every source that is emitted to them (toolchain.py). They are rules of text, without types:
what needs types is left to clang (tests/test_metal_compiles.py). Sources: "Metal Shading Language Specification" 4.0,
1.5.4 (restrictions), 2 (types), 4 (address spaces), 5 (kernels), 6.9 and 6.15 (simdgroups, atomics); Apple's "Metal
feature set tables" 2025 (limits).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tile_metal.rules import kernels, spaces, values, words
from tile_metal.rules.text import Code, Problem
from tilecore.errors import ToolchainError

RULES: tuple[Callable[[Code, int], Iterator[Problem]], ...] = (
    words.forbidden, words.includes, words.of_later_versions, words.recursion, values.literals, values.mixed_operators,
    values.atomics, spaces.pointers, spaces.program_scope, kernels.heads, kernels.buffers, kernels.threadgroup_memory,
)  # fmt: skip


def problems(source: str, msl: int) -> list[Problem]:
    """What Apple's compiler would not take, in the order of lines. msl: the version, as in ``__METAL_VERSION__``."""
    code = Code.parse(source)
    return sorted(problem for rule in RULES for problem in rule(code, msl))


def check(source: str, msl: int, name: str) -> None:
    """Raises ToolchainError if the emitted ``source`` of kernel ``name`` breaks a rule."""
    broken = problems(source, msl)
    if not broken:
        return
    lines = source.splitlines()
    places = (f"line {problem.line}, {problem.text}: {lines[problem.line - 1].strip()}" for problem in broken[:5])
    raise ToolchainError(
        f"{name}: the emitted source is not Metal Shading Language {msl // 100}.{msl // 10 % 10}",
        found="; ".join(places),
        hint="a function of your own names the address space of its pointers, or takes their type as a parameter of a "
        "template; otherwise please report it",
    )
