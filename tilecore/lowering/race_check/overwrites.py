"""Finds private cells that straight-line code overwrites, so that what it stored there before does not matter later.

A reduction across warps first stores partial results in shared memory, and then overwrites its cell with one of them.
From there on the cell is uniform if the new value is, although the stores before it differ between threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tilecore.ir.build import constant, op_name
from tilecore.ir.nodes import AllocBuffer, Bind, BufferStore, SeqStmt, Stmt, TensorLoad, Var
from tilecore.ir.scopes import is_private, is_shared
from tilecore.ir.thread_calls import SHUFFLE
from tilecore.ir.visit import collect


@dataclass(frozen=True)
class Overwrite:
    """The last store of a cell that replaces its value on every path. after: the statements behind it."""

    store: BufferStore
    after: tuple[Stmt, ...]
    superseded: tuple[BufferStore, ...]  # the earlier stores in the cell


def last_overwrites(body: Stmt) -> dict[Var, Overwrite]:
    """For each cell its last overwrite, if the values before it are used for nothing but partial results.

    These uses are: stores in shared memory, shuffles, and updates of the cell itself.
    """
    total = _occurrences([body])
    overwrites: dict[Var, Overwrite] = {}
    for parts in _sequences(body):
        occurrences = _occurrences(parts)
        for cell, position in _direct_stores(parts).items():
            before = parts[:position]
            stores = [s for part in before for s in collect(part, BufferStore) if s.buffer.same_as(cell)]
            is_last = stores and occurrences[cell] == total[cell]
            if is_last and all(_is_partial_result(part, cell) for part in before):
                overwrites[cell] = Overwrite(parts[position], tuple(parts[position + 1 :]), tuple(stores))
    return overwrites


def flat_sequence(node: SeqStmt) -> list[Stmt]:
    """The statements of a sequence, and those of the sequences directly in it."""
    return [part for inner in node.seq for part in (flat_sequence(inner) if isinstance(inner, SeqStmt) else [inner])]


def is_scalar(buffer: Var) -> bool:
    """Is the buffer private, with one element?"""
    return is_private(buffer) and all(constant(size) == 1 for size in buffer.shape)


def _sequences(body: Stmt) -> Iterator[list[Stmt]]:
    nested = set()
    for node in collect(body, SeqStmt):
        nested |= {part.__chandle__() for part in node.seq if isinstance(part, SeqStmt)}
        if node.__chandle__() not in nested:
            yield flat_sequence(node)


def _direct_stores(parts: Sequence[Stmt]) -> dict[Var, int]:
    """For each cell the position of the last statement that overwrites it."""
    return {
        part.buffer: position
        for position, part in enumerate(parts)
        if isinstance(part, BufferStore) and is_scalar(part.buffer) and not _loads_of(part.value, part.buffer)
    }


def _occurrences(parts: Sequence[Stmt]) -> Counter[Var]:
    """How often each variable and buffer occurs, without the allocations of buffers."""
    occurrences = Counter(var for part in parts for var in collect(part, Var))
    occurrences.subtract(alloc.buffer for part in parts for alloc in collect(part, AllocBuffer))
    return occurrences


def _loads_of(node: Any, cell: Var) -> int:
    return sum(load.source.same_as(cell) for load in collect(node, TensorLoad))


def _is_partial_result(part: Stmt, cell: Var) -> bool:
    """Is each use of the cell in a statement a store in it, an update of it, a shuffle, or a store in shared memory?"""
    uses = 0
    for node in collect(part, BufferStore, Bind):
        if isinstance(node, BufferStore):
            uses += node.buffer.same_as(cell)
            if node.buffer.same_as(cell) or is_shared(node.buffer):
                uses += _loads_of(node.value, cell)
        elif op_name(node.value) == SHUFFLE:
            uses += _loads_of(node.value, cell)
    return uses == _occurrences([part])[cell]
