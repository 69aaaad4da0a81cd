"""Runs the conformance kit through execution backend ``torch`` on the stand-in for torch.mps, with this command:

PYTHONPATH=plugins/tile-metal/tests python -m pytest -p kit_on_fake_mps --pyargs tilecore.testing.conformance
    --conform-target metal@torch -k "gemm or arguments"
"""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """A Mac and its torch, for the whole session."""
    from fake_mps import torch_with_mps
    from tile_metal.runtime import machine

    patch = pytest.MonkeyPatch()
    patch.setattr(machine, "_machine", lambda: machine.Machine("Apple M3 Max", 9, (15, 3), "3.2"))
    fake = torch_with_mps(patch)
    fake.__enter__()
    config.add_cleanup(patch.undo)
