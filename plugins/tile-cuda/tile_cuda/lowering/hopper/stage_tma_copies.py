"""Implements T.Pipelined(num_stages=S) around T.tma_copy: the kernel's own mbarriers get a copy for each of S slots.

A loop whose iterations begin with loads by T.tma_copy and arrivals at their mbarriers becomes::

    for k in range(S - 1): loads of iteration k, to slot k
    for k in range(n):
        barrier of the threads            # nobody reads slot (k - 1) % S any more
        loads of iteration k + S - 1      # to slot (k + S - 1) % S
        the rest of iteration k           # of slot k % S, which waits for parity k // S % 2

The user writes the waits for one tile and one mbarrier, whose phase k has the parity k % 2. Where the copies stand in
the code of some threads (T.ws), which runs ahead by itself, iteration k only uses slot k % S. Any other loop with
T.tma_copy runs its iterations one after the other, with the barrier in front of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tile_cuda import instructions
from tile_cuda.attributes import CudaKernelHint
from tile_cuda.operations import KIND, TMA_COPY
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import const, constant, dtype_of, nothing, op_name, seq, statements_of
from tilecore.ir.dialect_calls import has_dialect_calls
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferLoad,
    BufferRegion,
    Call,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    PrimFunc,
    Range,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    While,
    structural_map,
    tirx,
)
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_shared
from tilecore.ir.thread_ranges import range_of
from tilecore.ir.tile_ops import TileCall, as_tile_call, tile_statement
from tilecore.ir.visit import collect, renewed, stores, substitute, variables

_SCHEDULE = (LoopAttr.STAGES, LoopAttr.ORDER, LoopAttr.STAGE)


def stage_tma_copies(func: PrimFunc, env: PassEnv) -> PrimFunc:
    if not has_dialect_calls(func.body, KIND):
        return func
    staged = [loop for loop in collect(func.body, For) if _stages(loop) > 1 and _copies(loop)]
    body = func.body
    for loop in staged:
        in_roles = _is_in_roles(loop)
        plan = _plan(loop, func.body, in_roles)
        if isinstance(plan, str):
            env.note("notes", {"text": f"a T.Pipelined loop with T.tma_copy runs without stages: {plan}"})
            replaced: Stmt = _one_after_the_other(loop, in_roles)
        else:
            replaced = _in_slots(loop, plan) if in_roles else _staged(loop, plan)
            body = _with_slots(body, plan)
        body = structural_map(body, (For, lambda node, old=loop, new=replaced: new if node.same_as(old) else node))
    return func.with_body(body)


def _stages(loop: For) -> int:
    return int(loop.annotations.get(LoopAttr.STAGES, 0))


def _copies(node: Stmt) -> list[TileCall]:
    calls = (as_tile_call(statement) for statement in collect(node, Evaluate))
    return [call for call in calls if call is not None and call.op.name == TMA_COPY.name]


@dataclass(frozen=True)
class _Plan:
    """A loop's division. loads: the statements that begin an iteration. rest: the others. tiles, mbarriers: what the
    loads fill and arrive at, each with its memory for all slots. slots: how many."""

    loads: list[Stmt]
    rest: list[Stmt]
    tiles: dict[Var, Var]
    mbarriers: dict[Var, Var]
    slots: int


def _is_in_roles(loop: For) -> bool:
    """Does the code of some threads do all the copies?"""
    roles = [
        n for n in collect(loop.body, AttrStmt, IfThenElse) if not isinstance(n, AttrStmt) or range_of(n) is not None
    ]
    return len(_copies(loop)) == len({id(copy.call) for role in roles for copy in _copies(role)})


def _plan(loop: For, body: Stmt, in_roles: bool) -> _Plan | str:
    """The division of a loop; or why it cannot be staged."""
    if any(_contains(other, loop) for other in collect(body, For, While)):
        return "it stands in another loop"
    if constant(loop.min) != 0:
        return "it does not begin at 0"
    parts = statements_of(loop.body)
    count = 0 if in_roles else next((n for n, part in enumerate(parts) if not _is_load(part)), len(parts))
    loads, rest = parts[:count], parts[count:]
    copies = _copies(loop)
    if not in_roles and sum(len(_copies(part)) for part in loads) < len(copies):
        return "its iterations do not begin with all of their copies to shared memory"
    if not all(is_shared(copy.dst.source) and is_whole(copy.dst) for copy in copies):
        return "a copy does not fill a whole tile"
    tiles = {copy.dst.source for copy in copies}
    mbarriers = {copy.barrier.source for copy in copies}
    uses = [call for call in collect(loop.body, Call) if op_name(call) == instructions.MBARRIER and len(call.args) > 1]
    if in_roles:
        mbarriers |= {call.args[1].source for call in uses}
    elif not {call.args[1].source for part in loads for call in _arrivals(part)} <= mbarriers:
        return "it arrives at other mbarriers among its copies"
    elements = [*(copy.barrier for copy in copies), *(call.args[1] for call in uses)]
    if any(loop.loop_var in variables(index) for element in elements for index in element.indices):
        return "its mbarriers depend on the iteration"
    if not all(_has_parity_of_iteration(call, loop) for call in uses if call.args[1].source in mbarriers):
        return "it waits for another parity than that of the iteration"
    if not in_roles and any(call.args[1].source in mbarriers for part in rest for call in _arrivals(part)):
        return "it arrives at the mbarriers of its copies behind its waits"
    around = _without(body, loop)
    used = {node.source for node in collect(around, TensorLoad, TensorRegion)} | {s.buffer for s in stores(around)}
    if used & (tiles | mbarriers):
        return "other code uses its tiles or mbarriers"
    slots = _stages(loop)
    return _Plan(loads, rest, _slotted(tiles, slots), _slotted(mbarriers, slots), slots)


def _arrivals(part: Stmt) -> list[Call]:
    calls = (call for call in collect(part, Call) if op_name(call) == instructions.MBARRIER)
    return [call for call in calls if str(call.args[0].value).startswith("arrive")]


def _has_parity_of_iteration(call: Call, loop: For) -> bool:
    """Does a wait wait for the phase of this iteration, or of the one before? Other operations do."""
    if not str(call.args[0].value).startswith("wait"):
        return True
    k, analyzer = loop.loop_var, Analyzer()
    analyzer.bind(k, Range.from_min_extent(const(0, dtype_of(k)), loop.extent))
    parities = (tirx.floormod(k.astype("int32") + const(n, "int32"), const(2, "int32")) for n in (0, 1))
    return any(constant(analyzer.simplify(call.args[2].astype("int32") - parity)) == 0 for parity in parities)


def _contains(outer: Stmt, loop: For) -> bool:
    return not outer.same_as(loop) and any(inner.same_as(loop) for inner in collect(outer, For))


def _is_load(part: Stmt) -> bool:
    """Is it a copy to shared memory, an arrival at an mbarrier, or an index?"""
    if isinstance(part, Bind):
        return not collect(part.value, TensorLoad)
    if not isinstance(part, Evaluate):
        return False
    copies = _copies(part)
    return bool(copies and is_shared(copies[0].dst.source)) or bool(_arrivals(part))


def _without(body: Stmt, loop: For) -> Stmt:
    """The code around a loop, without hints."""

    def is_hint(node: Evaluate) -> bool:
        call = as_tile_call(node)
        return call is not None and call.op.name == "annotate"

    body = structural_map(body, (For, lambda node: nothing() if node.same_as(loop) else node))
    return structural_map(body, (Evaluate, lambda node: nothing() if is_hint(node) else node))


def _slotted(buffers: set[Var], slots: int) -> dict[Var, Var]:
    slotted = {}
    for buffer in sorted(buffers, key=lambda b: str(b.name)):
        shape = [int(constant(size) or 0) for size in buffer.shape]
        is_mbarrier = dtype_of(buffer) == "uint64" and len(shape) == 1
        sizes = [slots * shape[0]] if is_mbarrier else [slots, *shape]
        slotted[buffer] = tirx.decl_buffer(
            sizes, dtype_of(buffer), str(buffer.name), scope=str(buffer.scope()), layout=None
        )
    return slotted


def _on_slot(part: Stmt, plan: _Plan, slot: Any) -> Stmt:
    """The statement with the tiles and mbarriers of a slot."""

    def element(node: BufferLoad) -> Any:
        if node.source in plan.mbarriers:
            count = int(constant(node.source.shape[0]) or 1)
            return BufferLoad(plan.mbarriers[node.source], [slot * const(count, "int32") + node.indices[0]])
        tile = plan.tiles.get(node.source)
        return node if tile is None else BufferLoad(tile, [slot, *node.indices])

    def region(node: BufferRegion) -> Any:
        tile = plan.tiles.get(node.source)
        return node if tile is None else BufferRegion(tile, [Range.from_min_extent(slot, 1), *node.region])

    return structural_map(part, [(TensorLoad, element), (TensorRegion, region)])


def _staged(loop: For, plan: _Plan) -> Stmt:
    k, slots = loop.loop_var, const(plan.slots, "int32")

    def loads_of(iteration: Any) -> Stmt:
        slot = Analyzer().simplify(tirx.floormod(iteration.astype("int32"), slots))
        parts = seq([_on_slot(substitute(part, {k: iteration}), plan, slot) for part in plan.loads])
        return IfThenElse(iteration < loop.extent, renewed(parts), None, span=loop.span)

    first = Var("k", k.ty)
    ahead = const(plan.slots - 1, dtype_of(k))
    prologue = For(first, const(0, dtype_of(k)), ahead, ForKind.SERIAL, loads_of(first), span=loop.span)
    slot = tirx.floormod(k.astype("int32"), slots)
    phase = tirx.floordiv(k.astype("int32"), slots)
    rest = [_on_slot(_with_parity(part, plan, {k: phase.astype(dtype_of(k))}), plan, slot) for part in plan.rest]
    body = seq([*_barrier(loop), loads_of(k + ahead), *rest])
    return seq([prologue, _serial(loop, body)])


def _in_slots(loop: For, plan: _Plan) -> Stmt:
    """The loop whose iteration k uses slot k % S."""
    k, slots = loop.loop_var, const(plan.slots, "int32")
    phase = tirx.floordiv(k.astype("int32"), slots).astype(dtype_of(k))
    slot = tirx.floormod(k.astype("int32"), slots)
    return _serial(loop, seq([_on_slot(_with_parity(part, plan, {k: phase}), plan, slot) for part in plan.rest]))


def _with_parity(part: Stmt, plan: _Plan, phase: dict[Var, Any]) -> Stmt:
    """The statement with the parity of a slot's phase in its waits."""

    def wait(node: Call) -> Any:
        if op_name(node) != instructions.MBARRIER or not str(node.args[0].value).startswith("wait"):
            return node
        if node.args[1].source not in plan.mbarriers:
            return node
        args = [node.args[0], node.args[1], substitute(node.args[2], phase)]
        return Call(node.op, args, attrs=node.attrs, ret_ty="void")

    return structural_map(part, (Call, wait))


def _one_after_the_other(loop: For, in_roles: bool) -> Stmt:
    return _serial(loop, loop.body if in_roles else seq([*_barrier(loop), *statements_of(loop.body)]))


def _barrier(loop: For) -> list[Stmt]:
    """All threads, and their asynchronous products, have left the iteration before."""
    return [instructions.warpgroup("wait", const(0, "int32")), tile_statement("sync_threads", [], span=loop.span)]


def _serial(loop: For, body: Stmt) -> For:
    annotations = {key: value for key, value in loop.annotations.items() if key not in _SCHEDULE}
    return For(loop.loop_var, loop.min, loop.extent, loop.kind, body, annotations=annotations, span=loop.span)


def _with_slots(body: Stmt, plan: _Plan) -> Stmt:
    """The kernel with allocations and arrival counts for all slots."""
    slotted = plan.tiles | plan.mbarriers

    def allocation(node: AllocBuffer) -> Stmt:
        return AllocBuffer(slotted[node.buffer], span=node.span) if node.buffer in slotted else node

    def hint(node: Evaluate) -> Stmt:
        call = as_tile_call(node)
        if call is None or call.op.name != "annotate" or call.key != CudaKernelHint.MBARRIERS:
            return node
        mbarriers = plan.mbarriers.get(call.rest[0].source)
        if mbarriers is None:
            return node
        first = BufferLoad(mbarriers, [const(0, "int32")])
        return call.rebuilt([call.call.args[0], first, *list(call.rest[1:]) * plan.slots])

    return structural_map(body, [(AllocBuffer, allocation), (Evaluate, hint)])


STAGE_TMA_COPIES = Pass("stage_tma_copies", stage_tma_copies)
