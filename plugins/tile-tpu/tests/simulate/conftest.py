"""The kernels of these tests, compiled for the simulator."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, os.fspath(Path(__file__).parent))


@pytest.fixture(scope="session")
def kernels_library():
    import tpu_kernels as kernels
    from tile_tpu.simulate import compile_kernel

    from tilecore.errors import ToolchainError
    from tilecore.simulate.compilers import find_compiler

    try:
        find_compiler()
    except ToolchainError as error:
        pytest.skip(f"the simulator needs a C++ compiler: {error.found}")
    return compile_kernel(kernels.source())
