"""Refuses tiles that no block can have: of more elements than 32-bit offsets reach, or more memory than threads have.

Shared memory that is too small for all tiles together is refused where the addresses in it are assigned.
"""

from __future__ import annotations

from tilecore.contract.passes import PassEnv
from tilecore.dtypes import FACTS
from tilecore.errors import LimitError
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import AllocBuffer, PrimFunc, Stmt
from tilecore.ir.scopes import is_fragment, is_global, is_own, is_shared
from tilecore.ir.sizes import elements_of
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import axes_and_code, kernels_of, threads_of

LARGEST = 2**31 - 1  # elements of a tile, whose offsets are int32


def refuse_large_tiles(func: PrimFunc, env: PassEnv) -> None:
    """Refuse every tile of constant size that is larger than a block of the target can have."""
    for kernel in kernels_of(func.body):
        levels, code = axes_and_code(kernel)
        threads = max(1, threads_of(levels).count)
        for node in collect(code, AllocBuffer):
            error = _too_large(node, env, threads)
            if error is not None:
                env.refuse(error)


def require_offsets(body: Stmt, env: PassEnv) -> None:
    """Raises LimitError for a tile of more elements than 32-bit offsets reach. Passes make tiles larger: a software
    pipeline has one for each stage, and one that each thread has by itself may be there for all threads."""
    for node in collect(body, AllocBuffer):
        if not is_global(node.buffer) and (elements_of(node.buffer) or 0) > LARGEST:
            raise _error(node, env, LARGEST * _bytes_of(node, 1), "together with what the compiler has added")


def _too_large(node: AllocBuffer, env: PassEnv, threads: int) -> LimitError | None:
    """The error for a tile that is too large; None for others. threads: of a block."""
    buffer, elements, capabilities = node.buffer, elements_of(node.buffer), env.capabilities
    if elements is None or is_global(buffer):
        return None
    limits = [(LARGEST * _bytes_of(node, 1), f"of a tile ({LARGEST} elements)")]
    if is_shared(buffer) and elements > LARGEST and capabilities.shared_bytes:
        limits.append((capabilities.shared_bytes, "of shared memory of a block"))
    if is_own(buffer) and capabilities.thread_bytes:
        count = threads if is_fragment(buffer) else 1
        whose = f"of the registers and local memory of {count} threads" if count > 1 else "of a thread"
        limits.append((capabilities.thread_bytes * count, whose))
    limit, whose = min(limits)
    return _error(node, env, limit, whose) if _bytes_of(node, elements) > limit else None


def _bytes_of(node: AllocBuffer, elements: int) -> int:
    return -(-elements * FACTS[dtype_of(node.buffer)].bits // 8)


def _error(node: AllocBuffer, env: PassEnv, limit: int, whose: str) -> LimitError:
    buffer, elements = node.buffer, elements_of(node.buffer) or 0
    kind = "fragment" if is_fragment(buffer) else "shared memory" if is_shared(buffer) else "memory of each thread"
    return LimitError(
        f"{buffer.name} is larger than a block of target {env.target.kind} can have",
        location=location_of_span(node.span),
        found=f"{_bytes_of(node, elements)} bytes ({kind}): {elements} elements of {dtype_of(buffer)}",
        expected=f"at most {limit} bytes {whose}",
        hint="a block works on small tiles: more blocks in T.Kernel, or a loop (T.Pipelined, T.serial) over the parts",
    )
