"""Lowering by hand, under the names that TileLang has it by: ``lower`` and the records that it returns."""

from tilecore.engine.lower import lower
from tilecore.engine.param import CompiledArtifact, KernelParam

__all__ = ["CompiledArtifact", "KernelParam", "lower"]
