"""The targets that the kernels of this folder run on, and a private cache for the session."""

from __future__ import annotations

import os

import pytest

from tilecore.plugins import manager


def _runnable() -> list[str]:
    """Kinds whose device is here. TILECORE_TEST_TARGETS (a comma-separated list) asks for others."""
    asked = os.environ.get("TILECORE_TEST_TARGETS", "")
    if asked:
        return [kind.strip() for kind in asked.split(",")]
    return [kind for kind in manager.kinds() if _present(kind)]


def _present(kind: str) -> bool:
    backend, target = manager.resolve(kind)
    return any(adapter.available(target).present for adapter in backend.adapters.values())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "target" in metafunc.fixturenames:
        metafunc.parametrize("target", _runnable(), scope="session")


@pytest.fixture(scope="session", autouse=True)
def _private(tmp_path_factory: pytest.TempPathFactory):
    """The verifier between passes, and no cache but this session's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_CHECK", "1")
        patch.setenv("TILECORE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
