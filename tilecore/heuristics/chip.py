"""The speeds and sizes of a target, from the figures that its backend declares: what the models compute with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilecore.dtypes import dtype as DType
from tilecore.profiler.tile_device import AttentionBlocks, GemmBlocks, TileDevice, get_arch

if TYPE_CHECKING:
    from tilecore.contract.records import Capabilities
    from tilecore.target import Target

# Where a backend declares nothing: a small GPU of some years ago. Only proportions matter then, and `assumed` says so.
_ASSUMED = {
    "compute_max_core": 16, "clock": 1.0, "vector_ops": 128, "bandwidth": 200_000, "latency": 1.0, "launch_time": 5.0,
}  # fmt: skip
_CACHE_FACTOR = 2.5  # of the bandwidth of global memory, for a second-level cache whose own is not declared


@dataclass(frozen=True)
class Chip:
    """One target in SI units: seconds, bytes, operations (a multiply-add is two).

    cores: multiprocessors; clock: Hz. vector_rate: operations a second of one core without matrix instructions;
    matrix_rates: with them, by element type of A and B. group_threads, group_rows, most_columns: the threads that
    execute a matrix instruction, its rows of A, its most columns of B. block_shared, core_shared: bytes of shared
    memory of a block and of a core (0: no limit), reserved: bytes that every block takes beside its own. registers: of
    a core, 4 bytes each (0: not known). bandwidth, l2_bandwidth: bytes a second of global memory and of the
    second-level cache. latency: of a load. launch: of an empty kernel. loop_parts: how many blocks the compiler lets
    share the loop of one, of (blocks of the grid, iterations). gemm_blocks, attention_blocks: the backend's own
    proposals (TileDevice), None for those of the model. dtypes: the element types it has; empty: not known.
    assumed: figures that the backend does not declare.
    """

    target: Target
    cores: int
    clock: float
    vector_rate: float
    matrix_rates: dict[str, float]
    group_threads: int
    group_rows: int
    most_columns: int
    max_threads: int
    warp: int
    block_shared: int
    core_shared: int
    reserved: int
    registers: int
    l2_bytes: int
    bandwidth: float
    l2_bandwidth: float
    latency: float
    launch: float
    loop_parts: Callable[[int, int], int]
    gemm_blocks: Callable[[int, int, int, str, str], Sequence[GemmBlocks] | None]
    attention_blocks: Callable[[int, int, int, int, bool], Sequence[AttentionBlocks] | None]
    dtypes: frozenset[str]
    assumed: tuple[str, ...] = ()

    def rate(self, dtype: str) -> float:
        """Operations a second of one core on tiles of this element type."""
        return self.matrix_rates.get(dtype, self.vector_rate)

    def has_matrix_instructions(self, dtype: str) -> bool:
        return dtype in self.matrix_rates


def chip_of(target: Any = "auto") -> Chip:
    """The figures of a target. Raises TargetError for a target that no backend offers."""
    from tilecore.plugins import manager

    backend, resolved = manager.resolve(target)
    return _from_figures(get_arch(resolved), backend.target.capabilities(resolved))


def _from_figures(device: TileDevice, capabilities: Capabilities) -> Chip:
    assumed = []

    def figure(name: str, value: float) -> float:
        if value:
            return value
        assumed.append(name)
        return _ASSUMED[name]

    cores = int(figure("compute_max_core", device.compute_max_core))
    clock = figure("clock", device.clock) * 1e9
    vector_rate = figure("vector_ops", device.vector_ops) * clock
    bandwidth = figure("bandwidth", device.copy_bandwidth or max(device.bandwidth)) * 1e6
    threads, rows, columns = device.matrix_group
    return Chip(
        target=device.target,
        cores=cores,
        clock=clock,
        vector_rate=vector_rate,
        matrix_rates={str(DType(name)): ops * clock for name, ops in device.matrix_ops.items()},
        group_threads=threads or max(1, device.warp_size),
        group_rows=rows or 1,
        most_columns=columns or 256,
        max_threads=capabilities.max_threads or 1024,
        warp=max(1, device.warp_size),
        block_shared=device.smem_cap,
        core_shared=max(device.smem_of_core, device.smem_cap),
        reserved=device.smem_reserved,
        registers=device.reg_cap,
        l2_bytes=device.l2_cache_size_bytes,
        bandwidth=bandwidth,
        l2_bandwidth=device.l2_bandwidth * 1e6 or _CACHE_FACTOR * bandwidth,
        latency=figure("latency", device.latency) * 1e-6,
        launch=figure("launch_time", device.launch_time) * 1e-6,
        loop_parts=device.loop_parts,
        gemm_blocks=device.gemm_blocks,
        attention_blocks=device.attention_blocks,
        dtypes=capabilities.dtypes,
        assumed=tuple(assumed),
    )
