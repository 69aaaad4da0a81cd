"""Stages accumulators of ``wgmma`` in shared memory, from where tensor maps store them or add them to global memory.

Each warp writes 16 rows of its accumulators at a time to memory of its own, as elements of the tensor: by ``stmatrix``
where they have 16 bits, or float32 in pairs; then one of its threads starts the copy. Only the next write to that
memory waits for the copy, so copies run beside the block's further work. Elements outside of the tensor are left out.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

from tile_cuda import instructions
from tile_cuda.architectures import WARP
from tile_cuda.lowering.hopper.column_blocks import ColumnBlocks
from tile_cuda.lowering.hopper.sums_of_accumulators import accumulator_of, products_into
from tile_cuda.lowering.hopper.tensor_maps import Tiling, tiling_of
from tile_cuda.lowering.hopper.wgmma_config import GROUP, ROWS, WgmmaConfig, wgmma_config_of
from tile_cuda.lowering.state import TensorMaps, WarpSpecialization
from tile_cuda.options import DISABLE_TENSOR_STORE, DISABLE_TMA_LOWER, key_name
from tilecore.contract.passes import PassEnv
from tilecore.contract.state import BufferLayouts
from tilecore.dtypes import dtype as DType
from tilecore.errors import LoweringError
from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import cast, const, constant, dtype_of, load, loop, seq, statements_of, store
from tilecore.ir.nodes import (
    EQ,
    AllocBuffer,
    AttrStmt,
    BufferRegion,
    ForKind,
    IfThenElse,
    Range,
    Stmt,
    TensorRegion,
    Var,
    tirx,
)
from tilecore.ir.thread_calls import WARP_BARRIER
from tilecore.ir.thread_ops import thread_statement
from tilecore.ir.tile_ops import TileCall, tile_statement
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import is_axis
from tilecore.lowering.simt.state import TileFunction, threads_of_call
from tilecore.lowering.simt.thread_env import ThreadEnv
from tilecore.lowering.tile_ops.copies import axes_of

ROWS_AT_ONCE = 16  # of a warp
WIDEST = 128  # bytes of a row of a copy


def source_of(call: TileCall) -> TensorRegion:
    """What a copy, or an atomic operation on a tile, writes to ``call.dst``."""
    return call.src if call.op.name == "copy" else call.value


def staging_config(source: Var, target: Var, body: Stmt, tensors: Container[Var], env: PassEnv) -> WgmmaConfig | str:
    """The configuration of the products whose accumulator ``source`` can be staged for ``target``; or why not.

    tensors: the buffers that a launch can make tensor maps of.
    """
    if target not in tensors:
        return f"{target.name} is a view"
    config = config_of_accumulator(source, body, env)
    if isinstance(config, str):
        return config
    if not width_of(config, dtype_of(target)):
        return f"the columns of a warpgroup, of {config.n}, are not a multiple of 16"
    return config


def reason_against_map(call: TileCall, config: WgmmaConfig, divisors: Mapping[Var, int]) -> str | None:
    """Why there is no tensor map for the parts of ``call.dst``; None where there is one."""
    tiling = tiling_of_part(call, config, const(0, "int32"), const(0, "int32"), divisors)
    return tiling if isinstance(tiling, str) else None


def option_against(env: PassEnv) -> str | None:
    """The option that turns copies of accumulators by tensor maps off, as a sentence."""
    disabling = (option for option in (DISABLE_TENSOR_STORE, DISABLE_TMA_LOWER) if option.value_in(env.config))
    return next((f"{key_name(option)} is set" for option in disabling), None)


def config_of_source(call: TileCall, body: Stmt, env: PassEnv) -> WgmmaConfig:
    """The configuration of the products whose accumulator is written; they have been checked."""
    config = config_of_accumulator(source_of(call).source, body, env)
    assert isinstance(config, WgmmaConfig)
    return config


def staging_shape(call: TileCall, body: Stmt, env: PassEnv) -> tuple[int, int, int, int]:
    """Warps, slabs of a warp, rows and columns of a slab."""
    p, dtype = config_of_source(call, body, env), dtype_of(call.dst.source)
    width = width_of(p, dtype)
    parts = p.n_tiles * p.columns // width
    warps = (threads_of_call(call, env) or 0) // WARP
    return warps, 2 if parts * p.m_tiles % 2 == 0 else 1, ROWS_AT_ONCE, width


def fragments(call: TileCall, env: PassEnv, threads: int) -> dict[Any, Any]:
    """The layout of the accumulator, for the implementations of copies."""
    layout = config_of_source(call, env.state(TileFunction).function.body, env).layout_of_c()
    return {source_of(call).source: layout}


class StagedCopy:
    """The code of a copy, or of additions. is_add: whether the accumulator is added to the tensor's elements."""

    def __init__(self, call: TileCall, env: ThreadEnv, is_add: bool = False) -> None:
        self.call, self.env, self.binding, self.is_add = call, env, env.binding, is_add
        body = env.state(TileFunction).function.body
        if call.dst.source in env.state(BufferLayouts).by_buffer:  # tensor maps are of rows
            raise LoweringError(f"a tensor map of {call.dst.source.name}, which is not stored row by row")
        self.p = p = config_of_source(call, body, env)
        self.dtype = dtype_of(call.dst.source)
        self.width = width_of(p, self.dtype)
        self.parts = p.n_tiles * p.columns // self.width
        shape = staging_shape(call, body, env)
        self.slots = shape[1]
        self.warp, self.lane = self.binding.thread // WARP, self.binding.thread % WARP
        self.blocks = _blocks(shape, self.dtype)
        self.staging = tirx.decl_buffer(list(shape), self.dtype, "stored", scope="shared", layout=None)
        self.is_tight = env.state(WarpSpecialization).is_tight
        layout = replace(self.blocks.layout, alone=not self.is_tight)  # stores read it until the kernel's end
        env.state(BufferLayouts).by_buffer[self.staging] = layout

    def run(self) -> Stmt:
        statements: list[Stmt] = [AllocBuffer(self.staging)]
        group, warp = self.binding.thread // GROUP, self.warp % 4
        row = group % self.p.along_m * (self.p.m_tiles * ROWS) + warp * ROWS_AT_ONCE
        column = group // self.p.along_m * (self.parts * self.width) if self.p.along_n > 1 else const(0, "int32")
        slabs = [(i, part) for i in range(self.p.m_tiles) for part in range(self.parts)]
        # additions are in a loop, where the slabs have been read by the next iteration: one fence for all of them
        at_once = self.slots if self.is_add else 1
        for first in range(0, len(slabs), at_once):
            statements.append(self._copy(slabs[first : first + at_once], row, column))
        nest = AttrStmt(const(0, "int32"), StatementAttr.NEST, const(1, "int32"), seq(statements), span=self.call.span)
        if self.is_tight:  # all products have read the tiles whose memory it is
            return seq([tile_statement("sync_threads", [], span=self.call.span), nest])
        return nest

    def _copy(self, slabs: list[tuple[int, int]], row: Any, column: Any) -> Stmt:
        """Stages slabs, (rows of instructions, part of the columns) of a warp, and starts their copies."""
        writes, copies = [], []
        for i, part in slabs:
            slot = const((i * self.parts + part) % self.slots, "int32")
            writes.append(self._write_staging(i, part, slot))
            copies.append(self._start(slot, row + const(i * ROWS, "int32"), column + const(part * self.width, "int32")))
        copies.append(instructions.tma_store_group("commit_stores"))
        return seq(
            [
                self._by_first_lane([instructions.tma_store_group("wait_stores_read", self.slots - len(slabs))]),
                _warp_barrier(),
                *writes,
                instructions.proxy_fence(),
                _warp_barrier(),
                self._by_first_lane(copies),
            ]
        )

    def _start(self, slot: Any, row: Any, column: Any) -> Stmt:
        tiling = tiling_of_part(self.call, self.p, row, column, self.env.state(TileFunction).divisors)
        assert isinstance(tiling, Tiling)
        name = self.env.state(TensorMaps).name_of(tiling)
        zero = const(0, "int32")
        first = load(self.staging, [self.warp, slot, zero, zero])
        return instructions.tma_store(name, first, tiling.coordinates(0), self.call.span, is_add=self.is_add)

    def _write_staging(self, i: int, part: int, slot: Any) -> Stmt:
        """Writes 16 rows of accumulators to the staging memory."""
        accumulators = self.binding.registers[source_of(self.call).source]
        base = i * (self.parts * self.width // 2) + part * (self.width // 2)
        if DType(self.dtype).bytes == 2:
            return self._write_matrices(accumulators, base, slot)
        return self._write_pairs(accumulators, base, slot)

    def _write_pairs(self, accumulators: Var, base: int, slot: Any) -> Stmt:
        """Writes two neighbouring elements of a row at a time."""
        count = ROWS_AT_ONCE * self.width // WARP // 2

        def pair(index: int) -> Stmt:
            row = self.lane // 4 + const(index % 2 * 8, "int32")
            column = self.lane % 4 * 2 + const(index // 2 * 8, "int32")

            def element(e: Any) -> Stmt:
                accumulator = load(accumulators, [const(base + index * 2, "int32") + e])
                return store(self.staging, cast(accumulator, self.dtype), [self.warp, slot, row, column + e])

            return loop(const(2, "int32"), element, name="n", kind=ForKind.VECTORIZED)

        return seq([pair(index) for index in range(count)])

    def _write_matrices(self, accumulators: Var, base: int, slot: Any) -> Stmt:
        """Writes 16 columns at a time by stmatrix."""
        row, half = self.lane % ROWS_AT_ONCE, self.lane // ROWS_AT_ONCE * 8

        def columns(q: Any) -> Stmt:
            packed = tirx.decl_buffer([8], self.dtype, "taken", scope="local", layout=None)

            def pack(element: Any) -> Stmt:
                accumulator = load(accumulators, [q * 8 + element + const(base, "int32")])
                return store(packed, cast(accumulator, self.dtype), [element])

            to = load(self.staging, [self.warp, slot, row, q * ROWS_AT_ONCE + half])
            source = load(packed, [const(0, "int32")])
            steps = loop(const(8, "int32"), pack, name="n", kind=ForKind.UNROLLED)
            return seq([AllocBuffer(packed), steps, instructions.stmatrix(to, source, 4)])

        return loop(const(self.width // ROWS_AT_ONCE, "int32"), columns, name="q", kind=ForKind.UNROLLED)

    def _by_first_lane(self, statements: list[Stmt]) -> Stmt:
        return IfThenElse(EQ(self.lane, const(0, "int32")), seq(statements), None)


def _warp_barrier() -> Stmt:
    return thread_statement(WARP_BARRIER)


def width_of(p: WgmmaConfig, dtype: str) -> int:
    """The columns of a copy; 0 where a warpgroup's columns are not a multiple of 16."""
    columns = p.n_tiles * p.columns
    return next((w for w in (64, 32, 16) if columns % w == 0 and w * DType(dtype).bytes <= WIDEST), 0)


def _blocks(shape: tuple[int, ...], dtype: str) -> ColumnBlocks:
    return ColumnBlocks(shape, shape[-1] * DType(dtype).bytes, shape[-1])


def config_of_accumulator(accumulator: Var, body: Stmt, env: PassEnv) -> WgmmaConfig | str:
    """The configuration of the wgmma operations that have this accumulator, or one that is added to it; or why there is
    none."""
    products = products_into(accumulator_of(accumulator, body), body)
    configs = [wgmma_config_of(call, env, threads_of_call(call, env)) for call in products]
    if not configs or isinstance(configs[0], str):
        return "its source is not an accumulator of wgmma"
    first = configs[0]
    if any(isinstance(config, str) or config.layout_of_c() != first.layout_of_c() for config in configs):
        return "several wgmma operations want different layouts of its source"
    if first.shape.c != "float32" or dtype_of(accumulator) != "float32":
        return "its source is not float32"
    return first


def tiling_of_part(call: TileCall, p: WgmmaConfig, row: Any, column: Any, divisors: Mapping[Var, int]) -> Tiling | str:
    """The tensor map of one warp's copy, whose first element is (row, column) of the tile; or why there is none."""
    axes = axes_of(call.dst)
    if [constant(call.dst.region[axis].extent) for axis in axes] != [p.m, p.n]:
        return "the shape of the tile is not that of the tensor's region"
    width = width_of(p, dtype_of(call.dst.source))
    region = list(call.dst.region)
    for axis, extent, offset in zip(axes, (ROWS_AT_ONCE, width), (row, column), strict=True):
        first = region[axis].min
        region[axis] = Range.from_min_extent(first + offset.astype(dtype_of(first)), const(extent, dtype_of(first)))
    shape = (ROWS_AT_ONCE, width)
    part: TensorRegion = BufferRegion(call.dst.source, region)
    return tiling_of(part, shape, _blocks(shape, dtype_of(call.dst.source)), divisors)


def kernel_with(fragment: Var, body: Stmt) -> Stmt:
    """The kernel of a function that allocates the fragment. Its stores have ended before another kernel begins."""
    kernels = [part for part in statements_of(body) if is_axis(part)]
    return next((k for k in kernels if any(a.buffer == fragment for a in collect(k, AllocBuffer))), body)
