"""Running a file of tests, and making runs repeatable."""

from __future__ import annotations

import inspect
import random
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the tests of the calling file, with the command line's arguments for pytest, and exit with its code."""
    import pytest

    file = inspect.getsourcefile(sys._getframe(1))
    sys.exit(pytest.main([str(file), *sys.argv[1:]]))


def set_random_seed(seed: int = 42) -> None:
    """Seed Python's, numpy's and, where it is installed, torch's random numbers, on all devices."""
    import numpy

    random.seed(seed)
    numpy.random.seed(seed)
    try:
        import torch
    except ImportError:
        return
    torch.manual_seed(seed)
