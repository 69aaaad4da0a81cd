"""Caches of its own for every test, and a record of the searches."""

import pytest

from tilecore.autotune import tuning


@pytest.fixture(autouse=True)
def own_caches(fresh_caches):
    """Every test begins with empty caches."""


@pytest.fixture
def searches(monkeypatch):
    """The configurations of each search that is run."""
    seen = []
    real = tuning.search

    def search(configs, *rest):
        seen.append(configs)
        return real(configs, *rest)

    monkeypatch.setattr(tuning, "search", search)
    return seen
