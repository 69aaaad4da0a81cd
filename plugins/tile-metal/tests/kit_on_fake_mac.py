"""Runs the conformance kit through the execution backends torch and metal on their stand-ins, with this command:

PYTHONPATH=$PYTHONPATH:plugins/tile-metal/tests python -m pytest -p kit_on_fake_mac
    --pyargs tilecore.testing.conformance --conform-target metal@torch --conform-target metal@metal
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """A Mac and its torch, for the whole session."""
    import fake_metal
    from fake_mps import MpsTensor, torch_with_mps

    patch = pytest.MonkeyPatch()
    fake = fake_metal.build(Path(tempfile.mkdtemp(prefix="tilecore-")))
    fake_metal.put_in_place(fake, patch, build="24D70")
    fake.runs_kernels()
    torch_with_mps(patch).__enter__()
    MpsTensor.make_handle = fake.library.fake_buffer
    config.add_cleanup(patch.undo)
    config.stash[FAKE] = fake


FAKE: pytest.StashKey[object] = pytest.StashKey()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item):
    """What goes wrong in a kernel, or would end the process on a Mac, is a failure of the case."""
    outcome = yield
    fake = item.config.stash[FAKE]
    failures, wrong = [*fake.failures], fake.wrong()
    fake.failures.clear()
    if outcome.excinfo is None and (failures or wrong):
        outcome.force_exception(AssertionError(f"on the stand-in: {failures} {wrong}"))
