"""TMA stores: copies of wgmma accumulators to global memory by tensor maps.

Each warp converts 16 rows of its accumulators at a time to the tensor's element type and writes them to shared memory
of its own by ``stmatrix``, or float32 in pairs; then one of its threads starts the store. Only the next write to that
memory waits for the store, so that stores overlap with the matrix products of the block's next tile. Elements outside
of the tensor are not stored.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from math import prod
from typing import Any

from tile_cuda import instructions
from tile_cuda.architectures import WARP
from tile_cuda.attributes import CudaCallAttr
from tile_cuda.lowering.hopper.column_blocks import ColumnBlocks
from tile_cuda.lowering.hopper.store_order import unordered_write
from tile_cuda.lowering.hopper.sums_of_accumulators import accumulator_of, products_into
from tile_cuda.lowering.hopper.tensor_maps import Tiling, tiling_of
from tile_cuda.lowering.hopper.wgmma_config import GROUP, ROWS, WgmmaConfig, wgmma_config_of
from tile_cuda.lowering.state import TensorMaps, WarpSpecialization
from tile_cuda.options import DISABLE_TENSOR_STORE, DISABLE_TMA_LOWER, key_name
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.contract.state import BufferLayouts
from tilecore.dtypes import dtype as DType
from tilecore.ir.attributes import CallAttr, LoopAttr, StatementAttr
from tilecore.ir.build import cast, const, constant, dtype_of, load, loop, seq, statements_of, store
from tilecore.ir.nodes import (
    EQ,
    AllocBuffer,
    AttrStmt,
    BufferRegion,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    Range,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    tirx,
)
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_fragment, is_global, is_shared
from tilecore.ir.thread_calls import WARP_BARRIER
from tilecore.ir.thread_ops import thread_statement
from tilecore.ir.tile_ops import TileCall, as_tile_call, tile_statement
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import is_axis
from tilecore.lowering.simt.state import ThreadCount, TileFunction, threads_of_call
from tilecore.lowering.simt.thread_env import ThreadEnv

ROWS_AT_ONCE = 16  # of a warp
WIDEST = 128  # bytes of a row of a store
_DISABLING_OPTIONS = (DISABLE_TENSOR_STORE, DISABLE_TMA_LOWER)
_TYPES = ("float16", "bfloat16")


def matches(call: TileCall, env: PassEnv) -> str | None:
    function, state = env.state(TileFunction), env.state(WarpSpecialization)
    body = function.function.body
    reason = reason_against_store(call, body, state.tensors, function.divisors, env)
    return reason or (None if state.is_tight else _reason_of_memory(call, body, state.tensors, env))


def _reason_of_memory(call: TileCall, body: Stmt, tensors: Container[Var], env: PassEnv) -> str | None:
    """Why the shared memory has no place for the copy's staging memory, which nothing shares; None where it has."""
    slots = _slots(body)
    tiles = [alloc.buffer for alloc in collect(body, AllocBuffer) if is_shared(alloc.buffer)]
    of_tiles = sum(_bytes(tile) * slots.get(tile, 1) for tile in tiles)
    staging, limit = staging_bytes(call, body, tensors, env), env.capabilities.shared_bytes
    if of_tiles + staging <= limit:
        return None
    return f"its {staging} bytes of shared memory do not fit beside the kernel's tiles, of {of_tiles} bytes"


def _bytes(buffer: Var) -> int:
    return prod(int(constant(size) or 0) for size in buffer.shape) * DType(dtype_of(buffer)).bits // 8


def _slots(body: Stmt) -> dict[Var, int]:
    """The slots of the shared tiles that copies of pipelined loops fill."""
    slots: dict[Var, int] = {}
    for loop_ in collect(body, For):
        stages = int(loop_.annotations.get(LoopAttr.STAGES, 1))
        calls = (as_tile_call(node) for node in collect(loop_.body, Evaluate)) if stages > 1 else ()
        for call in calls:
            if call is not None and call.op.name == "copy" and is_shared(call.dst.source):
                slots[call.dst.source] = max(stages, slots.get(call.dst.source, 1))
    return slots


def reason_against_store(
    call: TileCall, body: Stmt, tensors: Container[Var], divisors: Mapping[Var, int], env: PassEnv
) -> str | None:
    """Why tensor maps cannot do the copy; None where they can.

    body: the function's code with the copy. tensors: the buffers that a launch can make tensor maps of. divisors: known
    divisors of variables.
    """
    for option in _DISABLING_OPTIONS:
        if option.value_in(env.config):
            return f"{key_name(option)} is set"
    if call.hints.get(CallAttr.DISABLE_TMA):
        return "disable_tma=True"
    if not (is_fragment(call.src.source) and is_whole(call.src) and is_global(call.dst.source)):
        return "it does not copy a whole fragment to global memory"
    dtype = dtype_of(call.dst.source)
    if dtype not in _TYPES and not (dtype == "float32" and CudaCallAttr.STAGED in call.hints):
        return f"stmatrix does not store {dtype}, only {' and '.join(_TYPES)}"
    if call.dst.source not in tensors:
        return f"{call.dst.source.name} is a view"
    config = _config_of_accumulator(call.src.source, body, env)
    if isinstance(config, str):
        return config
    if not width_of(config, dtype):
        return f"the columns of a warpgroup, of {config.n}, are not a multiple of 16"
    kernel = _kernel_with(call.src.source, body)
    if _is_read(call.dst.source, kernel):
        return f"the kernel reads {call.dst.source.name}"
    unordered = unordered_write(call.dst, kernel)
    if unordered is not None:
        return unordered
    tiling = _tiling(call, config, const(0, "int32"), const(0, "int32"), divisors)
    return tiling if isinstance(tiling, str) else None


def staging_bytes(call: TileCall, body: Stmt, tensors: Container[Var], env: PassEnv) -> int:
    """The shared memory that the copy takes if tensor maps do it; 0 if not."""
    if reason_against_store(call, body, tensors, {}, env) is not None:
        return 0
    config = _config_of_accumulator(call.src.source, body, env)
    assert isinstance(config, WgmmaConfig)
    dtype = dtype_of(call.dst.source)
    shape = _staging_shape(config, dtype, (threads_of_call(call, env) or 0) // WARP)
    return prod(shape) * DType(dtype).bytes


def _staging_shape(p: WgmmaConfig, dtype: str, warps: int) -> tuple[int, int, int, int]:
    """Warps, slabs of a warp, rows and columns of a slab."""
    width = width_of(p, dtype)
    parts = p.n_tiles * p.columns // width
    return warps, 2 if parts * p.m_tiles % 2 == 0 else 1, ROWS_AT_ONCE, width


def fragments(call: TileCall, env: PassEnv, threads: int) -> dict[Any, Any]:
    config = _config_of_accumulator(call.src.source, env.state(TileFunction).function.body, env)
    assert isinstance(config, WgmmaConfig)
    return {call.src.source: config.layout_of_c()}


def lower(call: TileCall, env: ThreadEnv) -> Stmt:
    return _Lowering(call, env).run()


class _Lowering:
    def __init__(self, call: TileCall, env: ThreadEnv) -> None:
        self.call, self.env, self.binding = call, env, env.binding
        config = _config_of_accumulator(call.src.source, env.state(TileFunction).function.body, env)
        assert isinstance(config, WgmmaConfig)
        self.p = p = config
        self.dtype = dtype_of(call.dst.source)
        self.width = width_of(p, self.dtype)
        self.parts = p.n_tiles * p.columns // self.width
        shape = _staging_shape(p, self.dtype, self.binding.threads // WARP)
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
        for i in range(self.p.m_tiles):
            for part in range(self.parts):
                place = row + const(i * ROWS, "int32"), column + const(part * self.width, "int32")
                statements.append(self._part(i, part, *place))
        nest = AttrStmt(const(0, "int32"), StatementAttr.NEST, const(1, "int32"), seq(statements), span=self.call.span)
        if self.is_tight:  # all products have read the tiles whose memory it is
            return seq([tile_statement("sync_threads", [], span=self.call.span), nest])
        return nest

    def _part(self, i: int, part: int, row: Any, column: Any) -> Stmt:
        slot = const((i * self.parts + part) % self.slots, "int32")
        tiling = _tiling(self.call, self.p, row, column, self.env.state(TileFunction).divisors)
        assert isinstance(tiling, Tiling)
        name = self.env.state(TensorMaps).name_of(tiling)
        zero = const(0, "int32")
        first = load(self.staging, [self.warp, slot, zero, zero])
        start_store = [
            instructions.tma_store(name, first, tiling.coordinates(0), self.call.span),
            instructions.tma_store_group("commit_stores"),
        ]
        return seq(
            [
                self._by_first_lane([instructions.tma_store_group("wait_stores_read", self.slots - 1)]),
                _warp_barrier(),
                self._write_staging(i, part, slot),
                instructions.proxy_fence(),
                _warp_barrier(),
                self._by_first_lane(start_store),
            ]
        )

    def _write_staging(self, i: int, part: int, slot: Any) -> Stmt:
        """Writes 16 rows of accumulators to the staging memory."""
        accumulators = self.binding.registers[self.call.src.source]
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

            return loop(const(2, "int32"), element, name="n", kind=ForKind.UNROLLED)

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
    """The columns of a store; 0 where a warpgroup's columns are not a multiple of 16."""
    columns = p.n_tiles * p.columns
    return next((w for w in (64, 32, 16) if columns % w == 0 and w * DType(dtype).bytes <= WIDEST), 0)


def _blocks(shape: tuple[int, ...], dtype: str) -> ColumnBlocks:
    return ColumnBlocks(shape, shape[-1] * DType(dtype).bytes, shape[-1])


def _config_of_accumulator(accumulator: Var, body: Stmt, env: PassEnv) -> WgmmaConfig | str:
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


def _tiling(call: TileCall, p: WgmmaConfig, row: Any, column: Any, divisors: Mapping[Var, int]) -> Tiling | str:
    """The tensor map of one warp's store, whose first element is (row, column) of the tile; or why there is none."""
    axes = [axis for axis, r in enumerate(call.dst.region) if constant(r.extent) != 1]
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


def _kernel_with(fragment: Var, body: Stmt) -> Stmt:
    """The kernel of a function that allocates the fragment. Its stores have ended before another kernel begins."""
    kernels = [part for part in statements_of(body) if is_axis(part)]
    return next((k for k in kernels if any(a.buffer == fragment for a in collect(k, AllocBuffer))), body)


def _is_read(tensor: Var, body: Stmt) -> bool:
    roots = memory_roots(body)
    read = {load.source for load in collect(body, TensorLoad)}
    calls = (as_tile_call(node) for node in collect(body, Evaluate))
    read |= {c.args[name].source for c in calls if c is not None for name in c.op.reads}
    return any(roots.get(buffer, buffer).same_as(tensor) for buffer in read)


TMA_STORE = TileOpImpl(
    "copy",
    "tensor store",
    lower,
    matches,
    priority=40,
    late=True,
    fragments=fragments,
    needs=(ThreadCount, TileFunction, WarpSpecialization),
    leaves=(BufferLayouts, TensorMaps),
)
