"""Rewrites the tile operations of a kernel whose operands lie in other memory than before, and leaves out the copies
that filled or emptied the former buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import dtype_of, nothing
from tilecore.ir.nodes import AllocBuffer, BufferRegion, Evaluate, Stmt, TensorRegion, Var, structural_map
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.lowering.analysis.kernels import axes_and_code, rebuild_kernel

Moved = Mapping[Var, Callable[[TensorRegion], TensorRegion]]
"""For each former buffer the function that gives the part of the other memory for a region of the buffer."""


def in_buffer(buffer: Var) -> Callable[[TensorRegion], TensorRegion]:
    """The same region of another buffer."""
    return lambda region: BufferRegion(buffer, region.region)


def with_moved_regions(call: TileCall, moved: Moved, hint: str | None = None) -> Evaluate:
    """The operation on the other memory. hint: the hint of a gemm that gets the names of its moved operands added; one
    whose C has another type there also gets the hint that names the type of its sums."""
    args = [_moved_region(arg, moved) if isinstance(arg, TensorRegion) else arg for arg in call.call.args]
    if hint is None or call.op.name != "gemm":
        return call.rebuilt(args)
    names = "".join(name for name in "abc" if call.args[name].source in moved)
    hints = {**call.hints, hint: f"{call.hints.get(hint, '')}{names}"}
    sums = dtype_of(call.c.source)
    if "c" in names and dtype_of(moved[call.c.source](call.c).source) != sums:
        hints[CallAttr.SUMS] = sums
    return call.rebuilt(args, hints=hints)


def without_copies(kernel: Stmt, copies: Iterable[Stmt], moved: Moved, hint: str | None = None) -> Stmt:
    """The kernel without these copies and without the buffers that moved. hint: as in :func:`with_moved_regions`."""
    statements = set(copies)

    def change(node: Any) -> Any:
        if isinstance(node, AllocBuffer):
            return nothing() if node.buffer in moved else node
        if node in statements:
            return nothing()
        return moved_statement(node, moved, hint)

    levels, code = axes_and_code(kernel)
    return rebuild_kernel(levels, structural_map(code, ((AllocBuffer, Evaluate), change)))


def moved_statement(node: Evaluate, moved: Moved, hint: str | None = None) -> Evaluate:
    """The statement on the other memory; the statement itself where it uses none of the buffers that moved."""
    call = as_tile_call(node)
    if call is None or not any(region.source in moved for region in call.regions):
        return node
    return with_moved_regions(call, moved, hint)


def _moved_region(region: TensorRegion, moved: Moved) -> TensorRegion:
    move = moved.get(region.source)
    return region if move is None else move(region)
