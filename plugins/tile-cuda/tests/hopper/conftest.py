"""All of these tests need the target and, to run the emitted source, a C++ compiler of the host."""

from __future__ import annotations

import pytest

from tilecore.errors import ToolchainError
from tilecore.simulate.compilers import find_compiler


@pytest.fixture(autouse=True)
def _simulated(installed):
    try:
        find_compiler()
    except ToolchainError as error:
        pytest.skip(error.message)
