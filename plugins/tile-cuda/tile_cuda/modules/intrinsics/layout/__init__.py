"""``tilecore.cuda.intrinsics.layout``: which thread of a warp holds which element of a matrix instruction's
operands."""

from tile_cuda.modules.intrinsics.layout.mma_layout import get_swizzle_layout, make_mma_swizzle_layout
from tile_cuda.modules.intrinsics.layout.utils import get_mma_micro_size

__all__ = ["get_mma_micro_size", "get_swizzle_layout", "make_mma_swizzle_layout"]
