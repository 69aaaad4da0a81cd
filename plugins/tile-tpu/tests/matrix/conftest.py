"""The tests of the matrix import what they share from this folder, and run on each simulator that is here."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, os.fspath(Path(__file__).parent))


@pytest.fixture(params=["sim", "cmodel"])
def backend(request):
    """The name of an execution backend; skips, with the reason, where it cannot run here."""
    from tilecore.plugins import manager

    joined, target = manager.resolve("tpu")
    presence = joined.adapters[request.param].available(target)
    if not presence.present:
        pytest.skip(presence.detail)
    return request.param
