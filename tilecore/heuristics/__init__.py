"""Configurations without tuning, by models of a chip: see docs/heuristics.md."""

from tilecore.heuristics.gemm import gemm
from tilecore.heuristics.proposal import Proposal, explain

__all__ = ["Proposal", "explain", "gemm"]
