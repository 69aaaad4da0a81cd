"""Blocks that run side by side in pairs, clusters of two, and load the tiles that both need once.

Each block of a pair loads half of such a tile, to both (PTX ISA, "cp.async.bulk.tensor", ``.multicast::cluster``). A
slot is free when the warps of both blocks have released it, so they arrive at both blocks' barriers. Both blocks go
through their fills in the same order: nothing that decides about those may depend on which of the two it is.

It halves what a multiprocessor asks of the L2 cache for these tiles. Where that is no bottleneck it wins nothing
(docs/notes/hopper.md): it is done where the rows of all tiles begin in the middle of a sector of 32 bytes, so that
every row of a box takes a sector and a line more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tile_cuda.lowering.hopper.column_blocks import column_blocks_of
from tile_cuda.lowering.hopper.pipelines import Pipeline, TmaLoad, bytes_of, tiling_of_load
from tile_cuda.lowering.hopper.tensor_maps import Tiling
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import constant, dtype_of, statements_of
from tilecore.ir.nodes import AttrStmt, Bind, Evaluate, For, IfThenElse, Stmt, Var
from tilecore.ir.visit import collect, variables
from tilecore.transform import PassConfigKey

BLOCKS = 2  # of a pair
SECTOR = 32  # bytes
KEY = PassConfigKey.TL_BLOCK_PAIRS


def cluster_axis(
    levels: list[AttrStmt], code: Stmt, channels: list[Pipeline], divisors: Mapping[Var, int], env: PassEnv
) -> AttrStmt | str:
    """The axis of the grid along which two neighbours make a pair, or why there are none."""
    wanted = env.config.get(str(KEY))
    if wanted is False:
        return f"{KEY.name} is False"
    rings = [channel for channel in channels if channel.slots > 1]
    if wanted is not True:
        plain = _whole_sectors(rings, divisors)
        if plain:
            return (
                f"the rows of {plain} begin with sectors of {SECTOR} bytes, or are not known not to: pairs win nothing"
            )
    saved = {}
    for level in levels:
        blocks = constant(level.value)
        if str(level.node.thread_tag).startswith("blockIdx") and blocks and blocks % BLOCKS == 0:
            fills = multicast_loads(rings, code, level.node.var, divisors)
            saved[level] = sum(bytes_of(fill.tile) for fill in fills)
    if not saved:
        return "no axis of the grid is known to have an even number of blocks"
    best = max(saved, key=lambda level: saved[level])
    return best if saved[best] else "neighbouring blocks load no tile in common"


def multicast_loads(channels: list[Pipeline], code: Stmt, axis: Var, divisors: Mapping[Var, int]) -> list[TmaLoad]:
    """The fills that are the same for neighbours along ``axis``, and can be done in halves."""
    differing = {axis}
    for bind in collect(code, Bind):
        if variables(bind.value) & differing:
            differing.add(bind.var)
    steady = _steady(code, differing)
    made = []
    for channel in channels:
        if all(node in steady for fill in channel.all_loads for node in fill.nodes):
            made += [f for f in channel.all_loads if _is_same(f, differing) and _halves(f, divisors)]
    return made


def _steady(node: Any, differing: set[Var]) -> set[Evaluate]:
    """Statements that are come to alike, however often, by blocks for which these variables differ."""
    if isinstance(node, Evaluate):
        return {node}
    if isinstance(node, For):
        heads, inner = [node.min, node.extent], [node.body]
    elif isinstance(node, IfThenElse):
        heads, inner = [node.condition], [node.then_case, *([] if node.else_case is None else [node.else_case])]
    elif isinstance(node, AttrStmt):
        heads, inner = [], [node.body]
    else:
        heads, inner = [], [part for part in statements_of(node) if not part.same_as(node)]
    if any(variables(head) & differing for head in heads):
        return set()
    return set().union(*(_steady(part, differing) for part in inner))


def _is_same(fill: TmaLoad, differing: set[Var]) -> bool:
    return not any(variables(bound.min) & differing for call in fill.calls for bound in call.src.region)


def _tiling(fill: TmaLoad, divisors: Mapping[Var, int]) -> Tiling:
    """Of its first copy."""
    made = tiling_of_load(fill.calls[0], divisors)
    assert isinstance(made, Tiling)  # find_channels asked
    return made


def _halves(fill: TmaLoad, divisors: Mapping[Var, int]) -> bool:
    blocks = column_blocks_of(fill.tile)
    if blocks is None or len(fill.calls) > 1:
        return False
    return _tiling(fill, divisors).half_along(blocks) is not None


def _whole_sectors(channels: list[Pipeline], divisors: Mapping[Var, int]) -> str:
    """Names of tensors whose rows are not known to begin in the middle of a sector."""
    plain: dict[str, None] = {}
    for channel in channels:
        for fill in channel.all_loads:
            tiling = _tiling(fill, divisors)
            stride = constant(tiling.axes[1].stride) if len(tiling.axes) > 1 else None
            if stride is None or int(stride) * DType(dtype_of(tiling.tensor)).bytes % SECTOR == 0:
                plain[str(tiling.tensor.name)] = None
    return ", ".join(plain)
