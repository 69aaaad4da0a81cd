"""Chooses how ``mma.sync`` does one T.gemm: the instruction and the grid of warps; or says why it cannot."""

from __future__ import annotations

from typing import NamedTuple

from tile_cuda.architectures import WARP
from tile_cuda.lowering.shapes import Shape, shape_of
from tile_cuda.lowering.warp_grid import warp_grid
from tile_cuda.options import ALLOW_TF32, key_name
from tile_cuda.target import architecture_of
from tilecore.contract.passes import PassEnv
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.tile_ops.accumulators import is_whole_fragment
from tilecore.lowering.tile_ops.gemm import gemm_sizes

# element type of C -> the types of a temporary accumulator in registers, which is added to C at the end
SUMS = {
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float64": ("float32", "int32"),
    "float32": ("int32",),
    "uint32": ("int32",),
    "int64": (),
}


class MmaConfig(NamedTuple):
    """How mma.sync does a block's matrix product.

    m, n, k: the sizes of the product. along_m, along_n: the number of warps along M and N. copies: how many warps
    compute the same part. shape: the instruction.
    """

    m: int
    n: int
    k: int
    along_m: int
    along_n: int
    copies: int
    shape: Shape

    @property
    def m_tiles(self) -> int:
        """The number of instructions of a warp along M."""
        return -(-self.m // (self.along_m * self.shape.rows))

    @property
    def n_tiles(self) -> int:
        return -(-self.n // (self.along_n * self.shape.columns))

    @property
    def steps(self) -> int:
        """The number of instructions along K; the last one may reach past the end of K."""
        return -(-self.k // self.shape.depth)

    @property
    def m_overshoots(self) -> bool:
        """Whether the parts of the warps reach past the last row."""
        return self.along_m * self.m_tiles * self.shape.rows > self.m

    @property
    def n_overshoots(self) -> bool:
        return self.along_n * self.n_tiles * self.shape.columns > self.n

    @property
    def k_overshoots(self) -> bool:
        return self.steps * self.shape.depth > self.k


def mma_config_of(call: TileCall, env: PassEnv, threads: int | None) -> MmaConfig | str:
    """The configuration for a gemm, or the reason why mma.sync cannot do it. threads: of the block; None: not known."""
    if any(constant(r.extent) is None for region in (call.a, call.b, call.c) for r in region.region[-2:]):
        return "a tile size is not known when compiling"
    m, n, k = gemm_sizes(call)
    shape = _shape(call, env, k)
    if isinstance(shape, str):
        return shape
    warps, rest = divmod(WARP if threads is None else threads, WARP)
    if rest:
        return f"{threads} threads are not a multiple of a warp's {WARP}"
    tiles = -(-m // shape.rows), -(-n // shape.columns)
    along_m, along_n = warp_grid(*tiles, warps, int(call.policy), (shape.rows, shape.columns))
    return MmaConfig(m, n, k, along_m, along_n, warps // (along_m * along_n), shape)


def _shape(call: TileCall, env: PassEnv, k: int) -> Shape | str:
    a, b, c = (dtype_of(r.source) for r in (call.a, call.b, call.c))
    arch = architecture_of(env.target).capability
    if a == b == "float32" and not allows_tf32(call, env):
        return f"float32 is rounded to tf32 only where {key_name(ALLOW_TF32)} or annotations allow it"
    for total in (c, *SUMS.get(c, ())):
        shape = shape_of(a, b, total, k, arch)
        if shape is not None:
            return shape
    return f"no instruction for {a}, {b} into {c} on sm_{arch}"


def allows_tf32(call: TileCall, env: PassEnv) -> bool:
    """Whether the gemm may round its float32 operands to tf32 (10 bits of mantissa)."""
    return bool(call.hints.get(CallAttr.ALLOW_TF32, ALLOW_TF32.value_in(env.config)))


def reads_a_from_registers(call: TileCall, config: MmaConfig) -> bool:
    """Whether A is a fragment whose registers are the operands of the instructions."""
    return is_whole_fragment(call.a) and not call.transpose_a and not config.k_overshoots
