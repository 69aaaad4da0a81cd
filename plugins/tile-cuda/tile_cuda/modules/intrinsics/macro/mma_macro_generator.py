"""``tilecore.cuda.intrinsics.macro.mma_macro_generator``: code of ``mma.sync`` for the threads of a block."""

from __future__ import annotations

from tile_cuda.language.mma_emitter import TensorCoreIntrinEmitter

__all__ = ["TensorCoreIntrinEmitter"]
