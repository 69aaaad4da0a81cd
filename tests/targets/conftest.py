"""The targets that the kernels of this folder run on, and a private cache for the session."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tilecore.plugins import manager
from tilecore.runtime.adapter import SIMULATED


class Place(str):
    """A target to run kernels on, and the execution backend that does it; None: the one that is chosen by itself."""

    backend: str | None

    def __new__(cls, target: str, backend: str | None = None) -> Place:
        made = super().__new__(cls, target)
        made.backend = backend
        return made

    def __eq__(self, other: object) -> bool:
        """As a text the target alone; pytest keeps what is equal, so that places tell their backends apart."""
        return str.__eq__(self, other) is True and (not isinstance(other, Place) or self.backend == other.backend)

    __hash__ = str.__hash__

    @property
    def words(self) -> str:
        return f"{self}@{self.backend}" if self.backend else str(self)


# what is lowered in a way of its own on some targets of a kind is tried on one of these too, simulated
FURTHER = {"cuda": "cuda -arch=sm_90a"}
FURTHER_TESTS = ("test_gemm", "test_product_kernels", "test_attention_kernels", "test_int4", "test_narrow_floats")


def _further(module: str) -> list[Place]:
    if os.environ.get("TILECORE_TEST_TARGETS") or module.rpartition(".")[2] not in FURTHER_TESTS:
        return []
    asked = [target for kind, target in FURTHER.items() if kind in manager.kinds()]
    return [Place(target, SIMULATED) for target in asked]


def _runnable() -> list[Place]:
    """For each kind the execution backend that is chosen for it here, if any, and its other simulators.

    TILECORE_TEST_TARGETS asks for others: targets separated by commas, each with @BACKEND where another execution
    backend than the one chosen by itself is to run it.
    """
    asked = os.environ.get("TILECORE_TEST_TARGETS", "")
    if asked:
        return [_asked(*map(str.strip, word.partition("@")[::2])) for word in asked.split(",")]
    return [place for kind in manager.kinds() for place in _places(kind)]


def _asked(target: str, backend: str) -> Place:
    return Place(target, backend or None)


def _places(kind: str) -> Iterator[Place]:
    backend, target = manager.resolve(kind)
    here = [adapter for adapter in backend.adapters.values() if adapter.available(target).present]
    for number, adapter in enumerate(here):
        if number == 0:
            yield Place(kind)
        elif adapter.largest_run() is not None:  # a simulator
            yield Place(kind, adapter.name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "target" in metafunc.fixturenames:
        places = [*_runnable(), *_further(metafunc.module.__name__)]
        metafunc.parametrize("target", places, ids=[place.words for place in places], scope="session")


@pytest.fixture(autouse=True)
def _execution_backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    place = request.getfixturevalue("target") if "target" in request.fixturenames else None
    if isinstance(place, Place) and place.backend:
        monkeypatch.setenv("TILECORE_EXECUTION_BACKEND", place.backend)


@pytest.fixture(scope="session", autouse=True)
def _private(tmp_path_factory: pytest.TempPathFactory):
    """The verifier between passes, and no cache but this session's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_CHECK", "1")
        patch.setenv("TILECORE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
