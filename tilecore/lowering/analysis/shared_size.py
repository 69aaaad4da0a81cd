"""Computes the sizes of shared buffers, and refuses a kernel whose blocks need more shared memory than the target has.

A family that assigns addresses in shared memory, as ``simt`` does, refuses such kernels itself with a better hint.
"""

from __future__ import annotations

from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.errors import LimitError, UnsupportedError
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import AllocBuffer, PrimFunc, Var
from tilecore.ir.scopes import is_shared
from tilecore.ir.sizes import has_dynamic_size
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import collect


def require_shared(func: PrimFunc, needed: int, env: PassEnv) -> None:
    """Raises LimitError if a block needs more shared memory than the target has.

    func: the function as the user wrote it. needed: the bytes of a block that the code generator counts.
    """
    limit = env.capabilities.shared_bytes
    if not limit or needed <= limit:
        return
    allocs = [node for node in collect(func.body, AllocBuffer) if is_shared(node.buffer)]
    sizes = {node: size_of(node.buffer) for node in allocs if not has_dynamic_size(node.buffer)}
    largest = sorted(sizes, key=lambda node: -sizes[node])
    raise LimitError(
        f"the kernel needs {needed} bytes of shared memory",
        location=location_of_span(largest[0].span) if largest else None,
        found=", ".join(f"{node.buffer.name} {sizes[node]}" for node in largest[:6]) or None,
        expected=f"at most {limit} bytes on {env.target.kind}: {needed - limit} less",
        hint="use smaller tiles, fewer stages of T.Pipelined, or narrower element types",
    )


def size_of(buffer: Var) -> int:
    """Bytes of a shared buffer."""
    size = DType(dtype_of(buffer)).bytes
    for extent in buffer.shape:
        extents = constant(extent)
        if extents is None:
            raise UnsupportedError(
                f"the size of {buffer.name} in shared memory is not known when compiling",
                found=f"shape {[str(size) for size in buffer.shape]}",
                expected="constants",
                hint="make the size an argument of the function that makes the kernel",
            )
        size *= extents
    return size
