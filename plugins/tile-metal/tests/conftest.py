"""The header's device form as a library of this machine."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, os.fspath(Path(__file__).parent))


@pytest.fixture(scope="session")
def host_library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """host_functions.cpp with the header in front."""
    import compiler

    source = Path(__file__).with_name("host_functions.cpp").read_text()
    return ctypes.CDLL(os.fspath(compiler.host_library(tmp_path_factory.mktemp("functions"), source)))
