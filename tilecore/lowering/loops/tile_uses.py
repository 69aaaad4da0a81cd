"""Lists the statements of a kernel in program order, each with its loops, and finds those that use a buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilecore.contract.passes import PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Call,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    Range,
    SeqStmt,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    is_buffer_var,
)
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_global
from tilecore.ir.spans import location_of_span
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect, variables


@dataclass(frozen=True, eq=False)
class Use:
    """One statement of a kernel. loops: the serial loops around it, outermost first. conditional: it stands in an
    ``if``. call: the tile operation that it is, None for any other statement."""

    statement: Stmt
    loops: tuple[For, ...]
    conditional: bool
    order: int
    call: TileCall | None
    variables: frozenset[Var]

    @property
    def is_header(self) -> bool:
        """Is it the head of a loop, of an ``if`` or of an attribute, whose body is listed by itself?"""
        return isinstance(self.statement, (For, IfThenElse, AttrStmt)) and not _is_leaf(self.statement)

    def is_at_or_below(self, other: Use) -> bool:
        """Does the statement stand in all loops of ``other``, behind it?"""
        around = self.loops[: len(other.loops)]
        return (
            len(around) == len(other.loops) and all(map(For.same_as, around, other.loops)) and self.order > other.order
        )


class KernelUses:
    """The statements of the code of one kernel, in program order, and the buffers that it allocates."""

    def __init__(self, code: Stmt) -> None:
        self.uses: list[Use] = []
        self.allocated: set[Var] = set()
        self._walk(code, (), False)
        self._by_buffer: dict[Var, list[Use]] = {}
        for use in self.uses:
            for var in use.variables:
                if is_buffer_var(var):
                    self._by_buffer.setdefault(var, []).append(use)

    def of(self, buffer: Var) -> list[Use]:
        """The statements that read or write the buffer, in program order."""
        return self._by_buffer.get(buffer, [])

    def _walk(self, node: Stmt, loops: tuple[For, ...], conditional: bool) -> None:
        if isinstance(node, SeqStmt):
            for part in node.seq:
                self._walk(part, loops, conditional)
        elif isinstance(node, For) and not _is_leaf(node):
            self._add(node, loops, conditional, variables(node.min) | variables(node.extent))
            self._walk(node.body, (*loops, node), conditional)
        elif isinstance(node, IfThenElse):
            self._add(node, loops, conditional, variables(node.condition))
            self._walk(node.then_case, loops, True)
            if node.else_case is not None:
                self._walk(node.else_case, loops, True)
        elif isinstance(node, AttrStmt):
            self._add(node, loops, conditional, variables(node.value))
            self._walk(node.body, loops, conditional)
        elif isinstance(node, AllocBuffer):
            self.allocated.add(node.buffer)
        elif isinstance(node, DeclBuffer):
            self._add(node, loops, conditional, {node.buffer, *variables(node.data)})
        else:
            self._add(node, loops, conditional, variables(node))

    def _add(self, node: Stmt, loops: tuple[For, ...], conditional: bool, used: set[Var]) -> None:
        call = as_tile_call(node) if isinstance(node, Evaluate) else None
        self.uses.append(Use(node, loops, conditional, len(self.uses), call, frozenset(used)))


def _is_leaf(node: Stmt) -> bool:
    """A loop that is no serial one counts as one statement."""
    return isinstance(node, For) and node.kind != ForKind.SERIAL


def blocks_of(levels: list[AttrStmt]) -> dict[Var, Any]:
    """The block indices of a kernel, each with its extent, from the kernel's axes."""
    return {level.node.var: level.value for level in levels if str(level.node.thread_tag).startswith("blockIdx")}


def fills_operand(copy: Use, uses: KernelUses) -> bool:
    """Does the copy fill the whole of a buffer of the block from a tensor, does nothing else write the buffer, and do
    only gemms behind the copy read it, as their A or B?"""
    call = copy.call
    if call is None or call.op.name != "copy" or copy.conditional or not is_global(call.src.source):
        return False
    buffer = call.dst.source
    if buffer not in uses.allocated or len(buffer.shape) != 2 or not is_whole(call.dst):
        return False
    if any(constant(r.extent) is None for r in call.src.region):
        return False
    return all(use is copy or (use.is_at_or_below(copy) and _multiplies(use, buffer)) for use in uses.of(buffer))


def note_copy(env: PassEnv, use: Use, what: str, name: str, text: str) -> None:
    """Adds to the compiler's report what became of a copy. what: the pass's word; name: the tensor or buffer."""
    location = location_of_span(use.statement.span)
    line = location.line if location else None
    env.note("copies", {"line": line, "what": what, "name": name, "text": text})


def statements_between(first: Use, last: Use, uses: KernelUses) -> list[Use]:
    """The statements that may run after ``first`` and before the last time that ``last``, which stands in all loops of
    ``first``, runs in the same iteration of them."""
    depth = len(first.loops)
    inner = last.loops[depth : depth + 1]  # a loop that repeats ``last`` repeats all that it contains
    return [
        use
        for use in uses.uses[first.order + 1 :]
        if not use.is_header
        and (use.order < last.order or (inner and use.loops[depth : depth + 1] == inner and use is not last))
    ]


def _multiplies(use: Use, buffer: Var) -> bool:
    """Is the statement a gemm with the buffer as A or as B, and as nothing else?"""
    call = use.call
    if call is None or call.op.name != "gemm":
        return False
    named = [name for name, value in call.args.items() if not isinstance(value, int) and buffer in variables(value)]
    in_hints = any(buffer in variables(hint) for hint in call.hints.values() if not isinstance(hint, (int, str)))
    return named in (["a"], ["b"]) and not in_hints


@dataclass(frozen=True)
class TileAxis:
    """A variable by which tiles are numbered: ``var`` takes ``count`` values at most, from ``first`` on."""

    var: Var
    first: int
    count: int


def axis_of(var: Var, loops: tuple[For, ...], blocks: dict[Var, Any], analyzer: Analyzer) -> TileAxis | None:
    """The axis of a loop variable or block index; None if ``var`` is neither, or its largest value is not known when
    compiling. ``analyzer`` knows the ranges of the block indices and of the loops outside the variable's."""
    if var in blocks:
        extent = constant(blocks[var])
        return None if extent is None else TileAxis(var, 0, extent)
    node = next((loop for loop in loops if loop.loop_var.same_as(var)), None)
    first = None if node is None else constant(node.min)
    if node is None or first is None or collect(node.extent, TensorLoad, Call):
        return None
    count = constant(node.extent)
    if count is None:
        count = int(analyzer.const_int_bound(node.extent).max_value)
    return TileAxis(var, first, count) if 0 < count < 2**31 else None


def knows_blocks_and_loops(blocks: dict[Var, Any], loops: tuple[For, ...]) -> Analyzer:
    """An analyzer that knows the ranges of block indices and loop variables."""
    analyzer = Analyzer()
    for var, extent in blocks.items():
        analyzer.bind(var, Range.from_min_extent(const(0, dtype_of(var)), extent))
    for node in loops:
        analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent))
    return analyzer


def is_matrix_inside(region: TensorRegion, tile: Var, analyzer: Analyzer) -> bool:
    """Is the region of the shape of the matrix ``tile`` along the last two axes of its buffer, whose rows lie at a
    distance that is known when compiling, and does it provably lie inside the buffer?"""
    if len(region.source.strides) or constant(region.source.shape[-1]) is None:
        return False
    if len(region.region) < 2 or any(constant(r.extent) != 1 for r in region.region[:-2]):
        return False
    if [constant(r.extent) for r in region.region[-2:]] != [constant(size) for size in tile.shape]:
        return False  # a copy leaves out axes of one element: a row of the tile may be a column of the tensor
    return all(
        analyzer.can_prove(r.min >= 0) and analyzer.can_prove(r.min + r.extent <= size)
        for r, size in zip(region.region, region.source.shape, strict=True)
    )
