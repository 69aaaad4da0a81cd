"""Two small targets, of threads and of loops; the sample file as a module; reports on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilecore.plugins import manager
from tilecore.target_report.files import module_of
from tilecore.target_report.kernels import kernels_of
from tilecore.target_report.run import report_on_targets
from tilecore.target_report.targets import targets_of

from .tiny_backend import lacking

SAMPLE = Path(__file__).parent / "sample_kernels.py"


@pytest.fixture(scope="module")  # no longer: tests of other folders list all targets
def small_targets():
    with manager.register(lacking()), manager.register(lacking("loopy", "loops", max_threads=0)):
        yield


@pytest.fixture(scope="session")
def sample():
    return module_of(SAMPLE)


@pytest.fixture
def report_on(small_targets, sample):
    """The target report of one kernel of the sample, or of a call of it."""

    def make(name: str, targets: str, *calls: str):
        return report_on_targets(kernels_of(sample, name, calls), targets_of([targets]), str(SAMPLE))

    return make
