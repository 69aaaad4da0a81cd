"""Two small targets, of threads and of loops; the sample file as a module; surveys of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilecore.plugins import manager
from tilecore.survey.files import module_of
from tilecore.survey.kernels import kernels_of
from tilecore.survey.run import survey
from tilecore.survey.targets import targets_of

from .tiny_backend import lacking

SAMPLE = Path(__file__).parent / "sample_kernels.py"


@pytest.fixture(scope="session")
def small_targets():
    with manager.register(lacking()), manager.register(lacking("loopy", "loops", max_threads=0)):
        yield


@pytest.fixture(scope="session")
def sample():
    return module_of(SAMPLE)


@pytest.fixture
def surveyed(small_targets, sample):
    """The survey of one kernel of the sample, or of a call of it."""

    def make(name: str, targets: str, *calls: str):
        return survey(kernels_of(sample, name, calls), targets_of([targets]), str(SAMPLE))

    return make
