"""Lowering by hand, under the names that TileLang has it by: ``lower`` and the records that it returns."""

from tilecore.engine.lower import lower
from tilecore.engine.param import CompiledArtifact, KernelParam
from tilecore.module_names.submodules import submodules_of

__all__ = ["CompiledArtifact", "KernelParam", "lower"]
__getattr__ = submodules_of(__name__)
