"""The compilers of this machine, or a reason to skip."""

from __future__ import annotations

import pytest
from tile_hip import compilers

ARCHITECTURES = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")


@pytest.fixture(params=ARCHITECTURES)
def arch(request) -> str:
    """An architecture that a compiler of this machine knows."""
    if not any(request.param in compiler.architectures() for compiler in compilers.installed()):
        pytest.skip(f"there is no compiler for {request.param}: {compilers.FIX}")
    if compilers.math_library() is None:
        pytest.skip(f"there is no math library: {compilers.LIBRARY_FIX}")
    return request.param
