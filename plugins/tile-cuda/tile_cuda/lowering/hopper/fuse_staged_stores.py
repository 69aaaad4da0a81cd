"""Fuses two copies, fragment to shared tile and shared tile to global memory, into one where tensor maps store it.

Kernels stage their result in a shared tile so that threads store whole rows. A TMA store (tma_stores.py) stages it by
itself, in small slabs of each warp that are reused while earlier ones are stored: it takes less shared memory, and its
stores overlap with the products of the block's next tile.

    T.copy(C_local, C_shared); ...; T.copy(C_shared, C[y, x])    becomes    ...; T.copy(C_local, C[y, x])

where C_shared has no other use, C_local does not change in between, and C has the element type of C_shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tile_cuda.attributes import CudaCallAttr
from tile_cuda.lowering.hopper.tensor_maps import mappable_tensors
from tile_cuda.lowering.hopper.tma_stores import reason_against_store
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import dtype_of, nothing, statements_of
from tilecore.ir.memory_writes import Memory, writes_of
from tilecore.ir.nodes import AllocBuffer, AttrStmt, Evaluate, For, IfThenElse, PrimFunc, Stmt, Var, structural_map
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_fragment, is_global, is_shared
from tilecore.ir.thread_ranges import has_ranges
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect, variables
from tilecore.lowering.analysis.assumptions import assumed_divisors
from tilecore.lowering.simt.state import ThreadCount


class StagedStore(NamedTuple):
    """A fragment's copy to a shared tile, and the copy of this tile to global memory later in the same block of code.

    between: the statements between the two.
    """

    to_tile: Evaluate
    from_tile: Evaluate
    between: list[Stmt]

    @property
    def source(self) -> TileCall:
        call = as_tile_call(self.to_tile)
        assert call is not None
        return call

    @property
    def target(self) -> TileCall:
        call = as_tile_call(self.from_tile)
        assert call is not None
        return call

    @property
    def tile(self) -> Var:
        return self.source.dst.source


def fuse_staged_stores(func: PrimFunc, env: PassEnv) -> PrimFunc:
    if "wgmma" not in env.capabilities.features or has_ranges(func.body):
        return func
    stores_by_tile: dict[Var, list[StagedStore]] = {}
    for staged in _staged_stores(func.body):
        stores_by_tile.setdefault(staged.tile, []).append(staged)
    for tile, stores in stores_by_tile.items():
        fused = _fused(func, tile, stores, env)
        if isinstance(fused, str):
            env.note(
                "notes", {"text": f"{tile.name}: threads copy the result through this shared tile, because {fused}"}
            )
            continue
        func = func.with_body(fused)
        names = ", ".join(dict.fromkeys(str(staged.source.src.source.name) for staged in stores))
        env.note(
            "notes", {"text": f"{tile.name} is not allocated: each warp stores its part of {names} by tensor maps"}
        )
    return func


def _fused(func: PrimFunc, tile: Var, stores: list[StagedStore], env: PassEnv) -> Stmt | str:
    """The function's code with direct copies; or why they are not possible."""
    memory = Memory(func.body)
    changed: dict[Stmt, Stmt] = {alloc: nothing() for alloc in collect(func.body, AllocBuffer) if alloc.buffer == tile}
    for staged in stores:
        reason = _reason_against(staged, memory)
        if reason is not None:
            return reason
        changed[staged.to_tile] = nothing()
        changed[staged.from_tile] = _direct(staged)
    body = structural_map(func.body, ((AllocBuffer, Evaluate), lambda node: changed.get(node, node)))
    if tile in variables(body):
        return f"{tile.name} has other uses"
    tensors, divisors = mappable_tensors(func), assumed_divisors(func)
    direct_copies = (as_tile_call(_direct(staged)) for staged in stores)
    reasons = (reason_against_store(call, body, tensors, divisors, env) for call in direct_copies if call is not None)
    return next((reason for reason in reasons if reason is not None), body)


def _direct(staged: StagedStore) -> Evaluate:
    source, target = staged.source, staged.target
    operands = list(target.call.args)
    operands[target.op.operand_names().index("src")] = source.src
    return target.rebuilt(operands, {**target.hints, CudaCallAttr.STAGED: 1})


def _reason_against(staged: StagedStore, memory: Memory) -> str | None:
    source, target = staged.source, staged.target
    if not (is_whole(source.src) and is_whole(source.dst) and is_whole(target.src)):
        return "only a part of it is copied"
    if len(source.src.source.shape) != len(staged.tile.shape):
        return f"{source.src.source.name} has another number of axes"
    if dtype_of(target.dst.source) != dtype_of(staged.tile):
        return f"{target.dst.source.name} has another element type than {staged.tile.name}"
    if any(CallAttr.DISABLE_TMA in call.hints and call.hints[CallAttr.DISABLE_TMA] for call in (source, target)):
        return "disable_tma=True"
    if any(memory.may_change(writes_of(statement), source.src.source) for statement in staged.between):
        return f"{source.src.source.name} changes before the tile is copied"
    return None


def _staged_stores(node: Stmt) -> Iterator[StagedStore]:
    """The staged stores in a block of code and in the blocks inside of it."""
    statements = statements_of(node)
    staged: dict[Var, int] = {}  # by tile: the index of the copy that fills it
    for index, statement in enumerate(statements):
        call = as_tile_call(statement) if isinstance(statement, Evaluate) else None
        if call is None or call.op.name != "copy":
            for inner in _blocks_in(statement):
                yield from _staged_stores(inner)
        elif is_fragment(call.src.source) and is_shared(call.dst.source):
            staged[call.dst.source] = index
        elif is_shared(call.src.source) and is_global(call.dst.source) and call.src.source in staged:
            start = staged.pop(call.src.source)
            yield StagedStore(statements[start], statement, statements[start + 1 : index])


def _blocks_in(node: Stmt) -> list[Stmt]:
    if isinstance(node, (For, AttrStmt)):
        return [node.body]
    if isinstance(node, IfThenElse):
        return [block for block in (node.then_case, node.else_case) if block is not None]
    return []


FUSE_STAGED_STORES = Pass("fuse_staged_stores", fuse_staged_stores, needs=(ThreadCount,))
