"""Finds views: buffers that share the memory of another buffer."""

from __future__ import annotations

from tilecore.ir.nodes import DeclBuffer, Stmt, Var
from tilecore.ir.visit import collect


def memory_roots(body: Stmt) -> dict[Var, Var]:
    """Buffers that are views or have views, each with the one whose memory it is."""
    sources = {d.buffer: d.data.args[0] for d in collect(body, DeclBuffer)}
    roots: dict[Var, Var] = {}
    for buffer in [*sources, *sources.values()]:
        root = buffer
        while root in sources:
            root = sources[root]
        roots[buffer] = root
    return roots
