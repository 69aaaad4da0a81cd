"""``lower``: a kernel as far as its source; defined in tilecore/jit/lower.py."""

from tilecore.jit.lower import CompiledArtifact, lower

__all__ = ["CompiledArtifact", "lower"]
