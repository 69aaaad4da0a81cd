"""Walks the tile IR of a kernel and counts what every statement does, as often as it is executed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import dtype_of, op_name
from tilecore.ir.nodes import (
    Add,
    AttrStmt,
    Bind,
    Break,
    BufferStore,
    Call,
    Continue,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    PrimFunc,
    Return,
    SeqStmt,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    While,
)
from tilecore.ir.scopes import is_global
from tilecore.ir.spans import location_of_span
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import children, collect
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis, kernels_of, threads_of, uses_threads
from tilecore.profiler.work.fills import Fills
from tilecore.profiler.work.operations import is_product, operands_of, operations_of_call, operations_of_node
from tilecore.profiler.work.spaces import Condition, Holds, Inside, Loop, Space, same
from tilecore.profiler.work.traffic import Traffic, bits_of, part_of
from tilecore.profiler.work.values import DataDependentError, Values

AT_MOST, AT_LEAST = "at most", "at least"
_FOREIGN = ("call_extern", "call_pure_extern", "call_packed")


@dataclass(frozen=True)
class Context:
    """Where a statement stands: the loops around it, outermost first, and the conditions. threads: the loops over the
    threads of the block, where each executes the statement by itself; else the block executes it once."""

    loops: tuple[Loop, ...] = ()
    conditions: tuple[Condition, ...] = ()
    threads: tuple[Loop, ...] = ()
    is_shared: bool = False  # inside T.Parallel: the threads share the iterations

    def inside(self, *conditions: Condition) -> Context:
        return replace(self, conditions=(*self.conditions, *conditions))


@dataclass
class Work:
    """What was counted. notes: (AT_MOST or AT_LEAST, text) for what is a bound."""

    matrix_operations: dict[str, int] = field(default_factory=dict)  # by element type of A
    element_operations: int = 0
    traffic: dict[tuple[str, str], Traffic] = field(default_factory=dict)  # by (tensor, "r" or "w")
    notes: dict[tuple[str, str], None] = field(default_factory=dict)


class Walk:
    """Counts the work of a function for known sizes."""

    def __init__(self, func: PrimFunc, values: Values) -> None:
        self.values = values
        self.work = Work()
        self.roots = memory_roots(func.body)
        self.fills = Fills(func.body, values)
        self.thread_variables: set[Var] = set()
        for kernel in kernels_of(func.body):
            self._kernel(kernel)

    def _kernel(self, kernel: Stmt) -> None:
        levels, code = axes_and_code(kernel)
        threads = threads_of(levels)
        blocks = [level for level in levels if str(level.node.thread_tag).startswith("blockIdx")]
        self.thread_variables = {axis.var for axis in threads.axes}
        each = tuple(Loop(axis.var, 0, axis.extent) for axis in threads.axes) if uses_threads(code, threads) else ()
        self._statement(code, Context(tuple(Loop(b.node.var, 0, b.value) for b in blocks), (), each))

    # -- statements ---------------------------------------------------------------------------------------------

    def _statement(self, node: Stmt, context: Context) -> None:
        if isinstance(node, For):
            is_parallel = str((node.annotations or {}).get(LoopAttr.KIND, "")) == "parallel"
            loops = (*context.loops, Loop(node.loop_var, node.min, node.extent))
            inner = replace(context, loops=loops, is_shared=context.is_shared or is_parallel)
            self._statement(node.body, inner)
        elif isinstance(node, IfThenElse):
            self._expression(node.condition, context)
            self._statement(node.then_case, context.inside(Holds(node.condition)))
            if node.else_case is not None:
                self._statement(node.else_case, context.inside(Holds(node.condition, False)))
        elif isinstance(node, While):
            self._note(AT_LEAST, node, "a while loop is counted as one iteration")
            self._expression(node.condition, context)
            self._statement(node.body, context)
        elif isinstance(node, (Break, Continue, Return)):
            self._note(AT_MOST, node, "iterations that break, continue or return ends are counted as whole ones")
        elif isinstance(node, BufferStore):
            self._store(node, context)
        elif isinstance(node, Bind):
            self._expression(node.value, context)
        elif isinstance(node, Evaluate):
            self._evaluate(node, context)
        elif isinstance(node, (SeqStmt, AttrStmt)) or is_axis(node):
            for inner_node in children(node):
                self._statement(inner_node, context)

    def _store(self, node: BufferStore, context: Context) -> None:
        if is_global(node.buffer):
            self._access(node.buffer, node.indices, context, "w", node)
            sizes = self._sizes(node.buffer, node)
            if sizes is not None:
                pairs = zip(node.indices, sizes, strict=True)
                context = context.inside(*(Inside(index, size) for index, size in pairs))
        for index in node.indices:
            self._expression(index, context)
        self._expression(node.value, context)

    def _evaluate(self, node: Evaluate, context: Context) -> None:
        call = as_tile_call(node)
        if call is not None:
            self._tile_call(call, context)
        elif isinstance(node.value, Call):
            if op_name(node.value).endswith(_FOREIGN):
                self._note(AT_LEAST, node, "what a foreign function does is not counted")
            self._expression(node.value, context)

    # -- tile operations ----------------------------------------------------------------------------------------

    def _tile_call(self, call: TileCall, context: Context) -> None:
        if call.op.is_mark or call.op.name in ("print", "device_assert"):
            return
        if call.op.collective and not context.is_shared:  # the threads share the work
            context = self._of_block(context)
        for name, value in call.args.items():
            if isinstance(value, TensorRegion):
                reads = name in call.op.reads and not (name == "dst" and self._is_cleared(call))
                for mode, accesses in (("r", reads), ("w", name in call.op.writes)):
                    if accesses and is_global(value.source):
                        self._region(value, context, mode, call)
            elif isinstance(value, TensorLoad):  # of an atomic operation on one element
                if is_global(value.source) and str(call.args.get("kind")) != "load":
                    self._access(value.source, value.indices, context, "w", call)
                self._expression(value, context)
            elif isinstance(value, Expr):
                self._expression(value, context)
        self._operations_of_call(call, context)

    def _operations_of_call(self, call: TileCall, context: Context) -> None:
        try:
            if is_product(call):
                self._product(call, context)
                return
            counted = operations_of_call(call, self.values)
        except DataDependentError as error:
            self._note(AT_LEAST, call, f"the operations of a tile of unknown size, {error}, are not counted")
            return
        if counted is None:
            self._note(AT_LEAST, call, f"the operations of {call.op.name} are not counted")
        elif counted:
            self._add(counted, context, call)

    def _product(self, call: TileCall, context: Context) -> None:
        """A matrix product: two operations for each row, column and inner index at which both operands have data."""
        loops, conditions = self.fills.product(call)
        inner = replace(self._of_block(context), loops=(*context.loops, *loops))
        known = {loop.var for loop in (*inner.loops, *inner.threads)}
        conditions = [c for c in conditions if self.values.variables(c.index) <= known]
        dtype, by_type = str(DType(dtype_of(call.a.source))), self.work.matrix_operations
        by_type[dtype] = by_type.get(dtype, 0) + 2 * self._space(inner, call, conditions).count()

    def _is_cleared(self, call: TileCall) -> bool:
        return call.op.name == "reduce" and bool(call.clear)

    def _region(self, region: TensorRegion, context: Context, mode: str, place: Any) -> None:
        """The access of a region: its elements inside the tensor, by a loop along each axis."""
        loops, indices = list(context.loops), []
        for part in region.region:
            dtype = dtype_of(part.min)
            var = Var("element", dtype)
            loops.append(Loop(var, 0, part.extent))
            indices.append(Add(part.min, var))
        self._access(region.source, indices, replace(context, loops=tuple(loops)), mode, place)

    # -- expressions --------------------------------------------------------------------------------------------

    def _expression(self, node: Expr, context: Context) -> None:
        own = self._operations(node, context)
        if own:
            self._add(own, context, node)

    def _operations(self, node: Expr, context: Context) -> int:
        """The operations of one evaluation; adds the accesses, and what only one side of a choice does."""
        call = as_tile_call(node)
        if call is not None:
            self._tile_call(call, context)
            return 0
        if isinstance(node, Call) and op_name(node).endswith("if_then_else"):
            condition, yes, no = node.args
            self._expression(yes, context.inside(Holds(condition)))
            self._expression(no, context.inside(Holds(condition, False)))
            return self._operations(condition, context)
        if isinstance(node, TensorLoad) and is_global(node.source):
            self._access(node.source, node.indices, context, "r", node)
        own = operations_of_node(node)  # a Select has none
        return own + sum(self._operations(operand, context) for operand in operands_of(node))

    # -- counting -----------------------------------------------------------------------------------------------

    def _of_block(self, context: Context) -> Context:
        """The context without the threads: for what they do together."""
        kept = tuple(c for c in context.conditions if not self._of_threads(c))
        return replace(context, conditions=kept, threads=(), is_shared=True)

    def _of_threads(self, condition: Condition) -> bool:
        expr = condition.index if isinstance(condition, Inside) else condition.condition
        return bool(self.values.variables(expr) & self.thread_variables)

    def _space(self, context: Context, place: Any, further: Sequence[Condition] = ()) -> Space:
        if context.is_shared:
            context = self._of_block(context)
        space = Space(self.values, (*context.threads, *context.loops), (*context.conditions, *further))
        for text in space.unknown_loops:
            self._note(AT_LEAST, place, f"a loop of {text} iterations is counted as one iteration")
        for text in space.unknown_conditions:
            self._note(AT_MOST, place, text)
        return space

    def _add(self, operations: int, context: Context, place: Any) -> None:
        self.work.element_operations += operations * self._space(context, place).count()

    def _sizes(self, buffer: Var, place: Any) -> list[int] | None:
        try:
            return [self.values.known(size) for size in buffer.shape]
        except DataDependentError as error:
            self._note(AT_LEAST, place, f"accesses of {buffer.name}, of unknown size {error}, are not counted")
            return None

    def _access(self, buffer: Var, indices: Sequence[Any], context: Context, mode: str, place: Any) -> None:
        sizes = self._sizes(buffer, place)
        if sizes is None:
            return
        insides = [Inside(index, size) for index, size in zip(indices, sizes, strict=True)]
        space = self._space(context, place, insides)
        root = self.roots.get(buffer, buffer)
        key = str(root.name), mode
        if key not in self.work.traffic:
            whole = self._sizes(root, place)
            size = prod(sizes if whole is None else whole)
            self.work.traffic[key] = Traffic(size * bits_of(root) // bits_of(buffer), bits_of(buffer), 0, [])
        has_others = any(all(not same(condition, own) for own in insides) for condition in space.conditions)
        is_exact = not (has_others or space.unknown_conditions)
        traffic = self.work.traffic[key]
        traffic.times += space.count()
        traffic.parts.append((buffer, part_of(space, indices, sizes, is_exact)))

    def _note(self, bound: str, node: Any, text: str) -> None:
        place = location_of_span(getattr(node, "span", None))
        self.work.notes[bound, f"{place.file}:{place.line}: {text}" if place else text] = None


def known_variables(func: PrimFunc) -> dict[str, list[Var]]:
    """The variables of sizes and of scalar parameters, by name."""
    found: dict[str, list[Var]] = {}
    for param in func.params:
        for var in collect(list(getattr(param, "shape", ())), Var) + collect(list(getattr(param, "strides", ())), Var):
            found.setdefault(str(var.name), []).append(var)
        if not hasattr(param, "shape"):
            found.setdefault(str(param.name), []).append(param)
    return found
