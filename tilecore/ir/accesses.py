"""Finds which parameters a function reads and writes."""

from __future__ import annotations

from typing import Any

from tilecore.ir.intrinsics import as_address
from tilecore.ir.nodes import BufferStore, Call, DeclBuffer, Evaluate, TensorLoad, TensorRegion, Var, structural_walk
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.views import source_of


def access_modes(func: Any) -> dict[Var, str]:
    """For every buffer that the function (in tile IR) accesses, "r", "w" or "rw"."""
    reads: set[Var] = set()
    writes: set[Var] = set()
    alias: dict[Var, Var] = {}

    def evaluate(node: Any) -> None:
        pointer = as_address(node)
        if pointer is not None:
            element, access = pointer
            if "w" in access:
                writes.add(element.source)
            return  # the load inside counts as a read
        call = as_tile_call(node)
        if call is None:
            return
        for name, value in call.args.items():
            if isinstance(value, TensorRegion):
                if name in call.op.reads and not (call.op.name == "gemm" and name == "c" and _always(call.clear_accum)):
                    reads.add(value.source)
                if name in call.op.writes:
                    writes.add(value.source)
        if call.op.name == "atomic_element":
            writes.add(call.dst.source)
        reads.update(v.source for v in call.rest if isinstance(v, TensorRegion))

    structural_walk(
        func.body,
        [
            (Evaluate, evaluate),
            (Call, evaluate),
            (TensorLoad, lambda n: reads.add(n.source)),
            (BufferStore, lambda n: writes.add(n.buffer)),
            (DeclBuffer, lambda n: alias.__setitem__(n.buffer, source_of(n))),
        ],
        order="pre",
    )
    for view, source in alias.items():
        if source is not None and view in reads:
            reads.add(source)
        if source is not None and view in writes:
            writes.add(source)
    return {b: ("r" if b in reads else "") + ("w" if b in writes else "") for b in reads | writes}


def _always(condition: Any) -> bool:
    from tilecore.ir.build import constant

    return bool(constant(condition))
