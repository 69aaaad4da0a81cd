"""Chooses clusters of two blocks, and the tiles that multicast loads bring to both blocks at once.

Each block loads half of such a tile, to both (PTX ISA, "cp.async.bulk.tensor", ``.multicast::cluster``). A slot is
empty when the warps of both blocks have released it, so each warp arrives at the mbarriers of both. Both blocks do
their loads in the same order: no condition or loop around a load may differ between them.

Multicast halves the reads from the L2 cache for these tiles. It gains nothing where that is no bottleneck
(docs/notes/hopper.md). So it is chosen where the rows of all tiles begin inside of a sector of 32 bytes, where every
row of a box takes one more sector and one more cache line; and where all blocks run at once with tiles so small that
the cache cannot load them as fast as they are multiplied (docs/notes/heuristics.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from tile_cuda.lowering.hopper.column_blocks import column_blocks_of
from tile_cuda.lowering.hopper.pipelines import Pipeline, TmaLoad, bytes_of, tiling_of_load
from tile_cuda.lowering.hopper.tensor_maps import Tiling
from tile_cuda.lowering.hopper.wgmma_config import wgmma_config_of
from tile_cuda.options import BLOCK_PAIRS, key_name
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import constant, dtype_of, statements_of
from tilecore.ir.nodes import AttrStmt, Bind, Evaluate, For, IfThenElse, Stmt, Var
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect, variables
from tilecore.lowering.tile_ops.gemm import gemm_sizes

CLUSTER_BLOCKS = 2
SECTOR = 32  # bytes
# multiply-adds for an element of a tile below which the L2 cache limits a chip full of blocks: 128 x 128 tiles have 64,
# 128 x 256 tiles 85. LEAST_SUMS: of a tile; with smaller ones the blocks wait for memory or for one another
ENOUGH_PRODUCTS, LEAST_SUMS = 80, 128 * 128
BUSY = 2 / 3  # of the multiprocessors, at least


def cluster_axis(
    levels: list[AttrStmt],
    code: Stmt,
    pipelines: list[Pipeline],
    divisors: Mapping[Var, int],
    env: PassEnv,
    is_limited: bool = False,
) -> AttrStmt | str:
    """The axis of the grid along which two neighbouring blocks form a cluster, or why there is none.

    is_limited: whether reads from the cache limit the kernel, so that pairs are worth it for any rows.
    """
    multicast_option = BLOCK_PAIRS.value_in(env.config)
    if multicast_option is False:
        return f"{key_name(BLOCK_PAIRS)} is False"
    pipelined = [pipeline for pipeline in pipelines if pipeline.slots > 1]
    if multicast_option is not True and not is_limited:
        aligned = _aligned_tensors(pipelined, divisors)
        if aligned:
            return f"the rows of {aligned} may begin at multiples of {SECTOR} bytes, where multicast gains nothing"
    saved_bytes = {}
    for level in levels:
        blocks = constant(level.value)
        if _is_of_grid(level) and blocks and blocks % CLUSTER_BLOCKS == 0:
            loads = multicast_loads(pipelined, code, level.node.var, divisors)
            saved_bytes[level] = sum(bytes_of(tma_load.tile) for tma_load in loads)
    if not saved_bytes:
        return "no axis of the grid is known to have an even number of blocks"
    best = max(saved_bytes, key=lambda level: saved_bytes[level])
    return best if saved_bytes[best] else "neighbouring blocks load no tile in common"


def reads_limit(
    levels: list[AttrStmt], code: Stmt, pipelines: list[Pipeline], threads: int, multiprocessors: int, env: PassEnv
) -> bool:
    """Whether the blocks of a grid that runs at once read more from the L2 cache than it delivers while they multiply.

    Only products by ``wgmma`` are so fast.
    """
    blocks = prod(int(constant(level.value) or 0) for level in levels if _is_of_grid(level))
    calls = [call for node in collect(code, Evaluate) if (call := as_tile_call(node)) is not None]
    products = [call for call in calls if call.op.name == "gemm"]
    loads = [tma_load for pipeline in pipelines if pipeline.is_of_loop for tma_load in pipeline.all_loads]
    if len(products) != 1 or not loads or blocks < BUSY * multiprocessors:
        return False
    if isinstance(wgmma_config_of(products[0], env, threads), str):
        return False
    m, n, k = gemm_sizes(products[0])
    loaded = sum(bytes_of(load.tile) // DType(dtype_of(load.tile)).bytes for load in loads)
    return m * n >= LEAST_SUMS and m * n * k < ENOUGH_PRODUCTS * loaded


def _is_of_grid(level: AttrStmt) -> bool:
    return str(level.node.thread_tag).startswith("blockIdx")


def multicast_loads(pipelines: list[Pipeline], code: Stmt, axis: Var, divisors: Mapping[Var, int]) -> list[TmaLoad]:
    """The loads that are the same for neighbours along ``axis`` and that can be split into two halves."""
    differing = {axis}
    for bind in collect(code, Bind):
        if variables(bind.value) & differing:
            differing.add(bind.var)
    uniform_statements = _uniform_statements(code, differing)
    multicast = []
    for pipeline in pipelines:
        if all(node in uniform_statements for tma_load in pipeline.all_loads for node in tma_load.nodes):
            candidates = [tma_load for tma_load in pipeline.all_loads if _is_same(tma_load, differing)]
            multicast += [tma_load for tma_load in candidates if _can_be_halved(tma_load, divisors)]
    return multicast


def _uniform_statements(node: Any, differing: set[Var]) -> set[Evaluate]:
    """The statements that blocks reach equally often although these variables differ between the blocks."""
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
    return set().union(*(_uniform_statements(part, differing) for part in inner))


def _is_same(tma_load: TmaLoad, differing: set[Var]) -> bool:
    return not any(variables(bound.min) & differing for call in tma_load.calls for bound in call.src.region)


def _tiling(tma_load: TmaLoad, divisors: Mapping[Var, int]) -> Tiling:
    """The tensor map of the load's first copy."""
    tiling = tiling_of_load(tma_load.calls[0], divisors)
    assert isinstance(tiling, Tiling)  # find_pipelines has checked it
    return tiling


def _can_be_halved(tma_load: TmaLoad, divisors: Mapping[Var, int]) -> bool:
    blocks = column_blocks_of(tma_load.tile)
    if blocks is None or len(tma_load.calls) > 1:
        return False
    return _tiling(tma_load, divisors).half_along(blocks) is not None


def _aligned_tensors(pipelines: list[Pipeline], divisors: Mapping[Var, int]) -> str:
    """The names of the tensors whose rows are not known to begin inside of a sector."""
    aligned: dict[str, None] = {}
    for pipeline in pipelines:
        for tma_load in pipeline.all_loads:
            tiling = _tiling(tma_load, divisors)
            stride = constant(tiling.axes[1].stride) if len(tiling.axes) > 1 else None
            if stride is None or int(stride) * DType(dtype_of(tiling.tensor)).bytes % SECTOR == 0:
                aligned[str(tiling.tensor.name)] = None
    return ", ".join(aligned)
