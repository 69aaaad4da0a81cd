"""Programmatic dependent launch: a kernel may begin while the kernel launched before it ends.

The names are TileLang's: PDL stands for programmatic dependent launch.
Where a kernel begins only when those before it have ended, as on targets without the feature and in the interpreter,
there is nothing to wait for, and both have no effect.
"""

from __future__ import annotations

from tilecore.ir.attributes import KernelHint
from tilecore.language.hints import annotate


def pdl_trigger() -> None:
    """The next kernel of the stream may begin when all blocks of this one have called this or ended."""
    annotate(KernelHint.DEPENDENT_LAUNCH, "trigger")


def pdl_sync() -> None:
    """Wait until the kernels launched before this one have ended and what they wrote is visible. Code in front of it
    must not access memory that they write, nor write memory that they access."""
    annotate(KernelHint.DEPENDENT_LAUNCH, "wait")
