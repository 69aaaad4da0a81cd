"""Gives pipelines fewer stages where memory that the compiler adds leaves no room for the user's.

The tiles of a kernel, in all stages, may fit into shared memory, and no longer do with what passes add: fragments that
no layout keeps in registers, memory for stores. num_stages is a wish for speed: the kernel is lowered again with fewer
(``compiler.lower``), and ``kernel.explain()`` says so. Tiles that are too large by themselves stay an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilecore.ir.attributes import LoopAttr
from tilecore.ir.nodes import AllocBuffer, For, PrimFunc, structural_map
from tilecore.ir.scopes import is_shared
from tilecore.ir.visit import collect, variables

TOPIC = "fewer_stages"  # of the report: rows with tiles, stages (as written) and fewer


def shared_names(func: PrimFunc) -> frozenset[str]:
    """The names of the buffers that a function allocates in shared memory."""
    return frozenset(str(alloc.buffer.name) for alloc in collect(func.body, AllocBuffer) if is_shared(alloc.buffer))


def with_fewer_stages(func: PrimFunc, report: Mapping[str, Sequence[Any]]) -> PrimFunc | None:
    """The function with the numbers of stages that its last lowering reported to fit; None where it reported none."""
    function = func
    for row in report.get(TOPIC, ()):
        function = _with_stages(function, set(str(row["tiles"]).split(", ")), int(row["stages"]), int(row["fewer"]))
    return None if function.body.same_as(func.body) else function


def _with_stages(func: PrimFunc, tiles: set[str], stages: int, fewer: int) -> PrimFunc:
    def change(node: For) -> For:
        if int(node.annotations.get(LoopAttr.STAGES, 0)) != stages:
            return node
        if not tiles & {str(var.name) for var in variables(node.body)}:
            return node
        annotations = {**dict(node.annotations), LoopAttr.STAGES: fewer}
        return For(node.loop_var, node.min, node.extent, node.kind, node.body, annotations=annotations, span=node.span)

    return func.with_body(structural_map(func.body, (For, change)))
