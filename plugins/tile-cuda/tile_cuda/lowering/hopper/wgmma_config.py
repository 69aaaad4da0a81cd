"""Chooses how ``wgmma`` does one T.gemm: the instruction and the grid of warpgroups; or says why it cannot."""

from __future__ import annotations

from typing import NamedTuple

from tile_cuda.architectures import WARP
from tile_cuda.lowering.hopper.column_blocks import PATTERN, PIECE, ColumnBlocks, column_blocks_of
from tile_cuda.lowering.mma_config import allows_tf32
from tile_cuda.lowering.shapes import SHORT, Shape, shape_of
from tile_cuda.options import ALLOW_TF32, DISABLE_WGMMA, key_name
from tile_cuda.target import architecture_of
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.fragments import REGISTER, THREAD, FragmentLayout, resized, tiled
from tilecore.ir.nodes import Range, TensorRegion
from tilecore.ir.scopes import is_shared
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.analysis.assumptions import is_multiple
from tilecore.lowering.simt.matrix.config import SUM_TYPES
from tilecore.lowering.simt.matrix.warp_grid import FULL_COLUMN
from tilecore.lowering.simt.tile_ops.accumulators import is_whole_fragment
from tilecore.lowering.tile_ops.gemm import gemm_sizes

GROUP = 4 * WARP  # threads of a warpgroup
ROWS = 64  # of A, in an instruction
DEPTH_BYTES = 32  # of an operand's row, along K, in an instruction
MOST_COLUMNS = 256
REGISTERS, OTHER_REGISTERS = 65536, 32  # of a multiprocessor; of a thread, beside an instruction's accumulator


class WgmmaConfig(NamedTuple):
    """How wgmma does a block's matrix product.

    m, n, k: the sizes of the block's product. along_m, along_n: the number of warpgroups along M and N. columns: of B,
    in an instruction. shape: the mma.sync instruction with these fragments (PTX ISA, "Register fragments for wgmma").
    """

    m: int
    n: int
    k: int
    along_m: int
    along_n: int
    columns: int
    shape: Shape

    @property
    def m_tiles(self) -> int:
        """Instructions of a warpgroup along M."""
        return self.m // (self.along_m * ROWS)

    @property
    def n_tiles(self) -> int:
        return self.n // (self.along_n * self.columns)

    @property
    def steps(self) -> int:
        return self.k // self.shape.depth

    @property
    def name(self) -> str:
        """The instruction's name in the header, such as n256k16_f16_f16_f32."""
        words = ["tf32" if kind == "float32" else SHORT[kind] for kind in (self.shape.a, self.shape.b)]
        return f"n{self.columns}k{self.shape.depth}_{'_'.join(words)}_{SHORT[self.shape.c]}"

    @property
    def accumulator_registers(self) -> int:
        """Registers of one instruction's result in a thread."""
        return self.columns // 2

    def layout_of_c(self) -> FragmentLayout:
        along = [(1, self.columns // 8, REGISTER), (0, 4, THREAD), (1, self.n_tiles, REGISTER)]
        across = [(0, self.m_tiles, REGISTER), (0, self.along_m, THREAD), (1, self.along_n, THREAD)]
        return tiled(self.shape.accumulator, [*along, *across], (self.m, self.n))

    def layout_of_a(self) -> FragmentLayout:
        """The layout of A in registers; the warpgroups along N hold copies."""
        repeats = [(0, 4, THREAD), (1, self.steps, REGISTER), (0, self.m_tiles, REGISTER), (0, self.along_m, THREAD)]
        return resized(tiled(self.shape.operand_a, repeats, (self.m, self.k)), GROUP * self.along_m * self.along_n)


def wgmma_config_of(call: TileCall, env: PassEnv, threads: int | None) -> WgmmaConfig | str:
    """The configuration for a gemm, or the reason why wgmma cannot do it. threads: of the block; None: not known."""
    if "wgmma" not in env.capabilities.features:
        return f"{architecture_of(env.target).name} has no wgmma"
    if DISABLE_WGMMA.value_in(env.config):
        return f"{key_name(DISABLE_WGMMA)} is set"
    if any(constant(r.extent) is None for region in (call.a, call.b, call.c) for r in region.region[-2:]):
        return "a tile size is not known when compiling"
    groups, remainder = divmod(threads or 0, GROUP)
    if remainder or not groups:
        return f"{threads} threads are not a multiple of a warpgroup's {GROUP}"
    m, n, k = gemm_sizes(call)
    shape = _instruction(call, env, k)
    if isinstance(shape, str):
        return shape
    if m % ROWS:
        return f"M is {m}, not a multiple of {ROWS}"
    grids = [(i, groups // i) for i in range(1, groups + 1) if groups % i == 0 and m % (ROWS * i) == 0]
    grids = [(i, j) for i, j in grids if n % j == 0 and _columns(n // j, shape, groups)]
    if not grids:
        return f"{m} x {n} cannot be divided among {groups} warpgroups in whole instructions"
    along_m, along_n = min(grids) if int(call.policy) == FULL_COLUMN else max(grids)
    config = WgmmaConfig(m, n, k, along_m, along_n, _columns(n // along_n, shape, groups), shape)
    return _reason_against_operands(call, config) or config


def _instruction(call: TileCall, env: PassEnv, k: int) -> Shape | str:
    a, b, c = (dtype_of(r.source) for r in (call.a, call.b, call.c))
    if a == b == "float32" and not allows_tf32(call, env):
        return f"float32 is rounded to tf32 only where {key_name(ALLOW_TF32)} or annotations allow it"
    for total in (c, *SUM_TYPES.get(c, ())):
        shape = shape_of(a, b, total, k, 90)
        if shape is not None and DType(a).bits <= 32 and total != "float64":
            if shape.depth * DType(a).bytes == DEPTH_BYTES:
                return shape
            return f"K is {k}, not a multiple of {DEPTH_BYTES // DType(a).bytes}"
    return f"no instruction for {a}, {b} into {c}"


def _columns(n: int, shape: Shape, groups: int) -> int:
    """The columns of the widest instruction that divides ``n`` columns; 0 for none.

    The registers that a thread starts with, in a block of ``groups`` warpgroups and a producer's, must hold its
    accumulator.
    """
    step = 8 if shape.c != "int32" else 16
    most = min(MOST_COLUMNS, 2 * (REGISTERS // ((groups + 1) * GROUP) - OTHER_REGISTERS))
    fits = [c for c in range(step, most + 1, step) if n % c == 0]
    if shape.c == "int32":
        fits += [c for c in (8, 24) if n % c == 0]
    return max(fits, default=0)


def _reason_against_operands(call: TileCall, p: WgmmaConfig) -> str | None:
    if not is_whole_fragment(call.a) or call.transpose_a:
        reason = _reason_against("A", call.a, not call.transpose_a, ROWS)
        if reason:
            return reason
    single_instruction = p.along_n * p.n_tiles == 1
    return _reason_against("B", call.b, bool(call.transpose_b), 0 if single_instruction else p.columns)


def _reason_against(name: str, region: TensorRegion, along_k: bool, part: int) -> str | None:
    """Why a matrix descriptor cannot describe an operand; None where it can.

    part: elements of the operand along M or N in each instruction; 0: all of them.
    """
    if not is_shared(region.source):
        return f"{name} is in {region.source.scope()} memory"
    blocks = column_blocks_of(region.source)
    if blocks is None:
        return f"the rows of {name} are not a multiple of 32 bytes, or their number is not a multiple of 8"
    rows, columns = region.region[-2:]
    if not _begins_a_block(columns, blocks):
        return f"{name} begins at a column of its tile that is not a multiple of {blocks.columns}"
    if not is_multiple(rows.min, PATTERN, {}):
        return f"{name} does not begin at a multiple of {PATTERN} rows of its tile"
    if not along_k:
        if DType(dtype_of(region.source)).bits != 16:
            return f"{name} is not stored along K, which only 16-bit types may do"
        if part % blocks.columns:
            return f"an instruction takes {part} columns of {name}, not a multiple of {blocks.columns}"
    return None


def _begins_a_block(columns: Range, blocks: ColumnBlocks) -> bool:
    """Do these columns begin where a block of columns does, or lie within one block? Then the instructions find theirs
    by the distance to the first."""
    first, count = constant(columns.min), constant(columns.extent)
    if first is not None and count is not None and first % blocks.columns + count <= blocks.columns:
        return first * blocks.span // blocks.columns % PIECE == 0
    return is_multiple(columns.min, blocks.columns, {})


def operand_blocks(region: TensorRegion) -> ColumnBlocks:
    """Of an operand in shared memory that :func:`wgmma_config_of` accepted."""
    blocks = column_blocks_of(region.source)
    assert blocks is not None
    return blocks
