"""Configurations that need no tuning, from models of a chip (docs/heuristics.md).

``gemm`` and ``attention`` propose configurations for a target, the best first; ``@tilecore.autotune(configs="auto")``
takes them for kernels whose parameters have the usual names.
"""

from tilecore.heuristics.attention import attention
from tilecore.heuristics.gemm import gemm
from tilecore.heuristics.proposal import Proposal, explain

__all__ = ["Proposal", "attention", "explain", "gemm"]
