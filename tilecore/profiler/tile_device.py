"""The figures of a chip as an object, for programs that choose tile sizes by them.

Each backend may offer a class of its chips in ``tilecore.carver.arch`` (``TargetSpec.modules``), made from a target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from tilecore.errors import TargetError


class GemmBlocks(NamedTuple):
    """Sizes of a block of a GEMM that a backend proposes: rows and columns of C, and steps along K at a time. seconds:
    what it expects of the whole product, to compare proposals by. reason: of the choice, in words."""

    block_M: int
    block_N: int
    block_K: int
    seconds: float
    reason: str


class AttentionBlocks(NamedTuple):
    """Sizes of a block of attention that a backend proposes: queries, and keys at a time. The rest as of GemmBlocks."""

    block_M: int
    block_N: int
    seconds: float
    reason: str


class TileDevice:
    """The figures of one chip; 0 for what is not known.

    target: the resolved target. platform: its kind, in capitals. name: the device's name, "" where none is here.
    smem_cap: the most bytes of shared memory of a block; max_smem_usage: the bytes that tile sizes may count on.
    reg_cap: registers of a block. warp_size: threads that execute together. sm_partition: schedulers of a
    multiprocessor. compute_max_core: multiprocessors. compute_capability: the architecture's number, as text.
    l2_cache_size_bytes: of the whole chip. transaction_size: bytes of the smallest and of the usual access of global
    memory. bandwidth: of global memory in MB/s, (of one multiprocessor, of the chip).

    Those that :mod:`tilecore.heuristics` proposes configurations by, besides: clock: GHz of multiprocessors under load.
    vector_ops: operations on float32 of one multiprocessor in a cycle, a multiply-add is two; matrix_ops: the same of
    matrix instructions, by element type of A and B. matrix_group: (threads that execute a matrix instruction, its rows
    of A, its most columns of B). smem_of_core: bytes of shared memory that the blocks of a multiprocessor share, of
    which each takes smem_reserved beside its own. copy_bandwidth, l2_bandwidth: MB/s that a large copy reaches in
    global memory (0: that of bandwidth) and in the second-level cache. latency: microseconds of a load from global
    memory. launch_time: microseconds of an empty kernel.
    """

    def __init__(self, target: Any = "auto") -> None:
        from tilecore.plugins import manager

        backend, self.target = manager.resolve(target)
        capabilities = backend.target.capabilities(self.target)
        self.platform = backend.kind.upper()
        self.name = ""
        self.smem_cap = int(capabilities.shared_bytes or 0)
        self.max_smem_usage = self.smem_cap
        self.reg_cap = 0
        self.warp_size = int(capabilities.warp or 0)
        self.sm_partition = 0
        self.compute_max_core = 0
        self.compute_capability = "unknown"
        self.l2_cache_size_bytes = 0
        self.transaction_size = [0, 0]
        self.bandwidth = [0, 0]
        self.clock = 0.0
        self.vector_ops = 0
        self.matrix_ops: Mapping[str, int] = {}
        self.matrix_group = (0, 0, 0)
        self.smem_of_core = 0
        self.smem_reserved = 0
        self.copy_bandwidth = 0
        self.l2_bandwidth = 0
        self.latency = 0.0
        self.launch_time = 0.0

    def loop_parts(self, blocks: int, iterations: int) -> int:
        """How many blocks the backend's compiler lets share the loop of each block of a GEMM, where a grid of
        ``blocks`` with loops of ``iterations`` would leave multiprocessors idle; 1: it never does."""
        return 1

    def gemm_blocks(self, M: int, N: int, K: int, dtype: str, layout: str) -> Sequence[GemmBlocks] | None:
        """Blocks for C [M, N] = A @ B over K, the best first, by the backend's own rules; None: by the model of
        multiprocessors of tilecore.heuristics. layout: as of ``heuristics.gemm``."""
        return None

    def attention_blocks(
        self, heads: int, queries: int, keys: int, dim: int, is_causal: bool
    ) -> Sequence[AttentionBlocks] | None:
        """The same for attention of several queries; ``heads`` of all sequences together."""
        return None

    def get_avaliable_tensorintrin_shapes(self) -> list[list[int]]:
        """[M, N] of the chip's matrix instructions that tiles are made of (spelt as TileLang spells it)."""
        return []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.target})"


def get_arch(target: Any = "auto") -> TileDevice:
    """The figures of a target: an object of the class that its backend offers in ``tilecore.carver.arch``, or a
    TileDevice with what the target says of itself."""
    from importlib import import_module

    from tilecore.plugins import manager

    backend, resolved = manager.resolve(target)
    for path, place in backend.target.modules.items():
        module, colon, attribute = place.partition(":")
        if colon and path.rpartition(".")[0] == "carver.arch":
            value = getattr(import_module(module), attribute)
            if isinstance(value, type) and issubclass(value, TileDevice):
                with suppress(TargetError):  # of a class for other chips of the target
                    return value(resolved)
    return TileDevice(resolved)


def auto_infer_current_arch() -> TileDevice:
    """The figures of the default target of this machine."""
    return get_arch("auto")


def checked_kind(target: Any, kind: str, class_name: str) -> Any:
    """``target``; raises TargetError unless it is of this kind."""
    from tilecore.plugins import manager

    _, resolved = manager.resolve(target)
    if resolved.kind != kind:
        raise TargetError(f"{class_name} takes a target of kind {kind!r}", found=str(resolved))
    return resolved
