"""The keys of the pass configuration that the passes and the toolchain of tile-hip read."""

from __future__ import annotations

from tilecore.contract.records import PassOption

DISABLE_XCD_ORDER = PassOption(
    "hip.disable_xcd_order",
    "start the blocks of matrix products in the order of their indices, on any XCD",
)
FAST_MATH = PassOption(
    "tl.enable_fast_math", "quick forms of functions, divisions and square roots; subnormal numbers count as 0"
)
LINE_DIRECTIVES = PassOption(
    "tl.emit_line_directives", "name your lines in the source and in the binary, for profilers and debuggers"
)
OPTIONS = (DISABLE_XCD_ORDER, FAST_MATH, LINE_DIRECTIVES)
