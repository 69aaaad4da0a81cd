"""Finds private cells that are uniform across the block because a butterfly reduction by shuffles computes them.

In each step the threads t and t ^ d exchange their values, and each combines the two by a commutative operation, so
that both threads of a pair compute the same value. After a step for every power of two below the number of threads, all
threads have the same value. Before the last step the values differ, so a cell that other code reads earlier is not
uniform.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.nodes import (
    GT,
    LT,
    Add,
    Bind,
    BufferStore,
    Call,
    Max,
    Min,
    Mul,
    Select,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    structural_equal,
)
from tilecore.ir.thread_calls import SHUFFLE
from tilecore.ir.visit import collect
from tilecore.lowering.race_check.overwrites import Overwrite

WARP_REDUCTIONS: set[str] = set()  # backends' calls that reduce their last argument over 32 lanes, for all of them
WITHIN_WARP = (1, 2, 4, 8, 16)
COMMUTATIVE = ("bitwise_and", "bitwise_or", "bitwise_xor")


def uniform_cells(body: Stmt, threads: int) -> set[Var]:
    """The cells whose last write is by a butterfly reduction over ``threads`` neighbouring threads, a whole block.

    A backend's call that reduces over a warp stands for all steps within it.
    """
    all_distances = {1 << bit for bit in range((threads - 1).bit_length())}
    exchanged = {bind.var: bind.value for bind in collect(body, Bind) if op_name(bind.value) == SHUFFLE}
    steps: dict[Var, list[int]] = {}
    initialized: set[Var] = set()
    rejected: set[Var] = set()
    loads: Counter[Var] = Counter()  # so far, in the order of the code
    loads_of_steps: Counter[Var] = Counter()
    for node in collect(body, BufferStore, TensorLoad):
        if isinstance(node, TensorLoad):
            loads[node.source] += 1
            continue
        cell, distance = node.buffer, _distance(node, exchanged)
        in_warp = _reduces_over_warp(node)
        if distance is not None or in_warp:
            distances = steps.setdefault(cell, [])
            exchanges = 0 if in_warp else 1
            if loads[cell] != loads_of_steps[cell] + exchanges:  # those of earlier steps, and of this step's exchange
                rejected.add(cell)
            loads_of_steps[cell] += exchanges + sum(_is_cell(load, cell) for load in collect(node.value, TensorLoad))
            distances += WITHIN_WARP if distance is None else (distance,)
        elif cell in initialized:
            rejected.add(cell)  # written twice: its value may depend on the path
        else:
            initialized.add(cell)
    return {cell for cell, distances in steps.items() if all_distances <= set(distances) and cell not in rejected}


def uniform_overwrites(overwrites: Mapping[Var, Overwrite], repetition: Callable[[Any], int]) -> set[Var]:
    """The cells that a butterfly makes uniform after their last overwrite.

    repetition: for a value the number of neighbouring threads that together have all its values in the block.
    """
    uniform = set()
    for cell, overwrite in overwrites.items():
        body = SeqStmt([overwrite.store, *overwrite.after]) if overwrite.after else overwrite.store
        if cell in uniform_cells(body, repetition(overwrite.store.value)):
            uniform.add(cell)
    return uniform


def _reduces_over_warp(store: BufferStore) -> bool:
    """Is the store ``cell = reduction(cell)`` by a backend's call?"""
    return op_name(store.value) in WARP_REDUCTIONS and _is_cell(store.value.args[-1], store.buffer)


def _distance(store: BufferStore, exchanged: dict[Var, Call]) -> int | None:
    """The distance d of a step ``cell = cell OP shuffle(cell, d, "xor")``; None for any other store."""
    sides = list(_sides(store.value))
    if len(sides) != 2:
        return None
    for first, second in (sides, sides[::-1]):
        call = exchanged.get(second) if isinstance(second, Var) else None
        if call is not None and _is_cell(first, store.buffer) and _is_cell(call.args[0], store.buffer):
            return constant(call.args[1]) if str(call.args[2].value) == "xor" else None
    return None


def _sides(value: Any) -> Iterator[Any]:
    """The two operands of a commutative operation; nothing for any other expression."""
    if isinstance(value, (Add, Mul, Max, Min)):
        yield from (value.a, value.b)
    elif isinstance(value, Call) and op_name(value) in COMMUTATIVE:
        yield from value.args
    elif isinstance(value, Select) and isinstance(value.condition, (GT, LT)) and "int" in dtype_of(value):
        first, second = value.condition.a, value.condition.b
        chosen = value.true_value, value.false_value
        if any(all(map(structural_equal, chosen, pair)) for pair in ((first, second), (second, first))):
            yield from (first, second)  # a maximum or a minimum


def _is_cell(value: Any, buffer: Var) -> bool:
    return isinstance(value, TensorLoad) and value.source.same_as(buffer)
