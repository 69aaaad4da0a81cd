"""Helpers for tests of kernels: comparing, seeding, skipping what cannot run here, and timing for regression tests.

``requires_<kind>`` exists for every target kind (and alias), installed or not: a decorator that skips a test unless a
backend offers that target and its device is here. Importing this module imports neither pytest, numpy nor torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.testing.assertions import torch_assert_close
from tilecore.testing.benchmarks import process_func, regression
from tilecore.testing.requirements import requirement, requires_package
from tilecore.testing.running import main, set_random_seed

if TYPE_CHECKING:
    from tilecore.testing.requirements import Requirement as Requirement

__all__ = ["main", "process_func", "regression", "requires_package", "set_random_seed", "torch_assert_close"]


def __getattr__(name: str) -> Any:
    if name.startswith("requires_"):
        return requirement(name)
    raise AttributeError(f"module 'tilecore.testing' has no attribute {name!r}")
