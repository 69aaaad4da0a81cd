"""Builds the error for kernels that need more shared memory than a block has; its hint says what would fit."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

from tilecore.contract.passes import PassEnv
from tilecore.errors import LimitError, Location
from tilecore.ir.nodes import Var

Placed = Mapping[Var, tuple[int, int]]  # offset and size by buffer


def too_much_shared(
    placed: Placed,
    total: int,
    needed: Callable[[Mapping[Var, int]], int],
    location: Location | None,
    env: PassEnv,
) -> LimitError:
    """The error that says how much shared memory the kernel needs, and which change makes it fit.

    placed: offset and size of each shared buffer, in bytes. total: the bytes that a block needs. needed: the bytes that
    a block would need with buffers of the given sizes. location: where the largest buffer is allocated.
    """
    limit = env.capabilities.shared_bytes
    largest = sorted(placed, key=lambda b: -placed[b][1])
    return LimitError(
        f"the kernel needs {total} bytes of shared memory",
        location=location,
        found=", ".join(f"{b.name} {placed[b][1]}" for b in largest[:6]),
        expected=f"at most {limit} bytes on {env.target.kind}: {total - limit} less",
        hint=(_hint_on_stages(placed, needed, limit, env) or _smaller(placed, needed, limit, largest[0]))
        + _demoted_fragments({b: placed[b] for b in largest[:6]}, env),
    )


def fewer_stages(
    placed: Placed, needed: Callable[[Mapping[Var, int]], int], shared: Container[str], env: PassEnv
) -> dict[str, Any] | None:
    """The pipeline that needs fewer stages because of memory that the compiler added, as a row of the report.

    shared: the names of the user's buffers in shared memory. None where these alone do not fit, or no number of stages
    is enough.
    """
    limit = env.capabilities.shared_bytes
    sizes = {b: size if str(b.name) in shared else 1 for b, (_, size) in placed.items()}
    if all(str(b.name) in shared for b in placed) or needed(sizes) > limit:
        return None
    pipeline = _fitting_pipeline(placed, needed, limit, env)
    if pipeline is None:
        return None
    row, fewer, bytes_then = pipeline
    return {"tiles": str(row["tiles"]), "stages": int(row["stages"]), "fewer": fewer, "bytes": bytes_then}


def _fitting_pipeline(
    placed: Placed, needed: Callable[[Mapping[Var, int]], int], limit: int, env: PassEnv
) -> tuple[Mapping[str, Any], int, int] | None:
    """The deepest pipeline with fewer of whose stages the kernel fits, the largest such number, and the bytes then."""
    for row in sorted(_pipelines(placed, env), key=lambda row: -int(row["stages"])):
        names, stages = str(row["tiles"]).split(", "), int(row["stages"])
        sizes = {b: size for b, (_, size) in placed.items()}
        for fewer in range(stages - 1, 0, -1):
            less = {b: size // stages * fewer for b, size in sizes.items() if str(b.name) in names}
            bytes_then = needed({**sizes, **less})
            if bytes_then <= limit:
                return row, fewer, bytes_then
    return None


def _pipelines(placed: Placed, env: PassEnv) -> list[Mapping[str, Any]]:
    """The rows of the pipelines with several stages that fill the buffers."""
    tiles = {str(b.name) for b in placed}
    rows = [row for row in env.report.get("pipelines", ()) if row.get("stages", 1) > 1]
    return [row for row in rows if tiles & set(str(row["tiles"]).split(", "))]


def _hint_on_stages(placed: Placed, needed: Callable[[Mapping[Var, int]], int], limit: int, env: PassEnv) -> str | None:
    """A hint with the number of stages with which the kernel fits; None if there is none."""
    pipeline = _fitting_pipeline(placed, needed, limit, env)
    if pipeline is None:
        return None
    row, fewer, bytes_then = pipeline
    which = f" in the loop that fills {row['tiles']}" if len(_pipelines(placed, env)) > 1 else ""
    return f"num_stages={fewer}{which} needs {bytes_then} bytes, which fits; or use smaller tiles"


def _smaller(placed: Placed, needed: Callable[[Mapping[Var, int]], int], limit: int, largest: Var) -> str:
    """A hint that says to what fraction all tiles must shrink, where fewer stages alone are not enough."""
    sizes = {b: size for b, (_, size) in placed.items()}
    least = needed(dict.fromkeys(sizes, 1))
    if least > limit:  # because each buffer is aligned
        return f"fewer buffers: {len(sizes)} of one byte each would need {least} bytes, aligned"
    part = 2
    while needed({b: max(1, size // part) for b, size in sizes.items()}) > limit:
        part *= 2
    rest = {b: size for b, size in sizes.items() if b is not largest}
    spare = limit - needed(rest)
    alone = f"; {largest.name} alone may have {spare} bytes beside the others" if spare > 0 and rest else ""
    fraction = "half" if part == 2 else f"1/{part} of"
    return f"tiles of {fraction} this size fit: smaller sides, or narrower element types{alone}"


def _demoted_fragments(placed: Placed, env: PassEnv) -> str:
    """A hint that names the buffers which the kernel allocates as fragments, and why they are in shared memory."""
    layouts = {str(row["buffer"]): str(row["layout"]) for row in env.report.get("layouts", ())}
    reasons = {str(b.name): layouts.get(str(b.name), "").partition("shared memory: ")[2] for b in placed}
    return "".join(f"; {name} is a fragment, kept in shared memory: {why}" for name, why in reasons.items() if why)
