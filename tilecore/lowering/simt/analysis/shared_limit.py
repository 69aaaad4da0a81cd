"""Builds the error for kernels that need more shared memory than a block has; its hint says what would fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilecore.contract.passes import PassEnv
from tilecore.errors import LimitError, Location
from tilecore.ir.nodes import Var

Placed = Mapping[Var, tuple[int, int]]  # offset and size by buffer


def too_much_shared(
    placed: Placed,
    total: int,
    needed: Callable[[Mapping[Var, int]], int],
    place: Location | None,
    env: PassEnv,
) -> LimitError:
    """The error that says how much shared memory the kernel needs, and which change makes it fit.

    placed: offset and size of each shared buffer, in bytes. total: the bytes that a block needs. needed: the bytes that
    a block would need with buffers of the given sizes. place: where the largest buffer is allocated.
    """
    limit = env.capabilities.shared_bytes
    largest = sorted(placed, key=lambda b: -placed[b][1])
    return LimitError(
        f"the kernel needs {total} bytes of shared memory",
        location=place,
        found=", ".join(f"{b.name} {placed[b][1]}" for b in largest[:6]),
        expected=f"at most {limit} bytes on {env.target.kind}: {total - limit} less",
        hint=_fewer_stages(placed, needed, limit, env) or _smaller(placed, needed, limit, largest[0]),
    )


def _fewer_stages(placed: Placed, needed: Callable[[Mapping[Var, int]], int], limit: int, env: PassEnv) -> str | None:
    """A hint with the largest number of stages of the kernel's deepest pipeline that fits; None where none fits."""
    rows = [row for row in env.report.get("pipelines", ()) if row.get("stages", 1) > 1]
    for row in sorted(rows, key=lambda row: -int(row["stages"])):
        names, stages = str(row["tiles"]).split(", "), int(row["stages"])
        sizes = {b: size for b, (_, size) in placed.items()}
        for fewer in range(stages - 1, 0, -1):
            less = {b: size // stages * fewer for b, size in sizes.items() if str(b.name) in names}
            bytes_then = needed({**sizes, **less})
            if bytes_then <= limit:
                return f"use num_stages={fewer}, which needs {bytes_then} bytes, or smaller tiles"
    return None


def _smaller(placed: Placed, needed: Callable[[Mapping[Var, int]], int], limit: int, largest: Var) -> str:
    """A hint that says to what fraction all tiles must shrink, where fewer stages alone are not enough."""
    sizes = {b: size for b, (_, size) in placed.items()}
    divisor = 2
    while needed({b: max(1, size // divisor) for b, size in sizes.items()}) > limit and divisor < 1 << 20:
        divisor *= 2
    others = {b: size for b, size in sizes.items() if b is not largest}
    spare = limit - needed(others)
    only_one = f", or make only {largest.name} smaller: at most {spare} bytes" if spare > 0 and others else ""
    fraction = "half" if divisor == 2 else f"1/{divisor} of"
    return f"use smaller tiles or narrower element types: tiles of {fraction} this size fit{only_one}"
