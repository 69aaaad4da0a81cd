"""The live ranges of a kernel's local buffers, and which buffers are used together.

The leaves of the statement tree are numbered in order. A parallel region has one number, as its commands have no order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from tile_tpu.ir.accesses import Access, accesses_of, aliases_of, heads, is_leaf
from tile_tpu.ir.instructions import CONTROL, DMA, instruction_of
from tile_tpu.ir.views import LOCAL
from tile_tpu.lowering.local_memory.loop_carried import LoopCarried
from tilecore.ir.build import constant
from tilecore.ir.nodes import AllocBuffer, DeclBuffer, For, Stmt, Var, While
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import children

UNKNOWN_TRIPS = 16  # the assumed iterations of a loop whose extent is not a compile-time constant
MOST_TRIPS = 1 << 40


@dataclass
class LiveRange:
    """A buffer's live range.

    first, last: the indices of the leaves between which it is live. uses: the leaves that access it. allocated: the
    leaf before its allocation. lines: the user's first and last line that uses it.
    """

    allocated: int
    location: Any = None
    uses: list[int] = field(default_factory=list)
    first: int = -1
    last: int = -1
    lines: list[int] = field(default_factory=list)


class LiveRanges:
    """The live ranges of a kernel's local buffers.

    ranges: by buffer, in the order of allocation, of buffers that are used. together: how often engines use two buffers
    at the same time. unused: the other buffers. aliases: for each view the buffer whose memory it names.
    """

    def __init__(self, kernel: Stmt, lanes: int) -> None:
        self.aliases = aliases_of(kernel)
        self.dependences = LoopCarried(kernel, lanes)
        self.ranges: dict[Var, LiveRange] = {}
        self.together: dict[frozenset[Var], int] = {}
        self.unused: list[Var] = []
        self.clock = 0
        self._region: dict[str, set[Var]] | None = None  # buffers by engine, inside of a parallel region
        self._loops: list[tuple[For | While, int, int]] = []  # innermost first: first and last leaf
        self._walk(kernel, 1)
        self._extend()

    # -- walking ------------------------------------------------------------------------------------------------

    def _walk(self, node: Stmt, trips: int) -> None:
        if isinstance(node, AllocBuffer):
            if str(node.buffer.scope()) == LOCAL:
                location = location_of_span(getattr(node, "span", None))
                self.ranges[node.buffer] = LiveRange(self.clock, location)
        elif isinstance(node, DeclBuffer):
            return
        elif is_leaf(node):
            self._leaf(node, trips)
        elif isinstance(node, (For, While)):
            self._loop(node, trips)
        else:
            for part in heads(node):
                self._use(accesses_of(part), trips, getattr(node, "span", None))
            for child in children(node):
                self._walk(child, trips)

    def _loop(self, node: For | While, trips: int) -> None:
        inner = min(MOST_TRIPS, trips * _trips(node))
        if isinstance(node, For):
            self._use([t for part in heads(node) for t in accesses_of(part)], trips, node.span)
        begin = self.clock + 1
        if isinstance(node, While):
            self._use(accesses_of(node.condition), inner, node.span)
        self._walk(node.body, inner)
        self._loops.append((node, begin, self.clock))

    def _leaf(self, node: Stmt, trips: int) -> None:
        instruction = instruction_of(node)
        name = instruction.name if instruction is not None else ""
        if name == "parallel_start":
            self.clock += 1
            self._region = {}
        elif name == "parallel_end":
            self._end_region(trips)
        else:
            self._use(accesses_of(node), trips, getattr(node, "span", None))

    def _end_region(self, trips: int) -> None:
        region, self._region = self._region or {}, None
        used_by_dma = region.pop(DMA, set())
        for used_by_engine in region.values():
            for a in used_by_dma:
                for b in used_by_engine - {a}:
                    self._pair(a, b, trips)

    def _use(self, accesses: list[Access], trips: int, span: Any) -> None:
        if self._region is None:
            self.clock += 1
        used = {self._root(t.buffer): t.engine for t in accesses if t.is_local}
        location = location_of_span(span)
        for buffer, engine in used.items():
            live_range = self.ranges[buffer]
            live_range.uses.append(self.clock)
            if location is not None:
                live_range.lines = [
                    min([*live_range.lines[:1], location.line]),
                    max([*live_range.lines[1:], location.line]),
                ]
            if self._region is not None:
                self._region.setdefault(engine, set()).add(buffer)
        for a, b in combinations([b for b, engine in used.items() if engine != CONTROL], 2):
            self._pair(a, b, trips)

    def _pair(self, a: Var, b: Var, trips: int) -> None:
        key = frozenset((a, b))
        self.together[key] = self.together.get(key, 0) + trips

    def _root(self, buffer: Var) -> Var:
        return self.aliases.get(buffer, buffer)

    # -- ranges -------------------------------------------------------------------------------------------------

    def _extend(self) -> None:
        """Extends a range over a whole loop where an iteration reads what an earlier one wrote to the buffer, or where
        the buffer is read after the loop."""
        self.unused = [buffer for buffer, live_range in self.ranges.items() if not live_range.uses]
        for buffer in self.unused:
            del self.ranges[buffer]
        for buffer, live_range in self.ranges.items():
            live_range.first, live_range.last = min(live_range.uses), max(live_range.uses)
            for loop, begin, end in self._loops:
                if live_range.allocated >= begin or not any(begin <= use <= end for use in live_range.uses):
                    continue
                if live_range.last > end or self.dependences.carries(loop, buffer):
                    live_range.first, live_range.last = min(live_range.first, begin), max(live_range.last, end)


def _trips(node: For | While) -> int:
    constant_trips = constant(node.extent) if isinstance(node, For) else None
    return UNKNOWN_TRIPS if constant_trips is None else max(1, constant_trips)
