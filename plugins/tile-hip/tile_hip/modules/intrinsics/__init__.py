"""``tilecore.rocm.intrinsics``: index maps of matrix instructions and swizzled layouts for their tiles."""

from tile_hip.modules.intrinsics.mfma_layout import make_mfma_swizzle_layout
from tile_hip.modules.intrinsics.utils import get_mma_micro_size

__all__ = ["get_mma_micro_size", "make_mfma_swizzle_layout"]
