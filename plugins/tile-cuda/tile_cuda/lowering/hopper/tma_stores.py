"""copy of a product's sums to global memory by tensor maps.

Each warp turns 16 rows of its sums at a time into the tensor's element type, puts them by ``stmatrix`` into memory of
its own, and one of its threads starts the store. Nobody waits for it but who writes that memory again, so that stores
go on under the products of the block's next tile. What lies outside of the tensor is left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tile_cuda import instructions
from tile_cuda.architectures import WARP
from tile_cuda.lowering.hopper.column_blocks import ColumnBlocks
from tile_cuda.lowering.hopper.lower_warp_roles import WARP_BARRIER
from tile_cuda.lowering.hopper.specialize_warps import TENSORS
from tile_cuda.lowering.hopper.tensor_maps import MapTable, Tiling, tiling_of
from tile_cuda.lowering.hopper.tma_loads import MAPS
from tile_cuda.lowering.hopper.wgmma_config import GROUP, ROWS, WgmmaConfig, wgmma_config_of
from tile_cuda.operations import WGMMA_GEMM
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import cast, const, constant, dtype_of, load, loop, seq, store
from tilecore.ir.nodes import (
    EQ,
    AllocBuffer,
    AttrStmt,
    BufferRegion,
    Call,
    Evaluate,
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
from tilecore.ir.scopes import is_fragment, is_global
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.assumptions import DIVISORS
from tilecore.lowering.simt.choose_tile_ops import UNCHOSEN
from tilecore.lowering.simt.insert_barriers import NEST
from tilecore.lowering.simt.note_ranges import threads_of_call
from tilecore.transform import PassConfigKey

AT_ONCE = 16  # rows of a warp
WIDEST = 64  # columns of a store
_OFF = (PassConfigKey.TL_DISABLE_TENSOR_STORE, PassConfigKey.TL_DISABLE_TMA_LOWER)
_TYPES = ("float16", "bfloat16")


def matches(call: TileCall, env: PassEnv) -> str | None:
    for key in _OFF:
        if env.config.get(str(key)):
            return f"{key.name} is set"
    if call.hints.get("disable_tma"):
        return "disable_tma=True"
    if not (is_fragment(call.src.source) and is_whole(call.src) and is_global(call.dst.source)):
        return "it does not take a fragment to global memory"
    if dtype_of(call.dst.source) not in _TYPES:
        return f"{dtype_of(call.dst.source)} is not stored by matrices"
    if call.dst.source not in env.facts[TENSORS]:
        return f"{call.dst.source.name} is a view"
    product = _product_into(call.src.source, env)
    if isinstance(product, str):
        return product
    if _read_elsewhere(call.dst.source, env):
        return f"the kernel reads {call.dst.source.name}"
    made = _tiling(call, product, const(0, "int32"), const(0, "int32"), env)
    return made if isinstance(made, str) else None


def fragments(call: TileCall, env: PassEnv, threads: int) -> dict[Any, Any]:
    product = _product_into(call.src.source, env)
    assert isinstance(product, WgmmaConfig)
    return {call.src.source: product.layout_of_c()}


def lower(call: TileCall, env: PassEnv) -> Stmt:
    return _Lowering(call, env).run()


class _Lowering:
    def __init__(self, call: TileCall, env: PassEnv) -> None:
        self.call, self.env, self.binding = call, env, env.facts["binding"]
        product = _product_into(call.src.source, env)
        assert isinstance(product, WgmmaConfig)
        self.p = p = product
        self.width = width_of(p)
        self.parts = p.n_tiles * p.columns // self.width
        self.slabs = 2 if self.parts * p.m_tiles % 2 == 0 else 1
        self.dtype = dtype_of(call.dst.source)
        self.warp, self.lane = self.binding.thread // WARP, self.binding.thread % WARP
        shape = (self.binding.threads // WARP, self.slabs, AT_ONCE, self.width)
        self.blocks = _blocks(shape, self.dtype)
        self.memory = tirx.decl_buffer(list(shape), self.dtype, "stored", scope="shared", layout=None)
        env.facts["layouts"][self.memory] = replace(self.blocks.layout, alone=True)  # stores read it late

    def run(self) -> Stmt:
        made: list[Stmt] = [AllocBuffer(self.memory)]
        group, warp = self.binding.thread // GROUP, self.warp % 4
        row = group % self.p.along_m * (self.p.m_tiles * ROWS) + warp * AT_ONCE
        column = group // self.p.along_m * (self.parts * self.width) if self.p.along_n > 1 else const(0, "int32")
        for i in range(self.p.m_tiles):
            for part in range(self.parts):
                at = row + const(i * ROWS, "int32"), column + const(part * self.width, "int32")
                made.append(self._part(i, part, *at))
        return AttrStmt(const(0, "int32"), NEST, const(1, "int32"), seq(made), span=self.call.span)

    def _part(self, i: int, part: int, row: Any, column: Any) -> Stmt:
        slab = const((i * self.parts + part) % self.slabs, "int32")
        tiling = _tiling(self.call, self.p, row, column, self.env)
        assert isinstance(tiling, Tiling)
        name = self.env.facts.setdefault(MAPS, MapTable()).name_of(tiling)
        zero = const(0, "int32")
        first = load(self.memory, [self.warp, slab, zero, zero])
        store_it = [
            instructions.tensor_store(name, first, tiling.coordinates(0), self.call.span),
            instructions.stores("commit_stores"),
        ]
        return seq(
            [
                self._once([instructions.stores("wait_stores_read", self.slabs - 1)]),
                _meet(),
                self._put(i, part, slab),
                instructions.fence_async(),
                _meet(),
                self._once(store_it),
            ]
        )

    def _put(self, i: int, part: int, slab: Any) -> Stmt:
        """16 rows of sums in memory, 16 columns at a time."""
        sums = self.binding.registers[self.call.src.source]
        base = i * (self.parts * self.width // 2) + part * (self.width // 2)
        row, half = self.lane % AT_ONCE, self.lane // AT_ONCE * 8

        def columns(q: Any) -> Stmt:
            taken = tirx.decl_buffer([8], self.dtype, "taken", scope="local", layout=None)

            def one(n: Any) -> Stmt:
                return store(taken, cast(load(sums, [q * 8 + n + const(base, "int32")]), self.dtype), [n])

            to = load(self.memory, [self.warp, slab, row, q * AT_ONCE + half])
            source = load(taken, [const(0, "int32")])
            steps = loop(const(8, "int32"), one, name="n", kind=ForKind.UNROLLED)
            return seq([AllocBuffer(taken), steps, instructions.stmatrix(to, source, 4)])

        return loop(const(self.width // AT_ONCE, "int32"), columns, name="q", kind=ForKind.UNROLLED)

    def _once(self, statements: list[Stmt]) -> Stmt:
        return IfThenElse(EQ(self.lane, const(0, "int32")), seq(statements), None)


def _meet() -> Stmt:
    return Evaluate(Call(WARP_BARRIER, [], ret_ty="void"))


def width_of(p: WgmmaConfig) -> int:
    """Columns of a store; 0 where a warpgroup's columns are no multiple of 16."""
    columns = p.n_tiles * p.columns
    return next((w for w in (WIDEST, 32, 16) if columns % w == 0), 0)


def _blocks(shape: tuple[int, ...], dtype: str) -> ColumnBlocks:
    return ColumnBlocks(shape, shape[-1] * DType(dtype).bytes, shape[-1])


def _product_into(sums: Var, env: PassEnv) -> WgmmaConfig | str:
    """The product whose sums these are."""
    found = []
    for node in collect(env.facts[UNCHOSEN].body, Evaluate):
        call = as_tile_call(node)
        if call is not None and call.op.name in ("gemm", WGMMA_GEMM.name) and call.c.source.same_as(sums):
            found.append(wgmma_config_of(call, env, threads_of_call(call, env)))
    if not found or isinstance(found[0], str):
        return "its source is not the sums of products of warpgroups"
    product = found[0]
    if any(isinstance(p, str) or p.layout_of_c() != product.layout_of_c() for p in found):
        return "several products hold its source differently"
    if product.shape.c != "float32" or dtype_of(sums) != "float32":
        return "its source is not float32"
    return product if width_of(product) else f"{product.n} columns are no whole stores"


def _tiling(call: TileCall, p: WgmmaConfig, row: Any, column: Any, env: PassEnv) -> Tiling | str:
    """The map of one warp's store, whose first element is (row, column) of the tile."""
    axes = [axis for axis, r in enumerate(call.dst.region) if constant(r.extent) != 1]
    if [constant(call.dst.region[axis].extent) for axis in axes] != [p.m, p.n]:
        return "the tile's axes are not those of the tensor"
    width = width_of(p)
    region = list(call.dst.region)
    for axis, extent, more in zip(axes, (AT_ONCE, width), (row, column), strict=True):
        first = region[axis].min
        region[axis] = Range.from_min_extent(first + more.astype(dtype_of(first)), const(extent, dtype_of(first)))
    shape = (AT_ONCE, width)
    made: TensorRegion = BufferRegion(call.dst.source, region)
    return tiling_of(made, shape, _blocks(shape, dtype_of(call.dst.source)), env.facts[DIVISORS])


def _read_elsewhere(tensor: Var, env: PassEnv) -> bool:
    body = env.facts[UNCHOSEN].body
    if any(read.source.same_as(tensor) for read in collect(body, TensorLoad)):
        return True
    calls = (as_tile_call(node) for node in collect(body, Evaluate))
    return any(c.args[name].source.same_as(tensor) for c in calls if c is not None for name in c.op.reads)


TMA_STORE = TileOpImpl("copy", "tensor store", lower, matches, priority=40, late=True, fragments=fragments)
