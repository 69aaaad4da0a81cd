"""Implements T.Pipelined(num_stages=S) around T.tma_copy: the kernel's own mbarriers get a copy for each of S slots.

A loop whose iterations begin with loads by T.tma_copy and arrivals at their mbarriers becomes::

    for k in range(S - 1): loads of iteration k, to slot k
    for k in range(n):
        barrier of the threads            # nobody reads slot (k - 1) % S any more
        loads of iteration k + S - 1      # to slot (k + S - 1) % S
        the rest of iteration k           # of slot k % S, which waits for parity k // S % 2

The user writes the waits for one tile and one mbarrier, whose phase k has the parity k % 2. Any other loop with
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
from tilecore.ir.tile_ops import TileCall, as_tile_call, tile_statement
from tilecore.ir.visit import collect, renewed, stores, substitute, variables

_SCHEDULE = (LoopAttr.STAGES, LoopAttr.ORDER, LoopAttr.STAGE)


def stage_tma_copies(func: PrimFunc, env: PassEnv) -> PrimFunc:
    if not has_dialect_calls(func.body, KIND):
        return func
    staged = [loop for loop in collect(func.body, For) if _stages(loop) > 1 and _copies(loop)]
    body = func.body
    for loop in staged:
        plan = _plan(loop, func.body)
        if isinstance(plan, str):
            env.note("notes", {"text": f"a T.Pipelined loop with T.tma_copy runs without stages: {plan}"})
            replaced: Stmt = _one_after_the_other(loop)
        else:
            replaced = _staged(loop, plan)
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


def _plan(loop: For, body: Stmt) -> _Plan | str:
    """The division of a loop; or why it cannot be staged."""
    if any(_contains(other, loop) for other in collect(body, For, While)):
        return "it stands in another loop"
    if constant(loop.min) != 0:
        return "it does not begin at 0"
    parts = statements_of(loop.body)
    count = next((n for n, part in enumerate(parts) if not _is_load(part)), len(parts))
    loads, rest = parts[:count], parts[count:]
    copies = [copy for part in loads for copy in _copies(part)]
    if not copies or len(copies) < len(_copies(loop)):
        return "its iterations do not begin with all of their copies to shared memory"
    tiles = {copy.dst.source for copy in copies}
    mbarriers = {copy.barrier.source for copy in copies}
    arrived = {call.args[1].source for part in loads for call in _calls(part, "arrive", "arrive_expect")}
    if not arrived <= mbarriers:
        return "it arrives at other mbarriers among its copies"
    if not all(is_whole(copy.dst) for copy in copies):
        return "a copy fills a part of a tile"
    if any(loop.loop_var in variables(index) for copy in copies for index in copy.barrier.indices):
        return "its mbarriers depend on the iteration"
    reason = _reason_against_rest(loop, rest, mbarriers)
    if reason:
        return reason
    around = _without(body, loop)
    used = {node.source for node in collect(around, TensorLoad, TensorRegion)} | {s.buffer for s in stores(around)}
    if used & (tiles | mbarriers):
        return "other code uses its tiles or mbarriers"
    slots = _stages(loop)
    return _Plan(loads, rest, _slotted(tiles, slots), _slotted(mbarriers, slots), slots)


def _contains(outer: Stmt, loop: For) -> bool:
    return not outer.same_as(loop) and any(inner.same_as(loop) for inner in collect(outer, For))


def _is_load(part: Stmt) -> bool:
    """Is it a copy to shared memory, an arrival at an mbarrier, or an index?"""
    if isinstance(part, Bind):
        return not collect(part.value, TensorLoad)
    if not isinstance(part, Evaluate):
        return False
    copies = _copies(part)
    return bool(copies and is_shared(copies[0].dst.source)) or bool(_calls(part, "arrive", "arrive_expect"))


def _calls(part: Stmt, *names: str) -> list[Call]:
    """The calls of these operations on mbarriers."""
    calls = (call for call in collect(part, Call) if op_name(call) == instructions.MBARRIER)
    return [call for call in calls if str(call.args[0].value) in names]


def _reason_against_rest(loop: For, rest: list[Stmt], mbarriers: set[Var]) -> str | None:
    """Why the rest of an iteration cannot run on a slot; None where it can."""
    k, analyzer = loop.loop_var, Analyzer()
    analyzer.bind(k, Range.from_min_extent(const(0, dtype_of(k)), loop.extent))
    for part in rest:
        for call in collect(part, Call):
            if op_name(call) != instructions.MBARRIER or len(call.args) < 2 or call.args[1].source not in mbarriers:
                continue
            parity = call.args[2] if str(call.args[0].value) == "wait" else None
            expected = tirx.floormod(k, const(2, dtype_of(k))).astype("int32")
            if parity is None or constant(analyzer.simplify(parity.astype("int32") - expected)) != 0:
                return "it waits for another parity than that of the iteration"
    return None


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
    rest = [_on_slot(_with_parity(part, plan, phase), plan, slot) for part in plan.rest]
    body = seq([*_barrier(loop), loads_of(k + ahead), *rest])
    return seq([prologue, _serial(loop, body)])


def _with_parity(part: Stmt, plan: _Plan, phase: Any) -> Stmt:
    """The statement with the parity of a slot's phase in its waits."""

    def wait(node: Call) -> Any:
        if op_name(node) != instructions.MBARRIER or str(node.args[0].value) != "wait":
            return node
        if node.args[1].source not in plan.mbarriers:
            return node
        args = [node.args[0], node.args[1], tirx.floormod(phase, const(2, "int32"))]
        return Call(node.op, args, attrs=node.attrs, ret_ty="void")

    return structural_map(part, (Call, wait))


def _one_after_the_other(loop: For) -> Stmt:
    return _serial(loop, seq([*_barrier(loop), *statements_of(loop.body)]))


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
