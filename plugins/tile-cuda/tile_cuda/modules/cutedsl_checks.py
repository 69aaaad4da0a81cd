"""``tilecore.jit.adapter.cutedsl.checks``: whether kernels can be compiled with CuTe DSL here."""

from __future__ import annotations

from tile_cuda.cutedsl import package


def check_cutedsl_available() -> None:
    """Raises ImportError, with what to install, where the package of CuTe DSL is not installed."""
    reason = package.missing()
    if reason:
        raise ImportError(reason)
