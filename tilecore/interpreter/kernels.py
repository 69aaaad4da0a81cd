"""Runs kernels: the grid of blocks, and the threads of a block if the code uses them."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from tilecore.errors import LanguageError, UnsupportedError
from tilecore.interpreter.analysis import mentions, written_buffers
from tilecore.interpreter.scope import Scope, Statement
from tilecore.interpreter.state import State
from tilecore.ir.attributes import StatementAttr
from tilecore.ir.nodes import AttrStmt, Stmt
from tilecore.ir.tile_ops import combines_threads

_LETTERS = "xyz"


def compile_kernel(scope: Scope, node: AttrStmt) -> Statement:
    """The blocks run one after the other, x fastest. Threads are lanes when the code uses their indices, else the
    block is a single lane."""
    if scope.in_kernel:
        raise scope.error(LanguageError, "a kernel stands inside a kernel")
    axes, body = _launch_axes(scope, node)
    block_axes, thread_axes = axes["blockIdx"], axes["threadIdx"]
    grid = [scope.expression(extent) for _, _, extent in block_axes]
    block = [scope.expression(extent) for _, _, extent in thread_axes]
    named = [mentions(body, {var}) for _, var, _ in thread_axes]
    threaded = bool(thread_axes) and (any(named) or combines_threads(body))
    written = {scope.facts.root(buffer) for buffer in written_buffers(body)}
    with scope.inner(lanes="single", in_kernel=True, written_in_kernel=written):
        block_slots = [scope.define(var).slot for _, var, _ in block_axes]
        scope.lanes = "threads" if threaded else "single"
        thread_slots = [scope.define(var).slot for _, var, _ in thread_axes]
        for (_, var, _), slot, is_named in zip(thread_axes, thread_slots, named, strict=True):
            if is_named:
                scope.show(str(var.name), slot, "thread")
        code = scope.statement(body)
    site = scope.site

    def run(state: State) -> None:
        sizes = [int(extent(state)) for extent in grid]
        threads = [int(extent(state)) for extent in block]
        if any(size < 0 for size in (*sizes, *threads)):
            raise site.error(state, LanguageError, "a kernel is launched with a negative extent", found=str(sizes))
        lanes = (prod(threads),) if threaded else ()
        indices = _thread_indices(threads) if threaded else []
        for slot, index in zip(thread_slots, indices, strict=False):
            state.env[slot] = index
        state.grid = tuple(sizes)
        state.block_epoch = state.block_end + 1
        state.block_end = state.block_epoch + prod(sizes)
        for number, position in _blocks(sizes, state.options.block_seed):
            state.block_number = number
            for slot, coordinate in zip(block_slots, position, strict=True):
                state.env[slot] = np.int32(coordinate)
            state.block = position
            saved = state.enter_lanes(lanes)
            code(state)
            state.leave_lanes(saved)
        state.block = None

    return run


def _launch_axes(scope: Scope, node: Stmt) -> tuple[dict[str, list[tuple[int, Any, Any]]], Stmt]:
    """The launch axes as (position in xyz, variable, extent), x first, and the code of a block."""
    axes: dict[str, list[tuple[int, Any, Any]]] = {"blockIdx": [], "threadIdx": []}
    while isinstance(node, AttrStmt):
        if node.attr_key == StatementAttr.AXIS:
            tag = str(node.node.thread_tag)
            family, _, letter = tag.partition(".")
            if family not in axes or letter not in _LETTERS or not letter:
                raise scope.error(UnsupportedError, f"the interpreter does not know launch axis {tag!r}")
            axes[family].append((_LETTERS.index(letter), node.node.var, node.value))
        node = node.body
    for family_axes in axes.values():
        family_axes.sort(key=lambda axis: axis[0])
    return axes, node


def _thread_indices(threads: list[int]) -> list[np.ndarray]:
    """For each axis, its index in every thread; x changes fastest."""
    flat = np.arange(prod(threads), dtype=np.int32)
    indices = []
    for extent in threads:
        indices.append(flat % np.int32(max(extent, 1)))
        flat = flat // np.int32(max(extent, 1))
    return indices


def _blocks(sizes: list[int], seed: int | None) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The linear index and the coordinates of each block, in the order in which they run."""
    total = prod(sizes)
    order: Any = range(total) if seed is None else np.random.default_rng(seed).permutation(total)
    for number in order:
        rest, position = int(number), []
        for size in sizes:
            rest, coordinate = divmod(rest, size)
            position.append(coordinate)
        yield int(number), tuple(position)
