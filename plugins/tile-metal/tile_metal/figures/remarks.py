"""What ``kernel.explain()`` says about an emitted program: what its text tells (``estimates.py``), marked as estimates.

It needs no compiler. The registers that Apple's compiler assigns, and what it spills, only a Mac can tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_metal.figures.chips import ENOUGH_SIMDGROUPS, LANES, rates_of
from tile_metal.figures.estimates import MOST_REGISTERS, Estimate, estimates
from tile_metal.target import family_of
from tilecore.target import Target

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact


def describe(binary: bytes) -> dict[str, dict[str, int]]:
    """The figures of each kernel of a program by their names; empty where ``binary`` is no text."""
    try:
        program = binary.decode()
    except UnicodeDecodeError:
        return {}
    return {name: _named(estimate) for name, estimate in estimates(program).items()}


def _named(estimate: Estimate) -> dict[str, int]:
    figures = {"16-bit_registers_of_arrays_by_estimate": estimate.registers}
    if estimate.products:
        figures["matrix_products_in_the_main_loop"] = estimate.products
    return figures


def remarks(artifact: Artifact) -> list[str]:
    """Sentences on each kernel of an artifact."""
    family = family_of(Target.parse(artifact.target)).name
    by_text = estimates(artifact.source)
    lines = []
    for entry in artifact.entries:
        x, y, z = entry.threads
        if entry.symbol in by_text:
            lines += [f"{entry.symbol}: {line}" for line in _sentences(by_text[entry.symbol], family, x * y * z)]
    return lines


def _sentences(estimate: Estimate, family: str, threads: int) -> list[str]:
    return [_registers(estimate, threads), *_memory(estimate, family)]


def _registers(estimate: Estimate, threads: int) -> str:
    """ "an estimate: ... 128 registers of 16 bits or more, with which a core runs at most 832 threads"."""
    count = estimate.registers
    if count > MOST_REGISTERS:
        return (
            f"an estimate: the arrays of a thread take {count} registers of 16 bits or more, and it has at most "
            f"{MOST_REGISTERS}: the rest is in memory, and slow; smaller tiles, or more threads for a tile, keep all "
            "in registers"
        )
    on_core = estimate.threads_by_registers()
    groups = max(1, on_core // threads)
    line = (
        f"an estimate: the arrays of a thread take {count} registers of 16 bits or more, with which a core runs at "
        f"most {on_core} threads, {groups} threadgroup{'s' * (groups != 1)}"
    )
    if groups * threads < ENOUGH_SIMDGROUPS * LANES:
        line += f"; {ENOUGH_SIMDGROUPS * LANES} threads are enough to keep its ALUs busy, fewer may not be"
    return line


def _memory(estimate: Estimate, family: str) -> list[str]:
    groups = estimate.threadgroups_by_memory(family)
    rates = rates_of(family)
    if groups is None or rates is None:
        return []
    fits = f"fits {groups} time{'s' * (groups != 1)} into the about {rates.threadgroup_bytes >> 10} KB of a core"
    return [f"{estimate.threadgroup_bytes} bytes of threadgroup memory: {fits} (measured by others on M1 and M2)"]
