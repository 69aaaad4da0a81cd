"""Operands of tile operations: regions of buffers, read and written whole.

The whole block executes a tile operation once. Where an operand is private to each thread (T.alloc_local in a kernel
that uses thread indices), every thread executes it by itself, and tiles have the lanes as leading axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilecore.element_values import Value, ValueType
from tilecore.errors import LanguageError
from tilecore.interpreter.memory import Access, View
from tilecore.interpreter.scope import BufferInfo, Expression, Scope
from tilecore.interpreter.state import Mask, State, all_active
from tilecore.ir.nodes import IntImm, TensorRegion


@dataclass(frozen=True)
class Region:
    """A compiled buffer region."""

    info: BufferInfo
    starts: tuple[Expression, ...]
    extents: tuple[Expression, ...]
    access: Access
    is_element: bool  # every extent is the constant 1

    @staticmethod
    def of(scope: Scope, node: Any) -> Region:
        if not isinstance(node, TensorRegion):
            raise scope.error(LanguageError, "a tile operation takes regions of buffers", found=str(node)[:120])
        info = scope.buffer(node.source)
        starts = tuple(scope.expression(r.min) for r in node.region)
        extents = tuple(scope.expression(r.extent) for r in node.region)
        single = all(isinstance(r.extent, IntImm) and int(r.extent) == 1 for r in node.region)
        return Region(info, starts, extents, scope.access(info, masked=True), single)

    @property
    def kind(self) -> ValueType:
        return self.info.kind

    @property
    def name(self) -> str:
        return self.info.name

    def element(self, state: State) -> tuple[View, list[Value]]:
        """The buffer, and the indices of the one element in each lane."""
        return state.env[self.info.slot], [start(state) for start in self.starts]

    def tile(self, state: State, lanes: tuple[int, ...]) -> Tile:
        """The region with the current values of its indices; ``lanes`` are its leading axes."""
        view, site = state.env[self.info.slot], self.access.site
        subject = f"the size of the tile of {self.name}"
        extents = tuple(int(site.uniform(state, extent(state), subject)) for extent in self.extents)
        if any(extent < 0 for extent in extents):
            raise site.error(state, LanguageError, f"the tile of {self.name} has a negative size", found=str(extents))
        rank, trailing = len(extents), (1,) * len(extents)
        indices = []
        for axis, start in enumerate(self.starts):
            first = start(state)
            steps = np.arange(extents[axis]).reshape((1,) * axis + (-1,) + (1,) * (rank - axis - 1))
            if lanes and np.ndim(first):
                first = np.broadcast_to(first, lanes).reshape(lanes + trailing)
            else:
                first = int(site.uniform(state, first, f"the place of the tile of {self.name}"))
            indices.append(first + steps)
        base = view.base.reshape(view.lanes + trailing) if view.lanes else 0
        mask = None
        if lanes and state.mask is not None:
            mask = np.broadcast_to(state.mask, lanes).reshape(lanes + trailing)
        return Tile(state, self.access, view, extents, lanes, indices, base, mask)


@dataclass
class Tile:
    """A region with known indices: ``shape`` has the lanes first, then the extents of the region."""

    state: State
    access: Access
    view: View
    extents: tuple[int, ...]
    lanes: tuple[int, ...]
    indices: list[Any]
    base: Any
    mask: Mask

    @property
    def shape(self) -> tuple[int, ...]:
        return self.lanes + self.extents

    @property
    def kind(self) -> ValueType:
        return self.view.kind

    def place(self, mask: Mask = None) -> tuple[Any, Mask]:
        """Offsets of the elements, and the ones that are inside the buffer, of those in ``mask``."""
        return self.view.place(self.state, self.indices, self.mask if mask is None else mask, self.access, self.base)

    def read(self, needed: Mask = None) -> np.ndarray:
        """The elements, of ``shape``. Outside a global buffer they are 0 or its safe value. needed: a mask of the
        elements that matter; others may be unwritten."""
        offset, reached = self.place(needed)
        value = self.view.fetch(self.state, offset, reached, self.indices, self.access)
        return np.broadcast_to(value, self.shape)

    def write(self, value: Value, placed: tuple[Any, Mask] | None = None) -> None:
        """Write ``value`` (broadcasts to ``shape``); elements outside a global buffer are dropped."""
        offset, reached = self.place() if placed is None else placed
        is_unshared = not self.lanes or self.view.lanes == self.lanes or not self.state.options.check
        self.view.put(self.state, offset, reached, value, self.access, self.shape, is_unshared)

    def require_shape(self, expected: Sequence[int], subject: str) -> None:
        if tuple(expected) != self.extents:
            raise self.access.site.error(
                self.state,
                LanguageError,
                f"{subject}: the tile of {self.view.name} has the wrong shape",
                found=f"shape {self.extents}",
                expected=f"shape {tuple(expected)}",
            )

    def matrix_shape(self, subject: str) -> tuple[int, int]:
        """The last two extents; raises LanguageError where another extent is not 1."""
        if len(self.extents) < 2 or any(extent != 1 for extent in self.extents[:-2]):
            raise self.access.site.error(
                self.state,
                LanguageError,
                f"{subject}: the tile of {self.view.name} is not a matrix",
                found=f"shape {self.extents}",
                expected="two axes, and only axes of extent 1 before them",
            )
        return self.extents[-2], self.extents[-1]

    def read_matrix(self, subject: str) -> np.ndarray:
        """The tile as (lanes..., rows, columns)."""
        return self.read().reshape(self.lanes + self.matrix_shape(subject))


def without_unit_axes(extents: Sequence[int]) -> tuple[int, ...]:
    """The extents other than 1."""
    return tuple(extent for extent in extents if extent != 1)


def executing_lanes(state: State, regions: Sequence[Region], subject: str) -> tuple[int, ...]:
    """The shape of the lanes that execute the operation, each on its own memory; () where the block executes it once.

    Raises LanguageError where the block executes it but not all of its threads are active.
    """
    if not state.lanes:
        return ()
    if any(state.env[region.info.slot].lanes for region in regions):
        return state.lanes
    require_block(state, regions[0].access.site, subject)
    return ()


def require_block(state: State, site: Any, subject: str) -> None:
    """Raises unless all threads of the block are active."""
    if not all_active(state.mask):
        raise site.error(
            state,
            LanguageError,
            f"{subject} is reached by only some threads of the block",
            found=f"{int(np.sum(np.broadcast_to(state.mask, state.lanes)))} of {int(np.prod(state.lanes))} threads",
            expected="all threads: the whole block executes it together",
            hint="move it out of the condition or loop that depends on the thread",
        )
