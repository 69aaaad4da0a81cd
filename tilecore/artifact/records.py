"""The frozen record of a compiled kernel: what the cache stores, what ``kernel.export()`` writes, adapters load.

Nothing in it needs TVM. Sizes that depend on the arguments are :class:`Dim` programs over the symbols.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tilecore.artifact.dims import Dim, dim_from_json, dim_to_json
from tilecore.artifact.packing import unpacked, unpacked_state
from tilecore.frozen_dataclasses import frozen


@frozen
class TensorParam:
    """One tensor parameter, as the user declared it.

    shape, strides: a :class:`Dim` per axis, in elements; ``strides=None`` means contiguous, row-major.
    dtype: of the elements; ``packed`` elements share one storage element (2 for int4: the tensor that the caller
    passes is int8 with its last axis halved, the even element in the low bits).
    access: "r", "w" or "rw", as the kernel uses it. align: bytes that the data pointer must be a multiple of.
    pointer: "address" for a T.ptr: a call may pass an address instead of a tensor. "table": the elements are addresses.
    needed: other than 0 where the kernel accesses the tensor; of the sizes of the call and its integer scalars, by
    their names. Where it is 0 a call may pass None, and the slot is 0.
    """

    name: str
    dtype: str
    shape: tuple[Dim, ...]
    strides: tuple[Dim, ...] | None = None
    access: str = "rw"
    align: int = 1
    packed: int = 1
    pointer: str = ""
    needed: Dim = 1


@frozen
class ScalarParam:
    """One scalar parameter; passed as a Python number (or a 0-d tensor) and converted to ``dtype``."""

    name: str
    dtype: str


Param = TensorParam | ScalarParam


@frozen
class Symbol:
    """A size that is known only at the call: bound from the first shape or stride (or scalar) where it stands.

    ``source`` says from where: ("shape" | "stride", parameter index, axis) or ("scalar", parameter index, 0), and
    ``scale``/``offset`` when that size is ``scale * symbol + offset`` rather than the symbol itself.
    """

    name: str
    source: tuple[str, int, int]
    dtype: str = "int32"
    scale: int = 1
    offset: int = 0


@frozen
class Workspace:
    """Global memory that the kernel needs beside its arguments (``T.alloc_global``): allocated by the launcher."""

    name: str
    dtype: str
    shape: tuple[Dim, ...]


@frozen
class Entry:
    """One device function of the kernel; the entries of an artifact are launched in order.

    Every entry takes the same *slots*, 8 bytes each: the data pointers of the tensor parameters in order, of the
    workspaces in order, the scalar parameters in order (integers sign- or zero-extended, floats as the bits of their
    own dtype), then the symbols in order (int64). Symbols that come from a scalar stand last: they are for the launcher
    only, as the device function has the scalar.

    grid: blocks along x, y, z. threads: threads of a block along x, y, z.
    shared_bytes: on-chip memory of a block that the launch must provide.
    work: rough cost of one block in nanoseconds, for choosing how to launch; 0 means unknown.
    longest: what one block takes at most, in nanoseconds; 0 where nothing bounds it but the call's data or sizes. Other
    Python threads are kept waiting only for kernels that are surely short.
    attributes: what else the backend's launcher needs (strings, numbers, lists), opaque to the core.
    """

    symbol: str
    grid: tuple[Dim, Dim, Dim]
    threads: tuple[int, int, int] = (1, 1, 1)
    shared_bytes: Dim = 0
    work: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    longest: int = 0


@frozen
class Assumption:
    """What the kernel promises about the sizes and the integer scalars of a call (``T.assume``), checked by the launch.

    condition: other than 0 where it holds. text: the condition as the kernel states it.
    """

    condition: Dim
    text: str


@frozen
class Artifact:
    """A compiled kernel.

    target: canonical target text. backend: distribution name of the plugin that made it. adapter: the execution
    backend that it was built for. source/source_format: the emitted text. binary/binary_format: what the adapter
    loads ("object", "shared", "cubin", ... or "" when the source itself is loaded).
    out_idx: indices of the parameters that the call allocates and returns. versions: of everything that made it.
    report: what ``kernel.explain()`` prints, as plain data. index_bits: 32 where the code cannot reach past 2**31 bytes
    of a tensor, which the launch then checks. index_hint: what users can do about larger tensors. assumptions: those
    that the launch checks.
    """

    name: str
    target: str
    backend: str
    adapter: str
    params: tuple[Param, ...]
    symbols: tuple[Symbol, ...]
    workspaces: tuple[Workspace, ...]
    entries: tuple[Entry, ...]
    out_idx: tuple[int, ...]
    source: str
    source_format: str
    binary: bytes
    binary_format: str
    versions: Mapping[str, str] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    index_bits: int = 64
    index_hint: str = ""
    assumptions: tuple[Assumption, ...] = ()

    def __getattr__(self, name: str) -> Any:
        """Fields that are kept compressed (packing.py), which the object does not have as attributes."""
        return unpacked(self, name)

    def __getstate__(self) -> dict[str, Any]:
        return unpacked_state(self)

    def to_json(self) -> dict[str, Any]:
        """Everything but ``source`` and ``binary``, as JSON data; ``Artifact.from_json`` takes it back."""
        return {
            "name": self.name,
            "target": self.target,
            "backend": self.backend,
            "adapter": self.adapter,
            "params": [_param_to_json(p) for p in self.params],
            "symbols": [[s.name, list(s.source), s.dtype, s.scale, s.offset] for s in self.symbols],
            "workspaces": [[w.name, w.dtype, [dim_to_json(d) for d in w.shape]] for w in self.workspaces],
            "entries": [_entry_to_json(e) for e in self.entries],
            "out_idx": list(self.out_idx),
            "source_format": self.source_format,
            "binary_format": self.binary_format,
            "versions": dict(self.versions),
            "report": dict(self.report),
            "index_bits": self.index_bits,
            "index_hint": self.index_hint,
            "assumptions": [[dim_to_json(a.condition), a.text] for a in self.assumptions],
        }

    @staticmethod
    def from_json(facts: Mapping[str, Any], source: str, binary: bytes) -> Artifact:
        return Artifact(
            name=facts["name"],
            target=sys.intern(facts["target"]),
            backend=facts["backend"],
            adapter=facts["adapter"],
            params=tuple(_param_from_json(p) for p in facts["params"]),
            symbols=tuple(Symbol(s[0], (s[1][0], s[1][1], s[1][2]), s[2], s[3], s[4]) for s in facts["symbols"]),
            workspaces=tuple(Workspace(w[0], w[1], tuple(map(dim_from_json, w[2]))) for w in facts["workspaces"]),
            entries=tuple(_entry_from_json(e) for e in facts["entries"]),
            out_idx=tuple(facts["out_idx"]),
            source=source,
            source_format=facts["source_format"],
            binary=binary,
            binary_format=facts["binary_format"],
            versions=facts["versions"],
            report=facts["report"],
            index_bits=facts["index_bits"],
            index_hint=facts.get("index_hint", ""),
            assumptions=tuple(Assumption(dim_from_json(a[0]), a[1]) for a in facts.get("assumptions", ())),
        )


def _param_to_json(param: Param) -> dict[str, Any]:
    if isinstance(param, ScalarParam):
        return {"scalar": param.name, "dtype": param.dtype}
    return {
        "tensor": param.name,
        "dtype": param.dtype,
        "shape": [dim_to_json(d) for d in param.shape],
        "strides": None if param.strides is None else [dim_to_json(d) for d in param.strides],
        "access": param.access,
        "align": param.align,
        "packed": param.packed,
        **({"pointer": param.pointer} if param.pointer else {}),
        **({"needed": dim_to_json(param.needed)} if param.needed != 1 else {}),
    }


def _param_from_json(facts: Mapping[str, Any]) -> Param:
    if "scalar" in facts:
        return ScalarParam(facts["scalar"], facts["dtype"])
    strides = facts["strides"]
    return TensorParam(
        facts["tensor"],
        facts["dtype"],
        tuple(map(dim_from_json, facts["shape"])),
        None if strides is None else tuple(map(dim_from_json, strides)),
        facts["access"],
        facts["align"],
        facts["packed"],
        facts.get("pointer", ""),
        dim_from_json(facts.get("needed", 1)),
    )


def _entry_to_json(entry: Entry) -> dict[str, Any]:
    return {
        "symbol": entry.symbol,
        "grid": [dim_to_json(d) for d in entry.grid],
        "threads": list(entry.threads),
        "shared_bytes": dim_to_json(entry.shared_bytes),
        "work": entry.work,
        "longest": entry.longest,
        "attributes": dict(entry.attributes),
    }


def _entry_from_json(facts: Mapping[str, Any]) -> Entry:
    x, y, z = (dim_from_json(d) for d in facts["grid"])
    tx, ty, tz = facts["threads"]
    return Entry(
        facts["symbol"],
        (x, y, z),
        (tx, ty, tz),
        dim_from_json(facts["shared_bytes"]),
        facts["work"],
        facts["attributes"],
        facts.get("longest", 0),
    )
