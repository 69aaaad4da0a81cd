"""Analyzes T.Parallel nests: their accesses, and the private memory that is scratch in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilecore.ir.nodes import (
    Bind,
    BufferStore,
    Call,
    For,
    ForKind,
    SeqStmt,
    TensorLoad,
    TensorRegion,
    Var,
    structural_walk,
)
from tilecore.ir.tile_ops import as_tile_call


@dataclass
class RegionFacts:
    """Facts of a T.Parallel nest. depth: the number of nested parallel loops. written, accessed: buffers.

    scratch: buffers that all iterations write at the same element, because the index does not depend on the iteration.
    """

    depth: int = 0
    written: set[Var] = field(default_factory=set)
    accessed: set[Var] = field(default_factory=set)
    scratch: set[Var] = field(default_factory=set)


def region_facts(nest: For) -> RegionFacts:
    facts = RegionFacts(depth=_parallel_depth(nest))
    moving = _moving_variables(nest)

    def load(node: TensorLoad) -> None:
        facts.accessed.add(node.source)

    def region(node: TensorRegion) -> None:
        facts.accessed.add(node.source)

    def store(node: BufferStore) -> None:
        facts.accessed.add(node.buffer)
        facts.written.add(node.buffer)
        if not any(depends_on(index, moving) for index in node.indices):
            facts.scratch.add(node.buffer)

    def call(node: Call) -> None:
        facts.written |= written_operands(node)

    structural_walk(nest, [(TensorLoad, load), (TensorRegion, region), (BufferStore, store), (Call, call)])
    return facts


def _moving_variables(nest: For) -> set[Var]:
    """The variables in a T.Parallel nest whose value may depend on the iteration."""
    moving: set[Var] = set()

    def loop(node: For) -> None:
        if node.kind == ForKind.PARALLEL or depends_on(node.min, moving):
            moving.add(node.loop_var)

    def bind(node: Bind) -> None:
        if depends_on(node.value, moving):
            moving.add(node.var)

    count = -1
    while len(moving) > count:
        count = len(moving)
        structural_walk(nest, [(For, loop), (Bind, bind)])
    return moving


def inner_loop(node: For) -> For | None:
    """The T.Parallel loop that is the whole body of ``node``, except for bindings before it; else None."""
    *binds, last = list(node.body.seq) if isinstance(node.body, SeqStmt) else [node.body]
    perfect = isinstance(last, For) and last.kind == ForKind.PARALLEL and all(isinstance(b, Bind) for b in binds)
    return last if perfect else None


def innermost(node: For) -> For:
    """The innermost loop of a T.Parallel nest."""
    inner = inner_loop(node)
    return node if inner is None else innermost(inner)


def _parallel_depth(node: Any) -> int:
    """The largest number of T.Parallel loops around one statement in ``node``."""
    if isinstance(node, For):
        return _parallel_depth(node.body) + (node.kind == ForKind.PARALLEL)
    children = [getattr(node, name, None) for name in ("body", "then_case", "else_case")]
    children += list(getattr(node, "seq", ()))
    return max((_parallel_depth(child) for child in children if child is not None), default=0)


def depends_on(expression: Any, variables: set[Var]) -> bool:
    """Does ``expression`` contain a variable of the set, or any load from memory?"""
    depends = False

    def variable(node: Var) -> None:
        nonlocal depends
        depends = depends or node in variables

    def load(node: TensorLoad) -> None:
        nonlocal depends
        depends = True

    structural_walk(expression, [(Var, variable), (TensorLoad, load)])
    return depends


def written_operands(node: Call) -> set[Var]:
    """The buffers that a call of a tile operation writes."""
    tile = as_tile_call(node)
    if tile is None:
        return set()
    names = ("dst",) if tile.op.name == "atomic_element" and tile.kind != "load" else tile.op.writes
    operands = [getattr(tile, name) for name in names]
    return {operand.source for operand in operands if isinstance(operand, (TensorLoad, TensorRegion))}
