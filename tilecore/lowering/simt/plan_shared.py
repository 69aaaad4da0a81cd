"""Assigns offsets in the block's arena to shared buffers; buffers with disjoint live ranges share memory.

Live ranges are intervals of statements in program order. Offsets are assigned greedily: the largest buffer first, each
at the lowest offset that is free during its live range.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.contract.state import SharedRequests
from tilecore.errors import Location
from tilecore.ir.attributes import StatementAttr
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
from tilecore.ir.replace_buffers import with_buffers
from tilecore.ir.scopes import is_shared
from tilecore.ir.sizes import has_dynamic_size
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_ranges import has_ranges, range_of
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, variables
from tilecore.lowering.analysis.kernels import Threads, each_kernel
from tilecore.lowering.analysis.shared_size import size_of
from tilecore.lowering.analysis.uniformity import Uniformity
from tilecore.lowering.fewer_stages import TOPIC
from tilecore.lowering.simt.analysis.shared_limit import fewer_stages, too_much_shared
from tilecore.lowering.simt.state import SharedPlan, UniformBuffers
from tilecore.lowering.state import UserFunction

ALIGN = 128  # bytes; bulk copies and swizzles require it
SMALL = 256  # bytes: buffers of at most this size share no memory, since sharing would cost a barrier


def plan_shared(func: PrimFunc, env: PassEnv) -> PrimFunc:
    offsets: dict[Var, tuple[int, int]] = {}

    names: set[str] = set()
    requests, uniform = env.state(SharedRequests), env.state(UniformBuffers).buffers
    alignment, alone = dict(requests.alignment), set(requests.alone)

    def plan_kernel(body: Stmt, threads: Threads) -> Stmt:
        body = _with_unique_names(body, names, alignment, alone)
        uniformity = Uniformity(body, threads, uniform)
        plan = _Plan(body, uniformity, alignment, alone, requests.all_alone)
        placed = plan.placed
        offsets.update(placed)
        total = max((start + size for start, size in placed.values()), default=0)
        limit = env.capabilities.shared_bytes
        if limit and total > limit:
            user = env.find_state(UserFunction)
            row = None if user is None else fewer_stages(placed, plan.needed, user.shared, env)
            if row is not None:
                env.note(TOPIC, row)
            env.refuse(too_much_shared(placed, total, plan.needed, plan.place_of_largest(), env))
        rows = {str(b.name): list(p) for b, p in placed.items()}
        lines = {str(b.name): plan.lines[b] for b in placed if b in plan.lines}
        env.note("shared_memory", {"bytes": total, "buffers": rows, "lines": lines})
        return _without_unused(body, placed)

    body = each_kernel(func.body, plan_kernel)
    env.publish(SharedPlan(offsets))
    return func.with_body(body)


def _without_unused(body: Stmt, placed: Mapping[Var, tuple[int, int]]) -> Stmt:
    """The code without allocations of shared buffers that it never uses."""

    def alloc(node: AllocBuffer) -> Stmt:
        unused = is_shared(node.buffer) and node.buffer not in placed and not has_dynamic_size(node.buffer)
        return nothing() if unused else node

    return structural_map(body, (AllocBuffer, alloc))


def _with_unique_names(body: Stmt, names: set[str], alignment: dict[Var, int], alone: set[Var]) -> Stmt:
    """The code with unique names of shared buffers: the code generator looks their offsets up by name."""
    renamed: dict[Var, Var] = {}
    for node in collect(body, AllocBuffer):
        buffer = node.buffer
        if not is_shared(buffer):
            continue
        name, suffix = str(buffer.name), 1
        while name in names:
            name, suffix = f"{buffer.name}_{suffix}", suffix + 1
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
    """The live ranges and offsets of one kernel's shared buffers.

    A live range is an interval of statements, counted in program order. A buffer that is used in a loop is live in all
    of it, unless it is allocated in there. Code without barriers that threads execute at different times counts as one
    statement: one thread may be at its end before another one begins. A buffer that a range of threads uses is live in
    the whole kernel.

    alignment: of buffers that need more than ALIGN, in bytes. alone: buffers that share no memory. all_live: no buffers
    share memory. placed: the offset and size of each buffer, in bytes.
    """

    def __init__(
        self, body: Stmt, uniformity: Uniformity, alignment: dict[Var, int], alone: set[Var], all_live: bool
    ) -> None:
        self.uniformity, self.alignment, self.alone = uniformity, alignment, alone
        self.roots = memory_roots(body)
        allocs = [a for a in collect(body, AllocBuffer) if is_shared(a.buffer) and not has_dynamic_size(a.buffer)]
        self.buffers = [alloc.buffer for alloc in allocs]
        self.sizes = {buffer: size_of(buffer) for buffer in self.buffers}
        self.places = {alloc.buffer: location_of_span(alloc.span) for alloc in allocs}
        self.live_ranges: dict[Var, list[int]] = {}
        self.lines: dict[Var, list[int]] = {}  # the user's first and last line that uses it
        self.allocated: dict[Var, int] = {}  # the statement that allocates it
        self.clock = 0  # statements so far
        self.of_ranges: set[Var] = set()  # used by a range of threads, which runs beside the others
        self._walk(body, [])
        for buffer in list(self.live_ranges if all_live else self.of_ranges & set(self.live_ranges)):
            self.live_ranges[buffer] = [0, self.clock]
        self.placed = self._place()

    def needed(self, sizes: Mapping[Var, int]) -> int:
        """The bytes that a block would need with buffers of these sizes; buffers that are not named have size 0."""
        before, self.sizes = self.sizes, {buffer: sizes.get(buffer, 0) for buffer in self.buffers}
        placed, self.sizes = self._place(), before
        return max((start + size for start, size in placed.values()), default=0)

    def place_of_largest(self) -> Location | None:
        """Where the user's largest buffer is allocated, or first used."""
        by_size = sorted(self.placed, key=lambda b: -self.placed[b][1])
        return next((place for b in by_size if (place := self.places.get(b)) is not None), None)

    def _walk(self, node: Stmt, loops: list[int]) -> None:
        """Extends live ranges by the code of ``node``. loops: the first statement of each loop around."""
        if self._is_one_statement(node):
            self._use(node)
        elif isinstance(node, SeqStmt):
            for part in node.seq:
                self._walk(part, loops)
        elif isinstance(node, (For, While)):
            begin = self.clock + 1
            self._use(node.condition if isinstance(node, While) else node.extent)
            self._walk(node.body, [*loops, begin])
            for buffer, live_range in self.live_ranges.items():
                if live_range[1] >= begin and self.allocated.get(buffer, -1) < begin:
                    live_range[0], live_range[1] = min(live_range[0], begin), self.clock
        elif isinstance(node, IfThenElse):
            self._use(node.condition)
            self._walk(node.then_case, loops)
            if node.else_case is not None:
                self._walk(node.else_case, loops)
        elif isinstance(node, AttrStmt):
            if range_of(node) is not None:
                self.of_ranges |= {self.roots.get(v, v) for v in variables(node)} & set(self.buffers)
            self._walk(node.body, loops)
        elif isinstance(node, AllocBuffer):
            self.allocated[node.buffer] = self.clock
        else:
            self._use(node)

    def _is_one_statement(self, node: Stmt) -> bool:
        """Does the code count as one statement, because it cannot contain a barrier?"""
        if has_ranges(node):
            return False
        return (isinstance(node, AttrStmt) and node.attr_key == StatementAttr.NEST) or self.uniformity.is_divergent(
            node
        )

    def _use(self, node: Any) -> None:
        """Counts one statement and extends the live ranges of the buffers that it uses."""
        self.clock += 1
        used = {self.roots.get(v, v) for v in variables(node)}
        for buffer in self.buffers:
            if buffer in used:
                live_range = self.live_ranges.setdefault(buffer, [self.clock, self.clock])
                live_range[1] = self.clock
                self._use_line(buffer, node)

    def _use_line(self, buffer: Var, node: Any) -> None:
        location = location_of_span(getattr(node, "span", None))
        if location is not None:
            first, last = self.lines.get(buffer, (location.line, location.line))
            self.lines[buffer] = [min(first, location.line), max(last, location.line)]
            if self.places.get(buffer) is None:
                self.places[buffer] = location

    def _place(self) -> dict[Var, tuple[int, int]]:
        """The offset and size of each buffer: the largest first, each at the lowest offset that is free in its live
        range."""
        placed: dict[Var, tuple[int, int]] = {}
        for buffer in sorted(self.live_ranges, key=lambda b: (-self.sizes[b], self.live_ranges[b][0])):
            size, align = self.sizes[buffer], max(ALIGN, self.alignment.get(buffer, ALIGN))
            start = 0
            for low, high in sorted((p[0], p[0] + p[1]) for o, p in placed.items() if self._interfere(buffer, o)):
                if start + size <= low:
                    break
                start = max(start, -(-high // align) * align)
            placed[buffer] = (start, size)
        return placed

    def _interfere(self, a: Var, b: Var) -> bool:
        """Do the two buffers interfere, so that they must not share memory?"""
        if min(self.sizes[a], self.sizes[b]) <= SMALL or a in self.alone or b in self.alone:
            return True
        range_a, range_b = self.live_ranges[a], self.live_ranges[b]
        return range_a[0] <= range_b[1] and range_b[0] <= range_a[1]


PLAN_SHARED = Pass(
    "plan_shared", plan_shared, needs=(SharedRequests, UniformBuffers, UserFunction), leaves=(SharedPlan,)
)
