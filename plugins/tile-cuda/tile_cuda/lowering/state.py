"""State between the passes of tile-cuda (the mechanism: tilecore/contract/state.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.contract.state import PassState
from tilecore.ir.nodes import Var

if TYPE_CHECKING:
    from tile_cuda.lowering.hopper.circular_buffers import CircularBuffer
    from tile_cuda.lowering.hopper.tensor_maps import Tiling


@dataclass
class L2Windows(PassState, by="collect_windows", former={"l2_windows": "by_kernel"}):
    """The L2 access policy windows: by the kernel's index, (name of the tensor, bytes as JSON, hit ratio).

    Published by collect_windows; describe_launch reads it.
    """

    by_kernel: dict[int, tuple[str, Any, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class BlockTile:
    """A contiguous part of a tensor that a block loads.

    first: where it begins in block 0. extents: its size along each axis. In each next block it begins ``step`` further
    along ``axis``. In a grid whose clusters are all blocks along the grid's axis ``part_tag`` ("blockIdx.y"), it begins
    ``part_step`` further along ``part_axis`` in each next block of the cluster.
    """

    tensor: str
    axis: int
    step: int
    first: tuple[int, ...]
    extents: tuple[int, ...]
    part_tag: str = ""
    part_axis: int = -1
    part_step: int = 0


@dataclass
class BlockTiles(PassState, by="collect_block_tiles"):
    """What the blocks of each kernel load before they reduce it, in the order of the kernels.

    Published by collect_block_tiles; prefetch_later_blocks reads it.
    """

    by_kernel: list[list[BlockTile]] = field(default_factory=list)


@dataclass
class ExplicitBarriers(PassState, by="collect_mbarriers"):
    """The mbarriers of T.alloc_barrier.

    Published by collect_mbarriers; init_mbarriers reads it. arrivals: for each buffer of mbarriers, the arrivals that
    end a phase of each. in_clusters: those buffers that are in kernels with clusters. late: those whose kernel waits
    itself until the blocks of the cluster have initialized them.
    """

    arrivals: dict[Var, list[int]] = field(default_factory=dict)
    in_clusters: set[Var] = field(default_factory=set)
    late: set[Var] = field(default_factory=set)


@dataclass
class WarpSpecialization(PassState, by="specialize_warps"):
    """The tiles that producer warps load, and the tensors that they can load from.

    Published by specialize_warps; the implementations of copies by tensor maps read it. circular_buffers: by the buffer
    of a tile's slots. tensors: the buffers that a launch can make tensor maps of. is_tight: whether a kernel's shared
    memory is so full that TMA stores must use memory of tiles that are no longer needed.
    """

    tensors: set[Var]
    circular_buffers: dict[Var, CircularBuffer] = field(default_factory=dict)
    is_tight: bool = False


@dataclass
class TensorMaps(PassState, collected=True):
    """The tensor maps of a function's kernels, by name; equal maps are one.

    Added to by the implementations of copies by tensor maps; describe_launch reads it.
    """

    by_name: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def name_of(self, tiling: Tiling) -> str:
        """The name of a map, which is added where it is new."""
        base = f"{tiling.tensor.name}_map"
        suffix = 0
        while True:
            name = base if not suffix else f"{base}_{suffix}"
            facts = tiling.facts(name)
            if self.by_name.setdefault(name, facts) == facts:
                return name
            suffix += 1
