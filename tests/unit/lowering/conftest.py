"""The verifier between passes, a cache of their own for the kernels of this folder, and ranges of threads."""

from __future__ import annotations

import pytest
from kernel_caches import private_cache


@pytest.fixture(scope="package", autouse=True)
def verified_with_a_private_cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch, private_cache(tmp_path_factory.mktemp("cache")):
        patch.setenv("TILECORE_CHECK", "1")
        yield


@pytest.fixture
def conditions_are_ranges(monkeypatch):
    """Conditions on the thread index become ranges of threads, as in kernels with names of a target's own language."""
    for module in ("tilecore.frontend.thread_conditions", "tilecore.lowering.simt.find_ranges"):
        monkeypatch.setattr(f"{module}.dialect_calls", lambda body: True)
