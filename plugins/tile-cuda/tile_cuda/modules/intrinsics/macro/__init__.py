"""``tilecore.cuda.intrinsics.macro``: code of matrix instructions for kernels that place their operands themselves."""

from __future__ import annotations
