"""Places shared buffers in the block's arena; those whose lives do not overlap share memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import Location
from tilecore.ir.build import dtype_of, nothing
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    For,
    IfThenElse,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    While,
    structural_map,
    tirx,
)
from tilecore.ir.scopes import is_shared
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_ranges import has_ranges, range_of
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, variables
from tilecore.lowering.analysis.kernels import Threads, each_kernel
from tilecore.lowering.analysis.shared_size import size_of
from tilecore.lowering.analysis.uniformity import Uniformity
from tilecore.lowering.buffers.replace_buffers import with_buffers
from tilecore.lowering.simt.analysis.shared_limit import too_much_shared
from tilecore.lowering.simt.insert_barriers import NEST
from tilecore.lowering.simt.lower_allreduce import UNIFORM

ALIGN = 128  # bytes; bulk copies and swizzles want it
ALL_LIVE = "shared_lives"  # the fact: no two buffers share memory, as work that waits for nobody uses them
SMALL = 256  # bytes: such buffers share no memory, which would cost a barrier


def plan_shared(func: PrimFunc, env: PassEnv) -> PrimFunc:
    offsets: dict[Var, tuple[int, int]] = {}

    names: set[str] = set()
    alignment: dict[Var, int] = dict(env.facts.get("shared_alignment", {}))
    alone: set[Var] = set(env.facts.get("shared_alone", ()))

    def plan(body: Stmt, threads: Threads) -> Stmt:
        body = _renamed(body, names, alignment, alone)
        uniformity = Uniformity(body, threads, env.facts.get(UNIFORM, ()))
        made = _Plan(body, uniformity, alignment, alone, bool(env.facts.get(ALL_LIVE)))
        placed = made.placed
        offsets.update(placed)
        total = max((start + size for start, size in placed.values()), default=0)
        limit = env.capabilities.shared_bytes
        if limit and total > limit:
            env.refuse(too_much_shared(placed, total, made.needed, made.place_of_largest(), env))
        rows = {str(b.name): list(p) for b, p in placed.items()}
        lines = {str(b.name): made.lines[b] for b in placed if b in made.lines}
        env.note("shared_memory", {"bytes": total, "buffers": rows, "lines": lines})
        return _without_unused(body, placed)

    body = each_kernel(func.body, plan)
    env.facts["shared_offsets"] = offsets
    return func.with_body(body)


def _without_unused(body: Stmt, placed: Mapping[Var, tuple[int, int]]) -> Stmt:
    def alloc(node: AllocBuffer) -> Stmt:
        return nothing() if is_shared(node.buffer) and node.buffer not in placed else node

    return structural_map(body, (AllocBuffer, alloc))


def _renamed(body: Stmt, names: set[str], alignment: dict[Var, int], alone: set[Var]) -> Stmt:
    """Shared buffers get names of their own: the code generator finds their offsets by them."""
    renamed: dict[Var, Var] = {}
    for node in collect(body, AllocBuffer):
        buffer = node.buffer
        if not is_shared(buffer):
            continue
        name, number = str(buffer.name), 1
        while name in names:
            name, number = f"{buffer.name}_{number}", number + 1
        names.add(name)
        if name != str(buffer.name):
            scope, shape = str(buffer.scope()), list(buffer.shape)
            renamed[buffer] = tirx.decl_buffer(shape, dtype_of(buffer), name, scope=scope, layout=None)
            if buffer in alignment:
                alignment[renamed[buffer]] = alignment[buffer]
            if buffer in alone:
                alone.add(renamed[buffer])
    return with_buffers(body, renamed) if renamed else body


class _Plan:
    """Lives as intervals of statements, counted through the code; a buffer used in a loop lives through all of it,
    unless it is allocated in there. What threads go through on their own, with no barrier in it, is one moment: a
    thread may be at its end before another one begins. A buffer that some threads use by themselves lives through the
    whole kernel."""

    def __init__(
        self, body: Stmt, uniformity: Uniformity, alignment: dict[Var, int], alone: set[Var], lives_all: bool
    ) -> None:
        self.uniformity, self.alignment, self.alone = uniformity, alignment, alone
        self.roots = memory_roots(body)
        allocs = [a for a in collect(body, AllocBuffer) if is_shared(a.buffer)]
        self.buffers = [alloc.buffer for alloc in allocs]
        self.sizes = {buffer: size_of(buffer) for buffer in self.buffers}
        self.places = {alloc.buffer: location_of_span(alloc.span) for alloc in allocs}
        self.lives: dict[Var, list[int]] = {}
        self.lines: dict[Var, list[int]] = {}  # the user's first and last line that uses it
        self.allocated: dict[Var, int] = {}
        self.clock = 0
        self.apart: set[Var] = set()  # used by some threads, whose time is not that of the others
        self._walk(body, [])
        for buffer in list(self.lives if lives_all else self.apart & set(self.lives)):
            self.lives[buffer] = [0, self.clock]
        self.placed = self._place()

    def needed(self, sizes: Mapping[Var, int]) -> int:
        """Bytes of a block if buffers had these sizes; those that are not named take none."""
        before, self.sizes = self.sizes, {buffer: sizes.get(buffer, 0) for buffer in self.buffers}
        placed, self.sizes = self._place(), before
        return max((start + size for start, size in placed.values()), default=0)

    def place_of_largest(self) -> Location | None:
        """Where the user's largest buffer is allocated, or first used."""
        by_size = sorted(self.placed, key=lambda b: -self.placed[b][1])
        return next((place for b in by_size if (place := self.places.get(b)) is not None), None)

    def _walk(self, node: Stmt, loops: list[int]) -> None:
        """loops: when each loop around began."""
        if self._is_one(node):
            self._use(node)
        elif isinstance(node, SeqStmt):
            for part in node.seq:
                self._walk(part, loops)
        elif isinstance(node, (For, While)):
            begin = self.clock + 1
            self._use(node.condition if isinstance(node, While) else node.extent)
            self._walk(node.body, [*loops, begin])
            for buffer, life in self.lives.items():
                if life[1] >= begin and self.allocated.get(buffer, -1) < begin:
                    life[0], life[1] = min(life[0], begin), self.clock
        elif isinstance(node, IfThenElse):
            self._use(node.condition)
            self._walk(node.then_case, loops)
            if node.else_case is not None:
                self._walk(node.else_case, loops)
        elif isinstance(node, AttrStmt):
            if range_of(node) is not None:
                self.apart |= {self.roots.get(v, v) for v in variables(node)} & set(self.buffers)
            self._walk(node.body, loops)
        elif isinstance(node, AllocBuffer):
            self.allocated[node.buffer] = self.clock
        else:
            self._use(node)

    def _is_one(self, node: Stmt) -> bool:
        """Is it code that barriers stand before or after only?"""
        if has_ranges(node):
            return False
        return (isinstance(node, AttrStmt) and node.attr_key == NEST) or self.uniformity.is_divergent(node)

    def _use(self, node: Any) -> None:
        self.clock += 1
        used = {self.roots.get(v, v) for v in variables(node)}
        for buffer in self.buffers:
            if buffer in used:
                life = self.lives.setdefault(buffer, [self.clock, self.clock])
                life[1] = self.clock
                self._use_line(buffer, node)

    def _use_line(self, buffer: Var, node: Any) -> None:
        place = location_of_span(getattr(node, "span", None))
        if place is not None:
            first, last = self.lines.get(buffer, (place.line, place.line))
            self.lines[buffer] = [min(first, place.line), max(last, place.line)]
            if self.places.get(buffer) is None:
                self.places[buffer] = place

    def _place(self) -> dict[Var, tuple[int, int]]:
        """The largest first, each at the lowest offset where nobody lives at the same time."""
        placed: dict[Var, tuple[int, int]] = {}
        for buffer in sorted(self.lives, key=lambda b: (-self.sizes[b], self.lives[b][0])):
            size, align = self.sizes[buffer], max(ALIGN, self.alignment.get(buffer, ALIGN))
            start = 0
            for low, high in sorted((p[0], p[0] + p[1]) for o, p in placed.items() if self._meet(buffer, o)):
                if start + size <= low:
                    break
                start = max(start, -(-high // align) * align)
            placed[buffer] = (start, size)
        return placed

    def _meet(self, a: Var, b: Var) -> bool:
        if min(self.sizes[a], self.sizes[b]) <= SMALL or a in self.alone or b in self.alone:
            return True
        mine, other = self.lives[a], self.lives[b]
        return mine[0] <= other[1] and other[0] <= mine[1]


PLAN_SHARED = Pass("plan_shared", plan_shared)
