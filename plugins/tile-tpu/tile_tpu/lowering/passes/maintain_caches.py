"""Keeps the control core's data cache consistent with tensors: invalidates it before accesses, flushes it after writes.

The cache is not coherent. The core does not see what DMA, the host or another core has written to memory until it
invalidates the lines (``tpu_invalidate_cache``), and they do not see its writes until it flushes them
(``tpu_flush_cache``). Each statement without commands is one step. Before a step the lines of all elements that it
reads or writes are invalidated; writes need this too, as a write first fetches its line. After a step the elements that
it has written are flushed. So the cache never holds modified lines of tensors, and invalidation loses no data.

The elements of a step are ranges over its loops. Where the range is not known before the step, it is the whole tensor.
The pass runs after order_engines, so that the poll of a step comes before the invalidation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tile_tpu.ir.accesses import Access, accesses_of, aliases_of, all_accesses, by_memory, heads
from tile_tpu.ir.instructions import CONTROL, command, instruction_of
from tile_tpu.ir.views import View
from tile_tpu.lowering.kernels import of_each_kernel
from tile_tpu.lowering.passes.order_engines import has_commands
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.affine import coefficient
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import cast, const, constant, op_name, seq, with_body
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Break,
    Call,
    Continue,
    DeclBuffer,
    For,
    IfThenElse,
    PrimFunc,
    Return,
    Select,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    While,
    structural_equal,
    tirx,
)
from tilecore.ir.visit import collect, defined_variables, substitute, variables


def maintain_caches(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return func.with_body(_Walk(aliases_of(func.body)).transform(func.body))


class _Walk:
    """aliases: the aliases of buffers. again: for each enclosing loop, the invalidations that its condition needs
    before every iteration."""

    def __init__(self, aliases: Mapping[Var, Var]) -> None:
        self.aliases = aliases
        self.again: list[list[Stmt]] = []

    def transform(self, node: Stmt) -> Stmt:
        if isinstance(node, SeqStmt):
            return seq([self.transform(part) for part in node.seq])
        if isinstance(node, AttrStmt):
            return AttrStmt(node.node, node.attr_key, node.value, self.transform(node.body), span=node.span)
        if isinstance(node, (AllocBuffer, DeclBuffer, Break, Return)):
            return node
        if isinstance(node, Continue):
            return seq([*(self.again[-1] if self.again else ()), node])
        if instruction_of(node) is not None:
            return seq([*_fetch(self._of_tensors(accesses_of(node)), node), node])
        if not has_commands(node) and not _leaves(node):
            accesses = self._of_tensors(all_accesses(node))
            written = [t for t in accesses if t.writes]
            return seq([*_fetch(accesses, node), node, *_on_ranges("flush_cache", written, node)])
        first = _fetch(self._of_tensors([t for part in heads(node) for t in accesses_of(part)]), None)
        if isinstance(node, IfThenElse):
            other = None if node.else_case is None else self.transform(node.else_case)
            return seq([*first, IfThenElse(node.condition, self.transform(node.then_case), other, span=node.span)])
        self.again.append(first)
        body = seq([self.transform(node.body), *first])
        self.again.pop()
        loop = While(node.condition, body, span=node.span) if isinstance(node, While) else with_body(node, body)
        return seq([*first, loop])

    def _of_tensors(self, accesses: Iterable[Access]) -> list[Access]:
        return [t for t in by_memory(accesses, self.aliases) if t.engine == CONTROL and not t.is_local]


def _leaves(node: Stmt) -> bool:
    """Whether control may leave ``node`` before its end."""
    kinds = (Return,) if isinstance(node, (For, While)) else (Break, Continue, Return)
    return bool(collect(node, *kinds))


def _fetch(accesses: Sequence[Access], step: Stmt | None) -> list[Stmt]:
    return _on_ranges("invalidate_cache", accesses, step)


def _on_ranges(name: str, accesses: Sequence[Access], step: Stmt | None) -> list[Stmt]:
    """The cache command ``name`` for each range of elements that the accesses of a step cover."""
    ranges: list[tuple[Var, Any, Any]] = []
    known = None if step is None else _Step(step)
    for access in accesses:
        element_range = (access.buffer, *_range(access, known))
        if not any(_same(element_range, other) for other in ranges):
            ranges.append(element_range)
    whole = {b for b, first, count in ranges if constant(first) == 0 and structural_equal(count, _size(b))}
    remaining = [
        r for r in ranges if r[0] not in whole or (constant(r[1]) == 0 and structural_equal(r[2], _size(r[0])))
    ]
    return [command(name, View(b, 0, first, (1, 1, 1, count), (1, 1, 1, 1))) for b, first, count in remaining]


def _same(a: tuple[Var, Any, Any], b: tuple[Var, Any, Any]) -> bool:
    return a[0].same_as(b[0]) and bool(structural_equal(a[1], b[1])) and bool(structural_equal(a[2], b[2]))


def _size(buffer: Var) -> Any:
    return Analyzer().simplify(cast(buffer.shape[0], "int64"))


class _Step:
    """What all accesses of a step share.

    loops: those in it, outermost first. defined: the variables that it defines. is_guarded: whether it may skip some
    iterations of its loops.
    """

    def __init__(self, node: Stmt) -> None:
        self.loops = collect(node, For)
        self.defined = defined_variables(node)
        self.is_guarded = _is_guarded(node)


def _range(access: Access, step: _Step | None) -> tuple[Any, Any]:
    """The range of elements of an access in a step: (first element, count), int64. It is the whole tensor where the
    range is not known."""
    everything = const(0, "int64"), _size(access.buffer)
    if access.offset is None or collect(access.offset, TensorLoad, Call):
        return everything
    used = variables(access.offset)
    loops = [] if step is None else [loop for loop in step.loops if loop.loop_var in used]
    low = high = cast(access.offset, "int64")
    for loop in reversed(loops):
        by = coefficient(access.offset, loop.loop_var)
        if not isinstance(by, int):
            return everything
        ends = loop.min, loop.min + loop.extent - 1
        first, last = ends if by >= 0 else (ends[1], ends[0])
        low, high = substitute(low, {loop.loop_var: first}), substitute(high, {loop.loop_var: last})
    if step is not None and step.defined & (variables(low) | variables(high)):
        return everything
    analyzer = Analyzer()
    if step is None or step.is_guarded or any(constant(loop.extent) is None for loop in loops):
        low = tirx.Max(low, const(0, "int64"))
        high = tirx.Min(high, _size(access.buffer) - 1)
    return analyzer.simplify(low), analyzer.simplify(high - low + 1)


def _is_guarded(step: Stmt) -> bool:
    """Whether the step may skip some iterations of its loops."""
    guards = bool(collect(step, IfThenElse, While, Select, Break, Continue))
    return guards or any(op_name(call) == "if_then_else" for call in collect(step, Call))


MAINTAIN_CACHES = Pass("maintain_caches", of_each_kernel(maintain_caches))
