"""Divides the iterations of a loop of matrix products among the blocks of a cluster ("split K").

A grid with few blocks leaves multiprocessors idle. Where the blocks only wait for memory, several blocks share the loop
of each: every block computes a part of the sum over K, and they add the parts through distributed shared memory, always
in the same order. Where the rest of the kernel only stores the sum, each block adds and stores a slice of it
(split_result.py); else the first block adds all and does the rest alone. The order of the sum of T.gemm is not defined
(docs/language.md, "Floats"), and integers have the same sum in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from tile_cuda import instructions
from tile_cuda.cluster_parts import LEAST_ITERATIONS, MOST_PARTS
from tile_cuda.lowering.hopper.circular_buffers import Declined
from tile_cuda.lowering.hopper.pipelines import Pipeline
from tile_cuda.lowering.hopper.split_result import axis_of_slices, stores_of_slices
from tile_cuda.operations import ADD_PARTS
from tilecore.contract.passes import PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import KernelHint, LoopAttr, StatementAttr
from tilecore.ir.build import const, constant, dtype_of, nothing, op_name, seq, statements_of
from tilecore.ir.effects import effect_in
from tilecore.ir.nodes import (
    EQ,
    AllocBuffer,
    AttrStmt,
    Bind,
    Call,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    IterVar,
    Range,
    Stmt,
    TensorLoad,
    Var,
    tirx,
)
from tilecore.ir.ranges import known_range, within
from tilecore.ir.regions import is_whole, whole_region
from tilecore.ir.scopes import is_fragment, is_global, is_shared
from tilecore.ir.tile_ops import TileCall, as_tile_call, tile_statement
from tilecore.ir.visit import collect, substitute, variables
from tilecore.lowering.analysis.clears import cleared_buffer

WORD = 4  # bytes
UNLIMITED = 1 << 30  # iterations
SUM_TYPES = ("float32", "int32")
_BEFORE_LOOP = ("fill", "copy", "annotate")  # operations that every block of a cluster may do


@dataclass(frozen=True)
class SplitLoop:
    """The loop to divide, in the code of a kernel.

    before, after: the statements around it. accumulators: the fragments that its products add to.
    """

    before: list[Stmt]
    loop: For
    after: list[Stmt]
    accumulators: list[Var]

    @property
    def iterations(self) -> int:
        return int(constant(self.loop.extent) or 0)


def splittable_loop(code: Stmt) -> SplitLoop:
    """The loop whose iterations several blocks can share; raises Declined where the code has no such loop."""
    statements = statements_of(code)
    loops = [n for n, s in enumerate(statements) if isinstance(s, For) and LoopAttr.STAGES in s.annotations]
    if len(loops) != 1:
        raise Declined(f"its code has {len(loops)} T.Pipelined loops in its outermost block of code")
    before, node, after = statements[: loops[0]], statements[loops[0]], statements[loops[0] + 1 :]
    assert isinstance(node, For)
    if node.kind != ForKind.SERIAL or constant(node.extent) is None or constant(node.min) != 0:
        raise Declined("the number of iterations is not a compile-time constant")
    for statement in before:
        _check_before(statement)
    if any(op_name(call).endswith("sync_grid") for call in collect(code, Call)):
        raise Declined("it has a barrier of the grid")
    accumulators = _accumulators(node)
    for accumulator in accumulators:
        _check_start(accumulator, before, node)
    written = {v for s in statements_of(node.body) for v in _tiles_written(s)}
    for statement in after:
        used = variables(statement) & written
        if used:
            raise Declined(f"{next(iter(used)).name}, which the loop loads, is used after the loop")
    return SplitLoop(before, node, after, accumulators)


def _check_before(statement: Stmt) -> None:
    """Raises Declined where several blocks must not execute the statement for one block of the grid."""
    if isinstance(statement, AllocBuffer) or (isinstance(statement, AttrStmt) and known_range(statement) is not None):
        return
    if isinstance(statement, Bind) and effect_in(statement.value) is None:
        return
    call = as_tile_call(statement) if isinstance(statement, Evaluate) else None
    if call is not None and call.op.name in _BEFORE_LOOP and effect_in(statement.value.args) is None:
        written = call.args.get("dst")
        if written is None or not is_global(written.source):
            return
    raise Declined("there is other work in front of its loop than fills and loads")


def _accumulators(loop: For) -> list[Var]:
    """The accumulators of the loop's products; raises Declined where the loop does other work than to load and add."""
    accumulators: dict[Var, None] = {}
    loaded: set[Var] = set()
    read: set[Var] = set()
    for statement in statements_of(loop.body):
        if isinstance(statement, Bind) and _is_same_in_every_thread(statement.value):
            continue
        if isinstance(statement, AttrStmt) and known_range(statement) is not None:
            continue
        call = as_tile_call(statement) if isinstance(statement, Evaluate) else None
        if call is not None and call.op.name == "copy" and _is_load(call):
            loaded.add(call.dst.source)
            if call.dst.source in read:
                raise Declined(f"an iteration uses {call.dst.source.name} before it loads it")
        elif call is not None and call.op.name == "gemm" and _is_sum(call):
            accumulators[call.c.source] = None
            read |= {call.a.source, call.b.source}
        else:
            raise Declined("its loop does other work than to load tiles and to add products of them")
    if not accumulators:
        raise Declined("its loop adds no products")
    return list(accumulators)


def _is_same_in_every_thread(value: Any) -> bool:
    return effect_in(value) is None and all(is_global(read.source) for read in collect(value, TensorLoad))


def _is_load(call: TileCall) -> bool:
    return is_global(call.src.source) and is_shared(call.dst.source) and is_whole(call.dst)


def _is_sum(call: TileCall) -> bool:
    operands_are_tiles = is_shared(call.a.source) and is_shared(call.b.source)
    is_accumulator = is_fragment(call.c.source) and is_whole(call.c) and dtype_of(call.c.source) in SUM_TYPES
    return operands_are_tiles and is_accumulator


def _tiles_written(statement: Stmt) -> set[Var]:
    call = as_tile_call(statement) if isinstance(statement, Evaluate) else None
    return {call.dst.source} if call is not None and call.op.name == "copy" else set()


def _check_start(accumulator: Var, before: list[Stmt], loop: For) -> None:
    """Raises Declined where an accumulator is not known to be 0 when the loop begins."""
    calls = [call for s in statements_of(loop.body) if (call := as_tile_call(s)) is not None and call.op.name == "gemm"]
    first, *others = [call for call in calls if call.c.source.same_as(accumulator)]
    if any(constant(call.clear_accum) != 0 for call in others):
        raise Declined(f"a product overwrites {accumulator.name}")
    users = [s for s in before if not isinstance(s, AllocBuffer) and accumulator in variables(s)]
    is_cleared_before = bool(users) and _clears(users[-1], accumulator) and constant(first.clear_accum) == 0
    if not is_cleared_before and not _clears_at_first(first, loop):
        raise Declined(f"{accumulator.name} is not known to be 0 when the loop begins")


def _clears(statement: Stmt, accumulator: Var) -> bool:
    cleared = cleared_buffer(statement)
    return cleared is not None and cleared.same_as(accumulator)


def _clears_at_first(product: TileCall, loop: For) -> bool:
    """Whether the product overwrites its accumulator in the first iteration only."""
    condition = product.clear_accum
    if not isinstance(condition, EQ):
        return False
    return condition.a.same_as(loop.loop_var) and constant(condition.b) == constant(loop.min)


def exchanged_bytes(split: SplitLoop, threads: int) -> int:
    """The shared memory of a block for its part of the largest accumulator."""
    shapes = ([int(constant(size) or 0) for size in accumulator.shape] for accumulator in split.accumulators)
    return max(WORD * max(prod(shape), threads) for shape in shapes)


def with_split_loop(
    levels: list[AttrStmt], split: SplitLoop, parts: int, threads: int, env: PassEnv
) -> tuple[list[AttrStmt], Stmt]:
    """The kernel's axes and code, with ``parts`` blocks along x for each block of the grid."""
    along_x = next(level for level in levels if str(level.node.thread_tag) == "blockIdx.x")
    dtype, var = dtype_of(along_x.node.var), along_x.node.var
    block, part = Var("block", dtype), Var("part", dtype)
    blocks = Analyzer().simplify(along_x.value * const(parts, dtype))
    domain = Range.from_min_extent(const(0, dtype), blocks)
    grid_axis = IterVar(domain, block, IterVar.ThreadIndex, "blockIdx.x")
    all_blocks = AttrStmt(grid_axis, StatementAttr.AXIS, blocks, nothing())
    new_levels = [all_blocks if level.same_as(along_x) else level for level in levels]
    count = const(parts, dtype)
    after = [s for s in split.after if not _is_block_order(s)]
    rest = [s for s in after if not isinstance(s, AllocBuffer)]
    axis = _axis_of_slices(split, rest, parts, threads, env)
    rank = part.astype("int32")
    sums: list[Stmt] = []
    for accumulator in split.accumulators:
        sums += [instructions.cluster("wait")] if sums else []
        sums.append(tile_statement(ADD_PARTS.name, [whole_region(accumulator), parts, rank, axis]))
    if axis < 0:
        last: Stmt = IfThenElse(EQ(part, const(0, dtype)), seq(rest), None)
    else:
        last = stores_of_slices(rest[0], axis, parts, rank)
    code = [
        tile_statement("annotate", [KernelHint.CLUSTER_DIMS, parts, 1, 1]),
        within(block, blocks),
        Bind(part, tirx.floormod(block, count)),
        within(part, count),
        Bind(var, tirx.floordiv(block, count)),
        within(var, along_x.value),
        *(s for s in split.before if not _is_block_order(s)),
        _loop_of_part(split.loop, parts, part.astype(dtype_of(split.loop.loop_var))),
        *(s for s in after if isinstance(s, AllocBuffer)),
        *sums,
        last,
        instructions.cluster("wait"),
    ]
    return new_levels, seq(code)


def _axis_of_slices(split: SplitLoop, rest: list[Stmt], parts: int, threads: int, env: PassEnv) -> int:
    """The axis along which the blocks divide the result; -1: the first block does the rest of the kernel."""
    if len(split.accumulators) > 1 or len(rest) != 1:
        return -1
    calls = [call for s in statements_of(split.loop.body) if (call := as_tile_call(s)) is not None]
    product = next(call for call in calls if call.op.name == "gemm")
    return axis_of_slices(split.accumulators[0], product, rest[0], parts, threads, env)


def _is_block_order(statement: Stmt) -> bool:
    """Is the statement T.use_swizzle? The order of blocks that all run at once does not matter."""
    call = as_tile_call(statement) if isinstance(statement, Evaluate) else None
    return call is not None and call.op.name == "annotate" and str(call.key) == KernelHint.USE_SWIZZLE


def _loop_of_part(loop: For, parts: int, part: Any) -> For:
    """The iterations of a part, counted from 0; the parts differ by one iteration at most."""
    dtype = dtype_of(loop.loop_var)
    extent, count = loop.extent, const(parts, dtype)
    iterations = int(constant(extent) or 0)
    start: Any
    if iterations % parts == 0:
        extent = const(iterations // parts, dtype)
        start = part * extent
    else:
        start = tirx.floordiv(part * extent, count)
        extent = tirx.floordiv((part + const(1, dtype)) * loop.extent, count) - start
    var = Var(str(loop.loop_var.name), dtype)
    zero = const(0, dtype)
    body = []
    for statement in statements_of(loop.body):
        call = as_tile_call(statement) if isinstance(statement, Evaluate) else None
        if call is not None and call.op.name == "gemm" and _clears_at_first(call, loop):
            args = list(call.call.args)
            args[call.op.operand_names().index("clear_accum")] = EQ(var, zero)
            statement = call.rebuilt(args)
        body.append(substitute(statement, {loop.loop_var: var + start}))
    return For(var, zero, extent, loop.kind, seq(body), annotations=loop.annotations, span=loop.span)


def check_parts(parts: int, split: SplitLoop, pipelines: list[Pipeline], threads: int) -> None:
    """Raises Declined where the loop cannot be divided into so many parts."""
    if not 2 <= parts <= min(MOST_PARTS, split.iterations):
        raise Declined(
            f"a loop of {split.iterations} iterations cannot be divided among {parts} blocks, of at most {MOST_PARTS}"
            if parts > 1
            else f"the parts of its loop, of {split.iterations} iterations, would have less than {LEAST_ITERATIONS}"
        )
    free = sum(pipeline.bytes * pipeline.slots for pipeline in pipelines if pipeline.is_of_loop)
    needed = exchanged_bytes(split, threads)
    if needed > free:
        raise Declined(f"a part of the sum has {needed} bytes, and the tiles that its loop loads {free}")


def check_loads(pipelines: list[Pipeline]) -> None:
    """Raises Declined where the producer warp might wait for consumers that wait for it at the cluster's barrier."""
    for pipeline in pipelines:
        if len(pipeline.loads) > 1 or (pipeline.is_of_loop and pipeline.loads[0][0].owner is None):
            raise Declined(f"{pipeline.name} is loaded at several places")
