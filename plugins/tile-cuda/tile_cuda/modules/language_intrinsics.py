"""``tilecore.cuda.language.intrinsics``: matrix instructions of a warp, and the layouts of their tiles."""

from tile_cuda.language.mma_emitter import TensorCoreIntrinEmitter
from tile_cuda.modules.intrinsics import get_mma_micro_size, get_swizzle_layout, make_mma_swizzle_layout

__all__ = ["TensorCoreIntrinEmitter", "get_mma_micro_size", "get_swizzle_layout", "make_mma_swizzle_layout"]
