"""Summarizes the compiler's notes on a compiled kernel, by the user's line.

A remark is slow where the target has a faster way, and the remark names the reason why it was not taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilecore.ir.nodes import AllocBuffer, AttrStmt, Evaluate, For, TensorRegion
from tilecore.ir.scopes import is_global
from tilecore.ir.spans import location_of_span
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect, stores
from tilecore.lowering.analysis.kernels import is_axis
from tilecore.lowering.tile_ops.registry import implementations_of

if TYPE_CHECKING:
    from tilecore.contract.records import Backend
    from tilecore.errors import Location
    from tilecore.ir.nodes import PrimFunc

Row = Mapping[str, Any]
NARROW = 4  # bytes: accesses of a thread up to this width give a remark; narrower ones are slow
_LINE = re.compile(r"^(?:on )?line (\d+):? ")


@dataclass(frozen=True)
class Remark:
    """A remark on a line of the user's file; line: None for a remark on the whole kernel."""

    line: int | None
    text: str
    slow: bool = False


def remarks_of(report: Mapping[str, Iterable[Row]], func: PrimFunc, backend: Backend) -> list[Remark]:
    """The remarks on a compiled kernel, sorted by line. func: its tile IR."""
    places = _Places(func)
    remarks: list[Remark] = []
    for topic, remarks_of_row in _TOPICS.items():
        for row in report.get(topic, ()):
            remarks += remarks_of_row(row, places)
    for row in report.get("tile_ops", ()):
        remarks += _operation(row, backend)
    unique = dict.fromkeys(remarks)
    return sorted(unique, key=lambda remark: (remark.line is None, remark.line or 0))


class _Places:
    """The source lines of a kernel's allocations and loops, and of the kernel itself."""

    def __init__(self, func: PrimFunc) -> None:
        self._buffers = self._lines((str(a.buffer.name), a) for a in collect(func.body, AllocBuffer))
        self._loops = self._lines((str(f.loop_var.name), f) for f in collect(func.body, For))
        axes = (location_of_span(a.span) for a in collect(func.body, AttrStmt) if is_axis(a))
        first: Location | None = next((place for place in axes if place is not None), None)
        self.kernel = None if first is None else first.line
        self.copied = _only_copied(func)

    @staticmethod
    def _lines(nodes: Iterable[tuple[str, Any]]) -> dict[str, int]:
        places = ((name, location_of_span(node.span)) for name, node in nodes)
        return {name: place.line for name, place in places if place is not None}

    def buffer(self, name: str) -> int | None:
        return self._buffers.get(name, self.kernel)

    def loop(self, name: str) -> int | None:
        return self._loops.get(name, self.kernel)


def _only_copied(func: PrimFunc) -> set[str]:
    """Names of on-chip buffers that only copies from tensors write."""
    calls = [call for node in collect(func.body, Evaluate) if (call := as_tile_call(node)) is not None]
    copied: set[Any] = set()
    written: set[Any] = {store.buffer for store in stores(func.body)}
    for call in calls:
        targets = {call.args[name].source for name in call.op.writes if isinstance(call.args[name], TensorRegion)}
        is_load = call.op.name == "copy" and is_global(call.src.source)
        (copied if is_load else written).update(targets)
    return {str(buffer.name) for buffer in copied - written}


def _operation(row: Row, backend: Backend) -> Iterator[Remark]:
    """Why better implementations declined. Slow: a last resort was used, and the target has better ones of its own."""
    declined = [(name, why) for name, why in row.get("declined", ())]
    if not declined or row["op"] == "annotate":
        return
    backend_names = {impl.name for impl in backend.lowering.implementations if impl.op == row["op"]}
    last = {impl.name for impl in implementations_of(backend) if impl.op == row["op"] and impl.last_resort}
    slow = row["implementation"] in last and any(name in backend_names | last for name, _ in declined)
    reasons = "; ".join(f"not {name}: {why}" for name, why in dict.fromkeys(declined))
    yield Remark(row.get("line"), f"T.{row['op']} as {row['implementation']}; {reasons}", slow)


def _layout(row: Row, places: _Places) -> Iterator[Remark]:
    text = str(row["layout"])
    if text.startswith("shared memory: "):
        reason = text.partition(": ")[2]
        yield Remark(places.buffer(row["buffer"]), f"{row['buffer']} is kept in shared memory: {reason}", True)
    elif text.startswith("not as annotated"):
        yield Remark(places.buffer(row["buffer"]), f"the layout of {row['buffer']} is {text}")


def _scalar(row: Row, places: _Places) -> Iterator[Remark]:
    yield Remark(row.get("line"), f"the loop stays scalar: {row['reason']}", True)


def _move(row: Row, places: _Places) -> Iterator[Remark]:
    narrow = [f"{name} by {size}" for name, size in row["bytes"].items() if size <= NARROW]
    if narrow:
        slow = min(row["bytes"].values()) < NARROW
        yield Remark(row.get("line"), f"a thread moves {', '.join(narrow)} bytes at a time", slow)


def _role(row: Row, places: _Places) -> Iterator[Remark]:
    if "tile" in row:
        slow = row["tile"] in places.copied
        yield Remark(places.buffer(row["tile"]), f"{row['tile']}: {row['declined']}", slow)
    elif "declined" in row:
        yield Remark(places.kernel, f"no producer warps load the tiles: {row['declined']}")


def _overlap(row: Row, places: _Places) -> Iterator[Remark]:
    if "declined" in row:
        yield Remark(places.loop(row["loop"]), f"the loop's iterations do not overlap: {row['declined']}")


def _pair(row: Row, places: _Places) -> Iterator[Remark]:
    yield Remark(places.kernel, f"blocks form no clusters: {row['declined']}")


def _split(row: Row, places: _Places) -> Iterator[Remark]:
    yield Remark(places.kernel, f"blocks share no loop: {row['declined']}")


def _blocks(row: Row, places: _Places) -> Iterator[Remark]:
    yield Remark(places.kernel, f"blocks run {row['order']}")


def _note(row: Row, places: _Places) -> Iterator[Remark]:
    text, slow = str(row["text"]), bool(row.get("slow"))
    line = _LINE.match(text)
    yield Remark(int(line[1]), text[line.end() :], slow) if line else Remark(places.kernel, text, slow)


def _copy(row: Row, places: _Places) -> Iterator[Remark]:
    yield Remark(row.get("line") or places.kernel, str(row["text"]))


_TOPICS = {
    "copies": _copy,
    "layouts": _layout,
    "not_vectorized": _scalar,
    "moves": _move,
    "warp_roles": _role,
    "overlaps": _overlap,
    "block_pairs": _pair,
    "split_k": _split,
    "blocks": _blocks,
    "notes": _note,
}
