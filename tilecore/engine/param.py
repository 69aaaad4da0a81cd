"""The records of lowered kernels: what came out, and its parameters."""

from tilecore.jit.lower import CompiledArtifact
from tilecore.runtime.params import KernelParam

__all__ = ["CompiledArtifact", "KernelParam"]
