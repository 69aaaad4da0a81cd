"""The verifier between passes, and a cache of their own for the kernels of this folder."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="package", autouse=True)
def _private(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_CHECK", "1")
        patch.setenv("TILECORE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
