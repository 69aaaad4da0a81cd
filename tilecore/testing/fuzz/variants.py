"""Makes variants of a kernel that must have the same results: other tiles, stages, threads and kinds of loops."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tilecore.testing.fuzz.oracle import Reference, difference
from tilecore.testing.fuzz.program import Kernel, Loop, Program, parts, replaced

_TILES = ("BM", "BN", "BP", "BK")


def variants(program: Program) -> Iterator[Program]:
    """Some variants, the same ones for the same program. One with other tiles may have other results: see
    :func:`agree`."""
    rng = random.Random(f"variants {program.seed}")
    yield _with_other_loops(program, rng)
    for name, value in program.sizes:
        if name in _TILES:
            other = rng.choice([size for size in (8, 16, 32, 24, 5) if size != value])
            sizes = tuple((n, other if n == name else v) for n, v in program.sizes)
            yield replace(program, sizes=sizes)


def _with_other_loops(program: Program, rng: random.Random) -> Program:
    """Other threads, stages, and ways to write a serial loop."""
    for path, node in list(parts(program)):
        if isinstance(node, Kernel):
            threads = rng.choice([count for count in (32, 64, 128, 256) if count != node.threads])
            program = replaced(program, (*path, "threads"), (threads,))
        elif isinstance(node, Loop) and node.kind in ("serial", "unroll", "Pipelined") and len(node.extents) < 3:
            kind = rng.choice(("serial", "unroll", "Pipelined", "Pipelined"))
            stages = rng.choice((0, 1, 2, 3, 4)) if kind == "Pipelined" else 0
            program = replaced(replaced(program, (*path, "kind"), (kind,)), (*path, "stages"), (stages,))
    return program


def agree(original: Reference, other: Reference) -> bool:
    """Do two kernels have the same results?"""
    return all(
        _equal_within(a, b, bound) for a, b, bound in zip(other.outputs, original.outputs, original.bounds, strict=True)
    )


def _equal_within(a: Any, b: Any, bound: float) -> bool:
    if not hasattr(a, "shape"):
        return True
    return a.shape == b.shape and (not difference(a, b, 0.0) or (bound > 0 and not difference(a, b, bound)))
