"""``tilecore.cuda.intrinsics``: index maps of matrix instructions and swizzled layouts for their tiles."""

from tile_cuda.modules.intrinsics.layout.mma_layout import get_swizzle_layout, make_mma_swizzle_layout
from tile_cuda.modules.intrinsics.layout.utils import get_mma_micro_size

__all__ = ["get_mma_micro_size", "get_swizzle_layout", "make_mma_swizzle_layout"]
