"""What ``kernel.explain()`` says about an emitted program: what its text tells (``estimates.py``), marked as estimates.

It needs no compiler. The registers that Apple's compiler assigns, and what it spills, only a Mac can tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tile_metal.figures.chips import ENOUGH_SIMDGROUPS, LANES, rates_of
from tile_metal.figures.estimates import MOST_REGISTERS, Estimate, estimates


def facts_of(source: str, family: str, threads: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """The figures, notes and slow parts of each kernel of a source, as ``Codegen.function`` returns them.

    threads: of a threadgroup, by kernel.
    """
    by_text = estimates(source)
    return {name: _facts(by_text[name], family, count) for name, count in threads.items() if name in by_text}


def _facts(estimate: Estimate, family: str, threads: int) -> dict[str, Any]:
    registers = _registers(estimate, threads)
    spills = estimate.registers > MOST_REGISTERS
    return {
        "figures": _figures(estimate),
        "notes": [*([] if spills else [registers]), *_memory(estimate, family)],
        "slow": [registers] if spills else [],
    }


def _figures(estimate: Estimate) -> dict[str, int]:
    figures = {"16-bit_registers_of_arrays_by_estimate": estimate.registers}
    if estimate.products:
        figures["matrix_products_in_the_main_loop"] = estimate.products
    return figures


def _registers(estimate: Estimate, threads: int) -> str:
    """ "an estimate: ... 128 registers of 16 bits or more, with which a core runs at most 832 threads"."""
    count = estimate.registers
    if count > MOST_REGISTERS:
        return (
            f"an estimate: the arrays of a thread take {count} registers of 16 bits or more, and it has at most "
            f"{MOST_REGISTERS}: the rest is in memory; smaller tiles, or more threads for a tile, keep all in registers"
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
