"""Reads the arguments of a launch in Python, for adapters whose device is reached through a Python library.

``LoadedKernel.launch`` gets two addresses, of the slots and of the grids (:class:`~tilecore.artifact.records.Entry`
describes their contents). A :class:`CallReader` turns them into a :class:`KernelCall`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilecore.artifact.dims import evaluate
from tilecore.artifact.records import Artifact, Entry, ScalarParam, TensorParam, Workspace
from tilecore.dtypes import FACTS
from tilecore.errors import ArgumentError
from tilecore.target import Target


@dataclass(frozen=True)
class TensorSlot:
    """A tensor or a workspace of a call.

    address: address of element 0. shape, strides: in elements; strides None: contiguous, row-major. packed: number of
    elements in one storage element. access: "r", "w" or "rw"; a tensor of packed elements that is written has "rw", as
    a store of one element reads and keeps the others. absent: the call passed None; then the shape has no elements.
    """

    name: str
    address: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    packed: int = 1
    access: str = "rw"
    absent: bool = False

    @property
    def item(self) -> int:
        """Bytes of one storage element."""
        return (FACTS[self.dtype].bits * self.packed + 7) // 8

    @property
    def nbytes(self) -> int:
        """Bytes from element 0 to the end of the element with the highest address; 0 without elements."""
        shape, strides = storage(self.shape, self.strides, self.packed)
        if 0 in shape:
            return 0
        return (1 + sum(max(0, s * (n - 1)) for n, s in zip(shape, strides, strict=True))) * self.item

    @property
    def bytes_before(self) -> int:
        """Bytes of elements at addresses below element 0 (negative strides); 0 without elements."""
        shape, strides = storage(self.shape, self.strides, self.packed)
        if 0 in shape:
            return 0
        return sum(max(0, -s * (n - 1)) for n, s in zip(shape, strides, strict=True)) * self.item


@dataclass(frozen=True)
class ScalarSlot:
    """A scalar parameter, or a size that kernels take. data: its bytes, as many as its type has."""

    name: str
    dtype: str
    data: bytes


@dataclass(frozen=True)
class EntryLaunch:
    """One device function to launch. number: index among the artifact's entries. grid: blocks along x, y, z."""

    number: int
    entry: Entry
    grid: tuple[int, int, int]
    shared_bytes: int


@dataclass(frozen=True)
class KernelCall:
    """One call of a kernel. tensors: parameters, then workspaces. scalars: scalar parameters, then sizes.
    symbols: sizes by name. launches: in the order in which they run."""

    tensors: tuple[TensorSlot, ...]
    scalars: tuple[ScalarSlot, ...]
    symbols: dict[str, int]
    launches: tuple[EntryLaunch, ...]


class CallReader:
    """Reads calls of one artifact.

    backward: whether the adapter takes tensors with negative strides; if not, calls with them raise ArgumentError.
    """

    def __init__(self, artifact: Artifact, *, backward: bool = False) -> None:
        self.artifact = artifact
        self.backward = backward
        params = [p for p in artifact.params if isinstance(p, TensorParam)]
        self._memory: list[TensorParam | Workspace] = [*params, *artifact.workspaces]
        scalars = [(p.name, p.dtype) for p in artifact.params if isinstance(p, ScalarParam)]
        # only the launcher needs a symbol that comes from a scalar: kernels have the scalar
        sizes = [(s.name, s.dtype) for s in artifact.symbols if s.source[0] != "scalar"]
        self._scalars = [(name, dtype, (FACTS[dtype].bits + 7) // 8) for name, dtype in (*scalars, *sizes)]
        self._first_symbol = len(self._memory) + len(scalars)

    def __call__(self, slots: int, grids: int) -> KernelCall:
        """The call at these addresses. slots, grids: the addresses that the launch was given."""
        artifact, count = self.artifact, len(self._memory)
        values = (ctypes.c_int64 * (self._first_symbol + len(artifact.symbols))).from_address(slots)
        symbols = {s.name: values[i] for i, s in enumerate(artifact.symbols, self._first_symbol)}
        tensors = tuple(_tensor(m, values[i], symbols) for i, m in enumerate(self._memory))
        if not self.backward:
            self._check_direction(tensors)
        scalars = tuple(
            ScalarSlot(name, dtype, ctypes.string_at(slots + 8 * i, size))
            for i, (name, dtype, size) in enumerate(self._scalars, count)
        )
        sizes = (ctypes.c_int64 * (4 * len(artifact.entries))).from_address(grids)
        launches = []
        for number, entry in enumerate(artifact.entries):
            x, y, z, shared = sizes[4 * number : 4 * number + 4]
            if x and y and z:
                launches.append(EntryLaunch(number, entry, (x, y, z), shared))
        return KernelCall(tensors, scalars, symbols, tuple(launches))

    def _check_direction(self, tensors: Sequence[TensorSlot]) -> None:
        for tensor in tensors:
            if tensor.strides is not None and tensor.bytes_before:
                target = Target.parse(self.artifact.target).brief()
                raise ArgumentError(
                    f"{self.artifact.name}(): {tensor.name} has a negative stride, which {target} does not support",
                    found=f"strides {tensor.strides}",
                    expected="strides of 0 or more",
                    hint=f"pass a copy of {tensor.name}, which has its elements in row-major order",
                )


def storage(
    shape: Sequence[int], strides: Sequence[int] | None, packed: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides in storage elements. A storage element holds ``packed`` elements of the last axis."""
    shape = tuple(shape)
    if packed > 1 and shape:
        shape = (*shape[:-1], -(-shape[-1] // packed))
    if strides is not None:
        return shape, (*(s // packed for s in strides[:-1]), 1) if packed > 1 else tuple(strides)
    row_major, step = [], 1
    for extent in reversed(shape):
        row_major.append(step)
        step *= extent
    return shape, tuple(reversed(row_major))


def _tensor(memory: TensorParam | Workspace, address: int, symbols: dict[str, int]) -> TensorSlot:
    shape = tuple(evaluate(d, symbols) for d in memory.shape)
    place = address & (2**64 - 1)
    if isinstance(memory, Workspace):
        return TensorSlot(memory.name, place, memory.dtype, shape)
    strides = None if memory.strides is None else tuple(evaluate(d, symbols) for d in memory.strides)
    access = "rw" if memory.packed > 1 and "w" in memory.access else memory.access
    slot = TensorSlot(memory.name, place, memory.dtype, shape, strides, memory.packed, access)
    return slot if place or not slot.nbytes else replace(slot, shape=(0, *shape[1:]), absent=True)
